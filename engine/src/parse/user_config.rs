//! Finds the ConfigMap that `settings.config` of a component names; its templates see it as `context.config`.

use serde_json::{Value as Json, json};

use super::{DEFAULT_NAMESPACE, Era, Parser};
use crate::diagnostic::Code;
use crate::manifest::Document;
use crate::observed::ObjectKey;

/// Name of the setting.
const SETTING: &str = "config";

/// The ConfigMap that a component's settings name.
fn key(application: &Document, component: &str, settings: Option<&Json>) -> Option<ObjectKey> {
    let config = settings?.get(SETTING)?.as_str().filter(|config| !config.is_empty())?;
    let namespace = match application.namespace() {
        "" => DEFAULT_NAMESPACE,
        namespace => namespace,
    };
    Some(ObjectKey::local(
        "v1",
        "ConfigMap",
        namespace,
        format!("kubevela-{}-{component}-{config}", application.name()),
    ))
}

/// The ConfigMaps that the settings of an application in the v1alpha2 form name. In the v1beta1 form a property of
/// that name is a parameter like any other.
pub fn user_configs(application: &Document) -> Vec<ObjectKey> {
    if Era::of(application.value()) != Era::V1alpha2 {
        return Vec::new();
    }
    let components = application.value().get("spec").and_then(|spec| spec.get("components"));
    let components = components.and_then(Json::as_array).into_iter().flatten();
    let keys = components.filter_map(|component| {
        key(application, component.get("name")?.as_str()?, component.get("settings"))
    });
    keys.collect()
}

impl Parser<'_> {
    /// `[{name, value}]` of the ConfigMap that the settings name, by name; nothing where they name none.
    pub(super) fn user_config(&mut self, path: &str, component: &str, settings: &Json) -> Option<Json> {
        if self.era != Era::V1alpha2 {
            return None;
        }
        let key = key(self.document, component, Some(settings))?;
        let Some(found) = self.snapshot.object(&key) else {
            let message = format!(
                "config {:?} not found: there is no ConfigMap {:?} in namespace {:?}",
                settings.get(SETTING).and_then(Json::as_str).unwrap_or_default(),
                key.name,
                key.namespace
            );
            self.error(Code::UnknownReference, &format!("{path}.settings.{SETTING}"), message, None);
            return None;
        };
        let data = found.get("data").and_then(Json::as_object);
        let entries = data.into_iter().flatten().map(|(name, value)| json!({"name": name, "value": value}));
        Some(Json::Array(entries.collect()))
    }
}

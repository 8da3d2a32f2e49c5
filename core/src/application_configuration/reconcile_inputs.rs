//! The basis of a reconcile's decisions: the configuration, the components it names without a revision, and its
//! Application.
//!
//! The controller deletes nothing because of it before it has stayed the same for a moment, and before the server
//! confirms it.

use std::sync::Arc;
use std::time::Duration;

use kube::api::DynamicObject;
use serde_json::Value;
use vela_runtime::Key;
use vela_runtime::apply::Error;
use vela_runtime::confirm::Seen;

use super::application_generation::{self, ApplicationGeneration};
use super::reconciler::ApplicationConfigurationReconciler;

/// The configuration and its components, as the caches have them.
pub(super) struct Basis<'a> {
    configuration: &'a DynamicObject,
    components: Vec<Arc<DynamicObject>>,
}

/// The same with the Application whose latest generation the configuration carries.
pub(super) struct Latest<'a> {
    basis: &'a Basis<'a>,
    generation: ApplicationGeneration,
}

impl<'a> Basis<'a> {
    pub(super) fn of(
        reconciler: &ApplicationConfigurationReconciler,
        configuration: &'a DynamicObject,
    ) -> Self {
        let namespace = configuration.metadata.namespace.clone().unwrap_or_default();
        let entries = configuration.data["spec"]["components"].as_array();
        let pinned = |entry: &Value| entry["revisionName"].as_str().is_some_and(|name| !name.is_empty());
        let names = entries.into_iter().flatten().filter(|entry| !pinned(entry));
        let components = names
            .filter_map(|entry| entry["componentName"].as_str())
            .filter_map(|name| reconciler.components.get(&Key::new(namespace.clone(), name)))
            .collect();
        Self { configuration, components }
    }

    /// The rest of the time for which it has to stay the same; nothing when that is over.
    pub(super) fn quiet_left(&self, reconciler: &ApplicationConfigurationReconciler) -> Option<Duration> {
        reconciler.quiet.left(&Key::of(self.configuration), &self.content())
    }

    /// Ask the server for the Application; nothing where the configuration does not carry its latest generation.
    pub(super) async fn latest(
        &'a self,
        reconciler: &ApplicationConfigurationReconciler,
    ) -> Result<Option<Latest<'a>>, Error> {
        let generation = application_generation::of(reconciler, self.configuration).await?;
        let is_stale = matches!(generation, ApplicationGeneration::Stale);
        Ok((!is_stale).then_some(Latest { basis: self, generation }))
    }

    /// The same without a question: for what is decided at another time anyway.
    pub(super) fn unasked(&'a self) -> Latest<'a> {
        Latest { basis: self, generation: ApplicationGeneration::None }
    }

    /// All of it as one text.
    fn content(&self) -> String {
        let one = |object: &DynamicObject| {
            let metadata = &object.metadata;
            format!(
                "{:?} {:?} {:?} {:?}",
                metadata.uid, metadata.generation, metadata.labels, metadata.annotations
            )
        };
        let mut all = one(self.configuration);
        self.components.iter().for_each(|component| all.push_str(&one(component)));
        all
    }
}

impl Latest<'_> {
    /// Every object of it, for the server to confirm.
    pub(super) fn seen<'a>(&'a self, reconciler: &'a ApplicationConfigurationReconciler) -> Vec<Seen<'a>> {
        let resource = &reconciler.configurations.watch().resource;
        let mut seen = vec![Seen { resource, object: self.basis.configuration }];
        let resource = &reconciler.components.watch().resource;
        seen.extend(self.basis.components.iter().map(|object| Seen { resource, object }));
        if let ApplicationGeneration::Latest(latest) = &self.generation {
            seen.push(Seen { resource: &latest.0, object: &latest.1 });
        }
        seen
    }
}

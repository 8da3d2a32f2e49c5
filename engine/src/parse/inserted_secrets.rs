//! Finds the Secrets that parameters marked `+insertSecretTo=NAME` name; their templates see the content as `NAME`.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value as Json};

use super::parser::each_component;
use super::{DEFAULT_NAMESPACE, Era, Parser};
use crate::definition::{Definition, DefinitionKind, Language, MARKER};
use crate::diagnostic::Code;
use crate::manifest::Document;
use crate::names;
use crate::observed::ObjectKey;
use crate::snapshot::Snapshot;

/// A Secret that a parameter names, as the template sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct InsertedSecret {
    /// The parameter.
    pub parameter: String,
    /// The name of the Secret.
    pub secret: String,
    /// The template's name for its content.
    pub name: String,
    /// Its texts by key; nothing while the Secret is not there.
    pub content: Option<Json>,
}

impl InsertedSecret {
    /// Says of a Secret that is not there that it is waited for.
    pub(crate) fn missing(&self) -> Option<String> {
        let Self { parameter, secret, .. } = self;
        let says = || format!("Secret {secret:?}, which the parameter {parameter:?} names, is not there yet");
        self.content.is_none().then(says)
    }
}

/// The Secrets that the parameters of an application name, as far as the snapshot has the definitions that mark them.
pub fn inserted_secrets(application: &Document, snapshot: &Snapshot) -> BTreeSet<ObjectKey> {
    let mut keys = BTreeSet::new();
    if !snapshot.definitions().chain(snapshot.revisions().map(|(_, one)| one)).any(|one| has_marker(one)) {
        return keys;
    }
    let era = Era::of(application.value());
    each_component(application, era, |component| {
        let type_ = component.get("type").and_then(Json::as_str).unwrap_or_default();
        let kinds = [DefinitionKind::Component, DefinitionKind::Workload];
        let definition = kinds.iter().find_map(|kind| snapshot.definition(*kind, type_));
        let of_component = definition.map(|one| (one, component.get(era.properties_field())));
        let of_traits = items(Some(component), "traits").filter_map(|written| {
            let type_ = written.get(era.trait_type_field())?.as_str()?;
            Some((snapshot.definition(DefinitionKind::Trait, type_)?, written.get("properties")))
        });
        for (definition, properties) in of_component.into_iter().chain(of_traits) {
            for parameter in definition.secret_parameters().unwrap_or_default() {
                let named = properties.and_then(|all| all.get(&parameter.parameter)).and_then(Json::as_str);
                keys.extend(
                    named.filter(|name| names::is_subdomain(name)).map(|name| key(application, name)),
                );
            }
        }
    });
    keys
}

fn has_marker(definition: &Definition) -> bool {
    matches!(definition.language(), Language::Cue(template) if template.contains(MARKER))
}

fn items<'a>(value: Option<&'a Json>, field: &str) -> impl Iterator<Item = &'a Json> {
    value.and_then(|value| value.get(field)).and_then(Json::as_array).into_iter().flatten()
}

fn key(application: &Document, name: &str) -> ObjectKey {
    let namespace = match application.namespace() {
        "" => DEFAULT_NAMESPACE,
        namespace => namespace,
    };
    ObjectKey::local("v1", "Secret", namespace, name)
}

/// The texts of a Secret. Binary values cannot stand in an object, so a template that asks for one hears that it is
/// missing.
fn content(secret: &Json) -> Map<String, Json> {
    let data = secret.get("data").and_then(Json::as_object).into_iter().flatten();
    let texts = data.filter_map(|(key, value)| {
        let text = String::from_utf8(STANDARD.decode(value.as_str()?).ok()?).ok()?;
        Some((key.clone(), Json::String(text)))
    });
    texts.collect()
}

impl Parser<'_> {
    /// The Secrets that parameters name whose definition marks them.
    pub(super) fn inserted(&mut self, path: &str, marks: &Definition, given: &Json) -> Vec<InsertedSecret> {
        let mut inserted = Vec::new();
        // The plan reports errors in a marker.
        for marked in marks.secret_parameters().unwrap_or_default() {
            let Some(secret) = given.get(&marked.parameter).and_then(Json::as_str) else { continue };
            let path = format!("{path}.{}", marked.parameter);
            if !names::is_subdomain(secret) {
                let message = format!("the parameter {:?} must be the name of a Secret", marked.parameter);
                self.error(Code::WrongType, &path, message, None);
                continue;
            }
            let content = self.snapshot.object(&key(self.document, secret)).map(content);
            if content.as_ref().is_some_and(Map::is_empty) {
                let message = format!("Secret {secret:?}, which the parameter names, holds no text");
                self.error(Code::UnknownReference, &path, message, None);
                continue;
            }
            inserted.push(InsertedSecret {
                parameter: marked.parameter,
                secret: secret.to_owned(),
                name: marked.name,
                content: content.map(Json::Object),
            });
        }
        inserted
    }
}

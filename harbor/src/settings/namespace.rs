//! A namespace and all HarborServerConfigurations → its annotations, and the server that is for it. Pure.

use std::borrow::Borrow;

use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::error::Error;
use super::selection;
use crate::field::Field;

/// The annotation of a namespace that names its HarborServerConfiguration in place of the default.
pub(super) const SERVER: &str = "goharbor.io/harbor";

/// The value of an annotation of a namespace; an empty one counts as none.
pub(super) fn annotation<'a>(namespace: &'a DynamicObject, name: &str) -> Option<&'a str> {
    let annotations = namespace.metadata.annotations.as_ref()?;
    annotations.get(name).map(String::as_str).filter(|value| !value.is_empty())
}

/// How a namespace is named in errors, and its annotations.
pub(super) fn annotations_of(namespace: &DynamicObject) -> (String, Value) {
    (format!("Namespace {}", name_of(namespace)), json!(namespace.metadata.annotations))
}

/// The name of an object.
pub(super) fn name_of(object: &DynamicObject) -> &str {
    object.metadata.name.as_deref().unwrap_or_default()
}

/// How a HarborServerConfiguration is named in errors.
pub(super) fn described_server(server: &DynamicObject) -> String {
    format!("HarborServerConfiguration {}", name_of(server))
}

/// The server that the namespace names, else the default; none where neither is, or the default is not for this namespace.
///
/// # Errors
/// The one that is named is not there or not for this namespace, or a selector cannot be read.
pub(super) fn server_of<'a, S: Borrow<DynamicObject>>(
    namespace: &DynamicObject,
    servers: &'a [S],
) -> Result<Option<&'a DynamicObject>, Error> {
    if let Some(name) = annotation(namespace, SERVER) {
        let (described, annotations) = annotations_of(namespace);
        let annotations = Field::new(&described, "metadata.annotations", &annotations);
        return named(namespace, servers, &annotations.get(SERVER), name).map(Some);
    }
    match selection::default_of(servers.iter().map(Borrow::borrow)) {
        // A default may be for some namespaces only.
        Some(server) if !selects(server, namespace)? => Ok(None),
        server => Ok(server),
    }
}

/// The HarborServerConfiguration that a field names, which must be for the namespace.
///
/// # Errors
/// It is not there or not for this namespace, or its selector cannot be read.
pub(super) fn named<'a, S: Borrow<DynamicObject>>(
    namespace: &DynamicObject,
    servers: &'a [S],
    field: &Field<'_>,
    name: &str,
) -> Result<&'a DynamicObject, Error> {
    let found =
        servers.iter().map(Borrow::borrow).find(|server| name_of(server) == name).ok_or_else(|| {
            field.wrong(format!(
                "names HarborServerConfiguration {name}, which does not exist: create it, or name another"
            ))
        })?;
    match selects(found, namespace)? {
        true => Ok(found),
        false => Err(Error::NotSelected {
            configuration: name.to_owned(),
            namespace: name_of(namespace).to_owned(),
        }),
    }
}

fn selects(server: &DynamicObject, namespace: &DynamicObject) -> Result<bool, Error> {
    let described = described_server(server);
    let selector =
        Field::new(&described, "spec.namespaceSelector", &server.data["spec"]["namespaceSelector"]);
    let labels = namespace.metadata.labels.clone().unwrap_or_default();
    Ok(selection::selects(&selector, &labels)?)
}

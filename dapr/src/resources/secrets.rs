//! Puts the values of Secrets into objects that refer to them, where the secret store is Kubernetes itself.
//!
//! Secrets are of the object's namespace. Sidecars expect a value as base64, as a Secret stores it; a header of a Configuration
//! as text.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::api::DynamicObject;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use vela_crds::dapr_io::{
    AnyValue, Auth, Component, Configuration, HttpEndpoint, McpAuth, McpServer, NameValue, SecretKeyRef,
};
use vela_runtime::Key;

use super::ServedKind;

/// The data of Secrets by name: values in base64, as they are stored.
pub type Secrets = BTreeMap<String, BTreeMap<String, String>>;

/// The store that is meant where none is named.
const KUBERNETES: &str = "kubernetes";

/// Why an object cannot be given to a sidecar. A list leaves out this one, and says so.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The object is not of the form that its kind has.
    #[error("{object} cannot be read: {source}")]
    Malformed {
        /// Kind and name.
        object: String,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// It refers to a Secret that is not there.
    #[error("{object}: {place} is in Secret {secret:?}, which is not there; create it in the same namespace")]
    NoSecret {
        /// Kind and name.
        object: String,
        /// The setting or header.
        place: String,
        /// The Secret.
        secret: String,
    },
    /// A header of a Configuration refers to a Secret without a key.
    #[error("{object}: header {place} names Secret {secret:?} and no key; add secretKeyRef.key")]
    NoKey {
        /// Kind and name.
        object: String,
        /// The header.
        place: String,
        /// The Secret.
        secret: String,
    },
    /// A header of a Configuration refers to a key that the Secret does not have, or whose value is no text.
    #[error("{object}: header {place} is at key {key:?} of Secret {secret:?}, where no text is")]
    NoText {
        /// Kind and name.
        object: String,
        /// The header.
        place: String,
        /// The Secret.
        secret: String,
        /// The key.
        key: String,
    },
}

/// The names of the Secrets that an object takes values from: when one of them changes, the object does, too.
///
/// # Errors
/// [`SecretError::Malformed`].
pub fn secrets_of(kind: ServedKind, object: &DynamicObject) -> Result<BTreeSet<String>, SecretError> {
    let mut names = BTreeSet::new();
    visit(kind, &mut object.data.clone(), &title(kind, object), &mut |place| {
        names.insert(place.reference.name.clone());
        Ok(())
    })?;
    Ok(names)
}

/// The object with the values of its Secrets. A setting whose key is not in its Secret keeps what it had.
///
/// # Errors
/// A Secret is missing, or what a header of a Configuration needs.
pub fn resolve(
    kind: ServedKind,
    object: &DynamicObject,
    secrets: &Secrets,
) -> Result<DynamicObject, SecretError> {
    let mut resolved = object.clone();
    let title = title(kind, object);
    visit(kind, &mut resolved.data, &title, &mut |place| fill(place, secrets, &title))?;
    Ok(resolved)
}

fn title(kind: ServedKind, object: &DynamicObject) -> String {
    format!("{} {}", kind.name(), Key::of(object))
}

/// A value that may stand in a Secret.
struct Place<'a> {
    /// Name of the setting or header.
    name: &'a str,
    reference: &'a SecretKeyRef,
    value: &'a mut AnyValue,
    /// A header of a Configuration: it is text, and cannot be done without.
    is_text: bool,
}

fn fill(place: Place<'_>, secrets: &Secrets, object: &str) -> Result<(), SecretError> {
    let SecretKeyRef { name: secret, key } = place.reference;
    let (object, secret, name) = (object.to_owned(), secret.clone(), place.name.to_owned());
    let key = key.as_ref().filter(|key| !key.is_empty());
    if place.is_text && key.is_none() {
        return Err(SecretError::NoKey { object, place: name, secret });
    }
    let Some(data) = secrets.get(&secret) else {
        return Err(SecretError::NoSecret { object, place: name, secret });
    };
    let key = key.unwrap_or(&secret);
    let stored = data.get(key);
    if !place.is_text {
        if let Some(stored) = stored {
            place.value.0 = json!(stored);
        }
        return Ok(());
    }
    let bytes = stored.and_then(|stored| STANDARD.decode(stored).ok());
    let Some(text) = bytes.and_then(|bytes| String::from_utf8(bytes).ok()) else {
        let key = key.clone();
        return Err(SecretError::NoText { object, place: name, secret, key });
    };
    place.value.0 = json!(text);
    Ok(())
}

type Visit<'a> = dyn FnMut(Place<'_>) -> Result<(), SecretError> + 'a;

/// Shows every value of an object that stands in a Secret, and keeps what became of it.
fn visit(kind: ServedKind, data: &mut Value, object: &str, visit: &mut Visit<'_>) -> Result<(), SecretError> {
    match kind {
        ServedKind::Component => changed(data, object, |component: &mut Component| {
            if !is_kubernetes(component.auth.as_ref()) {
                return Ok(());
            }
            let settings = component.spec.iter_mut().flat_map(|spec| &mut spec.metadata);
            named(settings, false, visit)
        }),
        ServedKind::Configuration => changed(data, object, |configuration: &mut Configuration| {
            let tracing = configuration.spec.iter_mut().filter_map(|spec| spec.tracing.as_mut());
            let collectors = tracing.filter_map(|tracing| tracing.otel.as_mut());
            named(collectors.flat_map(|otel| &mut otel.headers), true, visit)
        }),
        ServedKind::HttpEndpoint => changed(data, object, |endpoint: &mut HttpEndpoint| {
            if !is_kubernetes(endpoint.auth.as_ref()) {
                return Ok(());
            }
            let Some(spec) = &mut endpoint.spec else { return Ok(()) };
            named(spec.headers.iter_mut(), false, visit)?;
            let Some(tls) = &mut spec.client_tls else { return Ok(()) };
            let documents = [
                ("rootCA", &mut tls.root_ca),
                ("certificate", &mut tls.certificate),
                ("privateKey", &mut tls.private_key),
            ];
            for (name, document) in documents {
                let Some(document) = document else { continue };
                show(name, document.secret_key_ref.as_ref(), &mut document.value, false, visit)?;
            }
            Ok(())
        }),
        ServedKind::McpServer => changed(data, object, |server: &mut McpServer| {
            let Some(endpoint) = server.spec.as_mut().map(|spec| &mut spec.endpoint) else { return Ok(()) };
            for way in [&mut endpoint.streamable_http, &mut endpoint.sse].into_iter().flatten() {
                let is_ours = |auth: &McpAuth| auth.secret_store.as_deref().is_none_or(is_kubernetes_name);
                if way.auth.as_ref().is_none_or(is_ours) {
                    named(way.headers.iter_mut(), false, visit)?;
                }
            }
            named(endpoint.stdio.iter_mut().flat_map(|stdio| &mut stdio.env), false, visit)
        }),
        ServedKind::Subscription | ServedKind::Resiliency | ServedKind::WorkflowAccessPolicy => Ok(()),
    }
}

/// Reads an object as its type, and writes its spec back.
fn changed<T: DeserializeOwned + Serialize>(
    data: &mut Value,
    object: &str,
    change: impl FnOnce(&mut T) -> Result<(), SecretError>,
) -> Result<(), SecretError> {
    let malformed = |source| SecretError::Malformed { object: object.to_owned(), source };
    let mut typed: T = serde_json::from_value(data.clone()).map_err(malformed)?;
    change(&mut typed)?;
    let mut written = serde_json::to_value(&typed).map_err(malformed)?;
    if let Some(spec) = written.get_mut("spec") {
        data["spec"] = spec.take();
    }
    Ok(())
}

fn named<'a>(
    values: impl IntoIterator<Item = &'a mut NameValue>,
    is_text: bool,
    visit: &mut Visit<'_>,
) -> Result<(), SecretError> {
    for NameValue { name, value, secret_key_ref, env_ref: _ } in values {
        show(name, secret_key_ref.as_ref(), value, is_text, visit)?;
    }
    Ok(())
}

fn show(
    name: &str,
    reference: Option<&SecretKeyRef>,
    value: &mut AnyValue,
    is_text: bool,
    visit: &mut Visit<'_>,
) -> Result<(), SecretError> {
    // Go writes an empty reference where there is none.
    match reference.filter(|reference| !reference.name.is_empty()) {
        Some(reference) => visit(Place { name, reference, value, is_text }),
        None => Ok(()),
    }
}

fn is_kubernetes(auth: Option<&Auth>) -> bool {
    auth.is_none_or(|auth| is_kubernetes_name(&auth.secret_store))
}

fn is_kubernetes_name(store: &str) -> bool {
    store.is_empty() || store == KUBERNETES
}

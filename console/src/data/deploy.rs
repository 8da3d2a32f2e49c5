//! Writes an application as its author wrote it, by server-side apply and by the field manager of `vela up`, or deletes it.
//! It is written only over the version that was seen, or over a later one in which only the controller wrote.

use kube::Client;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use vela_engine::Document;
use vela_engine::preview::written_fields;
use vela_runtime::{Api, over_conflicts, ownership};

use crate::access::is_same;
use crate::data::applications::{resource, to_json};
use crate::data::secrets;
use crate::error::Error;

/// What a deletion did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Deletion {
    /// What happens now.
    pub(crate) message: String,
}

/// The application that a plan compared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen<'a> {
    /// Its resourceVersion; empty where there was none.
    pub(crate) version: &'a str,
    /// The hash of what people wrote of it; empty where there was none, or where a program does not send it.
    pub(crate) content_hash: &'a str,
    /// The secret of the hash.
    pub(crate) key: &'a str,
}

impl Seen<'_> {
    fn is_none(&self) -> bool {
        self.version.is_empty() && self.content_hash.is_empty()
    }

    /// Whether the stored application is still what people wrote then.
    fn is(&self, found: &DynamicObject) -> bool {
        found.metadata.resource_version.as_deref() == Some(self.version)
            || is_same(self.content_hash, &content_hash(self.key, &to_json(found)))
    }
}

/// The hash of what people write of an application: its spec, labels and annotations, and that it is this one and stays. With
/// a secret, so that the hash does not give the content away.
pub(crate) fn content_hash(key: &str, application: &Value) -> String {
    let metadata = &application["metadata"];
    let content = json!([
        metadata["uid"],
        metadata["deletionTimestamp"],
        metadata["labels"],
        metadata["annotations"],
        application["spec"],
    ]);
    let hash = Sha256::new().chain_update(key).chain_update([0]).chain_update(content.to_string());
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn api(client: &Client, namespace: &str) -> Api<DynamicObject> {
    Api::namespaced_with(client.clone(), namespace, &resource())
}

/// The words of the API server, or why it gave none.
fn declined(error: kube::Error) -> Error {
    match error {
        kube::Error::Api(status) if (400..500).contains(&status.code) => {
            Error::Declined { code: status.code, said: status.message.clone() }
        }
        error => Error::cluster("the application")(error),
    }
}

fn changed(name: &str, what: &str) -> Error {
    Error::Refused(format!(
        "the application {name} {what} since the plan was made, so nothing was written; make the plan anew"
    ))
}

/// Writes an application over the one that was seen; creates it where there was none. Gives it as it was written.
pub(crate) async fn write(
    client: &Client,
    application: &Document,
    seen: Seen<'_>,
    manager: &str,
) -> Result<Value, Error> {
    let (namespace, name) = (application.namespace(), application.name());
    let api = &api(client, namespace);
    // A starting application has a new status several times in a second.
    let written = over_conflicts(|| async move {
        match api.get_opt(name).await.map_err(declined)? {
            None if seen.is_none() => create(api, application, manager).await.map(Some),
            None => Err(changed(name, "was deleted")),
            Some(_) if seen.is_none() => Err(changed(name, "was created")),
            Some(found) if seen.is(&found) => over(api, found, application, manager).await,
            Some(_) => Err(changed(name, "changed")),
        }
    });
    let written = written.await?.ok_or_else(|| Error::TooBusy(name.to_owned()))?;
    Ok(to_json(&written))
}

/// An application that is made by another meanwhile is not written over: that is why it is created and not applied. Its
/// fields are then recorded as applied, as `vela up` records them.
async fn create(
    api: &Api<DynamicObject>,
    application: &Document,
    manager: &str,
) -> Result<DynamicObject, Error> {
    let object: DynamicObject = serde_json::from_value(application.value().clone())
        .map_err(|error| Error::Invalid(format!("metadata: {error}; correct the manifest")))?;
    let params = PostParams { field_manager: Some(manager.to_owned()), ..PostParams::default() };
    let created = match api.create(&params, &object).await {
        Err(kube::Error::Api(status)) if status.code == 409 => {
            return Err(changed(application.name(), "was created"));
        }
        created => created.map_err(declined)?,
    };
    // Where the controller was faster, the next write of this manager records them.
    Ok(ownership::claimed(api, created.clone(), &[], manager).await.unwrap_or(created))
}

/// Writes over this version; gives nothing where another writer was faster.
async fn over(
    api: &Api<DynamicObject>,
    found: DynamicObject,
    application: &Document,
    manager: &str,
) -> Result<Option<DynamicObject>, Error> {
    let name = application.name();
    let claimed = match ownership::claimed(api, found, &[], manager).await {
        Err(kube::Error::Api(status)) if status.code == 409 => return Ok(None),
        claimed => claimed.map_err(declined)?,
    };
    let mut object = application.value().clone();
    object["metadata"]["resourceVersion"] = json!(claimed.metadata.resource_version);
    match api.patch(name, &PatchParams::apply(manager), &Patch::Apply(&object)).await {
        Ok(written) => Ok(Some(written)),
        // Without causes it is about the version, and with them about fields of others.
        Err(kube::Error::Api(status)) if status.code == 409 && !is_about_fields(&status) => Ok(None),
        Err(kube::Error::Api(status)) if status.code == 409 => Err(Error::Declined {
            code: 409,
            said: format!(
                "{}; another program manages these fields: `vela up --force-conflicts` takes them over",
                status.message
            ),
        }),
        Err(error) => Err(declined(error)),
    }
}

/// Writes the components of an application over the content that was seen. The list is written as a whole, also where
/// another program wrote it, and then belongs to this manager. Gives the application as it was written.
pub(crate) async fn write_components(
    client: &Client,
    (namespace, name): (&str, &str),
    components: &Value,
    seen: Seen<'_>,
    manager: &str,
) -> Result<Value, Error> {
    let api = &api(client, namespace);
    let params = &PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() };
    let written = over_conflicts(|| async move {
        let found = match api.get_opt(name).await.map_err(declined)? {
            None => return Err(changed(name, "was deleted")),
            Some(found) if !seen.is(&found) => return Err(changed(name, "changed")),
            Some(found) => found,
        };
        let version = found.metadata.resource_version;
        let patch = Patch::Merge(
            json!({"metadata": {"resourceVersion": version}, "spec": {"components": components}}),
        );
        match api.patch(name, params, &patch).await {
            Ok(written) => Ok(Some(written)),
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(None),
            Err(error) => Err(declined(error)),
        }
    });
    let written = written.await?.ok_or_else(|| Error::TooBusy(name.to_owned()))?;
    // Where the controller was faster, the next write of this manager records it as applied.
    Ok(to_json(&ownership::claimed(api, written.clone(), &[], manager).await.unwrap_or(written)))
}

fn is_about_fields(status: &kube::core::Status) -> bool {
    status.details.as_ref().is_some_and(|details| !details.causes.is_empty())
}

/// Asks for the deletion of an application; its controller then deletes what it made.
pub(crate) async fn delete(client: &Client, namespace: &str, name: &str) -> Result<Deletion, Error> {
    api(client, namespace).delete(name, &DeleteParams::background()).await.map_err(declined)?;
    let message =
        format!("the application {namespace}/{name} is being deleted, with the objects that it made");
    Ok(Deletion { message })
}

/// A stored application as its author wrote it, without what is confidential.
pub(crate) fn authored(mut application: Value) -> Value {
    secrets::hide(&mut application);
    let mut written = written_fields(&application);
    if let Some(metadata) = written["metadata"].as_object_mut() {
        for name in OF_SERVER {
            metadata.remove(name);
        }
        metadata.retain(|_, value| value.as_object().is_none_or(|fields| !fields.is_empty()));
    }
    written
}

/// What the server writes while an object is deleted.
const OF_SERVER: [&str; 2] = ["deletionTimestamp", "deletionGracePeriodSeconds"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_author_wrote_neither_status_nor_bookkeeping() {
        let stored = json!({
            "apiVersion": "core.oam.dev/v1beta1", "kind": "Application", "status": {"status": "running"},
            "metadata": {"name": "a", "namespace": "b", "uid": "c", "resourceVersion": "1", "generation": 2,
                "managedFields": [], "finalizers": ["f"], "labels": {"d": "e"}, "deletionTimestamp": "now",
                "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}},
            "spec": {"components": [{"name": "c", "properties": {"kind": "Secret", "data": {"a": "b"}}}]},
        });
        let expected = json!({
            "apiVersion": "core.oam.dev/v1beta1", "kind": "Application",
            "metadata": {"name": "a", "namespace": "b", "labels": {"d": "e"}},
            "spec": {"components": [{"name": "c", "properties": {"kind": "Secret", "data": {"a": "(hidden)"}}}]},
        });
        assert_eq!(authored(stored), expected);
    }

    #[test]
    fn only_what_people_write_changes_the_hash() {
        let stored = json!({
            "metadata": {"name": "a", "uid": "c", "resourceVersion": "1", "generation": 2, "labels": {"d": "e"}},
            "spec": {"components": []}, "status": {"status": "rendering"},
        });
        let hash = |path: &str, value: Value| {
            let mut changed = stored.clone();
            if let Some((parent, name)) = path.rsplit_once('/') {
                changed.pointer_mut(parent).unwrap()[name] = value;
            }
            content_hash("key", &changed)
        };
        let seen = hash("", Value::Null);
        for (path, value) in [
            ("/status/status", json!("running")),
            ("/metadata/resourceVersion", json!("2")),
            ("/metadata/managedFields", json!([{"manager": "controller"}])),
            ("/metadata/finalizers", json!(["f"])),
        ] {
            assert_eq!(hash(path, value), seen, "{path}");
        }
        for (path, value) in [
            ("/spec/components", json!([{}])),
            ("/metadata/labels", json!({"d": "f"})),
            ("/metadata/annotations", json!({"a": "b"})),
            ("/metadata/uid", json!("d")),
            ("/metadata/deletionTimestamp", json!("now")),
        ] {
            assert_ne!(hash(path, value), seen, "{path}");
        }
        assert_ne!(content_hash("another", &stored), seen);
    }
}

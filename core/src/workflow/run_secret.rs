//! Keeps the values of a run that come from a Secret: in a Secret beside the ConfigMap with the other values, read and written
//! with the rights of the author, who had to have them for reading it in the first place.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::core::Status;
use serde_json::{Value, json};
use vela_runtime::{Api, Key};

use crate::author::Actor;
use crate::context::FIELD_MANAGER;

/// The Secret of one run.
pub(super) struct RunSecret {
    api: Api<Secret>,
    name: String,
    /// The uid of whose run it is.
    owner: String,
    /// Its content, as far as it is known; nothing where there is none.
    data: Option<BTreeMap<String, String>>,
}

impl RunSecret {
    /// The Secret of this name for the run of the object with this uid; nothing is read yet.
    pub(super) fn new(acting: &Actor, key: &Key, name: &str, owner: &str) -> Self {
        let api = Api::namespaced(acting.client(), &key.namespace);
        Self { api, name: name.to_owned(), owner: owner.to_owned(), data: None }
    }

    /// Its content; nothing where there is none.
    pub(super) async fn read(&mut self) -> Result<Option<&BTreeMap<String, String>>, kube::Error> {
        if let Some(found) = self.api.get_opt(&self.name).await? {
            self.check(&found)?;
            let data = found.data.unwrap_or_default().into_iter();
            let text = |ByteString(bytes): ByteString| String::from_utf8_lossy(&bytes).into_owned();
            self.data = Some(data.map(|(key, value)| (key, text(value))).collect());
        }
        Ok(self.data.as_ref())
    }

    /// Writes what differs from what is in it, for an owner that the reference names.
    pub(super) async fn write(
        &mut self,
        data: BTreeMap<String, String>,
        owner: &Value,
    ) -> Result<(), kube::Error> {
        if self.data.as_ref() == Some(&data) {
            return Ok(());
        }
        if self.data.is_none()
            && let Some(found) = self.api.get_opt(&self.name).await?
        {
            self.check(&found)?;
        }
        let bytes: BTreeMap<&String, ByteString> =
            data.iter().map(|(key, text)| (key, ByteString(text.clone().into_bytes()))).collect();
        let secret = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": self.name, "ownerReferences": [owner]},
            "data": bytes,
        });
        let params = PatchParams::apply(FIELD_MANAGER).force();
        self.api.patch(&self.name, &params, &Patch::Apply(&secret)).await?;
        self.data = Some(data);
        Ok(())
    }

    /// No value is confidential any more.
    pub(super) async fn delete(&mut self) -> Result<(), kube::Error> {
        match self.api.get_opt(&self.name).await? {
            Some(found) if self.is_ours(&found) => {
                self.api.delete(&self.name, &DeleteParams::default()).await?;
            }
            _ => {}
        }
        self.data = None;
        Ok(())
    }

    /// A foreign Secret is neither read nor written.
    fn check(&self, found: &Secret) -> Result<(), kube::Error> {
        if self.is_ours(found) {
            return Ok(());
        }
        let message = format!(
            "Secret {:?} is needed for the confidential values of the workflow, and belongs to another owner: give it \
             another name there, or rename the application",
            self.name
        );
        Err(kube::Error::Api(Status::failure(&message, "Forbidden").with_code(403).boxed()))
    }

    fn is_ours(&self, found: &Secret) -> bool {
        let owners = found.metadata.owner_references.as_deref().unwrap_or_default();
        owners.iter().any(|owner| owner.uid == self.owner)
    }
}

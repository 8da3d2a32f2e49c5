//! One object of several applications: one writes it, the others are on the list in its annotation, and each leaves the list
//! before the last one deletes the object.
//!
//! The list is written apart from the object and against the version that was read, so that no sharer is lost from it.

use std::sync::Arc;

use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use vela_crds::{annotations, labels};
use vela_engine::policy::shared_resource::{Remaining, with_sharer, without_sharer};
use vela_runtime::Kind;
use vela_runtime::apply::{self as runtime_apply, Outcome};

use super::write_result::Written;
use crate::application::inventory::Owned;
use crate::application::owned_kinds::{Application, application_of, sharers};
use crate::application::reconciler::ApplicationReconciler;
use crate::author::Actor;
use crate::successors;

/// An object that is shared, and for whom.
pub(super) struct Sharing<'a> {
    pub(super) reconciler: &'a ApplicationReconciler,
    pub(super) application: &'a Application<'a>,
    pub(super) acting: &'a Actor,
    pub(super) owned: &'a Owned,
}

impl Sharing<'_> {
    /// Join those who share the object of another application. Nothing where the application writes the object itself.
    pub(super) async fn join(&self) -> Result<Option<Written>, runtime_apply::Error> {
        let kind = self.kind().await?;
        let Some(live) = self.read(&kind).await? else { return Ok(None) };
        let Some(owner) = application_of(&live).filter(|owner| *owner != self.application.key) else {
            return Ok(None);
        };
        let listed = sharers(&live);
        if listed.is_empty() {
            let object = self.object();
            return Ok(Some(Written::NotYet(format!(
                "{object}: application is controlled by {owner} but is not sharable: name the object in a shared-resource \
                 policy of {owner}, too"
            ))));
        }
        let object = self.listed(&kind, Arc::new(live)).await?;
        Ok(Some(Written::Seen(runtime_apply::Applied { object, kind, outcome: Outcome::Unchanged })))
    }

    /// Put the application on the list of the object that it writes.
    pub(super) async fn announce(
        &self,
        done: runtime_apply::Applied,
    ) -> Result<runtime_apply::Applied, runtime_apply::Error> {
        let object = self.listed(&done.kind, done.object.clone()).await?;
        Ok(runtime_apply::Applied { object, ..done })
    }

    /// Leave the object to the others. True where there are others: then it is not ours to delete.
    async fn leave(&self) -> Result<bool, runtime_apply::Error> {
        let kind = match self.kind().await {
            // With its kind gone from the server the object is gone too.
            Err(runtime_apply::Error::Kind {
                source: vela_runtime::discovery::Error::Unknown { .. },
                ..
            }) => {
                return Ok(false);
            }
            kind => kind?,
        };
        let Some(live) = self.seen(&kind).await? else { return Ok(false) };
        let without = without_sharer(sharers(&live), &self.application.key.to_string());
        let Remaining::Others { sharers, namespace, name } = without else { return Ok(false) };
        let mut metadata = json!({"annotations": {(annotations::SHARED_BY): sharers}});
        if application_of(&live).is_some_and(|owner| owner == self.application.key) {
            metadata["labels"] = json!({(labels::APP_NAME): name, (labels::APP_NAMESPACE): namespace});
        }
        self.write(&kind, &live, metadata).await.map(|_| true)
    }

    /// The object with the application on its list.
    async fn listed(
        &self,
        kind: &Kind,
        live: Arc<DynamicObject>,
    ) -> Result<Arc<DynamicObject>, runtime_apply::Error> {
        let application = self.application.key.to_string();
        let Some(sharers) = with_sharer(sharers(&live), &application) else { return Ok(live) };
        let metadata = json!({"annotations": {(annotations::SHARED_BY): sharers}});
        self.write(kind, &live, metadata).await.map(Arc::new)
    }

    async fn write(
        &self,
        kind: &Kind,
        live: &DynamicObject,
        mut metadata: Value,
    ) -> Result<DynamicObject, runtime_apply::Error> {
        metadata["uid"] = json!(live.metadata.uid);
        metadata["resourceVersion"] = json!(live.metadata.resource_version);
        let params = PatchParams {
            field_manager: Some(crate::context::FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let key = &self.owned.key;
        let api = kind.api(self.acting.client(), &key.namespace);
        let written = api.patch(&key.name, &params, &Patch::Merge(&json!({"metadata": metadata}))).await;
        written.map_err(|source| runtime_apply::Error::Client { object: self.object(), source })
    }

    async fn kind(&self) -> Result<Kind, runtime_apply::Error> {
        let discovery = &self.reconciler.context.discovery;
        let api_version = successors::address(discovery, &self.owned.api_version, &self.owned.kind).await;
        let kind = discovery.resolve(api_version, &self.owned.kind).await;
        kind.map_err(|source| runtime_apply::Error::Kind { object: self.object(), source })
    }

    async fn read(&self, kind: &Kind) -> Result<Option<DynamicObject>, runtime_apply::Error> {
        let key = &self.owned.key;
        let found = kind.api(self.acting.client(), &key.namespace).get_opt(&key.name).await;
        found.map_err(|source| runtime_apply::Error::Client { object: self.object(), source })
    }

    /// The same as readers with the right see it: an author who may not read it any more has nothing to leave.
    async fn seen(&self, kind: &Kind) -> Result<Option<DynamicObject>, runtime_apply::Error> {
        let key = &self.owned.key;
        let client = self.reconciler.context.client.clone();
        match kind.api(client, &key.namespace).get_opt(&key.name).await {
            Err(kube::Error::Api(status)) if status.code == 403 => self.read(kind).await,
            Err(source) => Err(runtime_apply::Error::Client { object: self.object(), source }),
            Ok(found) => Ok(found),
        }
    }

    fn object(&self) -> String {
        format!("{} {}", self.owned.kind, self.owned.key)
    }
}

/// Leave an object of the record to the applications that share it, where there are any.
pub(super) async fn leave(
    reconciler: &ApplicationReconciler,
    application: &Application<'_>,
    owned: &Owned,
) -> Result<bool, runtime_apply::Error> {
    let acting = application.acting_on(&reconciler.context, owned);
    Sharing { reconciler, application, acting: &acting, owned }.leave().await
}

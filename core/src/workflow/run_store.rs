//! Where a run of a workflow is kept: its journal in the status of its object, its values in a ConfigMap, those that come from
//! a Secret in a Secret; read and written past the caches, because a step must not be run twice for a copy that is behind.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use vela_engine::Secrets;
use vela_engine::workflow::{RunStatus, RunValues};
use vela_runtime::apply as runtime_apply;
use vela_runtime::{Api, Informer, Key};

use super::effects::First;
use super::run_secret::RunSecret;
use crate::author::Actor;
use crate::context::FIELD_MANAGER;
use crate::status::write_unless_changed;

/// Characters of the uid that follow the name of a ConfigMap whose plain name another object has.
const SUFFIX_LENGTH: usize = 5;

/// Why a run cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    /// The API server did not answer, or refused.
    #[error("cannot read how far the workflow is: {}", runtime_apply::explain(.0))]
    Client(#[from] kube::Error),
    /// The stored values cannot be parsed.
    #[error("the values of the workflow in {name} cannot be read: {why}")]
    Unreadable { name: String, why: String },
    /// The object is gone, or asks for something else by now: that wakes its reconciler.
    #[error("it asks for something else by now")]
    Behind,
}

impl StoreError {
    /// The stored values cannot be parsed.
    fn unreadable(name: String, why: String) -> Self {
        Self::Unreadable { name, why }
    }
}

/// Of which kind the object is whose run it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// An Application: its journal is `status.workflow`.
    Application,
    /// A WorkflowRun: its journal is the status.
    WorkflowRun,
}

/// Where a run is kept, and with whose rights.
pub(crate) struct Home {
    /// Of the object whose run it is, past the cache.
    pub(crate) api: Api<DynamicObject>,
    /// The cache that hears of each write.
    pub(crate) informer: Arc<Informer>,
    /// For the values: bookkeeping, for which no author needs rights.
    pub(crate) client: kube::Client,
    /// For what is confidential.
    pub(crate) acting: Actor,
    pub(crate) form: Form,
}

/// The run of one object, as it is stored.
pub(crate) struct RunStore {
    home: Home,
    key: Key,
    /// The object as it was last read or written.
    object: DynamicObject,
    /// Name of the ConfigMap.
    name: String,
    /// Its content; nothing as long as it does not exist.
    data: Option<BTreeMap<String, String>>,
    /// Its confidential part.
    secret: RunSecret,
    /// The confidential values, which no message of the journal may repeat.
    hidden: Secrets,
}

impl Form {
    /// The journal in a status, as far as it was begun.
    fn journal(self, status: &Value, begin: &RunStatus, now: Timestamp) -> Option<RunStatus> {
        match self {
            Self::Application => RunStatus::read(status.get("workflow")?, now),
            Self::WorkflowRun => RunStatus::read_object(status, &begin.revision, now),
        }
    }

    /// The status with this journal.
    fn with_journal(self, status: &Value, journal: &RunStatus) -> Value {
        match self {
            Self::Application => {
                let mut status = if status.is_object() { status.clone() } else { json!({}) };
                status["workflow"] = journal.to_json();
                status
            }
            Self::WorkflowRun => journal.to_object(),
        }
    }

    /// API version and kind of the object.
    fn kind(self) -> (&'static str, &'static str) {
        match self {
            Self::Application => ("core.oam.dev/v1beta1", "Application"),
            Self::WorkflowRun => ("core.oam.dev/v1alpha1", "WorkflowRun"),
        }
    }
}

impl RunStore {
    /// Reads how far the run of this revision is. One of another revision is over, and this one is at its beginning. `object`
    /// is what the caller goes by.
    pub(crate) async fn read(
        home: Home,
        object: &DynamicObject,
        begin: RunStatus,
        now: Timestamp,
    ) -> Result<(Self, RunStatus, RunValues), StoreError> {
        let (mut store, former, uid) = Self::open(home, object, &begin, now).await?;
        let Some(mut status) = former else {
            let mut status = begin;
            let values = RunValues::default();
            let uid = store.store_values(&values).await?.or(uid);
            status.context = Some(store.reference(uid));
            return Ok((store, status, values));
        };
        let values = store.values().await?;
        store.hide(&json!({"kind": "Secret", "data": values.confidential()}));
        if let Some(uid) = uid {
            status.context = Some(store.reference(Some(uid)));
        }
        Ok((store, status, values))
    }

    /// The values that the run of this revision gave until now; none where it did not begin. Writes nothing.
    pub(crate) async fn given(
        home: Home,
        object: &DynamicObject,
        begin: &RunStatus,
        now: Timestamp,
    ) -> Result<RunValues, StoreError> {
        let (mut store, former, _) = Self::open(home, object, begin, now).await?;
        if former.is_some() { store.values().await } else { Ok(RunValues::default()) }
    }

    /// The store of a run, with its journal where it goes on, and the uid of its ConfigMap.
    async fn open(
        home: Home,
        object: &DynamicObject,
        begin: &RunStatus,
        now: Timestamp,
    ) -> Result<(Self, Option<RunStatus>, Option<String>), StoreError> {
        let key = Key::of(object);
        let live = home.api.get_opt(&key.name).await?;
        let is_current = |live: &DynamicObject| {
            live.metadata.uid == object.metadata.uid && live.metadata.generation == object.metadata.generation
        };
        let Some(object) = live.filter(is_current) else { return Err(StoreError::Behind) };
        let written = object.data.get("status").unwrap_or(&Value::Null);
        let former = home.form.journal(written, begin, now);
        let kept =
            former.as_ref().and_then(|former| former.context.as_ref()).and_then(|at| at["name"].as_str());
        let kept = kept.map(str::to_owned);
        let former = former.filter(|former| former.revision == begin.revision);
        let own = object.metadata.uid.clone().unwrap_or_default();
        let secret = RunSecret::new(&home.acting, &key, "", &own);
        let hidden = Secrets::default();
        let mut store = Self { home, key, object, name: String::new(), data: None, secret, hidden };
        let uid = store.find(kept).await?;
        store.secret = RunSecret::new(&store.home.acting, &store.key, &store.name, &own);
        Ok((store, former, uid))
    }

    /// The values of a run that goes on.
    async fn values(&mut self) -> Result<RunValues, StoreError> {
        let Some(data) = &self.data else { return Ok(RunValues::default()) };
        let is_divided = RunValues::is_divided(data);
        let (stored, secret) = (format!("ConfigMap {:?}", self.name), format!("Secret {:?}", self.name));
        let values = RunValues::read(data).map_err(|why| StoreError::unreadable(stored, why))?;
        if !is_divided {
            return Ok(values);
        }
        let Some(confidential) = self.secret.read().await? else {
            return Err(StoreError::unreadable(secret, "it is gone; restart the workflow".to_owned()));
        };
        values.with_confidential(confidential).map_err(|why| StoreError::unreadable(secret, why))
    }

    /// No message of the journal repeats what is in this Secret.
    pub(crate) fn hide(&mut self, secret: &Value) {
        self.hidden.add(secret);
    }

    /// The confidential values, which no message may repeat.
    pub(crate) fn hidden(&self) -> &Secrets {
        &self.hidden
    }

    /// The object as it was last read or written.
    pub(crate) fn into_object(self) -> DynamicObject {
        self.object
    }

    /// Finds the ConfigMap, or a name that is free. Gives its uid. The one that the journal names comes first: the usual name
    /// may have become free since, and a run that looked there would have lost its calls, and make them again.
    async fn find(&mut self, kept: Option<String>) -> Result<Option<String>, kube::Error> {
        let own = self.object.metadata.uid.clone().unwrap_or_default();
        let usual = format!("workflow-{}-context", self.key.name);
        let suffix: String = own.chars().filter(char::is_ascii_alphanumeric).take(SUFFIX_LENGTH).collect();
        let names = [usual.clone(), format!("{usual}-{suffix}")];
        let kept = kept.filter(|kept| names.contains(kept));
        for name in kept.into_iter().chain(names) {
            self.name = name;
            let Some(found) = self.config_maps().get_opt(&self.name).await? else { return Ok(None) };
            let owners = found.metadata.owner_references.unwrap_or_default();
            if owners.iter().any(|owner| owner.uid == own) {
                self.data = Some(found.data.unwrap_or_default());
                return Ok(found.metadata.uid);
            }
        }
        Ok(None)
    }

    /// Stores how far the run is, where that is not stored yet.
    pub(crate) async fn store(
        &mut self,
        status: &RunStatus,
        values: &RunValues,
        first: First,
    ) -> Result<(), kube::Error> {
        if first == First::Status {
            self.store_status(status).await?;
        }
        self.store_values(values).await?;
        self.store_status(status).await
    }

    /// Writes the values. Gives the uid of what holds them, where they were written.
    async fn store_values(&mut self, values: &RunValues) -> Result<Option<String>, kube::Error> {
        let (data, confidential) = (values.to_data(), values.confidential_data());
        let owner = self.owner();
        // First what the ConfigMap says is there.
        if !confidential.is_empty() {
            self.secret.write(confidential, &owner).await?;
        } else if self.data.as_ref().is_some_and(RunValues::is_divided) {
            self.secret.delete().await?;
        }
        if self.data.as_ref() == Some(&data) {
            return Ok(None);
        }
        let config_map = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": self.name, "namespace": self.key.namespace, "ownerReferences": [owner]},
            "data": data,
        });
        let params = PatchParams::apply(FIELD_MANAGER).force();
        let written = self.config_maps().patch(&self.name, &params, &Patch::Apply(&config_map)).await?;
        self.data = Some(data);
        Ok(written.metadata.uid)
    }

    /// Writes the journal, unless another client wrote the object since it was read: a person who suspends or resumes
    /// is not overwritten.
    async fn store_status(&mut self, status: &RunStatus) -> Result<(), kube::Error> {
        let mut status = status.clone();
        status.hide(&self.hidden);
        let whole = self.object.data.get("status").unwrap_or(&Value::Null);
        let whole = self.home.form.with_journal(whole, &status);
        let Home { api, informer, .. } = &self.home;
        if let Some(written) = write_unless_changed(api, informer, &self.object, &whole).await? {
            self.object = written;
        }
        Ok(())
    }

    /// Where values are kept: bookkeeping, for which no author needs rights.
    fn config_maps(&self) -> Api<ConfigMap> {
        Api::namespaced(self.home.client.clone(), &self.key.namespace)
    }

    /// The owner of the values.
    fn owner(&self) -> Value {
        let (api_version, kind) = self.home.form.kind();
        json!({
            "apiVersion": api_version,
            "kind": kind,
            "name": self.key.name,
            "uid": self.object.metadata.uid,
            "controller": true,
        })
    }

    /// `contextBackend` of the journal.
    fn reference(&self, uid: Option<String>) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": self.name,
            "namespace": self.key.namespace,
            "uid": uid.unwrap_or_default(),
        })
    }
}

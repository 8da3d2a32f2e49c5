//! Runs a view: answers its questions by looking at the cluster with the rights of a client. It changes nothing and sends nothing:
//! calls that would are refused.

use std::time::Duration;

use kube::api::{ListParams, LogParams};
use serde_json::Value;
use vela_crds::ResourceTracker;
use vela_engine::view::{Progress, View};
use vela_engine::workflow::{RunValues, StepOutcome};
use vela_engine::{Diagnostics, LOCAL, ObjectKey};
use vela_runtime::smtp::Mail;
use vela_runtime::{Api, Discovery, Key, apply, clock};

use crate::application::step_reach::{recorded, tracker_selector};
use crate::egress::{Answer, NoAnswer, Request};
use crate::reading::{Reading, Selection, Unread};
use crate::workflow::{Asked, Called, MayWrite, Network, Objects, OwnedObject, Owner, call};

/// What a view is told that asks for more than to read.
const READS_ONLY: &str = "a view only reads: workflow steps change objects and call servers";

/// What a view looks at.
pub struct Looking {
    /// With whose rights.
    pub client: kube::Client,
    /// The kinds of the cluster.
    pub discovery: Discovery,
    /// Where objects lie that name no namespace.
    pub namespace: String,
    /// Where the ConfigMaps lie that are there for everybody.
    pub system_namespace: String,
}

/// Why a view has no result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is wrong, or its parameters are.
    #[error(transparent)]
    Broken(#[from] Diagnostics),
    /// A question has no answer.
    #[error("{0}")]
    NoAnswer(String),
}

/// The result of a view.
///
/// # Errors
/// It is wrong, or a question of it has no answer.
pub async fn result(looking: &mut Looking, view: View) -> Result<Value, Error> {
    let mut view = view;
    let mut values = RunValues::default();
    // The number of calls is limited.
    loop {
        let question = match view.advance()? {
            Progress::Done(result) => return Ok(result),
            Progress::Ask(question) => question,
        };
        let asked = Asked { question: &question, step: "view", values: &mut values, now: clock::now() };
        let called = match call(looking, asked).await {
            Ok(called) => called,
            Err(never) => match never {},
        };
        match called {
            Called::Answer(answer) => view.answer(answer)?,
            Called::Ended(StepOutcome::Error { message } | StepOutcome::Fail { message }) => {
                return Err(Error::NoAnswer(format!("{}: {message}", question.path)));
            }
            Called::Ended(StepOutcome::Broken { message }) => return Err(Error::NoAnswer(message)),
            Called::Ended(_) => {
                return Err(Error::NoAnswer(format!("{}: it has no answer yet", question.path)));
            }
        }
    }
}

impl Looking {
    fn reading(&self) -> Reading<'_> {
        Reading { client: self.client.clone(), discovery: &self.discovery }
    }

    /// The key of an object as it is written, which may leave its namespace out.
    fn key(&self, object: &Value) -> ObjectKey {
        let mut key = ObjectKey::of(object);
        if key.namespace.is_empty() {
            key.namespace.clone_from(&self.namespace);
        }
        key
    }

    async fn list_of(&self, selection: &Selection) -> Result<Vec<Value>, Unread> {
        let reading = self.reading();
        let kind = reading.kind(&selection.api_version, &selection.kind).await?;
        reading.list(&kind, selection, &selection.namespace).await
    }

    async fn owned(&self, namespace: &str, name: &str) -> Result<Vec<OwnedObject>, Unread> {
        let namespace = if namespace.is_empty() { &self.namespace } else { namespace };
        let key = ObjectKey::local("core.oam.dev/v1beta1", "Application", namespace, name);
        if self.reading().object(&key).await?.is_none() {
            return Err(Unread::Other(format!("there is no application {name} in namespace {namespace}")));
        }
        let trackers: Api<ResourceTracker> = Api::all(self.client.clone());
        let selector = tracker_selector(&Key::new(namespace, name));
        let trackers = trackers.list(&ListParams::default().labels(&selector)).await?;
        recorded(trackers.items)
            .map_err(|error| Unread::Other(format!("the record of {key} cannot be read: {error}")))
    }
}

fn explained(why: Unread) -> String {
    why.explained(apply::explain)
}

fn refused<T>() -> Result<T, String> {
    Err(READS_ONLY.to_owned())
}

impl Objects for Looking {
    type Error = std::convert::Infallible;

    async fn apply_object(&mut self, _object: Value) -> Result<Result<Value, String>, Self::Error> {
        Ok(refused())
    }

    async fn read_object(&mut self, object: &Value) -> Result<Result<Option<Value>, String>, Self::Error> {
        Ok(self.reading().object(&self.key(object)).await.map_err(explained))
    }

    async fn list_objects(
        &mut self,
        selection: &Selection,
    ) -> Result<Result<Vec<Value>, String>, Self::Error> {
        Ok(self.list_of(selection).await.map_err(explained))
    }

    async fn delete_object(&mut self, _object: &Value) -> Result<Result<(), String>, Self::Error> {
        Ok(refused())
    }

    async fn change_object(
        &mut self,
        _live: &Value,
        _wanted: Value,
    ) -> Result<Result<Value, String>, Self::Error> {
        Ok(refused())
    }

    async fn read_shared(
        &mut self,
        namespace: &str,
        name: &str,
    ) -> Result<Result<Option<Value>, String>, Self::Error> {
        let namespace = if namespace.is_empty() { &self.system_namespace } else { namespace };
        let key = ObjectKey::local("v1", "ConfigMap", namespace, name);
        Ok(self.reading().object(&key).await.map_err(explained))
    }

    async fn is_served(&mut self, api_version: &str, kind: &str) -> Result<bool, Self::Error> {
        Ok(self.reading().is_served(api_version, kind).await)
    }

    async fn list_shared(&mut self, label: &str) -> Result<Result<Vec<Value>, String>, Self::Error> {
        let reading = self.reading();
        let found = match reading.kind("v1", "ConfigMap").await {
            Ok(kind) => reading.labelled(&kind, label, &self.system_namespace).await,
            Err(why) => Err(why),
        };
        Ok(match found {
            // A user who may not read the rules of the platform goes by the built-in ones.
            Err(Unread::Client(kube::Error::Api(status))) if status.code == 403 => Ok(Vec::new()),
            found => found.map_err(explained),
        })
    }

    async fn pod_log(
        &mut self,
        namespace: &str,
        pod: &str,
        params: LogParams,
    ) -> Result<Result<String, String>, Self::Error> {
        let namespace = if namespace.is_empty() { &self.namespace } else { namespace };
        Ok(self.reading().log(namespace, pod, params).await.map_err(explained))
    }

    async fn put_object(
        &mut self,
        _object: Value,
        _may_write: MayWrite,
    ) -> Result<Result<(), String>, Self::Error> {
        Ok(refused())
    }

    async fn remove_object(
        &mut self,
        _object: &Value,
        _may_write: MayWrite,
    ) -> Result<Result<(), String>, Self::Error> {
        Ok(refused())
    }
}

impl Network for Looking {
    async fn send(&mut self, _request: &Request) -> Result<Answer, NoAnswer> {
        Err(NoAnswer::NotSent(READS_ONLY.to_owned()))
    }

    async fn send_mail(&mut self, _mail: &Mail) -> Result<(), NoAnswer> {
        Err(NoAnswer::NotSent(READS_ONLY.to_owned()))
    }

    fn admits(&mut self, _name: &str, _limit: usize, _period: Duration) -> bool {
        true
    }
}

/// A view belongs to no application.
impl Owner for Looking {
    async fn owned_objects(&self, namespace: &str, name: &str) -> Result<Vec<OwnedObject>, String> {
        self.owned(namespace, name).await.map_err(explained)
    }

    fn placements(&self, policies: &[String]) -> Result<Vec<(String, String)>, String> {
        match policies {
            [] => Ok(vec![(LOCAL.to_owned(), self.namespace.clone())]),
            [name, ..] => Err(format!("policy {name} is unknown: a view belongs to no application")),
        }
    }
}

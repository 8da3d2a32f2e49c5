//! Between the calls of steps and the cluster: what a provider is given, and what it gives back.

use std::time::Duration;

use jiff::Timestamp;
use kube::api::LogParams;
use serde_json::{Map, Value};
use vela_engine::steps::Question;
use vela_engine::workflow::{RunValues, StepOutcome};
use vela_runtime::smtp::Mail;

use crate::egress::{Answer, NoAnswer, Request};
use crate::reading::Selection;

/// A call of a step at work.
pub(crate) struct Asked<'a> {
    /// The call, as the template wrote it.
    pub(crate) question: &'a Question,
    /// The id of the step.
    pub(crate) step: &'a str,
    /// The values of the run.
    pub(crate) values: &'a mut RunValues,
    /// When it is asked.
    pub(crate) now: Timestamp,
}

impl Asked<'_> {
    /// With what it is asked.
    pub(super) fn params(&self) -> &Value {
        &self.question.params
    }

    /// A text among that; empty where there is none.
    pub(super) fn text(&self, field: &str) -> &str {
        self.question.params[field].as_str().unwrap_or_default()
    }

    /// The call can never be answered: this is wrong at it.
    pub(super) fn broken(&self, message: impl std::fmt::Display) -> Called {
        Called::broken(format!("{}: {message}", self.question.path))
    }

    /// The answer under one name in the present form, and under another in that of `vela/op`.
    pub(super) fn named(&self, name: &str, name_in_op: &str, answer: Value) -> Called {
        let name = if self.question.has_returns { name } else { name_in_op };
        Called::Answer(Value::Object(Map::from_iter([(name.to_owned(), answer)])))
    }
}

/// The result of a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Called {
    /// The step goes on with this; with nothing where it is null.
    Answer(Value),
    /// The step ends. Of a call with an effect outside, an error says that it was not made.
    Ended(StepOutcome),
}

impl Called {
    /// The step goes on, and learns nothing.
    pub(super) fn nothing() -> Self {
        Self::Answer(Value::Null)
    }

    /// The call can never be answered: it is wrong, or has no provider yet.
    pub(super) fn broken(message: impl Into<String>) -> Self {
        Self::Ended(StepOutcome::Broken { message: message.into() })
    }

    /// The call went wrong, and is made again when the step is tried again.
    pub(super) fn failed(message: impl Into<String>) -> Self {
        Self::Ended(StepOutcome::Error { message: message.into() })
    }

    /// The call is not made again: it may have been taken.
    pub(super) fn uncertain(message: impl Into<String>) -> Self {
        Self::Ended(StepOutcome::Fail { message: message.into() })
    }
}

/// Whether an object without an owner may be written or deleted; the error says why not.
pub(crate) type MayWrite = fn(&Value) -> Result<(), String>;

/// The objects that the steps of one application reach.
pub(crate) trait Objects {
    /// Why the run ends before its time.
    type Error;

    /// Apply an object. Gives it as it is in the cluster, or why it is not there.
    async fn apply_object(&mut self, object: Value) -> Result<Result<Value, String>, Self::Error>;

    /// The object of this kind and name as it is in the cluster; nothing where there is none, or why it cannot be read.
    async fn read_object(&mut self, object: &Value) -> Result<Result<Option<Value>, String>, Self::Error>;

    /// Objects as they are in the cluster, or why they cannot be read.
    async fn list_objects(
        &mut self,
        selection: &Selection,
    ) -> Result<Result<Vec<Value>, String>, Self::Error>;

    /// Delete an object of the application, if there is one, or say why it stays.
    async fn delete_object(&mut self, object: &Value) -> Result<Result<(), String>, Self::Error>;

    /// Write what differs between an object of the application as it was read and as it is wanted. Gives it as it is then.
    async fn change_object(
        &mut self,
        live: &Value,
        wanted: Value,
    ) -> Result<Result<Value, String>, Self::Error>;

    /// A ConfigMap that is there for everybody; in the namespace of the system where none is named.
    async fn read_shared(
        &mut self,
        namespace: &str,
        name: &str,
    ) -> Result<Result<Option<Value>, String>, Self::Error>;

    /// Does the cluster know a kind?
    async fn is_served(&mut self, api_version: &str, kind: &str) -> Result<bool, Self::Error>;

    /// The ConfigMaps in the namespace of the system that have a label, whatever its value, or why they cannot be read.
    async fn list_shared(&mut self, label: &str) -> Result<Result<Vec<Value>, String>, Self::Error>;

    /// The log of a container, at most its first MiB, or why it cannot be read.
    async fn pod_log(
        &mut self,
        namespace: &str,
        pod: &str,
        params: LogParams,
    ) -> Result<Result<String, String>, Self::Error>;

    /// Write an object that outlives the application and is not recorded as its own.
    async fn put_object(
        &mut self,
        object: Value,
        may_write: MayWrite,
    ) -> Result<Result<(), String>, Self::Error>;

    /// Delete such an object, if there is one.
    async fn remove_object(
        &mut self,
        object: &Value,
        may_write: MayWrite,
    ) -> Result<Result<(), String>, Self::Error>;
}

/// The questions for servers outside.
pub(crate) trait Network {
    /// Send a request.
    async fn send(&mut self, request: &Request) -> Result<Answer, NoAnswer>;

    /// Send an e-mail.
    async fn send_mail(&mut self, mail: &Mail) -> Result<(), NoAnswer>;

    /// May something of this name be asked now, so that it is asked no more than `limit` times in a period?
    fn admits(&mut self, name: &str, limit: usize, period: Duration) -> bool;
}

/// An object of an application, as its record names it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OwnedObject {
    /// The reference to it.
    pub(crate) object: Value,
    /// The component that makes it; empty where a step does.
    pub(crate) component: String,
    /// The type of the trait that makes it; empty where none does.
    pub(crate) trait_type: String,
}

/// The application whose steps are run; a run of its own and a view have none.
pub(crate) trait Owner {
    /// Its components as they are written, in order.
    fn components(&self) -> Vec<Value> {
        Vec::new()
    }

    /// Its policies as they are written, in order.
    fn policies(&self) -> Vec<Value> {
        Vec::new()
    }

    /// Those of its components that Terraform makes.
    fn terraform_components(&self) -> Vec<Value> {
        Vec::new()
    }

    /// The objects of an application, or why they cannot be told.
    async fn owned_objects(&self, namespace: &str, name: &str) -> Result<Vec<OwnedObject>, String>;

    /// Cluster and namespace of each place that these policies name, or why there is none.
    fn placements(&self, policies: &[String]) -> Result<Vec<(String, String)>, String>;
}

/// Everything that providers reach.
pub(crate) trait Reach: Objects + Network + Owner {}

impl<T: Objects + Network + Owner> Reach for T {}

/// A provider that answers the calls of one package.
pub(super) trait Provider {
    /// The `#provider` of its package's calls, in the present form and in that of `vela/op`.
    const NAMES: &'static [&'static str];

    /// The answer to a call; nothing where it is not one of its calls.
    async fn call<R: Reach>(reach: &mut R, asked: &mut Asked<'_>) -> Result<Option<Called>, R::Error>;
}

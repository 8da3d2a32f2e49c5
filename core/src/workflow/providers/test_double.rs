//! The surroundings of providers in their tests: given objects, and servers with given answers.

use std::convert::Infallible;
use std::time::Duration;

use jiff::Timestamp;
use kube::api::LogParams;
use serde_json::Value;
use vela_engine::steps::Question;
use vela_engine::workflow::RunValues;
use vela_runtime::smtp::Mail;

use super::provider::{Asked, Called, MayWrite, Network, Objects, OwnedObject, Owner};
use crate::egress::{Answer, NoAnswer, Request};
use crate::reading::Selection;

/// A cluster with the same object under every name.
#[derive(Default)]
pub(super) struct Double {
    /// The object that every read finds.
    pub(super) there: Option<Value>,
    /// The objects that every list finds.
    pub(super) listed: Vec<Value>,
    /// A list finds only those of its kind.
    pub(super) has_kinds: bool,
    /// The ConfigMaps of the system's namespace.
    pub(super) shared: Vec<Value>,
    /// API versions and kinds that the cluster does not know.
    pub(super) unserved: Vec<String>,
    pub(super) logs_asked: Vec<LogParams>,
    /// Why nothing may be done.
    pub(super) refusal: Option<String>,
    pub(super) applied: Vec<Value>,
    pub(super) selected: Vec<Selection>,
    pub(super) deleted: Vec<Value>,
    pub(super) put: Vec<Value>,
    pub(super) sent: Vec<Request>,
    /// The answers to requests, the last one first.
    pub(super) answers: Vec<Result<Answer, NoAnswer>>,
    pub(super) mails: Vec<Mail>,
    pub(super) is_limited: bool,
    pub(super) components: Vec<Value>,
    pub(super) policies: Vec<Value>,
    pub(super) owned: Vec<OwnedObject>,
}

impl Double {
    fn allowed<T>(&self, value: T) -> Result<Result<T, String>, Infallible> {
        Ok(match &self.refusal {
            Some(refusal) => Err(refusal.clone()),
            None => Ok(value),
        })
    }
}

impl Objects for Double {
    type Error = Infallible;

    async fn apply_object(&mut self, object: Value) -> Result<Result<Value, String>, Infallible> {
        let applied = self.allowed(object.clone())?;
        if applied.is_ok() {
            self.applied.push(object);
        }
        Ok(applied)
    }

    async fn read_object(&mut self, _object: &Value) -> Result<Result<Option<Value>, String>, Infallible> {
        self.allowed(self.there.clone())
    }

    async fn list_objects(
        &mut self,
        selection: &Selection,
    ) -> Result<Result<Vec<Value>, String>, Infallible> {
        self.selected.push(selection.clone());
        let is_meant = |object: &&Value| !self.has_kinds || object["kind"] == selection.kind.as_str();
        self.allowed(self.listed.iter().filter(is_meant).cloned().collect())
    }

    async fn delete_object(&mut self, object: &Value) -> Result<Result<(), String>, Infallible> {
        let deleted = self.allowed(())?;
        if deleted.is_ok() {
            self.deleted.push(object.clone());
        }
        Ok(deleted)
    }

    async fn change_object(
        &mut self,
        live: &Value,
        wanted: Value,
    ) -> Result<Result<Value, String>, Infallible> {
        assert_eq!(Some(live), self.there.as_ref(), "what was read is what is changed");
        self.apply_object(wanted).await
    }

    async fn read_shared(
        &mut self,
        _namespace: &str,
        _name: &str,
    ) -> Result<Result<Option<Value>, String>, Infallible> {
        self.allowed(self.there.clone())
    }

    async fn is_served(&mut self, api_version: &str, kind: &str) -> Result<bool, Infallible> {
        Ok(!self.unserved.contains(&format!("{api_version} {kind}")))
    }

    async fn list_shared(&mut self, _label: &str) -> Result<Result<Vec<Value>, String>, Infallible> {
        self.allowed(self.shared.clone())
    }

    async fn pod_log(
        &mut self,
        _namespace: &str,
        _pod: &str,
        params: LogParams,
    ) -> Result<Result<String, String>, Infallible> {
        self.logs_asked.push(params);
        self.allowed("hello\n".to_owned())
    }

    async fn put_object(
        &mut self,
        object: Value,
        may_write: MayWrite,
    ) -> Result<Result<(), String>, Infallible> {
        let verdict = self.there.as_ref().map_or(Ok(()), may_write);
        if verdict.is_ok() {
            self.put.push(object);
        }
        Ok(verdict)
    }

    async fn remove_object(
        &mut self,
        object: &Value,
        may_write: MayWrite,
    ) -> Result<Result<(), String>, Infallible> {
        let verdict = self.there.as_ref().map_or(Ok(()), may_write);
        if verdict.is_ok() {
            self.deleted.push(object.clone());
        }
        Ok(verdict)
    }
}

impl Network for Double {
    async fn send(&mut self, request: &Request) -> Result<Answer, NoAnswer> {
        self.sent.push(request.clone());
        self.answers.pop().unwrap_or_else(|| Err(NoAnswer::NotSent("no server answers".to_owned())))
    }

    async fn send_mail(&mut self, mail: &Mail) -> Result<(), NoAnswer> {
        self.mails.push(mail.clone());
        self.answers.pop().unwrap_or_else(|| Ok(Answer::default())).map(drop)
    }

    fn admits(&mut self, _name: &str, _limit: usize, _period: Duration) -> bool {
        !self.is_limited
    }
}

impl Owner for Double {
    fn components(&self) -> Vec<Value> {
        self.components.clone()
    }

    fn policies(&self) -> Vec<Value> {
        self.policies.clone()
    }

    async fn owned_objects(&self, _namespace: &str, _name: &str) -> Result<Vec<OwnedObject>, String> {
        match &self.refusal {
            Some(refusal) => Err(refusal.clone()),
            None => Ok(self.owned.clone()),
        }
    }

    fn placements(&self, policies: &[String]) -> Result<Vec<(String, String)>, String> {
        match policies {
            [] => Ok(vec![("local".to_owned(), String::new())]),
            [name, ..] => Err(format!("policy {name} not found")),
        }
    }
}

/// A call at the path `ask`.
pub(super) fn question(provider: &str, function: &str, params: Value) -> Question {
    let (path, has_returns) = ("ask".to_owned(), provider != "op");
    let (provider, function) = (provider.to_owned(), function.to_owned());
    Question { path, provider, function, params, has_returns, patch: None }
}

/// The answer to a call.
pub(super) async fn asked(double: &mut Double, question: Question) -> Called {
    asked_with(double, question, &mut RunValues::default(), Timestamp::UNIX_EPOCH).await
}

/// The same at a time, with the values of a run.
pub(super) async fn asked_with(
    double: &mut Double,
    question: Question,
    values: &mut RunValues,
    now: Timestamp,
) -> Called {
    let asked = Asked { question: &question, step: "step", values, now };
    match super::call(double, asked).await {
        Ok(called) => called,
        Err(never) => match never {},
    }
}

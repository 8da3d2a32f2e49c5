//! What a user orders a rollout to do. The engine decides what can be ordered and which fields are written for it, as for
//! `vela rollout`; they are written as that command writes them.

use kube::Client;
use kube::api::{ApiResource, DynamicObject};
use kube::core::GroupVersionKind;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use vela_crds::AppRollout;
use vela_engine::rollout::steering::{self, Change, Field, Order, Steered};
use vela_runtime::{Api, ownership};

use crate::data::applications::resource;
use crate::data::rollouts::{is_of, resource as rollout_resource};
use crate::error::Error;

/// The orders, as paths and forms spell them.
pub(crate) const ORDERS: [&str; 4] = ["pause", "resume", "promote", "undo"];

/// What an order did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Ordered {
    /// What the rollout does then.
    pub(crate) message: String,
}

/// The order of this name; `full` is for a promotion.
pub(crate) fn order(name: &str, full: Option<bool>) -> Result<Order, Error> {
    if full.is_some() && name != "promote" {
        return Err(Error::BadRequest("full: only promote goes to the end; leave it out".to_owned()));
    }
    match name {
        "pause" => Ok(Order::Pause),
        "resume" => Ok(Order::Resume),
        "promote" => Ok(Order::Promote { full: full.unwrap_or(false) }),
        "undo" => Ok(Order::Undo),
        name => {
            let name: String = name.chars().take(100).collect();
            Err(Error::NotFound(format!("{name:?} is no order; there are {}", ORDERS.join(", "))))
        }
    }
}

/// Carries out an order for a rollout of an application, as `manager`.
pub(crate) async fn steer(
    client: &Client,
    (namespace, application, name): (&str, &str, &str),
    order: Order,
    manager: &str,
) -> Result<Ordered, Error> {
    let cluster = Cluster { client, namespace, manager };
    let missing = || Error::NotFound(format!("{application} has no rollout {name:?}; see its rollouts"));
    let found = cluster.get("AppRollout", name).await?.filter(|found| is_of(found, application));
    let found = found.ok_or_else(missing)?;
    let rollout: AppRollout = serde_json::to_value(found)
        .and_then(serde_json::from_value)
        .map_err(|error| Error::Unreadable(format!("the AppRollout {name} cannot be read: {error}")))?;
    let steering = steering::steer(&rollout, order).map_err(|why| {
        let hint = if why.hint.is_empty() { String::new() } else { format!("; {}", why.hint) };
        Error::Refused(format!("{}{hint}", why.message))
    })?;
    match steering.change {
        Change::Fields { of, writes } => {
            let (kind, name) = match &of {
                Steered::Rollout => ("AppRollout", name),
                Steered::Application(application) => ("Application", application.as_str()),
            };
            for fields in writes {
                cluster.change(kind, name, &fields).await?;
            }
        }
        Change::Restore { application, revision } => cluster.restore(&application, &revision).await?,
    }
    Ok(Ordered { message: steering.then })
}

/// Where an order is carried out, and by whom.
struct Cluster<'a> {
    client: &'a Client,
    namespace: &'a str,
    manager: &'a str,
}

impl Cluster<'_> {
    fn api(&self, kind: &str) -> Api<DynamicObject> {
        let resource = match kind {
            "Application" => resource(),
            "AppRollout" => rollout_resource(),
            kind => ApiResource::from_gvk(&GroupVersionKind::gvk(vela_crds::GROUP, "v1beta1", kind)),
        };
        Api::namespaced_with(self.client.clone(), self.namespace, &resource)
    }

    async fn get(&self, kind: &str, name: &str) -> Result<Option<DynamicObject>, Error> {
        self.api(kind).get_opt(name).await.map_err(Error::cluster("what the rollout is about"))
    }

    async fn change(&self, kind: &str, name: &str, fields: &[Field]) -> Result<(), Error> {
        match ownership::change(&self.api(kind), name, fields, self.manager).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 409 => Err(Error::TooBusy(name.to_owned())),
            Err(kube::Error::Api(status)) if status.code == 403 => Err(Error::MissingRule {
                said: status.message.clone(),
                rule: format!(
                    "{{apiGroups: [{}], resources: [{}s], verbs: [get, patch]}} in namespace {}",
                    vela_crds::GROUP,
                    kind.to_lowercase(),
                    self.namespace
                ),
            }),
            Err(error) => Err(Error::cluster("the change of the rollout")(error)),
        }
    }

    /// Gives an Application the content of one of its revisions, and lets its plan go on.
    async fn restore(&self, application: &str, revision: &str) -> Result<(), Error> {
        let gone = |kind: &str, name: &str| {
            Error::Refused(format!("{kind} {name} is not there any more; apply the manifest that is wanted"))
        };
        let stored = self.get("ApplicationRevision", revision).await?;
        let stored = stored.ok_or_else(|| gone("ApplicationRevision", revision))?;
        let live = self.get("Application", application).await?;
        let live = live.ok_or_else(|| gone("Application", application))?;
        let spec = steering::restored(&stored.data, &live.data);
        let spec: Value = spec.ok_or_else(|| gone("the content of ApplicationRevision", revision))?;
        self.change("Application", application, &[(&["spec"], Some(spec))]).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_of_rollouts_are_read_by_name() {
        assert_eq!(order("promote", Some(true)).unwrap(), Order::Promote { full: true });
        assert!(matches!(order("undo", Some(true)), Err(Error::BadRequest(_))));
        assert!(matches!(order("delete", None), Err(Error::NotFound(_))));
        assert!(ORDERS.iter().all(|name| order(name, None).is_ok()));
    }
}

//! What a user orders a workflow to do, written into the status of its application: only over the version that was read.
//! The engine decides what can be ordered and what is written for it, as for `vela workflow`.

use kube::Client;
use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::Value;
use vela_engine::workflow::{self, Order};
use vela_runtime::{Api, clock, over_conflicts};

use crate::data::applications::{resource, to_json};
use crate::error::Error;

/// The orders, as paths and forms spell them.
pub(crate) const ORDERS: [&str; 4] = ["suspend", "resume", "terminate", "restart"];

/// The order of this name, for the whole run or for one step.
pub(crate) fn order<'a>(name: &str, step: Option<&'a str>) -> Result<Order<'a>, Error> {
    let order = match name {
        "suspend" => return Ok(Order::Suspend(step)),
        "resume" => return Ok(Order::Resume(step)),
        "terminate" => Order::Terminate,
        "restart" => Order::Restart,
        name => {
            let name: String = name.chars().take(100).collect();
            return Err(Error::NotFound(format!("{name:?} is no order; there are {}", ORDERS.join(", "))));
        }
    };
    match step {
        None => Ok(order),
        Some(_) => Err(Error::BadRequest(format!(
            "step: {name} is for the whole workflow; leave the step out, or use `vela workflow restart --step` \
             to begin at one"
        ))),
    }
}

/// Carries out an order as `manager`. Gives the application as it was written.
pub(crate) async fn steer(
    client: &Client,
    (namespace, name): (&str, &str),
    order: Order<'_>,
    manager: &str,
) -> Result<Value, Error> {
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &resource());
    let params = PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() };
    let (api, params) = (&api, &params);
    let written = over_conflicts(|| async move {
        let found = api.get_opt(name).await.map_err(Error::cluster("the application"))?;
        let found = found.ok_or_else(|| {
            Error::NotFound(format!(
                "the application {name:?} is not there any more; see /api/v1/applications"
            ))
        })?;
        let operations = workflow::steer(&to_json(&found), order, clock::now())
            .map_err(|why| Error::Refused(format!("{}; {}", why.message, why.hint)))?;
        let operations = serde_json::from_value(Value::Array(operations))
            .map_err(|error| Error::Unreadable(format!("the change cannot be written: {error}")))?;
        match api.patch_status(name, params, &Patch::<Value>::Json(operations)).await {
            Ok(written) => Ok(Some(to_json(&written))),
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(None),
            Err(kube::Error::Api(status)) if status.code == 403 => Err(Error::MissingRule {
                said: status.message.clone(),
                rule: format!(
                    "{{apiGroups: [{}], resources: [applications/status], verbs: [patch]}} in namespace {namespace}",
                    vela_crds::GROUP
                ),
            }),
            Err(error) => Err(Error::cluster("the change of the workflow")(error)),
        }
    });
    written.await?.ok_or_else(|| Error::TooBusy(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read_by_name_and_step() {
        assert_eq!(order("suspend", Some("a")).unwrap(), Order::Suspend(Some("a")));
        assert_eq!(order("restart", None).unwrap(), Order::Restart);
        assert!(matches!(order("restart", Some("a")), Err(Error::BadRequest(_))));
        assert!(matches!(order("delete", None), Err(Error::NotFound(_))));
        assert!(ORDERS.iter().all(|name| order(name, None).is_ok()));
    }
}

//! What a user orders a workflow to do, written into the status of its application, and into the values of its run where it
//! begins anew at a step: only over the versions that were read. The engine decides what can be ordered and what is written
//! for it, as for `vela workflow`.

use kube::Client;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use serde_json::Value;
use vela_engine::preview::{EXTERNAL_VERSION, named_workflow, written_workflow};
use vela_engine::workflow::{self, RestartFrom, StoredValues, Unsteerable, WorkflowSpec};
use vela_runtime::{Api, clock, over_conflicts};

use crate::data::applications::{resource, to_json};
use crate::error::Error;

/// The orders, as paths and forms spell them.
pub(crate) const ORDERS: [&str; 4] = ["suspend", "resume", "terminate", "restart"];

/// What a user orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order<'a> {
    /// What is written into the status alone.
    Steer(workflow::Order<'a>),
    /// The run begins anew at this step.
    RestartFrom(&'a str),
}

/// The order of this name, for the whole run or for one step.
pub(crate) fn order<'a>(name: &str, step: Option<&'a str>) -> Result<Order<'a>, Error> {
    match (name, step) {
        ("suspend", step) => Ok(Order::Steer(workflow::Order::Suspend(step))),
        ("resume", step) => Ok(Order::Steer(workflow::Order::Resume(step))),
        ("restart", Some(step)) => Ok(Order::RestartFrom(step)),
        ("restart", None) => Ok(Order::Steer(workflow::Order::Restart)),
        ("terminate", None) => Ok(Order::Steer(workflow::Order::Terminate)),
        ("terminate", Some(_)) => {
            Err(Error::BadRequest("step: a workflow ends as a whole; leave the step out".to_owned()))
        }
        (name, _) => {
            let name: String = name.chars().take(100).collect();
            Err(Error::NotFound(format!("{name:?} is no order; there are {}", ORDERS.join(", "))))
        }
    }
}

/// Carries out an order as `manager`. Gives the application as it was written.
pub(crate) async fn steer(
    client: &Client,
    (namespace, name): (&str, &str),
    order: Order<'_>,
    manager: &str,
) -> Result<Value, Error> {
    let writer = Writer { client, namespace, manager };
    let writer = &writer;
    let written = over_conflicts(|| async move {
        let found = writer.api(&resource()).get_opt(name).await.map_err(Error::cluster("the application"))?;
        let found = found.ok_or_else(|| {
            Error::NotFound(format!(
                "the application {name:?} is not there any more; see /api/v1/applications"
            ))
        })?;
        let application = to_json(&found);
        let operations = match order {
            Order::Steer(order) => workflow::steer(&application, order, clock::now()).map_err(refused)?,
            Order::RestartFrom(step) => {
                let RestartFrom { values, status } = writer.restart_from(&application, step).await?;
                if let Some(values) = values
                    && writer.values(&application, values).await?.is_none()
                {
                    return Ok(None);
                }
                status
            }
        };
        writer.status(name, operations).await
    });
    written.await?.ok_or_else(|| Error::TooBusy(name.to_owned()))
}

/// Why the engine carries out no such order.
fn refused(why: Unsteerable) -> Error {
    Error::Refused(format!("{}; {}", why.message, why.hint))
}

/// Reads and writes what an order is about, in one namespace.
struct Writer<'a> {
    client: &'a Client,
    namespace: &'a str,
    manager: &'a str,
}

impl Writer<'_> {
    fn api(&self, resource: &ApiResource) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), self.namespace, resource)
    }

    /// What is to be written so that the run begins anew at the step.
    async fn restart_from(&self, application: &Value, step: &str) -> Result<RestartFrom, Error> {
        let now = clock::now();
        let run = workflow::steerable(application, now).map_err(refused)?;
        let spec = self.spec(application).await?;
        let object = match StoredValues::name_of(&run) {
            None => None,
            Some(name) => self.api(&config_map()).get_opt(name).await.map_err(Error::cluster(VALUES))?,
        };
        let object = object.map(|object| serde_json::to_value(object).unwrap_or_default());
        let stored = StoredValues::read(object).map_err(refused)?;
        workflow::restart_from(application, step, &spec, stored, now).map_err(refused)
    }

    /// The workflow as it is written, in the application or in the Workflow that it names.
    async fn spec(&self, application: &Value) -> Result<WorkflowSpec, Error> {
        let named = match named_workflow(application) {
            None => None,
            Some(name) => {
                let found = self.api(&external_workflow()).get_opt(name).await;
                let found = found.map_err(Error::cluster("the Workflow that the application names"))?;
                // Read one by one, an object may lack its kind.
                found.map(|mut found| {
                    found.types = Some(kube::api::TypeMeta {
                        api_version: EXTERNAL_VERSION.to_owned(),
                        kind: WORKFLOW.to_owned(),
                    });
                    serde_json::to_value(found).unwrap_or_default()
                })
            }
        };
        written_workflow(application, named).map_err(refused)
    }

    /// Writes the values of the run; nothing where another writer was faster.
    async fn values(&self, application: &Value, operations: Vec<Value>) -> Result<Option<Value>, Error> {
        let run = workflow::run_of(application, clock::now()).map_err(refused)?;
        let name = StoredValues::name_of(&run).unwrap_or_default();
        let patched = self.api(&config_map()).patch(name, &self.params(), &json_patch(operations)?).await;
        self.written(patched, "\"\"", "configmaps")
    }

    /// Writes the status; nothing where another writer was faster.
    async fn status(&self, name: &str, operations: Vec<Value>) -> Result<Option<Value>, Error> {
        let api = self.api(&resource());
        let patched = api.patch_status(name, &self.params(), &json_patch(operations)?).await;
        self.written(patched, vela_crds::GROUP, "applications/status")
    }

    fn params(&self) -> PatchParams {
        PatchParams { field_manager: Some(self.manager.to_owned()), ..PatchParams::default() }
    }

    /// What the cluster made of a change.
    fn written(
        &self,
        patched: kube::Result<DynamicObject>,
        group: &str,
        resource: &str,
    ) -> Result<Option<Value>, Error> {
        match patched {
            Ok(written) => Ok(Some(to_json(&written))),
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(None),
            Err(kube::Error::Api(status)) if status.code == 403 => Err(Error::MissingRule {
                said: status.message.clone(),
                rule: format!(
                    "{{apiGroups: [{group}], resources: [{resource}], verbs: [patch]}} in namespace {}",
                    self.namespace
                ),
            }),
            Err(error) => Err(Error::cluster("the change of the workflow")(error)),
        }
    }
}

/// The values of a run, as messages call them.
const VALUES: &str = "the ConfigMap with the values of the workflow";
/// The kind of a workflow that stands by itself.
const WORKFLOW: &str = "Workflow";

fn config_map() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "ConfigMap"))
}

fn external_workflow() -> ApiResource {
    let version = EXTERNAL_VERSION.rsplit('/').next().unwrap_or_default();
    ApiResource::from_gvk(&GroupVersionKind::gvk(vela_crds::GROUP, version, WORKFLOW))
}

/// Operations of RFC 6902.
fn json_patch(operations: Vec<Value>) -> Result<Patch<Value>, Error> {
    let operations = serde_json::from_value(Value::Array(operations))
        .map_err(|error| Error::Unreadable(format!("the change cannot be written: {error}")))?;
    Ok(Patch::Json(operations))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read_by_name_and_step() {
        let suspend = workflow::Order::Suspend(Some("a"));
        assert_eq!(order("suspend", Some("a")).unwrap(), Order::Steer(suspend));
        assert_eq!(order("restart", None).unwrap(), Order::Steer(workflow::Order::Restart));
        assert_eq!(order("restart", Some("a")).unwrap(), Order::RestartFrom("a"));
        assert!(matches!(order("terminate", Some("a")), Err(Error::BadRequest(_))));
        assert!(matches!(order("delete", None), Err(Error::NotFound(_))));
        assert!(ORDERS.iter().all(|name| order(name, None).is_ok()));
    }
}

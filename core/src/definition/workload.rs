//! A component definition → the WorkloadDefinition of its kind, and the one that all definitions of that kind share.

use kube::api::{DynamicObject, PostParams};
use vela_engine::definition::record;
use vela_engine::{Definition, DefinitionKind};
use vela_runtime::{Api, Key, Kind, discovery};

use super::error::Error;
use super::reconciler::DefinitionReconciler;
use crate::context::FIELD_MANAGER;

impl DefinitionReconciler {
    /// Writes both where the definition is one of a component that names its kind, and the kind is installed.
    pub(super) async fn write_workloads(&self, key: &Key, definition: &Definition) -> Result<(), Error> {
        if self.kind != DefinitionKind::Component {
            return Ok(());
        }
        let Some((api_version, kind)) = definition.workload_kind() else { return Ok(()) };
        let Some(known) = self.installed(api_version, kind).await? else { return Ok(()) };
        let (name, version) = (known.resource_name(), &known.resource.version);
        self.apply(&self.workloads, record::workload_object(definition, &name, version)).await?;
        self.write_shared_workload(key, &name, version).await
    }

    /// The WorkloadDefinition of the resource itself, which `spec.workload.type` names. All types of that workload share
    /// it, so it is made where it is absent and belongs to none of them.
    async fn write_shared_workload(&self, key: &Key, resource: &str, version: &str) -> Result<(), Error> {
        if self.workloads.get(&Key::new(key.namespace.clone(), resource)).is_some() {
            return Ok(());
        }
        let object =
            serde_json::from_value(record::shared_workload_object(&key.namespace, resource, version))?;
        let api: Api<DynamicObject> = Api::namespaced_with(
            self.context.client.clone(),
            &key.namespace,
            &self.workloads.watch().resource,
        );
        let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        match api.create(&params, &object).await {
            Ok(created) => {
                self.workloads.observe(created);
                Ok(())
            }
            // Any other conflict says nothing of the object, and the next reconcile asks again.
            Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => Ok(()),
            Err(source) => Err(Error::Workload { name: resource.to_owned(), source }),
        }
    }

    /// The kind, or nothing where it is not installed and so has no resource name yet.
    async fn installed(&self, api_version: &str, kind: &str) -> Result<Option<Kind>, Error> {
        match self.context.discovery.resolve(api_version, kind).await {
            Ok(known) => Ok(Some(known)),
            Err(discovery::Error::Unknown { .. }) => Ok(None),
            // A server that did not answer says nothing about the kind.
            Err(error) => Err(error.into()),
        }
    }
}

//! Label keys and their well-known values.

/// Application (or ApplicationConfiguration) an object belongs to.
pub const APP_NAME: &str = "app.oam.dev/name";
/// Namespace of the Application an object belongs to.
pub const APP_NAMESPACE: &str = "app.oam.dev/namespace";
/// Uid of the Application a record belongs to.
pub const APP_UID: &str = "app.oam.dev/uid";
/// Component an object belongs to.
pub const APP_COMPONENT: &str = "app.oam.dev/component";
/// Component revision an object belongs to; empty when unknown.
pub const APP_COMPONENT_REVISION: &str = "app.oam.dev/revision";
/// `WORKLOAD` or `TRAIT`.
pub const RESOURCE_TYPE: &str = "app.oam.dev/resourceType";
/// Application revision an object was made by.
pub const APP_REVISION: &str = "app.oam.dev/appRevision";
/// AppDeployment that runs a workload.
pub const APP_DEPLOYMENT: &str = "app.oam.dev/appDeployment";
/// Content hash of an application revision.
pub const APP_REVISION_HASH: &str = "app.oam.dev/app-revision-hash";
/// Cluster an object was sent to.
pub const APP_CLUSTER: &str = "app.oam.dev/cluster";
/// Which replica of a component an object belongs to.
pub const REPLICA_KEY: &str = "app.oam.dev/replicaKey";
/// Hash of the spec a generated ApplicationConfiguration was made from.
pub const APP_CONFIG_HASH: &str = "app.oam.dev/appConfig-hash";
/// Definition a workload was made by.
pub const WORKLOAD_TYPE: &str = "workload.oam.dev/type";
/// Whether a workload kind has its pod spec at `spec.template`.
pub const WORKLOAD_PODSPECABLE: &str = "workload.oam.dev/podspecable";
/// Definition a trait was made by.
pub const TRAIT_TYPE: &str = "trait.oam.dev/type";
/// Name of the output of a trait's template that an object is.
pub const TRAIT_RESOURCE: &str = "trait.oam.dev/resource";
/// Component a ControllerRevision belongs to.
pub const CONTROLLER_REVISION_COMPONENT: &str = "controller.oam.dev/component";
/// Component definition a revision belongs to.
pub const COMPONENT_DEFINITION_NAME: &str = "componentdefinition.oam.dev/name";
/// Trait definition a revision belongs to.
pub const TRAIT_DEFINITION_NAME: &str = "trait.oam.dev/name";
/// PolicyDefinition of a definition revision.
pub const POLICY_DEFINITION_NAME: &str = "policydefinition.oam.dev/name";
/// WorkflowStepDefinition of a definition revision.
pub const WORKFLOW_STEP_DEFINITION_NAME: &str = "workflowstepdefinition.oam.dev/name";
/// `schema` on a ConfigMap that holds the schema of a definition's parameters.
pub const DEFINITION: &str = "definition.oam.dev";
/// UID of the ContainerizedWorkload whose pods these are.
pub const CONTAINERIZED_WORKLOAD: &str = "containerizedworkload.oam.crossplane.io";
/// WorkflowRun that applied an object, and its namespace.
pub const WORKFLOW_RUN_NAME: &str = "workflowrun.oam.dev/name";
/// Namespace of the WorkflowRun that applied an object.
pub const WORKFLOW_RUN_NAMESPACE: &str = "workflowrun.oam.dev/namespace";
/// UID of the Application of whose workflow a ConfigMap tells what a step saw.
pub const DEBUG_OF: &str = "app.oam.dev/debug-of";
/// Name of the capability centre that a definition came from.
pub const CAPABILITY_CENTER: &str = "capability.oam.dev/center";
/// `true` stops the controller for an object.
pub const PAUSE: &str = "controller.core.oam.dev/pause";

/// Value of [`RESOURCE_TYPE`] on workloads.
pub const RESOURCE_TYPE_WORKLOAD: &str = "WORKLOAD";
/// Value of [`RESOURCE_TYPE`] on traits.
pub const RESOURCE_TYPE_TRAIT: &str = "TRAIT";
/// Value of [`TRAIT_TYPE`] on further outputs of a component.
pub const TRAIT_TYPE_AUXILIARY: &str = "AuxiliaryWorkload";
/// On webhook configurations and CustomResourceDefinitions: whose webhooks they call, so who tells by whom the server's
/// certificate is signed.
pub const WEBHOOKS: &str = "core.oam.dev/webhooks";
/// Value of [`WEBHOOKS`] where vela-core serves.
pub const WEBHOOKS_OF_CORE: &str = "vela-core";

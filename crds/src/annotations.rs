//! Annotation keys.

/// Version of a definition that names its revision, where its spec names none.
pub const DEFINITION_REVISION_NAME: &str = "definitionrevision.oam.dev/name";
/// Generation of the ApplicationConfiguration that made an object; on an ApplicationConfiguration, of the Application
/// that it was stored for.
pub const APP_GENERATION: &str = "app.oam.dev/generation";
/// The object as last applied: the base of a three-way merge.
pub const LAST_APPLIED_CONFIGURATION: &str = "app.oam.dev/last-applied-configuration";
/// When the object was last applied.
pub const LAST_APPLIED_TIME: &str = "app.oam.dev/last-applied-time";
/// `off`, `on` or `force` on an ApplicationConfiguration: its own apply-once mode.
pub const APPLY_ONCE_ONLY: &str = "app.oam.dev/apply-once-only";
/// A rollout is in progress.
pub const ROLLOUT_TEMPLATE: &str = "app.oam.dev/rollout-template";
/// Components a rollout handles, separated by commas.
pub const ROLLING_COMPONENTS: &str = "app.oam.dev/rolling-components";
/// On an ApplicationConfiguration: the rollout that goes to it, and what that comes from. It has the template of a
/// workload that several revisions share.
pub const ROLLOUT_TARGET: &str = "app.oam.dev/rollout-target";
/// `component` or `revision` on an Application in the v1alpha2 form, and on the ApplicationConfiguration stored for it: what
/// its workloads are called.
pub const WORKLOAD_NAMES: &str = "app.oam.dev/workload-names";
/// `true` on an AppRollout, ApplicationDeployment or RolloutTrait: it lets go of its workloads where it stands, and is over. The
/// controller takes it off again.
pub const ABANDON_ROLLOUT: &str = "app.oam.dev/abandon-rollout";
/// `true` keeps the workload's name across revisions.
pub const INPLACE_UPGRADE: &str = "app.oam.dev/inplace-upgrade";
/// `true`: the object is a passive revision.
pub const APP_REVISION: &str = "app.oam.dev/app-revision";
/// `true` on an Application: only cut a revision.
pub const APP_REVISION_ONLY: &str = "app.oam.dev/revision-only";
/// `namespace/name/uid` of the ApplicationConfiguration an object belongs to, where no owner reference can say so.
pub const CONFIGURATION: &str = "app.oam.dev/application-configuration";
/// Deploy only when this version changes.
pub const PUBLISH_VERSION: &str = "app.oam.dev/publishVersion";
/// Render again when a definition changes.
pub const AUTO_UPDATE: &str = "app.oam.dev/autoUpdate";
/// `true` on an Application: it takes up changed PolicyDefinitions by itself.
pub const POLICY_AUTO_REVISION: &str = "policy.oam.dev/auto-revision";
/// `true` on an Application: global PolicyDefinitions leave it alone.
pub const SKIP_GLOBAL_POLICIES: &str = "policy.oam.dev/skip-global";
/// `true` on an Application: parameters that never change may be changed all the same.
pub const FORCE_PARAM_MUTATIONS: &str = "app.oam.dev/force-param-mutations";
/// Version of a deployment.
pub const DEPLOY_VERSION: &str = "app.oam.dev/deployVersion";
/// Applications that share an object.
pub const SHARED_BY: &str = "app.oam.dev/shared-by";
/// Name of the workflow that runs.
pub const WORKFLOW_NAME: &str = "app.oam.dev/workflowName";
/// When to run the workflow again.
pub const WORKFLOW_RESTART: &str = "app.oam.dev/restart-workflow";
/// Time between reconciles of one application.
pub const RECONCILE_INTERVAL: &str = "app.oam.dev/reconcile-interval";
/// The release of the controller that may look at an application; another one leaves it alone.
pub const CONTROLLER_REQUIREMENT: &str = "app.oam.dev/controller-version-require";
/// Text for users of a definition.
pub const DEFINITION_DESCRIPTION: &str = "definition.oam.dev/description";
/// Name for users of a definition.
pub const DEFINITION_ALIAS: &str = "definition.oam.dev/alias";
/// The release of CUE a definition's template was written for: `0.2`, `0.9` or `0.17`.
pub const DEFINITION_CUE_ERA: &str = "definition.oam.dev/cue-era";
/// On a PersistentVolumeClaim: the ContainerizedWorkload whose disk it is.
pub const DISK_OF: &str = "core.oam.dev/disk-of";
/// What the conversion of an Application between versions could not say in the other version.
pub const CONVERSION: &str = "app.oam.dev/conversion";
/// Who wrote an Application, stamped by admission.
pub const USERNAME: &str = "app.oam.dev/username";
/// The groups of who wrote it, separated by commas, stamped by admission.
pub const GROUP: &str = "app.oam.dev/group";
/// The ServiceAccount that wrote it, if it is of the same namespace, stamped by admission.
pub const SERVICE_ACCOUNT_NAME: &str = "app.oam.dev/service-account-name";
/// The annotation that only admission writes: it names the user on whose behalf controllers act for the object. User
/// and groups are passed on to nothing that is made from it.
pub const STAMPS: [&str; 3] = [USERNAME, GROUP, SERVICE_ACCOUNT_NAME];

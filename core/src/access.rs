//! What the controllers ask of a cluster, as roles: what they need for themselves, and what applications make through them.
//!
//! Nothing here is `cluster-admin`: unless applications act on behalf of their authors ([`BEHALF`]), whoever may create an
//! Application has, in effect, the rights of the controller. A platform team that lets applications make more kinds gives those in a ClusterRole with the label [`AGGREGATE`].
//! The scenarios of this room judge every request of the controllers by these rules, and find rules nobody uses.

use serde_json::{Value, json};

/// ClusterRoles with this label (value `"true"`) add to what the controllers may make.
pub const AGGREGATE: &str = "core.oam.dev/aggregate-to-vela-core";

/// Name of the account the controllers work under, and of what is bound to it.
pub const ACCOUNT: &str = "vela-core";

const GROUP: &str = "rbac.authorization.k8s.io";
const READ: &[&str] = &["get", "list", "watch"];
const READ_KEEP: &[&str] = &["get", "list", "watch", "create", "delete"];
const READ_MAKE: &[&str] = &["get", "list", "watch", "create", "patch", "delete"];

/// One rule of a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// API group; empty for the core group.
    pub group: &'static str,
    /// Resources in the plural, with subresources as `resource/status`.
    pub resources: &'static [&'static str],
    /// Verbs of the API server.
    pub verbs: &'static [&'static str],
}

const fn rule(
    group: &'static str,
    resources: &'static [&'static str],
    verbs: &'static [&'static str],
) -> Rule {
    Rule { group, resources, verbs }
}

/// What the controllers need for their own work, in every namespace.
pub const OWN: &[Rule] = &[
    // Finalizers and annotations are patched.
    rule("core.oam.dev", &["applications"], &["get", "list", "watch", "patch"]),
    // An Application with a rollout plan has one of its own.
    rule("core.oam.dev", &["approllouts"], READ_MAKE),
    // An Application of v1alpha2 becomes these.
    rule("core.oam.dev", &["applicationconfigurations", "components"], READ_MAKE),
    // A ComponentDefinition that describes its workload brings one of these.
    rule("core.oam.dev", &["workloaddefinitions"], &["get", "list", "watch", "create", "patch"]),
    rule(
        "core.oam.dev",
        &[
            "componentdefinitions",
            "containerizedworkloads",
            "manualscalertraits",
            "scopedefinitions",
            "traitdefinitions",
        ],
        READ,
    ),
    rule("core.oam.dev", &["healthscopes"], &["get", "list", "watch", "update"]),
    rule(
        "core.oam.dev",
        &[
            "applications/status",
            "approllouts/status",
            "applicationconfigurations/status",
            "components/status",
            "componentdefinitions/status",
            "traitdefinitions/status",
            "containerizedworkloads/status",
            "manualscalertraits/status",
            "healthscopes/status",
        ],
        &["patch"],
    ),
    rule("core.oam.dev", &["applicationrevisions", "definitionrevisions"], READ_KEEP),
    rule("core.oam.dev", &["resourcetrackers"], &["get", "list", "watch", "create", "update", "delete"]),
    // The status of an Autoscaler is not a subresource.
    rule("standard.oam.dev", &["autoscalers", "rollouttraits"], &["get", "list", "watch", "patch"]),
    rule("standard.oam.dev", &["metricstraits", "podspecworkloads", "routes"], READ),
    rule(
        "standard.oam.dev",
        &["metricstraits/status", "podspecworkloads/status", "rollouttraits/status", "routes/status"],
        &["patch"],
    ),
    rule("apps", &["controllerrevisions"], READ_KEEP),
    // What makes pods in a rollout, and why it does not.
    rule("apps", &["replicasets"], READ),
    rule("events.k8s.io", &["events"], &["create", "patch"]),
    rule("apiextensions.k8s.io", &["customresourcedefinitions"], READ),
    rule("", &["namespaces"], READ),
    // What a rollout measures its batches by.
    rule("flagger.app", &["metrictemplates"], &["get"]),
    // Whether a Route's certificate is there.
    rule("cert-manager.io", &["issuers", "certificates"], READ),
    // Where an API server asks for the right to block the deletion of an owner.
    rule(
        "core.oam.dev",
        &[
            "applications/finalizers",
            "applicationconfigurations/finalizers",
            "approllouts/finalizers",
            "components/finalizers",
            "containerizedworkloads/finalizers",
            "resourcetrackers/finalizers",
        ],
        &["update"],
    ),
    rule(
        "standard.oam.dev",
        &[
            "autoscalers/finalizers",
            "metricstraits/finalizers",
            "podspecworkloads/finalizers",
            "rollouttraits/finalizers",
            "routes/finalizers",
        ],
        &["update"],
    ),
];

/// What the controllers need to act on behalf of authors, which lets them act for anybody: bound only where the operator
/// asks for it.
pub const BEHALF: &[Rule] = &[rule("", &["users", "groups", "serviceaccounts"], &["impersonate"])];

/// Name of the ClusterRole with those rights.
pub const IMPERSONATE: &str = "vela-core-impersonate";

/// What the controllers need in the namespace they run in: the lease that says who leads.
pub const HOME: &[Rule] = &[
    rule("coordination.k8s.io", &["leases"], &["get", "list", "watch", "create", "update"]),
    // The certificate of the webhooks, where nobody else gives one.
    rule("", &["secrets"], &["get", "create", "update"]),
];

/// What the webhooks need beyond [`OWN`]: to tell API servers their certificate authority, and to find bindings.
pub const WEBHOOKS: &[Rule] = &[
    rule("core.oam.dev", &["servicebindings"], &["list"]),
    rule(
        "admissionregistration.k8s.io",
        &["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
        &["get", "list", "patch"],
    ),
    rule("apiextensions.k8s.io", &["customresourcedefinitions"], &["get", "list", "patch"]),
];

/// What applications make with the built-in definitions, workloads and traits. Roles and their bindings are not among
/// them: who may bind what the controller may do has all its rights.
pub const MADE: &[Rule] = &[
    rule("core.oam.dev", &["containerizedworkloads", "manualscalertraits"], READ_MAKE),
    rule(
        "standard.oam.dev",
        &["autoscalers", "metricstraits", "podspecworkloads", "rollouttraits", "routes"],
        READ_MAKE,
    ),
    rule("apps", &["deployments", "statefulsets", "daemonsets"], READ_MAKE),
    rule("batch", &["jobs", "cronjobs"], READ_MAKE),
    rule(
        "",
        &["services", "configmaps", "secrets", "persistentvolumeclaims", "serviceaccounts", "pods"],
        READ_MAKE,
    ),
    rule("networking.k8s.io", &["ingresses"], READ_MAKE),
    rule("autoscaling", &["horizontalpodautoscalers"], READ_MAKE),
    rule("policy", &["poddisruptionbudgets"], READ_MAKE),
    rule("keda.sh", &["scaledobjects"], READ_MAKE),
    rule("monitoring.coreos.com", &["servicemonitors"], READ_MAKE),
    rule("helm.toolkit.fluxcd.io", &["helmreleases"], READ_MAKE),
    rule(
        "source.toolkit.fluxcd.io",
        &["helmrepositories", "gitrepositories", "ocirepositories", "buckets"],
        READ_MAKE,
    ),
    rule("terraform.core.oam.dev", &["configurations"], READ_MAKE),
];

/// What a refused request means for people: whom to ask for what. `user` is the author on whose behalf it was asked.
pub(crate) fn hint(refusal: &str, user: Option<&str>) -> String {
    match user {
        None => format!(
            "; applications may make what ClusterRoles with the label {AGGREGATE}=\"true\" allow: ask a cluster \
             administrator for one"
        ),
        Some(_) if refusal.contains("cannot impersonate") => format!(
            "; vela-core may not act for authors: bind the ClusterRole {IMPERSONATE} to its account, or start it without \
             --authenticate-application"
        ),
        Some(user) => format!(
            "; it was asked on behalf of {user}, who wrote it last: give {user} that right, or let somebody who has it write it"
        ),
    }
}

/// The account of the controllers, their roles and the bindings, as objects of a namespace.
pub fn objects(namespace: &str) -> Vec<Value> {
    let at_home = json!({"name": ACCOUNT, "namespace": namespace});
    let (own, made, built_in) = ("vela-core-own", "vela-core-made", "vela-core-made-built-in");
    let webhooks = "vela-core-webhooks";
    let of_cluster = |name: &str| binding(namespace, "ClusterRole", name, json!({"name": name}));
    vec![
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": at_home}),
        role("ClusterRole", json!({"name": own}), OWN),
        role("ClusterRole", json!({"name": webhooks}), WEBHOOKS),
        role("ClusterRole", json!({"name": built_in, "labels": {AGGREGATE: "true"}}), MADE),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": made},
            "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {AGGREGATE: "true"}}]},
        }),
        role("Role", at_home.clone(), HOME),
        of_cluster(own),
        of_cluster(webhooks),
        of_cluster(made),
        binding(namespace, "Role", ACCOUNT, at_home),
    ]
}

/// What `--authenticate-application` needs beside [`objects`]: the right to act for anybody.
pub fn on_behalf(namespace: &str) -> Vec<Value> {
    vec![
        role("ClusterRole", json!({"name": IMPERSONATE}), BEHALF),
        binding(namespace, "ClusterRole", IMPERSONATE, json!({"name": IMPERSONATE})),
    ]
}

fn role(kind: &str, metadata: Value, rules: &[Rule]) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": metadata,
        "rules": rules.iter().map(Rule::policy).collect::<Vec<_>>(),
    })
}

/// Binds a role to the account of the controllers in this namespace.
fn binding(namespace: &str, role_kind: &str, name: &str, metadata: Value) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": format!("{role_kind}Binding"),
        "metadata": metadata,
        "roleRef": {"apiGroup": GROUP, "kind": role_kind, "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": namespace}],
    })
}

impl Rule {
    /// The rule as an authorizer reads it.
    fn policy(&self) -> Value {
        json!({"apiGroups": [self.group], "resources": self.resources, "verbs": self.verbs})
    }

    /// Whether it allows the verb on the resource.
    pub fn allows(&self, verb: &str, group: &str, resource: &str) -> bool {
        self.group == group && self.resources.contains(&resource) && self.verbs.contains(&verb)
    }
}

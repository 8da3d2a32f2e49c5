//! The rights of the controllers in a cluster, as roles: those for their own work, and those for the objects that
//! applications make through them.
//!
//! Nothing here is `cluster-admin`: unless applications act on behalf of their authors ([`BEHALF`]), a user who may create an Application has, in
//! effect, the rights of the controller. A platform team that lets applications make more kinds gives those in a ClusterRole with the label
//! [`AGGREGATE`]. The scenarios of this room judge every request of the controllers by these rules, and find unused rules.

use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use serde_json::{Value, json};

/// ClusterRoles with this label (value `"true"`) add to what the controllers may make.
pub const AGGREGATE: &str = "core.oam.dev/aggregate-to-vela-core";

/// Name of the account the controllers work under, and of what is bound to it.
pub const ACCOUNT: &str = "vela-core";

/// The ClusterRoleBinding whose subject is that account. Every installation has it and no name in it changes, so that a
/// client finds the system namespace by it, with one request.
pub const HOME_BINDING: &str = "vela-core-own";

const GROUP: &str = "rbac.authorization.k8s.io";
const READ: &[&str] = &["get", "list", "watch"];
const READ_CREATE_DELETE: &[&str] = &["get", "list", "watch", "create", "delete"];
const WRITE: &[&str] = &["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];
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

/// The rights that the controllers need for their own work, in every namespace.
pub const OWN: &[Rule] = &[
    // Finalizers and annotations are patched.
    rule("core.oam.dev", &["applications"], &["get", "list", "watch", "patch"]),
    // An Application with a rollout plan has one of its own.
    rule("core.oam.dev", &["approllouts"], READ_MAKE),
    // Finalizers are patched.
    rule("core.oam.dev", &["applicationdeployments"], &["get", "list", "watch", "patch"]),
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
            "policies",
            "policydefinitions",
            "scopedefinitions",
            "traitdefinitions",
            "workflowruns",
            "workflows",
            "workflowstepdefinitions",
            "appdeployments",
            "applicationcontexts",
        ],
        READ,
    ),
    rule("core.oam.dev", &["healthscopes"], &["get", "list", "watch", "update"]),
    rule(
        "core.oam.dev",
        &[
            "applications/status",
            "applicationdeployments/status",
            "applicationrevisions/status",
            "approllouts/status",
            "applicationconfigurations/status",
            "components/status",
            "componentdefinitions/status",
            "traitdefinitions/status",
            "policydefinitions/status",
            "workflowstepdefinitions/status",
            "containerizedworkloads/status",
            "manualscalertraits/status",
            "healthscopes/status",
            "workflowruns/status",
            "appdeployments/status",
            "applicationcontexts/status",
        ],
        &["patch"],
    ),
    rule("core.oam.dev", &["applicationrevisions", "definitionrevisions"], READ_CREATE_DELETE),
    rule("core.oam.dev", &["resourcetrackers"], &["get", "list", "watch", "create", "update", "delete"]),
    // The status of an Autoscaler is not a subresource.
    rule("standard.oam.dev", &["autoscalers", "rollouttraits"], &["get", "list", "watch", "patch"]),
    rule("standard.oam.dev", &["metricstraits", "podspecworkloads", "routes"], READ),
    rule(
        "standard.oam.dev",
        &["metricstraits/status", "podspecworkloads/status", "rollouttraits/status", "routes/status"],
        &["patch"],
    ),
    rule("apps", &["controllerrevisions"], READ_CREATE_DELETE),
    // ReplicaSets and pods show why pods of a rollout are missing.
    rule("apps", &["replicasets"], READ),
    rule("", &["pods"], READ),
    // Steps ask for the events of an object, and a tree has what is behind a Service.
    rule("", &["events", "endpoints"], &["list"]),
    rule("events.k8s.io", &["events"], &["create", "patch"]),
    rule("apiextensions.k8s.io", &["customresourcedefinitions"], READ),
    rule("", &["namespaces"], READ),
    // The templates of the metrics by which a rollout measures its batches.
    rule("flagger.app", &["metrictemplates"], &["get"]),
    // Whether a Route's certificate is there.
    rule("cert-manager.io", &["issuers", "certificates"], READ),
    // Where an API server asks for the right to block the deletion of an owner.
    rule(
        "core.oam.dev",
        &[
            "appdeployments/finalizers",
            "applicationcontexts/finalizers",
            "applications/finalizers",
            "applicationconfigurations/finalizers",
            "applicationdeployments/finalizers",
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

/// The rights to act on behalf of authors, which let the controllers act for anybody: bound only where the operator asks
/// for it.
pub const BEHALF: &[Rule] = &[rule("", &["users", "groups", "serviceaccounts"], &["impersonate"])];

/// Name of the ClusterRole with the rights of [`WEBHOOKS`].
const HOOKS: &str = "vela-core-webhooks";

/// Name of the ClusterRole with those rights.
pub const IMPERSONATE: &str = "vela-core-impersonate";

/// The rights in the namespace of the controllers: the lease that says who leads.
pub const HOME: &[Rule] =
    &[rule("coordination.k8s.io", &["leases"], &["get", "list", "watch", "create", "update"])];

/// The same where they serve webhooks: the certificate, where no other process gives one.
pub const CERTIFICATE: &[Rule] = &[rule("", &["secrets"], &["get", "create", "update"])];

/// The rights of the webhooks beyond [`OWN`]: to tell API servers their certificate authority, and to find bindings.
pub const WEBHOOKS: &[Rule] = &[
    rule("core.oam.dev", &["servicebindings"], &["list"]),
    rule(
        "admissionregistration.k8s.io",
        &["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
        &["get", "list", "patch"],
    ),
    rule("apiextensions.k8s.io", &["customresourcedefinitions"], &["get", "list", "patch"]),
];

/// The kinds that applications make with the built-in definitions, workloads and traits. Roles and their bindings are
/// not among them: a user who may bind the rights of the controller has all of them.
pub const MADE: &[Rule] = &[
    rule("core.oam.dev", &["containerizedworkloads", "manualscalertraits"], READ_MAKE),
    rule(
        "standard.oam.dev",
        &["autoscalers", "metricstraits", "podspecworkloads", "rollouttraits", "routes"],
        READ_MAKE,
    ),
    rule("apps", &["deployments", "statefulsets", "daemonsets"], READ_MAKE),
    rule("batch", &["jobs", "cronjobs"], READ_MAKE),
    rule("", &["services", "configmaps", "persistentvolumeclaims", "serviceaccounts"], READ_MAKE),
    rule("networking.k8s.io", &["ingresses"], READ_MAKE),
    rule("autoscaling", &["horizontalpodautoscalers"], READ_MAKE),
    rule("policy", &["poddisruptionbudgets"], READ_MAKE),
    rule("keda.sh", &["scaledobjects"], READ_MAKE),
    // An AppDeployment splits requests with them.
    rule("networking.istio.io", &["virtualservices"], READ_MAKE),
    rule("monitoring.coreos.com", &["servicemonitors"], READ_MAKE),
    rule("helm.toolkit.fluxcd.io", &["helmreleases"], READ_MAKE),
    rule(
        "source.toolkit.fluxcd.io",
        &["helmrepositories", "gitrepositories", "ocirepositories", "buckets"],
        READ_MAKE,
    ),
    rule("terraform.core.oam.dev", &["configurations"], READ_MAKE),
];

/// Kinds that applications make only where the operator says so: a user who makes Secrets in every namespace reads them
/// there.
pub const SECRETS: &[Rule] = &[rule("", &["secrets"], READ_MAKE)];

/// The same: a pod can be more than its author, and the workloads above make pods in a way that admission knows.
pub const PODS: &[Rule] = &[rule("", &["pods"], READ_MAKE)];

/// The same: what is written into one of them leads the requests of a Service anywhere.
pub const ENDPOINTS: &[Rule] = &[rule("", &["endpoints"], READ_MAKE)];

/// What steps read only where the operator says so: programs write confidential things into their logs.
pub const LOGS: &[Rule] = &[rule("", &["pods/log"], &["get"])];

/// The rights of an author of applications in a namespace of theirs; added to the ClusterRoles `edit` and `admin`.
pub const AUTHOR: &[Rule] = &[
    rule(
        "core.oam.dev",
        &[
            "appdeployments",
            "applicationcontexts",
            "applications",
            "approllouts",
            "applicationconfigurations",
            "applicationdeployments",
            "components",
            "componentdefinitions",
            "containerizedworkloads",
            "healthscopes",
            "manualscalertraits",
            "policies",
            "policydefinitions",
            "scopedefinitions",
            "traitdefinitions",
            "workflowruns",
            "workflows",
            "workflowstepdefinitions",
            "workloaddefinitions",
        ],
        WRITE,
    ),
    // Users suspend, resume, end or restart a workflow by a write to its status.
    rule("core.oam.dev", &["applications/status"], &["get", "patch"]),
    rule(
        "standard.oam.dev",
        &["autoscalers", "metricstraits", "podspecworkloads", "rollouttraits", "routes"],
        WRITE,
    ),
];

/// The rights of a viewer in a namespace; added to the ClusterRoles `view`, `edit` and `admin`.
pub const VIEWER: &[Rule] = &[rule("core.oam.dev", &["*"], READ), rule("standard.oam.dev", &["*"], READ)];

/// Name of the roles of every known user.
const EVERY_USER: &str = "vela-everybody";

/// The right of every known user to find the system namespace: to read the binding [`HOME_BINDING`], and no other.
const FINDS_HOME: &[Rule] = &[rule(GROUP, &["clusterrolebindings"], &["get"])];

/// The rights of every known user in the system namespace: to read the definitions for all, and whether a controller runs.
/// None of it is confidential.
pub const EVERYBODY: &[Rule] = &[
    rule(
        "core.oam.dev",
        &[
            "componentdefinitions",
            "definitionrevisions",
            "policydefinitions",
            "scopedefinitions",
            "traitdefinitions",
            "workflowstepdefinitions",
            "workloaddefinitions",
        ],
        READ,
    ),
    rule("coordination.k8s.io", &["leases"], &["get"]),
    rule("apps", &["deployments"], &["get"]),
];

/// The rules that an installation needs beside the controllers' own work, by its flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// The controllers serve webhooks.
    pub webhooks: bool,
    /// They act for authors, so they make nothing under their own account.
    pub behalf: bool,
    /// Applications may make Secrets.
    pub secrets: bool,
    /// Applications may make Pods.
    pub pods: bool,
    /// Applications may make Endpoints.
    pub endpoints: bool,
    /// Steps may read the logs of pods.
    pub logs: bool,
}

/// Explains a refused request to people: the right to ask for, and from whom. `user` is the author on whose behalf it
/// was asked.
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
            "; it was asked on behalf of {user}, who wrote it last: give {user} that right, or let a user who has it write it"
        ),
    }
}

/// The account of the controllers, their roles and the bindings, as objects of a namespace; and the roles of people.
pub fn objects(namespace: &str, needs: Needs) -> Vec<Value> {
    let at_home = json!({"name": ACCOUNT, "namespace": namespace});
    let (own, made, built_in) = (HOME_BINDING, "vela-core-made", "vela-core-made-built-in");
    let of_cluster = |name: &str| binding(namespace, "ClusterRole", name, json!({"name": name}));
    let mut home = HOME.to_vec();
    if needs.webhooks {
        home.extend(CERTIFICATE);
    }
    // Where the rights of authors count, the controllers only watch what is made.
    let mut makes: Vec<Rule> = MADE.to_vec();
    makes.extend(SECRETS.iter().filter(|_| needs.secrets));
    makes.extend(PODS.iter().filter(|_| needs.pods));
    makes.extend(ENDPOINTS.iter().filter(|_| needs.endpoints));
    if needs.behalf {
        makes.iter_mut().for_each(|rule| rule.verbs = READ);
        // A deleted MetricsTrait leaves no author to act for.
        makes.push(rule("monitoring.coreos.com", &["servicemonitors"], &["delete"]));
        // Schemas of parameters, and what the steps of a workflow give each other, are the controllers' own bookkeeping.
        makes.push(rule("", &["configmaps"], &["create", "patch", "delete"]));
    } else {
        makes.extend(LOGS.iter().filter(|_| needs.logs));
    }
    let mut objects = vec![
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": at_home}),
        role("ClusterRole", json!({"name": own}), OWN),
        role("ClusterRole", json!({"name": built_in, "labels": {AGGREGATE: "true"}}), &makes),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": made},
            "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {AGGREGATE: "true"}}]},
        }),
        role("Role", at_home.clone(), &home),
        of_cluster(own),
        of_cluster(made),
        binding(namespace, "Role", ACCOUNT, at_home),
    ];
    if needs.webhooks {
        objects.push(role("ClusterRole", json!({"name": HOOKS}), WEBHOOKS));
        objects.push(of_cluster(HOOKS));
    }
    if needs.behalf {
        objects.push(role("ClusterRole", json!({"name": IMPERSONATE}), BEHALF));
        objects.push(of_cluster(IMPERSONATE));
    }
    objects.extend(people(namespace));
    objects
}

/// The bindings that an installation without these needs takes away again, where an earlier one made them.
pub fn superseded(needs: Needs) -> Vec<&'static str> {
    let unneeded = [(needs.webhooks, HOOKS), (needs.behalf, IMPERSONATE)];
    unneeded.into_iter().filter(|(needed, _)| !needed).map(|(_, name)| name).collect()
}

/// The namespace of the account that the binding [`HOME_BINDING`] names.
pub fn home_of(binding: &ClusterRoleBinding) -> Option<String> {
    let subjects = binding.subjects.iter().flatten();
    let mut accounts = subjects.filter(|one| one.kind == "ServiceAccount" && one.name == ACCOUNT);
    accounts.find_map(|one| one.namespace.clone())
}

/// The roles of authors, viewers and all users.
fn people(namespace: &str) -> Vec<Value> {
    let added = |to: &[&str]| {
        to.iter()
            .map(|to| (format!("rbac.authorization.k8s.io/aggregate-to-{to}"), json!("true")))
            .collect::<serde_json::Map<String, Value>>()
    };
    let everybody = json!({"name": EVERY_USER, "namespace": namespace});
    let anywhere = json!({"name": EVERY_USER});
    let mut seen = role("Role", everybody.clone(), EVERYBODY);
    let mut finds = role("ClusterRole", anywhere.clone(), FINDS_HOME);
    finds["rules"][0]["resourceNames"] = json!([HOME_BINDING]);
    let all_bound = |kind: &str, metadata: Value| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": format!("{kind}Binding"),
            "metadata": metadata,
            "roleRef": {"apiGroup": GROUP, "kind": kind, "name": EVERY_USER},
            "subjects": [{"apiGroup": GROUP, "kind": "Group", "name": "system:authenticated"}],
        })
    };
    // Of leases and deployments only the controller's own.
    for rule in
        seen["rules"].as_array_mut().into_iter().flatten().filter(|rule| rule["verbs"] == json!(["get"]))
    {
        rule["resourceNames"] = json!([ACCOUNT]);
    }
    vec![
        role("ClusterRole", json!({"name": "vela-author", "labels": added(&["edit", "admin"])}), AUTHOR),
        role(
            "ClusterRole",
            json!({"name": "vela-viewer", "labels": added(&["view", "edit", "admin"])}),
            VIEWER,
        ),
        seen,
        all_bound("Role", everybody),
        finds,
        all_bound("ClusterRole", anywhere),
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

#[cfg(test)]
mod tests;

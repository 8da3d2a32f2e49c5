//! What the controllers ask of the API server is what their roles allow: not less, or reconciles fail; not more, or a stolen token does.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use http::{HeaderMap, Method, Request};
use serde_json::json;
use tower::{Layer, Service};
use vela_core::access::{BEHALF, MADE, OWN, PODS, SECRETS};
use vela_core::{Options, Process};

use super::configuration::{component, configuration, image, named};
use super::test_cluster::{TestCluster, application, until, web};
use super::{
    authors, core_kinds, definitions, deploys, lifecycle, rollout_gates, rollout_traits, rollouts,
    rollouts_inline, rollouts_seed, side_by_side, standard, v1alpha2_applications, workflow_refs,
    workflow_runs,
};

/// What an authorizer judges, beside who asks: verb, group and resource (with its subresource).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Attributes {
    pub(crate) verb: &'static str,
    pub(crate) group: String,
    pub(crate) resource: String,
}

impl Attributes {
    /// Of a request for a resource; discovery and schemas are everybody's.
    pub(crate) fn of(method: &Method, path: &str, query: &str) -> Option<Self> {
        let mut parts = path.trim_matches('/').split('/');
        let group = match parts.next()? {
            "api" => String::new(),
            "apis" => parts.next()?.to_owned(),
            _ => return None,
        };
        parts.next()?;
        let mut rest: Vec<&str> = parts.collect();
        if rest.first() == Some(&"namespaces") && rest.len() > 2 {
            rest.drain(..2);
        }
        let resource = match rest.as_slice() {
            [] => return None,
            [resource] | [resource, _] => (*resource).to_owned(),
            [resource, _, subresource, ..] => format!("{resource}/{subresource}"),
        };
        let verb = match (method.as_str(), rest.len() > 1) {
            ("GET", false) if query.split('&').any(|pair| pair == "watch=true" || pair == "watch=1") => {
                "watch"
            }
            ("GET", false) => "list",
            ("GET", true) => "get",
            ("POST", _) => "create",
            ("PUT", _) => "update",
            ("PATCH", _) => "patch",
            ("DELETE", true) => "delete",
            ("DELETE", false) => "deletecollection",
            _ => return None,
        };
        Some(Self { verb, group, resource })
    }
}

static TOUCHED: Mutex<BTreeSet<Attributes>> = Mutex::new(BTreeSet::new());

/// What scenarios grant, as a platform team would in roles of its own.
fn is_granted(attributes: &Attributes) -> bool {
    let Attributes { group, resource, .. } = attributes;
    group.ends_with("example.com")
        || group == "rbac.authorization.k8s.io"
        || (group.is_empty() && resource == "namespaces")
}

/// What the roles that are installed allow, or a scenario grants.
fn is_allowed(attributes: &Attributes) -> bool {
    let Attributes { verb, group, resource } = attributes;
    OWN.iter().chain(MADE).chain(SECRETS).chain(PODS).any(|rule| rule.allows(verb, group, resource))
        || is_granted(attributes)
        || resource == "selfsubjectreviews"
}

/// What the controllers may do themselves where they act for authors: their own work, watching what is made, and that.
fn is_bookkeeping(attributes: &Attributes) -> bool {
    let Attributes { verb, group, resource } = attributes;
    let watches = ["get", "list", "watch"].contains(verb) && is_allowed(attributes);
    watches
        || resource == "selfsubjectreviews"
        || OWN.iter().chain(BEHALF).any(|rule| rule.allows(verb, group, resource))
}

/// The questions of an authorizer about a caller that acts in another name.
fn impersonated(headers: &HeaderMap) -> Vec<Attributes> {
    let users = headers.get_all("impersonate-user").iter().map(|user| match user.as_bytes() {
        user if user.starts_with(b"system:serviceaccount:") => "serviceaccounts",
        _ => "users",
    });
    let groups = headers.get_all("impersonate-group").iter().map(|_| "groups");
    let attributes = |resource: &str| Attributes {
        verb: "impersonate",
        group: String::new(),
        resource: resource.to_owned(),
    };
    users.chain(groups).map(attributes).collect()
}

/// Judges what the controllers of one cluster ask as the API server would with the roles that are installed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Authorizer {
    refused: Arc<Mutex<BTreeSet<Attributes>>>,
    on_behalf: Arc<AtomicBool>,
}

impl Authorizer {
    /// What was asked without a right.
    pub(crate) fn refused(&self) -> BTreeSet<Attributes> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The controllers act for authors: they may, and make nothing for anybody under their own account.
    pub(crate) fn on_behalf(&self) {
        self.on_behalf.store(true, Ordering::SeqCst);
    }

    fn judge(&self, attributes: Attributes, is_record: bool) {
        let allowed = match self.on_behalf.load(Ordering::SeqCst) {
            true => is_record || is_bookkeeping(&attributes),
            false => is_allowed(&attributes),
        };
        if !allowed {
            self.refused.lock().unwrap_or_else(PoisonError::into_inner).insert(attributes.clone());
        }
        TOUCHED.lock().unwrap_or_else(PoisonError::into_inner).insert(attributes);
    }
}

impl<S> Layer<S> for Authorizer {
    type Service = Judged<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Judged { inner, authorizer: self.clone() }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Judged<S> {
    inner: S,
    authorizer: Authorizer,
}

impl<S: Service<Request<B>>, B> Service<Request<B>> for Judged<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> S::Future {
        let uri = request.uri();
        let attributes = Attributes::of(request.method(), uri.path(), uri.query().unwrap_or_default());
        let impersonated = impersonated(request.headers());
        // In another one's name, that one's rights count.
        let asked = if impersonated.is_empty() { attributes.into_iter().collect() } else { impersonated };
        // The schema of a definition's parameters is kept in a ConfigMap, for users who fill them in, and so are the values
        // that the steps of a workflow give each other.
        let is_record = ["schema-", "workflow-"].map(|name| format!("/configmaps/{name}"));
        let is_record = is_record.iter().any(|part| uri.path().contains(part));
        asked.into_iter().for_each(|attributes| self.authorizer.judge(attributes, is_record));
        self.inner.call(request)
    }
}

#[test]
fn an_authorizer_reads_requests() {
    let read = |method: Method, path: &str, query: &str| {
        let Attributes { verb, group, resource } = Attributes::of(&method, path, query)?;
        Some(format!("{verb} {resource}.{group}"))
    };
    let expect = |text: &str| Some(text.to_owned());
    assert_eq!(read(Method::GET, "/api/v1/namespaces/a/pods", "watch=true&x=y"), expect("watch pods."));
    assert_eq!(read(Method::GET, "/api/v1/namespaces/a", ""), expect("get namespaces."));
    assert_eq!(
        read(Method::PATCH, "/apis/core.oam.dev/v1beta1/namespaces/a/applications/b/status", ""),
        expect("patch applications/status.core.oam.dev")
    );
    assert_eq!(
        read(Method::DELETE, "/apis/apps/v1/namespaces/a/deployments", ""),
        expect("deletecollection deployments.apps")
    );
    assert_eq!(read(Method::GET, "/apis/apps/v1", ""), None);
    assert_eq!(read(Method::GET, "/openapi/v3", ""), None);
}

/// Rights that no request of a scenario shows: an admission plugin asks for them.
fn is_for_admission(resource: &str) -> bool {
    resource.ends_with("/finalizers")
}

#[test]
fn every_right_of_the_controllers_is_used() {
    let busy: &[fn()] = &[
        old_revisions_of_everything_go,
        authors::what_the_author_may_runs_and_what_not_is_refused,
        standard::pods_run_behind_ports_from_8080_on,
        standard::a_route_with_tls_waits_for_its_issuer_and_certificate,
        standard::traits_without_their_operator_say_so,
        core_kinds::a_workload_keeps_its_parts_and_drops_what_it_no_longer_wants,
        core_kinds::a_scaler_waits_for_its_workload_and_holds_its_number,
        core_kinds::a_scope_follows_its_workloads_without_a_clock,
        super::configuration::a_scope_is_joined_and_left_exactly,
        definitions::a_definition_gets_a_revision_a_schema_and_a_workload_kind,
        definitions::definitions_of_steps_and_policies_get_revisions,
        lifecycle::a_deleted_application_leaves_nothing,
        v1alpha2_applications::a_dropped_component_is_let_go_before_it_is_deleted,
        v1alpha2_applications::the_deployment_stays_from_the_old_form_to_the_new_and_back,
        deploys::a_policy_in_an_object_of_its_own_is_gone_by,
        workflow_refs::a_workflow_object_is_run_and_its_change_makes_a_revision,
        workflow_runs::a_run_goes_through_its_steps_and_waits_for_a_person,
        super::workflow_objects::a_step_asks_for_pods_trees_and_events,
        rollouts::a_rollout_that_is_deleted_lets_go_and_deletes_nothing,
        rollouts_seed::the_second_revision_waits_for_either_kind_of_rollout,
        rollouts_inline::a_revision_that_comes_half_way_replaces_both,
        side_by_side::two_revisions_run_side_by_side_and_share_the_requests,
        side_by_side::a_context_deploys_its_revision,
        rollout_traits::pods_go_between_foreign_workloads,
        rollout_gates::a_metric_out_of_range_holds_a_batch_until_measured_anew,
    ];
    std::thread::scope(|scope| {
        for scenario in busy {
            scope.spawn(scenario);
        }
    });
    let touched = TOUCHED.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let uses = |verbs: &[&str], group: &str, resource: &str| {
        touched
            .iter()
            .any(|used| verbs.contains(&used.verb) && used.group == group && used.resource == resource)
    };
    let mut idle = Vec::new();
    for rule in OWN.iter().chain(BEHALF) {
        for resource in rule.resources.iter().filter(|resource| !is_for_admission(resource)) {
            for verb in rule.verbs {
                // An account that watches lists and gets; an apply of an absent object is a create.
                let shown: &[&str] = match *verb {
                    "get" | "list" | "watch" => &["get", "list", "watch"],
                    "create" => &["create", "patch"],
                    verb => &[verb],
                };
                if !uses(shown, rule.group, resource) {
                    idle.push(format!("{verb} {resource}.{}", rule.group));
                }
            }
        }
    }
    assert_eq!(idle, Vec::<String>::new());
}

#[tokio::test]
async fn old_revisions_of_everything_go() {
    let mut cluster = TestCluster::without_controllers().await;
    let options = Options {
        application_revision_limit: 1,
        component_revision_limit: 1,
        definition_revision_limit: 1,
        ..Options::default()
    };
    cluster.start_as(Process { options, ..Process::default() });
    let template = |text: &str| {
        format!(
            "output: {{apiVersion: \"v1\", kind: \"ConfigMap\", data: text: \"{text}\"}}\nparameter: {{}}\n"
        )
    };
    let schematic = |text: &str| json!({"spec": {"schematic": {"cue": {"template": template(text)}}}});
    let mut note = json!({"apiVersion": "core.oam.dev/v1beta1", "kind": "ComponentDefinition", "metadata": {"name": "note"}});
    note["spec"] = schematic("0")["spec"].clone();
    note["spec"]["workload"] = json!({"definition": {"apiVersion": "v1", "kind": "ConfigMap"}});
    cluster.create(note).await;
    cluster.create(component("front", "nginx:0")).await;
    cluster.create(configuration("shop", named(&["front"]))).await;
    cluster.create(application("site", &[web("page", "nginx:0")])).await;
    for round in 1..5 {
        // Only what a revision keeps may change, or the next one has its number.
        for (version, kind, name) in REVISIONS {
            let name = format!("{name}-v{round}");
            until(&name, || async { cluster.get(version, kind, &name).await.is_some() }).await;
        }
        let image_now = format!("nginx:{round}");
        let patch = schematic(&round.to_string());
        cluster.patch("core.oam.dev/v1beta1", "ComponentDefinition", "note", patch).await;
        cluster.patch("core.oam.dev/v1alpha2", "Component", "front", image(&image_now)).await;
        let patch = json!({"spec": {"components": [web("page", &image_now)]}});
        cluster.patch("core.oam.dev/v1beta1", "Application", "site", patch).await;
    }
    for (version, kind, name) in REVISIONS {
        cluster.gone(version, kind, &format!("{name}-v1")).await;
    }
}

/// An application that only records its revisions leaves what rollouts name, and what it is now.
#[tokio::test]
async fn old_revisions_go_but_those_that_rollouts_name() {
    let mut cluster = TestCluster::without_controllers().await;
    let options = Options { application_revision_limit: 2, ..Options::default() };
    cluster.start_as(Process { options, ..Process::default() });
    let mut shop = application("shop", &[web("front", "nginx:1")]);
    shop["metadata"]["annotations"] = json!({"app.oam.dev/rollout-template": "true"});
    cluster.create(shop).await;
    rollouts::recorded(&cluster, "shop-v1").await;
    for round in 2..=8 {
        if round == 4 {
            let mut held = rollouts::rollout("shop-v3", Some("shop-v2"), rollouts::batches(&[1]));
            held["spec"]["rolloutPlan"]["paused"] = json!(true);
            cluster.create(held).await;
        }
        rollouts::change(&cluster, &format!("nginx:{round}")).await;
        rollouts::recorded(&cluster, &format!("shop-v{round}")).await;
    }
    for name in ["shop-v1", "shop-v4", "shop-v5"] {
        cluster.gone("core.oam.dev/v1beta1", "ApplicationRevision", name).await;
    }
    cluster.settled().await;
    let left = cluster.list("core.oam.dev/v1beta1", "ApplicationRevision").await;
    let mut left: Vec<_> =
        left.iter().map(|one| one["metadata"]["name"].as_str().unwrap_or_default()).collect();
    left.sort_unstable();
    assert_eq!(left, ["shop-v2", "shop-v3", "shop-v6", "shop-v7", "shop-v8"]);
}

const REVISIONS: [(&str, &str, &str); 3] = [
    ("core.oam.dev/v1beta1", "DefinitionRevision", "note"),
    ("core.oam.dev/v1beta1", "ApplicationRevision", "site"),
    ("apps/v1", "ControllerRevision", "front"),
];

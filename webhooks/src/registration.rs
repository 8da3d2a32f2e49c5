//! Builds the webhook configurations that send every path of [`PATHS`] to the server.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use vela_crds::labels::{APP_COMPONENT, WEBHOOKS, WEBHOOKS_OF_CORE};

use crate::paths::{Action, CONVERT, CORE, INJECT, PATHS, Path, RECORD, RECORDS, STAMP, STAMPED, Subject};

/// The configuration of the trait injector, which can be taken away alone.
pub const TRAIT_INJECTOR: &str = "vela-core-trait-injector";
/// The configurations by which it is known who wrote what makes the controllers act.
pub const AUTHORS: &str = "vela-core-authors";
/// The kind that has two forms, one for each version.
pub const CONVERTED: &str = "applications.core.oam.dev";
/// Every write of a Deployment waits at most so long while no server answers.
const INJECTOR_TIMEOUT_SECONDS: u32 = 5;

/// A render of a large Application with all its definitions stays far below; an author can wait so long, and an API
/// server allows three times that.
const TIMEOUT_SECONDS: u32 = 10;
/// A definition is judged by itself, and while no server answers an installation waits so long for each that changed.
const DEFINITION_TIMEOUT_SECONDS: u32 = 5;
/// Requests that need no review: an update that says nothing new, such as a finalizer that is taken away, an owner that
/// is let go, or an installation of what is installed. The condition reads the object alone, so no client can claim it.
const SAYS_SOMETHING_NEW: &str = "request.operation != 'UPDATE' || object.?spec != oldObject.?spec || \
     object.metadata.?labels != oldObject.metadata.?labels || \
     object.metadata.?annotations != oldObject.metadata.?annotations";

/// Where API servers reach the webhook server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Server {
    /// In the cluster, behind this Service.
    Service {
        /// Where the Service is.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// Anywhere, at an address.
    Url {
        /// `https://host:port`, without a path.
        url: String,
        /// The system namespace of the controller that serves there.
        home: String,
    },
}

/// The MutatingWebhookConfiguration and the ValidatingWebhookConfiguration, without a `caBundle`: the process that serves
/// them writes it.
///
/// While no server answers, the API server refuses what users write to be run (`failurePolicy: Fail`): an Application
/// without a review could claim any author. Definitions enter unjudged (`Ignore`): an installation must be possible
/// without the controller it installs, a definition runs nothing by itself, and the controller tells in its status what
/// is wrong with it. Deletions are never sent: all of them are allowed. See
/// `docs/adr/0003-webhooks-without-a-server.md`.
pub fn configurations(server: &Server) -> Vec<Value> {
    let registered = registered();
    let configuration = |kind: &str, action: Action| {
        let webhooks: Vec<Value> = registered
            .iter()
            .filter(|path| path.action == action)
            .map(|path| webhook(path, &registered, server))
            .collect();
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": kind,
            "metadata": {"name": WEBHOOKS_OF_CORE, "labels": {WEBHOOKS: WEBHOOKS_OF_CORE}},
            "webhooks": webhooks,
        })
    };
    vec![
        configuration("MutatingWebhookConfiguration", Action::Mutate),
        configuration("ValidatingWebhookConfiguration", Action::Validate),
    ]
}

/// The webhook that sends Deployments and StatefulSets to the trait injector.
///
/// It is asked about workloads of the whole cluster, so its absence must stop none of them (`Ignore`), with one exception:
/// a workload of a component is made by the controller, whose own server may not be reached yet just after a start.
/// That one is refused and tried again, or it would run without what is bound to it. The namespaces of the cluster's
/// own workloads and of the controller itself are left out.
pub fn trait_injector(server: &Server) -> Value {
    let made_by_us = json!({"matchExpressions": [{"key": APP_COMPONENT, "operator": "Exists"}]});
    let not_ours = format!(
        "request.operation != 'CREATE' || !('{APP_COMPONENT}' in object.metadata.?labels.orValue({{}}))"
    );
    let webhook = |name: &str, operations: &[&str], policy: &str| {
        json!({
            "name": format!("{name}.injector.core.oam.dev"),
            "clientConfig": client(server, INJECT),
            "rules": [{
                "apiGroups": ["apps"],
                "apiVersions": ["v1"],
                "resources": ["deployments", "statefulsets"],
                "operations": operations,
                "scope": "Namespaced",
            }],
            "namespaceSelector": {"matchExpressions": [{
                "key": "kubernetes.io/metadata.name",
                "operator": "NotIn",
                "values": ["kube-system", home(server)],
            }]},
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "timeoutSeconds": INJECTOR_TIMEOUT_SECONDS,
            "failurePolicy": policy,
            "reinvocationPolicy": "IfNeeded",
        })
    };
    let mut made = webhook("made", &["CREATE"], "Fail");
    made["objectSelector"] = made_by_us;
    let mut others = webhook("others", &["CREATE", "UPDATE"], "Ignore");
    others["matchConditions"] = json!([
        {"name": "says-something-new", "expression": SAYS_SOMETHING_NEW},
        {"name": "is-not-asked-about-elsewhere", "expression": not_ours},
    ]);
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": TRAIT_INJECTOR, "labels": {WEBHOOKS: WEBHOOKS_OF_CORE}},
        "webhooks": [made, others],
    })
}

/// Stamps everything that makes the controllers act with its author, and keeps their records from other writers: for
/// controllers that act for authors. While no server answers, the API server refuses all of it (`Fail`): it could claim
/// any author.
pub fn authors(server: &Server) -> Vec<Value> {
    let rule = |group: &str, resources: &[&str]| {
        json!({
            "apiGroups": [group],
            "apiVersions": ["*"],
            "resources": resources,
            "operations": ["CREATE", "UPDATE"],
            "scope": "*",
        })
    };
    let configuration = |kind: &str, name: &str, path: &str, rules: Vec<Value>| {
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": kind,
            "metadata": {"name": AUTHORS, "labels": {WEBHOOKS: WEBHOOKS_OF_CORE}},
            "webhooks": [{
                "name": name,
                "clientConfig": client(server, path),
                "rules": rules,
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "timeoutSeconds": TIMEOUT_SECONDS,
                "failurePolicy": "Fail",
                "matchConditions": [{"name": "says-something-new", "expression": SAYS_SOMETHING_NEW}],
                "matchPolicy": "Exact",
            }],
        })
    };
    let stamped = STAMPED.iter().map(|(group, resources)| rule(group, resources)).collect();
    vec![
        configuration("MutatingWebhookConfiguration", "stamp.authors.core.oam.dev", STAMP, stamped),
        configuration(
            "ValidatingWebhookConfiguration",
            "records.authors.core.oam.dev",
            RECORD,
            vec![rule(CORE, RECORDS)],
        ),
    ]
}

/// Has API servers ask the server for the other version of an Application: the CRD [`CONVERTED`], changed.
pub fn converted(crd: &mut Value, server: &Server) {
    crd["metadata"]["labels"][WEBHOOKS] = json!(WEBHOOKS_OF_CORE);
    crd["spec"]["conversion"] = json!({
        "strategy": "Webhook",
        "webhook": {"clientConfig": client(server, CONVERT), "conversionReviewVersions": ["v1"]},
    });
}

/// The namespace of the controller.
fn home(server: &Server) -> &str {
    match server {
        Server::Service { namespace: home, .. } | Server::Url { home, .. } => home,
    }
}

fn client(server: &Server, path: &str) -> Value {
    match server {
        Server::Url { url, .. } => json!({"url": format!("{}{path}", url.trim_end_matches('/'))}),
        Server::Service { namespace, name } => {
            json!({"service": {"namespace": namespace, "name": name, "path": path, "port": 443}})
        }
    }
}

/// Paths of one action for one version of a resource mean the same; of those, the last one is registered.
fn registered() -> Vec<&'static Path> {
    let mut last = BTreeMap::new();
    for path in PATHS.iter().filter(|path| path.subject != Subject::Workload) {
        last.insert((path.action == Action::Validate, path.resources, path.versions.first()), path);
    }
    last.into_values().collect()
}

fn webhook(path: &Path, registered: &[&Path], server: &Server) -> Value {
    // Another version has a path of its own; where there is none, an object of any version comes converted.
    let alone = registered
        .iter()
        .filter(|other| (other.action, other.resources) == (path.action, path.resources))
        .count()
        == 1;
    let (policy, timeout) = match path.subject {
        Subject::Definition => ("Ignore", DEFINITION_TIMEOUT_SECONDS),
        _ => ("Fail", TIMEOUT_SECONDS),
    };
    json!({
        "name": path.path.trim_start_matches('/').replace('-', "."),
        "clientConfig": client(server, path.path),
        "rules": [{
            "apiGroups": [path.group],
            "apiVersions": path.versions.first().map_or_else(Vec::new, |version| vec![*version]),
            "resources": path.resources,
            "operations": operations(path.subject),
            "scope": "*",
        }],
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "timeoutSeconds": timeout,
        "failurePolicy": policy,
        "matchConditions": [{"name": "says-something-new", "expression": SAYS_SOMETHING_NEW}],
        "matchPolicy": if alone { "Equivalent" } else { "Exact" },
    })
}

/// Versions are recorded by the controller, which must not wait for itself; they are only kept from changing.
fn operations(subject: Subject) -> &'static [&'static str] {
    match subject {
        Subject::DefinitionRevision => &["UPDATE"],
        _ => &["CREATE", "UPDATE"],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn webhooks(server: &Server) -> Vec<Value> {
        let all = configurations(server);
        assert_eq!(all.len(), 2);
        all.iter().flat_map(|one| one["webhooks"].as_array().unwrap().clone()).collect()
    }

    #[test]
    fn every_resource_and_version_is_registered_once_for_an_action() {
        let webhooks =
            webhooks(&Server::Url { url: "https://127.0.0.1:9443/".to_owned(), home: "platform".to_owned() });
        let mut seen = std::collections::BTreeSet::new();
        for webhook in &webhooks {
            let url = webhook["clientConfig"]["url"].as_str().unwrap();
            let path = Path::at(url.strip_prefix("https://127.0.0.1:9443").unwrap()).unwrap();
            let rule = &webhook["rules"][0];
            assert_eq!(rule["resources"], json!(path.resources));
            assert!(seen.insert((
                path.action == Action::Mutate,
                rule["resources"].to_string(),
                rule["apiVersions"].to_string()
            )));
            // An API server wants at least three parts in a name.
            assert!(webhook["name"].as_str().unwrap().split('.').count() >= 3, "{webhook}");
            let definition = path.subject == Subject::Definition;
            assert_eq!(webhook["failurePolicy"], if definition { "Ignore" } else { "Fail" }, "{}", path.path);
            assert_eq!(rule["operations"], json!(operations(path.subject)), "no deletion waits for us");
        }
        let resources: std::collections::BTreeSet<_> = PATHS
            .iter()
            .filter(|path| path.subject != Subject::Workload)
            .flat_map(|path| path.resources)
            .collect();
        for resource in resources {
            assert!(
                webhooks.iter().any(|webhook| webhook["rules"][0]["resources"]
                    .as_array()
                    .unwrap()
                    .contains(&json!(resource))),
                "{resource}"
            );
        }
    }

    #[test]
    fn kinds_that_make_controllers_act_are_stamped_or_guarded() {
        let server = Server::Service { namespace: "home".to_owned(), name: "hook".to_owned() };
        let [stamp, keep] = authors(&server).try_into().unwrap();
        let resources = |configuration: &Value| -> Vec<String> {
            let webhook = &configuration["webhooks"][0];
            assert_eq!(webhook["failurePolicy"], "Fail");
            let rules = webhook["rules"].as_array().unwrap().iter();
            rules
                .flat_map(|rule| rule["resources"].as_array().unwrap().clone())
                .map(|one| one.as_str().unwrap().to_owned())
                .collect()
        };
        let (stamped, kept) = (resources(&stamp), resources(&keep));
        for resource in ["approllouts", "applicationrevisions", "podspecworkloads", "manualscalertraits"] {
            assert!(stamped.contains(&resource.to_owned()), "{resource}: {stamped:?}");
        }
        assert!(
            kept.contains(&"applicationrevisions".to_owned())
                && kept.contains(&"resourcetrackers".to_owned())
        );
        assert_eq!(stamp["webhooks"][0]["clientConfig"]["service"]["path"], STAMP);
        assert_eq!(keep["webhooks"][0]["clientConfig"]["service"]["path"], RECORD);
    }

    #[test]
    fn the_injector_may_stop_only_what_the_controller_makes() {
        let server = Server::Service { namespace: "home".to_owned(), name: "hook".to_owned() };
        let configuration = trait_injector(&server);
        let [made, others] = configuration["webhooks"].as_array().unwrap().as_slice() else { panic!() };
        for webhook in [made, others] {
            assert_eq!(webhook["clientConfig"]["service"]["path"], "/mutate");
            assert_eq!(webhook["reinvocationPolicy"], "IfNeeded");
            let left_out = &webhook["namespaceSelector"]["matchExpressions"][0];
            assert_eq!(left_out["values"], json!(["kube-system", "home"]));
        }
        assert_eq!((&made["failurePolicy"], &others["failurePolicy"]), (&json!("Fail"), &json!("Ignore")));
        assert_eq!(made["rules"][0]["operations"], json!(["CREATE"]));
        assert_eq!(made["objectSelector"]["matchExpressions"][0]["key"], "app.oam.dev/component");
    }

    #[test]
    fn a_version_with_its_own_path_is_sent_there_as_written() {
        let server = Server::Service { namespace: "vela-system".to_owned(), name: "hook".to_owned() };
        let of = |resource: &str| -> Vec<Value> {
            let webhooks = webhooks(&server).into_iter();
            let validates = |webhook: &Value| webhook["name"].as_str().unwrap().starts_with("validat");
            webhooks
                .filter(|webhook| webhook["rules"][0]["resources"][0] == resource && validates(webhook))
                .collect()
        };
        let applications = of("applications");
        assert_eq!(applications.len(), 2);
        for webhook in applications {
            assert_eq!(webhook["matchPolicy"], "Exact");
            let version = webhook["rules"][0]["apiVersions"][0].as_str().unwrap();
            let service = &webhook["clientConfig"]["service"];
            assert_eq!(service["path"], format!("/validating-core-oam-dev-{version}-applications"));
            assert_eq!(service["port"], 443);
        }
        let [components] = of("componentdefinitions").try_into().unwrap();
        assert_eq!(components["matchPolicy"], "Equivalent");
    }
}

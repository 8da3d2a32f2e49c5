//! Namespaces that ask for a project, against a server in the test that keeps projects and robot accounts as a Harbor does.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use vela_runtime::fault::Injection;

use super::harbor_api::{Asked, Harbor, access, server};
use super::operator::{Cluster, GOHARBOR, NAMESPACE, PATIENCE};

const BINDING: (&str, &str, &str) = (GOHARBOR, "PullSecretBinding", "harbor-project");
const ACCOUNT: (&str, &str, &str) = ("v1", "ServiceAccount", "default");

/// A robot account: its project, its name in it.
type Robot = (String, String);

/// What the Harbor of a test has; the number of each is its place.
#[derive(Default)]
struct Registry {
    projects: Vec<String>,
    robots: Vec<Robot>,
    /// Whether it refuses to make projects.
    is_closed: bool,
}

fn robot_json(at: usize, (project, name): &Robot) -> Value {
    let access = json!([{"resource": "repository", "action": "pull"}]);
    let permissions = json!([{"kind": "project", "namespace": project, "access": access}]);
    json!({"id": at + 1, "name": format!("robot${project}+{name}"), "permissions": permissions})
}

impl Registry {
    fn answer(&mut self, asked: &Asked) -> (&'static str, Value) {
        let words: Vec<&str> = asked.line.split(' ').collect();
        let path = words[1].split_once("/api/v2.0/").unwrap().1;
        let text = |field: &str| asked.body[field].as_str().unwrap().to_owned();
        let conflict = ("409 Conflict", json!({"errors": [{"code": "CONFLICT"}]}));
        match (words[0], path.split_once('?').unwrap_or((path, ""))) {
            ("GET", ("health", _)) => ("200 OK", json!({"status": "healthy"})),
            ("GET", ("projects", query)) => {
                let all = self.projects.iter().enumerate();
                let named =
                    all.filter(|(_, name)| query.split('&').any(|part| part == format!("q=name%3D{name}")));
                ("200 OK", named.map(|(at, name)| json!({"project_id": at + 1, "name": name})).collect())
            }
            ("POST", ("projects", _)) if self.is_closed => (
                "403 Forbidden",
                json!({"errors": [{"code": "FORBIDDEN", "message": "no right to make it"}]}),
            ),
            ("POST", ("projects", _)) => {
                let name = text("project_name");
                if self.projects.contains(&name) {
                    return conflict;
                }
                self.projects.push(name);
                ("201 Created", Value::Null)
            }
            ("GET", ("robots", query)) => {
                let (_, number) = query.split_once("ProjectID%3D").unwrap();
                let number: usize = number.split('&').next().unwrap().parse().unwrap();
                let all = self.robots.iter().enumerate();
                let of = all.filter(|(_, (project, _))| *project == self.projects[number - 1]);
                ("200 OK", of.map(|(at, robot)| robot_json(at, robot)).collect())
            }
            ("POST", ("robots", _)) => {
                let project = asked.body["permissions"][0]["namespace"].as_str().unwrap().to_owned();
                let robot = (project, text("name"));
                if self.robots.contains(&robot) {
                    return conflict;
                }
                self.robots.push(robot);
                let at = self.robots.len() - 1;
                let mut made = robot_json(at, &self.robots[at]);
                made["secret"] = json!("shown-once");
                ("201 Created", made)
            }
            ("GET", (path, _)) if path.starts_with("robots/") => {
                let number: usize = path.trim_start_matches("robots/").parse().unwrap();
                match self.robots.get(number - 1) {
                    Some(robot) => ("200 OK", robot_json(number - 1, robot)),
                    None => ("404 Not Found", json!({"errors": [{"code": "NOT_FOUND"}]})),
                }
            }
            _ => ("200 OK", json!({})),
        }
    }
}

/// A cluster with a server that is the default, and what its Harbor has.
struct Stage {
    cluster: Cluster,
    harbor: Harbor,
    stored: Arc<Mutex<Registry>>,
}

impl Stage {
    async fn begin() -> Self {
        let stored: Arc<Mutex<Registry>> = Arc::default();
        let answering = stored.clone();
        let harbor = Harbor::answering(Arc::new(move |asked| answering.lock().unwrap().answer(asked))).await;
        let cluster = Cluster::begin().await;
        cluster.create(access()).await;
        cluster.create(server(&harbor, "main", "well", &json!({"default": true}))).await;
        Self { cluster, harbor, stored }
    }

    async fn namespace(&self, name: &str, annotations: Value) {
        let metadata = json!({"name": name, "annotations": annotations});
        self.cluster.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})).await;
    }

    async fn annotate(&self, name: &str, annotations: Value) {
        let patch = json!({"metadata": {"annotations": annotations}});
        self.cluster.patch("v1", "Namespace", name, false, patch).await;
    }

    async fn annotation(&self, namespace: &str, name: &str) -> String {
        let found = self.cluster.get("v1", "Namespace", namespace).await.unwrap();
        found["metadata"]["annotations"][name].as_str().unwrap_or_default().to_owned()
    }

    /// Waits until the binding of a namespace is ready for this robot account.
    async fn bound(&self, namespace: &str, robot: &str) -> Value {
        let is =
            |binding: &Value| binding["status"]["status"] == "ready" && binding["spec"]["robotId"] == robot;
        self.cluster.until_in(namespace, BINDING, PATIENCE, is).await
    }

    /// Waits until a namespace has the number of its robot account; the name of its project.
    async fn noted(&self, namespace: &str) -> String {
        let of = ("v1", "Namespace", namespace);
        let is = |object: &Value| object["metadata"]["annotations"]["goharbor.io/robot"].is_string();
        self.cluster.until(of, is).await;
        self.annotation(namespace, "goharbor.io/project").await
    }

    async fn said(&self, namespace: &str, words: &str) {
        self.cluster.event_in("default", namespace, words).await;
    }

    /// What was asked to be made, in its order.
    fn made(&self) -> Vec<String> {
        let asked = self.harbor.asked("POST ");
        let last = |asked: &Asked| asked.line.split(' ').nth(1)?.rsplit('/').next().map(str::to_owned);
        asked.iter().filter_map(last).collect()
    }

    async fn is_bound(&self, namespace: &str) -> bool {
        self.cluster.get_in(namespace, BINDING).await.is_some()
    }
}

async fn until(what: &str, mut is: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !is().await {
        assert!(began.elapsed() < PATIENCE, "{what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_gets_a_project_of_its_own_once() {
    let stage = Stage::begin().await;
    stage.namespace("shop", json!({"goharbor.io/project": "*"})).await;
    let project = stage.noted("shop").await;
    assert!(project.starts_with("shop-"), "{project}");
    let binding = stage.bound("shop", "1").await;
    let spec =
        json!({"harborServerConfig": "main", "projectId": "1", "robotId": "1", "serviceAccount": "default"});
    assert_eq!(binding["spec"], spec);
    assert_eq!(binding["metadata"]["annotations"]["goharbor.io/project"], json!(project));
    let owner = &binding["metadata"]["ownerReferences"][0];
    assert_eq!((&owner["kind"], &owner["name"]), (&json!("Namespace"), &json!("shop")));
    let account = stage.cluster.get_in("shop", ACCOUNT).await.unwrap();
    assert_eq!(account["imagePullSecrets"], json!([{"name": "harbor-project-pull"}]));
    stage.said("shop", &format!("pulls images of project {project} of HarborServerConfiguration main")).await;

    let asked = stage.harbor.asked("POST /well/127.0.0.1/api/v2.0/projects ");
    assert_eq!(asked[0].login, "admin:pass");
    assert_eq!(asked[0].body, json!({"project_name": project, "metadata": {"public": "false"}}));
    let robot = &stage.harbor.asked("POST /well/127.0.0.1/api/v2.0/robots ")[0].body;
    assert_eq!((&robot["level"], &robot["duration"]), (&json!("project"), &json!(-1)));
    let pull = json!([{"resource": "repository", "action": "pull"}]);
    let only = json!([{"kind": "project", "namespace": project, "access": pull}]);
    assert_eq!(robot["permissions"], only);

    // Another account is bound to the same project, also by a manifest that brings the star back.
    let again = json!({"goharbor.io/project": "*", "goharbor.io/service-account": "builder"});
    stage.annotate("shop", again).await;
    let builder = json!({"name": "builder", "namespace": "shop"});
    stage.cluster.create(json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": builder})).await;
    let follows = |binding: &Value| binding["spec"]["serviceAccount"] == "builder";
    stage.cluster.until_in("shop", BINDING, PATIENCE, follows).await;
    let is_noted =
        |object: &Value| object["metadata"]["annotations"]["goharbor.io/project"] == json!(project);
    stage.cluster.until(("v1", "Namespace", "shop"), is_noted).await;
    assert_eq!(stage.made(), ["projects", "robots"], "each was made once");
    let stored = stage.stored.lock().unwrap();
    assert_eq!((stored.projects.len(), stored.robots.len()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_star_that_is_applied_again_stays() {
    let stage = Stage::begin().await;
    stage.namespace("shop", json!({"goharbor.io/project": "*"})).await;
    stage.noted("shop").await;
    stage.bound("shop", "1").await;
    let asked = stage.harbor.asked("").len();
    stage.cluster.asked.take();
    stage.annotate("shop", json!({"goharbor.io/project": "*"})).await;
    // What another namespace gets comes after it: one worker at a time takes the older one first.
    stage.namespace("later", json!({"goharbor.io/project": "*"})).await;
    stage.noted("later").await;
    assert_eq!(stage.annotation("shop", "goharbor.io/project").await, "*");
    let of_shop =
        |entry: &vela_runtime::fault::Entry| entry.writes() && entry.path.contains("/namespaces/shop");
    assert!(!stage.cluster.asked.take().iter().any(of_shop));
    assert!(stage.harbor.asked("").len() > asked, "the Harbor was asked for the other one");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_operator_made_is_found_again() {
    let mut stage = Stage::begin().await;
    // Neither the binding nor the annotations can be written, until another process runs.
    let tried = Arc::new(AtomicBool::new(false));
    let seen = tried.clone();
    stage.cluster.asked.inject(move |entry| {
        let is_binding = entry.path.contains("/pullsecretbindings/harbor-project");
        match entry.writes() && is_binding {
            true => {
                seen.store(true, Ordering::SeqCst);
                Injection::DropRequest
            }
            false => Injection::Pass,
        }
    });
    stage.namespace("shop", json!({"goharbor.io/project": "*"})).await;
    until("the binding is written", async || tried.load(Ordering::SeqCst)).await;
    stage.cluster.stop().await;
    assert!(!stage.is_bound("shop").await);
    assert_eq!(stage.annotation("shop", "goharbor.io/project").await, "*");
    // The next one writes the binding and no annotation.
    let (tried, seen) = (Arc::new(AtomicBool::new(false)), tried);
    seen.store(false, Ordering::SeqCst);
    let noted = tried.clone();
    stage.cluster.asked.inject(move |entry| {
        match entry.writes() && entry.path.split('?').next().unwrap_or_default().ends_with("/namespaces/shop")
        {
            true => {
                noted.store(true, Ordering::SeqCst);
                Injection::DropRequest
            }
            false => Injection::Pass,
        }
    });
    stage.cluster.start();
    until("the annotations are written", async || tried.load(Ordering::SeqCst)).await;
    stage.cluster.stop().await;
    let first = stage.cluster.get_in("shop", BINDING).await.unwrap();
    stage.cluster.asked.heal();
    stage.cluster.start();
    let project = stage.noted("shop").await;
    let binding = stage.bound("shop", "1").await;
    assert_eq!(binding["metadata"]["uid"], first["metadata"]["uid"]);
    let stored = stage.stored.lock().unwrap();
    assert_eq!(stored.projects, std::slice::from_ref(&project));
    assert_eq!(stored.robots, [(project, "vela-pull".to_owned())]);
    assert_eq!(stage.made().len(), 2, "one project, one robot account");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_that_is_named_is_bound_and_followed() {
    let stage = Stage::begin().await;
    let robots = [("lib", "ci"), ("team", "ci"), ("lib", "other")];
    {
        let mut stored = stage.stored.lock().unwrap();
        stored.projects = vec!["lib".to_owned(), "team".to_owned()];
        stored.robots = robots.map(|(project, name)| (project.to_owned(), name.to_owned())).into();
    }
    stage.namespace("shop", json!({"goharbor.io/project": "team"})).await;
    stage
        .said("shop", "goharbor.io/robot must be the number of a robot account with access to project team")
        .await;
    stage.annotate("shop", json!({"goharbor.io/robot": "1"})).await;
    stage.said("shop", "has no robot account 1 with access to project team: give it access there").await;
    stage.annotate("shop", json!({"goharbor.io/robot": "9"})).await;
    stage.said("shop", "has no robot account 9 with access to project team").await;
    assert!(!stage.is_bound("shop").await);
    stage.annotate("shop", json!({"goharbor.io/robot": "2"})).await;
    let binding = stage.bound("shop", "2").await;
    assert_eq!(binding["spec"]["projectId"], "2");
    stage.annotate("shop", json!({"goharbor.io/project": "gone"})).await;
    stage.said("shop", "has no project gone, or does not show it to this account").await;
    assert_eq!(
        stage.bound("shop", "2").await["spec"],
        binding["spec"],
        "it stays while another cannot be bound"
    );
    stage.annotate("shop", json!({"goharbor.io/project": "lib", "goharbor.io/robot": "3"})).await;
    assert_eq!(stage.bound("shop", "3").await["spec"]["projectId"], "1");
    // A binding that is edited is put right.
    let edited = json!({"spec": {"projectId": "7", "robotId": "7"}});
    let of = stage.cluster.get_in("shop", BINDING).await.unwrap();
    stage.cluster.patch_in("shop", (GOHARBOR, "PullSecretBinding"), "harbor-project", edited).await;
    assert_eq!(stage.bound("shop", "3").await["metadata"]["uid"], of["metadata"]["uid"]);
    assert!(stage.made().is_empty(), "nothing is made in the Harbor for a project that is named");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_missing_is_said_and_waited_for() {
    let stage = Stage::begin().await;
    let annotations = json!({
        "goharbor.io/project": "*", "goharbor.io/service-account": "builder", "goharbor.io/harbor": "other",
    });
    stage.namespace("shop", annotations).await;
    stage
        .said("shop", "goharbor.io/harbor names HarborServerConfiguration other, which does not exist")
        .await;
    let selector = json!({"namespaceSelector": {"matchLabels": {"team": "web"}}});
    stage.cluster.create(server(&stage.harbor, "other", "well", &selector)).await;
    stage.said("shop", "HarborServerConfiguration other is not for namespace shop").await;
    let labels = json!({"metadata": {"labels": {"team": "web"}}});
    stage.cluster.patch("v1", "Namespace", "shop", false, labels).await;
    stage
        .said("shop", "goharbor.io/service-account names ServiceAccount builder, which does not exist")
        .await;
    assert!(stage.made().is_empty());
    let builder = json!({"name": "builder", "namespace": "shop"});
    stage.cluster.create(json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": builder})).await;
    assert_eq!(stage.bound("shop", "1").await["spec"]["harborServerConfig"], "other");

    // Without a default, the namespace has to name a server; a default that comes wakes it.
    let default = |is: bool| json!({"spec": {"default": is}});
    stage.cluster.patch(GOHARBOR, "HarborServerConfiguration", "main", false, default(false)).await;
    let is = |object: &Value| object["spec"]["default"] == false;
    stage.cluster.until((GOHARBOR, "HarborServerConfiguration", "main"), is).await;
    stage.namespace("till", json!({"goharbor.io/project": "*"})).await;
    stage.said("till", "goharbor.io/harbor must name a HarborServerConfiguration, since none with").await;
    stage.cluster.patch(GOHARBOR, "HarborServerConfiguration", "main", false, default(true)).await;
    stage.bound("till", "2").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_harbor_that_refuses_is_asked_again_only_later() {
    let stage = Stage::begin().await;
    stage.stored.lock().unwrap().is_closed = true;
    stage.namespace("shop", json!({"goharbor.io/project": "*"})).await;
    stage.said("shop", "refused to make a project with status 403").await;
    let asked = stage.made().len();
    // A change wakes it at once.
    stage.stored.lock().unwrap().is_closed = false;
    stage.annotate("shop", json!({"example.com/touched": "yes"})).await;
    stage.bound("shop", "1").await;
    assert_eq!(stage.made().len(), asked + 2, "between the two it was not asked");
    assert_eq!(asked, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_namespaces_have_two_projects() {
    let stage = Stage::begin().await;
    for name in ["shop", "till"] {
        stage.namespace(name, json!({"goharbor.io/project": "*"})).await;
    }
    let (shop, till) = (stage.noted("shop").await, stage.noted("till").await);
    assert!(shop.starts_with("shop-") && till.starts_with("till-"), "{shop} {till}");
    let mut robots = Vec::new();
    for name in ["shop", "till"] {
        let robot = stage.annotation(name, "goharbor.io/robot").await;
        let binding = stage.bound(name, &robot).await;
        robots.push((robot, binding["spec"]["projectId"].clone()));
    }
    assert_ne!(robots[0], robots[1]);
    assert_eq!(stage.made().len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_binding_of_others_is_left_alone() {
    let stage = Stage::begin().await;
    let binding = |name: &str, account: &str| {
        let spec = json!({"harborServerConfig": "main", "projectId": "5", "robotId": "6", "serviceAccount": account});
        let metadata = json!({"name": name, "namespace": NAMESPACE});
        json!({"apiVersion": GOHARBOR, "kind": "PullSecretBinding", "metadata": metadata, "spec": spec})
    };
    stage.cluster.create(binding("harbor-project", "other")).await;
    stage.annotate(NAMESPACE, json!({"goharbor.io/project": "*"})).await;
    stage
        .said(
            NAMESPACE,
            "cannot change PullSecretBinding n/harbor-project: it exists and nothing controls it",
        )
        .await;
    // One that binds the same account to the same server is as good as its own.
    stage.cluster.create(binding("mine", "default")).await;
    stage.said(NAMESPACE, "PullSecretBinding mine binds ServiceAccount default to this Harbor already").await;
    stage.annotate(NAMESPACE, json!({"goharbor.io/project": null})).await;
    stage.namespace("later", json!({"goharbor.io/project": "*"})).await;
    stage.noted("later").await;
    for (name, account) in [("harbor-project", "other"), ("mine", "default")] {
        let found = stage.cluster.get(GOHARBOR, "PullSecretBinding", name).await.unwrap();
        assert_eq!(found["spec"], binding(name, account)["spec"]);
    }
    assert_eq!(stage.stored.lock().unwrap().projects.len(), 1, "nothing was made for the first namespace");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_its_annotation_the_project_stays() {
    let stage = Stage::begin().await;
    stage.namespace("shop", json!({"goharbor.io/project": "*"})).await;
    let project = stage.noted("shop").await;
    stage.bound("shop", "1").await;
    stage.annotate("shop", json!({"goharbor.io/project": null})).await;
    until("the binding goes", async || !stage.is_bound("shop").await).await;
    stage.said("shop", &format!("project {project} and its robot account stay in the Harbor")).await;
    assert_eq!(stage.stored.lock().unwrap().projects, [project]);
    assert!(stage.harbor.asked("DELETE").is_empty());
    // The same project is bound again.
    stage.annotate("shop", json!({"goharbor.io/project": "*"})).await;
    stage.bound("shop", "1").await;
    assert_eq!(stage.made().len(), 2);
    // A binding that a person deletes comes back.
    let binding = stage.cluster.get_in("shop", BINDING).await.unwrap();
    stage.cluster.delete(&serde_json::from_value(binding.clone()).unwrap()).await;
    let is = |object: &Value| object["metadata"]["uid"] != binding["metadata"]["uid"];
    stage.cluster.until_in("shop", BINDING, PATIENCE, is).await;
    assert_eq!(stage.stored.lock().unwrap().robots.len(), 1);
}

//! `vela install --controller local`: the controller of a cluster in a process of this program.

use std::path::PathBuf;
use std::process::Stdio;

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use vela_apiserver::ApiServer;
use vela_testkit::Process;

use crate::sandbox::until;
use crate::{PAGE, Person, site};

/// An object: its version, kind, namespace and name.
pub(crate) type At<'a> = (&'a str, &'a str, &'a str, &'a str);

/// A cluster without any controller of ours, whose Deployments get pods.
pub(crate) struct Cluster {
    runtime: tokio::runtime::Runtime,
    server: ApiServer,
    /// They last as long as this.
    _served: (vela_apiserver::Served, Box<dyn std::any::Any>),
    pub(crate) kubeconfig: String,
}

impl Cluster {
    pub(crate) fn new(person: &Person) -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let (server, served, pods) = runtime.block_on(async {
            let server = ApiServer::builder().build().unwrap();
            let pods = server.run_controllers();
            let served = server.serve("127.0.0.1:0".parse().unwrap()).await.unwrap();
            (server, served, pods)
        });
        let kubeconfig = person.write("kubeconfig", served.kubeconfig());
        Self { runtime, server, _served: (served, Box::new(pods)), kubeconfig }
    }

    fn api(&self, api_version: &str, kind: &str, namespace: &str) -> Api<DynamicObject> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        let client = kube::Client::new(self.server.service(), "default");
        match namespace {
            "" => Api::all_with(client, &resource),
            namespace => Api::namespaced_with(client, namespace, &resource),
        }
    }

    /// An object as it is stored; of kinds without namespaces, where `namespace` is empty.
    pub(crate) fn object(&self, api_version: &str, kind: &str, namespace: &str, name: &str) -> Option<Value> {
        self.runtime.block_on(async {
            // A kind that is gone has no objects either.
            let found = self.api(api_version, kind, namespace).get_opt(name).await.unwrap();
            found.map(|found| serde_json::to_value(found).unwrap())
        })
    }

    pub(crate) fn delete(&self, api_version: &str, kind: &str, namespace: &str, name: &str) {
        self.runtime.block_on(async {
            self.api(api_version, kind, namespace).delete(name, &DeleteParams::default()).await.unwrap();
        });
    }

    /// Merges a patch into an object, under the name of another program.
    pub(crate) fn patch(&self, manager: &str, (api_version, kind, namespace, name): At<'_>, patch: &Value) {
        let params = PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() };
        self.runtime.block_on(async {
            let api = self.api(api_version, kind, namespace);
            api.patch(name, &params, &Patch::Merge(patch)).await.unwrap();
        });
    }

    /// Who holds the lease of the controllers.
    fn leader(&self) -> String {
        self.runtime.block_on(async {
            let client = kube::Client::new(self.server.service(), "default");
            let lease = Api::<Lease>::namespaced(client, "vela-system").get_opt("vela-core").await.unwrap();
            lease.and_then(|lease| lease.spec?.holder_identity).unwrap_or_default()
        })
    }
}

/// A process with the controller.
pub(crate) struct Controller {
    child: Process,
    log: PathBuf,
}

impl Controller {
    /// Starts it and waits until it says that it runs.
    pub(crate) fn start(person: &Person, cluster: &Cluster, name: &str) -> Self {
        let log = person.path(name);
        let mut command =
            person.command(&["install", "--controller", "local", "--kubeconfig", &cluster.kubeconfig]);
        command.stdout(Stdio::null()).stderr(std::fs::File::create(&log).unwrap());
        let started = Self { child: command.spawn().unwrap().into(), log };
        until("the controller runs", || started.log().contains("The controller runs here"));
        started
    }

    fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    fn leads(&self, cluster: &Cluster) -> bool {
        cluster.leader().contains(&format!("_vela-{}-", self.child.id()))
    }

    /// Asks it to end, as service managers do, and waits until it has.
    pub(crate) fn stop(mut self) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        let code = self.child.wait().unwrap().code();
        assert_eq!(code, Some(0), "{}", self.log());
    }
}

#[test]
fn a_controller_serves_the_cluster_until_another_takes_over() {
    let person = Person::new();
    let cluster = Cluster::new(&person);
    person.write("site/page.yaml", PAGE);
    person.write("site/app.yaml", site(false));
    let up = ["up", "-f", "site", "--timeout", "90s", "--kubeconfig", &cluster.kubeconfig];

    let first = Controller::start(&person, &cluster, "first.log");
    until("the first leads", || first.leads(&cluster));
    let said = person.types(&up).ok();
    assert!(said.out.contains("running"), "{said:?}");

    let second = Controller::start(&person, &cluster, "second.log");
    assert!(first.leads(&cluster), "the second waits: {}", cluster.leader());
    first.stop();
    until("the second leads", || second.leads(&cluster));
    person.write("site/app.yaml", site(false).replace("nginx:1", "nginx:2"));
    let said = person.types(&up).ok();
    assert!(said.out.contains("running"), "the second carries the change out: {said:?}");

    second.stop();
    assert_eq!(cluster.leader(), "", "who ends in good order gives the lease back");
}

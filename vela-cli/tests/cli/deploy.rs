//! The Helm chart and the kustomize base in `deploy`, rendered by the real programs: the objects that `vela install` prints.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

use crate::Person;
use crate::controller::Cluster;

/// Another namespace than the usual one.
const HOME: &str = "platform";

fn deploy(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../deploy").join(name)
}

/// The objects of YAML documents, by kind, namespace and name.
fn objects(text: &str) -> BTreeMap<String, Value> {
    let documents = vela_engine::manifest::read("rendered", text).unwrap();
    let objects = documents.iter().map(|document| document.value().clone());
    let key = |object: &Value| {
        let metadata = &object["metadata"];
        format!("{} {} {}", object["kind"], metadata["namespace"], metadata["name"])
    };
    objects.map(|object| (key(&object), object)).collect()
}

fn printed(words: &[&str]) -> BTreeMap<String, Value> {
    objects(&Person::new().types(&[&["install", "--print"], words].concat()).ok().out)
}

/// The same in the namespace of a release, which Helm itself makes or finds.
fn released(words: &[&str]) -> BTreeMap<String, Value> {
    let mut objects = printed(&[words, &["--system-namespace", HOME]].concat());
    objects.retain(|_, object| object["kind"] != "Namespace" || object["metadata"]["name"] != HOME);
    objects
}

#[track_caller]
fn same(rendered: &Output, printed: &BTreeMap<String, Value>, what: &str) {
    let said = String::from_utf8_lossy(&rendered.stderr);
    assert!(rendered.status.success(), "{what}: {said}");
    let rendered = objects(&String::from_utf8_lossy(&rendered.stdout));
    let names = |all: &BTreeMap<String, Value>| all.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&rendered), names(printed), "{what}");
    for (name, object) in printed {
        assert_eq!(&rendered[name], object, "{what}: {name}");
    }
}

fn helm(values: &[&str]) -> Output {
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new("helm");
    command
        .args(["template", "vela", "--include-crds", "--namespace", HOME])
        .arg(deploy("chart"))
        .env("HOME", home.path());
    for value in values {
        command.args(["--set", value]);
    }
    command.output().unwrap()
}

/// Values of the chart, and the flags that stand behind them.
const SELECTIONS: [(&[&str], &[&str]); 7] = [
    (&[], &[]),
    (&["controller.image=x/core:1"], &["--controller-image", "x/core:1"]),
    (
        &[
            "controller.image=x/core:1",
            "webhooks.enabled=true",
            "grant.secrets=true",
            "allowCrossNamespace=true",
        ],
        &["--controller-image", "x/core:1", "--webhooks", "--grant", "secrets", "--allow-cross-namespace"],
    ),
    (
        &[
            "controller.image=x/core:1",
            "webhooks.enabled=true",
            "webhooks.authenticateApplication=true",
            "webhooks.traitInjector=true",
            "grant.pods=true",
            "allowGrantingRights=true",
            "harbor.enabled=true",
        ],
        &[
            "--controller-image",
            "x/core:1",
            "--webhooks",
            "--authenticate-application",
            "--trait-injector",
            "--grant",
            "pods",
            "--allow-granting-rights",
            "--harbor",
        ],
    ),
    (
        &["dapr.enabled=true", "dapr.image=x/dapr:1", "harbor.enabled=true", "harbor.image=x/harbor:1"],
        &["--dapr", "--dapr-image", "x/dapr:1", "--harbor", "--harbor-image", "x/harbor:1"],
    ),
    (
        &["dapr.enabled=true", "dapr.image=x/dapr:1", "dapr.sidecarImage=x/daprd:1"],
        &["--dapr", "--dapr-image", "x/dapr:1", "--dapr-sidecar-image", "x/daprd:1"],
    ),
    (
        &["dapr.enabled=true", "dapr.image=x/dapr:1", "dapr.jwtIssuer=https://a.example"],
        &["--dapr", "--dapr-image", "x/dapr:1", "--dapr-jwt-issuer", "https://a.example"],
    ),
];

#[test]
#[ignore = "needs helm: cargo test -p vela-cli --test cli deploy -- --ignored"]
fn the_chart_renders_what_install_prints() {
    for (values, words) in SELECTIONS {
        same(&helm(values), &released(words), &values.join(","));
    }
    let set = [
        "controller.image=a",
        "controller.replicas=3",
        "controller.resources.limits.cpu=2",
        "controller.args={--x=1}",
    ];
    let said = helm(&set);
    let all = objects(&String::from_utf8_lossy(&said.stdout));
    let spec = &all["\"Deployment\" \"platform\" \"vela-core\""]["spec"];
    let container = &spec["template"]["spec"]["containers"][0];
    assert_eq!((&spec["replicas"], &container["resources"]["limits"]["cpu"]), (&3.into(), &2.into()));
    assert_eq!(container["args"].as_array().unwrap().last().unwrap(), "--x=1");
    for (wrong, words) in [
        ("webhooks.enabled=true", "webhooks.enabled needs controller.image"),
        ("dapr.image=x", "dapr.image needs dapr.enabled"),
        ("controller.imagee=x", "imagee"),
        ("controller.replicas=many", "replicas"),
    ] {
        let said = helm(&[wrong]);
        assert!(!said.status.success() && String::from_utf8_lossy(&said.stderr).contains(words), "{said:?}");
    }
}

/// On a cluster whose API server is the embedded one.
#[test]
#[ignore = "needs helm: cargo test -p vela-cli --test cli deploy -- --ignored"]
fn helm_installs_and_upgrades_the_chart() {
    let person = Person::new();
    let cluster = Cluster::new(&person);
    let chart = deploy("chart");
    let helm = |verb: &str, image: &str| {
        let image = format!("controller.image={image}");
        let mut command = Command::new("helm");
        command.args([verb, "vela"]).arg(&chart).args(["--set", &image, "--kubeconfig", &cluster.kubeconfig]);
        command.args(["--namespace", HOME, "--create-namespace"]);
        let said = command.env("HOME", person.path("home")).output().unwrap();
        assert!(said.status.success(), "{verb}: {}", String::from_utf8_lossy(&said.stderr));
    };
    let image = || {
        let live = cluster.object("apps/v1", "Deployment", HOME, "vela-core").unwrap();
        live["spec"]["template"]["spec"]["containers"][0]["image"].clone()
    };
    helm("install", "x/core:1");
    assert_eq!(image(), "x/core:1");
    let words = ["install", "--image", "x/core:1", "--dry-run", "--kubeconfig", &cluster.kubeconfig];
    let plan = person.types(&words).ok();
    assert!(plan.out.contains(" 0 objects would be created, 0 changed"), "{}", plan.out);
    helm("upgrade", "x/core:2");
    assert_eq!(image(), "x/core:2");
}

#[test]
#[ignore = "needs kubectl: cargo test -p vela-cli --test cli deploy -- --ignored"]
fn kustomize_renders_what_install_prints() {
    let built = Command::new("kubectl").arg("kustomize").arg(deploy("kustomize")).output().unwrap();
    let image = format!("vela-core:{}", env!("CARGO_PKG_VERSION"));
    same(&built, &printed(&["--controller-image", &image]), "the base");
    let person = Person::new();
    let folder = person.path("elsewhere");
    std::fs::create_dir_all(&folder).unwrap();
    for file in std::fs::read_dir(deploy("kustomize")).unwrap() {
        let file = file.unwrap();
        let base = person.path("base");
        std::fs::create_dir_all(&base).unwrap();
        std::fs::copy(file.path(), base.join(file.file_name())).unwrap();
    }
    person.write("elsewhere/kustomization.yaml", "namespace: platform\nresources: [../base]\n");
    let built = Command::new("kubectl").arg("kustomize").arg(&folder).output().unwrap();
    let words = ["--controller-image", &image, "--system-namespace", HOME];
    same(&built, &printed(&words), "the base in another namespace");
}

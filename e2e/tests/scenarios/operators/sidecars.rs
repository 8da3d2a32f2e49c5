//! Workloads with sidecars beside `vela-dapr`, which has no right but those that `vela install --dapr` gives its account.
//!
//! The sandbox calls no webhooks and reviews no tokens: there, sidecars come without certificates, and no pod gets one.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use vela_e2e::Result;
use vela_e2e::objects::{Cluster, text, until};
use vela_e2e::operator::Operator;
use vela_e2e::programs::beside;
use vela_e2e::target::{ProgramOutput, Target, is_real};

use super::{conversion, free_port, until_gone, until_it_is};
use crate::{CONVERGE_DEADLINE, scenario};

pub(super) const HOME: &str = "dapr-system";
const COMPONENT: [&str; 2] = ["dapr.io/v1alpha1", "Component"];
const AUDIENCE: &str = "spiffe://cluster.local/ns/dapr-system/dapr-sentry";
const REGISTRATION: [&str; 3] =
    ["admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "dapr-sidecar-injector"];

/// Where the parts of an operator listen.
struct Ports {
    api: u16,
    sentry: u16,
    webhooks: u16,
    injector: u16,
}

impl Ports {
    fn free() -> Result<Self> {
        let [api, sentry, webhooks, injector] = [free_port()?, free_port()?, free_port()?, free_port()?];
        Ok(Self { api, sentry, webhooks, injector })
    }

    fn flags(&self) -> Vec<String> {
        let at = |flag: &str, port: u16| format!("--{flag}=127.0.0.1:{port}");
        let mut flags = vec![
            format!("--namespace={HOME}"),
            "--health-addr=0".to_owned(),
            "--metrics-addr=0".to_owned(),
            "--sidecar-image=example.org/daprd:1".to_owned(),
            at("grpc-addr", self.api),
            at("sentry-addr", self.sentry),
            at("webhook-addr", self.webhooks),
            at("injector-addr", self.injector),
            format!("--injector-url=https://127.0.0.1:{}", self.injector),
        ];
        flags.push(if is_real() { "--watch-interval=1s" } else { "--allow-plaintext" }.to_owned());
        flags
    }
}

fn workload(name: &str, app_id: &str) -> Value {
    let annotations = json!({"dapr.io/enabled": "true", "dapr.io/app-id": app_id});
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": {
            "metadata": {"labels": {"app": name}, "annotations": annotations},
            "spec": {"containers": [{"name": "web", "image": "example.org/web:1"}]},
        }},
    })
}

async fn annotate(cluster: &Cluster, name: &str, annotations: Value) -> Result<()> {
    let patch = json!({"spec": {"template": {"metadata": {"annotations": annotations}}}});
    cluster.patch("apps/v1", "Deployment", name, &patch).await.map(drop)
}

async fn event(cluster: &Cluster, about: &str, reason: &str) -> Result<()> {
    until(&format!("an event of {about} says {reason}"), CONVERGE_DEADLINE, async || {
        let events = cluster.list("events.k8s.io/v1", "Event").await.map_err(|error| error.to_string())?;
        let says = |event: &Value| event["regarding"]["name"] == about && event["reason"] == reason;
        if events.iter().any(says) { Ok(()) } else { Err(format!("{} others", events.len())) }
    })
    .await
}

/// Services follow the annotations of their workloads.
async fn services(cluster: &Cluster) -> Result<()> {
    const fn service(name: &str) -> (&str, &str, &str) {
        ("v1", "Service", name)
    }
    let of = |owner: &'static str| {
        move |service: &Value| service["metadata"]["ownerReferences"][0]["name"] == owner
    };
    let made = until_it_is(cluster, service("cart-dapr"), of("web")).await?;
    assert_eq!(made["spec"]["clusterIP"], "None");
    assert_eq!(made["spec"]["selector"], json!({"app": "web"}));
    // Another port.
    annotate(cluster, "web", json!({"dapr.io/metrics-port": "9191"})).await?;
    until_it_is(cluster, service("cart-dapr"), |found| found["spec"]["ports"][3]["port"] == 9191).await?;
    // A mistake is said on the workload, and costs the Service nothing.
    annotate(cluster, "web", json!({"dapr.io/metrics-port": "70000"})).await?;
    event(cluster, "web", "InvalidDaprAnnotations").await?;
    annotate(cluster, "web", json!({"dapr.io/metrics-port": null})).await?;
    until_it_is(cluster, service("cart-dapr"), |found| found["spec"]["ports"][3]["port"] == 9090).await?;
    // A user deletes it, and it comes back.
    let uid = made["metadata"]["uid"].clone();
    cluster.delete("v1", "Service", "cart-dapr").await?;
    until_it_is(cluster, service("cart-dapr"), |found| found["metadata"]["uid"] != uid).await?;
    // Two workloads of one id say so; the next one gets the Service when the first has another.
    cluster.create(&workload("twin", "cart")).await?;
    event(cluster, "twin", "SharedDaprAppId").await?;
    annotate(cluster, "web", json!({"dapr.io/app-id": "basket"})).await?;
    until_it_is(cluster, service("basket-dapr"), of("web")).await?;
    until_it_is(cluster, service("cart-dapr"), of("twin")).await?;
    // It goes with its workload, or when Dapr is switched off.
    cluster.delete("apps/v1", "Deployment", "twin").await?;
    until_gone(cluster, service("cart-dapr")).await?;
    annotate(cluster, "web", json!({"dapr.io/enabled": "false"})).await?;
    until_gone(cluster, service("basket-dapr")).await?;
    annotate(cluster, "web", json!({"dapr.io/enabled": "true", "dapr.io/app-id": "cart"})).await?;
    until_it_is(cluster, service("cart-dapr"), of("web")).await?;
    // A Service of others is left as it is.
    let foreign = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "till-dapr"},
        "spec": {"ports": [{"port": 9000}], "selector": {"app": "other"}}});
    cluster.create(&foreign).await?;
    let before = cluster.get("v1", "Service", "till-dapr").await?;
    cluster.create(&workload("till", "till")).await?;
    event(cluster, "till", "CannotServeDapr").await?;
    assert_eq!(cluster.get("v1", "Service", "till-dapr").await?, before);
    cluster.delete("apps/v1", "Deployment", "till").await
}

fn containers(pod: &Value) -> Vec<&str> {
    let containers = pod["spec"]["containers"].as_array();
    containers.into_iter().flatten().map(|container| text(container, "/name")).collect()
}

/// A pod of `web` that the API server has shown to the injector; the watchdog restarts those that came before it.
async fn injected(cluster: &Cluster) -> Result<String> {
    until("the pods of web have sidecars", CONVERGE_DEADLINE, async || {
        let pods = cluster.list("v1", "Pod").await.map_err(|error| error.to_string())?;
        let mut of_web = pods.iter().filter(|pod| {
            pod["metadata"]["labels"]["app"] == "web" && pod["metadata"]["deletionTimestamp"].is_null()
        });
        let (Some(pod), None) = (of_web.next(), of_web.next()) else { return Err("not one pod".to_owned()) };
        match containers(pod).as_slice() {
            ["web", "daprd"] => Ok(text(pod, "/metadata/name").to_owned()),
            others => Err(format!("{others:?}")),
        }
    })
    .await
}

/// A pod that came while no injector answered, before the operator starts.
async fn too_early(cluster: &Cluster) -> Result<()> {
    cluster.create(&workload("web", "cart")).await?;
    until("a pod runs without a sidecar", CONVERGE_DEADLINE, async || {
        let pods = cluster.list("v1", "Pod").await.map_err(|error| error.to_string())?;
        let runs = |pod: &&Value| pod["status"]["phase"] == "Running";
        let pod = pods.iter().find(runs).ok_or("no pod runs")?;
        if containers(pod) == ["web"] { Ok(()) } else { Err(format!("{:?}", containers(pod))) }
    })
    .await
}

/// A simulated sidecar, whose output is read while it runs.
struct Sidecar {
    child: Child,
    log: PathBuf,
}

impl Drop for Sidecar {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Sidecar {
    fn start(target: &Target, mut command: Command) -> Result<Self> {
        let log = target.home().join("sidecar.log");
        let (out, err) = (std::fs::File::create(&log)?, std::fs::File::options().append(true).open(&log)?);
        let child = command.stdin(Stdio::null()).stdout(out).stderr(err).spawn()?;
        Ok(Self { child, log })
    }

    async fn says(&self, words: &str) -> Result<()> {
        self.says_one_of(&[words]).await
    }

    async fn says_one_of(&self, all: &[&str]) -> Result<()> {
        until(&format!("the sidecar says {}", all.join(" or ")), CONVERGE_DEADLINE, async || {
            let log = std::fs::read_to_string(&self.log).map_err(|error| error.to_string())?;
            if all.iter().any(|words| log.contains(words)) { Ok(()) } else { Err(log) }
        })
        .await
    }
}

/// Where the anchors of the sentry are published, as a file.
async fn anchors(target: &Target) -> Result<PathBuf> {
    let home = target.cluster().within(HOME);
    let map = until_it_is(&home, ("v1", "ConfigMap", "dapr-trust-bundle"), |map| {
        text(map, "/data/ca.crt").starts_with("-----BEGIN")
    })
    .await?;
    let file = target.home().join("ca.crt");
    std::fs::write(&file, text(&map, "/data/ca.crt"))?;
    Ok(file)
}

/// A sidecar loads its Component and is told of its change; where tokens are reviewed, by the certificate of its pod.
async fn sidecar(target: &Target, ports: &Ports) -> Result<()> {
    let (cluster, program) = (target.cluster(), beside("vela-dapr", "examples/sidecar")?);
    let [api_version, kind] = COMPONENT;
    let component = |scopes: Value| {
        json!({
            "apiVersion": api_version, "kind": kind, "metadata": {"name": "store"}, "scopes": scopes,
            "spec": {"type": "state.in-memory", "version": "v1", "metadata": [
                {"name": "login", "secretKeyRef": {"name": "creds", "key": "login"}}]},
        })
    };
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "creds"}, "stringData": {"login": "jane"}});
    cluster.create(&secret).await?;
    cluster.create(&component(json!(["cart"]))).await?;
    let operator = format!("127.0.0.1:{}", ports.api);
    let words = ["--operator", &operator, "--namespace", target.namespace(), "--app-id"];
    let mut command = Command::new(&program);
    command.args(words).arg("cart");
    if is_real() {
        let pod = injected(cluster).await?;
        let token = target.home().join("token");
        std::fs::write(&token, target.pod_token(&pod, AUDIENCE).await?)?;
        let (sentry, anchors) = (format!("127.0.0.1:{}", ports.sentry), anchors(target).await?);
        let certified = |command: &mut Command| {
            command.args(["--sentry", &sentry, "--token"]).arg(&token).arg("--trust-anchors").arg(&anchors);
        };
        certified(&mut command);
        // The token is of another pod than that of this id.
        let mut stolen = Command::new(&program);
        stolen.args(words).arg("till");
        certified(&mut stolen);
        let said = ProgramOutput::of(&stolen.output()?);
        assert!(said.err.contains("permission"), "{}{}", said.out, said.err);
        // Without a certificate, nothing is told.
        let unknown = ProgramOutput::of(&Command::new(&program).args(words).arg("cart").output()?);
        assert!(unknown.ok().is_err(), "who has no certificate is given nothing");
    }
    let sidecar = Sidecar::start(target, command)?;
    if is_real() {
        sidecar.says(&format!("cart is spiffe://public/ns/{}/cart\n", target.namespace())).await?;
    }
    // The operator lists what its watch has told by then; an event brings what comes later.
    let secret = "store is new: [{\"name\":\"login\",";
    sidecar.says_one_of(&["cart has store (state.in-memory)", secret]).await?;
    let patch = json!({"spec": {"metadata": [{"name": "ttl", "value": "1m"}]}});
    cluster.patch(api_version, kind, "store", &patch).await?;
    sidecar.says("store changed: [{\"name\":\"ttl\",\"value\":\"1m\"}]").await?;
    cluster.patch(api_version, kind, "store", &json!({"scopes": ["other"]})).await?;
    sidecar.says("store is gone").await?;
    cluster.delete(api_version, kind, "store").await
}

async fn live(target: &Target, ports: &Ports) -> Result<()> {
    until("sidecars are answered", CONVERGE_DEADLINE, async || {
        let answers = std::net::TcpStream::connect(("127.0.0.1", ports.api));
        answers.map(drop).map_err(|error| error.to_string())
    })
    .await?;
    if is_real() {
        injected(target.cluster()).await?;
    }
    sidecar(target, ports).await?;
    services(target.cluster()).await?;
    if is_real() {
        conversion::of_subscriptions(target, ports.webhooks).await?;
    }
    Ok(())
}

/// Other scenarios use a real cluster after this one: no webhook may stay that is not answered.
async fn tidy(target: &Target) -> Result<()> {
    let [api_version, kind, name] = REGISTRATION;
    if target.cluster().get(api_version, kind, name).await?.is_some() {
        target.cluster().delete(api_version, kind, name).await?;
    }
    conversion::tidy(target).await
}

#[test]
fn sidecars_live_with_the_rights_of_the_account() {
    scenario(async {
        // The injector would be asked about the pods of others.
        let target =
            if is_real() { Target::alone("sidecars").await? } else { Target::open("sidecars").await? };
        target.vela(&["install", "--dapr"], "")?.ok()?;
        too_early(target.cluster()).await?;
        let kubeconfig = target.program_account(HOME, "vela-dapr").await?;
        let (program, ports) = (beside("vela-dapr", "vela-dapr")?, Ports::free()?);
        let flags = ports.flags();
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let operator = Operator::start(&program, &kubeconfig, target.home(), &flags)?;
        let lived = operator.judge(live(&target, &ports).await);
        drop(operator);
        let tidied = tidy(&target).await;
        lived.and(tidied)
    });
}

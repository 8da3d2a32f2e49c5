//! Runs the real manager of OpenKruise beside a real control plane as long as a test holds it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::Result;
use crate::expected::documents;
use crate::objects::{Cluster, text, until};
use crate::target::Target;

/// The script's answer where it cannot build the manager.
const SKIPPED: i32 = 77;
/// Its caches and webhooks are ready within some seconds of a machine that is not busy.
const READY_DEADLINE: Duration = Duration::from_secs(120);
/// Where it keeps its certificate.
const NAMESPACE: &str = "kruise-system";
const HOOKS: [(&str, &str); 2] = [
    ("MutatingWebhookConfiguration", "kruise-mutating-webhook-configuration"),
    ("ValidatingWebhookConfiguration", "kruise-validating-webhook-configuration"),
];
const REGISTRATION: &str = "admissionregistration.k8s.io/v1";

/// The running manager.
pub struct Manager {
    child: Child,
    cluster: Cluster,
}

impl Drop for Manager {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The folder with the manager and its definitions, built when it is missing; nothing where that cannot be.
fn built(controlplane: &Path) -> Result<Option<PathBuf>> {
    let output = Command::new("bash").arg(controlplane.join("kruise.sh")).output()?;
    match output.status.code() {
        Some(0) => Ok(Some(PathBuf::from(String::from_utf8(output.stdout)?.trim()))),
        Some(SKIPPED) => {
            print!("{}", String::from_utf8_lossy(&output.stderr));
            Ok(None)
        }
        _ => Err(format!("kruise.sh: {}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}

impl Manager {
    /// Starts it, with its webhooks for the namespace of this target; nothing where it cannot be built.
    ///
    /// The manager plays every CloneSet of the cluster, so no other test may use the cluster meanwhile.
    pub async fn start(target: &Target, controlplane: &Path) -> Result<Option<Self>> {
        let Some(folder) = built(controlplane)? else { return Ok(None) };
        let cluster = target.cluster().clone();
        for entry in std::fs::read_dir(folder.join("crds"))? {
            for definition in documents(&std::fs::read_to_string(entry?.path())?)? {
                unless_there(&cluster, &definition).await?;
            }
        }
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
        unless_there(&cluster, &namespace).await?;
        for (kind, name) in HOOKS {
            unless_there(&cluster, &hook(kind, name, cluster.namespace())).await?;
        }
        let log = target.home().join("kruise.log");
        let child = spawned(target, &folder, &log)?;
        let manager = Self { child, cluster };
        until("OpenKruise answers", READY_DEADLINE, async || manager.answers().await)
            .await
            .map_err(|error| format!("{error}\n{}", std::fs::read_to_string(&log).unwrap_or_default()))?;
        Ok(Some(manager))
    }

    /// A dry-run CloneSet comes back with defaults that only its webhook knows.
    async fn answers(&self) -> std::result::Result<(), String> {
        let labels = json!({"asked": "only"});
        let set = json!({
            "apiVersion": "apps.kruise.io/v1alpha1", "kind": "CloneSet", "metadata": {"name": "asked-only"},
            "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": {
                "metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "busybox"}]},
            }},
        });
        let created = self.cluster.would_create(&set).await.map_err(|error| error.to_string())?;
        let strategy = text(&created, "/spec/updateStrategy/type");
        if strategy == "ReCreate" { Ok(()) } else { Err(format!("its webhook was not called: {created}")) }
    }

    /// Ends it and removes its webhooks: no server would answer them.
    pub async fn stop(self) -> Result<()> {
        for (kind, name) in HOOKS {
            self.cluster.delete(REGISTRATION, kind, name).await?;
        }
        Ok(())
    }
}

async fn unless_there(cluster: &Cluster, object: &Value) -> Result<()> {
    let (api_version, kind) = (text(object, "/apiVersion"), text(object, "/kind"));
    if cluster.get(api_version, kind, text(object, "/metadata/name")).await?.is_none() {
        cluster.create(object).await?;
    }
    Ok(())
}

/// The manager fills in certificate and address. A namespace that is not ours must not wait for it.
fn hook(kind: &str, name: &str, namespace: &str) -> Value {
    let (verb, short) = if kind.starts_with("Mutating") { ("mutate", "m") } else { ("validate", "v") };
    let path = format!("/{verb}-apps-kruise-io-v1alpha1-cloneset");
    json!({
        "apiVersion": REGISTRATION, "kind": kind, "metadata": {"name": name},
        "webhooks": [{
            "name": format!("{short}cloneset.kb.io"),
            "admissionReviewVersions": ["v1", "v1beta1"],
            "clientConfig": {"service": {"name": "webhook-service", "namespace": NAMESPACE, "path": path}},
            "failurePolicy": "Fail",
            "sideEffects": "None",
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "rules": [{
                "apiGroups": ["apps.kruise.io"], "apiVersions": ["v1alpha1"],
                "operations": ["CREATE", "UPDATE"], "resources": ["clonesets"],
            }],
        }],
    })
}

/// A port that was free a moment ago.
fn port() -> Result<u16> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn spawned(target: &Target, folder: &Path, log: &Path) -> Result<Child> {
    let child = Command::new(folder.join("manager"))
        // What belongs to nodes and sidecars is no concern of a CloneSet.
        .args(["--feature-gates=KruiseDaemon=false,PodWebhook=false", "--enable-leader-election=false"])
        .args(["--metrics-addr=0", "--enable-pprof=false"])
        .arg(format!("--health-probe-addr=127.0.0.1:{}", port()?))
        .env("KUBECONFIG", target.kubeconfig())
        .env("POD_NAMESPACE", NAMESPACE)
        .env("POD_NAME", "manager")
        .env("WEBHOOK_HOST", "127.0.0.1")
        .env("WEBHOOK_PORT", port()?.to_string())
        .env("WEBHOOK_CERT_DIR", target.home().join("kruise-certificates"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(log)?)
        .spawn()?;
    Ok(child)
}

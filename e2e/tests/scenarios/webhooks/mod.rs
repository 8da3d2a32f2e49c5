//! A webhook server beside a real API server: what is broken is refused where it is written, and certificates change.

mod absent;
mod bound;
mod converted;

use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, KeyUsagePurpose};
use serde_json::{Value, json};
use tokio::sync::{Mutex, MutexGuard};
use vela_e2e::Result;
use vela_e2e::objects::until;
use vela_e2e::target::Target;
use vela_testkit::Process;

use crate::on_a_control_plane;

/// Long enough for a start on a busy machine, and for a configuration to reach the API server.
const DEADLINE: Duration = Duration::from_secs(120);

/// A `vela-core` that serves webhooks; it ends with this.
struct Hooks {
    _process: Process,
    /// Servers with certificates of their own tell API servers whom to trust, each for all webhooks.
    _alone: Option<MutexGuard<'static, ()>>,
}

static SERVERS: Mutex<()> = Mutex::const_new(());

/// Starts the server, and registers it for the namespace of this scenario alone: others share the cluster.
async fn serve(target: &Target, certificate: &[&str]) -> Result<Hooks> {
    serve_as(target, certificate, &[]).await
}

/// The same with more flags for the installation, each of which registers one thing more.
async fn serve_as(target: &Target, certificate: &[&str], install: &[&str]) -> Result<Hooks> {
    let alone = Some(SERVERS.lock().await);
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let namespace = target.namespace();
    target
        .cluster()
        .create(&json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "held", "namespace": namespace},
            // Only one process may reconcile, and that is another one.
            "spec": {"holderIdentity": "absent", "leaseDurationSeconds": 36_000},
        }))
        .await?;
    let port_flag = format!("--webhook-port={port}");
    let lease = format!("--leader-election-namespace={namespace}");
    let flags =
        ["--enable-leader-election", &lease, "--leader-election-id=held", "--use-webhook", &port_flag];
    let log = std::fs::File::create(target.home().join("hooks.log"))?;
    let mut command = target.core(&[&flags[..], certificate].concat())?;
    let process = command.stdout(Stdio::null()).stderr(log).spawn()?.into();
    let hooks = Hooks { _process: process, _alone: alone };
    register_as(target, &format!("https://127.0.0.1:{port}"), install).await?;
    Ok(hooks)
}

/// Sends what is written in the namespace of this scenario to the server at that address.
pub(crate) async fn register(target: &Target, url: &str) -> Result<()> {
    register_as(target, url, &[]).await
}

async fn register_as(target: &Target, url: &str, install: &[&str]) -> Result<()> {
    let namespace = target.namespace();
    let words = [&["install", "--print", "--webhook-url", url], install].concat();
    let printed = target.vela(&words, "")?.ok()?.out;
    let mut registered = 0;
    for document in printed.split("\n---\n").filter(|document| document.contains("WebhookConfiguration")) {
        let mut configuration: Value = serde_saphyr::from_str(document)?;
        let selector = json!({"matchLabels": {"kubernetes.io/metadata.name": namespace}});
        for webhook in configuration["webhooks"].as_array_mut().into_iter().flatten() {
            webhook["namespaceSelector"] = selector.clone();
        }
        let name = configuration["metadata"]["name"].as_str().unwrap_or_default();
        configuration["metadata"]["name"] = json!(name.replace("vela-core", namespace));
        target.cluster().create(&configuration).await?;
        registered += 1;
    }
    assert_eq!(registered, 2 + install.len(), "{printed}");
    Ok(())
}

pub(crate) async fn unregister(target: &Target) -> Result<()> {
    for kind in ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"] {
        target.cluster().delete("admissionregistration.k8s.io/v1", kind, target.namespace()).await?;
    }
    Ok(())
}

pub(crate) fn application(name: &str, properties: Value) -> Value {
    json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "Application", "metadata": {"name": name},
        "spec": {"components": [{"name": "web", "type": "webservice", "properties": properties}]},
    })
}

/// The answer of the API server to an Application: nothing when it takes it.
async fn refusal(target: &Target, name: &str, properties: Value) -> Option<String> {
    target.cluster().apply(&application(name, properties)).await.err().map(|error| error.to_string())
}

/// Both webhooks are called and trusted.
pub(crate) async fn until_judged(target: &Target) -> Result<()> {
    until("applications are judged", DEADLINE, async || {
        match refusal(target, "first", json!({"image": 5})).await {
            Some(refused) if refused.contains("denied the request") => Ok(()),
            other => Err(format!("{other:?}; {}", log(target))),
        }
    })
    .await
}

fn log(target: &Target) -> String {
    let log = std::fs::read_to_string(target.home().join("hooks.log")).unwrap_or_default();
    log.lines().rev().take(10).collect::<Vec<_>>().join("\n")
}

#[test]
#[ignore = "needs a real control plane: cargo xtask e2e --real"]
fn a_broken_application_is_refused_where_it_is_broken() {
    on_a_control_plane(async {
        let target = Target::open("hooks").await?;
        let secret = format!("--webhook-cert-secret={}", target.namespace());
        let _hooks = serve(&target, &[&secret, "--webhook-hosts=127.0.0.1"]).await?;
        until_judged(&target).await?;
        let refused = refusal(&target, "web", json!({"image": 5})).await.unwrap_or_default();
        for words in ["spec.components[0].properties.image", "webservice"] {
            assert!(refused.contains(words), "{words}: {refused}");
        }
        let refused =
            refusal(&target, "web", json!({"image": "nginx", "imagePullPolicy": "Sometimes"})).await;
        assert!(refused.as_ref().is_some_and(|said| said.contains("imagePullPolicy")), "{refused:?}");
        assert_eq!(target.cluster().get("core.oam.dev/v1beta1", "Application", "web").await?, None);
        assert_eq!(refusal(&target, "web", json!({"image": "nginx"})).await, None);
        let broken = json!({"components": [{"name": "web", "type": "webservise"}]});
        let refused =
            target.cluster().replace_spec("core.oam.dev/v1beta1", "Application", "web", &broken).await;
        assert!(refused.is_err_and(|error| error.to_string().contains("webservise")));
        unregister(&target).await?;
        target.cluster().delete("core.oam.dev/v1beta1", "Application", "web").await?;
        target.cluster().within("vela-system").delete("v1", "Secret", target.namespace()).await
    });
}

/// The issuer of certificates.
pub(crate) fn authority(name: &str) -> Result<CertifiedIssuer<'static, KeyPair>> {
    let mut params = CertificateParams::new(Vec::<String>::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    Ok(CertifiedIssuer::self_signed(params, KeyPair::generate()?)?)
}

/// A generation of files, as a volume of a Secret brings it: in one step.
fn fill(folder: &Path, name: &str, signer: &CertifiedIssuer<'static, KeyPair>, trusted: &str) -> Result<()> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()])?;
    params.use_authority_key_identifier_extension = true;
    let certificate = params.signed_by(&key, signer)?;
    let inside = folder.join(name);
    std::fs::create_dir_all(&inside)?;
    std::fs::write(inside.join("tls.crt"), certificate.pem())?;
    std::fs::write(inside.join("tls.key"), key.serialize_pem())?;
    std::fs::write(inside.join("ca.crt"), trusted)?;
    std::os::unix::fs::symlink(name, folder.join("..new"))?;
    std::fs::rename(folder.join("..new"), folder.join("..data"))?;
    for file in ["tls.crt", "tls.key", "ca.crt"] {
        if !folder.join(file).exists() {
            std::os::unix::fs::symlink(Path::new("..data").join(file), folder.join(file))?;
        }
    }
    Ok(())
}

#[test]
#[ignore = "needs a real control plane: cargo xtask e2e --real"]
fn no_author_notices_a_change_of_certificate_and_authority() {
    on_a_control_plane(async {
        let target = Target::open("rotated").await?;
        let folder = target.home().join("certs");
        let (old, new) = (authority("old")?, authority("new")?);
        fill(&folder, "..1", &old, &old.pem())?;
        let _hooks = serve(&target, &[&format!("--webhook-cert-dir={}", folder.display())]).await?;
        until_judged(&target).await?;
        fill(&folder, "..2", &new, &[old.pem(), new.pem()].concat())?;
        // Everybody writes on while the certificate changes.
        let (began, mut rounds) = (Instant::now(), 0);
        let served = async || {
            let log = std::fs::read_to_string(target.home().join("hooks.log")).unwrap_or_default();
            log.contains("the webhook server has a new certificate")
        };
        let mut after = 0;
        while after < 20 {
            assert!(began.elapsed() < DEADLINE, "the new certificate is not served: {}", log(&target));
            after += usize::from(served().await);
            let image = format!("nginx:{rounds}");
            assert_eq!(
                refusal(&target, "good", json!({"image": image})).await,
                None,
                "round {rounds}: {}",
                log(&target)
            );
            let refused = refusal(&target, "bad", json!({"image": 5})).await.unwrap_or_default();
            assert!(refused.contains("denied the request"), "round {rounds}: {refused}");
            rounds += 1;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        unregister(&target).await?;
        target.cluster().delete("core.oam.dev/v1beta1", "Application", "good").await
    });
}

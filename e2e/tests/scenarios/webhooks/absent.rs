//! Webhooks without a server: required writes pass, and the controller later reports what entered without a review.

use std::net::TcpListener;
use std::process::Stdio;

use serde_json::{Value, json};
use vela_e2e::Result;
use vela_e2e::objects::until;
use vela_e2e::target::Target;

use super::{DEADLINE, Hooks, application, log, refusal};
use crate::on_a_control_plane;

const OAM: &str = "core.oam.dev/v1beta1";
const STANDARD: &str = "standard.oam.dev/v1alpha1";
const ADMISSION: &str = "admissionregistration.k8s.io/v1";
const CONFIGURATIONS: [&str; 2] = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];
/// A template that the built-in definition does not have, so that an installation has something to mend.
const CHANGED: &str = "output: {apiVersion: \"v1\", kind: \"ConfigMap\"}\nparameter: {}\n";

fn install(target: &Target, url: &str) -> Result<()> {
    // A definition that a user edited would stay otherwise.
    target.vela(&["install", "--reset-definitions", "--webhook-url", url], "")?.ok().map(drop)
}

/// A user changes a definition that vela installed.
async fn change_definition(target: &Target) -> Result<Value> {
    let patch = json!({"spec": {"schematic": {"cue": {"template": CHANGED}}}});
    target.cluster().within("vela-system").patch(OAM, "ComponentDefinition", "webservice", &patch).await
}

async fn mended(target: &Target) -> Result<()> {
    let found = target.cluster().within("vela-system").get(OAM, "ComponentDefinition", "webservice").await?;
    let template = found.unwrap_or_default()["spec"]["schematic"]["cue"]["template"].take();
    if template.is_string() && template != CHANGED { Ok(()) } else { Err(template.to_string().into()) }
}

/// The configurations say `Fail` for everything, as those of an earlier release.
async fn as_of_old(target: &Target) -> Result<()> {
    for kind in CONFIGURATIONS {
        let mut found = target.cluster().get(ADMISSION, kind, "vela-core").await?.ok_or("not registered")?;
        for webhook in found["webhooks"].as_array_mut().into_iter().flatten() {
            webhook["failurePolicy"] = json!("Fail");
            webhook.as_object_mut().map(|webhook| webhook.remove("matchConditions"));
        }
        let webhooks = json!({"webhooks": found["webhooks"]});
        target.cluster().patch(ADMISSION, kind, "vela-core", &webhooks).await?;
    }
    Ok(())
}

/// Takes away what an installation of this cluster registered.
pub(super) async fn unregister(target: &Target) -> Result<()> {
    let [mutating, validating] = CONFIGURATIONS;
    for (kind, name) in
        [(mutating, "vela-core"), (validating, "vela-core"), (mutating, "vela-core-trait-injector")]
    {
        if target.cluster().get(ADMISSION, kind, name).await?.is_some() {
            target.cluster().delete(ADMISSION, kind, name).await?;
        }
    }
    Ok(())
}

/// A Deployment that a user writes, with the labels given.
pub(super) fn deployment(name: &str, labels: Value) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "labels": labels},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "c", "image": "nginx"}]},
            },
        },
    })
}

/// Workloads of the cluster are written while no server injects; a component's wait, but not where the controller
/// lives.
async fn workloads(target: &Target) -> Result<()> {
    target.cluster().apply(&deployment("plain", json!({}))).await?;
    target.cluster().apply(&deployment("plain", json!({"changed": "true"}))).await?;
    let component = json!({"app.oam.dev/component": "web"});
    let refused = target.cluster().apply(&deployment("made", component.clone())).await;
    let said = refused.err().map(|error| error.to_string()).unwrap_or_default();
    if !said.contains("made.injector.core.oam.dev") {
        target.cluster().delete("apps/v1", "Deployment", "made").await?;
        return Err(format!("a component's Deployment was made without what is bound to it: {said:?}").into());
    }
    let system = target.cluster().within("vela-system");
    system.apply(&deployment(target.namespace(), component)).await?;
    system.delete("apps/v1", "Deployment", target.namespace()).await?;
    target.cluster().delete("apps/v1", "Deployment", "plain").await
}

/// Waits until an object is gone.
pub(super) async fn gone(target: &Target, api_version: &str, kind: &str, name: &str) -> Result<()> {
    until("it is gone", DEADLINE, async || {
        match target.cluster().get(api_version, kind, name).await.map_err(|error| error.to_string())? {
            None => Ok(()),
            Some(found) => Err(found["metadata"].to_string()),
        }
    })
    .await
}

#[test]
#[ignore = "needs a real control plane: cargo xtask e2e --real"]
fn an_absent_controller_stops_no_installation_or_deletion() {
    on_a_control_plane(async {
        let target = Target::alone("absent").await?;
        let lived = live(&target).await;
        // Whatever happened: the other scenarios write to this cluster too.
        unregister(&target).await?;
        lived
    });
}

async fn live(target: &Target) -> Result<()> {
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let url = format!("https://127.0.0.1:{port}");
    let mut old = application("old", json!({"image": "nginx"}));
    old["metadata"]["finalizers"] = json!(["e2e.example.com/held"]);
    target.cluster().create(&old).await?;
    let metrics = json!({
        "apiVersion": STANDARD, "kind": "MetricsTrait", "metadata": {"name": "old"},
        "spec": {"scrapeService": {"format": "prometheus", "port": 8080, "path": "/metrics", "scheme": "http"}},
    });
    target.cluster().create(&metrics).await?;

    install(target, &url)?;
    // The registration takes a moment to reach the API server's handlers.
    until("applications wait for their judge", DEADLINE, async || {
        match refusal(target, "new", json!({"image": "nginx"})).await {
            Some(refused) if refused.contains("failed calling webhook") => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await?;

    target.vela(&["install", "--webhook-url", &url, "--trait-injector"], "")?.ok()?;
    until("a component's Deployment waits for its injector", DEADLINE, async || {
        workloads(target).await.map_err(|error| error.to_string())
    })
    .await?;

    // Installing again: with nothing to do, with a definition to mend, and over the webhooks of an earlier release.
    install(target, &url)?;
    change_definition(target).await?;
    install(target, &url)?;
    mended(target).await?;
    change_definition(target).await?;
    as_of_old(target).await?;
    until("definitions wait for their judge", DEADLINE, async || match change_labels(target).await {
        Err(refused) if refused.to_string().contains("failed calling webhook") => Ok(()),
        other => Err(format!("{other:?}")),
    })
    .await?;
    install(target, &url)?;
    mended(target).await?;
    target.vela(&["install"], "")?.ok()?;

    // Going away: the request, the finalizer that a user removes, and a kind without any.
    target.cluster().delete(OAM, "Application", "old").await?;
    let released = json!({"metadata": {"finalizers": null}});
    target.cluster().patch(OAM, "Application", "old", &released).await?;
    gone(target, OAM, "Application", "old").await?;
    target.cluster().delete(STANDARD, "MetricsTrait", "old").await?;
    gone(target, STANDARD, "MetricsTrait", "old").await?;

    let template = "output: {\n\tapiVersion: \"v1\"\n\tkind: missing\n}\nparameter: {}\n";
    target
        .cluster()
        .create(&json!({
            "apiVersion": OAM, "kind": "ComponentDefinition", "metadata": {"name": "unjudged"},
            "spec": {
                "workload": {"definition": {"apiVersion": "v1", "kind": "ConfigMap"}},
                "schematic": {"cue": {"template": template}},
            },
        }))
        .await?;
    let _core = serve(target, port)?;
    definition_is_reported(target).await?;
    until("applications are judged again", DEADLINE, async || {
        match refusal(target, "new", json!({"image": "nginx"})).await {
            None => Ok(()),
            Some(refused) => Err(format!("{refused}; {}", log(target))),
        }
    })
    .await?;
    unregister(target).await?;
    target.cluster().delete(OAM, "Application", "new").await?;
    gone(target, OAM, "Application", "new").await?;
    target.cluster().within("vela-system").delete("v1", "Secret", target.namespace()).await
}

/// A write that says something new and changes no meaning.
async fn change_labels(target: &Target) -> Result<Value> {
    let patch = json!({"metadata": {"labels": {"e2e": "changed"}}});
    target.cluster().within("vela-system").patch(OAM, "ComponentDefinition", "webservice", &patch).await
}

/// A controller that serves webhooks at this port.
pub(super) fn serve(target: &Target, port: u16) -> Result<Hooks> {
    let (port, secret) =
        (format!("--webhook-port={port}"), format!("--webhook-cert-secret={}", target.namespace()));
    let log = std::fs::File::create(target.home().join("hooks.log"))?;
    let mut command = target.core(&["--use-webhook", &port, &secret, "--webhook-hosts=127.0.0.1"])?;
    // No other replica is there.
    Ok(Hooks { _process: command.stdout(Stdio::null()).stderr(log).spawn()?.into(), _alone: None })
}

/// The controller says what is wrong with the definition, where it is wrong.
async fn definition_is_reported(target: &Target) -> Result<()> {
    until("the unjudged definition is told", DEADLINE, async || {
        let found = target.cluster().get(OAM, "ComponentDefinition", "unjudged").await;
        let found = found.map_err(|error| error.to_string())?.unwrap_or_default();
        let status = found["status"].to_string();
        let words = ["\"False\"", "missing", "at 3:8"];
        if words.iter().all(|words| status.contains(words)) {
            Ok(())
        } else {
            Err(format!("{status}; {}", log(target)))
        }
    })
    .await
}

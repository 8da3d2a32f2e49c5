//! A ServiceBinding beside a real API server: its Secret comes into the Deployment that an Application makes, once.

use serde_json::{Value, json};
use vela_e2e::Result;
use vela_e2e::objects::until;
use vela_e2e::target::Target;

use super::absent::deployment;
use super::{DEADLINE, application, log, serve_as, unregister, until_judged};
use crate::{on_a_control_plane, runs};

const DEPLOYMENT: [&str; 2] = ["apps/v1", "Deployment"];

fn binding() -> Value {
    json!({
        "apiVersion": "core.oam.dev/v1alpha1", "kind": "ServiceBinding", "metadata": {"name": "db"},
        "spec": {
            "workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "bindings": [{"from": {"secret": {"name": "db"}}, "to": {"env": true, "filePath": "/etc/db"}}],
        },
    })
}

/// Whether the pods of the Deployment have what is bound exactly once.
fn is_bound_once(deployment: &Value) -> bool {
    let pods = &deployment["spec"]["template"]["spec"];
    let container = &pods["containers"][0];
    let count = |list: &Value, pointer: &str, name: &str| {
        let list = list.as_array().into_iter().flatten();
        list.filter(|entry| entry.pointer(pointer).is_some_and(|found| found == name)).count()
    };
    count(&container["envFrom"], "/secretRef/name", "db") == 1
        && count(&container["volumeMounts"], "/mountPath", "/etc/db") == 1
        && count(&pods["volumes"], "/secret/secretName", "db") == 1
}

async fn bound(target: &Target, image: &str) -> Result<Value> {
    let [api_version, kind] = DEPLOYMENT;
    until("the Secret is bound once", DEADLINE, async || {
        let found =
            target.cluster().get(api_version, kind, "web").await.map_err(|error| error.to_string())?;
        let found = found.ok_or("there is no Deployment yet")?;
        let current = found["spec"]["template"]["spec"]["containers"][0]["image"] == image;
        if current && is_bound_once(&found) { Ok(found) } else { Err(found["spec"].to_string()) }
    })
    .await
}

#[test]
#[ignore = "needs a real control plane: cargo xtask e2e --real"]
fn a_service_binding_reaches_the_workload_of_an_application() {
    on_a_control_plane(async {
        let target = Target::open("bound").await?;
        let secret = format!("--webhook-cert-secret={}", target.namespace());
        let hooks = [secret.as_str(), "--webhook-hosts=127.0.0.1"];
        let _hooks = serve_as(&target, &hooks, &["--trait-injector"]).await?;
        until_judged(&target).await?;
        let db = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}, "stringData": {"USER": "me"},
        });
        target.cluster().create(&db).await?;
        target.cluster().create(&binding()).await?;
        // The controller that makes the Deployment is another process than the one that injects.
        target.cluster().apply(&application("shop", json!({"image": "nginx:1"}))).await?;
        runs(&target, "shop").await?;
        let made = bound(&target, "nginx:1").await?;
        // A change of the application, and changes of another client.
        target.cluster().apply(&application("shop", json!({"image": "nginx:2"}))).await?;
        runs(&target, "shop").await?;
        let changed = bound(&target, "nginx:2").await?;
        assert_eq!(changed["metadata"]["uid"], made["metadata"]["uid"]);
        let [api_version, kind] = DEPLOYMENT;
        for value in ["1", "2"] {
            let label = json!({"metadata": {"labels": {"e2e": value}}});
            let patched = target.cluster().patch(api_version, kind, "web", &label).await?;
            assert!(is_bound_once(&patched), "{}; {}", patched["spec"], log(&target));
            assert_eq!(
                patched["metadata"]["generation"], changed["metadata"]["generation"],
                "nothing is added"
            );
        }
        refused_without_its_source(&target).await?;
        unregister(&target).await?;
        let injector = format!("{}-trait-injector", target.namespace());
        let [admission, kind] = ["admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"];
        target.cluster().delete(admission, kind, &injector).await?;
        target.cluster().delete("core.oam.dev/v1beta1", "Application", "shop").await?;
        target.cluster().within("vela-system").delete("v1", "Secret", target.namespace()).await
    });
}

/// The author of the workload hears which objects must exist before anything can be bound.
async fn refused_without_its_source(target: &Target) -> Result<()> {
    let mut other = binding();
    other["metadata"]["name"] = json!("later");
    other["spec"]["workloadRef"]["name"] = json!("later");
    other["spec"]["bindings"][0]["from"]["secret"] = json!({"nameFromField":
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "missing", "fieldPath": ".data.secret"}});
    target.cluster().create(&other).await?;
    let refused = target.cluster().apply(&deployment("later", json!({}))).await;
    let said = refused.err().map(|error| error.to_string()).unwrap_or_default();
    if said.contains("denied the request") && said.contains("missing") {
        return Ok(());
    }
    Err(format!("the Deployment runs without what is bound to it: {said:?}").into())
}

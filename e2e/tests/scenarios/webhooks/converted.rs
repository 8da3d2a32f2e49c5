//! Applications in both versions beside a real API server that asks for conversions: each reader sees the form of its
//! version, nothing is lost, and what goes on while no server converts.

use std::net::TcpListener;

use serde_json::{Value, json};
use vela_e2e::Result;
use vela_e2e::objects::until;
use vela_e2e::target::Target;

use super::absent::{gone, serve as control, unregister};
use super::{DEADLINE, application, log};
use crate::{on_a_control_plane, runs};

const OLD: &str = "core.oam.dev/v1alpha2";
const NEW: &str = "core.oam.dev/v1beta1";
const CRD: [&str; 3] = ["apiextensions.k8s.io/v1", "CustomResourceDefinition", "applications.core.oam.dev"];

fn of_old(name: &str) -> Value {
    json!({
        "apiVersion": OLD, "kind": "Application", "metadata": {"name": name},
        "spec": {"components": [{
            "name": "old", "type": "webservice", "settings": {"image": "nginx"},
            "traits": [{"name": "scaler", "properties": {"replicas": 2}}],
        }]},
    })
}

async fn read(target: &Target, api_version: &str, name: &str) -> std::result::Result<Value, String> {
    let found = target.cluster().get(api_version, "Application", name).await;
    found.map_err(|error| error.to_string())?.ok_or_else(|| "it is not there".to_owned())
}

async fn strategy(target: &Target, wanted: &str) -> Result<()> {
    let [api_version, kind, name] = CRD;
    let crd = target.cluster().get(api_version, kind, name).await?.ok_or("no CRD")?;
    let found = &crd["spec"]["conversion"];
    if found["strategy"] == wanted { Ok(()) } else { Err(format!("{found}").into()) }
}

#[test]
#[ignore = "needs a real control plane: cargo xtask e2e --real"]
fn each_version_of_an_application_is_read_in_its_own_form() {
    on_a_control_plane(async {
        let target = Target::alone("converted").await?;
        let lived = live(&target).await;
        // Whatever happened: the other scenarios use this cluster too.
        unregister(&target).await?;
        target.vela(&["install"], "")?.ok()?;
        strategy(&target, "None").await?;
        lived
    });
}

async fn live(target: &Target) -> Result<()> {
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let url = format!("https://127.0.0.1:{port}");
    target.vela(&["install", "--webhook-url", &url, "--webhook-conversion"], "")?.ok()?;
    strategy(target, "Webhook").await?;
    let core = control(target, port)?;
    until("an Application of today is read as of old", DEADLINE, async || {
        let written = target.cluster().apply(&application("new", json!({"image": "nginx"}))).await;
        written.map_err(|error| format!("{error}; {}", log(target)))?;
        let read = read(target, OLD, "new").await?;
        let component = &read["spec"]["components"][0];
        let settings = component["settings"]["image"] == "nginx" && component.get("properties").is_none();
        if settings { Ok(()) } else { Err(read["spec"].to_string()) }
    })
    .await?;
    both_forms(target).await?;
    runs(target, "new").await?;
    runs(target, "old").await?;

    // No server converts any more: stored objects are read, and deleted, in the version that they are stored in.
    drop(core);
    read(target, NEW, "old").await?;
    let refused = read(target, OLD, "new").await;
    if !refused.as_ref().is_err_and(|said| said.contains("conversion webhook")) {
        return Err(format!("who converted it? {refused:?}").into());
    }
    unregister(target).await?;
    for name in ["old", "new"] {
        target.cluster().delete(NEW, "Application", name).await?;
    }

    // And no more conversion: both versions show what is stored.
    target.vela(&["install"], "")?.ok()?;
    strategy(target, "None").await?;
    let _core = control(target, port)?;
    gone(target, NEW, "Application", "old").await?;
    gone(target, OLD, "Application", "new").await?;
    target.cluster().within("vela-system").delete("v1", "Secret", target.namespace()).await
}

/// What is written in the form of old is read in that of today, and back as it was written.
async fn both_forms(target: &Target) -> Result<()> {
    target.cluster().apply(&of_old("old")).await?;
    let today = read(target, NEW, "old").await?;
    let component = &today["spec"]["components"][0];
    let same = component["properties"]["image"] == "nginx"
        && component["traits"][0]["type"] == "scaler"
        && component.get("settings").is_none();
    if !same {
        return Err(format!("not the form of today: {component}").into());
    }
    let back = read(target, OLD, "old").await?;
    let again = target.cluster().apply(&of_old("old")).await?;
    if back["spec"] != of_old("old")["spec"]
        || again["metadata"]["generation"] != back["metadata"]["generation"]
    {
        return Err(format!(
            "written {}, read {}, again {}",
            of_old("old")["spec"],
            back["spec"],
            again["spec"]
        )
        .into());
    }
    Ok(())
}

//! Every example goes to `running`, becomes the objects that are expected, and leaves nothing behind.

use std::path::Path;

use serde_json::{Value, json};
use vela_e2e::Result;
use vela_e2e::expected::{differences, documents};
use vela_e2e::objects::text;
use vela_e2e::target::Target;

use crate::{nothing_is_left, repository, scenario};

async fn example(name: &str, manifest: &Path, expected: &[Value]) -> Result<()> {
    let target = Target::open(name).await?;
    let manifest = manifest.to_string_lossy();
    let up = target.vela(&["up", "-f", &manifest, "--timeout", "120s"], "")?.ok()?;
    if !up.out.contains("healthy") {
        return Err(format!("`vela up` shows no healthy tree:\n{}", up.out).into());
    }
    let mut wrong = Vec::new();
    for object in expected {
        let (api_version, kind, name) =
            (text(object, "/apiVersion"), text(object, "/kind"), text(object, "/metadata/name"));
        match target.cluster().get(api_version, kind, name).await? {
            Some(live) => {
                let lines = differences(object, &live);
                wrong.extend(lines.into_iter().map(|line| format!("{kind} {name} {line}")));
            }
            None => wrong.push(format!("{kind} {name} does not exist")),
        }
    }
    if !wrong.is_empty() {
        return Err(format!("objects differ from the expected ones:\n{}", wrong.join("\n")).into());
    }
    target.vela(&["delete", "-f", &manifest, "--timeout", "120s"], "")?.ok()?;
    nothing_is_left(&target).await
}

async fn ours(name: &str) -> Result<()> {
    let expected = std::fs::read_to_string(repository(&format!("e2e/expected/{name}.yaml")))?;
    example(name, &repository(&format!("examples/{name}.yaml")), &documents(&expected)?).await
}

#[test]
fn first_app() {
    scenario(ours("first-app"));
}

#[test]
fn web() {
    scenario(ours("web"));
}

#[test]
fn batch() {
    scenario(ours("batch"));
}

#[test]
fn sidecar() {
    scenario(ours("sidecar"));
}

#[test]
fn settings() {
    scenario(ours("settings"));
}

#[test]
fn containerized() {
    scenario(ours("containerized"));
}

/// Recorded inputs with the results of the real KubeVela.
async fn shared(folder: &str, manifest: &str, expected: Option<&str>) -> Result<()> {
    let folder_path = vela_testkit::cases::folder("examples/first").join(folder);
    let expected = match expected {
        Some(file) => documents(&std::fs::read_to_string(folder_path.join(file))?)?,
        None => Vec::new(),
    };
    let expected: Vec<Value> = expected.into_iter().filter_map(of_today).collect();
    example(&format!("shared-{folder}"), &folder_path.join(manifest), &expected).await
}

/// A recorded object as it is on a cluster of today: without what names the run that was recorded, and an Ingress of
/// the version that exists. A revision of a Component is no expectation: its content holds times of the recording.
fn of_today(mut object: Value) -> Option<Value> {
    if text(&object, "/kind") == "ControllerRevision" {
        return None;
    }
    if let Some(map) = object.as_object_mut() {
        map.remove("status");
    }
    let metadata = object.get_mut("metadata")?.as_object_mut()?;
    metadata.retain(|field, _| matches!(field.as_str(), "name" | "labels" | "annotations"));
    let recorded = |field: &str| {
        matches!(
            field,
            "app.oam.dev/namespace"
                | "app.oam.dev/appRevision"
                | "app.oam.dev/last-applied-configuration"
                | "deployment.kubernetes.io/revision"
                | "containerizedworkload.oam.crossplane.io"
        )
    };
    for map in ["labels", "annotations"] {
        if let Some(map) = metadata.get_mut(map).and_then(Value::as_object_mut) {
            map.retain(|field, _| !recorded(field));
        }
    }
    match text(&object, "/kind").to_owned().as_str() {
        "Ingress" => {
            object["apiVersion"] = json!("networking.k8s.io/v1");
            if let Some(annotations) =
                object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut)
            {
                annotations.remove("kubernetes.io/ingress.class");
            }
            for rule in object["spec"]["rules"].as_array_mut()? {
                for path in rule["http"]["paths"].as_array_mut()? {
                    let (name, port) =
                        (path["backend"]["serviceName"].take(), path["backend"]["servicePort"].take());
                    path["backend"] = json!({"service": {"name": name, "port": {"number": port}}});
                }
            }
        }
        // Labels made of the uid of the recorded workload, and the address it was given.
        "Deployment" => {
            for path in ["/spec/selector/matchLabels", "/spec/template/metadata/labels"] {
                if let Some(map) = object.pointer_mut(path).and_then(Value::as_object_mut) {
                    map.retain(|field, _| !recorded(field));
                }
            }
        }
        "Service" => {
            let spec = object.get_mut("spec")?.as_object_mut()?;
            spec.retain(|field, _| matches!(field.as_str(), "ports" | "type"));
        }
        _ => {}
    }
    Some(object)
}

#[test]
fn shared_web() {
    scenario(shared("web", "app.yaml", Some("expected/dry-run.yaml")));
}

#[test]
fn shared_batch() {
    scenario(shared("batch", "app.yaml", Some("expected/dry-run.yaml")));
}

#[test]
fn shared_sidecar() {
    scenario(shared("sidecar", "app.yaml", Some("expected/dry-run.yaml")));
}

#[test]
fn shared_settings() {
    scenario(shared("settings", "app.yaml", None));
}

#[test]
fn shared_containerized() {
    scenario(shared("containerized", "objects.yaml", Some("expected/objects.yaml")));
}

//! Every object of the shared examples: what KubeVela lets in is not refused here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kube::Client;
use serde_json::{Value, json};
use vela_apiserver::ApiServer;
use vela_engine::snapshot::Resource;
use vela_engine::{Definition, Snapshot, Templates, manifest};
use vela_runtime::Discovery;
use vela_snapshot::{Live, with_imports};
use vela_testkit::cases;
use vela_webhooks::application::{self, ApiVersion};
use vela_webhooks::{Verdict, component, configuration, definition, standard};

use crate::{documents, review};

/// Kinds of Kubernetes that the examples use, with the plural of their resource.
const BUILT_IN: [(&str, &str, &str); 11] = [
    ("example.com/v1", "Bar", "bars"),
    ("v1", "Service", "services"),
    ("v1", "ConfigMap", "configmaps"),
    ("v1", "Secret", "secrets"),
    ("v1", "Pod", "pods"),
    ("apps/v1", "Deployment", "deployments"),
    ("apps/v1", "StatefulSet", "statefulsets"),
    ("apps/v1", "DaemonSet", "daemonsets"),
    ("batch/v1", "Job", "jobs"),
    ("networking.k8s.io/v1", "Ingress", "ingresses"),
    ("networking.k8s.io/v1beta1", "Ingress", "ingresses"),
];

/// Objects that are refused, and why that is right: end of the file's path, name.
const REFUSED: [(&str, &str, &str); 9] = [
    ("appfile-design.md.L147.yaml", "", "a sketch: its kind is a choice of two"),
    ("end-user/scopes/health.md.L42.yaml", "vela-app", "a fragment without a spec"),
    ("cue/component.md.L105.yaml", "website", "its type is made by a part of the document that is no object"),
    ("helm/trait.md.L125.yaml", "myapp", "its type is made by another page"),
    ("data-passing/demo.yaml", "example-appconfig", "the API server drops OutputStore and InputStore before"),
    ("dryrun/testdata/dryrun-exp-ac.yaml", "app-dryrun", "an expected output, nothing that is applied"),
    ("appConfig-rollout-v1.yaml", "sample-application-rollout", "its trait applies to a misspelt workload"),
    ("appConfig-rollout-v2.yaml", "sample-application-rollout", "its trait applies to a misspelt workload"),
    ("appConfig-rollback-v1.yaml", "sample-application-rollout", "its trait applies to a misspelt workload"),
];

struct Example {
    file: PathBuf,
    object: Value,
    /// Read once, for all the examples that may use it.
    definition: Option<Arc<Definition>>,
}

/// Every object with the file it stands in.
fn examples(folder: &Path) -> Vec<Example> {
    let mut entries: Vec<_> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
    entries.sort();
    let mut found = Vec::new();
    for path in entries {
        if path.is_dir() {
            found.extend(examples(&path));
        } else if path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml") {
            let text = std::fs::read_to_string(&path).unwrap();
            let read = vela_engine::manifest::read("example", &text);
            for document in read.iter().flat_map(|documents| documents.iter()) {
                let object = document.value().clone();
                let definition = match object["kind"].as_str() {
                    Some(kind) if kind.ends_with("Definition") => {
                        Definition::from_object(object.clone()).ok()
                    }
                    _ => None,
                };
                found.push(Example { file: path.clone(), object, definition: definition.map(Arc::new) });
            }
        }
    }
    found
}

/// What every example may use: built-in definitions, kinds of Kubernetes, of ours and of others.
fn base_snapshot(examples: &[Example]) -> Snapshot {
    let mut snapshot = Snapshot::default();
    for built_in in vela_definitions::builtin() {
        let _ = snapshot.insert_definition_object(built_in.manifest("vela-system"));
    }
    // The chart of release 0.3 installs it.
    let pods = json!({"apiVersion": "core.oam.dev/v1alpha2", "kind": "WorkloadDefinition",
        "metadata": {"name": "podspecworkloads.standard.oam.dev"},
        "spec": {"definitionRef": {"name": "podspecworkloads.standard.oam.dev"}}});
    snapshot.insert_definition_object(pods).unwrap();
    for (api_version, kind, plural) in BUILT_IN {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        insert_kind(&mut snapshot, api_version, kind, plural, group);
    }
    let ours = vela_crds::crd_values().unwrap().into_iter();
    let foreign =
        documents(&cases::folder("conformance/crds/foreign")).into_iter().map(|d| d.value().clone());
    let own =
        examples.iter().filter(|e| e.object["kind"] == "CustomResourceDefinition").map(|e| e.object.clone());
    for crd in ours.chain(foreign).chain(own) {
        let spec = &crd["spec"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (group, kind, plural) =
            (text(&spec["group"]), text(&spec["names"]["kind"]), text(&spec["names"]["plural"]));
        let listed = spec["versions"].as_array().into_iter().flatten().map(|version| text(&version["name"]));
        let versions: Vec<String> = listed.chain(spec["version"].as_str().map(str::to_owned)).collect();
        for version in versions.iter().rev() {
            insert_kind(&mut snapshot, &format!("{group}/{version}"), &kind, &plural, &group);
        }
    }
    snapshot
}

fn insert_kind(snapshot: &mut Snapshot, api_version: &str, kind: &str, plural: &str, group: &str) {
    snapshot.insert_resource(api_version, kind, Resource { plural: plural.to_owned(), namespaced: true });
    let name = if group.is_empty() { plural.to_owned() } else { format!("{plural}.{group}") };
    snapshot.insert_registered(&name, "", (api_version.to_owned(), kind.to_owned()));
}

/// Definitions and components of all folders, those of the example's own folder last, so that they count.
fn near(base: &Snapshot, examples: &[Example], file: &Path) -> Snapshot {
    let mut snapshot = base.clone();
    let distance = |example: &Example| {
        let common = example.file.components().zip(file.components()).take_while(|(a, b)| a == b).count();
        (common, example.file == file)
    };
    // Each release has its own definitions under the same names.
    let examples_folder = cases::folder("examples");
    let release = |file: &Path| {
        file.strip_prefix(&examples_folder)
            .ok()
            .and_then(|below| below.components().next().map(|c| c.as_os_str().to_owned()))
    };
    let of_release = examples.iter().filter(|example| release(&example.file) == release(file));
    let mut order: Vec<&Example> = of_release.collect();
    order.sort_by_key(|example| distance(example));
    for Example { object, definition, .. } in order {
        definition.iter().for_each(|definition| snapshot.insert_definition(definition.clone()));
        let mut object = object.clone();
        if object["metadata"]["namespace"].is_null() && object["metadata"].is_object() {
            object["metadata"]["namespace"] = json!("default");
        }
        if object["kind"] == "Component" {
            // The controller cuts revisions, which later examples name.
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            for number in 1..=2 {
                snapshot.insert_object(json!({"apiVersion": "apps/v1", "kind": "ControllerRevision", "data": object,
                    "metadata": {"name": format!("{name}-v{number}"), "namespace": object["metadata"]["namespace"]}}));
            }
        }
        snapshot.insert_object(object);
    }
    snapshot
}

/// Every definition with the kinds that it imports, as a server knows them.
async fn import(snapshot: &mut Snapshot, cluster: &Live) {
    let definitions: Vec<Definition> =
        snapshot.definitions().map(|definition| (**definition).clone()).collect();
    for definition in definitions.into_iter().filter(|definition| !definition.imports().is_empty()) {
        snapshot.insert_definition(Arc::new(with_imports(cluster, definition).await.unwrap()));
    }
}

/// Is it of a kind that KubeVela's webhooks are asked about?
fn is_ours(object: &Value) -> bool {
    let group = object["apiVersion"].as_str().and_then(|version| version.split_once('/'));
    group.is_some_and(|(group, _)| group.ends_with(".oam.dev"))
}

async fn judge(
    object: &Value,
    snapshot: &Snapshot,
    templates: &Templates,
    cluster: &Live,
) -> Option<Verdict> {
    let review = review("CREATE", object.clone(), Value::Null);
    Some(match object["kind"].as_str()? {
        "Application" => application::validate(&review, ApiVersion::V1beta1, snapshot, templates),
        "ApplicationConfiguration" => then(configuration::mutate(&review, snapshot), object, |review| {
            configuration::validate(review, snapshot)
        }),
        "Component" => {
            then(component::mutate(&review, snapshot), object, |review| component::validate(review, snapshot))
        }
        "MetricsTrait" => then(standard::mutate_metrics(&review), object, standard::validate_metrics),
        "PodSpecWorkload" => then(standard::mutate_pod_spec(&review), object, standard::validate_pod_spec),
        kind if kind.ends_with("Definition") && kind != "CustomResourceDefinition" => {
            let read = match definition::read(&review) {
                Ok(read) => Ok(with_imports(cluster, read).await.unwrap()),
                wrong => wrong,
            };
            definition::validate(&review, read, &definition::DefinitionFacts::default(), templates)
        }
        _ => return None,
    })
}

/// Judges what the mutation made, as an API server does.
fn then(mutated: Verdict, object: &Value, judge: impl FnOnce(&vela_webhooks::Review) -> Verdict) -> Verdict {
    if !mutated.is_allowed() {
        return mutated;
    }
    let mut patched = object.clone();
    json_patch::patch(&mut patched, &mutated.patch).unwrap();
    judge(&review("CREATE", patched, Value::Null))
}

#[tokio::test]
async fn what_kubevela_lets_in_is_not_refused() {
    let examples = examples(&cases::folder("examples"));
    let base = base_snapshot(&examples);
    let server = ApiServer::builder().build().unwrap();
    let client = Client::new(server.service(), "default");
    let cluster = Live::new(client.clone(), Discovery::new(client));
    let templates = Templates::new();
    let mut counts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let mut wrong = Vec::new();
    // The objects of one file are judged with the same snapshot around them.
    let mut around: Option<(&Path, Snapshot)> = None;
    for example in examples.iter().filter(|example| is_ours(&example.object)) {
        let mut object = example.object.clone();
        if object["metadata"]["namespace"].is_null() && object["metadata"].is_object() {
            object["metadata"]["namespace"] = json!("default");
        }
        if around.as_ref().is_none_or(|(file, _)| *file != example.file) {
            let mut snapshot = near(&base, &examples, &example.file);
            import(&mut snapshot, &cluster).await;
            around = Some((example.file.as_path(), snapshot));
        }
        let (_, snapshot) = around.as_ref().unwrap();
        let Some(verdict) = judge(&object, snapshot, &templates, &cluster).await else { continue };
        let count = counts.entry(object["kind"].as_str().unwrap().to_owned()).or_default();
        count.0 += 1;
        if verdict.is_allowed() {
            continue;
        }
        count.1 += 1;
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let file = example.file.display().to_string();
        let known = REFUSED.iter().find(|(known, of, _)| file.contains(known) && *of == name);
        if let Some((file, _, why)) = known {
            println!("refused, rightly: {file} ({why})");
        } else {
            wrong.push(format!("{file} {} {name}: {:#?}", object["kind"], verdict.causes));
        }
    }
    for (kind, (all, refused)) in &counts {
        println!("{kind}: {all} judged, {refused} refused");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Applications that KubeVela 1.11 rendered, and that are refused all the same: folder and why.
const APPLICATIONS_REFUSED: [(&str, &str); 7] = [
    ("ex__custom-trait__app", "its definitions are not in the folder"),
    ("ex__rollout-trait__app-v2", "its definition is not in the folder"),
    ("ex__rollout-trait__app-v3", "its definition is not in the folder"),
    ("ex__rollout-trait__application", "its definition is not in the folder"),
    (
        "ex__traits__control-plane-only-usecase__app-with-control-plane-only-usecase",
        "policies not supported yet",
    ),
    ("test__e2e-test__testdata__app__app8", "two components of one name"),
    ("test__e2e-test__testdata__app__app_replication", "policies not supported yet"),
];

/// The Applications that the real KubeVela 1.11 took and rendered.
#[tokio::test]
async fn applications_that_kubevela_rendered_are_not_refused() {
    let folder = cases::folder("conformance/applications");
    let mut folders: Vec<PathBuf> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    let server = ApiServer::builder().build().unwrap();
    let client = Client::new(server.service(), "default");
    let cluster = Live::new(client.clone(), Discovery::new(client));
    let templates = Templates::new();
    let base = base_snapshot(&[]);
    let (mut judged, mut wrong) = (0, Vec::new());
    for case in folders.iter().filter(|case| case.is_dir()) {
        let mut snapshot = base.clone();
        let mut applications = Vec::new();
        for Example { file, mut object, definition } in examples(case) {
            if file.ends_with("output.yaml") {
                continue;
            }
            definition.into_iter().for_each(|definition| snapshot.insert_definition(definition));
            if object["kind"] == "Application" {
                object["metadata"]["namespace"] = json!("default");
                applications.push(object);
            }
        }
        import(&mut snapshot, &cluster).await;
        let name = case.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for application in applications {
            judged += 1;
            let verdict = judge(&application, &snapshot, &templates, &cluster).await.unwrap();
            if verdict.is_allowed() {
                continue;
            }
            match APPLICATIONS_REFUSED.iter().find(|(known, _)| *known == name) {
                Some((name, why)) => println!("refused, as known: {name} ({why})"),
                None => wrong.push(format!("{name}: {:#?}", verdict.causes)),
            }
        }
    }
    assert!(judged > 50, "only {judged} applications");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Who moves here brings all definitions of the peer, those of workflow steps and policies among them.
#[tokio::test]
async fn every_definition_of_kubevela_enters() {
    let folder = cases::folder("conformance/cli-today/render");
    let files = std::fs::read_dir(&folder).unwrap().flatten();
    // The command that printed them tells the file of each above it.
    let texts = files.filter_map(|file| std::fs::read_to_string(file.path()).ok());
    let definitions: Vec<Value> = texts
        .filter_map(|text| {
            manifest::read("definition.yaml", text.strip_prefix("--- ")?.split_once('\n')?.1).ok()
        })
        .flat_map(|documents| documents.into_iter().map(|document| document.into_value()).collect::<Vec<_>>())
        .collect();
    assert!(definitions.len() > 100, "only {} definitions", definitions.len());
    let server = ApiServer::builder().build().unwrap();
    let client = Client::new(server.service(), "default");
    let cluster = Live::new(client.clone(), Discovery::new(client));
    let mut refused = Vec::new();
    for object in &definitions {
        let verdict = judge(object, &Snapshot::default(), &Templates::new(), &cluster).await;
        for cause in verdict.map(|verdict| verdict.causes).unwrap_or_default() {
            refused.push(format!("{}: {}", object["metadata"]["name"], cause.line()));
        }
    }
    println!("{} definitions, {} mistakes", definitions.len(), refused.len());
    assert!(refused.is_empty(), "{refused:#?}");
}

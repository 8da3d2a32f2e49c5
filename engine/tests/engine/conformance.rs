//! KubeVela's own definitions and applications through our render, patch and health code: numbers that only rise.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value as Json, json};
use vela_engine::render::single;
use vela_engine::{Diagnostics, Snapshot, Templates, definition, dry_run, health, manifest};
use vela_testkit::{cases, same_value};

use crate::snapshots;

/// Least number of passing cases per kind; raise them when more pass.
const LEAST: &[(&str, usize)] = &[("component", 103), ("trait", 193), ("patch", 45), ("health", 251)];
/// Applications whose dry run differs from the real one's, each with the reason. Only applications that need more than
/// components and traits, or that differ by choice, belong here.
const DIFFERENT_APPLICATIONS: &[(&str, &str)] = &[
    (
        "ex__envbinding__envpatch-with-wild-match",
        "the objects of each environment are shown; the real dry run shows the components as they are written",
    ),
    (
        "ex__traits__control-plane-only-usecase__app-with-control-plane-only-usecase",
        "other clusters are not supported yet",
    ),
    (
        "pkg__appfile__dryrun__testdata__testing-dry-run-1",
        "objects are shown in the namespace that they go to; the real dry run leaves them in the application's",
    ),
    (
        "references__cli__test-data__dry-run__testing-dry-run-7",
        "objects are shown in the namespace that they go to; the real dry run leaves them in the application's",
    ),
    (
        "test__e2e-test__testdata__app__app_replication",
        "every copy is shown; the real dry run shows one, with an empty key in its name",
    ),
    (
        "test__e2e-test__testdata__app__app8",
        "two components of one name are refused, because one of both would be lost",
    ),
];

fn read(folder: &Path, name: &str) -> Option<String> {
    fs::read_to_string(folder.join(name)).ok()
}

fn read_json(folder: &Path, name: &str) -> Json {
    read(folder, name).map_or(json!({}), |text| serde_json::from_str(&text).unwrap())
}

fn run(kind: &str, folder: &Path) -> Result<Json, Diagnostics> {
    let text = |name: &str| read(folder, name).unwrap_or_default();
    let json = |name: &str| read_json(folder, name);
    match kind {
        "component" => {
            single::component(&text("template.cue"), &json("parameter.json"), &json("context.json"))
        }
        "trait" => {
            let mut context = json("context.json");
            let fields = context.as_object_mut().unwrap();
            fields.retain(|name, _| !name.starts_with("template-context-"));
            // The text keeps what JSON cannot say: a default that is still open, for instance.
            let (workload, before) = (text("base.cue"), json("base.json"));
            let parameter = json("parameter.json");
            single::trait_(&text("template.cue"), &workload, &before["outputs"], &parameter, &context)
        }
        "patch" => single::patch(&text("base.cue"), &text("patch.cue")),
        _ => {
            let (policy, custom) = (text("healthPolicy.cue"), text("customStatus.cue"));
            let templates = Templates::new();
            let health = health::evaluate(
                &policy,
                &custom,
                &json("context.json"),
                &json("parameter.json"),
                &templates,
            );
            Ok(json!({"healthy": health.healthy, "message": health.message}))
        }
    }
}

/// Why a case fails, or nothing.
fn judge(kind: &str, status: &str, folder: &Path) -> Option<String> {
    let result = run(kind, folder);
    let expected = read_json(folder, "output.json");
    match (status, result) {
        ("ok", Ok(result)) if kind == "health" => {
            let agree = ["healthy", "message"]
                .iter()
                .all(|f| expected.get(f).is_none_or(|e| Some(e) == result.get(f)));
            (!agree).then(|| format!("expected {expected}, got {result}"))
        }
        ("ok", Ok(result)) => (!same_value(&result, &expected)).then(|| {
            let differences = vela_engine::diff::diff(&expected, &result);
            format!("{:?}", differences.iter().take(3).collect::<Vec<_>>())
        }),
        ("ok", Err(errors)) => Some(errors.to_string()),
        (_, Ok(_)) => Some("must fail".to_owned()),
        (_, Err(_)) => None,
    }
}

#[test]
fn definitions_render_as_the_real_ones() {
    let folder = cases::folder("conformance/definitions");
    let cases: Vec<Json> = read(&folder, "manifest.jsonl")
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<Json>(line).unwrap())
        .filter(|case| LEAST.iter().any(|(kind, _)| case["kind"] == *kind))
        .collect();
    let next = AtomicUsize::new(0);
    let results: Mutex<BTreeMap<String, (usize, usize)>> = Mutex::new(BTreeMap::new());
    let failures: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let work = || {
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            let [kind, name, status] = ["kind", "name", "status"].map(|field| case[field].as_str().unwrap());
            let failure = judge(kind, status, &folder.join("cases").join(name));
            let mut results = results.lock().unwrap();
            let count = results.entry(kind.to_owned()).or_default();
            count.1 += 1;
            match failure {
                None => count.0 += 1,
                Some(why) => failures.lock().unwrap().push(format!("{name} ({status}): {why}")),
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(work);
        }
    });
    let mut failures = failures.into_inner().unwrap();
    failures.sort();
    let results = results.into_inner().unwrap();
    for failure in &failures {
        eprintln!("{failure}");
    }
    for (kind, (passed, all)) in &results {
        eprintln!("{kind}: {passed} of {all} passed");
    }
    for (kind, least) in LEAST {
        assert!(results[*kind].0 >= *least, "{kind}: {} passed, {least} did before", results[*kind].0);
    }
}

/// Built-in definitions, then the case's own.
fn snapshot(folder: &Path) -> Snapshot {
    let mut snapshot = snapshots::built_in();
    let own = fs::read_dir(folder.join("defs")).into_iter().flatten().flatten();
    for path in own.map(|entry| entry.path()) {
        if path.extension().is_some_and(|extension| extension == "cue") {
            match definition::cue_file::read("defs.cue", &fs::read_to_string(&path).unwrap()) {
                Ok(object) => snapshot.insert_definition_object(object).unwrap(),
                Err(errors) => eprintln!("{}: {errors}", path.display()),
            }
            continue;
        }
        // One file writes a field twice, which only Go reads; its application stands among those that differ.
        match manifest::read("defs", &fs::read_to_string(&path).unwrap()) {
            Ok(documents) => {
                for document in documents {
                    snapshot.insert_definition_object(document.into_value()).unwrap();
                }
            }
            Err(errors) => eprintln!("{}: {errors}", path.display()),
        }
    }
    snapshot
}

fn applications(root: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    folders
}

/// The dry run's objects as values, with the comments that say where each is from.
fn parts(text: &str) -> Vec<(Vec<String>, Vec<Json>)> {
    text.split("---\n")
        .filter(|part| !part.trim().is_empty())
        .map(|part| {
            let comments =
                part.lines().filter(|line| line.starts_with('#')).map(|l| l.trim().to_owned()).collect();
            let values = manifest::read("part", part).unwrap().into_iter().map(|d| d.into_value()).collect();
            (comments, values)
        })
        .collect()
}

fn dry_run_of(folder: &Path, app: &str, expected: &str) -> Result<(), String> {
    let documents = manifest::read("app.yaml", app).map_err(|errors| errors.to_string())?;
    let application = documents.iter().find(|d| d.kind() == "Application").ok_or("no application")?;
    let rendered =
        dry_run::render(application, &snapshot(folder), &Templates::new()).map_err(|e| e.to_string())?;
    let text = dry_run::text(&rendered);
    let (ours, theirs) = (parts(&text), parts(expected));
    if ours.len() != theirs.len() {
        return Err(format!("{} parts, expected {}", ours.len(), theirs.len()));
    }
    for (ours, theirs) in ours.iter().zip(&theirs) {
        if ours.0 != theirs.0 {
            return Err(format!("{:?}, expected {:?}", ours.0, theirs.0));
        }
        for (ours, theirs) in ours.1.iter().zip(&theirs.1) {
            if !same_value(ours, theirs) {
                let differences = vela_engine::diff::diff(theirs, ours);
                return Err(format!("{:?}", differences.iter().take(3).collect::<Vec<_>>()));
            }
        }
    }
    Ok(())
}

#[test]
fn applications_dry_run_as_the_real_ones() {
    let folders = applications(&cases::folder("conformance/applications"));
    let mut wrong: Vec<String> = Vec::new();
    for folder in &folders {
        let result =
            dry_run_of(folder, &read(folder, "app.yaml").unwrap(), &read(folder, "output.yaml").unwrap());
        let name = folder.file_name().unwrap().to_string_lossy();
        let listed = DIFFERENT_APPLICATIONS.iter().find(|(listed, _)| *listed == name);
        match (result, listed) {
            (Ok(()), None) | (Err(_), Some(_)) => {}
            (Ok(()), Some((_, reason))) => wrong.push(format!("{name} is equal now, but listed: {reason}")),
            (Err(why), None) => wrong.push(format!("{name}: {why}")),
        }
    }
    eprintln!("applications: {} of {} differ", DIFFERENT_APPLICATIONS.len(), folders.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_first_examples_print_the_objects_of_the_real_ones() {
    for name in ["web", "batch", "sidecar"] {
        let folder = cases::folder("examples/first").join(name);
        let documents = manifest::read("app.yaml", &read(&folder, "app.yaml").unwrap()).unwrap();
        let rendered = dry_run::render(&documents.as_slice()[0], &snapshot(&folder), &Templates::new());
        let text =
            rendered.map(|rendered| dry_run::text(&rendered)).unwrap_or_else(|errors| errors.to_string());
        let expected = read(&folder, "expected/dry-run.yaml").unwrap();
        let parts = |text: &str| {
            let mut parts: Vec<String> = text.split("---\n").map(str::to_owned).collect();
            parts.sort();
            parts
        };
        // The order of the objects of one trait is not compared.
        assert_eq!(parts(&text), parts(&expected), "first/{name}:\n{text}");
    }
}

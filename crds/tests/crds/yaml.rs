//! `crds/yaml` is current (`UPDATE=1` rewrites it) and takes what the reference CRDs take.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("yaml")
}

#[test]
fn committed_yaml_is_current() {
    let files = vela_crds::crd_files().unwrap();
    let update = std::env::var_os("UPDATE").is_some();
    if update {
        fs::create_dir_all(folder()).unwrap();
    }
    let mut expected = BTreeSet::new();
    for file in files {
        let path = folder().join(&file.file);
        if update {
            fs::write(&path, &file.yaml).unwrap();
        }
        let found = fs::read_to_string(&path).unwrap_or_default();
        assert!(found == file.yaml, "{} is stale: run with UPDATE=1", file.file);
        expected.insert(file.file);
    }
    for entry in fs::read_dir(folder()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(expected.contains(&name), "{name} belongs to no kind");
    }
}

#[test]
fn committed_json_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("crds.json");
    let lines = vela_crds::crd_lines().unwrap();
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &lines).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap();
    assert!(found == lines, "crds/crds.json is stale: run with UPDATE=1");
}

#[test]
fn every_group_has_its_folder() {
    let known = [vela_crds::GROUP, vela_crds::standard_oam_dev::GROUP, vela_crds::dapr_io::GROUP];
    for crd in vela_crds::crds().unwrap().into_iter().chain(vela_crds::dapr_crds().unwrap()) {
        let group = crd.spec.group.as_str();
        assert!(known.contains(&group), "{} is of a group without a module: {group}", crd.spec.names.kind);
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(group.replace('.', "_"));
        assert!(folder.is_dir(), "{}", folder.display());
    }
}

/// Schemas by kind and version, of a list of CRDs.
pub(crate) fn schemas(crds: impl IntoIterator<Item = Value>) -> BTreeMap<(String, String), Value> {
    let mut schemas = BTreeMap::new();
    for crd in crds {
        for version in crd["spec"]["versions"].as_array().unwrap() {
            let key = (
                crd["spec"]["names"]["kind"].as_str().unwrap().to_owned(),
                version["name"].as_str().unwrap().to_owned(),
            );
            schemas.insert(key, version["schema"]["openAPIV3Schema"].clone());
        }
    }
    schemas
}

/// Where `ours` refuses or drops what `reference` takes and keeps.
fn narrower(reference: &Value, ours: &Value, path: &str, found: &mut Vec<String>) {
    if ours["x-kubernetes-preserve-unknown-fields"] == true {
        return;
    }
    let int_or_string = |s: &Value| s["x-kubernetes-int-or-string"] == true;
    if int_or_string(reference) != int_or_string(ours) || reference["type"] != ours["type"] {
        found.push(format!("{path}: type {} against {}", reference["type"], ours["type"]));
        return;
    }
    for name in ours["required"].as_array().into_iter().flatten() {
        let required = reference["required"].as_array().is_some_and(|r| r.contains(name));
        // A kind without a spec says nothing; only records of others may come so.
        if !(required || path.is_empty() && name == "spec") {
            found.push(format!("{path}: requires {name}"));
        }
    }
    if let Some(values) = ours["enum"].as_array() {
        for value in reference["enum"].as_array().map_or(&vec![Value::from("anything")], |v| v) {
            if !values.contains(value) {
                found.push(format!("{path}: refuses {value}"));
            }
        }
    }
    if !ours["pattern"].is_null() && ours["pattern"] != reference["pattern"] {
        found.push(format!("{path}: pattern {}", ours["pattern"]));
    }
    if reference["type"] == "object"
        && reference["x-kubernetes-preserve-unknown-fields"] == true
        && reference["additionalProperties"].is_null()
    {
        found.push(format!("{path}: drops unknown fields"));
    }
    for (name, sub) in reference["properties"].as_object().into_iter().flatten() {
        // The API server knows these of every kind.
        if path.is_empty() && ["apiVersion", "kind", "metadata"].contains(&name.as_str()) {
            continue;
        }
        let path = format!("{path}.{name}");
        match ours["properties"].get(name) {
            Some(our_sub) => narrower(sub, our_sub, &path, found),
            None => found.push(format!("{path}: drops it")),
        }
    }
    for part in ["items", "additionalProperties"] {
        if reference[part].is_object() {
            narrower(&reference[part], &ours[part], &format!("{path}.{part}"), found);
        }
    }
}

#[test]
fn takes_what_the_reference_crds_take() {
    let reference = vela_testkit::cases::folder("conformance/crds");
    let ours: Vec<Value> = vela_crds::crd_values().unwrap();
    let ours = schemas(ours);
    let mut found = Vec::new();
    let mut compared = 0;
    for era in ["v0.3", "v1.0", "today"] {
        for entry in fs::read_dir(reference.join(era)).unwrap() {
            let text = fs::read_to_string(entry.unwrap().path()).unwrap();
            let crd: Value = serde_saphyr::from_str(&text).unwrap();
            for ((kind, version), schema) in schemas([crd]) {
                let Some(our_schema) = ours.get(&(kind.clone(), version.clone())) else { continue };
                compared += 1;
                narrower(&schema, our_schema, "", &mut found);
                for line in found.iter_mut().filter(|l| l.starts_with('.') || l.starts_with(':')) {
                    *line = format!("{era} {kind} {version} {line}");
                }
            }
        }
    }
    assert!(compared > 20, "compared only {compared} schemas");
    assert!(found.is_empty(), "{} places:\n{}", found.len(), found.join("\n"));
}

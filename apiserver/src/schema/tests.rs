//! Custom resources against what the real API server answered: result or message.
use serde_json::Value;

use super::Structural;

fn recorded() -> Value {
    serde_json::from_str(include_str!("../../tests/data/crd.json")).unwrap()
}

pub(crate) fn structural() -> Structural {
    let crd = recorded();
    Structural::compile(crd.pointer("/crd/spec/versions/0/schema/openAPIV3Schema").unwrap()).unwrap()
}

#[test]
fn custom_resources_are_taken_and_refused_as_by_the_real_server() {
    let recorded = recorded();
    let structural = structural();
    let mut wrong = Vec::new();
    for case in recorded["cases"].as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        let mut object = case["request"].clone();
        let unknown = structural.prune(&mut object);
        structural.apply_defaults(&mut object);
        let causes = structural.validate(&object, None);
        if case["code"] == 201 {
            if !causes.is_empty() {
                wrong.push(format!("{name}: refused: {causes:?}"));
            } else if object["spec"] != case["answer"]["spec"] {
                wrong.push(format!("{name}: ours {} theirs {}", object["spec"], case["answer"]["spec"]));
            }
        } else {
            // The real server walks maps in random order, so the causes are compared as sets.
            let mut ours: Vec<String> =
                causes.iter().map(|c| format!("{}: {}", c.field, c.message)).collect();
            let theirs = case.pointer("/answer/details/causes").and_then(Value::as_array).unwrap();
            let mut theirs: Vec<String> = theirs
                .iter()
                .map(|c| format!("{}: {}", c["field"].as_str().unwrap(), c["message"].as_str().unwrap()))
                .collect();
            ours.sort();
            theirs.sort();
            if ours != theirs {
                wrong.push(format!("{name}:\n   ours {ours:?}\n theirs {theirs:?}"));
            }
        }
        if let Some(strict) = case.get("strict").and_then(Value::as_str) {
            for path in &unknown {
                assert!(
                    strict.contains(&format!("unknown field {path:?}")),
                    "{name}: {path} not in {strict}"
                );
            }
            assert_eq!(strict.matches("unknown field").count(), unknown.len(), "{name}: {unknown:?}");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn transition_rules_see_the_old_object() {
    let structural = structural();
    let old = serde_json::json!({"spec": {"req": "r", "cel": {"im": "a"}}});
    let new = serde_json::json!({"spec": {"req": "r", "cel": {"im": "b"}}});
    assert!(structural.validate(&new, None).is_empty());
    let causes = structural.validate(&new, Some(&old));
    assert_eq!(causes.len(), 1);
    assert_eq!(causes[0].to_string(), "spec.cel.im: Invalid value: im is immutable");
}

#[test]
fn a_schema_that_is_not_structural_is_refused_with_the_place() {
    let causes = Structural::compile(
        &serde_json::json!({"type": "object", "properties": {"spec": {"properties": {}}}}),
    )
    .unwrap_err();
    assert_eq!(causes[0].field, "properties[spec].type");
}

/// Every definition of real projects that is at hand must compile: operators bring such schemas.
#[test]
fn definitions_of_real_projects_are_structural() {
    let folder = vela_testkit::cases::folder("conformance/crds");
    let mut wrong = Vec::new();
    let mut count = 0;
    for part in std::fs::read_dir(&folder).unwrap().flatten().filter(|e| e.path().is_dir()) {
        for file in std::fs::read_dir(part.path()).unwrap().flatten() {
            let text = std::fs::read_to_string(file.path()).unwrap();
            let Ok(crd) = serde_saphyr::from_str::<Value>(&text) else { continue };
            for version in crd["spec"]["versions"].as_array().into_iter().flatten() {
                let Some(schema) = version.pointer("/schema/openAPIV3Schema") else { continue };
                count += 1;
                if let Err(causes) = Structural::compile(schema) {
                    let shown: Vec<String> = causes.iter().take(3).map(ToString::to_string).collect();
                    wrong.push(format!("{}: {shown:?}", file.path().display()));
                }
            }
        }
    }
    assert!(count > 50, "only {count} schemas");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

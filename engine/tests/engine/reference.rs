//! Writes `docs/reference/` from the built-in definitions, and proves that its pages are current.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value as Json;
use vela_definitions::{Definition, Kind, builtin};
use vela_engine::parameters::parameters;

/// The pages, and which definitions stand on them.
const PAGES: &[(Kind, &str, &str)] = &[
    (Kind::Component, "components.md", "Component types"),
    (Kind::Trait, "traits.md", "Trait types"),
    (Kind::Policy, "policies.md", "Policy types"),
    (Kind::WorkflowStep, "steps.md", "Workflow step types"),
];

const GENERATED: &str = "Generated from the definitions; `UPDATE=1 cargo test -p vela-engine --test engine reference` rewrites it.\n";

#[test]
fn the_pages_are_current() {
    let mut index = format!("# Reference of the built-in types\n\n{GENERATED}");
    for (kind, file, title) in PAGES {
        let of_kind: Vec<&Definition> = builtin().iter().filter(|one| one.kind == *kind).collect();
        assert!(!of_kind.is_empty(), "{title}");
        let mut page = format!("# {title}\n\n{GENERATED}");
        let _ = write!(index, "\n## [{title}]({file})\n\n| type | |\n|---|---|\n");
        for definition in of_kind {
            let name = definition.name;
            // The renderer of the page leaves dots out of its anchors.
            let anchor = name.replace('.', "");
            let _ = writeln!(index, "| [`{name}`]({file}#{anchor}) | {} |", definition.description);
            let _ = write!(
                page,
                "\n## {name}\n\n{}\n{}\n{}",
                definition.description,
                facts(definition),
                read(definition)
            );
        }
        golden(file, &page);
    }
    golden("README.md", &index);
}

/// What people have to know beside the parameters.
fn facts(definition: &Definition) -> String {
    let spec = definition.spec();
    let workload = &spec["workload"]["definition"];
    let mut facts = String::new();
    if let (Some(version), Some(kind)) = (workload["apiVersion"].as_str(), workload["kind"].as_str()) {
        let _ = write!(facts, "\nIts workload is a `{kind}` of `{version}`.\n");
    }
    let kinds: Vec<&str> =
        spec["appliesToWorkloads"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
    if !kinds.is_empty() && kinds != ["*"] {
        let _ = write!(facts, "\nMade for: {}.\n", kinds.join(", "));
    }
    if spec["podDisruptive"] == true {
        facts.push_str("\nA change of it restarts pods.\n");
    }
    facts
}

fn read(definition: &Definition) -> String {
    let parsed = vela_engine::Definition::from_object(definition.manifest("vela-system")).unwrap();
    parameters(&parsed).markdown(3)
}

fn golden(file: &str, actual: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference");
    vela_testkit::golden(folder.join(file), actual);
}

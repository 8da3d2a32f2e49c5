//! `vela def`: definitions are judged, rendered, listed and printed.

use serde_json::Value;

use crate::{PAGE, Person};

pub(crate) const LABEL: &str = r#"marked: {
	type: "trait"
	description: "Marks a workload."
	attributes: appliesToWorkloads: ["*"]
}
template: {
	patch: metadata: labels: mark: parameter.mark
	parameter: mark: string
}
"#;

#[test]
fn definitions_are_judged_with_every_mistake_at_its_place() {
    let person = Person::new();
    person.write("defs/marked.cue", LABEL);
    person.write("defs/deep/page.yaml", PAGE);
    let said = person.types(&["def", "vet", "-R", "defs"]).ok();
    assert_eq!(said.out, "ComponentDefinition page is valid\nTraitDefinition marked is valid\n");
    assert_eq!(person.types(&["def", "vet", "defs"]).ok().out, "TraitDefinition marked is valid\n");

    // All files are judged, whatever is wrong with the others.
    person.write("defs/broken.cue", LABEL.replace("string\n}", "string\n"));
    person.write(
        "defs/unknown.cue",
        LABEL.replace("marked:", "unknown:").replace("parameter.mark", "parameters.mark"),
    );
    person.write("defs/app.yaml", crate::site(false));
    let said = person.types(&["def", "vet", "defs"]).fails(
        1,
        &[
            "defs/broken.cue:",
            "defs/unknown.cue:1:1: error[bad_definition]",
            "trait definition \"unknown\" at 2:",
            "parameters",
            "defs/app.yaml:2:7: Application site is no definition",
        ],
    );
    assert_eq!(said.out, "TraitDefinition marked is valid\n");
    person.types(&["def", "vet"]).fails(2, &["<FILE|--file <PATH>>"]);
    person.types(&["def", "vet", "nowhere"]).fails(1, &["nowhere cannot be read"]);
    assert!(!person.path("vela").exists(), "no sandbox is made");
}

#[test]
fn definitions_are_rendered_listed_and_printed() {
    let person = Person::new();
    let cue = person.write("marked.cue", LABEL);
    let page = person.write("page.yaml", PAGE);
    let said = person.types(&["def", "render", &cue]).ok();
    for words in
        ["kind: TraitDefinition\n", "  name: marked\n", "      template: |\n", "parameter: mark: string"]
    {
        assert!(said.out.contains(words), "{words:?} is not in\n{}", said.out);
    }
    // What is printed stands for the same.
    let rendered = person.write("rendered.yaml", &said.out);
    person.types(&["def", "vet", &rendered]).ok();
    let said = person.types(&["def", "render", &cue, "-f", &page, "-o", "json"]).ok();
    let list: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(list["items"].as_array().unwrap().len(), 2);

    let said = person.types(&["def", "list", "--offline", "-o", "name"]).ok();
    for name in ["componentdefinition.core.oam.dev/webservice", "workflowstepdefinition.core.oam.dev/suspend"]
    {
        assert!(said.out.lines().any(|line| line == name), "{name} is not in\n{}", said.out);
    }
    let said = person.types(&["def", "ls", "--offline", "--type", "policy"]).ok();
    assert!(said.out.starts_with("NAME") && said.out.contains("garbage-collect"), "{said:?}");
    assert!(!said.out.contains("webservice"), "{said:?}");
    let said = person.types(&["def", "get", "scaler", "--offline"]).ok();
    assert!(said.out.contains("kind: TraitDefinition") && said.out.contains("name: scaler"), "{said:?}");
    assert!(person.types(&["def", "get", "scaler", "--offline", "-o", "cue"]).ok().out.contains("replicas"));
    person
        .types(&["def", "get", "scalr", "--offline"])
        .fails(1, &["there is no definition \"scalr\"", "scaler"]);

    // Those of the cluster, too.
    person.types(&["up", &page]).ok();
    let said = person.types(&["def", "list", "-t", "component", "-o", "json"]).ok();
    let all: Vec<Value> = serde_json::from_str(&said.out).unwrap();
    assert!(all.iter().any(|one| one["name"] == "page" && one["namespace"] == "default"), "{said:?}");
    let said = person.types(&["def", "get", "page"]).ok();
    assert!(said.out.contains("handlebars") && !said.out.contains("managedFields"), "{said:?}");
    person.types(&["def", "get", "page", "-o", "cue"]).fails(1, &["has no template in CUE", "-o yaml"]);
}

//! `vela def init|apply|edit|del`: definitions are begun, applied, edited and deleted.

use std::io::Write as _;
use std::process::Stdio;

use crate::definitions::LABEL;
use crate::{CommandOutput, PAGE, Person, site};

const WEB: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, uid: u, annotations: {note: kept}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - {name: web, image: 'nginx:1.27', args: [\"-c\", \"a\\nb\"], ports: [{containerPort: 80}]}
status: {replicas: 1}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: admin}
spec: {selector: {app: web}, ports: [{port: 81}]}
";

/// What `words` say to `input`.
fn given(person: &Person, words: &[&str], input: &str) -> CommandOutput {
    let mut command = person.command(words);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    CommandOutput::of(&child.wait_with_output().unwrap())
}

/// Runs `vela def edit` with an editor that does `script` to the file `$1`.
fn edited(person: &Person, words: &[&str], script: &str) -> CommandOutput {
    let editor = person.write("editor.sh", script);
    let mut command = person.command(&[&["def", "edit"], words].concat());
    command.env_remove("VISUAL").env("EDITOR", format!("sh {editor}")).env("TMPDIR", person.home.path());
    CommandOutput::of(&command.output().unwrap())
}

/// The files that edits left.
fn left(person: &Person) -> Vec<String> {
    let all = std::fs::read_dir(person.home.path()).unwrap();
    let names = all.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("vela-edit-")).collect()
}

#[test]
fn every_beginning_is_a_valid_definition() {
    let person = Person::new();
    let web = person.write("web.yaml", WEB);
    for type_ in ["component", "trait", "policy", "workflow-step", "workload"] {
        let file = format!("{type_}.cue");
        let said =
            person.types(&["def", "init", "my-own", "-t", type_, "--desc", "Says \"it\".", "-o", &file]).ok();
        assert!(said.err.contains(&format!("{file} is written")) && said.out.is_empty(), "{said:?}");
        let valid = person.types(&["def", "vet", &file]).ok();
        assert!(valid.out.ends_with("my-own is valid\n") && valid.err.is_empty(), "{valid:?}");
        let yaml = person.types(&["def", "init", "my-own", "-t", type_, "--template-yaml", &web]);
        if ["policy", "workflow-step"].contains(&type_) {
            yaml.fails(1, &["begins components, traits and workloads", "leave out --template-yaml"]);
            continue;
        }
        let yaml = person.write(&format!("{type_}-yaml.cue"), yaml.ok().out);
        person.types(&["def", "vet", &yaml]).ok();
    }
    person
        .types(&["def", "init", "my-own", "-t", "trait", "-o", "trait.cue"])
        .fails(1, &["trait.cue is there already"]);
    person.types(&["def", "init", "my-own"]).fails(2, &["--type"]);
    person.types(&["def", "init", "My", "-t", "trait"]).fails(2, &["lower-case"]);
    person
        .types(&["def", "init", "a", "-t", "trait", "--template-yaml", "none.yaml"])
        .fails(1, &["none.yaml cannot be read"]);
}

#[test]
fn a_definition_made_of_a_deployment_makes_its_objects() {
    let person = Person::new();
    let web = person.write("web.yaml", WEB);
    person.types(&["def", "init", "web", "-t", "component", "--template-yaml", &web, "-o", "web.cue"]).ok();
    let application = site(false)
        .replace("type: page", "type: web")
        .replace(", paused: false", "")
        .replace("nginx:1,", "'nginx:2',");
    let app = person.write("app.yaml", application.replace("replicas: 2", "replicas: 5"));
    let said = person.types(&["dry-run", "--offline", "-d", "web.cue", &app]).ok();
    for words in [
        "image: nginx:2",
        "replicas: 5",
        "app.oam.dev/component: front",
        "name: admin",
        "note: kept",
        "containerPort: 80",
    ] {
        assert!(said.out.contains(words), "{words:?} is not in\n{}", said.out);
    }
    assert_eq!(said.out.matches("kind: Service\n").count(), 2, "{said:?}");
    assert!(!said.out.contains("namespace: shop") && !said.out.contains("uid"), "{said:?}");
}

#[test]
fn definitions_are_judged_and_applied_from_anywhere() {
    let person = Person::new();
    let dry = given(&person, &["def", "apply", "-", "--dry-run"], LABEL).ok();
    assert!(dry.err.contains("TraitDefinition default/marked would be created"), "{dry:?}");
    assert!(dry.out.contains("kind: TraitDefinition") && dry.out.contains("namespace: default"), "{dry:?}");
    person
        .types(&["def", "del", "marked", "-y"])
        .fails(1, &["there is no definition \"marked\" in namespace default"]);

    person.write("defs/marked.cue", LABEL);
    person.write("defs/deep/page.yaml", PAGE);
    let said = person.types(&["def", "apply", "-R", "defs"]).ok();
    assert!(said.err.contains("ComponentDefinition default/page created"), "{said:?}");
    assert!(said.err.contains("TraitDefinition default/marked created") && said.out.is_empty(), "{said:?}");
    assert!(person.types(&["def", "apply", "defs"]).ok().err.contains("default/marked unchanged"));
    let same = person.types(&["def", "apply", "defs", "--dry-run"]).ok();
    assert!(same.err.contains("default/marked would stay as it is"), "{same:?}");
    let other = LABEL.replace("Marks", "Labels");
    let dry = given(&person, &["def", "apply", "-", "--dry-run"], &other).ok();
    assert!(dry.err.contains("default/marked would be changed"), "{dry:?}");
    assert!(
        person.types(&["def", "get", "marked"]).ok().out.contains("Marks a workload."),
        "nothing was stored"
    );

    // Nothing is written where one of them is wrong.
    person.write("defs/a.cue", LABEL.replace("marked:", "another:"));
    person.write(
        "defs/broken.cue",
        LABEL.replace("marked:", "broken:").replace("parameter.mark", "parameters.mark"),
    );
    person.types(&["def", "apply", "defs"]).fails(1, &["defs/broken.cue:1:1", "parameters"]);
    person.types(&["def", "get", "another"]).fails(1, &["there is no definition"]);
    let app = person.write("app.yaml", site(false));
    person.types(&["def", "apply", &app]).fails(1, &["Application site is no definition"]);
    given(&person, &["def", "apply", "-"], &LABEL.replace("string\n}", "string\n"))
        .fails(1, &["standard input:"]);
}

#[test]
fn a_definition_is_edited_as_cue_and_judged() {
    let person = Person::new();
    let cue = person.write("marked.cue", LABEL);
    person.types(&["def", "apply", &cue]).ok();
    let said = edited(
        &person,
        &["marked"],
        "cp \"$1\" shown.cue; sed -i 's/Marks/Labels/; s/mark: string/mark: *\"x\" | string/' \"$1\"",
    )
    .ok();
    assert!(said.err.contains("TraitDefinition default/marked changed"), "{said:?}");
    let shown = std::fs::read_to_string(person.path("shown.cue")).unwrap();
    assert!(
        shown.starts_with("marked: {\n\ttype: \"trait\"\n\tdescription: \"Marks a workload.\"\n"),
        "{shown}"
    );
    let after = person.types(&["def", "get", "marked"]).ok().out;
    assert!(after.contains("Labels a workload.") && after.contains("mark: *\"x\" | string"), "{after}");
    let same = edited(&person, &["marked"], "true").ok();
    assert!(same.err.contains("default/marked was not changed"), "{same:?}");
    // What is applied afterwards takes the edit over.
    person.types(&["def", "apply", &cue]).ok();
    assert!(person.types(&["def", "get", "marked"]).ok().out.contains("Marks a workload."));
    assert_eq!(left(&person), [""; 0]);

    // A text that is refused is kept, and nothing is written.
    let said = edited(&person, &["marked"], "sed -i 's/parameter.mark/parameters.mark/' \"$1\"")
        .fails(1, &["error[bad_definition]", "The text is kept in", "-n default"]);
    let kept = left(&person);
    assert_eq!(kept.len(), 1, "{said:?}");
    assert!(std::fs::read_to_string(person.path(&kept[0])).unwrap().contains("parameters.mark"));
    edited(&person, &["marked"], "sed -i 's/^marked:/other:/' \"$1\"")
        .fails(1, &["no longer TraitDefinition marked"]);
    edited(&person, &["marked"], "exit 3").fails(1, &["the editor \"sh\" ended with", "nothing was changed"]);
    edited(&person, &["markd"], "true").fails(1, &["there is no definition \"markd\"", "marked"]);
    edited(&person, &["scaler"], "true").fails(1, &["there is one in vela-system", "-n vela-system"]);
    assert!(person.types(&["def", "get", "marked"]).ok().out.contains("parameter.mark"));

    // One without a template in CUE is written out.
    let page = person.write("page.yaml", PAGE);
    person.types(&["def", "apply", &page]).ok();
    edited(&person, &["page"], "sed -i 's/port: 80/port: 81/' \"$1\"").ok();
    let after = person.types(&["def", "get", "page", "-t", "component"]).ok().out;
    assert!(after.contains("port: 81") && after.contains("handlebars"), "{after}");
}

#[test]
fn a_definition_in_use_is_deleted_only_by_force() {
    let person = Person::new();
    person.write("site/page.yaml", PAGE);
    person.write("site/app.yaml", site(false));
    person.types(&["up", "site", "--timeout", "60s"]).ok();
    person
        .types(&["def", "del", "page", "-y"])
        .fails(1, &["ComponentDefinition default/page is used by Application default/site", "--force"]);
    person.types(&["def", "del", "page", "--force"]).fails(1, &["page would be deleted", "--yes (-y)"]);
    person.types(&["def", "get", "page", "-t", "component"]).ok();
    let said = person.types(&["def", "del", "page", "--force", "-y"]).ok();
    assert!(said.err.contains("is used by Application default/site."), "{said:?}");
    person.types(&["def", "get", "page", "-t", "component"]).fails(1, &["there is no definition"]);

    // The type of every namespace is used where no namespace has its own.
    person.types(&["def", "del", "scaler", "-y"]).fails(1, &["add -n vela-system to mean it"]);
    let scaled = site(false) + "      traits: [{type: scaler, properties: {replicas: 3}}]\n";
    let scaled = scaled.replace("type: page", "type: webservice").replace(", replicas: 2, paused: false", "");
    let app = person.write("app.yaml", scaled);
    person.types(&["up", &app, "--no-wait"]).ok();
    person
        .types(&["def", "del", "scaler", "-n", "vela-system", "-y"])
        .fails(1, &["TraitDefinition vela-system/scaler is used by Application default/site"]);
    person.types(&["def", "del", "hostalias", "-n", "vela-system", "-t", "trait", "-y"]).ok();
    person.types(&["def", "get", "hostalias"]).fails(1, &["there is no definition"]);
}

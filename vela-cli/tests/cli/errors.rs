//! Broken input and broken surroundings: the kind of error by the exit code, the place, the advice.

use std::process::Command;

use crate::{CommandOutput, PAGE, Person, site};

#[test]
fn words_that_do_not_exist() {
    let person = Person::new();
    person.types(&["upp"]).fails(2, &["upp"]);
    person.types(&["up"]).fails(1, &["no file was given", "vela.yaml"]);
    person.types(&["up", "-f", "x", "--timeout", "soon"]).fails(2, &["soon", "90s"]);
    person.types(&["delete"]).fails(2, &[]);
}

#[test]
fn files_that_cannot_be_read_are_told_together() {
    let person = Person::new();
    std::fs::create_dir(person.path("empty")).unwrap();
    let latin = person.write("latin.yaml", b"kind: Application\nname: caf\xe9\n");
    let broken = person.write("broken.yaml", "kind: [Application\n");
    person
        .types(&["up", "-f", "absent.yaml", "-f", "empty", "-f", &latin, "-f", &broken])
        .fails(1, &["absent.yaml", "no .yaml, .yml or .json", "latin.yaml:2:10", "UTF-8", "broken.yaml:"]);
    assert!(!person.path("vela").exists(), "wrong files are told before a target is opened");
}

#[test]
fn mistakes_of_all_applications_are_told_with_their_places() {
    let person = Person::new();
    person.write("apps/one.yaml", site(false).replace("type: page", "type: pagee"));
    person.write("apps/page.yaml", PAGE);
    person.write(
        "apps/two.yaml",
        site(false).replace("name: site", "name: other").replace("type: page", "type: nowhere"),
    );
    for words in [&["dry-run", "--offline", "-f", "apps"][..], &["up", "-f", "apps"][..]] {
        person.types(words).fails(1, &["apps/one.yaml:8:13", "pagee", "apps/two.yaml:8:13", "nowhere"]);
    }
    let listed = person.types(&["ls", "-A"]).ok();
    assert!(listed.err.contains("no application"), "nothing was applied: {listed:?}");
}

#[test]
fn a_wrong_parameter_is_told_beside_an_unknown_type() {
    let person = Person::new();
    let application = "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata: {name: a}\nspec:\n  components:\n  \
        - name: one\n    type: webservic\n  - name: two\n    type: webservice\n    properties: {image: 3}\n";
    let file = person.write("app.yaml", application);
    person
        .types(&["dry-run", "--offline", "-f", &file])
        .fails(1, &["app.yaml:7:11", "did you mean \"webservice\"", "app.yaml:10:25", "image"]);
}

#[test]
fn unknown_fields_are_refused_unless_strict_is_off() {
    let person = Person::new();
    let application = "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata: {name: a}\nspec:\n  components:\n  \
        - name: one\n    type: webservice\n    propertys: {}\n    properties: {image: nginx, env: [{name: A, valeu: b}]}\n";
    let file = person.write("app.yaml", application);
    let said = ["app.yaml:8:5", "\"properties\"", "app.yaml:9:48", "did you mean \"value\""];
    person.types(&["dry-run", "--offline", "-f", &file]).fails(1, &said);
    person.types(&["up", "-f", &file]).fails(1, &said);
    let listed = person.types(&["ls", "-A"]).ok();
    assert!(listed.err.contains("no application"), "nothing was applied: {listed:?}");
    let warned = person.types(&["dry-run", "--offline", "--strict=false", "-f", &file]).ok();
    assert!(said.iter().all(|part| warned.err.contains(part)), "{warned:?}");
}

#[test]
fn a_type_that_is_only_upstream_built_in_says_what_to_do() {
    let person = Person::new();
    let application = "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata: {name: a}\nspec:\n  components:\n  \
        - {name: one, type: helm, properties: {chart: podinfo}}\n";
    let file = person.write("app.yaml", application);
    person
        .types(&["dry-run", "--offline", "-f", &file])
        .fails(1, &["app.yaml:6:23", "unknown component type \"helm\"", "addon fluxcd", "\"helmchart\""]);
}

#[test]
fn a_repeated_field_has_both_places_and_the_last_holds() {
    let person = Person::new();
    let config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: one\n  a: two\n";
    let application = "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata: {name: a}\nspec:\n  components:\n  \
        - name: one\n    type: webservice\n    properties:\n      image: one\n      image: two\n";
    let (config, file) = (person.write("config.yaml", config), person.write("app.yaml", application));
    let said = person.types(&["dry-run", "--offline", "-f", &file, "-f", &config]).ok();
    for part in ["app.yaml:10:7", "app.yaml:9:7", "config.yaml:6:3", "config.yaml:5:3"] {
        assert!(said.err.contains(part), "{part}: {said:?}");
    }
    assert!(said.out.contains("image: two"), "{said:?}");
}

#[test]
fn one_object_described_twice() {
    let person = Person::new();
    let config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    let (one, two) = (person.write("one.yaml", config), person.write("two.yaml", config));
    person.types(&["up", "-f", &one, "-f", &two]).fails(1, &["one.yaml:3:", "two.yaml:3:", "twice"]);
}

#[test]
fn a_kind_that_does_not_exist() {
    let person = Person::new();
    let file = person.write("x.yaml", "apiVersion: example.com/v1\nkind: Nothing\nmetadata: {name: a}\n");
    person.types(&["up", "-f", &file]).fails(1, &["x.yaml:3:", "Nothing", "example.com/v1"]);
}

#[test]
fn an_unreachable_cluster_is_an_error_and_makes_no_sandbox() {
    let person = Person::new();
    // Port 1 of the loopback is never served on a test machine.
    let kubeconfig = person.write(
        ".kube/config",
        r#"{"apiVersion": "v1", "kind": "Config", "current-context": "away",
            "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
            "users": [{"name": "u", "user": {"token": "t"}}],
            "contexts": [{"name": "away", "context": {"cluster": "c", "user": "u", "namespace": "shop"}}]}"#,
    );
    let file = person.write("app.yaml", site(false));
    for words in [&["up", "-f", &file][..], &["ls"][..], &["status", "site"][..], &["delete", "site"][..]] {
        person.types(words).fails(4, &["cluster away at https://127.0.0.1:1", "--sandbox"]);
    }
    assert!(!person.path("vela").exists(), "there is no silent switch");
    person.types(&["ls", "--context", "nowhere"]).fails(3, &["nowhere"]);
    person.types(&["ls", "--kubeconfig", "nowhere.yaml"]).fails(3, &["nowhere.yaml"]);
    person.types(&["ls", "--sandbox"]).ok();
    std::fs::write(kubeconfig, "{").unwrap();
    person.types(&["ls"]).fails(3, &[".kube/config"]);
}

#[test]
fn a_full_disk_is_told_and_harms_nothing() {
    let person = Person::new();
    let file = person.write("big.yaml", {
        let text = "x".repeat(600_000);
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: big}}\ndata: {{text: {text}}}\n")
    });
    person.types(&["ls"]).ok();
    let stored: u64 = std::fs::metadata(person.path("vela/sandbox/store")).unwrap().len();
    // The shell forbids files to grow beyond what is there; with the signal ignored, writing fails as on a full disk.
    let script = format!("trap '' XFSZ; ulimit -f {} && exec \"$0\" \"$@\"", stored / 1024 + 8);
    let mut shell = Command::new("bash");
    shell.args(["-c", &script, env!("CARGO_BIN_EXE_vela")]);
    let output = person.environment(shell, &["up", "-f", &file]).output();
    let said = CommandOutput::of(&output.expect("bash, which limits the size of files"));
    assert!(matches!(said.code, Some(1 | 3 | 4)), "{said:?}");
    assert!(said.err.contains("error:") && said.err.contains("0 of 1 objects are applied"), "{said:?}");
    // With room again the store opens, and the object that could not be written is not there.
    let said = person.types(&["delete", "-f", &file]).ok();
    assert!(said.err.contains("is not there"), "{said:?}");
    person.types(&["up", "-f", &file]).ok();
}

/// A component type whose template names an undeclared field.
const BROKEN: &str = r#"odd: {type: "component", attributes: workload: definition: {apiVersion: "v1", kind: "ConfigMap"}}
template: {
	output: {apiVersion: "v1", kind: "ConfigMap", data: text: undeclared}
	parameter: text: string
}
"#;

#[test]
fn a_broken_definition_is_refused_in_every_form_and_told_once() {
    let person = Person::new();
    let cue = person.write("odd.cue", BROKEN);
    let template = BROKEN.lines().skip(2).take(2).map(|line| format!("        {}\n", line.trim()));
    let template: String = template.collect();
    let yaml = "apiVersion: core.oam.dev/v1beta1\nkind: ComponentDefinition\nmetadata: {name: odd}\nspec:\n  workload: {definition: \
                {apiVersion: v1, kind: ConfigMap}}\n  schematic:\n    cue:\n      template: |\n";
    let yaml = person.write("odd.yaml", format!("{yaml}{template}"));
    let page = person.write("page.yaml", PAGE);
    let app = person.write("app.yaml", site(false).replace("type: page", "type: odd"));
    for file in [&cue, &yaml] {
        let alone = person.types(&["up", "-f", file, "-f", &page]);
        let alone = alone.fails(1, &["odd", "undeclared"]);
        assert!(!alone.err.contains("created"), "{}", alone.err);
        for words in [&["up"][..], &["dry-run", "--offline"][..]] {
            let said = person.types(&[words, &["-f", file, "-f", &app]].concat()).fails(1, &["undeclared"]);
            assert_eq!(said.err.matches("\"undeclared\" not found").count(), 1, "{}", said.err);
        }
    }
    person.types(&["show", "page"]).fails(1, &["there is no type \"page\""]);
}

#[test]
fn objects_in_cue_are_judged_as_any_other() {
    let person = Person::new();
    let app = "apiVersion: \"core.oam.dev/v1beta1\"\nkind: \"Application\"\nmetadata: name: \"web\"\n";
    let spec = |kind: &str| {
        format!(
            "{app}spec: components: [{{name: \"web\", type: \"{kind}\", properties: image: \"nginx\"}}]\n"
        )
    };
    let (right, wrong) =
        (person.write("right.cue", spec("worker")), person.write("wrong.cue", spec("workr")));
    let said = person.types(&["dry-run", "--offline", "-f", &right]).ok();
    assert!(said.out.contains("kind: Deployment"), "{said:?}");
    for words in [&["up"][..], &["dry-run", "--offline"][..]] {
        person.types(&[words, &["-f", &wrong]].concat()).fails(1, &["workr", "worker"]);
    }
}

#[test]
fn unsupported_features_do_not_run_and_have_their_own_code() {
    let person = Person::new();
    let parts = "  policies: [{name: more, type: health}]\n  workflow: {steps: [{name: go, type: deploy2runtime, properties: {clusters: [far]}}]}\n";
    let page = person.write("page.yaml", PAGE);
    let app = person.write("app.yaml", site(false) + parts);
    let words = [
        "app.yaml:",
        "\"health\"",
        "cluster \"far\"",
        "Application default/site will not run",
        "not support",
    ];
    let said = person.types(&["dry-run", "--offline", "-f", &page, "-f", &app]).fails(5, &words);
    assert!(said.out.contains("kind: Deployment"), "the rest is shown: {}", said.out);
    assert_eq!(said.err.matches("\"health\"").count(), 1, "{}", said.err);
    let said = person.types(&["up", "-f", &page, "-f", &app]).fails(5, &words);
    assert!(said.err.contains("Nothing was written") && !said.err.contains("created"), "{}", said.err);
    // What is wrong besides is the person's turn first.
    let wrong = person.write("wrong.yaml", site(false).replace("type: page", "type: pag"));
    person.types(&["dry-run", "--offline", "-f", &page, "-f", &app, "-f", &wrong]).fails(1, &["pag"]);
    assert!(person.types(&["help"]).ok().out.contains("Exit codes:"));
}

#[test]
fn hostile_names_are_refused_before_any_request() {
    let person = Person::new();
    for name in vela_testkit::hostile::NAMES.into_iter().chain([""]) {
        for words in [
            &["status", name][..],
            &["delete", name][..],
            &["show", name][..],
            &["ls", "--namespace", name][..],
            &["rollout", "status", name][..],
            &["rollout", "undo", name][..],
            &["rollout", "history", name][..],
            &["get", name][..],
            &["logs", name][..],
            &["revision", "list", name][..],
            &["revision", "get", name][..],
            &["def", "get", name][..],
            &["workflow", "resume", name][..],
            &["workflow", "rollback", name][..],
            &["rollback", name][..],
            &["exec", name, "--", "ls"][..],
            &["port-forward", name][..],
            &["workflow", "logs", name][..],
        ] {
            person.types(words).fails(2, &["lower-case letters"]);
        }
        // A bare word of `up` may be a file, unless a revision is named.
        person.types(&["up", "--revision", "shop-v1", "--", name]).fails(1, &["lower-case letters"]);
    }
    assert!(!person.path("vela").exists(), "no target is opened");
}

#[test]
fn a_broken_kubeconfig_is_never_quoted() {
    let person = Person::new();
    let file = person.write(
        "config",
        "apiVersion: v1\nkind: Config\nusers:\n- name: me\n  user: [\n    token: hidden-token\ncurrent-context: me\n",
    );
    let said = person.types(&["ls", "--kubeconfig", &file]).fails(3, &["config", "line "]);
    assert!(!said.err.contains("hidden") && !said.out.contains("hidden"), "{said:?}");
}

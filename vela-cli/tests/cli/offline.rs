//! Commands that need no cluster.

use crate::{PAGE, Person, golden, site};

#[test]
fn version_help_and_completion() {
    let person = Person::new();
    assert_eq!(person.types(&["version"]).ok().out, format!("vela {}\n", env!("CARGO_PKG_VERSION")));
    let json: serde_json::Value =
        serde_json::from_str(&person.types(&["version", "-o", "json"]).ok().out).unwrap();
    assert_eq!(json["version"], env!("CARGO_PKG_VERSION"));
    for shell in ["bash", "zsh", "fish"] {
        assert!(person.types(&["completion", shell]).ok().out.contains("dry-run"), "{shell}");
    }
    golden("help.txt", &person.types(&["--help"]).ok().out);
    assert!(!person.path("vela").exists(), "none of these makes a sandbox");
}

#[test]
fn dry_run_prints_the_objects() {
    let person = Person::new();
    let (page, app) = (person.write("definitions/page.yaml", PAGE), person.write("app.yaml", site(false)));
    let folder = person.path("definitions").to_string_lossy().into_owned();
    let said = person.types(&["dry-run", "--offline", "-f", &app, "-d", &folder]).ok();
    golden("dry-run.yaml", &said.out);
    assert_eq!(said.err, "Rendered for Kubernetes 1.36.\n", "nothing is wrong");
    let of = |version: &str| {
        person.types(&["dry-run", "--offline", "-f", &app, "-d", &folder, "--kubernetes-version", version])
    };
    assert_eq!(of("1.25").ok().err, "Rendered for Kubernetes 1.25.\n");
    of("latest").fails(2, &["latest", "1.30"]);
    // The definition may also come with the application, and JSON gives the same objects.
    let said =
        person.types(&["dry-run", "--offline", "-f", &app, "-f", &page, "-o", "json", "-n", "prod"]).ok();
    let list: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(list["items"].as_array().unwrap().len(), 2);
    assert_eq!(list["items"][0]["metadata"]["namespace"], "prod");
    assert!(!said.out.contains("WebhookConfiguration"), "the flags ask for no webhooks");
    assert!(!person.path("vela").exists(), "no sandbox is made");
}

/// Without a cluster, the files say which versions there are, and a definition that is new is the first of itself.
#[test]
fn dry_run_takes_versions_from_files_and_refuses_others() {
    let person = Person::new();
    let page = |version: &str| {
        let named = format!("spec:\n  version: {version}\n");
        PAGE.replace("nginx", "n")
            .replacen("spec:\n", &named, 1)
            .replace("[{port: 80}]", &format!("[{{port: 80, name: v{}}}]", version.replace('.', "-")))
    };
    let indented: String = PAGE.lines().map(|line| format!("    {line}\n")).collect();
    let kept = format!(
        "apiVersion: core.oam.dev/v1beta1\nkind: DefinitionRevision\nmetadata: {{name: page-v7}}\nspec:\n  revision: 7\n  revisionHash: x\n  \
         definitionType: Component\n  componentDefinition:\n{indented}"
    );
    let all = format!("{}---\n{}---\n{kept}", page("1.0.0"), page("1.2.0"));
    let all = person.write("page.yaml", all);
    let dry_run = |type_: &str| {
        let app = person.write("app.yaml", site(false).replace("type: page", &format!("type: {type_}")));
        person.types(&["dry-run", "--offline", "-f", &app, "-d", &all])
    };
    for (type_, words) in [
        ("page", "name: v1-2-0"),
        ("page@v1.0.0", "name: v1-0-0"),
        ("page@v1", "name: v1-2-0"),
        ("page@v7", "workload.oam.dev/type: page-v7"),
    ] {
        let said = dry_run(type_).ok();
        assert!(said.out.contains(words), "{type_}: {}", said.out);
    }
    dry_run("page@v9.9").fails(
        1,
        &[
            "app.yaml:8:13",
            "component type \"page\" has no version \"v9.9\"",
            "known versions: page@v7, page@v1.2.0, page@v1.0.0",
        ],
    );
    let built_in = dry_run("webservice@v3");
    built_in.fails(1, &["component type \"webservice\" has no version \"v3\"", "webservice@v1"]);
}

#[test]
fn install_registers_webhooks_last() {
    let person = Person::new();
    let said = person.types(&["install", "--print", "--controller-image", "x/core:1", "--webhooks"]).ok();
    let last = said.out.rsplit("\n---\n").next().unwrap();
    assert!(
        last.contains("kind: ValidatingWebhookConfiguration") && last.contains("name: vela-core-webhook"),
        "{last}"
    );
    assert!(last.contains("core.oam.dev/webhooks: vela-core"), "{last}");
    let said = person.types(&["install", "--print", "--webhook-url", "https://127.0.0.1:9443"]).ok();
    assert!(said.out.contains("https://127.0.0.1:9443/validating-core-oam-dev-v1beta1-applications"));
    person
        .types(&["install", "--print", "--webhooks"])
        .fails(1, &["--webhooks", "--controller-image", "--webhook-url"]);
    person
        .types(&["install", "--print", "--webhook-url", "http://a"])
        .fails(1, &["--webhook-url", "https://"]);
}

#[test]
fn install_lets_the_controller_act_for_authors_only_when_asked() {
    let person = Person::new();
    let webhooks = ["install", "--print", "--controller-image", "x/core:1", "--webhooks"];
    let said = person.types(&webhooks).ok();
    assert!(!said.out.contains("impersonate") && !said.out.contains("--authenticate"), "{}", said.out);
    let said = person.types(&[&webhooks[..], &["--authenticate-application"]].concat()).ok();
    for words in ["- --authenticate-application", "name: vela-core-impersonate", "- impersonate"] {
        assert!(said.out.contains(words), "{words}: {}", said.out);
    }
    for words in ["vela-core-authors", "/stamp-author", "/keep-record"] {
        assert!(said.out.contains(words), "{words}: {}", said.out);
    }
    let alone = person.types(&["install", "--print", "--authenticate-application"]);
    alone.fails(1, &["--authenticate-application", "--webhooks"]);
}

#[test]
fn install_binds_what_its_flags_need() {
    let person = Person::new();
    let image = ["install", "--print", "--image", "x/core:1"];
    let said = person.types(&image).ok();
    for words in ["- --enable-leader-election", "type: Recreate", "name: vela-author", "name: vela-viewer"] {
        assert!(said.out.contains(words), "{words}: {}", said.out);
    }
    assert!(!said.out.contains("- secrets") && !said.out.contains("--allow-cross-namespace"), "{}", said.out);
    let more =
        ["--grant", "secrets", "--grant", "pods", "--allow-cross-namespace", "--allow-granting-rights"];
    let said = person.types(&[&image[..], &more].concat()).ok();
    for words in ["- secrets", "- --allow-cross-namespace", "- --allow-granting-rights"] {
        assert!(said.out.contains(words), "{words}: {}", said.out);
    }
    person.types(&["install", "--controller", "local", "--image", "x/core:1"]).fails(2, &["--controller"]);
    person.types(&["uninstall", "--sandbox"]).fails(1, &["sandbox", "vela sandbox reset"]);
    person.types(&["install", "--sandbox", "--controller", "local"]).fails(1, &["runs its own controllers"]);
}

#[test]
fn a_dry_run_judges_how_far_an_application_reaches() {
    let person = Person::new();
    let app = "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata: {name: spy}\nspec:\n  components:\n  - name: keys\n    \
               type: raw\n    properties:\n      apiVersion: v1\n      kind: ConfigMap\n      metadata: {name: keys, namespace: kube-system}\n";
    let file = person.write("spy.yaml", app);
    let words = ["dry-run", "--offline", "-f", &file];
    person.types(&words).fails(1, &["spy.yaml", "ConfigMap kube-system/keys", "--allow-cross-namespace"]);
    let said = person.types(&[&words[..], &["--allow-cross-namespace"]].concat()).ok();
    assert!(said.out.contains("namespace: kube-system"), "{}", said.out);
}

#[test]
fn a_dry_run_places_components_where_a_topology_says() {
    let person = Person::new();
    let app = "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata: {name: shop}\nspec:\n  components:\n  \
               - {name: web, type: worker, properties: {image: nginx}}\n  policies:\n  \
               - {name: blue, type: topology, properties: {namespace: blue}}\n  \
               - {name: green, type: topology, properties: {clusters: [local], namespace: green}}\n";
    let file = person.write("app.yaml", app);
    let words = ["dry-run", "--offline", "-f", &file];
    person.types(&words).fails(1, &["app.yaml:", "properties.namespace", "--allow-cross-namespace"]);
    let said = person.types(&[&words[..], &["--allow-cross-namespace"]].concat()).ok();
    for place in ["blue", "green"] {
        let head = format!("Application(shop with topology {place}) -- Component(web)");
        assert!(
            said.out.contains(&head) && said.out.contains(&format!("namespace: {place}")),
            "{}",
            said.out
        );
    }
    let far = person.write("far.yaml", app.replace("clusters: [local]", "clusters: [far]"));
    let words = ["dry-run", "--offline", "--allow-cross-namespace", "-f", &far];
    person.types(&words).fails(5, &["far.yaml:", "cluster \"far\"", "clusters: [local]"]);
}

#[test]
fn definitions_may_be_written_in_cue() {
    let person = Person::new();
    let definition = r#"note: {type: "component", attributes: workload: definition: {apiVersion: "v1", kind: "ConfigMap"}}
template: {
	output: {apiVersion: "v1", kind: "ConfigMap", data: text: parameter.text}
	parameter: text: string
}
"#;
    let app = "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata: {name: a}\nspec:\n  components:\n  - {name: c, type: note, properties: {text: hello}}\n";
    let (file, app) = (person.write("definitions/note.cue", definition), person.write("app.yaml", app));
    let folder = person.path("definitions").to_string_lossy().into_owned();
    for definitions in [&folder, &file] {
        let said = person.types(&["dry-run", "--offline", "-f", &app, "-d", definitions]).ok();
        assert!(said.out.contains("text: hello"), "{}", said.out);
    }
    person.write("definitions/note.cue", "note: {type: \"component\"}\n");
    person
        .types(&["dry-run", "--offline", "-f", &app, "-d", &folder])
        .fails(1, &["note.cue:1:1", "template"]);
}

#[test]
fn templates_may_import_the_kinds_of_the_cluster() {
    let definition = |package: &str, image: &str| {
        format!(
            "apiVersion: core.oam.dev/v1beta1\nkind: ComponentDefinition\nmetadata: {{name: plain}}\nspec:\n  workload: {{definition: {{apiVersion: apps/v1, kind: Deployment}}}}\n  schematic:\n    cue:\n      template: |\n        import apps \"{package}\"\n        output: apps.#Deployment & {{\n          spec: {{\n            selector: matchLabels: a: \"b\"\n            template: {{metadata: labels: a: \"b\", spec: containers: [{{name: context.name, image: {image}}}]}}\n          }}\n        }}\n        parameter: image: string\n"
        )
    };
    let app = "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata: {name: a}\nspec:\n  components:\n  - {name: c, type: plain, properties: {image: nginx}}\n";
    let person = Person::new();
    let app = person.write("app.yaml", app);
    let dry_run = |package: &str, image: &str| {
        let file = person.write("plain.yaml", definition(package, image));
        person.types(&["dry-run", "--offline", "-f", &app, "-d", &file])
    };
    for package in ["kube/apps/v1", "k8s.io/apps/v1"] {
        let out = dry_run(package, "parameter.image").ok().out;
        assert!(out.contains("kind: Deployment") && out.contains("image: nginx"), "{out}");
    }
    dry_run("kube/apps/v1", "5").fails(1, &["containers", "image", "conflicting values 5 and string"]);
    dry_run("kube/apps/v7", "parameter.image").fails(1, &["kube/apps/v7", "not known", "apps/v7"]);
    // What Kubernetes has withdrawn goes on to the version that followed, as objects written so do.
    let out = dry_run("kube/apps/v1beta2", "parameter.image").ok();
    assert!(out.out.contains("apiVersion: apps/v1beta2"), "{}", out.out);
    assert!(
        out.err.contains("does not serve apps/v1beta2") && out.err.contains("kinds of apps/v1"),
        "{}",
        out.err
    );
}

#[test]
fn dry_run_of_the_built_in_types() {
    let person = Person::new();
    let app = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/first-app.yaml");
    golden("first-app.yaml", &person.types(&["dry-run", "--offline", "-f", app]).ok().out);
}

#[test]
fn show_lists_types_and_their_parameters() {
    let person = Person::new();
    let types = person.types(&["show", "--offline"]).ok().out;
    assert!(types.contains("webservice") && types.contains("scaler"), "{types}");
    golden("show-scaler.txt", &person.types(&["show", "--offline", "scaler"]).ok().out);
    let json = person.types(&["show", "--offline", "worker", "-o", "json"]).ok().out;
    let shown: serde_json::Value = serde_json::from_str(&json).unwrap();
    let image = shown[0]["parameters"].as_array().unwrap().iter().find(|one| one["name"] == "image").unwrap();
    assert_eq!(image["required"], true);
    assert_eq!(image["type"], "string");
    person.types(&["show", "--offline", "workr"]).fails(1, &["workr", "worker"]);
}

#[test]
fn show_tells_what_stands_inside_lists_maps_and_alternatives() {
    let person = Person::new();
    golden("show-webservice.txt", &person.types(&["show", "--offline", "webservice"]).ok().out);
    golden("show-env.txt", &person.types(&["show", "--offline", "env"]).ok().out);
    golden("show-storage.md", &person.types(&["show", "--offline", "storage", "-o", "markdown"]).ok().out);
    let json = person.types(&["show", "--offline", "webservice", "-o", "json"]).ok().out;
    let shown: serde_json::Value = serde_json::from_str(&json).unwrap();
    let ports = shown[0]["parameters"].as_array().unwrap().iter().find(|one| one["name"] == "ports").unwrap();
    let protocol =
        ports["parameters"].as_array().unwrap().iter().find(|one| one["name"] == "protocol").unwrap();
    assert_eq!(protocol["enum"], serde_json::json!(["TCP", "UDP", "SCTP"]));
    // What the outline says can be written.
    let app = "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata: {name: a}\nspec:\n  components:\n  - name: c\n    type: webservice\n    \
               properties:\n      image: nginx\n      ports:\n      - port: 80\n        protocol: TCP\n      env:\n      - name: A\n        valueFrom:\n          \
               secretKeyRef:\n            name: s\n            key: k\n    traits:\n    - type: storage\n      properties:\n        pvc:\n        \
               - name: data\n          mountPath: /data\n";
    let app = person.write("app.yaml", app);
    person.types(&["dry-run", "--offline", "-f", &app]).ok();
}

#[test]
fn show_tells_what_it_can_of_every_kind_and_language() {
    let person = Person::new();
    let definition = |kind: &str, name: &str, schematic: &str| {
        format!(
            "apiVersion: core.oam.dev/v1beta1\nkind: {kind}\nmetadata: {{name: {name}}}\nspec:\n  workload: {{definition: {{apiVersion: v1, kind: ConfigMap}}}}\n  schematic: {schematic}\n---\n"
        )
    };
    let terraform = r#"{terraform: {configuration: "variable \"bucket\" { type = string }"}}"#;
    let cue = r#"{cue: {template: "parameter: clusters: [...string]"}}"#;
    let conditional = r#"{cue: {template: 'parameter: {mode: *"a" | "b", if mode == "b" {url: string}}'}}"#;
    let helm = "{helm: {release: {chart: {spec: {chart: podinfo}}}, repository: {url: 'https://charts'}}}";
    person.write(
        "more.yaml",
        [
            definition("ComponentDefinition", "bucket", terraform),
            definition("ComponentDefinition", "chart", helm),
            definition("PolicyDefinition", "spread", cue),
            definition("WorkflowStepDefinition", "notify-team", cue),
            definition("TraitDefinition", "fetch", conditional),
        ]
        .concat(),
    );
    person.write("page.yaml", PAGE);
    let show = |name: &str, words: &[&str]| {
        let said = person.types(&["show", "--offline", "-d", "more.yaml", "-d", "page.yaml", name]).ok();
        for words in words {
            assert!(said.out.contains(words), "{words}: {}", said.out);
        }
    };
    show("bucket", &["component bucket", "bucket  string, required"]);
    show("chart", &["the values of the Helm chart podinfo of https://charts"]);
    show("spread", &["policy spread", "clusters  []string"]);
    show("notify-team", &["workflow step notify-team", "clusters"]);
    show("fetch", &["trait fetch", "mode  string", "url  string, required, only if mode == \"b\""]);
    show("page", &["handlebars", "replicas  any", "image  any"]);
}

#[test]
fn install_can_print_what_it_would_apply() {
    let person = Person::new();
    let said =
        person.types(&["install", "--print", "--controller-image", "registry.example/vela-core:1"]).ok();
    for words in ["kind: CustomResourceDefinition", "name: webservice", "registry.example/vela-core:1"] {
        assert!(said.out.contains(words), "{words}");
    }
    assert!(!person.path("vela").exists(), "no sandbox is made");
}

#[test]
fn a_parameter_that_a_step_fills_is_not_missing() {
    let person = Person::new();
    let front = |parameters: &str| {
        let text = format!(
            "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata: {{name: late}}\nspec:\n  components:\n    \
             - {{name: front, type: webservice, properties: {{{parameters}}}}}\n  workflow:\n    steps:\n      \
             - {{name: hold, type: suspend, outputs: [{{name: chosen, valueFrom: context.name}}]}}\n      \
             - name: roll\n        type: apply-component\n        inputs: [{{from: chosen, parameterKey: image}}]\n        \
             properties: {{component: front}}\n"
        );
        person.write("app.yaml", text);
        person.types(&["dry-run", "--offline", "app.yaml"])
    };
    let said = front("cpu: \"0.5\"").ok();
    assert!(said.out.contains("# waits: output \"chosen\" is not there yet"), "{said:?}");
    // Any other mistake is reported as before.
    front("cpu: 5").fails(1, &["properties.cpu"]);
}

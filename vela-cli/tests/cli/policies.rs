//! Policies that change applications: what they would change, what became of them, and their mistakes at their places.

use serde_json::Value;

use crate::Person;

const DEFINITIONS: &str = r#"apiVersion: core.oam.dev/v1beta1
kind: PolicyDefinition
metadata: {name: mirror}
spec:
  scope: Application
  schematic:
    cue:
      template: |
        output: {
          components: [for one in context.appComponents {
            name: one.name
            type: one.type
            properties: image: parameter.registry + "/" + one.properties.image
          }]
          labels: mirrored: "yes"
        }
        parameter: registry: string
---
apiVersion: core.oam.dev/v1beta1
kind: PolicyDefinition
metadata: {name: audit}
spec:
  scope: Application
  global: true
  schematic:
    cue:
      template: |
        output: annotations: "example.com/audited": context.appName
        parameter: {}
"#;

const APPLICATION: &str = "apiVersion: core.oam.dev/v1beta1
kind: Application
metadata: {name: shop}
spec:
  components:
  - {name: front, type: webservice, properties: {image: nginx}}
  policies:
  - {name: ours, type: mirror, properties: {registry: registry.local}}
  - {name: keep, type: garbage-collect}
";

#[test]
fn what_policies_would_change_is_told_offline() {
    let person = Person::new();
    let (definitions, app) =
        (person.write("policies.yaml", DEFINITIONS), person.write("app.yaml", APPLICATION));
    let said = person.types(&["policy", "dry-run", "--offline", "-d", &definitions, &app]).ok();
    let expected = "Application default/shop:\n\n\
        audit (audit, global) changes 1 annotation:\n\
        \x20 + metadata.annotations: {\"example.com/audited\":\"shop\"}\n\n\
        ours (mirror, explicit) changes spec, 1 label:\n\
        \x20 + metadata.labels: {\"mirrored\":\"yes\"}\n\
        \x20 ~ spec.components[front].properties.image: \"nginx\" → \"registry.local/nginx\"\n";
    assert_eq!(said.out, expected);
    let said = person.types(&[
        "policy",
        "dry-run",
        "--offline",
        "-d",
        &definitions,
        &app,
        "--outcome",
        "-o",
        "json",
    ]);
    let left: Value = serde_json::from_str(&said.ok().out).unwrap();
    assert_eq!(left["spec"]["components"][0]["properties"]["image"], "registry.local/nginx");
    assert_eq!(left["metadata"]["labels"]["mirrored"], "yes");
    let said = person.types(&["dry-run", "--offline", "-d", &definitions, &app]).ok();
    assert!(said.out.contains("image: registry.local/nginx"), "{}", said.out);
    assert!(!person.path("vela").exists(), "no sandbox is made");

    person.write("bad.yaml", APPLICATION.replace("registry: registry", "registri: registry"));
    for verb in [&["policy", "dry-run"][..], &["dry-run"]] {
        let words = [verb, &["--offline", "-d", &definitions, "bad.yaml"]].concat();
        person
            .types(&words)
            .fails(1, &["bad.yaml:8:", "parameter.registry must be given", "did you mean \"registry\"?"]);
    }
    person
        .types(&["policy", "dry-run", "--offline", "shop"])
        .fails(1, &["\"shop\" names an application of a cluster", "-f app.yaml"]);
}

/// A PolicyDefinition of this spec and template.
fn definition(spec: &str, template: &str) -> String {
    let template: String = template.lines().map(|line| format!("        {line}\n")).collect();
    format!(
        "apiVersion: core.oam.dev/v1beta1\nkind: PolicyDefinition\nmetadata: {{name: audit}}\nspec:\n{spec}  schematic:\n    cue:\n      \
         template: |\n{template}"
    )
}

#[test]
fn mistakes_of_policy_definitions_have_their_places() {
    let person = Person::new();
    let vet = |text: String| person.types(&["def", "vet", &person.write("audit.yaml", text)]);
    let (changing, global) = ("  scope: Application\n", "  scope: Application\n  global: true\n");
    for (spec, template, words) in [
        (
            global,
            "output: labels: a: \"b\"\nparameter: team: string",
            &["audit.yaml:10:9", "at 2:18", "parameter.team must be given", "a default"][..],
        ),
        (
            "  global: true\n",
            "output: labels: a: \"b\"",
            &["audit.yaml:5:11", "has to say so", "write spec.scope: Application"],
        ),
        (
            "  scope: Component\n",
            "output: a: \"b\"",
            &["audit.yaml:5:10", "\"Component\" is no scope of a policy"],
        ),
        (changing, "patch: labels: a: \"b\"", &["the template has no `output`, so it changes nothing"]),
        (
            changing,
            "output: {\n  labels: a: \"b\"\n  label: a: \"b\"\n}",
            &["audit.yaml:9:9", "at 3:", "output.label: ", "did you mean \"labels\"?"],
        ),
        (
            changing,
            "output: labels: a: 7",
            &["audit.yaml:9:9", "at 1:", "output.labels must be an object of strings"],
        ),
        (changing, "output: components: {a: 7}", &["output.components must be a list of objects"]),
    ] {
        vet(definition(spec, template)).fails(1, words);
    }
    vet("apiVersion: core.oam.dev/v1beta1\nkind: PolicyDefinition\nmetadata: {name: audit}\nspec: {scope: Application, global: true}\n".to_owned())
        .fails(1, &["audit.yaml:4:", "only a CUE template can change an application"]);
    for (spec, template, words) in [
        (
            "  priority: 3\n",
            "output: {apiVersion: \"v1\", kind: \"Secret\"}",
            "only global policies have a priority",
        ),
        ("", "parameter: {}", "so it makes no object"),
    ] {
        let said = vet(definition(spec, template)).ok();
        assert!(said.err.contains("warning[") && said.err.contains(words), "{said:?}");
    }
    // What is known only with an application is no mistake.
    let late = "if parameter.on {output: labels: a: context.appName}\noutput: components: [for one in context.appComponents {one}]\n\
                parameter: {on: *true | bool, more?: string}";
    let said = vet(definition(global, late)).ok();
    assert_eq!((said.err.as_str(), said.out.as_str()), ("", "PolicyDefinition audit is valid\n"));
    vet(DEFINITIONS.to_owned()).ok();
}

const FENCE: &str = r#"apiVersion: core.oam.dev/v1beta1
kind: PolicyDefinition
metadata: {name: fence}
spec:
  schematic:
    cue:
      template: |
        output: {apiVersion: "v1", kind: "ConfigMap", data: text: "first"}
        parameter: {}
"#;

#[test]
fn objects_of_policies_are_in_the_status() {
    let person = Person::new();
    let fenced = APPLICATION.replace(
        "  - {name: ours, type: mirror, properties: {registry: registry.local}}\n",
        "  - {name: limits, type: fence@v1}\n",
    );
    let (fence, app) = (person.write("fence.yaml", FENCE), person.write("app.yaml", fenced));
    person.types(&["up", &fence]).ok();
    // The controller records the version a moment after the definition is there.
    let is_up = |_: &u32| person.types(&["up", &app, "--timeout", "60s"]).code == Some(0);
    assert!((0..20).any(|attempt| is_up(&attempt)));
    let said = person.types(&["status", "shop"]).ok();
    assert!(said.out.contains("ConfigMap limits (policy)"), "{}", said.out);
    let read = || -> Value {
        serde_json::from_str(&person.types(&["status", "shop", "-o", "json"]).ok().out).unwrap()
    };
    let status = read();
    assert_eq!(status["status"]["policy"][0]["type"], "fence@v1", "{status:#}");
    let children = status["tree"]["children"].as_array().unwrap();
    let limits = children.iter().find(|one| one["name"] == "limits").unwrap();
    assert_eq!((&limits["kind"], &limits["origin"]), (&Value::from("ConfigMap"), &Value::from("policy")));

    // The next version of the definition is another one.
    let second = person.write("fence.yaml", FENCE.replace("first", "second"));
    let with = |version: &str| {
        let text = std::fs::read_to_string(&app).unwrap().replace("fence@v1", version);
        person.types(&["dry-run", "-d", &second, &person.write("other.yaml", text)])
    };
    assert!(with("fence@v1").ok().out.contains("text: first"));
    assert!(with("fence@v2").ok().out.contains("text: second"));
    with("fence@v7").fails(1, &["other.yaml:8:", "policy type \"fence\" has no version \"v7\""]);
}

#[test]
fn what_became_of_policies_is_listed() {
    let person = Person::new();
    let (definitions, app) =
        (person.write("policies.yaml", DEFINITIONS), person.write("app.yaml", APPLICATION));
    person.types(&["up", &definitions, &app]).ok();
    let said = person.types(&["policy", "view", "shop"]).ok();
    let lines: Vec<Vec<&str>> = said.out.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[1][..5], ["audit", "audit", "global", "yes", "1"]);
    assert_eq!(lines[2], ["ours", "mirror", "explicit", "yes", "spec,", "1", "label"]);
    assert_eq!(lines[3], ["keep", "garbage-collect", "explicit"]);
    assert_eq!(person.types(&["policy", "view", "shop", "-o", "name"]).ok().out, "audit\nours\nkeep\n");
    let said = person.types(&["policy", "dry-run", "shop"]).ok();
    assert!(said.out.contains("\"nginx\" → \"registry.local/nginx\""), "{}", said.out);
    let said = person.types(&["status", "shop", "-o", "json"]).ok();
    assert!(said.out.contains("appliedApplicationPolicies"), "{}", said.out);
    person.types(&["policy", "view", "shp"]).fails(1, &["there is no application \"shp\"", "vela ls -A"]);
}

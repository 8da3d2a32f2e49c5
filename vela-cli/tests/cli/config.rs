//! `vela config` and `vela config-template` on the sandbox: configs are made, shown without their values, copied and deleted.

use serde_json::{Value, json};

use crate::Person;

/// A template as KubeVela stores it, whose configs have a ConfigMap beside them.
const TEMPLATE: &str = r#"apiVersion: v1
kind: ConfigMap
metadata:
  name: config-template-mysql
  namespace: vela-system
  labels: {config.oam.dev/catalog: velacore-config, config.oam.dev/scope: project}
  annotations: {config.oam.dev/sensitive: "false"}
data:
  template: |
    metadata: {name: "mysql", scope: "project", sensitive: false}
    template: {
    	parameter: {
    		// +usage=Address of the server
    		host: string
    		port: *3306 | int
    		password: string
    		auth?: {user?: string}
    	}
    	output: {
    		type: "example.com/mysql"
    		stringData: url: "mysql://\(parameter.host):\(parameter.password)"
    	}
    	outputs: note: {
    		apiVersion: "v1"
    		kind:       "ConfigMap"
    		metadata: name: context.name + "-note"
    		data: host: parameter.host
    	}
    }
"#;

fn with_template() -> Person {
    let person = Person::new();
    person.write("template.yaml", TEMPLATE);
    person.types(&["up", "template.yaml"]).ok();
    person
}

fn of_json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_config_is_made_shown_and_deleted() {
    let person = with_template();
    let words = ["host=10.0.0.1", "port=3307", "password=hidden-value", "auth.user=ann"];
    let create = |more: &[&str]| person.types(&[&["config", "create", "db", "-t", "mysql"], more].concat());
    let said = create(&[&words[..], &["--dry-run"]].concat()).ok();
    assert!(said.err.contains("Secret default/db created (dry run)"), "{said:?}");
    assert!(!format!("{said:?}").contains("hidden-value"), "{said:?}");
    assert!(person.types(&["config", "list"]).ok().err.contains("There is no config in namespace default"));
    let said = create(&words).ok();
    let objects = ["Secret default/db created", "ConfigMap default/db-note created"];
    assert!(objects.iter().all(|object| said.err.contains(object)), "{said:?}");
    assert!(create(&words).ok().err.contains("Secret default/db unchanged"), "it may be made again");

    // The values are printed only where that is asked for, in no form.
    for words in [
        &["config", "get", "db"][..],
        &["config", "get", "db", "-o", "yaml"],
        &["config", "list", "-o", "json"],
        &["config", "list", "-o", "wide"],
    ] {
        let said = person.types(words).ok();
        assert!(!format!("{said:?}").contains("hidden-value") && said.out.contains("mysql"), "{said:?}");
    }
    let said = person.types(&["config", "get", "db"]).ok();
    for part in ["password: (secret)", "ConfigMap default/db-note", "example.com/mysql"] {
        assert!(said.out.contains(part), "{part}: {said:?}");
    }
    let said = person.types(&["config", "get", "db", "--show-secrets", "-o", "json"]).ok();
    let properties =
        json!({"host": "10.0.0.1", "port": 3307, "password": "hidden-value", "auth": {"user": "ann"}});
    assert_eq!(of_json(&said.out)["properties"], properties);

    assert_eq!(person.types(&["config", "ls", "-t", "mysql", "-o", "name"]).ok().out, "db\n");
    assert_eq!(
        of_json(&person.types(&["config", "ls", "-t", "other", "-A", "-o", "json"]).ok().out),
        json!([])
    );
    let table = person.types(&["config", "list", "-A"]).ok().out;
    assert!(table.starts_with("NAMESPACE   NAME   TEMPLATE"), "{table}");

    person.types(&["config", "delete", "db"]).fails(1, &["the config db of namespace default", "--yes (-y)"]);
    let said = person.types(&["config", "delete", "db", "-y"]).ok();
    let gone = ["ConfigMap default/db-note deleted", "Secret default/db deleted"];
    assert!(gone.iter().all(|object| said.err.contains(object)), "{said:?}");
    person.types(&["config", "get", "db"]).fails(1, &["there is no config \"db\" in namespace default"]);
}

#[test]
fn a_config_needs_no_template_and_takes_a_file() {
    let person = Person::new();
    person.write("properties.yaml", "host: a\nports: [1, 2]\nauth: {user: ann}\n");
    let words = ["config", "create", "plain", "-f", "properties.yaml", "host=b", "auth.level=3"];
    person.types(&words).ok();
    let said = person.types(&["config", "get", "plain", "--show-secrets", "-o", "json"]).ok();
    let expected = json!({"host": "b", "ports": [1, 2], "auth": {"user": "ann", "level": "3"}});
    assert_eq!(of_json(&said.out)["properties"], expected);
    person.write("list.yaml", "- a\n");
    person.types(&["config", "create", "x", "-f", "list.yaml"]).fails(1, &["list.yaml: expected one object"]);
    person
        .types(&["config", "create", "x", "host.name=a", "host=b", "host.name=c"])
        .fails(1, &["host.name: "]);
    person.types(&["config", "create", "x", "host"]).fails(2, &["write it like NAME=VALUE"]);
    // Nothing of it was stored.
    assert_eq!(person.types(&["config", "list", "-o", "name"]).ok().out, "plain\n");
}

#[test]
fn what_a_template_does_not_take_is_told_without_it() {
    let person = with_template();
    let create = |words: &[&str]| {
        let said = person.types(&[&["config", "create", "db", "-t", "mysql"], words].concat());
        assert!(!format!("{said:?}").contains("hidden-value"), "{said:?}");
        said
    };
    create(&["host=a"]).fails(1, &["config db: ", "password", "`vela config-template show mysql`"]);
    create(&["hots=hidden-value"]).fails(1, &["hots: the template has no property \"hots\"", "host"]);
    create(&["port=hidden-value"]).fails(1, &["port: the value cannot be taken: it is a whole number"]);
    person.write("wrong.yaml", "host: [hidden-value]\npassword: hidden-value\n");
    create(&["-f", "wrong.yaml"]).fails(1, &["config db: ", "host"]);
    person
        .types(&["config", "create", "db", "-t", "mysq", "host=a"])
        .fails(1, &["there is no config template \"mysq\"", "mysql"]);
    person.types(&["config", "create", "db", "-t", "A/b"]).fails(2, &["team-a/mysql"]);
    assert_eq!(person.types(&["config", "list", "-o", "name"]).ok().out, "");
}

#[test]
fn what_is_no_config_is_neither_changed_nor_deleted() {
    let person = with_template();
    let secret =
        "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\nstringData: {password: hidden-value}\n";
    let note = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: db-note}\ndata: {mine: \"1\"}\n";
    person.write("objects.yaml", format!("{secret}---\n{note}"));
    person.types(&["up", "objects.yaml"]).ok();
    person.types(&["config", "create", "login", "a=b"]).fails(1, &["Secret default/login", "no config"]);
    person.types(&["config", "get", "login", "--show-secrets"]).fails(1, &["config login: ", "no config"]);
    person.types(&["config", "delete", "login", "-y"]).fails(1, &["no config"]);
    let words = ["config", "create", "db", "-t", "mysql", "host=a", "password=b"];
    person.types(&words).fails(1, &["ConfigMap default/db-note", "goes with no config"]);
    assert_eq!(person.types(&["config", "list", "-o", "name"]).ok().out, "", "nothing was written");
    assert_eq!(person.types(&["diff", "objects.yaml"]).ok().out, "2 unchanged\n");
    // A config keeps its template.
    person.types(&["config", "create", "plain", "a=b"]).ok();
    let words = ["config", "create", "plain", "-t", "mysql", "host=a", "password=b"];
    person.types(&words).fails(1, &["the template of the config can not be changed"]);
    // One that is not there lets none be deleted.
    person.types(&["config", "delete", "plain", "other", "-y"]).fails(1, &["there is no config \"other\""]);
    assert_eq!(person.types(&["config", "list", "-o", "name"]).ok().out, "plain\n");
}

#[test]
fn a_sensitive_config_keeps_its_values() {
    let person = Person::new();
    person.write("template.yaml", TEMPLATE.replace("sensitive: \"false\"", "sensitive: \"true\""));
    person.types(&["up", "template.yaml"]).ok();
    person.types(&["config", "create", "db", "-t", "mysql", "host=a", "password=hidden-value"]).ok();
    let said = person.types(&["config", "get", "db"]).ok();
    assert!(said.out.contains("(the config is sensitive)") && !said.out.contains("hidden-value"), "{said:?}");
    let said =
        person.types(&["config", "get", "db", "--show-secrets"]).fails(1, &["the config is sensitive"]);
    assert!(!format!("{said:?}").contains("hidden-value"), "{said:?}");
}

#[test]
fn templates_are_listed_and_described() {
    let person = with_template();
    let own = TEMPLATE.replace("namespace: vela-system", "namespace: default").replace("-mysql", "-own");
    person.write("own.yaml", own);
    person.types(&["up", "own.yaml"]).ok();
    assert_eq!(person.types(&["config-template", "list", "-o", "name"]).ok().out, "own\nmysql\n");
    let said = person.types(&["config-template", "ls", "-n", "other", "-o", "json"]).ok();
    assert_eq!(of_json(&said.out)[0]["name"], "mysql");
    let said = person.types(&["config-template", "show", "mysql"]).ok();
    for part in ["config template mysql\n", "host", "Address of the server", "3306", "auth"] {
        assert!(said.out.contains(part), "{part}: {said:?}");
    }
    let said = person.types(&["config-template", "show", "default/own", "-o", "json"]).ok();
    let described = of_json(&said.out).to_string();
    assert!(described.contains("\"name\":\"password\""), "{described}");
    person.types(&["config-template", "show", "own"]).fails(
        1,
        &["no config template \"own\"", "namespace vela-system has no ConfigMap config-template-own"],
    );
}

/// The same template as a file of CUE.
fn template_file() -> String {
    let (_, text) = TEMPLATE.split_once("template: |\n").unwrap();
    text.lines().map(|line| format!("{}\n", line.strip_prefix("    ").unwrap_or(line))).collect()
}

#[test]
fn a_template_in_cue_is_applied_used_and_deleted() {
    let person = Person::new();
    person.write("mysql.cue", template_file());
    let said = person.types(&["config-template", "apply", "-f", "mysql.cue", "--dry-run"]).ok();
    assert!(said.err.contains("ConfigMap vela-system/config-template-mysql created (dry run)"), "{said:?}");
    assert!(said.out.contains("Address of the server") && said.out.contains("schema: "), "{said:?}");
    assert_eq!(person.types(&["config-template", "list", "-o", "name"]).ok().out, "");

    let said = person.types(&["config-template", "apply", "mysql.cue"]).ok();
    assert!(said.err.contains("ConfigMap vela-system/config-template-mysql created"), "{said:?}");
    let said = person.types(&["config-template", "apply", "-f", "mysql.cue"]).ok();
    assert!(said.err.contains("config-template-mysql unchanged"), "{said:?}");
    let said = person.types(&["config-template", "show", "mysql"]).ok();
    for part in ["host", "Address of the server", "3306"] {
        assert!(said.out.contains(part), "{part}: {said:?}");
    }
    person.types(&["config", "create", "db", "-t", "mysql", "host=a", "password=b"]).ok();
    let said = person.types(&["config", "get", "db", "--show-secrets", "-o", "json"]).ok();
    assert_eq!(of_json(&said.out)["template"], "mysql");
    assert_eq!(of_json(&said.out)["type"], "example.com/mysql");

    person.types(&["config-template", "apply", "mysql.cue", "--name", "default/own"]).ok();
    assert_eq!(person.types(&["config-template", "list", "-o", "name"]).ok().out, "own\nmysql\n");
    person
        .types(&["config-template", "delete", "mysql"])
        .fails(1, &["template mysql would be deleted", "(-y)"]);
    person
        .types(&["config-template", "delete", "mysql", "none", "-y"])
        .fails(1, &["no config template \"none\""]);
    let said = person.types(&["config-template", "del", "mysql", "default/own", "-y"]).ok();
    assert!(said.err.contains("ConfigMap default/config-template-own deleted"), "{said:?}");
    assert_eq!(person.types(&["config-template", "list", "-o", "name"]).ok().out, "");
    assert_eq!(person.types(&["config", "list", "-o", "name"]).ok().out, "db\n", "configs stay");
}

#[test]
fn a_wrong_template_is_told_at_its_place() {
    let person = Person::new();
    let apply = |text: &str| {
        person.write("t.cue", text);
        person.types(&["config-template", "apply", "t.cue"])
    };
    apply("metadata: name: \"a\"\ntemplate: {\n").fails(1, &["t.cue:2:12"]);
    apply("metadata: name: \"a\"\ntemplate: {parameter: {}, output: type: paramete.x}\n")
        .fails(1, &["t.cue:2:41", "paramete"]);
    apply("metadata: name: \"a\"\n").fails(1, &["t.cue:1:1", "`template.parameter`"]);
    apply("template: parameter: {}\n").fails(1, &["t.cue:1:1", "`metadata.name`", "--name"]);
    apply("metadata: name: \"A b\"\ntemplate: parameter: {}\n").fails(1, &["t.cue:1:1", "\"A b\""]);
    person.types(&["config-template", "apply", "none.cue"]).fails(1, &["none.cue cannot be read"]);
    person.types(&["config-template", "apply"]).fails(2, &["<FILE"]);
    // What is no template is not overwritten, and not deleted.
    let other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config-template-a, namespace: vela-system}\ndata: {x: text}\n";
    person.write("other.yaml", other);
    person.types(&["up", "other.yaml"]).ok();
    apply("metadata: name: \"a\"\ntemplate: parameter: {}\n")
        .fails(1, &["no config template", "nothing was written"]);
    person.types(&["config-template", "delete", "a", "-y"]).fails(1, &["no config template"]);
    assert_eq!(person.types(&["diff", "other.yaml"]).ok().out, "1 unchanged\n");
}

#[test]
fn a_config_is_distributed_and_recalled() {
    let person = with_template();
    let spaces =
        ["a", "b"].map(|name| format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: team-{name}}}\n"));
    person.write("spaces.yaml", spaces.join("---\n"));
    person.types(&["up", "spaces.yaml"]).ok();
    person.types(&["config", "create", "db", "-t", "mysql", "host=a", "password=hidden-value"]).ok();
    let distribute = |words: &[&str]| {
        let said = person.types(&[&["config", "distribute", "db"], words].concat());
        assert!(!format!("{said:?}").contains("hidden-value"), "{said:?}");
        said
    };
    let names = |namespace: &str| person.types(&["config", "list", "-n", namespace, "-o", "name"]).ok().out;
    distribute(&[]).fails(2, &["--target"]);
    distribute(&["-t", "team-a,none"]).fails(1, &["there is no namespace none", "nothing was written"]);
    distribute(&["-t", "prod/team-a"]).fails(5, &["another cluster", "works on one cluster"]);
    distribute(&["-t", "default"]).fails(1, &["its own namespace"]);
    assert_eq!(names("team-a"), "");

    let said = distribute(&["-t", "team-a", "--target", "local/team-b"]).ok();
    assert!(said.err.contains("Secret team-b/db created"), "{said:?}");
    assert!(distribute(&["-t", "team-b"]).ok().err.contains("unchanged"));
    let said = person.types(&["config", "get", "db", "-n", "team-a", "--show-secrets", "-o", "json"]).ok();
    let copy = of_json(&said.out);
    assert_eq!((&copy["template"], &copy["objects"]), (&json!("mysql"), &json!([])));
    assert_eq!(copy["properties"], json!({"host": "a", "password": "hidden-value"}));
    person
        .types(&["config", "distribute", "db", "-n", "team-a", "-t", "team-b"])
        .fails(1, &["a copy of default/db"]);

    // A change reaches the copies when it is distributed again.
    person.types(&["config", "create", "db", "-t", "mysql", "host=c", "password=hidden-value"]).ok();
    assert!(distribute(&["-t", "team-a"]).ok().err.contains("Secret team-a/db changed"));
    let said = distribute(&["--recall", "-t", "team-a"]).ok();
    assert!(said.err.contains("Secret team-a/db deleted"), "{said:?}");
    assert_eq!((names("team-a"), names("team-b")), (String::new(), "db\n".to_owned()));
    // The copies can be taken back although the config is gone.
    person.types(&["config", "delete", "db", "-y"]).ok();
    assert!(distribute(&["--recall"]).ok().err.contains("Secret team-b/db deleted"));
    assert!(distribute(&["--recall"]).ok().err.contains("There is no copy of the config default/db"));

    // A Secret of another owner is neither overwritten nor deleted.
    person.types(&["config", "create", "db", "-n", "team-a", "x=y"]).ok();
    person.types(&["config", "create", "db", "a=b"]).ok();
    distribute(&["-t", "team-a"]).fails(1, &["Secret team-a/db", "no copy of this config"]);
    distribute(&["--recall", "-t", "team-a"]).fails(1, &["no copy of default/db", "nothing was deleted"]);
    assert_eq!(names("team-a"), "db\n");
}

//! `vela config` and `vela config-template` on the sandbox: configs are made, shown without their values, and deleted.

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

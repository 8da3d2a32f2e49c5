//! The examples of the crate, and what they print.

// Their `main` is called by people only.
#[allow(dead_code)]
#[path = "../../examples/explore.rs"]
mod explore;
#[allow(dead_code)]
#[path = "../../examples/export.rs"]
mod export;
#[allow(dead_code)]
#[path = "../../examples/validate.rs"]
mod validate;

#[test]
fn a_template_is_exported_as_json_yaml_and_cue() {
    let expected = r#"{"pods":["web-1","web-2"],"title":"Web"}
---
title: Web
pods:
  - web-1
  - web-2
---
title: "Web"
pods: ["web-1", "web-2"]
"#;
    assert_eq!(export::run().expect("evaluates"), expected);
}

#[test]
fn data_are_judged_by_rules_and_mistakes_have_places() {
    let expected = r#"servers.yaml:5:9: servers.1.port: invalid value 70000 (out of bound <=65535) (out_of_bound)
servers.yaml:6:3: servers.1.prot: field not allowed (not_allowed)
  did you mean "port"?
"#;
    assert_eq!(validate::run().expect("the rules compile"), expected);
}

#[test]
fn a_value_is_explored_step_by_step() {
    let expected = r#"port Regular ["Where it listens."] [("short", "p")]
limit Optional ["How many it serves."] []
price Regular [] []
url Regular [] []
the price is 1.10
http://localhost:80 comes of the default 80 in service.cue:4:8
http://localhost:8080 comes of the input 8080 in settings.yaml:1:7
"#;
    assert_eq!(explore::run().expect("evaluates"), expected);
}

//! `vela def test`: tests of definitions in files beside them.

use crate::{PAGE, Person};

/// A component with a health policy and a message, and a trait.
const WEB: &str = r#"web: {
	type: "component"
	attributes: {
		workload: definition: {apiVersion: "apps/v1", kind: "Deployment"}
		status: {
			healthPolicy: "isHealth: context.output.status.readyReplicas == context.output.spec.replicas"
			customStatus: "message: \"\\(context.output.status.readyReplicas) ready\""
		}
	}
}
template: {
	output: {
		apiVersion: "apps/v1"
		kind:       "Deployment"
		spec: {
			replicas: parameter.replicas
			selector: matchLabels: app: context.name
			template: {
				metadata: labels: app: context.name
				spec: containers: [{name: "web", image: parameter.image}]
			}
		}
	}
	if parameter.port != _|_ {
		outputs: service: {
			apiVersion: "v1"
			kind:       "Service"
			spec: ports: [{port: parameter.port}]
		}
	}
	parameter: {
		image:    string
		replicas: *1 | int & >0
		port?:    int
	}
}
"#;

const PASSING: &str = r#"tests:
- name: one replica and no Service unless asked for
  component: {type: web, properties: {image: nginx}}
  expect:
    objects:
    - kind: Deployment
      metadata: {name: test, namespace: default}
      spec: {replicas: 1, template: {spec: {containers: [{image: nginx}]}}}
    absent: [{kind: Service}]
- name: traits change what is made
  component:
    type: web
    properties: {image: nginx, port: 80}
    traits: [{type: scaler, properties: {replicas: 3}}]
  namespace: shop
  expect:
    objects:
    - {kind: Deployment, metadata: {namespace: shop}, spec: {replicas: 3}}
    - {kind: Service, spec: {ports: [{port: 80}], type: null}}
- name: a number that is none is refused
  component: {type: web, properties: {image: nginx, replicas: many}}
  expect: {errors: [replicas]}
- name: an unknown parameter is refused
  component: {type: web, properties: {image: nginx, imag: nginx}}
  expect: {errors: ["imag"]}
- name: it is healthy when its pods are
  component: {type: web, name: front, properties: {image: nginx, replicas: 2}}
  live: [{kind: Deployment, status: {readyReplicas: 2}}]
  expect: {status: {healthy: true, message: 2 ready}}
- name: a whole application
  application:
    components: [{name: a, type: web, properties: {image: nginx}}, {name: b, type: webservice, properties: {image: nginx}}]
  expect: {objects: [{kind: Deployment, metadata: {name: a}}, {kind: Deployment, metadata: {name: b}}]}
"#;

fn person() -> Person {
    let person = Person::new();
    person.write("types/web.cue", WEB);
    person
}

#[test]
fn tests_beside_a_definition_pass() {
    let person = person();
    let file = person.write("types/web.test.yaml", PASSING);
    let said = person.types(&["def", "test", &file]).ok();
    assert_eq!(said.out.lines().filter(|line| line.starts_with("ok ")).count(), 6, "{said:?}");
    assert!(said.err.contains("6 passed, 0 failed."), "{said:?}");
    let said = person.types(&["def", "test", "types", "--filter", "number"]).ok();
    assert!(said.err.contains("1 passed, 0 failed."), "{said:?}");
    person.types(&["def", "test", "types", "--filter", "nothing"]).fails(1, &["there is no test whose name"]);
    // They are in the way of no other reader of the folder.
    person.types(&["def", "vet", "types"]).ok();
    // They may lie elsewhere, and be about several files.
    person.write("types/page.yaml", PAGE);
    person.write(
        "tests/in/all.test.yaml",
        "definitions: [../../types]\ntests:\n- {name: both, application: {components: [{name: a, type: page, properties: {image: x, replicas: 1, paused: false}}, {name: b, type: web, properties: {image: x}}]}}\n",
    );
    let said = person.types(&["def", "test", "-R", "tests"]).ok();
    assert!(said.out.contains("all.test.yaml: both"), "{said:?}");
}

#[test]
fn what_is_otherwise_than_expected_is_printed() {
    let person = person();
    let file = person.write(
        "web.test.yaml",
        r#"definitions: [types/web.cue]
tests:
- name: wrong in many ways
  component: {type: web, properties: {image: nginx}}
  live: [{kind: Deployment, status: {readyReplicas: 0}}]
  expect:
    objects:
    - kind: Deployment
      spec:
        replicas: 2
        paused: true
        template: {spec: {containers: []}}
    - {kind: Service}
    absent:
    - {kind: Deployment}
    status: {healthy: true, message: 1 ready, traits: [{type: scaler, healthy: true}]}
- name: not refused
  component: {type: web, properties: {image: nginx}}
  expect: {errors: [image]}
- name: refused otherwise
  component: {type: web}
  expect: {errors: [replicas]}
- name: refused
  component: {type: web}
- name: fine
  component: {type: web, properties: {image: nginx}}
"#,
    );
    let said = person.types(&["def", "test", &file]);
    for words in [
        "FAIL  web.test.yaml: wrong in many ways",
        "web.test.yaml:10:19: Deployment test: spec.replicas is 1, expected 2",
        "web.test.yaml:11:17: Deployment test: spec.paused is missing, expected true",
        "spec.template.spec.containers has 1 elements, expected 0",
        "web.test.yaml:13:7: there is no such Service; made: Deployment test",
        "web.test.yaml:15:7: Deployment test is made",
        "healthy is false, expected true",
        "message is \"0 ready\", expected \"1 ready\"",
        "type is null, expected \"scaler\"",
        "there is no error; made: Deployment test",
        "no error has \"replicas\"; the errors are:",
        "ok    web.test.yaml: fine",
    ] {
        assert!(said.out.replace(&file, "web.test.yaml").contains(words), "{words}: {said:?}");
    }
    said.fails(1, &["1 passed, 4 failed.", "4 of 5 tests failed"]);
}

#[test]
fn mistakes_in_a_test_file_have_their_place() {
    let person = person();
    for (text, words) in [
        ("tests: []\n", "1:1: expected 1 to 1000 tests"),
        ("test: []\n", "1:1: unknown field `test`"),
        ("tests:\n- name: a\n  component: {type: web}\n  expct: {}\n", "4:3: unknown field `expct`"),
        ("tests:\n- name: a\n", "2:3: a test has either a component or an application"),
        ("tests:\n- {name: a, component: {}, application: {}}\n", "has either a component or an application"),
        ("tests:\n- name: a\n  component: {}\n  live: [{}]\n", "an object needs its kind"),
        (
            "tests:\n- name: a\n  component: {}\n  expect: {errors: [a], status: {}}\n",
            "where errors are expected there are no objects",
        ),
        (
            "tests:\n- name: a\n  application: {}\n  expect: {status: {}}\n",
            "write component instead of application",
        ),
        ("tests: [\n", "web.test.yaml:"),
    ] {
        let file = person.write("types/web.test.yaml", text);
        let said = person.types(&["def", "test", &file]);
        said.fails(1, &["web.test.yaml:", words]);
    }
    let file = person.write("alone.test.yaml", "tests:\n- {name: a, component: {type: web}}\n");
    person.types(&["def", "test", &file]).fails(1, &["no file beside this one has the definition"]);
    person.write("types/web.cue", WEB.replace("parameter.image", "parameters.image"));
    let file = person.write("types/web.test.yaml", PASSING);
    person.types(&["def", "test", &file]).fails(1, &["web.cue:"]);
    person.types(&["def", "test", "types/none.test.yaml"]).fails(1, &["cannot be read"]);
    person.types(&["def", "test"]).fails(2, &["FILE"]);
}

//! Appfiles: `vela up`, `vela dry-run` and `vela export` read them, and tell each mistake at its place.

use crate::{PAGE, Person};

const SHOP: &str = "\
name: shop
services:
  web:
    image: nginx:1
    ports: [{port: 80}]
    env: [{name: A, value: b}]
    scaler: {replicas: 2}
  batch:
    type: worker
    image: busybox:1
    labels:
      team: a
";

#[test]
fn an_appfile_is_exported_as_an_application() {
    let person = Person::new();
    person.write("vela.yaml", SHOP);
    let yaml = person.types(&["export", "--offline"]).ok().out;
    let expected = "\
apiVersion: core.oam.dev/v1beta1
kind: Application
metadata:
  name: shop
  namespace: default
spec:
  components:
  - name: batch
    properties:
      image: busybox:1
    scopes:
      healthscopes.core.oam.dev: shop-default-health
    traits:
    - properties:
        team: a
      type: labels
    type: worker
  - name: web
    properties:
      env:
      - name: A
        value: b
      image: nginx:1
      ports:
      - port: 80
    scopes:
      healthscopes.core.oam.dev: shop-default-health
    traits:
    - properties:
        replicas: 2
      type: scaler
    type: webservice
---
apiVersion: core.oam.dev/v1alpha2
kind: HealthScope
metadata:
  name: shop-default-health
  namespace: default
spec:
  workloadRefs: []
";
    assert_eq!(yaml, expected);
    let plain =
        person.types(&["export", "-f", "vela.yaml", "--offline", "--no-health-scope", "-n", "a"]).ok();
    assert!(!plain.out.contains("ealth") && plain.out.contains("namespace: a"), "{plain:?}");
    let json: serde_json::Value =
        serde_json::from_str(&person.types(&["export", "--offline", "-o", "json"]).ok().out).unwrap();
    assert_eq!(json["items"][0]["spec"]["components"][0]["name"], "batch");
    // With the types of the sandbox it is the same.
    assert_eq!(person.types(&["export"]).ok().out, expected);
    // What was exported is an object, which nothing exports again.
    person.write("app.yaml", plain.out);
    person.types(&["export", "app.yaml", "--offline"]).fails(1, &["is no Appfile"]);
    person.types(&["dry-run", "app.yaml", "--offline"]).ok();
}

#[test]
fn up_takes_the_appfile_of_the_folder() {
    let person = Person::new();
    person.types(&["up"]).fails(1, &["no file was given", "vela.yaml, vela.json, Appfile"]);
    person.types(&["dry-run"]).fails(1, &["no file was given"]);
    person.write("Appfile", "{\"name\": \"shop\", \"services\": {\"front\": {\"image\": \"nginx:1\"}}}");
    let shown = person.types(&["dry-run", "--offline"]).ok().out;
    assert!(shown.contains("kind: Deployment") && shown.contains("image: nginx:1"), "{shown}");
    // The first of the three names wins.
    person.write("vela.json", "{\"name\": \"json\", \"services\": {\"front\": {\"image\": \"nginx:2\"}}}");
    assert!(person.types(&["dry-run", "--offline"]).ok().out.contains("nginx:2"));
    person.write("vela.yaml", SHOP);
    let up = person.types(&["up", "--timeout", "60s"]).ok();
    assert!(up.err.contains("Application default/shop created"), "{up:?}");
    assert!(up.out.contains("component web (webservice)") && up.out.contains("2/2"), "{up:?}");
    let names = person.types(&["ls", "-o", "name"]).ok().out;
    assert_eq!(names, "application.core.oam.dev/shop\n");
    let again = person.types(&["up", "-f", "vela.yaml", "--no-wait"]).ok();
    assert!(again.err.contains("shop unchanged"), "{again:?}");
    // Other commands take objects, and say so.
    person.types(&["delete", "-f", "vela.yaml"]).fails(1, &["vela.yaml:2:1", "Appfile", "vela export"]);
    person.types(&["delete", "shop"]).ok();
}

#[test]
fn a_definition_beside_an_appfile_gives_its_types() {
    let person = Person::new();
    person.write("site/page.yaml", PAGE);
    person.write(
        "site/vela.yaml",
        "name: site\nservices:\n  front: {type: page, image: nginx:1, replicas: 1, paused: false}\n",
    );
    let up = person.types(&["up", "site", "--timeout", "60s"]).ok();
    assert!(up.out.contains("component front (page)"), "{up:?}");
}

#[test]
fn each_mistake_of_an_appfile_has_its_place() {
    let person = Person::new();
    let mistakes = "\
nmae: a
name: Shop
services:
  web:
    imge: nginx
    image: nginx
    scalr: {replicas: 2}
  api:
    type: webservise
    image: nginx
  job:
    image: 3
    scaler: {replicsa: 2}
";
    // What is wrong with the Appfile itself.
    let file = person.write("vela.yaml", mistakes);
    let said = ["vela.yaml:1:1", "\"nmae\"", "vela.yaml:2:7", "\"Shop\" cannot be the name"];
    for command in [&["up"][..], &["dry-run", "--offline"], &["export", "--offline"]] {
        person.types(command).fails(1, &said);
    }
    // What is wrong with what it becomes.
    person.write("vela.yaml", mistakes.replace("nmae: a\n", "").replace("Shop", "shop"));
    let said = [
        "vela.yaml:4:5: error[unknown_parameter]",
        "did you mean \"image\"",
        "vela.yaml:6:5: error[unknown_parameter]",
        "did you mean \"scaler\"",
        "vela.yaml:8:11: error[unknown_definition]",
        "did you mean \"webservice\"",
        "vela.yaml:11:12: error[",
        "vela.yaml:12:14: error[unknown_parameter]",
        "field: services.job.scaler.replicsa",
    ];
    for command in [&["up", "-f", &file][..], &["dry-run", "--offline"], &["export", "--offline"]] {
        let output = person.types(command).fails(1, &said);
        assert!(!output.err.contains("spec.components"), "{output:?}");
    }
    assert_eq!(person.types(&["ls", "-o", "name"]).ok().out, "", "nothing was applied");
}

#[test]
fn an_appfile_without_sense_is_refused() {
    let person = Person::new();
    for (text, code, said) in [
        ("services: {web: {image: a}}\n", 1, "vela.yaml:1:1: error[missing_field]: the Appfile has no name"),
        ("name: a\nservices: {}\n", 1, "vela.yaml:2:1: error[missing_field]: the Appfile has no service"),
        ("name: a\nservices: [web]\n", 1, "vela.yaml:2:11: error[wrong_type]: services are a map"),
        (
            "name: a\nservices: {web: nginx}\n",
            1,
            "vela.yaml:2:17: error[wrong_type]: the service \"web\" is a map",
        ),
        (
            "name: a\nservices: {web: {type: 3}}\n",
            1,
            "vela.yaml:2:24: error[wrong_type]: the type of a service",
        ),
        (
            "name: [a]\nservices: {web: {image: a}}\n",
            1,
            "vela.yaml:1:7: error[wrong_type]: the name is a string",
        ),
        (
            "name: a\nservices: {web: {image: a, scaler: 3}}\n",
            1,
            "vela.yaml:2:36: error[wrong_type]: the trait \"scaler\" takes a map",
        ),
        (
            "name: a\nservices: {web: {build: {}}}\n",
            1,
            "vela.yaml:2:18: error[missing_field]: the service \"web\" has `build`",
        ),
        (
            "name: a\nservices: {web: {image: r/web:1, build: {docker: {file: D, context: src}}}}\n",
            5,
            "docker build -t r/web:1 -f D src` and `docker push r/web:1`",
        ),
        (
            "name: a\nservices: {web: {image: web:1, build: {push: {local: kind}}}}\n",
            5,
            "docker build -t web:1 -f Dockerfile .` and `kind load docker-image web:1`",
        ),
        (
            "name: a\nservices: {web: {image: a, config: b}}\n",
            5,
            "vela.yaml:2:28: error[not_supported]: vela has no configs",
        ),
    ] {
        person.write("vela.yaml", text);
        person.types(&["export", "--offline"]).fails(code, &[said]);
    }
    person.write("vela.yaml", "name: a\nsecrets: {key: hidden-word}\nservices: {web: {image: a}}\n");
    let output = person.types(&["export", "--offline"]).ok();
    assert!(
        output.err.contains("vela.yaml:2:1: warning[unknown_field]: nothing reads the `secrets`"),
        "{output:?}"
    );
    assert!(!format!("{output:?}").contains("hidden-word"), "{output:?}");
}

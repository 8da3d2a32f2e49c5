//! The commands of every day on the sandbox: `vela rollback`.

use std::io::Write as _;
use std::process::Stdio;

use crate::sandbox::until;
use crate::{CommandOutput, PAGE, Person, site};

/// A person whose application `site` has two revisions.
fn with_two_revisions() -> Person {
    let person = Person::new();
    person.write("site/page.yaml", PAGE);
    for image in ["nginx:1", "nginx:2"] {
        person.write("site/app.yaml", site(false).replace("nginx:1", image));
        person.types(&["up", "-f", "site", "--timeout", "60s"]).ok();
    }
    person
}

#[test]
fn a_rollback_shows_its_plan_and_asks_first() {
    let person = with_two_revisions();
    let plan = "Application default/site: site-v2 → the content of site-v1\n  \
                ~ spec.components[front].properties.image: \"nginx:2\" → \"nginx:1\"\n";
    // No person can be asked: the plan is all that happens, whatever stands in the pipe.
    let mut command = person.command(&["rollback", "site"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"y\n").unwrap();
    let said = CommandOutput::of(&child.wait_with_output().unwrap());
    assert_eq!(said.out, plan, "{said:?}");
    said.fails(1, &["site would get the content of site-v1", "--yes (-y)"]);
    let listed = ["revision", "list", "site", "-o", "name"];
    assert_eq!(person.types(&listed).ok().out, "site-v2\nsite-v1\n");

    let said = person.types(&["rollback", "site", "-y", "--timeout", "60s"]).ok();
    assert!(said.out.starts_with(plan), "{said:?}");
    assert!(said.err.contains("site goes back to the content of site-v1."), "{said:?}");
    assert!(said.out.contains("Deployment front"), "the tree is shown as after `up`: {said:?}");
    assert_eq!(person.types(&listed).ok().out, "site-v3\nsite-v2\nsite-v1\n");
    // By number, and without a wait.
    let said = person.types(&["rollback", "site", "--to-revision", "2", "-y", "--no-wait"]).ok();
    assert!(said.out.contains("site-v3 → the content of site-v2") && !said.out.contains("Deployment"));
}

#[test]
fn a_rollback_that_makes_no_sense_is_refused() {
    let person = with_two_revisions();
    let to = |revision| person.types(&["rollback", "site", "--to-revision", revision, "-y"]);
    to("9").fails(1, &["site has no revision \"9\"", "there are site-v2, site-v1"]);
    to("site-v9").fails(1, &["site has no revision \"site-v9\"", "there are site-v2, site-v1"]);
    to("2").fails(1, &["has the content of revision site-v2 already", "vela revision list site"]);
    to("Site").fails(2, &["lower-case letters"]);
    person.types(&["rollback", "shop"]).fails(1, &["no application \"shop\" in namespace default"]);
    person.types(&["rollback"]).fails(2, &["<APPLICATION>"]);

    person.write("one.yaml", site(false).replace("name: site", "name: one").replace("front", "alone"));
    person.types(&["up", "one.yaml", "--timeout", "60s"]).ok();
    let alone = ["no revision of one before one-v1", "one-v1 is the only one that is stored"];
    person.types(&["rollback", "one", "-y"]).fails(1, &alone);
}

#[test]
fn a_plan_shows_no_content_of_a_secret() {
    let person = Person::new();
    let app = |password: &str| {
        format!(
            "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata: {{name: vault}}\nspec:\n  components:\n    - name: login\n      \
             type: k8s-objects\n      properties:\n        objects:\n          - apiVersion: v1\n            kind: Secret\n            \
             metadata: {{name: login}}\n            stringData: {{password: {password}}}\n"
        )
    };
    for password in ["first-word", "second-word"] {
        person.write("app.yaml", app(password));
        person.types(&["up", "app.yaml", "--timeout", "60s"]).ok();
    }
    for words in [
        &["rollback", "vault", "-y", "--no-wait"][..],
        &["revision", "get", "--diff", "vault-v1", "vault-v2"],
    ] {
        let said = person.types(words).ok();
        assert!(said.out.contains("stringData.password: \"(secret, "), "{said:?}");
        assert!(!format!("{said:?}").contains("-word"), "{said:?}");
    }
}

#[test]
fn a_failure_that_is_mended_meanwhile_is_not_told_again() {
    let person = Person::new();
    person.write(
        "app.yaml",
        "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata: {name: site}\nspec:\n  components:\n  - name: foo\n    \
         type: k8s-objects\n    properties: {objects: [{apiVersion: example.com/v1, kind: Foo, metadata: {name: foo}}]}\n",
    );
    // Served by another process, whose controllers saw the failure before.
    let log = person.path("log");
    let mut command = person.command(&["sandbox", "run"]);
    command.stdout(Stdio::null()).stderr(std::fs::File::create(&log).unwrap());
    let mut serving = command.spawn().unwrap();
    until("it serves", || std::fs::read_to_string(&log).unwrap().contains("serves at"));
    let up = ["up", "-f", "app.yaml", "--timeout", "60s"];
    let unknown = "does not know kind Foo of example.com/v1: install it first";
    person.types(&up).fails(1, &[unknown]);
    // What stays wrong is told again, once the controller could have looked again.
    person.types(&up).fails(1, &["Application default/site failed", unknown]);

    let schema = "{type: object, x-kubernetes-preserve-unknown-fields: true}";
    person.write(
        "kind.yaml",
        format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: foos.example.com}}\nspec:\n  \
             group: example.com\n  scope: Namespaced\n  names: {{kind: Foo, plural: foos}}\n  versions:\n  - {{name: v1, served: true, \
             storage: true, schema: {{openAPIV3Schema: {schema}}}}}\n"
        ),
    );
    person.types(&["up", "-f", "kind.yaml"]).ok();
    let said = person.types(&up).ok();
    assert!(said.err.contains("Application default/site unchanged"), "{said:?}");
    assert!(said.out.contains("Foo foo"), "{said:?}");
    person.types(&["sandbox", "stop"]).ok();
    assert_eq!(serving.wait().unwrap().code(), Some(0));
}

//! `vela env` on the sandbox: environments are made, chosen, used and deleted.

use crate::{PAGE, Person, site};

fn with_site() -> Person {
    let person = Person::new();
    person.write("site/page.yaml", PAGE);
    person.write("site/app.yaml", site(false));
    person
}

#[test]
fn an_environment_is_where_commands_work() {
    let person = with_site();
    let none = person.types(&["env", "ls"]).ok();
    assert!(none.err.contains("no environment") && none.out.is_empty(), "{none:?}");
    let made = person.types(&["env", "init", "shop", "-n", "shop-ns"]).ok();
    assert!(made.err.contains("Environment shop: namespace shop-ns (created)"), "{made:?}");
    let up = person.types(&["up", "site", "--timeout", "60s"]).ok();
    assert!(up.err.contains("Environment shop: namespace shop-ns\n"), "{up:?}");
    assert!(up.err.contains("Application shop-ns/site created"), "{up:?}");
    for words in [&["status", "site"][..], &["ls", "site"], &["logs", "site"]] {
        let said = person.types(words);
        assert!(said.err.contains("Environment shop: namespace shop-ns"), "{said:?}");
        assert!(!said.err.contains("no application"), "{said:?}");
    }
    // A namespace that is given wins, and no environment is told then.
    let other = person.types(&["status", "site", "-n", "default"]);
    assert!(!other.err.contains("Environment"), "{other:?}");
    other.fails(1, &["no application \"site\" in namespace default"]);
    let offline = person.types(&["dry-run", "--offline", "site/app.yaml", "site/page.yaml"]).ok();
    assert!(offline.out.contains("namespace: shop-ns"), "{offline:?}");

    person.types(&["env", "set", "--none"]).ok();
    person.types(&["status", "site"]).fails(1, &["in namespace default"]);
    person.types(&["env", "set", "shop"]).ok();
    person.types(&["status", "site"]).ok();
}

#[test]
fn environments_are_listed_and_interoperate_with_kubevela() {
    let person = Person::new();
    let foreign = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: team-a\n  labels: {namespace.oam.dev/env: alpha, usage.oam.dev/control-plane: env}\n";
    person.write("namespace.yaml", foreign);
    person.types(&["up", "namespace.yaml"]).ok();
    person.types(&["env", "init", "beta"]).ok();
    let table = "NAME    NAMESPACE   CURRENT\nalpha   team-a      \nbeta    beta        *\n";
    let squeezed = |text: &str| text.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
    assert_eq!(squeezed(&person.types(&["env", "ls"]).ok().out), squeezed(table));
    assert_eq!(person.types(&["env", "list", "-o", "name"]).ok().out, "alpha\nbeta\n");
    let one: serde_json::Value =
        serde_json::from_str(&person.types(&["env", "ls", "beta", "-o", "json"]).ok().out).unwrap();
    assert_eq!(one, serde_json::json!([{"name": "beta", "namespace": "beta", "current": true}]));
    person.types(&["env", "sw", "alpha"]).ok();
    let kept = std::fs::read_to_string(person.path("vela/curenv")).unwrap();
    let kept: serde_json::Value = serde_json::from_str(&kept).unwrap();
    assert_eq!(kept, serde_json::json!({"name": "alpha", "namespace": "team-a"}));
    person.types(&["env", "set", "alpah"]).fails(1, &["no environment \"alpah\"", "did you mean", "alpha"]);
    person.types(&["env", "ls", "gamma"]).fails(1, &["no environment \"gamma\"", "alpha, beta"]);
    // What was chosen stays when a choice fails; again with the same words is no mistake, with others it is.
    let again = person.types(&["env", "init", "alpha"]).ok();
    assert!(again.err.contains("namespace team-a (unchanged)"), "{again:?}");
    person.types(&["env", "init", "alpha", "-n", "x"]).fails(1, &["is the namespace team-a already"]);
    person.types(&["env", "init", "x", "-n", "team-a"]).fails(1, &["is the environment \"alpha\" already"]);
    person.types(&["env", "init", "Alpha"]).fails(2, &["lower-case letters"]);
    person.types(&["env", "set"]).fails(2, &["NAME"]);
}

#[test]
fn only_what_init_created_is_deleted() {
    let person = with_site();
    person.write("kept.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: kept, labels: {team: a}}\n");
    person.types(&["up", "kept.yaml"]).ok();
    let taken = person.types(&["env", "init", "one", "-n", "kept"]).ok();
    assert!(taken.err.contains("namespace kept (which was there)"), "{taken:?}");
    person.types(&["env", "init", "two"]).ok();
    person.types(&["up", "site", "--timeout", "60s"]).ok();
    let current = ["\"two\" is current", "vela env set"];
    person.types(&["env", "delete", "two", "-y"]).fails(1, &current);
    person.types(&["env", "set", "one"]).ok();
    let full = ["\"two\" still has applications: site", "vela delete -n two --all"];
    person.types(&["env", "delete", "two", "-y"]).fails(1, &full);
    person.types(&["delete", "site", "-n", "two"]).ok();
    person.types(&["env", "delete", "two"]).fails(1, &["namespace two would be deleted", "--yes (-y)"]);
    person.types(&["env", "delete", "two", "-y"]).ok();
    person.types(&["env", "set", "--none"]).ok();
    let freed = person.types(&["env", "delete", "one"]).ok();
    assert!(freed.err.contains("namespace kept stays"), "{freed:?}");
    assert_eq!(person.types(&["env", "ls", "-o", "name"]).ok().out, "");
    // It is a plain namespace again, and not gone.
    let again = person.types(&["env", "init", "three", "-n", "kept"]).ok();
    assert!(again.err.contains("(which was there)"), "{again:?}");
    person
        .types(&["env", "delete", "four"])
        .fails(1, &["no environment \"four\"", "known environment: three"]);
}

#[test]
fn a_current_environment_that_is_gone_says_what_to_do() {
    let person = with_site();
    let advice =
        ["the current environment \"old\" is not in the local sandbox", "vela env set NAME", "--namespace"];
    person.write("vela/curenv", "{\"name\":\"old\",\"namespace\":\"gone\"}");
    person.types(&["ls"]).fails(1, &[&advice[..], &["no namespace gone"]].concat());
    person.types(&["up", "site"]).fails(1, &advice);
    person.types(&["ls", "-n", "default"]).ok();
    person.write("vela/curenv", "{\"name\":\"old\",\"namespace\":\"default\"}");
    person.types(&["ls"]).fails(1, &[&advice[..], &["default does not belong to it"]].concat());
    person.write("vela/curenv", "{\"name\":\"default\",\"namespace\":\"default\"}");
    person.types(&["ls"]).ok();
    // Neither text of an older release nor a damaged file is guessed at.
    for text in ["old", "{\"name\":\"../x\",\"namespace\":\"a\"}", "\u{0}"] {
        person.write("vela/curenv", text);
        person.types(&["ls"]).fails(3, &["names no environment", "vela env set"]);
    }
    person.types(&["env", "set", "default"]).ok();
    person.types(&["ls"]).ok();
}

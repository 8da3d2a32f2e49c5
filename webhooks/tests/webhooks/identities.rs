//! Applications are stamped with who wrote them, and nobody can write the stamp.

use json_patch::patch;
use serde_json::{Value, json};
use vela_webhooks::{Review, User, identity};

fn app(annotations: Value) -> Value {
    let mut object = json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "Application",
        "metadata": {"name": "a", "namespace": "team"}, "spec": {"components": []},
    });
    if !annotations.is_null() {
        object["metadata"]["annotations"] = annotations;
    }
    object
}

fn stamped(operation: &str, user: (&str, &[&str]), object: Value, old: Value) -> Value {
    let user = User { username: user.0.to_owned(), groups: user.1.iter().map(|g| (*g).to_owned()).collect() };
    let review = Review { user, ..crate::review(operation, object.clone(), old) };
    let verdict = identity::mutate(&review);
    assert!(verdict.is_allowed(), "{verdict:?}");
    let mut patched = object;
    patch(&mut patched, &verdict.patch).unwrap();
    patched
}

#[test]
fn the_author_is_stamped_and_what_was_written_there_replaced() {
    let forged = app(
        json!({"app.oam.dev/username": "root", "app.oam.dev/service-account-name": "admin", "mine": "1"}),
    );
    let object = stamped(
        "CREATE",
        ("alice", &["dev", "system:masters", "system:authenticated", "ops"]),
        forged,
        Value::Null,
    );
    assert_eq!(
        object["metadata"]["annotations"],
        json!({"app.oam.dev/username": "alice", "app.oam.dev/group": "dev,ops", "mine": "1"})
    );
}

#[test]
fn a_service_account_is_stamped_by_name_only_in_its_own_namespace() {
    let groups: &[&str] = &["system:serviceaccounts", "system:serviceaccounts:team"];
    let own = stamped("CREATE", ("system:serviceaccount:team:ci", groups), app(Value::Null), Value::Null);
    let username = "system:serviceaccount:team:ci";
    assert_eq!(
        own["metadata"]["annotations"],
        json!({"app.oam.dev/username": username, "app.oam.dev/service-account-name": "ci"})
    );
    let other = stamped("CREATE", ("system:serviceaccount:else:ci", groups), app(Value::Null), Value::Null);
    assert_eq!(
        other["metadata"]["annotations"],
        json!({"app.oam.dev/username": "system:serviceaccount:else:ci"})
    );
}

#[test]
fn the_author_changes_with_what_is_rendered_and_not_with_a_finalizer() {
    let old = app(json!({"app.oam.dev/username": "alice", "app.oam.dev/group": "dev"}));
    let mut finalized = old.clone();
    finalized["metadata"]["finalizers"] = json!(["x/y"]);
    finalized["metadata"]["annotations"]["app.oam.dev/username"] = json!("root");
    let object = stamped("UPDATE", ("controller", &[]), finalized, old.clone());
    assert_eq!(object["metadata"]["annotations"], old["metadata"]["annotations"]);
    for (path, value) in
        [("/spec/components", json!([{"name": "b"}])), ("/metadata/annotations/new", json!("1"))]
    {
        let mut changed = old.clone();
        match path.rsplit_once('/') {
            Some((parent, key)) => changed.pointer_mut(parent).unwrap()[key] = value,
            None => unreachable!(),
        }
        let object = stamped("UPDATE", ("bob", &["ops"]), changed, old.clone());
        assert_eq!(object["metadata"]["annotations"]["app.oam.dev/username"], "bob", "{path}");
        assert_eq!(object["metadata"]["annotations"]["app.oam.dev/group"], "ops", "{path}");
    }
}

#[test]
fn a_stamp_that_was_removed_comes_back_and_one_that_never_was_is_not_invented() {
    let old = app(json!({"app.oam.dev/username": "alice"}));
    let object = stamped("UPDATE", ("bob", &[]), app(Value::Null), old.clone());
    assert_eq!(object, old);
    let object =
        stamped("UPDATE", ("bob", &[]), app(json!({"app.oam.dev/group": "forged"})), app(Value::Null));
    assert_eq!(object, app(Value::Null));
}

#[test]
fn a_second_time_changes_nothing() {
    let once = stamped("CREATE", ("alice", &["dev"]), app(Value::Null), Value::Null);
    assert_eq!(stamped("CREATE", ("alice", &["dev"]), once.clone(), Value::Null), once);
}

#[test]
fn annotations_that_are_no_map_are_refused() {
    let review = crate::review("CREATE", app(json!([1])), Value::Null);
    assert!(!identity::mutate(&review).is_allowed());
}

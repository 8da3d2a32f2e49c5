//! Admission stamps Applications with their author, and no client can write the stamp.

use std::collections::BTreeMap;

use json_patch::patch;
use serde_json::{Value, json};
use vela_engine::Snapshot;
use vela_webhooks::identity::{Author, AuthorError};
use vela_webhooks::{Review, User, configuration, identity, paths};

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
fn a_service_account_is_stamped_only_in_its_own_namespace() {
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
fn the_author_changes_with_the_spec_and_not_with_a_finalizer() {
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
fn a_removed_stamp_comes_back_and_an_absent_one_is_not_invented() {
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

#[test]
fn a_configuration_is_stamped_like_an_application() {
    let mut object = app(json!({"app.oam.dev/username": "root"}));
    object["kind"] = json!("ApplicationConfiguration");
    let user = User { username: "alice".to_owned(), groups: vec!["dev".to_owned()] };
    let review = Review { user, ..crate::review("CREATE", object.clone(), Value::Null) };
    let verdict = configuration::mutate(&review, &Snapshot::default());
    assert!(verdict.is_allowed(), "{verdict:?}");
    patch(&mut object, &verdict.patch).unwrap();
    let stamp = json!({"app.oam.dev/username": "alice", "app.oam.dev/group": "dev"});
    assert_eq!(object["metadata"]["annotations"], stamp);
}

fn author(stamps: &[(&str, &str)]) -> Result<(String, Vec<String>), AuthorError> {
    let annotations: BTreeMap<String, String> =
        stamps.iter().map(|(key, value)| (format!("app.oam.dev/{key}"), (*value).to_owned())).collect();
    Author::stamped(Some(&annotations), "team").map(|author| (author.user, author.groups))
}

#[test]
fn a_stamp_names_its_author() {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let alice = author(&[("username", "alice"), ("group", "dev,ops team")]);
    assert_eq!(alice, Ok(("alice".to_owned(), names(&["dev", "ops team"]))));
    let account = "system:serviceaccount:team:ci";
    let ci = author(&[("username", account), ("service-account-name", "ci")]);
    assert_eq!(ci, Ok((account.to_owned(), vec![])));
    let elsewhere = "system:serviceaccount:else:ci";
    assert_eq!(author(&[("username", elsewhere)]), Ok((elsewhere.to_owned(), vec![])));
}

#[test]
fn no_author_is_acted_for_without_our_stamp() {
    assert_eq!(Author::stamped(None, "team"), Err(AuthorError::Unstamped));
    assert_eq!(author(&[("group", "dev")]), Err(AuthorError::Unstamped));
    assert_eq!(author(&[("service-account-name", "ci")]), Err(AuthorError::Unstamped));
    for stamps in [
        [("username", "system:admin"), ("group", "")],
        [("username", "system:serviceaccount:team"), ("group", "")],
        [("username", "system:serviceaccount:a:b:c"), ("group", "")],
        [("username", "alice"), ("group", "dev,system:masters")],
        [("username", "alice"), ("group", "dev, admins")],
        [("username", " alice"), ("group", "")],
        [("username", "al\nice"), ("group", "")],
        [("username", "alice"), ("service-account-name", "ci")],
        [("username", "system:serviceaccount:else:ci"), ("service-account-name", "ci")],
    ] {
        let found = author(&stamps);
        assert!(matches!(found, Err(AuthorError::Refused(_))), "{stamps:?}: {found:?}");
    }
}

/// What the controllers believe is written by them alone; a person is stamped where it matters.
#[tokio::test]
async fn records_are_written_by_the_controllers_alone() {
    let (_server, webhooks) = crate::cluster::cluster().await;
    let ask = async |path: &str, user: &str| {
        let review = json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": {"uid": "1", "operation": "CREATE", "namespace": "team", "userInfo": {"username": user},
                "resource": {"group": "core.oam.dev", "version": "v1beta1", "resource": "applicationrevisions"},
                "object": {"apiVersion": "core.oam.dev/v1beta1", "kind": "ApplicationRevision",
                    "metadata": {"name": "pay-v7", "namespace": "team"}, "spec": {}}},
        });
        webhooks.answer(path, review.to_string().as_bytes()).await.body["response"].clone()
    };
    // The embedded server knows everybody by one name.
    assert_eq!(ask(paths::RECORD, "vela-sandbox").await["allowed"], true);
    let refused = ask(paths::RECORD, "mallory").await;
    assert_eq!((&refused["allowed"], &refused["status"]["code"]), (&json!(false), &json!(403)));
    let message = refused["status"]["message"].as_str().unwrap();
    assert!(message.contains("applicationrevisions are records of vela-core"), "{message}");
    let stamped = ask(paths::STAMP, "mallory").await;
    assert_eq!(stamped["allowed"], true);
    assert!(stamped["patch"].is_string(), "{stamped}");
}

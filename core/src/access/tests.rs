//! Tests of what the roles allow, and to whom.

use super::*;

fn rules(needs: Needs, allows: (&str, &str, &str)) -> Vec<String> {
    let (verb, group, resource) = allows;
    let has = |list: &Value, item: &str| list.as_array().is_some_and(|all| all.contains(&json!(item)));
    let objects = objects("vela-system", needs);
    let allowing = objects.iter().filter(|object| {
        object["rules"].as_array().is_some_and(|rules| {
            rules.iter().any(|rule| {
                has(&rule["apiGroups"], group)
                    && has(&rule["resources"], resource)
                    && has(&rule["verbs"], verb)
            })
        })
    });
    allowing.map(|object| object["metadata"]["name"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn what_no_flag_needs_is_not_bound() {
    let none = Needs::default();
    for (verb, group, resource) in [
        ("get", "", "secrets"),
        ("create", "", "pods"),
        ("create", "", "endpoints"),
        ("get", "", "pods/log"),
        ("patch", "apiextensions.k8s.io", "customresourcedefinitions"),
        ("patch", "admissionregistration.k8s.io", "mutatingwebhookconfigurations"),
        ("impersonate", "", "users"),
    ] {
        assert_eq!(rules(none, (verb, group, resource)), Vec::<String>::new(), "{verb} {resource}");
    }
    let all = Needs { webhooks: true, secrets: true, pods: true, endpoints: true, logs: true, ..none };
    assert_eq!(rules(all, ("create", "", "endpoints")), ["vela-core-made-built-in"]);
    assert_eq!(rules(all, ("get", "", "pods/log")), ["vela-core-made-built-in"]);
    let by_authors = Needs { behalf: true, ..all };
    assert_eq!(
        rules(by_authors, ("get", "", "pods/log")),
        Vec::<String>::new(),
        "authors read logs themselves"
    );
    assert_eq!(rules(all, ("create", "", "pods")), ["vela-core-made-built-in"]);
    assert_eq!(rules(all, ("create", "", "secrets")), ["vela-core-made-built-in", ACCOUNT]);
    assert_eq!(rules(all, ("patch", "apiextensions.k8s.io", "customresourcedefinitions")), [HOOKS]);
    // For authors nothing is made under the own account.
    let behalf = Needs { behalf: true, webhooks: true, ..none };
    assert_eq!(rules(behalf, ("create", "apps", "deployments")), Vec::<String>::new());
    assert_eq!(rules(behalf, ("watch", "apps", "deployments")), ["vela-core-made-built-in"]);
    assert_eq!(rules(behalf, ("patch", "", "configmaps")), ["vela-core-made-built-in"]);
    assert_eq!(rules(behalf, ("patch", "", "secrets")), Vec::<String>::new());
    assert_eq!(superseded(behalf), Vec::<&str>::new());
    assert_eq!(superseded(none), [HOOKS, IMPERSONATE]);
}

#[test]
fn people_have_roles() {
    let needs = Needs::default();
    assert_eq!(rules(needs, ("create", "core.oam.dev", "applications")), ["vela-author"]);
    let steers = rules(needs, ("patch", "core.oam.dev", "applications/status"));
    assert!(steers.contains(&"vela-author".to_owned()), "{steers:?}");
    let reads = rules(needs, ("list", "core.oam.dev", "traitdefinitions"));
    assert!(reads.contains(&"vela-everybody".to_owned()), "{reads:?}");
    // The controllers' records are theirs.
    let writes = |resource| rules(needs, ("update", "core.oam.dev", resource));
    assert_eq!(writes("applicationrevisions"), Vec::<String>::new());
    assert_eq!(writes("resourcetrackers"), ["vela-core-own"]);
}

/// A user who may read nothing else of the cluster still finds where the definitions for all are.
#[test]
fn every_user_may_read_which_namespace_is_home() {
    let all = objects("platform", Needs::default());
    let find = |kind: &str, name: &str| {
        all.iter().find(|one| one["kind"] == kind && one["metadata"]["name"] == name).unwrap()
    };
    let rules = &find("ClusterRole", "vela-everybody")["rules"];
    assert_eq!(rules.as_array().unwrap().len(), 1, "{rules}");
    assert_eq!((&rules[0]["resourceNames"], &rules[0]["verbs"]), (&json!([HOME_BINDING]), &json!(["get"])));
    assert_eq!(find("ClusterRoleBinding", "vela-everybody")["subjects"][0]["name"], "system:authenticated");
    let home: ClusterRoleBinding =
        serde_json::from_value(find("ClusterRoleBinding", HOME_BINDING).clone()).unwrap();
    assert_eq!(home_of(&home).as_deref(), Some("platform"));
}

//! The HarborConfigurations of a HarborCluster → its condition ConfigurationReady.

use std::sync::Arc;

use kube::api::DynamicObject;
use serde_json::{Value, json};
use vela_runtime::cache::Change;
use vela_runtime::{Informer, Key};

use crate::owner::Owner;

/// The condition of a HarborCluster whose Harbor has its settings.
const READY: &str = "ConfigurationReady";

/// The HarborCluster that a HarborConfiguration names, before and after a change.
pub(crate) fn clusters_of(change: &Change) -> Vec<Key> {
    let named = |object: &Option<Arc<DynamicObject>>| object.as_deref().and_then(cluster_of);
    let mut keys: Vec<Key> = [named(&change.old), named(&change.new)].into_iter().flatten().collect();
    keys.dedup();
    keys
}

fn cluster_of(object: &DynamicObject) -> Option<Key> {
    let name = object.data["spec"]["harborClusterRef"].as_str().filter(|name| !name.is_empty())?;
    Some(Key::new(object.metadata.namespace.clone().unwrap_or_default(), name))
}

/// The condition of this HarborCluster; none where no HarborConfiguration names it.
pub(crate) fn condition(configurations: &Informer, cluster: &Owner) -> Option<Value> {
    let key = Key::new(cluster.namespace(), cluster.name());
    let of_it = |one: &DynamicObject| {
        one.metadata.deletion_timestamp.is_none() && cluster_of(one).as_ref() == Some(&key)
    };
    let mut all = configurations.list_where(of_it);
    all.sort_by(|one, other| one.metadata.name.cmp(&other.metadata.name));
    of_all(&all)
}

/// One that failed is told before one that is waited for.
fn of_all(all: &[Arc<DynamicObject>]) -> Option<Value> {
    let states = || all.iter().map(|one| (state(one), one));
    let worst = ["False", "Unknown", "True"];
    let (status, one) = worst.into_iter().find_map(|status| states().find(|(known, _)| *known == status))?;
    let (said, name) = (&one.data["status"], one.metadata.name.as_deref().unwrap_or_default());
    let (reason, message) = match status {
        "Unknown" => ("ConfigurationPending", format!("HarborConfiguration {name} is not applied yet")),
        "True" => ("ConfigurationApplySuccess", "Harbor has the configuration".to_owned()),
        _ => {
            let message = said["message"].as_str().unwrap_or_default();
            ("ConfigurationApplyError", format!("HarborConfiguration {name}: {message}"))
        }
    };
    Some(json!({ "type": READY, "status": status, "reason": reason, "message": message }))
}

/// The status of the condition by one of them.
fn state(one: &DynamicObject) -> &'static str {
    let status = &one.data["status"];
    let wanted = &one.data["spec"]["configuration"];
    let applied = &status["lastConfiguration"]["configuration"];
    match status["status"].as_str() {
        Some("Fail") => "False",
        // What was applied may be older than what is wanted.
        Some("Success") if applied == wanted || wanted.is_null() && *applied == json!({}) => "True",
        _ => "Unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &str, status: Value) -> Arc<DynamicObject> {
        let spec = json!({"harborClusterRef": "hc", "configuration": {"authMode": "db_auth"}});
        let object = json!({"metadata": {"name": name, "namespace": "n"}, "spec": spec, "status": status});
        Arc::new(serde_json::from_value(object).unwrap())
    }

    #[test]
    fn what_failed_is_said_before_what_is_waited_for() {
        let applied = |mode: &str| {
            let last = json!({"configuration": {"authMode": mode}, "harborClusterRef": "hc"});
            json!({"status": "Success", "lastConfiguration": last})
        };
        let failed = json!({"status": "Fail", "message": "no secret"});
        let done = one("a", applied("db_auth"));
        let shown = |all: &[Arc<DynamicObject>]| of_all(all).map(|shown| shown["status"].clone());
        assert_eq!(shown(&[]), None);
        assert_eq!(shown(std::slice::from_ref(&done)), Some(json!("True")));
        assert_eq!(shown(&[done.clone(), one("b", applied("oidc_auth"))]), Some(json!("Unknown")));
        assert_eq!(shown(&[done.clone(), one("b", Value::Null)]), Some(json!("Unknown")));
        let all = [done, one("b", Value::Null), one("c", failed)];
        let condition = of_all(&all).unwrap();
        assert_eq!(condition["status"], "False");
        assert_eq!(condition["message"], "HarborConfiguration c: no secret");
    }
}

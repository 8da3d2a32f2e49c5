//! Derives which components are written after which others from what their objects need of each other; pure.
//!
//! Objects that wait for nothing are written at the same time, yet some objects only find a place after others: an object
//! its namespace, an object of a new kind the kind's definition, a bare pod its service account. Where the author wrote
//! such an object before those that need it, it is written to the cluster before as well, in the same reconcile. An
//! object that needs a later one finds it in a later reconcile, as ever.

use std::collections::{BTreeMap, BTreeSet};

use kube::api::DynamicObject;
use serde_json::Value;

/// The parts of an object that bear on the order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OrderedObject<'a> {
    group: &'a str,
    kind: &'a str,
    namespace: &'a str,
    name: &'a str,
    /// Everything but type and metadata.
    content: &'a Value,
}

/// The needs of one object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place<'a> {
    Namespace(&'a str),
    Kind {
        group: &'a str,
        kind: &'a str,
    },
    Account {
        namespace: &'a str,
        name: &'a str,
    },
    /// The same object, also in another version of its kind: the one written down later is written later.
    Object {
        group: &'a str,
        kind: &'a str,
        namespace: &'a str,
        name: &'a str,
    },
}

fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

impl<'a> OrderedObject<'a> {
    pub(crate) fn of(object: &'a DynamicObject) -> Self {
        let types = object.types.as_ref();
        Self {
            group: types.map_or("", |types| group(&types.api_version)),
            kind: types.map_or("", |types| &types.kind),
            namespace: object.metadata.namespace.as_deref().unwrap_or_default(),
            name: object.metadata.name.as_deref().unwrap_or_default(),
            content: &object.data,
        }
    }

    /// The same of an object as plain JSON.
    pub(crate) fn of_json(object: &'a Value) -> Self {
        let text = |value: &'a Value| value.as_str().unwrap_or_default();
        Self {
            group: group(text(&object["apiVersion"])),
            kind: text(&object["kind"]),
            namespace: text(&object["metadata"]["namespace"]),
            name: text(&object["metadata"]["name"]),
            content: object,
        }
    }

    fn itself(&self) -> Place<'a> {
        let Self { group, kind, namespace, name, .. } = *self;
        Place::Object { group, kind, namespace, name }
    }

    fn needs(&self) -> Vec<Place<'a>> {
        let Self { group, kind, namespace, .. } = *self;
        let mut needs = vec![self.itself(), Place::Kind { group, kind }];
        if !namespace.is_empty() {
            needs.push(Place::Namespace(namespace));
        }
        if (group, kind) == ("", "Pod")
            && let Some(name) = self.content["spec"]["serviceAccountName"].as_str()
        {
            needs.push(Place::Account { namespace, name });
        }
        needs
    }

    fn gives(&self) -> Vec<Place<'a>> {
        let mut gives = vec![self.itself()];
        match (self.group, self.kind) {
            ("", "Namespace") => gives.push(Place::Namespace(self.name)),
            ("", "ServiceAccount") => {
                gives.push(Place::Account { namespace: self.namespace, name: self.name });
            }
            ("apiextensions.k8s.io", "CustomResourceDefinition") => {
                let spec = &self.content["spec"];
                if let (Some(group), Some(kind)) = (spec["group"].as_str(), spec["names"]["kind"].as_str()) {
                    gives.push(Place::Kind { group, kind });
                }
            }
            _ => {}
        }
        gives
    }
}

/// For each component the earlier ones that it is written after.
pub(crate) fn earlier(components: &[Vec<OrderedObject<'_>>]) -> Vec<BTreeSet<usize>> {
    let mut givers: BTreeMap<Place<'_>, usize> = BTreeMap::new();
    let mut earlier = Vec::with_capacity(components.len());
    for (at, things) in components.iter().enumerate() {
        let needs = things.iter().flat_map(OrderedObject::needs);
        earlier.push(needs.filter_map(|need| givers.get(&need).copied()).collect());
        // The last giver comes after the ones before it, since each needs itself.
        givers.extend(things.iter().flat_map(OrderedObject::gives).map(|place| (place, at)));
    }
    earlier
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn order(components: &[Vec<Value>]) -> Vec<Vec<usize>> {
        let things: Vec<Vec<OrderedObject<'_>>> =
            components.iter().map(|objects| objects.iter().map(OrderedObject::of_json).collect()).collect();
        earlier(&things).into_iter().map(|all| all.into_iter().collect()).collect()
    }

    fn object(version: &str, kind: &str, namespace: &str, name: &str) -> Value {
        json!({"apiVersion": version, "kind": kind, "metadata": {"namespace": namespace, "name": name}})
    }

    #[test]
    fn what_needs_nothing_of_each_other_waits_for_nothing() {
        let web =
            |name| vec![object("apps/v1", "Deployment", "shop", name), object("v1", "Service", "shop", name)];
        assert_eq!(order(&[web("a"), web("b"), web("c")]), [vec![], vec![], Vec::<usize>::new()]);
        assert_eq!(order(&[]), Vec::<Vec<usize>>::new());
    }

    #[test]
    fn a_namespace_a_kind_and_an_account_come_first() {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "new"}});
        let kind = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "webs.example.com"},
            "spec": {"group": "example.com", "names": {"kind": "Web"}},
        });
        let account = object("v1", "ServiceAccount", "shop", "reader");
        let mut pod = object("v1", "Pod", "shop", "job");
        pod["spec"] = json!({"serviceAccountName": "reader"});
        let web = object("example.com/v1", "Web", "new", "w");
        let other = object("example.com/v1", "Other", "shop", "reader");
        let before = order(&[
            vec![web.clone()],
            vec![namespace],
            vec![kind],
            vec![account],
            vec![pod],
            vec![web],
            vec![other],
        ]);
        assert_eq!(before, [vec![], vec![], vec![], vec![], vec![3], vec![0, 1, 2], vec![]]);
    }

    #[test]
    fn two_wishes_for_one_object_are_written_in_their_order() {
        let version = |version| vec![object(version, "Ingress", "shop", "web")];
        let before =
            order(&[version("example.com/v1beta1"), version("example.com/v1"), version("example.com/v2")]);
        assert_eq!(before, [vec![], vec![0], vec![1]]);
    }

    #[test]
    fn an_object_is_the_same_thing_in_both_forms() {
        let json = object("example.com/v1", "Web", "shop", "w");
        let dynamic: DynamicObject =
            serde_json::from_value(json.clone()).unwrap_or_else(|error| unreachable!("{error}"));
        assert_eq!(OrderedObject::of(&dynamic).itself(), OrderedObject::of_json(&json).itself());
    }
}

//! Thin stand-ins for object logic that is being written beside this file; each goes when its module lands.

pub(crate) mod builtin_rest {
    use serde_json::Value;

    pub(crate) fn prepare_create(_api_version: &str, _kind: &str, _object: &mut Value) {}
    pub(crate) fn prepare_update(_api_version: &str, _kind: &str, _old: &Value, _new: &mut Value) {}
    pub(crate) fn validate(
        _api_version: &str,
        _kind: &str,
        _new: &Value,
        _old: Option<&Value>,
    ) -> Vec<crate::cause::Cause> {
        Vec::new()
    }
    pub(crate) fn cells(_api_version: &str, _kind: &str, object: &Value, now: jiff::Timestamp) -> Vec<Value> {
        let age = crate::object::meta(object, "creationTimestamp")
            .parse::<jiff::Timestamp>()
            .map(|at| crate::table::age(now.duration_since(at)))
            .unwrap_or_default();
        vec![crate::object::name(object).into(), age.into()]
    }
}

pub(crate) mod simulate {
    use std::sync::Arc;
    use std::time::Duration;

    use serde_json::Value;

    pub(crate) const RESOURCES: &[&str] = &[];

    #[allow(dead_code)]
    pub(crate) enum Propagation {
        Background,
        Foreground,
        Orphan,
    }

    #[allow(dead_code)]
    pub(crate) enum Action {
        Create {
            resource: String,
            object: Value,
        },
        UpdateStatus {
            resource: String,
            object: Value,
        },
        Update {
            resource: String,
            object: Value,
        },
        Event {
            object: Value,
        },
        Delete {
            resource: String,
            namespace: String,
            name: String,
            uid: String,
            propagation: Option<Propagation>,
        },
    }

    pub(crate) struct Outcome {
        pub(crate) actions: Vec<Action>,
        pub(crate) again_after: Option<Duration>,
    }

    #[allow(dead_code)]
    pub(crate) trait View {
        fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>>;
        fn list(&self, resource: &str, namespace: Option<&str>) -> Vec<Arc<Value>>;
    }

    pub(crate) fn affected(_: &str, _: &Value) -> Vec<(String, String, String)> {
        Vec::new()
    }

    pub(crate) fn reconcile(_: &dyn View, _: &str, _: &str, _: &str, _: jiff::Timestamp) -> Outcome {
        Outcome { actions: Vec::new(), again_after: None }
    }
}

pub(crate) mod gc {
    pub(crate) fn step(
        _: &dyn super::simulate::View,
        _: &[&str],
        _: Option<&serde_json::Value>,
    ) -> Vec<super::simulate::Action> {
        Vec::new()
    }
}

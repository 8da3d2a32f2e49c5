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

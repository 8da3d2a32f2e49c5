//! Thin stand-ins for object logic that is being written beside this file; each goes when its module lands.

pub(crate) mod builtin_rest {
    use serde_json::Value;

    pub(crate) fn apply_defaults(_api_version: &str, _kind: &str, _object: &mut Value) {}
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

pub(crate) mod schema {
    use serde_json::Value;

    use crate::cause::Cause;

    #[derive(Debug)]
    pub(crate) struct Structural;

    impl Structural {
        pub(crate) fn compile(_schema: &Value) -> Result<Self, Vec<Cause>> {
            Ok(Self)
        }
        pub(crate) fn prune(&self, _object: &mut Value) -> Vec<String> {
            Vec::new()
        }
        pub(crate) fn apply_defaults(&self, _object: &mut Value) {}
        pub(crate) fn validate(&self, _new: &Value, _old: Option<&Value>) -> Vec<Cause> {
            Vec::new()
        }
    }
}

pub(crate) mod apply {
    use serde_json::Value;

    #[derive(Debug)]
    #[allow(dead_code)]
    pub(crate) enum Schema<'a> {
        Crd(&'a super::schema::Structural),
        BuiltIn { api_version: &'a str, kind: &'a str },
    }

    #[derive(Debug)]
    #[allow(dead_code)]
    pub(crate) struct Request<'a> {
        pub(crate) manager: &'a str,
        pub(crate) force: bool,
        pub(crate) subresource: Option<&'a str>,
        pub(crate) api_version: &'a str,
        pub(crate) now: &'a str,
        pub(crate) schema: Schema<'a>,
    }

    #[derive(Debug, thiserror::Error)]
    #[allow(dead_code)]
    pub(crate) enum Error {
        #[error("conflict")]
        Conflict(Vec<Conflict>),
        #[error("{0}")]
        BadRequest(String),
        #[error("invalid")]
        Invalid(Vec<crate::cause::Cause>),
    }

    #[derive(Debug)]
    pub(crate) struct Conflict {
        pub(crate) field: String,
    }

    impl Conflict {
        pub(crate) fn message(&self) -> String {
            String::new()
        }
    }

    pub(crate) fn server_side(
        live: Option<&Value>,
        applied: &Value,
        _: &Request<'_>,
    ) -> Result<Value, Error> {
        let mut out = live.cloned().unwrap_or(Value::Null);
        json_patch::merge(&mut out, applied);
        Ok(out)
    }

    pub(crate) fn track_update(_old: Option<&Value>, _new: &mut Value, _: &Request<'_>) {}
}

//! Which objects a sidecar may see: those of its namespace, and of these the ones whose scopes name its application or are empty.

use std::sync::Arc;

use kube::api::DynamicObject;
use serde_json::Value;
use vela_runtime::Key;

use super::{Identity, ServedKind};

/// A sidecar, as far as it matters for what it may see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Viewer {
    /// Nothing means all namespaces.
    namespace: Option<String>,
    /// Nothing means that scopes are left to the sidecar.
    app_id: Option<String>,
}

/// A sidecar asked for a namespace that is not its own. The words are those of Dapr's operator, which people search for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("identity does not match requested namespace exp={requested} got={own}")]
pub struct Denied {
    requested: String,
    own: String,
}

impl Viewer {
    /// A sidecar with a certificate: it may ask for its own namespace only, and has to name it.
    ///
    /// # Errors
    /// It asked for another one, or for all.
    pub fn authorized(identity: &Identity, requested: &str) -> Result<Self, Denied> {
        if requested != identity.namespace {
            return Err(Denied { requested: requested.to_owned(), own: identity.namespace.clone() });
        }
        Ok(Self::of(identity))
    }

    /// A sidecar that is known to be this one, and looks at its own namespace.
    #[must_use]
    pub fn of(identity: &Identity) -> Self {
        Self { namespace: Some(identity.namespace.clone()), app_id: Some(identity.app_id.clone()) }
    }

    /// A sidecar of an old release without a certificate: nothing is known of it but what it asks for, and those that name no
    /// namespace mean all.
    #[must_use]
    pub fn anonymous(requested: &str) -> Self {
        Self { namespace: Some(requested.to_owned()).filter(|name| !name.is_empty()), app_id: None }
    }

    /// Its namespace; nothing means all.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Whether the object is of its namespace.
    #[must_use]
    pub fn is_near(&self, object: &DynamicObject) -> bool {
        self.namespace.is_none() || self.namespace == object.metadata.namespace
    }

    /// Whether it may see the object.
    #[must_use]
    pub fn sees(&self, object: &DynamicObject) -> bool {
        self.is_near(object) && self.is_in_scope(object)
    }

    fn is_in_scope(&self, object: &DynamicObject) -> bool {
        let Some(app_id) = &self.app_id else { return true };
        let scopes = object.data.get("scopes").and_then(Value::as_array);
        scopes.is_none_or(|scopes| scopes.is_empty() || scopes.iter().any(|scope| scope == app_id.as_str()))
    }

    /// The objects of a kind that it is given when it asks for all, in one order always.
    #[must_use]
    pub fn list(&self, kind: ServedKind, mut objects: Vec<Arc<DynamicObject>>) -> Vec<Arc<DynamicObject>> {
        objects.retain(|object| {
            object.metadata.deletion_timestamp.is_none()
                && if kind.lists_by_scope() { self.sees(object) } else { self.is_near(object) }
        });
        objects.sort_by_cached_key(|object| Key::of(object));
        objects
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(namespace: &str, name: &str, scopes: Value) -> Arc<DynamicObject> {
        let object = json!({"apiVersion": "dapr.io/v1alpha1", "kind": "Component",
            "metadata": {"name": name, "namespace": namespace}, "scopes": scopes});
        Arc::new(serde_json::from_value(object).unwrap())
    }

    fn names(objects: &[Arc<DynamicObject>]) -> Vec<String> {
        objects.iter().map(|object| Key::of(object).to_string()).collect()
    }

    #[test]
    fn a_sidecar_asks_for_its_own_namespace_by_name() {
        let identity: Identity = "spiffe://t/ns/h1/cart".parse().unwrap();
        assert!(Viewer::authorized(&identity, "h1").is_ok());
        for other in ["", "h2", "h", "h1/"] {
            let denied = Viewer::authorized(&identity, other).unwrap_err().to_string();
            assert_eq!(denied, format!("identity does not match requested namespace exp={other} got=h1"));
        }
    }

    #[test]
    fn lists_are_of_one_namespace_and_sorted() {
        let all = vec![
            object("h2", "a", json!(null)),
            object("h1", "c", json!(["other"])),
            object("h1", "b", json!(["x", "cart"])),
            object("h1", "a", json!([])),
        ];
        let identity = "spiffe://t/ns/h1/cart".parse().unwrap();
        let cart = Viewer::authorized(&identity, "h1").unwrap();
        assert_eq!(names(&cart.list(ServedKind::Component, all.clone())), ["h1/a", "h1/b"]);
        assert_eq!(names(&cart.list(ServedKind::Subscription, all.clone())), ["h1/a", "h1/b", "h1/c"]);
        let old = Viewer::anonymous("");
        assert_eq!(names(&old.list(ServedKind::Component, all.clone())).len(), 4);
        assert_eq!(names(&Viewer::anonymous("h2").list(ServedKind::Component, all)), ["h2/a"]);
    }
}

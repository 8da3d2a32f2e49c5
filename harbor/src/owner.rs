//! An object of goharbor.io as its children see it.

use kube::api::{ApiResource, DynamicObject};
use serde_json::{Value, json};
use vela_runtime::controller::Failure;

use crate::error::Error;
use crate::field::Field;
use crate::names::LONGEST_NAME;

/// The kinds whose objects are in no namespace.
const WITHOUT_NAMESPACE: [&str; 2] = ["HarborServerConfiguration", "Namespace"];

/// An object of goharbor.io, or a Namespace that asks for one.
#[derive(Clone, Debug)]
pub struct Owner {
    /// Kind, namespace and name, for messages.
    described: String,
    kind: String,
    object: Value,
}

impl Owner {
    /// An object as the API server gives it.
    ///
    /// # Errors
    /// It has no kind, namespace or name.
    pub fn new(object: Value) -> Result<Self, Error> {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (kind, namespace, name) = (text("/kind"), text("/metadata/namespace"), text("/metadata/name"));
        let is_namespaced = !WITHOUT_NAMESPACE.contains(&kind.as_str());
        let described = match is_namespaced {
            true => format!("{kind} {namespace}/{name}"),
            false => format!("{kind} {name}"),
        };
        for (field, value) in [("kind", &kind), ("metadata.namespace", &namespace), ("metadata.name", &name)]
        {
            if value.is_empty() && (is_namespaced || field != "metadata.namespace") {
                let (object, field) = (described.clone(), field.to_owned());
                return Err(Error::Field { object, field, expected: "must be given".to_owned() });
            }
        }
        Ok(Self { described, kind, object })
    }

    /// An object of a cache, which leaves out what all objects of its list have in common.
    pub(crate) fn of_cache(live: &DynamicObject, resource: &ApiResource) -> Result<Self, Failure> {
        let mut object = serde_json::to_value(live).map_err(Failure::terminal)?;
        object["apiVersion"] = json!(resource.api_version);
        object["kind"] = json!(resource.kind);
        Self::new(object).map_err(Failure::terminal)
    }

    /// Kind, namespace and name.
    #[must_use]
    pub fn described(&self) -> &str {
        &self.described
    }

    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// Its kind in lower case, by which its controller is known.
    #[must_use]
    pub fn controller(&self) -> String {
        self.kind.to_lowercase()
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.object["metadata"]["name"].as_str().unwrap_or_default()
    }

    /// Its namespace.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.object["metadata"]["namespace"].as_str().unwrap_or_default()
    }

    /// Its uid; empty where it was not stored.
    #[must_use]
    pub fn uid(&self) -> &str {
        self.object["metadata"]["uid"].as_str().unwrap_or_default()
    }

    /// How often its spec was changed.
    #[must_use]
    pub fn generation(&self) -> i64 {
        self.object["metadata"]["generation"].as_i64().unwrap_or_default()
    }

    /// One of its annotations.
    #[must_use]
    pub fn annotation(&self, name: &str) -> Option<&str> {
        self.object["metadata"]["annotations"][name].as_str()
    }

    /// The whole object.
    #[must_use]
    pub fn object(&self) -> &Value {
        &self.object
    }

    /// A field of its spec; a dotted path leads to one within.
    #[must_use]
    pub fn spec(&self, path: &str) -> Field<'_> {
        let spec = Field::new(&self.described, "spec", &self.object["spec"]);
        path.split('.').filter(|name| !name.is_empty()).fold(spec, |field, name| field.get(name))
    }

    /// The reference by which a child names it as its controller.
    #[must_use]
    pub fn reference(&self) -> Value {
        json!({
            "apiVersion": self.object["apiVersion"],
            "kind": self.kind,
            "name": self.name(),
            "uid": self.uid(),
            "controller": true,
            "blockOwnerDeletion": true,
        })
    }

    /// The name of a child.
    ///
    /// # Errors
    /// It would be too long.
    pub fn child(&self, suffix: &str) -> Result<String, Error> {
        let name = format!("{}-{suffix}", self.name());
        if name.len() > LONGEST_NAME {
            return Err(Error::NameTooLong { object: self.described.clone(), child: name });
        }
        Ok(name)
    }
}

//! An object of goharbor.io in one version in, the same object in the other version out. Nothing is lost: what the other version has no place
//! for waits in an annotation, and comes back with the conversion back. Pure.
//!
//! | file | in → out |
//! |---|---|
//! | `cluster` | the spec of a HarborCluster, whose fields have other names and places |
//! | `note` | what has no place in a version ⇄ an annotation |

mod cluster;
mod error;
mod note;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use vela_crds::GenerateError;
use vela_crds::goharbor_io::{GROUP, OLDER_VERSION, VERSION};

pub use error::Error;

/// Where an API server asks.
pub const CONVERT_PATH: &str = "/convert";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Version {
    Older,
    Stored,
}

impl Version {
    fn of(text: &str) -> Result<Self, Error> {
        let version = text.strip_prefix(GROUP).and_then(|rest| rest.strip_prefix('/'));
        match version {
            Some(OLDER_VERSION) => Ok(Self::Older),
            Some(VERSION) => Ok(Self::Stored),
            _ => Err(Error::Version(text.to_owned())),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Older => OLDER_VERSION,
            Self::Stored => VERSION,
        }
    }
}

/// Converts the objects of all kinds.
#[derive(Debug)]
pub struct Converter {
    /// The schemas of specs.
    schemas: BTreeMap<(String, Version), Value>,
}

impl Converter {
    /// One that knows the fields of every kind.
    ///
    /// # Errors
    /// The kinds cannot be generated: a mistake in their tables.
    pub fn new() -> Result<Self, GenerateError> {
        let mut schemas = BTreeMap::new();
        for crd in vela_crds::harbor_crds()? {
            let kind = crd.spec.names.kind;
            for version in crd.spec.versions {
                let Ok(name) = Version::of(&format!("{GROUP}/{}", version.name)) else { continue };
                let schema = version.schema.and_then(|schema| schema.open_api_v3_schema);
                let mut schema = serde_json::to_value(schema)
                    .map_err(|source| GenerateError::Schema { crd: kind.clone(), source })?;
                schemas.insert((kind.clone(), name), schema["properties"]["spec"].take());
            }
        }
        Ok(Self { schemas })
    }

    /// The object in this version, such as `goharbor.io/v1alpha3`.
    ///
    /// # Errors
    /// It is of no kind with two versions, there is no such version, or the annotation cannot be read.
    pub fn convert(&self, mut object: Value, version: &str) -> Result<Value, Error> {
        let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (kind, from) = (text("kind"), text("apiVersion"));
        let (from, to) = (Version::of(&from)?, Version::of(version)?);
        if kind != cluster::KIND && !self.schemas.contains_key(&(kind.clone(), to)) {
            return Err(Error::Kind(kind));
        }
        if from == to {
            return Ok(object);
        }
        let spec = object.get_mut("spec").map(Value::take).filter(|spec| !spec.is_null());
        let waited = note::take(&mut object, to.name())?;
        if let Some(spec) = spec {
            let mut converted = self.spec(&kind, &spec, to);
            let back = self.spec(&kind, &converted, from);
            note::write(&mut object, from.name(), &note::missing(&spec, &back))?;
            note::restore(&mut converted, waited);
            object["spec"] = converted;
        }
        object["apiVersion"] = json!(version);
        Ok(object)
    }

    /// What of a spec has a place in a version, at that place.
    fn spec(&self, kind: &str, spec: &Value, to: Version) -> Value {
        let mut converted = match (kind, to) {
            (cluster::KIND, Version::Older) => cluster::to_older(spec),
            (cluster::KIND, Version::Stored) => cluster::to_stored(spec),
            _ => spec.clone(),
        };
        if let Some(schema) = self.schemas.get(&(kind.to_owned(), to)) {
            prune(schema, &mut converted);
        }
        converted
    }
}

/// Takes out what a schema does not have, as an API server does.
fn prune(schema: &Value, value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| prune(&schema["items"], item)),
        Value::Object(fields) => {
            if schema["additionalProperties"].is_object() {
                fields.values_mut().for_each(|field| prune(&schema["additionalProperties"], field));
                return;
            }
            let Some(properties) = schema["properties"].as_object() else { return };
            if schema["x-kubernetes-preserve-unknown-fields"] != true {
                fields.retain(|name, _| properties.contains_key(name));
            }
            for (name, field) in fields {
                if let Some(schema) = properties.get(name) {
                    prune(schema, field);
                }
            }
        }
        _ => {}
    }
}

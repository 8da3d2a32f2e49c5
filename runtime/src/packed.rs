//! An object at rest as text, which takes a fraction of the memory that its values take: every small map of an object is a
//! node of half a kilobyte.

use std::sync::Arc;

use kube::api::{DynamicObject, ObjectMeta};
use kube::core::TypeMeta;
use serde_json::Value;

/// An object that no reader has looked at for a while.
#[derive(Clone, Debug)]
pub(crate) struct Packed {
    types: Option<TypeMeta>,
    metadata: Box<str>,
    data: Box<str>,
}

impl Packed {
    /// None for an object that would not read back as it is.
    pub(crate) fn of(object: &DynamicObject) -> Option<Self> {
        let packed = Self {
            types: object.types.clone(),
            metadata: serde_json::to_string(&object.metadata).ok()?.into(),
            data: serde_json::to_string(&object.data).ok()?.into(),
        };
        (packed.read()? == *object).then_some(packed)
    }

    /// The object again. There always is one: it was read when it was packed.
    pub(crate) fn unpack(&self) -> Option<Arc<DynamicObject>> {
        self.read().map(Arc::new)
    }

    fn read(&self) -> Option<DynamicObject> {
        let metadata: ObjectMeta = serde_json::from_str(&self.metadata).ok()?;
        let data: Value = serde_json::from_str(&self.data).ok()?;
        Some(DynamicObject { types: self.types.clone(), metadata, data })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_packed_reads_back_as_it_was() {
        for (types, data) in [
            (
                true,
                json!({"spec": {"replicas": 2, "a.b/c": [1, -2, 0.1, 18446744073709551615_u64, "ü\u{0}"], "none": null}}),
            ),
            (true, Value::Null),
            (false, json!({})),
        ] {
            let object = json!({
                "metadata": {
                    "name": "a", "namespace": "b", "uid": "u", "resourceVersion": "7", "generation": 3,
                    "creationTimestamp": "2026-11-23T16:00:00Z", "labels": {"x": "y"}, "annotations": {},
                    "ownerReferences": [{"apiVersion": "v1", "kind": "K", "name": "n", "uid": "o", "controller": true}],
                },
            });
            let mut object: DynamicObject = serde_json::from_value(object).unwrap();
            let of_kind = TypeMeta { api_version: "v1".into(), kind: "ConfigMap".into() };
            (object.types, object.data) = (types.then_some(of_kind), data);
            let packed = Packed::of(&object).unwrap();
            assert_eq!(*packed.unpack().unwrap(), object);
        }
    }
}

//! `metadata.managedFields` ⇄ who owns which fields.
use serde_json::{Map, Value, json};

use super::set::Set;

/// More writers by update than this are folded into one entry, so that the list cannot grow without end.
const MAX_UPDATE_ENTRIES: usize = 10;
const FOLDED: &str = "ancient-changes";

/// One entry of `managedFields`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) manager: String,
    pub(crate) applied: bool,
    pub(crate) api_version: String,
    pub(crate) subresource: String,
    pub(crate) time: Option<String>,
    pub(crate) fields: Set,
}

impl Entry {
    /// Whether both are the same owner: an applier keeps its entry when it changes the version it applies.
    pub(crate) fn same_owner(&self, other: &Entry) -> bool {
        self.manager == other.manager
            && self.applied == other.applied
            && self.subresource == other.subresource
            && (self.applied || self.api_version == other.api_version)
    }

    fn read(value: &Value) -> Result<Entry, String> {
        let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let applied = match text("operation").as_str() {
            "Apply" => true,
            "Update" => false,
            _ => return Err("operation must be `Apply` or `Update`".to_owned()),
        };
        let api_version = text("apiVersion");
        if api_version.is_empty() {
            return Err("apiVersion must not be empty".to_owned());
        }
        if text("fieldsType") != "FieldsV1" {
            return Err(format!("invalid fieldsType {:?}", text("fieldsType")));
        }
        let none = Value::Object(Map::new());
        Ok(Entry {
            manager: text("manager"),
            applied,
            api_version,
            subresource: text("subresource"),
            time: value.get("time").and_then(Value::as_str).map(str::to_owned),
            fields: Set::from_fields(value.get("fieldsV1").unwrap_or(&none))?,
        })
    }

    fn write(&self) -> Value {
        let mut out = json!({
            "apiVersion": self.api_version,
            "fieldsType": "FieldsV1",
            "fieldsV1": self.fields.to_fields(),
            "manager": self.manager,
            "operation": if self.applied { "Apply" } else { "Update" },
        });
        if let Some(map) = out.as_object_mut() {
            if let Some(time) = &self.time {
                map.insert("time".to_owned(), time.clone().into());
            }
            if !self.subresource.is_empty() {
                map.insert("subresource".to_owned(), self.subresource.clone().into());
            }
        }
        out
    }
}

/// The owners that an object records.
pub(crate) enum Recorded {
    /// None, or none that can be read.
    Nothing,
    /// A single empty entry: the client asks to forget all owners.
    Reset,
    /// These owners.
    Owners(Vec<Entry>),
}

/// Reads the owners of an object.
pub(crate) fn read(object: &Value) -> Recorded {
    let Some(list) = object.pointer("/metadata/managedFields").and_then(Value::as_array) else {
        return Recorded::Nothing;
    };
    if let [only] = list.as_slice()
        && only.as_object().is_some_and(Map::is_empty)
    {
        return Recorded::Reset;
    }
    match list.iter().map(Entry::read).collect::<Result<Vec<_>, _>>() {
        Ok(entries) if !entries.is_empty() => Recorded::Owners(entries),
        _ => Recorded::Nothing,
    }
}

/// Writes the owners into an object, in the order clients expect.
pub(crate) fn write(object: &mut Value, mut entries: Vec<Entry>) {
    entries.retain(|e| !e.fields.is_empty());
    entries.sort_by(|a, b| {
        let key = |e: &Entry| {
            (!e.applied, e.time.clone(), e.manager.clone(), e.api_version.clone(), e.subresource.clone())
        };
        key(a).cmp(&key(b))
    });
    let Some(root) = object.as_object_mut() else { return };
    let metadata = root.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    if let Some(metadata) = metadata.as_object_mut() {
        if entries.is_empty() {
            metadata.remove("managedFields");
        } else {
            let list = entries.iter().map(Entry::write).collect();
            metadata.insert("managedFields".to_owned(), Value::Array(list));
        }
    }
}

/// Folds the oldest entries of updates where there are too many.
pub(crate) fn fold_old_updates(entries: &mut Vec<Entry>) {
    loop {
        let updates = entries.iter().filter(|e| !e.applied).count();
        if updates <= MAX_UPDATE_ENTRIES {
            return;
        }
        let oldest = entries
            .iter()
            .enumerate()
            .filter(|(_, e)| !e.applied && e.manager != FOLDED)
            .min_by(|(_, a), (_, b)| (&a.time, &a.manager).cmp(&(&b.time, &b.manager)))
            .map(|(i, _)| i);
        let Some(at) = oldest else { return };
        let old = entries.remove(at);
        let bucket = entries
            .iter_mut()
            .find(|e| !e.applied && e.manager == FOLDED && e.api_version == old.api_version);
        match bucket {
            Some(bucket) => {
                bucket.fields = bucket.fields.union(&old.fields);
                bucket.time = old.time.max(bucket.time.take());
            }
            None => entries.push(Entry { manager: FOLDED.to_owned(), subresource: String::new(), ..old }),
        }
    }
}

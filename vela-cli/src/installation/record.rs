//! Which objects an installation wrote ↔ a ConfigMap beside the controller, by which the next release knows them again.
//!
//! It names an object before the object exists, so that nothing is forgotten where an installation breaks off. Releases up to
//! 0.2.0 wrote none.

use kube::api::DynamicObject;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::pointer::text;

/// Name of the ConfigMap.
pub(crate) const RECORD: &str = "vela-installation";
/// The generation of an object that is not as this program would write it: no object ever has it.
const NEVER_WRITTEN: i64 = -1;
/// Stands where an object has no namespace, or no uid yet.
const NONE: &str = "-";

/// Which object is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Id {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl Id {
    pub(crate) fn of(object: &Value) -> Self {
        let part = |pointer| text(object, pointer).to_owned();
        Self {
            api_version: part("/apiVersion"),
            kind: part("/kind"),
            namespace: part("/metadata/namespace"),
            name: part("/metadata/name"),
        }
    }

    /// As messages call it.
    pub(crate) fn title(&self) -> String {
        format!("{} {}", self.kind, self.name)
    }

    pub(crate) fn namespace(&self) -> Option<&str> {
        Some(self.namespace.as_str()).filter(|namespace| !namespace.is_empty())
    }
}

/// An object that an installation wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) id: Id,
    /// Empty as long as the installation that names it has not ended.
    pub(crate) uid: String,
    /// That of the object when it was written: another one says that its content was changed since.
    pub(crate) generation: i64,
}

impl Entry {
    /// Of an object that is about to be written, where none is yet.
    pub(crate) fn named(id: Id) -> Self {
        Self { id, uid: String::new(), generation: 0 }
    }

    /// Of an object as it was written.
    pub(crate) fn written(id: &Id, object: &DynamicObject) -> Self {
        let metadata = &object.metadata;
        let (uid, generation) = (metadata.uid.clone(), metadata.generation);
        Self { id: id.clone(), uid: uid.unwrap_or_default(), generation: generation.unwrap_or_default() }
    }

    /// Of an object that stays as a user made it.
    pub(crate) fn edited(id: &Id, object: &DynamicObject) -> Self {
        Self { generation: NEVER_WRITTEN, ..Self::written(id, object) }
    }
}

/// An installation as it is remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) version: String,
    /// The flags that decide what is installed.
    pub(crate) flags: Vec<String>,
    pub(crate) entries: Vec<Entry>,
}

impl Record {
    pub(crate) fn entry(&self, id: &Id) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.id == *id)
    }

    /// What the cluster remembers; nothing where no installation that writes a record was there.
    pub(crate) async fn read(cluster: &Cluster) -> Result<Option<Self>> {
        let found = cluster.get("v1", "ConfigMap", Some(cluster.system_namespace().await?), RECORD).await?;
        Ok(found.map(|found| Self::parse(&json!(found))).transpose()?)
    }

    fn parse(object: &Value) -> std::result::Result<Self, Error> {
        let lines = text(object, "/data/objects").lines();
        let entries = lines.enumerate().map(|(index, line)| {
            entry(line).ok_or_else(|| {
                let home = text(object, "/metadata/namespace");
                let place = format!("ConfigMap {home}/{RECORD}, data.objects, line {}", index + 1);
                Error::user(format!(
                    "{place}: {line:?} names no object; expected `apiVersion kind namespace name uid generation`"
                ))
                .hint(
                    "mend the line, or delete the ConfigMap: then nothing of former releases is taken away, and what \
                     users edited is found by its field managers",
                )
            })
        });
        Ok(Self {
            version: text(object, "/data/version").to_owned(),
            flags: text(object, "/data/flags").split_whitespace().map(str::to_owned).collect(),
            entries: entries.collect::<std::result::Result<_, _>>()?,
        })
    }

    pub(crate) fn object(&self, home: &str) -> Value {
        let lines: String = self.entries.iter().map(line).collect();
        json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": RECORD, "namespace": home},
            "data": {"version": self.version, "flags": self.flags.join(" "), "objects": lines},
        })
    }
}

fn line(entry: &Entry) -> String {
    let or_none = |text: &str| if text.is_empty() { NONE.to_owned() } else { text.to_owned() };
    let Entry { id: Id { api_version, kind, namespace, name }, uid, generation } = entry;
    format!("{api_version} {kind} {} {name} {} {generation}\n", or_none(namespace), or_none(uid))
}

fn entry(line: &str) -> Option<Entry> {
    let words: Vec<&str> = line.split(' ').collect();
    let [api_version, kind, namespace, name, uid, generation] = words.as_slice() else { return None };
    let or_empty = |word: &str| if word == NONE { String::new() } else { word.to_owned() };
    let id = Id {
        api_version: (*api_version).to_owned(),
        kind: (*kind).to_owned(),
        namespace: or_empty(namespace),
        name: (*name).to_owned(),
    };
    Some(Entry { id, uid: or_empty(uid), generation: generation.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let id = |namespace: &str| Id {
            api_version: "v1".to_owned(),
            kind: "ServiceAccount".to_owned(),
            namespace: namespace.to_owned(),
            name: "vela-core".to_owned(),
        };
        let record = Record {
            version: "0.3.0".to_owned(),
            flags: vec!["--webhooks".to_owned()],
            entries: vec![
                Entry { id: id("vela-system"), uid: "a-b".to_owned(), generation: 3 },
                Entry { id: id(""), uid: String::new(), generation: 0 },
            ],
        };
        assert_eq!(Record::parse(&record.object("platform")).ok(), Some(record));
    }

    #[test]
    fn a_line_that_names_no_object_is_told_with_its_place() {
        let broken = json!({"data": {"objects": "v1 Pod a b c 1\nv1 Pod a b c one\n"}});
        let error = Record::parse(&broken).unwrap_err().to_string();
        for words in ["line 2", "v1 Pod a b c one", "expected `apiVersion", "delete the ConfigMap"] {
            assert!(error.contains(words), "{words}: {error}");
        }
    }
}

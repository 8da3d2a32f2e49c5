//! Computes what a store must hold after an apply; nothing is written where it holds that already.

use serde_json::{Value as Json, json};

use super::limits::size;
use super::operation::{run, same_identity};
use super::{DOCUMENT_LIMIT, Operation, Store};
use crate::diagnostic::{Code, Diagnostic};
use crate::manifest::Document;
use crate::observed::ObjectKey;

/// A store and everything that ready outputs put into it in one reconcile. It is written once, so that two outputs that
/// disagree about a field cannot take turns.
#[derive(Debug, Clone, PartialEq)]
pub struct StorePlan {
    key: ObjectKey,
    parts: Vec<(ObjectKey, Vec<Operation>)>,
}

impl StorePlan {
    /// The store.
    pub fn key(&self) -> &ObjectKey {
        &self.key
    }

    /// The objects whose values go into it.
    pub fn sources(&self) -> impl Iterator<Item = &ObjectKey> {
        self.parts.iter().map(|(source, _)| source)
    }

    pub(super) fn add(plans: &mut Vec<StorePlan>, store: &Store, source: &ObjectKey) {
        let part = (source.clone(), store.operations.clone());
        match plans.iter_mut().find(|plan| plan.key == store.key) {
            Some(plan) => plan.parts.push(part),
            None => plans.push(Self { key: store.key.clone(), parts: vec![part] }),
        }
    }

    /// The store as it must be; nothing where `live` is so already, or where none of its sources was applied.
    /// A store that does not exist yet is made with the owners of its first source.
    ///
    /// # Errors
    /// An operation that cannot be done on the store, or that changes it again each time it runs.
    pub fn content<'a>(
        &self,
        document: &Document,
        live: Option<&Json>,
        applied: impl Fn(&ObjectKey) -> Option<&'a Json>,
    ) -> Result<Option<Json>, Diagnostic> {
        let parts: Vec<(&Json, &[Operation])> = self
            .parts
            .iter()
            .filter_map(|(source, operations)| Some((applied(source)?, operations.as_slice())))
            .collect();
        let Some((first, _)) = parts.first() else { return Ok(None) };
        let before = live.cloned().unwrap_or_else(|| self.empty(first));
        let new = pass(document, &before, &parts)?;
        if live == Some(&new) {
            return Ok(None);
        }
        // Whatever changes what it has just made would write at every reconcile, for ever.
        if pass(document, &new, &parts)? != new {
            let at = parts.iter().flat_map(|(_, operations)| operations.iter()).next_back();
            let message = format!("the operations change {} again each time they run", self.key);
            let hint = "write the whole list or text first (an operation without toDataPath), then change it; or name \
                        elements by what they say (a JSONPath filter), not by their index";
            let at = at.map(|operation| operation.at.clone()).unwrap_or_default();
            return Err(Diagnostic::error(Code::Template, message).at(document, at).hint(hint));
        }
        Ok(Some(new))
    }

    fn empty(&self, source: &Json) -> Json {
        let ObjectKey { api_version, kind, namespace, name, .. } = &self.key;
        let mut metadata = json!({"name": name, "namespace": namespace});
        let owners = source.get("metadata").and_then(|metadata| metadata.get("ownerReferences"));
        if let Some(owners) = owners {
            metadata["ownerReferences"] = owners.clone();
        }
        json!({"apiVersion": api_version, "kind": kind, "metadata": metadata})
    }
}

fn pass(document: &Document, before: &Json, parts: &[(&Json, &[Operation])]) -> Result<Json, Diagnostic> {
    let mut store = before.clone();
    for (source, operations) in parts {
        let done = run(&mut store, operations, source, true).and_then(|()| {
            let checked = same_identity(before, &store).and_then(|()| match size(&store) > DOCUMENT_LIMIT {
                true => Err(format!("the store would be larger than {DOCUMENT_LIMIT} bytes")),
                false => Ok(()),
            });
            checked.map_err(|message| {
                (operations.last().map(|last| last.at.clone()).unwrap_or_default(), message)
            })
        });
        done.map_err(|(at, message)| Diagnostic::error(Code::Template, message).at(document, at))?;
    }
    Ok(store)
}

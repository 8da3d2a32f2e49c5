//! Policy `resource-update`: how a changed object is written: patched, replaced, or made again when a field differs.

use serde_json::{Map, Value as Json};
use vela_crds::annotations;

use super::reader::Reader;
use super::selector::Selector;
use crate::field_path::{self, Segment};
use crate::parse::Policy;

/// Its type, as applications name it.
pub(super) const TYPE: &str = "resource-update";

/// Fields of an object that only servers and controllers write.
const RETAINED: [&str; 4] = ["apiVersion", "kind", "metadata", "status"];

/// How one object is written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Update {
    replaces: bool,
    recreate_fields: Vec<Vec<Segment>>,
}

impl Update {
    /// Does the application's object take the place of the live one, with all that others have put into that?
    pub fn replaces(&self) -> bool {
        self.replaces
    }

    /// The fields for which the object is deleted and made again: those that the application writes and that are not so in
    /// the cluster. `has_all(live, wanted)` says whether a live value has all that is wanted: servers add defaults.
    pub fn differing(
        &self,
        desired: &Json,
        live: &Json,
        has_all: impl Fn(&Json, &Json) -> bool,
    ) -> Vec<String> {
        let differs = |path: &&Vec<Segment>| {
            let wanted = field_path::get_at(desired, path).ok().filter(|wanted| !wanted.is_null());
            let live = field_path::get_at(live, path).unwrap_or(&Json::Null);
            wanted.is_some_and(|wanted| !has_all(live, wanted))
        };
        self.recreate_fields.iter().filter(differs).map(|path| field_path::format(path)).collect()
    }
}

/// A merge patch that turns a live object into the desired one: foreign fields go. Fields of the server stay, and so do owners,
/// finalizers and sharers of the object: these are not the application's to drop.
pub fn replacement(desired: &Json, live: &Json) -> Json {
    let mut patch = difference(desired, live);
    let Some(fields) = patch.as_object_mut() else { return patch };
    fields.retain(|name, value| !(value.is_null() && RETAINED.contains(&name.as_str())));
    if let Some(metadata) = fields.get_mut("metadata").and_then(Json::as_object_mut) {
        metadata.retain(|name, value| !value.is_null() || name == "labels" || name == "annotations");
        if let Some(all) = metadata.get_mut("annotations").and_then(Json::as_object_mut) {
            all.retain(|name, value| !value.is_null() || name != annotations::SHARED_BY);
        }
        // The wanted object has no annotations: the patch must name each removed one, or a sharer would be lost.
        if metadata.get("annotations").is_some_and(Json::is_null) {
            let all = live["metadata"]["annotations"].as_object().into_iter().flat_map(|all| all.keys());
            let others = all.filter(|name| *name != annotations::SHARED_BY);
            let gone: Map<String, Json> = others.map(|name| (name.clone(), Json::Null)).collect();
            metadata.insert("annotations".to_owned(), Json::Object(gone));
        }
    }
    patch
}

/// The desired value, with null for each field that only the live one has.
fn difference(desired: &Json, live: &Json) -> Json {
    let (Json::Object(wanted), Json::Object(live)) = (desired, live) else { return desired.clone() };
    let gone = live.keys().filter(|name| !wanted.contains_key(*name));
    let mut patch: Map<String, Json> = gone.map(|name| (name.clone(), Json::Null)).collect();
    for (name, wanted) in wanted {
        let value = live.get(name).map_or_else(|| wanted.clone(), |live| difference(wanted, live));
        patch.insert(name.clone(), value);
    }
    Json::Object(patch)
}

/// One policy more.
pub(super) fn read(policy: &Policy, reader: &mut Reader<'_>, into: &mut Vec<(Selector, Update)>) {
    let at = reader.properties(policy, &["rules"]);
    for (selector, rule) in reader.rules(&at, &["selector", "strategy"]) {
        let strategy = reader.object(&rule, "strategy", &["op", "recreateFields"]);
        let replaces = reader.choice(&strategy, "op", &[("patch", false), ("replace", true)]);
        let recreate_fields = reader.paths(&strategy, "recreateFields");
        into.push((selector, Update { replaces: replaces.unwrap_or_default(), recreate_fields }));
    }
}

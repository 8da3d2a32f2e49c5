//! Policy `apply-once`: which fields of its objects an application leaves as they are in the cluster, and when.

use serde_json::Value as Json;

use super::reader::{Fields, Reader};
use super::selector::{Selector, first};
use crate::field_path::Segment;
use crate::parse::{AppFile, Policy};

/// Its type, as applications name it.
pub(super) const TYPE: &str = "apply-once";

/// The label of an application that brings an addon: what such a one made is left alone by default.
const ADDON: &str = "/metadata/labels/addons.oam.dev~1name";

/// The path that means a whole object.
const WHOLE: &str = "*";

/// When the cluster's values count more than the application's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Affect {
    /// When a revision is brought to the cluster.
    OnUpdate,
    /// When what was brought is looked after.
    OnStateKeep,
    /// At all times.
    #[default]
    Always,
}

/// The fields of one object that stay as they are in the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplyOnce {
    affect: Affect,
    /// Fields; nothing where the whole object is meant.
    fields: Option<Vec<Vec<Segment>>>,
}

impl ApplyOnce {
    /// Does it say something about a write now? `keeps_state`: exactly this object was applied before, and is looked after.
    pub fn acts(&self, keeps_state: bool) -> bool {
        match self.affect {
            Affect::Always => true,
            Affect::OnUpdate => !keeps_state,
            Affect::OnStateKeep => keeps_state,
        }
    }

    /// Is the whole object left as it is?
    pub fn is_whole(&self) -> bool {
        self.fields.is_none()
    }

    /// The desired object with the fields of the live one: what is there counts, and what is not there is not put back.
    #[must_use]
    pub fn merged(&self, desired: &Json, live: &Json) -> Json {
        let mut merged = desired.clone();
        for path in self.fields.iter().flatten() {
            put(&mut merged, path, crate::field_path::get_at(live, path).ok());
        }
        merged
    }
}

/// All apply-once policies of an application together.
#[derive(Debug, Clone, Default)]
pub(super) struct ApplyOnceRules {
    enabled: bool,
    rules: Vec<(Selector, ApplyOnce)>,
}

impl ApplyOnceRules {
    /// The state of an application before its policies are read.
    pub(super) fn of_application(app: &AppFile) -> Self {
        let is_addon = app.document().value().pointer(ADDON).is_some();
        Self { enabled: is_addon || app.applies_once(), rules: Vec::new() }
    }

    /// The fields of this object that stay.
    pub(super) fn of(&self, object: &Json) -> Option<ApplyOnce> {
        match (self.enabled, self.rules.is_empty()) {
            (false, _) => None,
            (true, true) => Some(ApplyOnce { affect: Affect::OnStateKeep, fields: None }),
            (true, false) => first(&self.rules, object).cloned(),
        }
    }

    /// One policy more.
    pub(super) fn read(&mut self, policy: &Policy, reader: &mut Reader<'_>) {
        let at = reader.properties(policy, &["enable", "rules"]);
        self.enabled |= reader.flag(&at, "enable") == Some(true);
        for (selector, rule) in reader.rules(&at, &["selector", "strategy"]) {
            let strategy = reader.object(&rule, "strategy", &["affect", "path"]);
            self.rules.push((selector, read_strategy(&strategy, reader)));
        }
    }
}

fn read_strategy(strategy: &Fields<'_>, reader: &mut Reader<'_>) -> ApplyOnce {
    let times =
        [("onUpdate", Affect::OnUpdate), ("onStateKeep", Affect::OnStateKeep), ("always", Affect::Always)];
    let affect = reader.choice(strategy, "affect", &times).unwrap_or_default();
    let is_whole = reader.texts(strategy, "path").iter().any(|path| path == WHOLE);
    let fields = (!is_whole).then(|| reader.paths(strategy, "path"));
    ApplyOnce { affect, fields }
}

/// The value at a path becomes the live one, and goes where there is no live one. A path that leads through something else
/// is left alone: there is nothing of that name.
fn put(value: &mut Json, path: &[Segment], live: Option<&Json>) {
    let Some((next, rest)) = path.split_first() else {
        if let Some(live) = live {
            live.clone_into(value);
        }
        return;
    };
    let inner = match (next, value) {
        (Segment::Field(name), Json::Object(fields)) if rest.is_empty() && live.is_none() => {
            fields.remove(name);
            None
        }
        // Items are not made up: what is in a list that the application does not write is not the application's.
        (Segment::Field(name), Json::Object(fields))
            if live.is_some() && !matches!(rest.first(), Some(Segment::Index(_))) =>
        {
            Some(fields.entry(name.clone()).or_insert_with(|| Json::Object(serde_json::Map::new())))
        }
        (Segment::Field(name), Json::Object(fields)) => fields.get_mut(name),
        (Segment::Index(index), Json::Array(items)) => items.get_mut(*index),
        _ => None,
    };
    if let Some(inner) = inner {
        put(inner, rest, live);
    }
}

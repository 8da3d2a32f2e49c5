//! The rules of an application's policies for each of its objects, with selectors.

use serde_json::Value as Json;

use super::apply_once::{self, ApplyOnce, ApplyOnceRules};
use super::garbage_collect::{self, GarbageCollect, Retention};
use super::reader::Reader;
use super::resource_update::{self, Update};
use super::selector::{Selector, first};
use super::shared_resource;
use crate::definition::version::base_name;
use crate::parse::{AppFile, Policy};

/// Objects that an application names, looks at, and never writes.
const READ_ONLY: &str = "read-only";
/// Objects without an owner that an application may make its own.
const TAKE_OVER: &str = "take-over";

/// The types that are read here.
pub(super) const TYPES: [&str; 6] = [
    apply_once::TYPE,
    garbage_collect::TYPE,
    READ_ONLY,
    resource_update::TYPE,
    shared_resource::TYPE,
    TAKE_OVER,
];

/// The policies about objects. Policies of one type count together, in the order written; of the rules of a type, the first
/// that is for an object.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    garbage_collect: GarbageCollect,
    apply_once: ApplyOnceRules,
    read_only: Vec<(Selector, ())>,
    take_over: Vec<(Selector, ())>,
    shared: Vec<(Selector, ())>,
    updates: Vec<(Selector, Update)>,
}

/// The policies for one object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObjectRules {
    /// The application reads it and never writes it, regardless of its owner.
    pub read_only: bool,
    /// The application may make it its own where it has no owner.
    pub take_over: bool,
    /// Other applications may name it, too.
    pub shared: bool,
    /// The fields that stay as they are in the cluster.
    pub apply_once: Option<ApplyOnce>,
    /// How it is written when it differs.
    pub update: Update,
    /// How long it stays.
    pub retention: Retention,
    /// Where it would be deleted, it only stops being the application's.
    pub released: bool,
}

impl ObjectRules {
    /// Does it depend on what is in the cluster how the object is written?
    pub fn needs_live(&self) -> bool {
        self.take_over || self.apply_once.is_some() || self.update != Update::default()
    }
}

impl Rules {
    /// The state of an application before its policies are read.
    pub(super) fn of_application(app: &AppFile) -> Self {
        Self { apply_once: ApplyOnceRules::of_application(app), ..Self::default() }
    }

    /// When unwanted objects go.
    pub fn garbage_collect(&self) -> &GarbageCollect {
        &self.garbage_collect
    }

    /// The policies for a rendered object.
    pub fn of(&self, object: &Json) -> ObjectRules {
        let (retention, released) = self.garbage_collect.of(object);
        ObjectRules {
            read_only: first(&self.read_only, object).is_some(),
            take_over: first(&self.take_over, object).is_some(),
            shared: first(&self.shared, object).is_some(),
            apply_once: self.apply_once.of(object),
            update: first(&self.updates, object).cloned().unwrap_or_default(),
            retention,
            released,
        }
    }

    /// One policy more, of one of [`TYPES`].
    pub(super) fn read(&mut self, policy: &Policy, reader: &mut Reader<'_>) {
        match base_name(&policy.type_) {
            apply_once::TYPE => self.apply_once.read(policy, reader),
            garbage_collect::TYPE => self.garbage_collect.read(policy, reader),
            resource_update::TYPE => resource_update::read(policy, reader, &mut self.updates),
            READ_ONLY => read_selectors(policy, reader, &mut self.read_only),
            TAKE_OVER => read_selectors(policy, reader, &mut self.take_over),
            shared_resource::TYPE => read_selectors(policy, reader, &mut self.shared),
            // `TYPES` names the types above.
            _ => {}
        }
    }
}

/// A policy whose rules have nothing but a selector.
fn read_selectors(policy: &Policy, reader: &mut Reader<'_>, into: &mut Vec<(Selector, ())>) {
    let at = reader.properties(policy, &["rules"]);
    let rules = reader.rules(&at, &["selector"]);
    into.extend(rules.into_iter().map(|(selector, _)| (selector, ())));
}

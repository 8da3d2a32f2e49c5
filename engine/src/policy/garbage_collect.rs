//! Policy `garbage-collect`: when objects that a revision does not name any more are deleted, in which order, and which stay.

use serde_json::Value as Json;

use super::reader::Reader;
use super::selector::{Selector, first};
use crate::definition::version::base_name;
use crate::parse::Policy;

/// Its type, as applications name it.
pub(super) const TYPE: &str = "garbage-collect";

const FIELDS: &[&str] =
    &["applicationRevisionLimit", "keepLegacyResource", "continueOnFailure", "order", "rules"];

/// How long an object stays that was made for an application.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Retention {
    /// Until a revision does not name it any more.
    #[default]
    WhileNamed,
    /// Until the application is deleted.
    WithApplication,
    /// For ever: the application lets it go, and it stays.
    Forever,
}

/// How an object goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Propagation {
    /// With what it owns.
    Cascading,
    /// It does not: it only stops being the application's.
    Orphan,
}

/// All garbage-collect policies of an application together: lists are joined, and one that switches an option on wins.
#[derive(Debug, Clone, Default)]
pub struct GarbageCollect {
    keeps_legacy: bool,
    continues_on_failure: bool,
    in_order: bool,
    rules: Vec<(Selector, (Retention, Option<Propagation>))>,
}

impl GarbageCollect {
    /// Do objects of former revisions stay until the application goes?
    pub fn keeps_legacy(&self) -> bool {
        self.keeps_legacy
    }

    /// Are unwanted objects deleted although the workflow failed?
    pub fn continues_on_failure(&self) -> bool {
        self.continues_on_failure
    }

    /// Does an object go only after those of components that depend on its own?
    pub fn is_in_order(&self) -> bool {
        self.in_order
    }

    /// How long an object stays, and whether it stays where it would be deleted.
    pub(super) fn of(&self, object: &Json) -> (Retention, bool) {
        let (retention, propagation) = first(&self.rules, object).copied().unwrap_or_default();
        (retention, retention == Retention::Forever || propagation == Some(Propagation::Orphan))
    }

    /// One policy more.
    pub(super) fn read(&mut self, policy: &Policy, reader: &mut Reader<'_>) {
        let at = reader.properties(policy, FIELDS);
        self.keeps_legacy |= reader.flag(&at, "keepLegacyResource") == Some(true);
        self.continues_on_failure |= reader.flag(&at, "continueOnFailure") == Some(true);
        self.in_order |= reader.choice(&at, "order", &[("dependency", ())]).is_some();
        // Only checked here: the code that limits the revisions reads it from the application, see `revision_limit`.
        reader.number(&at, "applicationRevisionLimit");
        for (selector, rule) in reader.rules(&at, &["selector", "strategy", "propagation"]) {
            let strategies = [
                ("onAppUpdate", Retention::WhileNamed),
                ("onAppDelete", Retention::WithApplication),
                ("never", Retention::Forever),
            ];
            let retention = reader.choice(&rule, "strategy", &strategies).unwrap_or_default();
            let ways = [("cascading", Propagation::Cascading), ("orphan", Propagation::Orphan)];
            self.rules.push((selector, (retention, reader.choice(&rule, "propagation", &ways))));
        }
    }
}

/// How many former revisions an application wants to keep: what the first of its policies says that says a number.
pub fn revision_limit(application: &Json) -> Option<usize> {
    let limit = |properties: &Json| usize::try_from(properties["applicationRevisionLimit"].as_u64()?).ok();
    policies(application).find_map(limit)
}

/// Does an application that is being deleted want its objects to go one component after the other? The deletion does not
/// read the policy as a whole: a mistake in it must not hold up the end.
pub fn is_deleted_in_order(application: &Json) -> bool {
    policies(application).any(|properties| properties["order"] == "dependency")
}

fn policies(application: &Json) -> impl Iterator<Item = &Json> {
    let all = application.pointer("/spec/policies").and_then(Json::as_array);
    let own = all.into_iter().flatten().filter(|policy| policy["type"].as_str().map(base_name) == Some(TYPE));
    own.filter_map(|policy| policy.get("properties"))
}

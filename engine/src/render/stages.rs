//! The known stages of traits while an application is rendered, and the parts that are not rendered yet.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::definition::stage::Stage;
use crate::parse::{AppFile, Component, Era};

/// How far components are.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Stages {
    /// No trait waits: the applier of the objects knows no stages.
    #[default]
    Ignored,
    /// For a preview: everything is shown that can be without the state of live objects.
    Assumed,
    /// As the cluster tells it, by the numbers of nodes; of those that are absent nothing is there yet.
    Known(BTreeMap<usize, Dispatched>),
}

/// How far one component is at one of its places.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Dispatched {
    /// The traits before the component is healthy.
    pub before: bool,
    /// The component is healthy: its `output` and `outputs` as they are in the cluster.
    pub live: Option<Json>,
}

impl Dispatched {
    /// Adds further known stages; says whether they are new. Known stages stay.
    pub fn grow(&mut self, other: Self) -> bool {
        let is_news = (other.before && !self.before) || (other.live.is_some() && self.live.is_none());
        self.before |= other.before;
        self.live = self.live.take().or(other.live);
        is_news
    }
}

/// A trait whose objects are not made yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deferred {
    /// Number of the trait in its component.
    pub index: usize,
    /// The reason of the wait, in words.
    pub why: String,
}

/// Does a trait of the application name another stage than that of its component, and does its own reconcile apply it? A
/// rollout or a store of its objects knows no stages.
pub fn has_stages(app: &AppFile) -> bool {
    let is_direct = app.era() == Era::V1beta1 && !app.only_records() && app.rollout_plan().is_none();
    is_direct && app.components().iter().any(is_staged)
}

/// Does one of its traits name another stage than that of the component?
pub(crate) fn is_staged(component: &Component) -> bool {
    component.traits.iter().any(|trait_| trait_.definition.stage() != Ok(Stage::DefaultDispatch))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_known_of_a_component_only_grows() {
        let mut known = Dispatched::default();
        let live = |text: &str| Dispatched { before: false, live: Some(json!(text)) };
        assert!(known.grow(Dispatched { before: true, live: None }));
        assert!(known.grow(live("a")));
        assert!(!known.grow(live("b")));
        assert!(!known.grow(Dispatched::default()));
        assert_eq!(known, Dispatched { before: true, live: Some(json!("a")) });
    }
}

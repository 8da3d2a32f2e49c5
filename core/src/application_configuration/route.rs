//! A configuration → which way it goes; may not change anything.

use vela_crds::finalizers;
use vela_engine::application_configuration::{is_controlled_by_application, is_passive};

use super::reconciler::Work;

/// Which way a configuration goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// It is being deleted: what no owner reference reaches goes first.
    Deleted,
    /// It is the record of an old revision.
    Passive,
    /// It needs these finalizers before anything is made for it.
    Unheld(Vec<String>),
    /// Its objects are applied.
    Active(Author),
}

/// The author of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Author {
    /// People, whose configurations have no revisions but those that are recorded here.
    People,
    /// The controller of Applications, which records revisions itself.
    Application,
}

impl Route {
    pub(super) fn choose(work: &Work<'_>) -> Self {
        let document = work.document.value();
        if work.configuration.metadata.deletion_timestamp.is_some() {
            return Self::Deleted;
        }
        if is_passive(document) {
            return Self::Passive;
        }
        if let Some(finalizers) = missing_finalizer(work) {
            return Self::Unheld(finalizers);
        }
        Self::Active(match is_controlled_by_application(document) {
            true => Author::Application,
            false => Author::People,
        })
    }
}

/// All finalizers, where the one is missing by which workloads leave their scopes.
fn missing_finalizer(work: &Work<'_>) -> Option<Vec<String>> {
    let entries = work.configuration.data["spec"]["components"].as_array();
    let is_scoped =
        entries.is_some_and(|all| all.iter().any(|c| c["scopes"].as_array().is_some_and(|s| !s.is_empty())));
    let mut held = work.configuration.metadata.finalizers.clone().unwrap_or_default();
    if !is_scoped || held.iter().any(|held| held == finalizers::SCOPE) {
        return None;
    }
    held.push(finalizers::SCOPE.to_owned());
    Some(held)
}

#[cfg(test)]
mod tests {
    use kube::api::DynamicObject;
    use serde_json::{Value, json};
    use vela_engine::Document;
    use vela_runtime::Key;

    use super::*;

    fn route(metadata: Value, components: Value) -> Route {
        let mut object = json!({"apiVersion": "core.oam.dev/v1alpha2", "kind": "ApplicationConfiguration",
            "metadata": metadata, "spec": {"components": components}});
        object["metadata"]["name"] = json!("shop");
        object["metadata"]["namespace"] = json!("ns");
        let configuration: DynamicObject = serde_json::from_value(object.clone()).unwrap();
        let (key, document) = (Key::of(&configuration), Document::from_object(object));
        Route::choose(&Work { key: &key, configuration: &configuration, document: &document })
    }

    fn owned() -> Value {
        json!([{"apiVersion": "core.oam.dev/v1beta1", "kind": "Application", "name": "shop", "uid": "u",
            "controller": true}])
    }

    #[test]
    fn the_author_decides_between_two_ways() {
        assert_eq!(route(json!({}), json!([])), Route::Active(Author::People));
        assert_eq!(route(json!({"ownerReferences": owned()}), json!([])), Route::Active(Author::Application));
    }

    #[test]
    fn a_record_is_passed_over_and_a_deleted_one_goes() {
        let marked = json!({"app.oam.dev/app-revision": "true"});
        let record = json!({"ownerReferences": owned(), "annotations": marked});
        assert_eq!(route(record.clone(), json!([])), Route::Passive);
        // Only an Application's configuration can be a record.
        let people = json!({"annotations": marked});
        assert_eq!(route(people, json!([])), Route::Active(Author::People));
        let mut deleted = record;
        deleted["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        assert_eq!(route(deleted, json!([])), Route::Deleted);
    }

    #[test]
    fn scopes_are_left_by_a_finalizer_that_is_there_first() {
        let scoped = json!([{"componentName": "a", "scopes": [{"scopeRef": {"name": "health"}}]}]);
        let other = json!({"finalizers": ["other"]});
        let both = vec!["other".to_owned(), finalizers::SCOPE.to_owned()];
        assert_eq!(route(other, scoped.clone()), Route::Unheld(both.clone()));
        assert_eq!(route(json!({"finalizers": both}), scoped), Route::Active(Author::People));
    }
}

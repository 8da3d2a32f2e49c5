//! Labels and annotations of an Application → whether this controller looks at it.

use kube::api::DynamicObject;
use vela_crds::{annotations, labels};

/// The release that this controller is of.
const RELEASE: &str = env!("CARGO_PKG_VERSION");

/// Did a user ask that nothing is done for the application, or that only a controller of another release does? Not even its
/// end is looked after then, as upstream.
pub(super) fn is_left_alone(application: &DynamicObject) -> bool {
    let paused = application.metadata.labels.as_ref().and_then(|all| all.get(labels::PAUSE));
    let required = application
        .metadata
        .annotations
        .as_ref()
        .and_then(|all| all.get(annotations::CONTROLLER_REQUIREMENT));
    paused.is_some_and(|paused| paused == "true") || required.is_some_and(|required| !is_ours(required))
}

/// With or without the letter that upstream writes before its releases.
fn is_ours(release: &str) -> bool {
    release.strip_prefix('v').unwrap_or(release) == RELEASE
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_controller_of_another_release_may_be_asked_for() {
        let application = |labels: Value, annotations: Value| -> DynamicObject {
            let metadata = json!({"name": "shop", "labels": labels, "annotations": annotations});
            serde_json::from_value(json!({"metadata": metadata})).unwrap()
        };
        let asks = |release: &str| {
            is_left_alone(&application(json!({}), json!({"app.oam.dev/controller-version-require": release})))
        };
        assert!(!asks(RELEASE) && !asks(&format!("v{RELEASE}")));
        assert!(asks("Disabled") && asks("v0.0.0-none") && asks(""));
        assert!(!is_left_alone(&application(json!({}), json!({}))));
        assert!(is_left_alone(&application(json!({"controller.core.oam.dev/pause": "true"}), json!({}))));
        assert!(!is_left_alone(&application(json!({"controller.core.oam.dev/pause": "false"}), json!({}))));
    }
}

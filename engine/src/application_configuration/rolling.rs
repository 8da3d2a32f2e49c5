//! Rolling templates: which components a rollout handles, how their workloads wait for it, and what the status says.

use std::collections::BTreeSet;

use serde_json::Value as Json;
use vela_crds::annotations;

use super::resource_names::is_controlled_by_application;
use super::text;
use crate::rollout::workload;

/// The templates are being applied.
pub const TEMPLATING: &str = "RollingTemplating";
/// The templates are applied: the rollout owns them.
pub const TEMPLATED: &str = "RollingTemplated";
/// The rollout is over.
pub const COMPLETE: &str = "RollingComplete";
/// A newer configuration took over; this one is a record only.
pub const INACTIVE: &str = "InactiveAfterRollingCompleted";

/// The marks of a configuration for rollouts.
#[derive(Debug, Clone, Default)]
pub(super) struct Rolling {
    /// Is there a rollout?
    active: bool,
    /// Are the templates still to be applied?
    needs_template: bool,
    controlled: bool,
    components: BTreeSet<String>,
}

impl Rolling {
    pub(super) fn of(configuration: &Json) -> Self {
        let annotation = |name: &str| {
            let all = configuration.get("metadata").and_then(|metadata| metadata.get("annotations"));
            all.and_then(|all| all.get(name)).and_then(Json::as_str)
        };
        let listed = annotation(annotations::ROLLING_COMPONENTS).unwrap_or_default();
        Self {
            active: annotation(annotations::ROLLOUT_TEMPLATE).is_some(),
            needs_template: text(configuration, &["status", "rollingStatus"]) != TEMPLATED,
            controlled: is_controlled_by_application(configuration),
            components: listed.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect(),
        }
    }

    fn rolls(&self, component: &str) -> bool {
        self.active && self.components.contains(component)
    }

    /// True when the component's template is applied in this reconcile.
    pub(super) fn templates(&self, component: &str) -> bool {
        self.rolls(component) && self.needs_template
    }

    /// True when the workload belongs to the rollout now and is left alone.
    pub(super) fn leaves(&self, component: &str) -> bool {
        self.rolls(component) && !self.needs_template
    }

    /// True when what stands beside the workload is left alone: until the rollout is over it belongs to what the rollout
    /// comes from, and what scales a workload must not scale one that waits.
    pub(super) fn leaves_traits(&self, component: &str) -> bool {
        self.controlled && self.rolls(component)
    }

    /// True when the workload is applied so that it waits for its rollout.
    pub(super) fn holds(&self, component: &str) -> bool {
        self.controlled && self.templates(component)
    }

    /// Makes a workload that is applied for the first time wait for its rollout.
    pub(super) fn prepare(&self, component: &str, workload: &mut Json) -> Result<(), String> {
        if !self.holds(component) {
            return Ok(());
        }
        let (api_version, kind) = (text(workload, &["apiVersion"]), text(workload, &["kind"]));
        let unknown = format!(
            "do not know how to prepare {kind} of {api_version} for a rollout: it must be a Deployment, StatefulSet or \
             DaemonSet of apps, or a CloneSet, StatefulSet or DaemonSet of apps.kruise.io"
        );
        workload::hold(workload, None).map_err(|_| unknown)
    }
}

/// The state after a reconcile. `templated`: some component's template was rendered; `applied`: everything was applied and
/// nothing waits. A template counts as applied only then, or a reconcile that failed would leave it out for ever.
pub(super) fn next(configuration: &Json, templated: bool, applied: bool) -> Option<String> {
    let rolling = Rolling::of(configuration);
    let before = text(configuration, &["status", "rollingStatus"]);
    let next = match (rolling.active, before) {
        (true, _) if templated => {
            if applied {
                TEMPLATED
            } else {
                TEMPLATING
            }
        }
        (false, TEMPLATED) => COMPLETE,
        // It was the record of an old revision, and is not any more.
        (_, INACTIVE) => "",
        (_, before) => before,
    };
    (!next.is_empty()).then(|| next.to_owned())
}

/// Is the configuration only the record of an old revision? Its objects are neither rendered nor deleted then.
pub fn is_passive(configuration: &Json) -> bool {
    let all = configuration.get("metadata").and_then(|metadata| metadata.get("annotations"));
    let marked = all.and_then(|all| all.get(annotations::APP_REVISION)).and_then(Json::as_str);
    marked == Some("true") && is_controlled_by_application(configuration)
}

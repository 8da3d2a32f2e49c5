//! Figures about each application by its name, as the gate `EnableApplicationStatusMetrics` of KubeVela has them.

use std::collections::BTreeMap;

use prometheus_client::encoding::EncodeLabelSet;
use serde_json::Value;
use vela_runtime::Key;

/// Phases of an application, in the order of their numbers.
const PHASES: [&str; 10] = [
    "starting",
    "running",
    "rendering",
    "generatingPolicy",
    "runningWorkflow",
    "workflowSuspending",
    "workflowTerminated",
    "workflowFailed",
    "unhealthy",
    "deleting",
];
/// Phases of a workflow, in the order of their numbers.
const WORKFLOW_PHASES: [&str; 7] =
    ["initializing", "succeeded", "executing", "suspending", "terminated", "failed", "skipped"];
/// The number of a phase that KubeVela does not know.
const UNKNOWN: i64 = -1;

/// Which application.
#[derive(Clone, Debug, Hash, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet)]
pub(crate) struct AppLabels {
    app_name: String,
    namespace: String,
}

/// The figures of all applications.
#[derive(Debug, Default)]
pub(crate) struct Each {
    health: BTreeMap<AppLabels, i64>,
    phases: BTreeMap<AppLabels, i64>,
    workflows: BTreeMap<AppLabels, i64>,
}

impl Each {
    /// One more application.
    pub(crate) fn add(&mut self, key: &Key, status: &Value) {
        let labels = AppLabels { app_name: key.name.clone(), namespace: key.namespace.clone() };
        let services = status["services"].as_array();
        let healthy = services.is_some_and(|all| all.iter().all(|service| service["healthy"] == true));
        self.health.insert(labels.clone(), i64::from(healthy));
        self.phases.insert(labels.clone(), number(&PHASES, &status["status"]));
        self.workflows.insert(labels, number(&WORKFLOW_PHASES, &status["workflow"]["status"]));
    }

    /// Name, what it tells, and the figures.
    pub(crate) fn families(&self) -> [(&'static str, &'static str, &BTreeMap<AppLabels, i64>); 3] {
        [
            (
                "kubevela_application_health_status",
                "Whether all components of an application are healthy",
                &self.health,
            ),
            ("kubevela_application_phase", "Phase of an application as a number", &self.phases),
            (
                "kubevela_application_workflow_phase",
                "Phase of the workflow of an application as a number",
                &self.workflows,
            ),
        ]
    }
}

fn number(phases: &[&str], phase: &Value) -> i64 {
    let phase = phase.as_str().unwrap_or_default();
    let at = phases.iter().position(|known| *known == phase);
    at.and_then(|at| i64::try_from(at).ok()).unwrap_or(UNKNOWN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn phases_have_the_numbers_of_upstream() {
        let mut each = Each::default();
        let healthy = json!({"status": "running", "services": [{"healthy": true}], "workflow": {"status": "succeeded"}});
        let failed = json!({"status": "workflowFailed", "services": [{"healthy": true}, {"healthy": false}],
            "workflow": {"status": "failed"}});
        each.add(&Key::new("prod", "good"), &healthy);
        each.add(&Key::new("prod", "bad"), &failed);
        each.add(&Key::new("prod", "new"), &Value::Null);
        let figures = each.families().map(|(_, _, figures)| figures.values().copied().collect::<Vec<_>>());
        assert_eq!(figures, [vec![0, 1, 0], vec![7, 1, -1], vec![5, 1, -1]]);
    }
}

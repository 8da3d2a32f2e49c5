//! The packages that templates import: their texts, and what of them is computed here.

use vela_cue::calls::{Answer, Call, CallFields};
use vela_cue::{Provider, Source};

use super::compute;

type Compute = fn(&Call) -> Option<Result<Answer, String>>;

/// How calls are written in the packages of KubeVela, and so in the templates of everybody.
pub(crate) const CALLS: CallFields = CallFields {
    function: "#do",
    provider: "#provider",
    params: "$params",
    returns: "$returns",
    order: "step",
};

/// A package of ours.
struct Package {
    path: &'static str,
    files: &'static [(&'static str, &'static str)],
    compute: Compute,
}

impl Provider for Package {
    fn path(&self) -> &str {
        self.path
    }

    fn sources(&self) -> Vec<Source> {
        self.files.iter().map(|(name, text)| Source::new(*name, *text)).collect()
    }

    fn compute(&self, call: &Call) -> Option<Result<Answer, String>> {
        (self.compute)(call)
    }
}

/// The packages of workflow steps.
pub fn workflow() -> &'static [&'static dyn Provider] {
    WORKFLOW
}

/// The packages of components and traits.
pub fn workload() -> &'static [&'static dyn Provider] {
    WORKLOAD
}

/// The packages of policies: some are rendered as components are, others act with the workflow.
pub fn policy() -> Vec<&'static dyn Provider> {
    let further = |package: &&&dyn Provider| WORKLOAD.iter().all(|known| known.path() != package.path());
    WORKLOAD.iter().chain(WORKFLOW.iter().filter(further)).copied().collect()
}

macro_rules! package {
    ($path:literal, $compute:path, $($file:literal),+) => {
        &Package {
            path: $path,
            files: &[$(($file, include_str!(concat!("../steps/", $file)))),+],
            compute: $compute,
        }
    };
}

static WORKFLOW: &[&dyn Provider] = &[
    package!("vela/kube", compute::nothing, "workflow/kube.cue"),
    package!("vela/builtin", compute::nothing, "workflow/builtin.cue"),
    package!("vela/http", compute::nothing, "workflow/http.cue"),
    package!("vela/email", compute::nothing, "workflow/email.cue"),
    package!("vela/metrics", compute::nothing, "workflow/metrics.cue"),
    package!("vela/time", compute::time, "workflow/time.cue"),
    package!("vela/util", compute::util, "workflow/util.cue"),
    package!("vela/config", compute::nothing, "workflow/config.cue"),
    package!("vela/multicluster", compute::nothing, "workflow/multicluster.cue"),
    package!("vela/oam", compute::nothing, "workflow/oam.cue"),
    package!("vela/query", compute::nothing, "workflow/query.cue"),
    package!("vela/ql", compute::nothing, "workflow/ql.cue"),
    package!("vela/terraform", compute::nothing, "workflow/terraform.cue"),
    package!("vela/helm", compute::nothing, "workload/helm.cue"),
    package!("vela/base64", compute::base64, "workload/base64.cue"),
    package!("vela/cue", compute::cue, "workload/cue.cue"),
    package!(
        "vela/op",
        compute::op,
        "workflow/op/calls.cue",
        "workflow/op/application.cue",
        "workflow/op/environment.cue",
        "workflow/op/cloud.cue",
        "workflow/op/chat.cue"
    ),
];

static WORKLOAD: &[&dyn Provider] = &[
    package!("vela/base64", compute::base64, "workload/base64.cue"),
    package!("vela/http", compute::nothing, "workload/http.cue"),
    package!("vela/kube", compute::nothing, "workload/kube.cue"),
    package!("vela/cue", compute::cue, "workload/cue.cue"),
    package!("vela/config", compute::nothing, "workload/config.cue"),
    package!("vela/helm", compute::nothing, "workload/helm.cue"),
];

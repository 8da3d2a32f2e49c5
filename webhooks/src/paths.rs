//! Every path of the server: what is written there, by whom it is judged or changed, and the rule that sends it there.

use crate::review::Review;

/// One path of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// The path, in the spelling that users' webhook configurations already have.
    pub path: &'static str,
    /// The action at that path.
    pub action: Action,
    /// The objects of that path.
    pub subject: Subject,
    /// API group of the resource.
    pub group: &'static str,
    /// Versions of it that are taken; the first is the one that a configuration names.
    pub versions: &'static [&'static str],
    /// Plural names of the resources.
    pub resources: &'static [&'static str],
}

/// The action at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The object is changed on its way in.
    Mutate,
    /// The object may enter or not.
    Validate,
}

/// The objects of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// An Application.
    Application,
    /// An ApplicationConfiguration.
    Configuration,
    /// A Component.
    Component,
    /// A definition of any kind.
    Definition,
    /// A DefinitionRevision.
    DefinitionRevision,
    /// An AppRollout, which the seed calls ApplicationDeployment.
    Rollout,
    /// A MetricsTrait.
    MetricsTrait,
    /// A PodSpecWorkload.
    PodSpecWorkload,
    /// A workload that a ServiceBinding may be for.
    Workload,
}

/// Where ServiceBindings are put into workloads.
pub const INJECT: &str = "/mutate";
/// Where everything that makes the controllers act is stamped with its author.
pub const STAMP: &str = "/stamp-author";
/// Where records of the controllers are kept from everybody else.
pub const RECORD: &str = "/keep-record";
/// The stamped kinds, by group; the other kinds have paths of their own.
pub const STAMPED: [(&str, &[&str]); 2] = [
    (
        CORE,
        &[
            "appdeployments",
            "applicationcontexts",
            "applicationdeployments",
            "applicationrevisions",
            "approllouts",
            "containerizedworkloads",
            "healthscopes",
            "manualscalertraits",
        ],
    ),
    (STANDARD, &["autoscalers", "metricstraits", "podspecworkloads", "rollouttraits", "routes"]),
];
/// The records of the group `core.oam.dev`.
pub const RECORDS: &[&str] = &["applicationrevisions", "definitionrevisions", "resourcetrackers"];
/// Where objects are converted between their versions.
pub const CONVERT: &str = "/convert";

pub(crate) const CORE: &str = "core.oam.dev";
const STANDARD: &str = "standard.oam.dev";
const V1ALPHA2: &[&str] = &["v1alpha2"];
const V1BETA1_FIRST: &[&str] = &["v1beta1", "v1alpha2"];
const V1ALPHA2_FIRST: &[&str] = &["v1alpha2", "v1beta1"];
/// The seed writes one kind under two names.
const ROLLOUTS: &[&str] = &["approllouts", "applicationdeployments"];
const FIRST: &[&str] = &["v1alpha1"];

const fn core(
    path: &'static str,
    action: Action,
    subject: Subject,
    versions: &'static [&'static str],
    resources: &'static [&'static str],
) -> Path {
    Path { path, action, subject, group: CORE, versions, resources }
}

const fn definition(path: &'static str, resources: &'static [&'static str]) -> Path {
    core(path, Action::Validate, Subject::Definition, V1BETA1_FIRST, resources)
}

const fn standard(
    path: &'static str,
    action: Action,
    subject: Subject,
    resources: &'static [&'static str],
) -> Path {
    Path { path, action, subject, group: STANDARD, versions: FIRST, resources }
}

use Action::{Mutate, Validate};
use Subject::{
    Application, Component, Configuration, Definition, DefinitionRevision, MetricsTrait, PodSpecWorkload,
    Rollout,
};

/// Every path but [`CONVERT`].
pub const PATHS: &[Path] = &[
    core(
        "/mutating-core-oam-dev-v1alpha2-applicationconfigurations",
        Mutate,
        Configuration,
        V1ALPHA2,
        &["applicationconfigurations"],
    ),
    core(
        "/validating-core-oam-dev-v1alpha2-applicationconfigurations",
        Validate,
        Configuration,
        V1ALPHA2,
        &["applicationconfigurations"],
    ),
    core("/mutating-core-oam-dev-v1alpha2-components", Mutate, Component, V1ALPHA2, &["components"]),
    core("/validating-core-oam-dev-v1alpha2-components", Validate, Component, V1ALPHA2, &["components"]),
    core(
        "/mutating-core-oam-dev-v1alpha2-applications",
        Mutate,
        Application,
        V1ALPHA2_FIRST,
        &["applications"],
    ),
    core(
        "/validating-core-oam-dev-v1alpha2-applications",
        Validate,
        Application,
        V1ALPHA2_FIRST,
        &["applications"],
    ),
    core(
        "/mutating-core-oam-dev-v1beta1-applications",
        Mutate,
        Application,
        V1BETA1_FIRST,
        &["applications"],
    ),
    core(
        "/validating-core-oam-dev-v1beta1-applications",
        Validate,
        Application,
        V1BETA1_FIRST,
        &["applications"],
    ),
    definition("/validating-core-oam-dev-v1alpha2-traitdefinitions", &["traitdefinitions"]),
    definition("/validating-core-oam-dev-v1beta1-traitdefinitions", &["traitdefinitions"]),
    core(
        "/mutating-core-oam-dev-v1beta1-componentdefinitions",
        Mutate,
        Definition,
        V1BETA1_FIRST,
        &["componentdefinitions"],
    ),
    definition("/validating-core-oam-dev-v1beta1-componentdefinitions", &["componentdefinitions"]),
    definition("/validating-core-oam-dev-v1beta1-workloaddefinitions", &["workloaddefinitions"]),
    definition("/validating-core-oam-dev-v1beta1-policydefinitions", &["policydefinitions"]),
    definition("/validating-core-oam-dev-v1beta1-workflowstepdefinitions", &["workflowstepdefinitions"]),
    core(
        "/validating-core-oam-dev-v1beta1-definitionrevisions",
        Validate,
        DefinitionRevision,
        V1BETA1_FIRST,
        &["definitionrevisions"],
    ),
    core("/mutating-core-oam-dev-v1alpha2-applicationdeployments", Mutate, Rollout, V1ALPHA2_FIRST, ROLLOUTS),
    core("/mutating-core-oam-dev-v1beta1-approllout", Mutate, Rollout, V1BETA1_FIRST, ROLLOUTS),
    core("/validating-core-oam-dev-v1beta1-approllout", Validate, Rollout, V1BETA1_FIRST, ROLLOUTS),
    standard("/mutate-standard-oam-dev-v1alpha1-metricstrait", Mutate, MetricsTrait, &["metricstraits"]),
    standard("/validate-standard-oam-dev-v1alpha1-metricstrait", Validate, MetricsTrait, &["metricstraits"]),
    standard(
        "/mutate-standard-oam-dev-v1alpha1-podspecworkload",
        Mutate,
        PodSpecWorkload,
        &["podspecworkloads"],
    ),
    standard(
        "/validate-standard-oam-dev-v1alpha1-podspecworkload",
        Validate,
        PodSpecWorkload,
        &["podspecworkloads"],
    ),
    Path {
        path: INJECT,
        action: Mutate,
        subject: Subject::Workload,
        group: "apps",
        versions: &["v1"],
        resources: &["deployments", "statefulsets"],
    },
];

impl Path {
    /// The entry of a path.
    pub fn at(path: &str) -> Option<&'static Self> {
        PATHS.iter().find(|entry| entry.path == path)
    }

    /// Why a review does not belong here. A request that tells no resource is believed, and workloads of other kinds
    /// pass: people bind what they like.
    pub fn refuses(&self, review: &Review) -> Option<String> {
        let Self { group, versions, resources, .. } = self;
        let found = &review.resource;
        let is_named = !found.group.is_empty() || !found.version.is_empty() || !found.resource.is_empty();
        let fits = self.subject == Subject::Workload
            || (found.group == *group
                && versions.contains(&found.version.as_str())
                && resources.contains(&found.resource.as_str()));
        (is_named && !fits).then(|| {
            format!(
                "expected {} of {group} ({}), found {} of {}/{}",
                resources.join(" or "),
                versions.join(" or "),
                found.resource,
                found.group,
                found.version
            )
        })
    }
}

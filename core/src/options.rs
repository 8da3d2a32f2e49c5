//! The operator's choices about the controllers, as typed values; reads no flag, environment or file.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use vela_crds::finalizers::SYSTEM_NAMESPACE;
pub use vela_engine::Bounds;
pub use vela_engine::application_configuration::ApplyOnce;
pub use vela_engine::workflow::RunLimits;
pub use vela_engine::workload_names::WorkloadNames;
pub use vela_runtime::computations::Limits as RenderLimits;
pub use vela_runtime::egress::EgressPolicy;
use vela_snapshot::Namespaces;
pub use vela_snapshot::PolicyScopes;
pub use vela_webhooks::Strictness;

/// Objects of one kind reconciled at the same time unless told otherwise. A reconcile mostly waits for answers; how many
/// requests are in flight is for `vela_runtime::limiter` to decide, and how many render at once for [`RenderLimits`].
pub const CONCURRENT_RECONCILES: usize = 32;
/// Components of one object written at the same time unless told otherwise: enough to hide the time that an API server
/// needs for one write, and with all workers few enough not to be what it is busy with.
pub const CONCURRENT_WRITES: usize = 8;
/// Revisions of a Component kept beside the pinned ones unless told otherwise.
pub const COMPONENT_REVISION_LIMIT: usize = 50;
/// Revisions of an Application kept unless told otherwise.
pub const APPLICATION_REVISION_LIMIT: usize = 10;
/// Revisions of a definition kept unless told otherwise.
pub const DEFINITION_REVISION_LIMIT: usize = 20;
/// Applications that take up changed definitions at the same time unless told otherwise. One that does not get well holds
/// its place for a while, so that a definition that is valid and wrong spoils few.
pub const DEFINITION_UPDATES_AT_ONCE: usize = 10;
/// Time between two resyncs: watches bring every change at once, so a resync only mends unforeseen errors.
pub const RESYNC: Duration = Duration::from_secs(60 * 60);
/// Time after which an unmet dependency is looked at again; its watch usually wakes it long before.
pub const DEPENDENCY_WAIT: Duration = Duration::from_secs(30);
/// A hook's address longer than this is a mistake.
const HOOK_LENGTH_AT_MOST: usize = 2048;

/// The choices; every controller finds them in its context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Objects of one kind reconciled at the same time.
    pub concurrent_reconciles: usize,
    /// Components of one Application or ApplicationConfiguration written at the same time.
    pub concurrent_writes: usize,
    /// Time between two resyncs of everything watched; nothing means never.
    pub resync: Option<Duration>,
    /// Time after which an unmet dependency is looked at again, beside the watch on it.
    pub dependency_wait: Duration,
    /// Whether what was applied once is applied again.
    pub apply_once: ApplyOnce,
    /// Revisions of a Component kept beside the pinned ones.
    pub component_revision_limit: usize,
    /// Revisions of an Application kept.
    pub application_revision_limit: usize,
    /// Revisions of a definition kept.
    pub definition_revision_limit: usize,
    /// Which applications take up a definition that changes.
    pub definition_updates: DefinitionUpdates,
    /// How many of them at the same time; at least one.
    pub definition_updates_at_once: usize,
    /// The default names of workloads of Applications in the v1alpha2 form.
    pub workload_names: WorkloadNames,
    /// The hook that is asked before a component revision is cut.
    pub custom_revision_hook: Option<Hook>,
    /// Standard controllers that do not run.
    pub disabled: BTreeSet<Capability>,
    /// Where definitions that everybody may use live.
    pub system_namespace: String,
    /// The ServiceAccount of this process, where it runs in a pod.
    pub service_account: Option<String>,
    /// Where definitions are looked for before anywhere else.
    pub first_namespace: Option<String>,
    /// Which generations of the API are reconciled.
    pub generations: Generations,
    /// Whether an application can do only what its author could.
    pub authenticate_application: bool,
    /// Which addresses may be asked because a URL in an object of a user says so.
    pub egress_policy: EgressPolicy,
    /// How far applications reach that act for no author.
    pub bounds: Bounds,
    /// The limits of evaluations of templates, of one and of all together.
    pub rendering: RenderLimits,
    /// How workflows wait and try again.
    pub workflow: RunLimits,
    /// Optional refusals of the webhooks, beyond objects that cannot be deployed.
    pub strictness: Strictness,
    /// Whether every application has metrics of its own.
    pub status_metrics: bool,
    /// Whether applications leave alone what they applied, unless their policies say more.
    pub applications_once: bool,
    /// Which PolicyDefinitions change applications.
    pub policies: PolicyScopes,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            concurrent_reconciles: CONCURRENT_RECONCILES,
            concurrent_writes: CONCURRENT_WRITES,
            resync: Some(RESYNC),
            dependency_wait: DEPENDENCY_WAIT,
            apply_once: ApplyOnce::Off,
            component_revision_limit: COMPONENT_REVISION_LIMIT,
            application_revision_limit: APPLICATION_REVISION_LIMIT,
            definition_revision_limit: DEFINITION_REVISION_LIMIT,
            definition_updates: DefinitionUpdates::default(),
            definition_updates_at_once: DEFINITION_UPDATES_AT_ONCE,
            workload_names: WorkloadNames::default(),
            custom_revision_hook: None,
            disabled: BTreeSet::new(),
            system_namespace: SYSTEM_NAMESPACE.to_owned(),
            service_account: None,
            first_namespace: None,
            generations: Generations::default(),
            authenticate_application: false,
            egress_policy: EgressPolicy::Services,
            bounds: Bounds::SAFE,
            rendering: RenderLimits::default(),
            workflow: RunLimits::default(),
            strictness: Strictness::default(),
            status_metrics: false,
            applications_once: false,
            policies: PolicyScopes::default(),
        }
    }
}

impl Options {
    /// How far applications may reach: where they act for authors, the authors' rights decide.
    pub fn bounds(&self) -> Bounds {
        if self.authenticate_application { Bounds::NONE } else { self.bounds }
    }

    /// Where definitions are looked for.
    pub fn namespaces(&self) -> Namespaces {
        Namespaces { first: self.first_namespace.clone(), system: self.system_namespace.clone() }
    }

    /// True when the standard controller of this capability runs.
    pub fn enabled(&self, capability: Capability) -> bool {
        !self.disabled.contains(&capability)
    }
}

/// Which applications take up a definition that changes, while they themselves stay as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DefinitionUpdates {
    /// Those with the annotation `app.oam.dev/autoUpdate: "true"`, as since release 1.1: the others keep the definitions of
    /// their revision until their spec or `app.oam.dev/publishVersion` changes.
    #[default]
    Annotated,
    /// Every application, as in the seed.
    All,
}

impl FromStr for DefinitionUpdates {
    type Err = Invalid;

    fn from_str(word: &str) -> Result<Self, Invalid> {
        match word {
            "annotated" => Ok(Self::Annotated),
            "all" => Ok(Self::All),
            _ => Err(Invalid(format!("{word:?} says nothing about definitions: write annotated or all"))),
        }
    }
}

/// A value that is none of those known; says what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Invalid(String);

/// A standard controller that can be switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Capability {
    /// MetricsTrait.
    Metrics,
    /// PodSpecWorkload.
    PodSpecWorkload,
    /// Route.
    Route,
    /// Autoscaler.
    Autoscale,
    /// WorkflowRun.
    WorkflowRun,
}

impl Capability {
    /// Every capability.
    pub const ALL: [Self; 5] =
        [Self::Metrics, Self::PodSpecWorkload, Self::Route, Self::Autoscale, Self::WorkflowRun];

    /// The word an operator writes.
    pub fn word(self) -> &'static str {
        match self {
            Self::Metrics => "metrics",
            Self::PodSpecWorkload => "podspecworkload",
            Self::Route => "route",
            Self::Autoscale => "autoscale",
            Self::WorkflowRun => "workflowrun",
        }
    }

    /// The capabilities a list switches off: nothing, `all`, or words with commas between. Spaces are no part of a
    /// word, and `all` stands alone, as operators' charts have always had it.
    pub fn disabled(list: &str) -> Result<BTreeSet<Self>, Invalid> {
        match list {
            "" => Ok(BTreeSet::new()),
            "all" => Ok(Self::ALL.into_iter().collect()),
            words => words.split(',').map(str::parse).collect(),
        }
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for Capability {
    type Err = Invalid;

    fn from_str(word: &str) -> Result<Self, Invalid> {
        Self::ALL.into_iter().find(|capability| capability.word() == word).ok_or_else(|| {
            let known = Self::ALL.map(Self::word).join(", ");
            Invalid(format!(
                "{word:?} in disable caps list is not built-in: write all, or some of {known} with only commas between"
            ))
        })
    }
}

/// The address of a custom revision hook: http or https with a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook(http::Uri);

impl Hook {
    /// The address.
    pub fn uri(&self) -> &http::Uri {
        &self.0
    }
}

impl FromStr for Hook {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let bad = |reason: &str| {
            Invalid(format!(
                "{text:?} is no address of a hook: {reason}; write for example http://hook.ns.svc:8080/revision"
            ))
        };
        if text.len() > HOOK_LENGTH_AT_MOST {
            return Err(Invalid(format!(
                "the hook's address has more than {HOOK_LENGTH_AT_MOST} characters"
            )));
        }
        let uri: http::Uri = text.parse().map_err(|error: http::uri::InvalidUri| bad(&error.to_string()))?;
        match (uri.scheme_str(), uri.host()) {
            (Some("http" | "https"), Some(host)) if !host.is_empty() => Ok(Self(uri)),
            (Some("http" | "https"), _) => Err(bad("it has no host")),
            _ => Err(bad("it must begin with http:// or https://")),
        }
    }
}

impl fmt::Display for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The generations of the API that are reconciled; both unless told otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generations {
    /// ApplicationConfigurations and their Components.
    pub application_configurations: bool,
    /// Applications.
    pub applications: bool,
}

impl Default for Generations {
    fn default() -> Self {
        Self { application_configurations: true, applications: true }
    }
}

impl FromStr for Generations {
    type Err = Invalid;

    fn from_str(word: &str) -> Result<Self, Invalid> {
        match word {
            "all" => Ok(Self::default()),
            "v0.2" => Ok(Self { applications: false, ..Self::default() }),
            "v0.3" => Ok(Self { application_configurations: false, ..Self::default() }),
            _ => Err(Invalid(format!(
                "{word:?} is no version of the OAM specification: write v0.2, v0.3 or all"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_a_list_without_spaces_or_all_alone() {
        assert!(Capability::disabled("").unwrap().is_empty());
        assert_eq!(Capability::disabled("all").unwrap().len(), 5);
        let two = Capability::disabled("route,metrics").unwrap();
        assert_eq!(two, [Capability::Metrics, Capability::Route].into());
        let options = Options { disabled: two, ..Options::default() };
        assert!(options.enabled(Capability::Autoscale) && !options.enabled(Capability::Route));
        for list in ["route,foo", "route, metrics", "all,route", "Route", ",", "route,"] {
            let error = Capability::disabled(list).unwrap_err().to_string();
            assert!(error.contains("in disable caps list is not built-in"), "{list}: {error}");
        }
    }

    #[test]
    fn a_hook_has_scheme_and_host() {
        for good in ["http://hook", "https://hook.ns.svc:8443/a?b=c", "http://[::1]:80/"] {
            assert_eq!(
                good.parse::<Hook>().unwrap().uri().to_string().trim_end_matches('/'),
                good.trim_end_matches('/')
            );
        }
        for bad in ["hook:8080", "ftp://hook", "/path", "http://", "http:///a", "", "http://a b", "unix:///s"]
        {
            assert!(bad.parse::<Hook>().unwrap_err().to_string().contains("write for example"), "{bad}");
        }
    }

    #[test]
    fn definitions_are_taken_up_by_all_or_by_the_annotated() {
        assert_eq!("all".parse(), Ok(DefinitionUpdates::All));
        assert_eq!("annotated".parse(), Ok(DefinitionUpdates::default()));
        assert!("none".parse::<DefinitionUpdates>().is_err());
    }

    #[test]
    fn generations_are_the_specification_s_versions() {
        assert_eq!("all".parse(), Ok(Generations::default()));
        assert!(!"v0.2".parse::<Generations>().unwrap().applications);
        assert!(!"v0.3".parse::<Generations>().unwrap().application_configurations);
        assert!("v1".parse::<Generations>().is_err());
    }
}

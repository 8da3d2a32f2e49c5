//! The table of all paths of today, each with its endpoint.

/// The endpoint of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// Exchanges the token of the link for a session.
    Enter,
    /// Page: every application.
    OverviewPage,
    /// Page: one application.
    ApplicationPage,
    /// Page: two revisions of an application.
    ComparePage,
    /// Page: the rollouts of an application, and what is ordered on them.
    RolloutsPage,
    /// Page: the workflow of an application, and what is ordered on it.
    WorkflowPage,
    /// Page: where the values of the objects of an application come from.
    ExplainPage,
    /// Page: the logs of an application.
    LogsPage,
    /// Page: a dry run of what is written into its form.
    DryRunPage,
    /// Deploys the manifest of the page that planned it.
    DeployPage,
    /// Page: the manifest of an application, to be changed.
    EditPage,
    /// Page: what deleting an application would delete.
    DeletePage,
    /// Page: the types.
    DefinitionsPage,
    /// Page: the parameters of a type.
    DefinitionPage,
    /// Page: a form for an application of a type.
    NewPage,
    /// The style of the pages.
    Style,
    /// The script of the pages.
    Script,
    /// Their icon.
    Icon,
    /// Applications of all namespaces.
    Applications,
    /// Applications of a namespace.
    NamespaceApplications,
    /// One application.
    Application,
    /// Its objects.
    Tree,
    /// Its events.
    Events,
    /// Its revisions.
    Revisions,
    /// The difference of two.
    Compare,
    /// Its rollouts.
    Rollouts,
    /// Its workflow.
    Workflow,
    /// What a user orders its workflow to do.
    Steer,
    /// Where the values of its objects come from.
    Explain,
    /// What a user orders one of its rollouts to do.
    SteerRollout,
    /// The lines that its containers write.
    Logs,
    /// The types.
    Definitions,
    /// One type.
    Definition,
    /// A dry run of the manifest that is sent.
    DryRun,
    /// What deploying the manifest that is sent would do.
    Plan,
    /// The token of what is sent.
    CsrfToken,
    /// Changes of applications.
    WatchApplications,
    /// Changes of one application and of its objects.
    WatchApplication,
    /// Changes of the rollouts of one application.
    WatchRollouts,
    /// This table as an OpenAPI document, for programs.
    OpenApi,
    /// A resource of the REST API of early 2021.
    Of2021(Of2021),
}

/// A resource of the REST API of early 2021.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of2021 {
    /// The environments.
    Environments,
    /// One of them.
    Environment,
    /// The applications of an environment.
    Applications,
    /// One of them with its components.
    Application,
    /// The same at another path, which is only read.
    Components,
    /// One component.
    Component,
    /// The traits of a component, to which one is added.
    AttachedTraits,
    /// One of them, which is taken away.
    AttachedTrait,
    /// The types of components.
    ComponentTypes,
    /// One of them.
    ComponentType,
    /// The WorkloadDefinitions.
    WorkloadTypes,
    /// One of them.
    WorkloadType,
    /// The types of traits.
    Traits,
    /// One of them.
    Trait,
    /// The ScopeDefinitions.
    Scopes,
    /// One of them.
    Scope,
    /// The capability centers.
    CapabilityCenters,
    /// One of them.
    CapabilityCenter,
    /// What it has.
    CenterCapabilities,
    /// One capability of it.
    CenterCapability,
    /// What is installed, and what could be.
    Capabilities,
    /// One capability that is installed.
    Capability,
    /// The schema of the parameters of a type.
    Schema,
    /// The version.
    Version,
}

impl Endpoint {
    /// The methods that it answers.
    pub(crate) fn allow(self) -> &'static str {
        match self {
            Self::DryRun | Self::Plan | Self::DeployPage | Self::Steer | Self::SteerRollout => "POST",
            Self::DryRunPage | Self::DeletePage | Self::NewPage | Self::WorkflowPage | Self::RolloutsPage => {
                "GET, HEAD, POST"
            }
            Self::Application => "GET, HEAD, PUT, DELETE",
            Self::Of2021(resource) => resource.allow(),
            _ => READS,
        }
    }
}

impl Of2021 {
    fn allow(self) -> &'static str {
        match self {
            Self::Environments | Self::Applications | Self::WorkloadTypes => "GET, HEAD, POST",
            Self::Environment => "GET, HEAD, PUT, PATCH, DELETE",
            Self::Application | Self::Component => "GET, HEAD, PUT, DELETE",
            Self::AttachedTraits => "POST",
            Self::AttachedTrait | Self::CapabilityCenter | Self::Capability => "DELETE",
            Self::CapabilityCenters => "GET, HEAD, PUT",
            Self::CenterCapabilities | Self::CenterCapability => "PUT",
            _ => READS,
        }
    }

    /// What is written elsewhere, though clients of early 2021 could send it here, and KubeVela did nothing with it.
    pub(crate) fn elsewhere(self) -> Option<&'static str> {
        match self {
            Self::ComponentType | Self::WorkloadType => {
                Some("a type is what its definition says, which `vela def apply` writes")
            }
            Self::Scopes | Self::Scope => Some(
                "a scope is an object, which `vela up` writes of a manifest, and its type is a definition",
            ),
            _ => None,
        }
    }
}

/// What is only read.
pub(crate) const READS: &str = "GET, HEAD";

/// One path.
#[derive(Debug)]
pub(crate) struct Route {
    /// The endpoint of the path.
    pub(crate) endpoint: Endpoint,
    /// The path; `{name}` stands for any name.
    pub(crate) path: &'static str,
    /// Parameters behind `?`.
    pub(crate) query: &'static [&'static str],
    /// The answer, in a sentence.
    pub(crate) summary: &'static str,
}

const LIST: &[&str] = &["namespace", "search", "health", "limit", "continue"];
const LIST_OF_NAMESPACE: &[&str] = &["search", "health", "limit", "continue"];
const LOGS: &[&str] = &["component", "pod", "container", "tail", "follow", "previous", "timestamps"];
const TWO: &[&str] = &["from", "to"];

const fn route(
    endpoint: Endpoint,
    path: &'static str,
    query: &'static [&'static str],
    summary: &'static str,
) -> Route {
    Route { endpoint, path, query, summary }
}

/// Every path that is served.
pub(crate) const ROUTES: [Route; 40] = [
    route(Endpoint::Enter, "/enter", &["token"], "Exchanges the one-time token for the cookie of a session"),
    route(Endpoint::OverviewPage, "/", LIST, "Page: every application"),
    route(
        Endpoint::ApplicationPage,
        "/namespaces/{namespace}/applications/{name}",
        &[],
        "Page: one application with its objects",
    ),
    route(
        Endpoint::ComparePage,
        "/namespaces/{namespace}/applications/{name}/compare",
        TWO,
        "Page: the difference of two revisions",
    ),
    route(
        Endpoint::RolloutsPage,
        "/namespaces/{namespace}/applications/{name}/rollouts",
        &[],
        "Page: the rollouts of an application",
    ),
    route(
        Endpoint::WorkflowPage,
        "/namespaces/{namespace}/applications/{name}/workflow",
        &[],
        "Page: the workflow of an application",
    ),
    route(
        Endpoint::ExplainPage,
        "/namespaces/{namespace}/applications/{name}/explain",
        &[],
        "Page: where the values of the objects of an application come from",
    ),
    route(
        Endpoint::LogsPage,
        "/namespaces/{namespace}/applications/{name}/logs",
        LOGS,
        "Page: the logs of an application",
    ),
    route(Endpoint::DryRunPage, "/dry-run", &[], "Page: a dry run of a manifest"),
    route(Endpoint::DeployPage, "/deploy", &[], "Deploys the manifest of the page that planned it"),
    route(
        Endpoint::EditPage,
        "/namespaces/{namespace}/applications/{name}/edit",
        &[],
        "Page: the manifest of an application, to be changed",
    ),
    route(
        Endpoint::DeletePage,
        "/namespaces/{namespace}/applications/{name}/delete",
        &[],
        "Page: what deleting an application would delete",
    ),
    route(Endpoint::DefinitionsPage, "/definitions", &[], "Page: the types"),
    route(
        Endpoint::DefinitionPage,
        "/namespaces/{namespace}/definitions/{kind}/{name}",
        &[],
        "Page: the parameters of a type",
    ),
    route(
        Endpoint::NewPage,
        "/namespaces/{namespace}/definitions/{kind}/{name}/new",
        &[],
        "Page: a form for an application of a component type",
    ),
    route(Endpoint::Style, "/assets/console.css", &[], "The style of the pages"),
    route(Endpoint::Script, "/assets/console.js", &[], "The script of the pages"),
    route(Endpoint::Icon, "/assets/icon.svg", &[], "The icon of the pages"),
    route(
        Endpoint::Applications,
        "/api/v1/applications",
        LIST,
        "Applications with health and phase, in pages",
    ),
    route(
        Endpoint::NamespaceApplications,
        "/api/v1/namespaces/{namespace}/applications",
        LIST_OF_NAMESPACE,
        "Applications of a namespace with health and phase, in pages",
    ),
    route(
        Endpoint::Application,
        "/api/v1/namespaces/{namespace}/applications/{name}",
        &[],
        "One application: its components, its workflow, the object itself",
    ),
    route(
        Endpoint::Tree,
        "/api/v1/namespaces/{namespace}/applications/{name}/tree",
        &[],
        "The objects of an application, down to pods, each with its health and the reason",
    ),
    route(
        Endpoint::Events,
        "/api/v1/namespaces/{namespace}/applications/{name}/events",
        &[],
        "Events of an application and of its objects, newest first",
    ),
    route(
        Endpoint::Revisions,
        "/api/v1/namespaces/{namespace}/applications/{name}/revisions",
        &[],
        "Revisions of an application, newest first",
    ),
    route(
        Endpoint::Compare,
        "/api/v1/namespaces/{namespace}/applications/{name}/compare",
        TWO,
        "The difference of two revisions, field by field",
    ),
    route(
        Endpoint::Rollouts,
        "/api/v1/namespaces/{namespace}/applications/{name}/rollouts",
        &[],
        "Rollouts of an application with their batches, newest first",
    ),
    route(
        Endpoint::Workflow,
        "/api/v1/namespaces/{namespace}/applications/{name}/workflow",
        &[],
        "The workflow of an application: its steps with phase, reason, times and outputs",
    ),
    route(
        Endpoint::Steer,
        "/api/v1/namespaces/{namespace}/applications/{name}/workflow/{order}",
        &["step"],
        "Suspends, resumes, terminates or restarts the workflow, or one step of it; the application as it was written",
    ),
    route(
        Endpoint::SteerRollout,
        "/api/v1/namespaces/{namespace}/applications/{name}/rollouts/{rollout}/{order}",
        &["full"],
        "Pauses, resumes, promotes or undoes a rollout; what it does then",
    ),
    route(
        Endpoint::Explain,
        "/api/v1/namespaces/{namespace}/applications/{name}/explain",
        &[],
        "The objects that an application makes, each value with the definition and the field it comes from",
    ),
    route(
        Endpoint::Logs,
        "/api/v1/namespaces/{namespace}/applications/{name}/logs",
        LOGS,
        "What the containers of an application write, line by line, as server-sent events",
    ),
    route(
        Endpoint::Definitions,
        "/api/v1/definitions",
        &[],
        "The types of components, traits, policies and steps",
    ),
    route(
        Endpoint::Definition,
        "/api/v1/namespaces/{namespace}/definitions/{kind}/{name}",
        &[],
        "One type with its parameters",
    ),
    route(
        Endpoint::DryRun,
        "/api/v1/dry-run",
        &["namespace"],
        "What is wrong with a manifest, each at its place, and the objects that its applications would make",
    ),
    route(
        Endpoint::Plan,
        "/api/v1/plan",
        &["namespace"],
        "What is wrong with the manifest of an application, and what deploying it would do, field by field",
    ),
    route(
        Endpoint::CsrfToken,
        "/api/v1/csrf-token",
        &[],
        "The token that the header X-Csrf-Token of a POST has to carry",
    ),
    route(
        Endpoint::WatchApplications,
        "/api/v1/watch/applications",
        &["namespace"],
        "Changes of applications, as server-sent events",
    ),
    route(
        Endpoint::WatchApplication,
        "/api/v1/watch/namespaces/{namespace}/applications/{name}",
        &[],
        "One application and its objects whenever they changed, as server-sent events",
    ),
    route(
        Endpoint::WatchRollouts,
        "/api/v1/watch/namespaces/{namespace}/applications/{name}/rollouts",
        &[],
        "Rollouts of an application whenever they changed, as server-sent events",
    ),
    route(Endpoint::OpenApi, "/api/openapi.json", &[], "This description (OpenAPI 3.1)"),
];

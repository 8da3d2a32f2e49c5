//! The table of all paths, and the endpoint that a path stands for.

use std::collections::BTreeMap;

use crate::error::Error;

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
    /// Page: the types.
    DefinitionsPage,
    /// Page: the parameters of a type.
    DefinitionPage,
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
}

impl Endpoint {
    /// The methods that it answers.
    pub(crate) fn allow(self) -> &'static str {
        match self {
            Self::DryRun | Self::Steer | Self::SteerRollout => "POST",
            Self::DryRunPage | Self::WorkflowPage | Self::RolloutsPage => "GET, HEAD, POST",
            _ => READS,
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
pub(crate) const ROUTES: [Route; 35] = [
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
    route(Endpoint::DefinitionsPage, "/definitions", &[], "Page: the types"),
    route(
        Endpoint::DefinitionPage,
        "/namespaces/{namespace}/definitions/{kind}/{name}",
        &[],
        "Page: the parameters of a type",
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
        "Suspends, resumes, terminates or restarts the workflow; the application as it was written",
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

/// The names in a path.
#[derive(Debug, Default)]
pub(crate) struct Names(BTreeMap<&'static str, String>);

impl Names {
    /// The name at `{part}`; empty where the path has no such part.
    pub(crate) fn get(&self, part: &str) -> &str {
        self.0.get(part).map_or("", String::as_str)
    }
}

/// The route of a path. Names are DNS names, so nothing in a path needs decoding.
pub(crate) fn find(path: &str) -> Result<(&'static Route, Names), Error> {
    for route in &ROUTES {
        if let Some(names) = matched(route.path, path) {
            return match names.0.iter().find(|(_, name)| !is_name(name)) {
                None => Ok((route, names)),
                Some((part, name)) => {
                    let name: String = name.chars().take(100).collect();
                    Err(Error::NotFound(format!(
                        "{name:?} cannot be a {part}: names have a-z, 0-9, '-' and '.'"
                    )))
                }
            };
        }
    }
    Err(Error::NotFound("there is nothing at this path; see / and /api/openapi.json".to_owned()))
}

fn matched(template: &'static str, path: &str) -> Option<Names> {
    let mut names = Names::default();
    let mut parts = path.split('/');
    for wanted in template.split('/') {
        let part = parts.next()?;
        match wanted.strip_prefix('{').and_then(|wanted| wanted.strip_suffix('}')) {
            Some(name) => {
                names.0.insert(name, part.to_owned());
            }
            None if wanted == part => {}
            None => return None,
        }
    }
    parts.next().is_none().then_some(names)
}

/// Whether a text can be the name of an object: what cannot be one never reaches the API server.
pub(crate) fn is_name(text: &str) -> bool {
    const LONGEST: usize = 253;
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
    !text.is_empty()
        && text.len() <= LONGEST
        && text.chars().all(plain)
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stand_for_endpoints() {
        let endpoint = |path| find(path).ok().map(|(route, _)| route.endpoint);
        assert_eq!(endpoint("/"), Some(Endpoint::OverviewPage));
        assert_eq!(endpoint("/api/v1/applications"), Some(Endpoint::Applications));
        let (route, names) = find("/api/v1/namespaces/a/applications/b/tree").unwrap();
        assert_eq!((route.endpoint, names.get("namespace"), names.get("name")), (Endpoint::Tree, "a", "b"));
        for path in ["", "//", "/api", "/api/v1/applications/", "/assets/../enter", "/assets/console.css/x"] {
            assert_eq!(endpoint(path), None, "{path}");
        }
    }

    #[test]
    fn what_cannot_be_a_name_is_not_asked_for() {
        for name in vela_testkit::hostile::NAMES.into_iter().chain(["", "<script>", "A"]) {
            let found = find(&format!("/api/v1/namespaces/default/applications/{name}"));
            assert!(matches!(found, Err(Error::NotFound(_))), "{name:?}");
        }
    }
}

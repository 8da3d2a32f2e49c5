//! Answers the REST API of early 2021: what is read, in the bodies that its clients know.

use http::request::Parts;
use http::{Response, StatusCode};
use serde_json::json;
use vela_engine::DefinitionKind;

use super::console::{Console, Inner};
use crate::answer::{self, Body};
use crate::data::api_2021::{self, Answer, DEFAULT, Environment};
use crate::data::applications::{Filter, Summary};
use crate::error::Error;
use crate::find::{Names, find};
use crate::route::{Endpoint, Of2021};

/// Applications of an environment that are listed.
const APPLICATIONS_AT_MOST: usize = 5_000;

/// A failure: the sentence under `data`, and where there is no such path, under `error`.
pub(super) fn failure(error: &Error, parts: &Parts) -> Response<Body> {
    let (status, path) = (error.status(), parts.uri.path());
    let body = match find(path) {
        Err(_) if status == StatusCode::NOT_FOUND => {
            let path: String = path.chars().take(200).collect();
            json!({"error": format!("'{}' against '{path}' is not supported", parts.method)})
        }
        _ if matches!(error, Error::WrongMedia(_)) => json!({"error": error.to_string()}),
        _ => json!({"code": status.as_u16(), "data": error.to_string()}),
    };
    answer::json(status, &body)
}

/// Why a path is not answered for another method.
pub(super) fn refused(endpoint: Endpoint) -> Error {
    let allow = endpoint.allow();
    match endpoint {
        Endpoint::Of2021(resource) => match resource.elsewhere() {
            Some(why) => Error::WrittenElsewhere { allow, why },
            None => Error::MethodNotAllowed(allow),
        },
        _ => Error::MethodNotAllowed(allow),
    }
}

impl Console {
    pub(super) async fn at_2021(&self, resource: Of2021, names: &Names) -> Result<Response<Body>, Error> {
        let Inner { client, options, .. } = &*self.inner;
        let own = options.namespace.as_deref();
        let (all, name) = (self.namespaces(), names.get("name"));
        let namespaces = all.around(own.unwrap_or("default"));
        let types = |kind| api_2021::types(client, &namespaces, kind);
        let one = |kind| api_2021::type_of(client, &namespaces, kind, name);
        let data = match resource {
            Of2021::Environments => json!(self.environments(None).await?),
            Of2021::Environment => json!(self.environments(Some(names.get("env"))).await?),
            Of2021::Applications => api_2021::applications(&self.of_environment(names).await?),
            Of2021::Application | Of2021::Components => api_2021::application(&self.of_name(names).await?),
            Of2021::Component => api_2021::component(&self.of_name(names).await?, names.get("component"))?,
            Of2021::AttachedTraits
            | Of2021::AttachedTrait
            | Of2021::CapabilityCenter
            | Of2021::CenterCapabilities
            | Of2021::CenterCapability
            | Of2021::Capability => {
                return Err(Error::MethodNotAllowed(Endpoint::Of2021(resource).allow()));
            }
            Of2021::ComponentTypes => json!(types(DefinitionKind::Component).await?),
            Of2021::ComponentType => one(DefinitionKind::Component).await?,
            Of2021::WorkloadTypes => json!(types(DefinitionKind::Workload).await?),
            Of2021::WorkloadType => one(DefinitionKind::Workload).await?,
            Of2021::Traits => json!(types(DefinitionKind::Trait).await?),
            Of2021::Trait => one(DefinitionKind::Trait).await?,
            Of2021::Scopes => json!(types(DefinitionKind::Scope).await?),
            Of2021::Scope => one(DefinitionKind::Scope).await?,
            Of2021::CapabilityCenters => self.centers().await?,
            Of2021::Capabilities => {
                let mut all = types(DefinitionKind::Component).await?;
                all.extend(types(DefinitionKind::Trait).await?);
                self.capabilities(all).await?
            }
            Of2021::Schema => api_2021::schema(client, &namespaces, name).await?,
            Of2021::Version => json!({"version": env!("CARGO_PKG_VERSION")}),
        };
        Ok(answer::json(StatusCode::OK, &Answer::of(data)))
    }

    /// The environments, or the one of this name. The one that a console of one namespace shows is current there; else that of
    /// the user of this machine.
    pub(super) async fn environments(&self, name: Option<&str>) -> Result<Vec<Environment>, Error> {
        let Inner { client, options, .. } = &*self.inner;
        let chosen = match (&options.namespace, &options.commands) {
            (Some(own), _) => Some(own.clone()),
            (None, Some(commands)) => commands.current()?.map(|current| current.namespace),
            (None, None) => None,
        };
        api_2021::environments(client, chosen.as_deref().unwrap_or(DEFAULT), name).await
    }

    /// The namespace of the environment that is named.
    pub(super) async fn namespace_of_environment(&self, names: &Names) -> Result<String, Error> {
        self.namespace_of_name(names.get("env")).await
    }

    /// The namespace of an environment.
    pub(super) async fn namespace_of_name(&self, environment: &str) -> Result<String, Error> {
        let all = api_2021::environments(&self.inner.client, DEFAULT, Some(environment)).await?;
        Ok(all.into_iter().next().map(|environment| environment.namespace).unwrap_or_default())
    }

    /// The applications of the environment that is named.
    async fn of_environment(&self, names: &Names) -> Result<Vec<Summary>, Error> {
        let applications = &self.inner.applications;
        let namespace = Some(self.namespace_of_environment(names).await?);
        applications.listed().await?;
        let filter = Filter { namespace, ..Filter::default() };
        Ok(applications.page(&filter, None, APPLICATIONS_AT_MOST)?.items)
    }

    async fn of_name(&self, names: &Names) -> Result<Summary, Error> {
        let (env, app) = (names.get("env"), names.get("app"));
        let all = self.of_environment(names).await?;
        let found = all.into_iter().find(|one| one.metadata.name == app);
        found.ok_or_else(|| Error::NotFound(format!("the environment {env} has no application {app:?}")))
    }
}

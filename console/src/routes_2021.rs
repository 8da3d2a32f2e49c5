//! The paths of the REST API of early 2021 ; its clients find what they looked for there.

use crate::route::{Endpoint, Of2021, Route};

const fn route(resource: Of2021, path: &'static str, summary: &'static str) -> Route {
    Route { endpoint: Endpoint::Of2021(resource), path, query: &[], summary }
}

/// Every path of it, without the `/` that may stand at its end.
pub(crate) const ROUTES_2021: [Route; 24] = [
    route(Of2021::Environments, "/api/envs", "Environments: namespaces that are marked as one, and default"),
    route(Of2021::Environment, "/api/envs/{env}", "One environment, in a list"),
    route(Of2021::Applications, "/api/envs/{env}/apps", "Applications of an environment, newest first"),
    route(Of2021::Application, "/api/envs/{env}/apps/{app}", "One application with its components"),
    route(Of2021::Components, "/api/envs/{env}/apps/{app}/components", "One application with its components"),
    route(Of2021::Component, "/api/envs/{env}/apps/{app}/components/{component}", "One component"),
    route(
        Of2021::AttachedTraits,
        "/api/envs/{env}/apps/{app}/components/{component}/traits",
        "The traits of a component, which are only written here",
    ),
    route(
        Of2021::AttachedTrait,
        "/api/envs/{env}/apps/{app}/components/{component}/traits/{trait}",
        "One trait of a component, which is only written here",
    ),
    route(Of2021::ComponentTypes, "/api/components", "Types of components"),
    route(Of2021::ComponentType, "/api/components/{name}", "One type of components with its parameters"),
    route(Of2021::WorkloadTypes, "/api/workloads", "WorkloadDefinitions"),
    route(Of2021::WorkloadType, "/api/workloads/{name}", "One WorkloadDefinition with its parameters"),
    route(Of2021::Traits, "/api/traits", "Types of traits"),
    route(Of2021::Trait, "/api/traits/{name}", "One type of traits with its parameters"),
    route(Of2021::Scopes, "/api/scopes", "ScopeDefinitions"),
    route(Of2021::Scope, "/api/scopes/{name}", "One ScopeDefinition"),
    route(
        Of2021::CapabilityCenters,
        "/api/capability-centers",
        "Capability centers that the machine of the console knows",
    ),
    route(Of2021::CapabilityCenter, "/api/capability-centers/{center}", "One center, only written here"),
    route(
        Of2021::CenterCapabilities,
        "/api/capability-centers/{center}/capabilities",
        "What a center has, only written here",
    ),
    route(
        Of2021::CenterCapability,
        "/api/capability-centers/{center}/capabilities/{capability}",
        "One capability of a center, only written here",
    ),
    route(Of2021::Capability, "/api/capabilities/{capability}", "One capability, only written here"),
    route(
        Of2021::Capabilities,
        "/api/capabilities",
        "Types of components and traits that are installed, and those that centers have",
    ),
    route(
        Of2021::Schema,
        "/api/definitions/{name}",
        "The OpenAPI schema of the parameters of a type, as a text",
    ),
    route(Of2021::Version, "/api/version", "The version of this program"),
];

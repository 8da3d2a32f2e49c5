//! The OpenAPI 3.1 document of the REST API, made of the table of paths and of the types of the answers.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::data::Health;
use crate::data::api_2021::{Answer, ChangedEnvironment, NewEnvironment};
use crate::data::applications::{ApplicationSummaryList, PAGE, PAGE_AT_MOST, WatchEvent};
use crate::data::centers_2021::CenterBody;
use crate::data::definitions::{DefinitionList, Described};
use crate::data::deploy::Deletion;
use crate::data::dry_run::DryRun;
use crate::data::events::EventList;
use crate::data::explain::Explanation;
use crate::data::logs::{LogLine, TAIL, TAIL_AT_MOST};
use crate::data::plan::Plan;
use crate::data::revisions::{Comparison, RevisionList};
use crate::data::rollout_orders::{self, Ordered};
use crate::data::rollouts::RolloutList;
use crate::data::steering::ORDERS;
use crate::data::traits_2021::TraitBody;
use crate::data::tree::Tree;
use crate::data::view::{ApplicationView, ApplicationWithTree};
use crate::data::workflow::Workflow;
use crate::data::workloads_2021::WorkloadBody;
use crate::route::{Endpoint, READS, ROUTES, Route};
use crate::routes_2021::ROUTES_2021;
use crate::submit::MANIFESTS;
use crate::write::{Write, Write2021};

/// Where the API begins; what is elsewhere is for people.
const API: &str = "/api/";

/// The document.
pub(crate) fn document() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut schemas = settings.into_generator();
    let mut paths = Map::new();
    for route in ROUTES.iter().chain(&ROUTES_2021).filter(|route| route.path.starts_with(API)) {
        let writes = Write::all(route.endpoint);
        let mut operations = Map::new();
        let is_read = route.endpoint.allow().starts_with(READS);
        if is_read || writes.is_empty() {
            let mut operation = operation(route, &mut schemas);
            if !is_read {
                takes_token(&mut operation);
            }
            if [Endpoint::DryRun, Endpoint::Plan].contains(&route.endpoint) {
                takes_manifest(&mut operation);
            }
            operations.insert(if is_read { "get" } else { "post" }.to_owned(), operation);
        }
        for write in writes {
            operations.insert(write.method().to_lowercase(), self::write(route, *write, &mut schemas));
        }
        paths.insert(route.path.to_owned(), Value::Object(operations));
    }
    let mut components = schemas.take_definitions(true);
    components.insert("Status".to_owned(), status());
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "vela console",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Reads applications and what they became; deploys and deletes them, steers workflows and rollouts, and keeps environments, where it was started for that.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"session": {"type": "apiKey", "in": "cookie", "name": "vela-console-PORT"}},
        },
        "security": [{"session": []}],
    })
}

fn operation(route: &Route, schemas: &mut SchemaGenerator) -> Value {
    let in_path = route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let in_path =
        in_path.map(|name| json!({"name": name, "in": "path", "required": true, "schema": parameter(route.endpoint, name)}));
    let in_query = route.query.iter().map(|name| {
        let is_required = ["from", "to"].contains(name);
        json!({"name": name, "in": "query", "required": is_required, "schema": parameter(route.endpoint, name)})
    });
    let (media, schema) = answer(route.endpoint, schemas);
    json!({
        "operationId": identifier(route),
        "summary": route.summary,
        "parameters": in_path.chain(in_query).collect::<Vec<_>>(),
        "responses": {
            "200": {"description": route.summary, "content": {media: {"schema": schema}}},
            "default": {
                "description": "Why there is no such answer",
                "content": {"application/json": {"schema": failure(route.endpoint)}},
            },
        },
    })
}

/// What is written at a path that is also read.
fn write(route: &Route, write: Write, schemas: &mut SchemaGenerator) -> Value {
    let answer = match write {
        Write::Of2021(_) => schemas.subschema_for::<Answer>(),
        Write::Deploy => schemas.subschema_for::<ApplicationView>(),
        Write::Delete => schemas.subschema_for::<Deletion>(),
    };
    let own =
        Route { endpoint: route.endpoint, path: route.path, query: write.query(), summary: write.summary() };
    let mut operation = operation(&own, schemas);
    operation["operationId"] = match write {
        Write::Of2021(write) => json!(format!("{write:?}2021")),
        write => json!(format!("{write:?}")),
    };
    operation["responses"]["200"]["content"]["application/json"]["schema"] = answer.to_value();
    takes_token(&mut operation);
    let body = match write {
        Write::Deploy => {
            takes_manifest(&mut operation);
            None
        }
        Write::Of2021(Write2021::MakeEnvironment) => {
            Some(schemas.subschema_for::<NewEnvironment>().to_value())
        }
        Write::Of2021(Write2021::ChangeEnvironment) => {
            Some(schemas.subschema_for::<ChangedEnvironment>().to_value())
        }
        Write::Of2021(Write2021::DeployAppfile | Write2021::ChangeApplication) => Some(appfile()),
        Write::Of2021(Write2021::ConfigureCenter) => Some(schemas.subschema_for::<CenterBody>().to_value()),
        Write::Of2021(Write2021::RunWorkload | Write2021::ChangeComponent) => {
            Some(schemas.subschema_for::<WorkloadBody>().to_value())
        }
        Write::Of2021(Write2021::AttachTrait) => Some(schemas.subschema_for::<TraitBody>().to_value()),
        Write::Delete | Write::Of2021(_) => None,
    };
    if let Some(schema) = body {
        let content = json!({"application/json": {"schema": schema}});
        operation["requestBody"] = json!({"required": true, "content": content});
    }
    operation
}

/// The name of an operation.
fn identifier(route: &Route) -> String {
    match route.endpoint {
        Endpoint::Of2021(resource) => format!("{resource:?}2021"),
        endpoint => format!("{endpoint:?}"),
    }
}

/// Written by hand: its reader is elsewhere, and what a service takes depends on its type.
fn appfile() -> Value {
    let service =
        json!({"type": "object", "properties": {"type": {"type": "string", "default": "webservice"}}});
    json!({
        "type": "object",
        "description": "An Appfile",
        "required": ["name", "services"],
        "properties": {
            "name": {"type": "string"},
            "services": {"type": "object", "minProperties": 1, "additionalProperties": service},
        },
    })
}

fn takes_manifest(operation: &mut Value) {
    let content = MANIFESTS.map(|media| (media.to_owned(), json!({"schema": {"type": "string"}})));
    operation["requestBody"] = json!({"required": true, "content": Map::from_iter(content)});
}

fn takes_token(operation: &mut Value) {
    if let Some(parameters) = operation["parameters"].as_array_mut() {
        parameters.push(
            json!({"name": "X-Csrf-Token", "in": "header", "required": true, "schema": {"type": "string"}}),
        );
    }
}

fn parameter(endpoint: Endpoint, name: &str) -> Value {
    match name {
        "order" if endpoint == Endpoint::SteerRollout => {
            json!({"type": "string", "enum": rollout_orders::ORDERS})
        }
        "limit" => json!({"type": "integer", "minimum": 1, "maximum": PAGE_AT_MOST, "default": PAGE}),
        "tail" => json!({"type": "integer", "minimum": 1, "maximum": TAIL_AT_MOST, "default": TAIL}),
        "follow" | "previous" | "timestamps" | "full" => json!({"type": "boolean", "default": false}),
        "health" => json!({"type": "string", "enum": Health::ALL.map(Health::as_str)}),
        "order" => json!({"type": "string", "enum": ORDERS}),
        _ => json!({"type": "string"}),
    }
}

/// The media type of an answer, and what it holds.
fn answer(endpoint: Endpoint, schemas: &mut SchemaGenerator) -> (&'static str, Value) {
    fn of<T: JsonSchema>(schemas: &mut SchemaGenerator) -> Value {
        schemas.subschema_for::<T>().to_value()
    }
    let schema = match endpoint {
        Endpoint::Applications | Endpoint::NamespaceApplications => of::<ApplicationSummaryList>(schemas),
        Endpoint::Application | Endpoint::Steer => of::<ApplicationView>(schemas),
        Endpoint::Workflow => of::<Workflow>(schemas),
        Endpoint::Tree => of::<Tree>(schemas),
        Endpoint::Events => of::<EventList>(schemas),
        Endpoint::Revisions => of::<RevisionList>(schemas),
        Endpoint::DryRun => of::<DryRun>(schemas),
        Endpoint::Plan => of::<Plan>(schemas),
        Endpoint::Of2021(_) => of::<Answer>(schemas),
        Endpoint::SteerRollout => of::<Ordered>(schemas),
        Endpoint::Explain => of::<Explanation>(schemas),
        Endpoint::Rollouts => of::<RolloutList>(schemas),
        Endpoint::WatchRollouts => return ("text/event-stream", of::<RolloutList>(schemas)),
        Endpoint::Logs => return ("text/event-stream", of::<LogLine>(schemas)),
        Endpoint::Compare => of::<Comparison>(schemas),
        Endpoint::Definitions => of::<DefinitionList>(schemas),
        Endpoint::Definition => of::<Described>(schemas),
        Endpoint::WatchApplications => return ("text/event-stream", of::<WatchEvent>(schemas)),
        Endpoint::WatchApplication => return ("text/event-stream", of::<ApplicationWithTree>(schemas)),
        _ => json!({"type": "object"}),
    };
    ("application/json", schema)
}

/// The schema of a failure.
fn failure(endpoint: Endpoint) -> Value {
    match endpoint {
        Endpoint::Of2021(_) => json!({
            "type": "object",
            "properties": {"code": {"type": "integer"}, "data": {"type": "string"}, "error": {"type": "string"}},
        }),
        _ => json!({"$ref": "#/components/schemas/Status"}),
    }
}

/// Written by hand: Kubernetes owns it.
fn status() -> Value {
    json!({
        "type": "object",
        "description": "A failure, as Kubernetes writes it",
        "required": ["apiVersion", "kind", "status", "message", "reason", "code"],
        "properties": {
            "apiVersion": {"const": "v1"},
            "kind": {"const": "Status"},
            "metadata": {"type": "object"},
            "status": {"const": "Failure"},
            "message": {"type": "string"},
            "reason": {"type": "string"},
            "details": {"type": "object"},
            "code": {"type": "integer"},
        },
    })
}

//! What must be right in a HarborCluster beyond its schema, and what its defaulting takes away: what belongs to a kind that is not chosen.

use serde_json::{Value, json};

use super::invalid::Invalid;
use super::{harbor, version};
use crate::field::Field;

/// Drives below which MinIO does not start.
const DRIVES: i64 = 4;

/// A service that a Harbor needs, as the HarborCluster names it.
struct Service {
    field: &'static str,
    kinds: &'static [Choice],
}

/// One kind of a service, and the member of its `spec` with the settings.
struct Choice {
    kind: &'static str,
    member: &'static str,
    /// The member as messages name it.
    said: &'static str,
}

const fn choice(kind: &'static str, member: &'static str) -> Choice {
    Choice { kind, member, said: member }
}

const SERVICES: [Service; 3] = [
    Service {
        field: "storage",
        kinds: &[
            choice("FileSystem", "fileSystem"),
            choice("S3", "s3"),
            choice("Swift", "swift"),
            choice("Azure", "azure"),
            choice("Gcs", "gcs"),
            choice("MinIO", "minIO"),
        ],
    },
    Service {
        field: "database",
        kinds: &[
            Choice { kind: "PostgreSQL", member: "postgresql", said: "postgreSQL" },
            choice("Zlando/PostgreSQL", "zlandoPostgreSql"),
        ],
    },
    Service { field: "cache", kinds: &[choice("Redis", "redis"), choice("RedisFailover", "redisFailover")] },
];

pub(super) fn check(spec: &Field<'_>, before: Option<&Field<'_>>, found: &mut Vec<Invalid>) {
    harbor::network(spec, found);
    harbor::trace(&spec.get("trace"), found);
    harbor::external_url(spec, found);
    for service in &SERVICES {
        check_service(service, spec, before, found);
    }
    minio(&spec.get("storage"), found);
    let at = spec.get("version");
    let text = |field: &Field<'_>| field.value().as_str().unwrap_or_default().to_owned();
    let new = text(&at);
    // Whatever release is known may be created: a cluster may be made anew from its backup.
    let old = before.map_or_else(|| new.clone(), |before| text(&before.get("version")));
    found.extend(version::check(at.path(), Some(&old), &new));
}

fn check_service(service: &Service, spec: &Field<'_>, before: Option<&Field<'_>>, found: &mut Vec<Invalid>) {
    let own = spec.get(service.field);
    let kind = own.get("kind");
    let Some(choice) = service.kinds.iter().find(|choice| kind.value() == choice.kind) else {
        let kinds: Vec<_> = service.kinds.iter().map(|choice| choice.kind).collect();
        found.push(Invalid::value(
            kind.path(),
            kind.value().clone(),
            format!("must be one of {}", kinds.join(", ")),
        ));
        return;
    };
    if !own.get("spec").get(choice.member).is_set() {
        let path = format!("{}.spec.{}", own.path(), choice.said);
        found.push(Invalid::required(&path, format!("{path} should be configured")));
    }
    let changed = before.is_some_and(|before| before.get(service.field).get("kind").value() != kind.value());
    if changed {
        let detail = format!("don't allow to switch {} between incluster and external", service.field);
        found.push(Invalid::forbidden(own.path(), detail));
    }
}

fn minio(storage: &Field<'_>, found: &mut Vec<Invalid>) {
    let (spec, minio) = (storage.get("spec"), storage.get("spec").get("minIO"));
    if storage.get("kind").value() != "MinIO" || !minio.is_set() {
        return;
    }
    let number = |name: &str| minio.get(name).value().as_i64().unwrap_or_default();
    let drives = number("replicas").saturating_mul(number("volumesPerServer"));
    if drives < DRIVES {
        let detail = format!("minIO.replicas * minIO.volumesPerServer should be >={DRIVES}");
        found.push(Invalid::value(spec.path(), drives, detail));
    }
    let redirect = spec.get("redirect");
    let expose = redirect.get("expose");
    if redirect.get("enable").value() == true && !expose.is_set() {
        found.push(Invalid::required(expose.path(), format!("{} should be configured", expose.path())));
    }
}

/// The JSON patch that takes away the settings of each kind that is not chosen.
#[must_use]
pub fn defaults(object: &Value) -> Vec<Value> {
    let mut patch = Vec::new();
    for service in &SERVICES {
        let own = &object["spec"][service.field];
        let chosen = |choice: &&Choice| own["kind"] == choice.kind;
        // Of a kind that is not known, nothing is known to be too much.
        if !service.kinds.iter().any(|choice| chosen(&choice)) {
            continue;
        }
        for choice in service.kinds.iter().filter(|choice| !chosen(choice)) {
            if own["spec"].get(choice.member).is_some() {
                let path = format!("/spec/{}/spec/{}", service.field, choice.member);
                patch.push(json!({ "op": "remove", "path": path }));
            }
        }
    }
    patch
}

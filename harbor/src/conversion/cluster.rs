//! The spec of a HarborCluster: v1beta1 names the kind of each service and its settings in one field, v1alpha3 has a field for services in the
//! cluster and another one for those outside of it.

use serde_json::{Map, Value, json};

pub(super) const KIND: &str = "HarborCluster";

/// Where the settings of one kind of a service lie.
struct Place {
    /// The service in v1beta1, the kind there, and the member of its `spec`.
    stored: (&'static str, &'static str, &'static str),
    /// The path in v1alpha3.
    older: &'static [&'static str],
    /// The kind that v1alpha3 wants beside the settings.
    older_kind: Option<&'static str>,
}

const fn outside(
    stored: (&'static str, &'static str, &'static str),
    older: &'static [&'static str],
) -> Place {
    Place { stored, older, older_kind: None }
}

/// Those in the cluster stand first: where an object of v1alpha3 has both, they are used.
const PLACES: [Place; 8] = [
    Place {
        stored: ("database", "Zlando/PostgreSQL", "zlandoPostgreSql"),
        older: &["inClusterDatabase", "postgresSqlSpec"],
        older_kind: Some("PostgresSQL"),
    },
    Place {
        stored: ("cache", "RedisFailover", "redisFailover"),
        older: &["inClusterCache", "redisSpec"],
        older_kind: Some("Redis"),
    },
    Place {
        stored: ("storage", "MinIO", "minIO"),
        older: &["inClusterStorage", "minIOSpec"],
        older_kind: Some("MinIO"),
    },
    outside(("database", "PostgreSQL", "postgresql"), &["database"]),
    outside(("cache", "Redis", "redis"), &["redis"]),
    outside(("storage", "FileSystem", "fileSystem"), &["imageChartStorage", "filesystem"]),
    outside(("storage", "S3", "s3"), &["imageChartStorage", "s3"]),
    outside(("storage", "Swift", "swift"), &["imageChartStorage", "swift"]),
];

/// The services of v1beta1.
const STORED: [&str; 3] = ["cache", "database", "storage"];
/// The fields of v1alpha3 that hold the same.
const OLDER: [&str; 6] =
    ["database", "redis", "imageChartStorage", "inClusterCache", "inClusterDatabase", "inClusterStorage"];

/// A spec of v1beta1 as v1alpha3 has it.
pub(super) fn to_older(spec: &Value) -> Value {
    let mut older = without(spec, &STORED);
    for place in &PLACES {
        let (service, kind, member) = place.stored;
        let service = &spec[service];
        if service["kind"] != kind {
            continue;
        }
        if let Some(settings) = service["spec"].get(member) {
            put(&mut older, place.older, settings.clone());
            if let (Some(kind), [field, _]) = (place.older_kind, place.older) {
                put(&mut older, &[field, "kind"], json!(kind));
            }
        }
    }
    Value::Object(older)
}

/// A spec of v1alpha3 as v1beta1 has it.
pub(super) fn to_stored(spec: &Value) -> Value {
    let mut stored = without(spec, &OLDER);
    for place in &PLACES {
        let (service, kind, member) = place.stored;
        let settings = place.older.iter().try_fold(spec, |value, name| value.get(name));
        let taken = stored.get(service).is_some();
        if let Some(settings) = settings.filter(|settings| !settings.is_null() && !taken) {
            put(&mut stored, &[service, "kind"], json!(kind));
            put(&mut stored, &[service, "spec", member], settings.clone());
        }
    }
    Value::Object(stored)
}

fn without(spec: &Value, names: &[&str]) -> Map<String, Value> {
    let mut fields = spec.as_object().cloned().unwrap_or_default();
    fields.retain(|name, _| !names.contains(&name.as_str()));
    fields
}

/// Writes a value at a path, whose objects are made where they are not there.
fn put(fields: &mut Map<String, Value>, path: &[&str], value: Value) {
    let [first, rest @ ..] = path else { return };
    if rest.is_empty() {
        fields.insert((*first).to_owned(), value);
        return;
    }
    let inner = fields.entry(*first).or_insert_with(|| json!({}));
    if let Value::Object(inner) = inner {
        put(inner, rest, value);
    }
}

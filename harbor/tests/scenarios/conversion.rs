//! Recorded conversions of another operator, and what is better here: nothing is lost on the way through v1alpha3.

use std::fs;

use serde_json::{Map, Value, json};
use vela_crds::goharbor_io::KINDS;
use vela_harbor::conversion::Converter;

use super::normalize::differences;
use super::stage::split;

const OLDER: &str = "goharbor.io/v1alpha3";
const STORED: &str = "goharbor.io/v1beta1";
const NOTE: &str = "goharbor.io/fields-of-v1beta1";
/// Random objects of each kind and version.
const ROUNDS: u64 = 200;
/// Fields of random maps and items of random lists.
const ITEMS: u64 = 3;

/// Without what another program writes for a field that is not there, and with durations in one form.
fn plain(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| (name.clone(), plain(value)));
            Value::Object(fields.filter(|(_, value)| !is_nothing(value)).collect())
        }
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::String(text) => seconds(text).map_or_else(|| value.clone(), |seconds| json!(seconds)),
        other => other.clone(),
    }
}

/// How many seconds a duration of hours, minutes and seconds has.
fn seconds(text: &str) -> Option<u64> {
    let mut sum = 0;
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit())?;
        let number: u64 = rest[..end].parse().ok()?;
        sum += match rest[end..].chars().next()? {
            'h' => number * 3600,
            'm' => number * 60,
            's' => number,
            _ => return None,
        };
        rest = &rest[end + 1..];
    }
    (!text.is_empty()).then_some(sum)
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.is_empty(),
        other => other.is_null() || *other == false || *other == "" || *other == 0,
    }
}

fn without_note(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(annotations) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.remove(NOTE);
    }
    object
}

#[test]
fn recorded_objects_convert_alike_and_come_back_whole() {
    let converter = Converter::new().unwrap();
    let folder = vela_testkit::cases::folder("conformance/harbor").join("conversion");
    let mut wrong = Vec::new();
    let mut compared = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_name().unwrap().to_str().unwrap();
        let documents = split(&path);
        let (input, recorded) = (&documents[0]["object"], &documents[1]["object"]);
        let older = converter.convert(input.clone(), OLDER).unwrap();
        let mut recorded = recorded.clone();
        // A status that no input has: zero values of Go.
        assert!(input.get("status").is_none());
        recorded.as_object_mut().unwrap().remove("status");
        if let Some(kind) = recorded.pointer_mut("/spec/inClusterDatabase/kind") {
            // The schema of v1alpha3 takes only the other spelling.
            *kind = json!("PostgresSQL");
        }
        differences(&plain(&without_note(&older)), &plain(&recorded), file, &mut wrong);
        let lost = documents.last().unwrap()["lostOrChangedByRoundTrip"].as_array().cloned();
        let noted = older["metadata"]["annotations"].get(NOTE).is_some();
        // A list without items is said to be changed by its way through Go.
        let lost = lost.unwrap_or_default().iter().any(|path| path != ".spec.jobLoggers.files");
        assert_eq!(noted, lost, "{file}: {older}");
        assert_eq!(&converter.convert(older, STORED).unwrap(), input, "{file}");
        compared += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(compared, 13);
}

/// Numbers that look random and are the same each time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    /// A value of this schema, with about half of its fields.
    fn value(&mut self, schema: &Value) -> Value {
        match schema["type"].as_str() {
            Some("object") => {
                let mut fields = Map::new();
                for (name, field) in schema["properties"].as_object().into_iter().flatten() {
                    if self.below(2) == 0 {
                        fields.insert(name.clone(), self.value(field));
                    }
                }
                if schema["additionalProperties"].is_object() {
                    for _ in 0..self.below(ITEMS) {
                        // Names with the signs that a path has to escape.
                        let name = format!("a/b~{}", self.below(ITEMS));
                        fields.insert(name, self.value(&schema["additionalProperties"]));
                    }
                }
                Value::Object(fields)
            }
            Some("array") => (0..self.below(ITEMS)).map(|_| self.value(&schema["items"])).collect(),
            Some("boolean") => json!(self.below(2) == 0),
            Some("integer" | "number") => json!(self.below(1000)),
            _ => json!(format!("text-{}", self.below(1000))),
        }
    }
}

/// The schema of each kind's spec, by the version of the kind.
fn schemas() -> Vec<(String, String, Value)> {
    let mut schemas = Vec::new();
    for crd in vela_crds::harbor_crds().unwrap() {
        for version in &crd.spec.versions {
            let schema = serde_json::to_value(&version.schema).unwrap();
            let spec = schema["openAPIV3Schema"]["properties"]["spec"].clone();
            schemas.push((crd.spec.names.kind.clone(), format!("goharbor.io/{}", version.name), spec));
        }
    }
    schemas
}

fn object(kind: &str, version: &str, spec: Value) -> Value {
    let metadata = json!({"name": "x", "namespace": "n", "annotations": {"mine": "stays"}});
    json!({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec})
}

/// The first field that a schema does not have.
fn unknown(schema: &Value, value: &Value, path: &str) -> Option<String> {
    if let Some(items) = value.as_array() {
        return items.iter().find_map(|item| unknown(&schema["items"], item, path));
    }
    if schema["additionalProperties"].is_object() {
        return None;
    }
    value.as_object()?.iter().find_map(|(name, field)| {
        let path = format!("{path}.{name}");
        match schema["properties"].get(name) {
            Some(schema) => unknown(schema, field, &path),
            None => Some(path),
        }
    })
}

#[test]
fn random_objects_come_back_whole_from_either_version() {
    let converter = Converter::new().unwrap();
    let mut schemas = schemas();
    // Its services have kinds, which random texts are not: the next test chooses among them.
    schemas.retain(|(kind, ..)| kind != "HarborCluster" && KINDS.iter().any(|known| known.kind == kind));
    assert_eq!(schemas.len(), 22);
    let mut noted = 0;
    for (at, (kind, version, schema)) in schemas.iter().enumerate() {
        let other = if version == STORED { OLDER } else { STORED };
        let (_, _, target) = schemas.iter().find(|(name, of, _)| name == kind && of == other).unwrap();
        for round in 0..ROUNDS {
            let mut chance = Chance(at as u64 * ROUNDS + round);
            let before = object(kind, version, chance.value(schema));
            let converted = converter.convert(before.clone(), other).unwrap();
            assert_eq!(converted["apiVersion"], other);
            assert_eq!(unknown(target, &converted["spec"], "spec"), None, "{kind} {round}");
            noted += usize::from(converted["metadata"]["annotations"].as_object().unwrap().len() > 1);
            assert_eq!(converter.convert(converted, version).unwrap(), before, "{kind} {round}");
        }
    }
    assert!(noted > 1000, "only {noted} objects had fields without a place");
}

#[test]
fn random_clusters_come_back_whole() {
    let converter = Converter::new().unwrap();
    let kinds: [(&str, &[(&str, &str)]); 3] = [
        ("cache", &[("Redis", "redis"), ("RedisFailover", "redisFailover")]),
        ("database", &[("PostgreSQL", "postgresql"), ("Zlando/PostgreSQL", "zlandoPostgreSql")]),
        (
            "storage",
            &[
                ("FileSystem", "fileSystem"),
                ("S3", "s3"),
                ("Swift", "swift"),
                ("Azure", "azure"),
                ("Gcs", "gcs"),
                ("MinIO", "minIO"),
            ],
        ),
    ];
    for round in 0..ROUNDS * 5 {
        let mut chance = Chance(round);
        let mut spec = json!({"version": "2.5.1", "externalURL": "https://hub.example.net"});
        for (service, choices) in kinds {
            let (kind, _) = choices[usize::try_from(chance.below(choices.len() as u64)).unwrap()];
            let mut members = json!({});
            for (_, member) in choices {
                if chance.below(2) == 0 {
                    members[member] = json!({"replicas": chance.below(9)});
                }
            }
            if service == "storage" && chance.below(2) == 0 {
                members["redirect"] = json!({"enable": true, "expose": {"ingress": {"host": "h"}}});
            }
            spec[service] = json!({"kind": kind, "spec": members});
        }
        let before = object("HarborCluster", STORED, spec);
        let older = converter.convert(before.clone(), OLDER).unwrap();
        assert!(older["spec"].get("cache").is_none() && older["spec"].get("storage").is_none(), "{older}");
        assert_eq!(converter.convert(older, STORED).unwrap(), before, "{round}");
    }
    // An object that was written as v1alpha3 comes back, too, with a service both within and outside of the cluster.
    let both = json!({
        "redis": {"host": "h"}, "inClusterCache": {"kind": "Redis", "redisSpec": {"server": {}}},
        "imageChartStorage": {"redirect": {"disable": true}, "s3": {"bucket": "b"}},
    });
    let before = object("HarborCluster", OLDER, both);
    let stored = converter.convert(before.clone(), STORED).unwrap();
    assert_eq!(stored["spec"]["cache"]["kind"], "RedisFailover");
    assert_eq!(stored["spec"]["storage"]["spec"]["s3"]["bucket"], "b");
    assert_eq!(converter.convert(stored, OLDER).unwrap(), before);
}

#[test]
fn a_change_of_the_older_version_is_kept() {
    let converter = Converter::new().unwrap();
    let trivy = json!({"offlineScan": true, "timeout": "9m0s", "server": {"insecure": true}, "network": {"ipFamilies": ["IPv6"]}});
    let mut older = converter.convert(object("Trivy", STORED, trivy), OLDER).unwrap();
    older["spec"]["server"]["insecure"] = json!(false);
    let stored = converter.convert(older, STORED).unwrap();
    assert_eq!(stored["spec"]["server"]["insecure"], false);
    assert_eq!(stored["spec"]["offlineScan"], true);
    assert_eq!(stored["spec"]["network"]["ipFamilies"], json!(["IPv6"]));
    // What is taken away takes along what waited for it.
    let harbor =
        json!({"trivy": {"offlineScan": true, "storage": {}}, "jobservice": {"metrics": {"enabled": true}}});
    let mut older = converter.convert(object("Harbor", STORED, harbor), OLDER).unwrap();
    older["spec"].as_object_mut().unwrap().remove("trivy");
    let stored = converter.convert(older, STORED).unwrap();
    assert_eq!(stored["spec"], json!({"jobservice": {"metrics": {"enabled": true}}}));
    assert_eq!(stored["metadata"]["annotations"], json!({"mine": "stays"}));
}

#[test]
fn what_cannot_be_converted_is_said() {
    let converter = Converter::new().unwrap();
    let said = |object: Value, version: &str| converter.convert(object, version).unwrap_err().to_string();
    assert!(
        said(object("Portal", STORED, json!({})), "goharbor.io/v2")
            .contains("\"goharbor.io/v2\" is not known")
    );
    assert!(said(object("Portal", "v1", json!({})), OLDER).contains("\"v1\" is not known"));
    assert!(said(object("Pod", STORED, json!({})), OLDER).contains("kind \"Pod\" is not converted"));
    assert!(said(json!([]), OLDER).contains("is not known"));
    let bare = json!({"apiVersion": STORED, "kind": "Portal", "spec": {}});
    assert!(said(bare, OLDER).contains("metadata"));
    let mut changed = object("Portal", OLDER, json!({}));
    changed["metadata"]["annotations"][NOTE] = json!("{");
    let error = said(changed, STORED);
    assert!(error.contains(NOTE) && error.contains("remove it"), "{error}");
}

//! What is missing or wrong in an object is said with its field, and no child is wanted then.

use serde_json::{Value, json};
use vela_harbor::owner::Owner;
use vela_harbor::parts::{self, Error, Found, Settings, kinds};

use super::stage::{documents, with_defaults};

fn error(object: Value, found: &Found) -> Error {
    let owner = Owner::new(object).unwrap();
    parts::children(&owner, found, &Settings::default()).unwrap_err()
}

fn harbor(change: impl Fn(&mut Value)) -> Error {
    let mut object = documents("stack-minimal", "input.yaml")
        .into_iter()
        .find(|object| object["kind"] == "Harbor")
        .unwrap();
    object["metadata"]["namespace"] = json!("n");
    change(&mut object);
    error(with_defaults(object), &Found::new())
}

#[test]
fn a_registry_needs_its_controller() {
    let input = documents("part-registry-alone", "input.yaml");
    let mut registry = input.into_iter().find(|object| object["kind"] == "Registry").unwrap();
    registry["metadata"]["namespace"] = json!("n");
    let owner = Owner::new(registry.clone()).unwrap();
    assert_eq!(parts::reads(&owner).unwrap()[0].kind, "RegistryController");
    let said = error(registry, &Found::new());
    assert!(matches!(&said, Error::Missing { kind, .. } if kind == "RegistryController"), "{said}");
}

#[test]
fn a_part_without_a_version_is_named() {
    let mut portal = documents("bad-version-unset", "input.yaml").remove(0);
    portal["metadata"]["namespace"] = json!("n");
    let said = error(portal, &Found::new()).to_string();
    assert!(said.starts_with("Portal n/") && said.contains("missing harbor version"), "{said}");
}

#[test]
fn a_password_that_is_missing_is_named_with_its_field() {
    let input = documents("part-jobservice", "input.yaml");
    let mut job_service = input.into_iter().find(|object| object["kind"] == "JobService").unwrap();
    job_service["metadata"]["namespace"] = json!("n");
    let owner = Owner::new(job_service.clone()).unwrap();
    let reads = parts::reads(&owner).unwrap();
    assert_eq!(reads, [parts::Id::new(kinds::SECRET, "redis-pw")]);
    let said = error(job_service.clone(), &Found::new()).to_string();
    assert!(said.contains("spec.workerPool.redisPool.passwordRef names Secret redis-pw"), "{said}");
    let mut found = Found::new();
    found.add(json!({"kind": "Secret", "metadata": {"name": "redis-pw"}, "data": {"password": "eA=="}}));
    assert!(error(job_service, &found).to_string().contains("no key redis-password"));
}

#[test]
fn storages_names_and_hosts_are_checked_before_any_write() {
    let two = harbor(|harbor| {
        harbor["spec"]["imageChartStorage"]["s3"] = json!({"region": "r", "bucket": "b"});
    });
    assert!(two.to_string().contains("s3 and filesystem: only 1 storage"), "{two}");
    let none = harbor(|harbor| harbor["spec"]["imageChartStorage"] = json!({}));
    assert!(none.to_string().contains("spec.imageChartStorage has no storage"), "{none}");
    let host = harbor(|harbor| harbor["spec"]["database"]["hosts"][0]["host"] = json!(""));
    assert!(host.to_string().contains("spec.database.hosts[0].host must be given"), "{host}");
    let long = harbor(|harbor| harbor["metadata"]["name"] = json!("a".repeat(50)));
    assert!(matches!(long, Error::NameTooLong { .. }), "{long}");
    let wrong = harbor(|harbor| harbor["spec"]["internalTLS"] = json!({"enabled": "yes"}));
    assert!(wrong.to_string().contains("spec.internalTLS.enabled must be true or false"), "{wrong}");
}

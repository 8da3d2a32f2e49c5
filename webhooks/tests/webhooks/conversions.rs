//! Conversion of Applications: both ways without loss, whole lists, and a failed result for anything else.

use serde_json::{Value, json};
use vela_testkit::program::Random;
use vela_webhooks::conversion::{BYTES_AT_MOST, answer};

const OLD: &str = "core.oam.dev/v1alpha2";
const NEW: &str = "core.oam.dev/v1beta1";

fn ask(version: &str, objects: Value) -> Value {
    let review = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
        "request": {"uid": "7f0b", "desiredAPIVersion": version, "objects": objects},
    });
    answer(review.to_string().as_bytes()).unwrap()
}

fn one(version: &str, object: &Value) -> Value {
    let answer = ask(version, json!([object]));
    assert_eq!(answer["response"]["result"]["status"], "Success", "{answer}");
    answer["response"]["convertedObjects"][0].clone()
}

fn app(version: &str) -> Value {
    let (properties, type_) = if version == OLD { ("settings", "name") } else { ("properties", "type") };
    json!({
        "apiVersion": version, "kind": "Application", "metadata": {"name": "a", "namespace": "default"},
        "spec": {"components": [{
            "name": "web", "type": "webservice", properties: {"image": "nginx"},
            "traits": [{type_: "scaler", "properties": {"name": "x", "type": "y", "settings": {}}}], "scopes": {},
        }]},
    })
}

#[test]
fn a_list_is_converted_in_its_order() {
    let objects = json!([app(OLD), app(NEW), app(OLD)]);
    let answer = ask(NEW, objects);
    assert_eq!(answer["apiVersion"], "apiextensions.k8s.io/v1");
    assert_eq!(answer["kind"], "ConversionReview");
    let response = &answer["response"];
    assert_eq!((&response["uid"], &response["result"]), (&json!("7f0b"), &json!({"status": "Success"})));
    let converted = response["convertedObjects"].as_array().unwrap();
    assert_eq!(converted.len(), 3);
    for object in converted {
        assert_eq!(object["apiVersion"], NEW);
        assert_eq!(object["spec"], app(NEW)["spec"]);
    }
    assert_eq!(converted[1], app(NEW), "what has the version already stays");
}

#[test]
fn what_cannot_be_converted_is_a_failed_result_that_names_it() {
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "n"}});
    for (version, objects, words) in [
        (NEW, json!([app(OLD), pod]), "objects[1] (n/p): unsupported type"),
        ("core.oam.dev/v3", json!([app(OLD)]), "unsupported version \"core.oam.dev/v3\""),
        (NEW, json!([{"apiVersion": "core.oam.dev/v9", "kind": "Application"}]), "unsupported type"),
        (NEW, json!([null]), "unsupported type"),
        (NEW, json!(null), "request.objects is missing"),
    ] {
        let answer = ask(version, objects);
        let result = &answer["response"]["result"];
        assert_eq!(result["status"], "Failure");
        assert!(result["message"].as_str().unwrap().contains(words), "{result}");
        assert_eq!(answer["response"]["convertedObjects"], json!([]));
    }
    assert_eq!(ask(NEW, json!([]))["response"]["result"]["status"], "Success");
}

#[test]
fn bytes_that_are_no_review_are_an_error() {
    let review = |request: &str| {
        format!(r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{request}}}"#)
    };
    let bomb = format!(r#"{{"uid":"1","objects":{}1{}}}"#, "[".repeat(50_000), "]".repeat(50_000));
    for (text, words) in [
        ("{".to_owned(), "not JSON"),
        ("[]".to_owned(), "kind ConversionReview"),
        (review("null"), "no request"),
        (review("{}"), "request.uid"),
        (review("{}").replace("io/v1", "io/v7"), "io/v7"),
        (review(&bomb), "recursion limit"),
    ] {
        let error = answer(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(words), "{words}: {error}");
    }
    assert!(answer(&vec![b' '; BYTES_AT_MOST + 1]).unwrap_err().to_string().contains("at most"));
    let old = review(r#"{"uid":"1","desiredAPIVersion":"core.oam.dev/v1beta1","objects":[]}"#);
    let old = answer(old.replace("io/v1", "io/v1beta1").as_bytes()).unwrap();
    assert_eq!(old["apiVersion"], "apiextensions.k8s.io/v1beta1");
}

/// There and back gives the same object, and once more the same converted one.
#[track_caller]
fn comes_back(object: &Value) {
    let other = if object["apiVersion"] == OLD { NEW } else { OLD };
    let there = one(other, object);
    let back = one(object["apiVersion"].as_str().unwrap(), &there);
    assert_eq!(&back, object);
    assert_eq!(one(other, &back), there);
}

fn maybe(random: &mut Random, object: &mut Value, key: &str, value: Value) {
    if random.chance(2) {
        object[key] = value;
    }
}

/// An Application of any shape that a schema lets in, and some that none does.
fn generated(random: &mut Random) -> Value {
    let mut object = json!({"apiVersion": if random.chance(2) { OLD } else { NEW }, "kind": "Application",
        "metadata": {"name": "a"}});
    maybe(random, &mut object, "status", json!({"status": "running"}));
    if random.chance(3) {
        object["metadata"]["annotations"] = json!({"mine": "1"});
    }
    if random.chance(10) {
        object["spec"] = json!({"components": [1, null, "x"]});
        return object;
    }
    let components: Vec<Value> = (0..random.below(4)).map(|_| generated_component(random)).collect();
    object["spec"] = json!({"components": components});
    maybe(random, &mut object["spec"], "workflow", json!({"steps": []}));
    maybe(random, &mut object["spec"], "policies", json!([{"name": "p", "type": "topology"}]));
    object
}

fn generated_component(random: &mut Random) -> Value {
    let mut component = json!({"name": "c"});
    maybe(random, &mut component, "type", json!("worker"));
    maybe(random, &mut component, "settings", json!({"properties": 1}));
    maybe(random, &mut component, "properties", json!({"settings": 2}));
    maybe(random, &mut component, "scopes", json!({"health": "h"}));
    maybe(random, &mut component, "dependsOn", json!(["d"]));
    if random.chance(2) {
        let one = |random: &mut Random| {
            let mut one = json!({});
            maybe(random, &mut one, "name", json!("scaler"));
            maybe(random, &mut one, "type", json!("ingress"));
            maybe(random, &mut one, "properties", json!({"name": "kept"}));
            if random.chance(20) { Value::Null } else { one }
        };
        component["traits"] = (0..random.below(3)).map(|_| one(random)).collect();
    }
    component
}

#[test]
fn generated_applications_come_back_as_they_were() {
    let mut random = Random::new(7);
    for _ in 0..5_000 {
        comes_back(&generated(&mut random));
    }
}

#[test]
fn applications_of_examples_and_conformance_survive_conversion() {
    let mut count = 0;
    for folder in ["examples", "conformance/applications", "conformance/runs-today", "conformance/runs-v1.0"]
    {
        for document in crate::documents(&vela_testkit::cases::folder(folder)) {
            let value = document.value();
            if value["kind"] == "Application"
                && value["apiVersion"].as_str().is_some_and(|v| [OLD, NEW].contains(&v))
            {
                comes_back(value);
                count += 1;
            }
        }
    }
    assert!(count > 100, "only {count} applications");
}

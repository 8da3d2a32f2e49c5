//! Sequences of writes against what the real API server stored after each: managed fields, merge results, conflicts.
use serde_json::Value;

use super::*;
use crate::{builtin, patch, schema};

/// The result of one step: the stored object, or the code and message of the refusal.
type Outcome = Result<Value, (u64, String)>;

struct TestKind {
    structural: Structural,
    custom: bool,
    api_version: String,
    kind: String,
}

impl TestKind {
    fn step(&self, live: Option<&Value>, step: &Value) -> Outcome {
        let schema = if self.custom {
            Schema::Crd(&self.structural)
        } else {
            Schema::BuiltIn { api_version: &self.api_version, kind: &self.kind }
        };
        let status = self.custom || builtin::find(&self.api_version, &self.kind).unwrap().status;
        let sub = step["sub"].as_str();
        let request = Request {
            manager: step["manager"].as_str().unwrap(),
            force: step["force"] == true,
            subresource: sub,
            api_version: &self.api_version,
            now: "T",
            status_subresource: status,
            schema,
        };
        let body = &step["body"];
        let patched = |p: Result<Value, patch::Error>| p.map_err(|e| (422, e.message));
        let mut new = match step["verb"].as_str().unwrap() {
            "create" => body.clone(),
            "apply" => server_side(live, body, &request).map_err(|e| {
                let code = match &e {
                    Error::Conflict(_) => 409,
                    Error::BadRequest(_) => 400,
                    Error::Untyped(_) => 500,
                };
                (code, e.to_string())
            })?,
            "merge" => patched(patch::merge::apply(live.unwrap(), body))?,
            "json" => patched(patch::json::apply(live.unwrap(), body))?,
            "strategic" => {
                patched(patch::strategic::apply(live.unwrap(), body, &self.api_version, &self.kind))?
            }
            other => panic!("{other}"),
        };
        if self.custom {
            self.structural.prune(&mut new);
            self.structural.apply_defaults(&mut new);
        } else {
            builtin::prune(&self.api_version, &self.kind, &mut new);
            builtin::apply_defaults(&self.api_version, &self.kind, &mut new);
        }
        if step["verb"] != "apply" {
            track_update(live, &mut new, &request);
        }
        if status {
            match (sub, live) {
                (None, Some(live)) => new["status"] = live["status"].clone(),
                (None, None) => {
                    new.as_object_mut().unwrap().remove("status");
                }
                (Some(_), live) => {
                    let mut merged = live.unwrap().clone();
                    merged["status"] = new["status"].clone();
                    merged["metadata"]["managedFields"] = new["metadata"]["managedFields"].clone();
                    new = merged;
                }
            }
            if new["status"].is_null() {
                new.as_object_mut().unwrap().remove("status");
            }
        }
        Ok(new)
    }
}

/// Removes the fields that differ by nature or are not compared here.
fn comparable(object: &Value, with_status: bool) -> Value {
    let mut out = object.clone();
    if let Some(metadata) = out["metadata"].as_object_mut() {
        for name in ["generation", "namespace"] {
            metadata.remove(name);
        }
        // The writes of the deployment controller between the steps.
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove("deployment.kubernetes.io/revision");
            if annotations.is_empty() {
                metadata.remove("annotations");
            }
        }
        if let Some(entries) = metadata.get_mut("managedFields").and_then(Value::as_array_mut) {
            entries.retain(|e| e["manager"] != "kube-controller-manager");
            // The recorded times are erased, and the order depends on them.
            entries.sort_by_key(|e| format!("{}{}{}", e["operation"], e["manager"], e["subresource"]));
        }
    }
    if !with_status {
        out.as_object_mut().unwrap().remove("status");
    }
    // The fields that the Service strategy adds on create are not part of the apply machinery.
    if let (Some("Service"), Some(spec)) = (object["kind"].as_str(), out["spec"].as_object_mut()) {
        for name in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
            spec.remove(name);
        }
    }
    out
}

#[test]
fn sequences_of_writes_end_as_on_the_real_server() {
    let recorded: Value = serde_json::from_str(include_str!("../../tests/data/ssa.json")).unwrap();
    let mut wrong = Vec::new();
    for sequence in recorded.as_array().unwrap() {
        let name = sequence["name"].as_str().unwrap();
        let first = &sequence["steps"][0]["body"];
        let test_kind = TestKind {
            structural: schema::tests::structural(),
            custom: first["kind"] == "Test",
            api_version: first["apiVersion"].as_str().unwrap().to_owned(),
            kind: first["kind"].as_str().unwrap().to_owned(),
        };
        let mut live: Option<Value> = None;
        for (i, step) in sequence["steps"].as_array().unwrap().iter().enumerate() {
            let code = step["code"].as_u64().unwrap();
            let outcome = test_kind.step(live.as_ref(), step);
            match (&outcome, code) {
                (Ok(object), 200 | 201) => {
                    let ours = comparable(object, test_kind.custom);
                    let theirs = comparable(&step["answer"], test_kind.custom);
                    if ours != theirs {
                        let diff = json_patch::diff(&theirs, &ours);
                        wrong.push(format!(
                            "{name} step {i}: ours differs: {diff}\n      body {}",
                            step["body"]
                        ));
                    }
                }
                // The object's own rules are checked after the apply, elsewhere.
                (_, 422) => {}
                (Err((ours, message)), _) => {
                    let theirs = step["answer"]["message"].as_str().unwrap();
                    if *ours != code || message != theirs && !theirs.contains("expected list, got &") {
                        wrong.push(format!(
                            "{name} step {i}:\n   ours {ours} {message}\n theirs {code} {theirs}"
                        ));
                    }
                }
                (Ok(_), _) => {
                    wrong.push(format!("{name} step {i}: taken, but {}", step["answer"]["message"]))
                }
            }
            // Go on from what the real server stored, so that one difference is told once.
            if code < 300 {
                live = Some(step["answer"].clone());
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A small generator of numbers: the same seed gives the same run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// A deployment that sets a random part of what a few managers may fight over.
fn random_deployment(chance: &mut Chance) -> Value {
    let mut out =
        serde_json::json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}});
    let mut set = |path: &[&str], value: Value| {
        let mut at = &mut out;
        for part in path {
            at = &mut at[*part];
        }
        *at = value;
    };
    for label in ["a", "b", "c"] {
        if chance.below(2) == 0 {
            set(&["metadata", "labels", label], chance.below(3).to_string().into());
        }
    }
    if chance.below(3) == 0 {
        set(&["spec", "replicas"], chance.below(4).into());
    }
    let mut containers = Vec::new();
    for name in ["x", "y"] {
        if chance.below(2) == 0 {
            continue;
        }
        let mut container = serde_json::json!({"name": name, "image": format!("i:{}", chance.below(3))});
        let env: Vec<Value> = ["A", "B", "C"]
            .iter()
            .map(|n| (n, chance.below(2), chance.below(2)))
            .filter(|(_, there, _)| *there == 0)
            .map(|(n, _, value)| serde_json::json!({"name": n, "value": value.to_string()}))
            .collect();
        if !env.is_empty() {
            container["env"] = env.into();
        }
        if chance.below(3) == 0 {
            container["args"] = serde_json::json!([chance.below(3).to_string()]);
        }
        containers.push(container);
    }
    if chance.below(2) == 0 {
        containers.reverse();
    }
    if !containers.is_empty() {
        set(&["spec", "template", "spec", "containers"], containers.into());
    }
    out
}

#[test]
fn any_sequence_of_applies_keeps_what_each_manager_is_promised() {
    let schema = Schema::BuiltIn { api_version: "apps/v1", kind: "Deployment" };
    let node = schema.node();
    for seed in 1..=60u64 {
        let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut live: Option<Value> = None;
        for _ in 0..12 {
            let manager = ["a", "b", "c"][chance.below(3) as usize];
            let wanted = random_deployment(&mut chance);
            let request = Request {
                manager,
                force: true,
                subresource: None,
                api_version: "apps/v1",
                now: "T",
                status_subresource: true,
                schema,
            };
            let said = format!("seed {seed}, {manager} applies {wanted}\n over {live:?}");
            let polite = server_side(live.as_ref(), &wanted, &Request { force: false, ..request });
            let object =
                server_side(live.as_ref(), &wanted, &request).expect("forced applies never conflict");
            // Without a conflict force changes nothing.
            if let Ok(polite) = polite {
                assert_eq!(polite, object, "{said}");
            }
            // Everything applied is there: putting it over the result once more changes nothing.
            let plain = without_owners(&object);
            assert_eq!(walk::merge(&node, Some(&plain), Some(&wanted)).unwrap(), plain, "{said}");
            // The same again is no change at all.
            assert_eq!(server_side(Some(&object), &wanted, &request).unwrap(), object, "{said}");
            // No field stays without an owner, and no manager owns an absent field.
            let entries = match managed::read(&object) {
                Recorded::Owners(entries) => entries,
                _ => Vec::new(),
            };
            let owned = entries.iter().fold(Set::default(), |all, e| all.union(&e.fields));
            let present = strip(&walk::field_set(&node, &plain));
            assert!(
                owned.difference(&walk::with_declared_parents(&node, &present)).is_empty(),
                "{said}\n {object}"
            );
            let stray = present.difference(&owned);
            assert!(stray.paths().iter().all(|p| p.len() < 3), "{said}\n {object}\n {stray:?}");
            live = Some(object);
        }
    }
}

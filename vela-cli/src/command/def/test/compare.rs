//! What a test expects, beside what was made → what is otherwise.

use serde_json::{Value, json};

use super::file::{Expect, Test, is_named};
use super::render::Made;

/// Levels of an object that are compared.
const DEEPEST: usize = 100;

/// Something that is otherwise than expected.
#[derive(Debug)]
pub(super) struct Fault {
    /// Where in the file it is expected.
    pub(super) path: String,
    pub(super) text: String,
}

/// What is otherwise with the objects.
pub(super) fn objects(test: &Test, made: &Made) -> Vec<Fault> {
    let Expect { objects, absent, .. } = &test.expect;
    let mut found = Vec::new();
    for (index, expected) in objects.iter().enumerate() {
        let at = format!("{}.expect.objects[{index}]", test.path);
        let kind = expected["kind"].as_str().unwrap_or_default();
        let named = made.objects.iter().filter(|object| is_named(expected, object));
        // Of several, the one that comes closest is meant.
        let closest = named.map(|object| differences(expected, object, &at, kind)).min_by_key(Vec::len);
        match closest {
            Some(wrong) => found.extend(wrong),
            None => {
                found.push(Fault { path: at, text: format!("there is no such {kind}; {}", made.titles()) })
            }
        }
    }
    for (index, unwanted) in absent.iter().enumerate() {
        let path = format!("{}.expect.absent[{index}]", test.path);
        let mut objects = made.objects.iter().filter(|object| is_named(unwanted, object));
        if let Some(object) = objects.find(|object| differences(unwanted, object, &path, "").is_empty()) {
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            let kind = object["kind"].as_str().unwrap_or_default();
            found.push(Fault { path, text: format!("{kind} {name} is made") });
        }
    }
    found
}

fn differences(expected: &Value, object: &Value, at: &str, kind: &str) -> Vec<Fault> {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let mut walk = Walk { title: format!("{kind} {name}"), at: at.to_owned(), wrong: Vec::new() };
    walk.compare(expected, Some(object), &mut String::new(), 0);
    walk.wrong
}

struct Walk {
    title: String,
    at: String,
    wrong: Vec<Fault>,
}

impl Walk {
    /// Fields that are not expected are not compared; null stands for a field that is not there.
    fn compare(&mut self, expected: &Value, found: Option<&Value>, path: &mut String, depth: usize) {
        let length = path.len();
        match (expected, found) {
            (Value::Null, None | Some(Value::Null)) => {}
            _ if depth > DEEPEST => self.add(path, format!("is deeper than {DEEPEST} levels")),
            (Value::Object(expected), Some(Value::Object(found))) => {
                for (name, value) in expected {
                    vela_engine::field_path::push_field(path, name);
                    self.compare(value, found.get(name), path, depth + 1);
                    path.truncate(length);
                }
            }
            (Value::Array(expected), Some(Value::Array(found))) if expected.len() == found.len() => {
                for (index, (value, found)) in expected.iter().zip(found).enumerate() {
                    vela_engine::field_path::push_index(path, index);
                    self.compare(value, Some(found), path, depth + 1);
                    path.truncate(length);
                }
            }
            (Value::Array(expected), Some(Value::Array(found))) => {
                let (has, wants) = (found.len(), expected.len());
                self.add(path, format!("has {has} elements, expected {wants}: {}", json!(found)));
            }
            (expected, Some(found)) if expected == found => {}
            (expected, None) => self.add(path, format!("is missing, expected {expected}")),
            (Value::Null, Some(found)) => self.add(path, format!("is {found}, expected none")),
            (expected, Some(found)) => self.add(path, format!("is {found}, expected {expected}")),
        }
    }

    fn add(&mut self, path: &str, words: String) {
        let text = format!("{}: {path} {words}", self.title);
        self.wrong.push(Fault { path: format!("{}.{path}", self.at), text });
    }
}

/// What is otherwise with the health.
pub(super) fn status(test: &Test, made: &Made) -> Vec<Fault> {
    let Some(status) = &test.expect.status else { return Vec::new() };
    let at = format!("{}.expect.status", test.path);
    let mut found = Vec::new();
    let mut judge = |path: String, expected: Option<Value>, is: Value| {
        if let Some(expected) = expected.filter(|expected| *expected != is) {
            let field = path.rsplit('.').next().unwrap_or_default();
            found.push(Fault { text: format!("{field} is {is}, expected {expected}"), path });
        }
    };
    let health = &made.health;
    judge(format!("{at}.healthy"), status.healthy.map(Value::from), json!(health.healthy));
    judge(format!("{at}.message"), status.message.clone().map(Value::from), json!(health.workload.message));
    for (index, expected) in status.traits.iter().enumerate() {
        let at = format!("{at}.traits[{index}]");
        match health.traits.iter().find(|one| one.type_ == expected.type_) {
            Some(one) => {
                judge(format!("{at}.healthy"), expected.healthy.map(Value::from), json!(one.health.healthy));
                judge(
                    format!("{at}.message"),
                    expected.message.clone().map(Value::from),
                    json!(one.health.message),
                );
            }
            None => judge(format!("{at}.type"), Some(json!(expected.type_)), Value::Null),
        }
    }
    found
}

//! Every recorded case whose objects come to their end: the same children, value for value.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use super::normalize::{differences, normalized};
use super::stage::{documents, play};

/// Cases that are not alike yet, with the reason. The list only gets shorter.
const NOT_ALIKE: [(&str, &str); 0] = [];

/// Cases in which nothing is made, which `mistakes` looks at.
const NOTHING_MADE: [&str; 1] = ["part-registry-alone"];

fn cases() -> Vec<String> {
    let folder = vela_testkit::cases::folder("conformance/harbor").join("cases");
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> =
        names.filter(|name| name.starts_with("part-") || name.starts_with("stack-")).collect();
    names.retain(|name| !NOTHING_MADE.contains(&name.as_str()));
    names.sort();
    names
}

fn by_name(objects: impl IntoIterator<Item = Value>) -> BTreeMap<String, Value> {
    let name = |object: &Value| {
        format!("{}/{}", object["kind"].as_str().unwrap(), object["metadata"]["name"].as_str().unwrap())
    };
    objects.into_iter().map(|object| (name(&object), normalized(object))).collect()
}

#[test]
fn the_children_are_those_that_were_recorded() {
    let mut wrong = Vec::new();
    let cases = cases();
    assert!(cases.len() >= 11, "{cases:?}");
    for case in &cases {
        let (wanted, recorded) = (by_name(play(case)), by_name(documents(case, "children.yaml")));
        let mut found = Vec::new();
        for name in wanted.keys().filter(|name| !recorded.contains_key(*name)) {
            found.push(format!("{name}: was not recorded"));
        }
        for (name, recorded) in &recorded {
            match wanted.get(name) {
                Some(wanted) => differences(wanted, recorded, name, &mut found),
                None => found.push(format!("{name}: is not wanted")),
            }
        }
        let excused = NOT_ALIKE.iter().any(|(name, _)| name == case);
        if excused && found.is_empty() {
            wrong.push(format!("{case} is alike: take it off the list"));
        }
        if !excused {
            wrong.extend(found.into_iter().map(|difference| format!("{case}: {difference}")));
        }
    }
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}

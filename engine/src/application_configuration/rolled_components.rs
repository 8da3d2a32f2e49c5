//! Decides which components a rollout between two configurations rolls.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::handover::components;
use super::text;

/// The components to roll out: of those named, or of those that both configurations have, the ones whose revision differs.
///
/// # Errors
/// A component that one of the configurations lacks, that it is not clear which one is meant, or that there is nothing to do.
pub fn rolled(listed: &[String], target: &Json, source: Option<&Json>) -> Result<Vec<String>, String> {
    let (to, from) = (components(target), source.map(components));
    let is_common = |name: &str| from.as_ref().is_none_or(|from| from.contains_key(name));
    let common: BTreeSet<&str> = to.keys().copied().filter(|name| is_common(name)).collect();
    let between = || match source {
        Some(source) => format!("both {} and {}", name(target), name(source)),
        None => name(target).to_owned(),
    };
    let all = |names: &BTreeSet<&str>| names.iter().copied().collect::<Vec<_>>().join(", ");
    if common.is_empty() {
        return Err(format!(
            "spec.componentList: no component is in {}: {} has {}{}; a component that has another name now is another one: roll \
             it out without a source, with rolloutPlan.targetSize, and delete what it replaces",
            between(),
            name(target),
            all(&to.keys().copied().collect()),
            match (source, &from) {
                (Some(source), Some(from)) =>
                    format!(", {} has {}", name(source), all(&from.keys().copied().collect())),
                _ => String::new(),
            }
        ));
    }
    for (index, name) in listed.iter().enumerate() {
        if !common.contains(name.as_str()) {
            return Err(format!(
                "spec.componentList[{index}]: there is no component {name:?} in {}; there are {}",
                between(),
                all(&common)
            ));
        }
    }
    let is_listed = |name: &str| listed.is_empty() || listed.iter().any(|listed| listed == name);
    let changes = |name: &str| {
        let revision = to.get(name).copied().unwrap_or_default();
        from.as_ref().is_none_or(|from| revision.is_empty() || from.get(name) != Some(&revision))
    };
    let rolled: Vec<String> = common
        .iter()
        .filter(|name| is_listed(name) && changes(name))
        .map(|name| (*name).to_owned())
        .collect();
    match rolled.as_slice() {
        [] => Err(format!(
            "spec.componentList: nothing differs between {}: the components {} are of the same revision in both",
            between().trim_start_matches("both "),
            all(&common)
        )),
        [_, _, ..] if listed.is_empty() => Err(format!(
            "spec.componentList names no component, and there are several: {}; name those to roll out",
            rolled.join(", ")
        )),
        _ => Ok(rolled),
    }
}

fn name(configuration: &Json) -> &str {
    text(configuration, &["metadata", "name"])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn configuration(name: &str, revisions: &[&str]) -> Json {
        let entries: Vec<Json> = revisions.iter().map(|name| json!({"revisionName": name})).collect();
        json!({"metadata": {"name": name}, "spec": {"components": entries}})
    }

    #[test]
    fn only_what_changed_is_rolled() {
        let first = configuration("shop-v1", &["web-v1", "db-v1", "old-v1"]);
        let second = configuration("shop-v2", &["web-v2", "db-v1", "new-v1"]);
        let of = |listed: &[&str]| {
            let listed: Vec<String> = listed.iter().map(|&name| name.to_owned()).collect();
            rolled(&listed, &second, Some(&first))
        };
        assert_eq!(of(&["web", "db"]), Ok(vec!["web".to_owned()]));
        assert_eq!(of(&[]), Ok(vec!["web".to_owned()]), "it is clear which one is meant");
        let why = of(&["new"]).unwrap_err();
        assert!(
            why.starts_with("spec.componentList[0]: there is no component \"new\" in both shop-v2"),
            "{why}"
        );
        let why = of(&["db"]).unwrap_err();
        assert!(why.contains("nothing differs between shop-v2 and shop-v1"), "{why}");
        let several = configuration("shop-v3", &["web-v3", "db-v3"]);
        let why = rolled(&[], &several, Some(&first)).unwrap_err();
        assert!(why.ends_with("there are several: db, web; name those to roll out"), "{why}");
        assert_eq!(rolled(&["db".to_owned()], &several, None), Ok(vec!["db".to_owned()]));
    }

    #[test]
    fn a_renamed_component_is_told() {
        let first = configuration("shop-v1", &["web-v1"]);
        let second = configuration("shop-v2", &["site-v1"]);
        let why = rolled(&[], &second, Some(&first)).unwrap_err();
        assert!(why.contains("shop-v2 has site, shop-v1 has web"), "{why}");
    }
}

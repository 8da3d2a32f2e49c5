//! Finds code that judges how far an object is beside the one table, `kinds/src/readiness`.

use super::{Source, is_ours, shipped};

/// Kinds that the table judges by more than one condition.
const KINDS: [&str; 9] = [
    "\"CustomResourceDefinition\"",
    "\"DaemonSet\"",
    "\"Deployment\"",
    "\"Job\"",
    "\"PersistentVolumeClaim\"",
    "\"Pod\"",
    "\"ReplicaSet\"",
    "\"ReplicationController\"",
    "\"StatefulSet\"",
];

/// What a status says by which these kinds are judged.
const SAID: [&str; 11] = [
    "readyReplicas",
    "availableReplicas",
    "updatedReplicas",
    "fullyLabeledReplicas",
    "updatedNumberScheduled",
    "numberReady",
    "numberAvailable",
    "\"succeeded\"",
    "\"Complete\"",
    "\"Established\"",
    "\"Bound\"",
];

/// The rooms and files that may do both, and why.
const PLACES: [(&str, &str); 4] = [
    ("kinds/src/readiness/", "the table"),
    ("apiserver/src/", "writes what statuses say"),
    ("engine/src/health_scope.rs", "a HealthScope has the rules and the words of OAM v1alpha2"),
    ("engine/src/rollout/cluster", "a cluster for tests, which writes what statuses say"),
];

/// A file that chooses by kind and reads what readiness is judged by has a table of its own.
pub(super) fn readiness(source: &Source, wrong: &mut Vec<String>) {
    if !is_ours(source) || PLACES.iter().any(|(place, _)| source.name.starts_with(place)) {
        return;
    }
    let reads = shipped(source).any(|(_, line)| SAID.iter().any(|word| line.contains(word)));
    if let Some((number, _)) = shipped(source).find(|(_, line)| reads && chooses(line)) {
        wrong.push(format!(
            "{}:{number}: judges an object by its kind; ask vela_engine::readiness or vela_kinds::readiness",
            source.name
        ));
    }
}

/// Is this an arm of a `match`, or a comparison, with one of the kinds?
fn chooses(line: &str) -> bool {
    KINDS.iter().any(|kind| {
        let Some((before, after)) = line.split_once(kind) else { return false };
        let compared = ["== ", "!= ", "| "].iter().any(|sign| before.ends_with(sign));
        compared || after.contains("=>") || before.contains("matches!(")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violations(name: &str, text: &str) -> Vec<String> {
        let mut wrong = Vec::new();
        readiness(&Source { name: name.to_owned(), text: text.to_owned() }, &mut wrong);
        wrong
    }

    #[test]
    fn a_second_table_of_readiness_is_found() {
        let chooses =
            "match (group, kind) {\n    (\"apps\", \"Deployment\" | \"StatefulSet\") => ready(object),\n}\n";
        let reads = "let have = number(\"status.readyReplicas\");\n";
        let second = format!("//! a\n{reads}{chooses}");
        let expected = "core/src/a.rs:4: judges an object by its kind; ask vela_engine::readiness or vela_kinds::readiness";
        assert_eq!(violations("core/src/a.rs", &second), [expected]);
        let compares = format!("//! a\n{reads}if object[\"kind\"] == \"DaemonSet\" {{}}\n");
        assert_eq!(violations("core/src/a.rs", &compares).len(), 1);
        // Who only chooses gives each kind its own treatment, and who only reads counts pods.
        assert_eq!(violations("core/src/a.rs", chooses).len(), 0);
        assert_eq!(violations("core/src/a.rs", reads).len(), 0);
        for place in ["kinds/src/readiness/mod.rs", "apiserver/src/simulate/mod.rs", "core/tests/a.rs"] {
            assert_eq!(violations(place, &second).len(), 0, "{place}");
        }
        let tested = format!("//! a\n{reads}#[cfg(test)]\n{chooses}");
        assert_eq!(violations("core/src/a.rs", &tested).len(), 0);
    }
}

//! The words that the verbs of `vela policy` share.

use serde_json::Value;

use crate::cluster::Cluster;
use crate::error::Error;

/// There is no application of that name.
pub(super) fn absent(cluster: &Cluster, name: &str) -> Error {
    Error::user(format!("there is no application {name:?} in {}", cluster.place()))
        .hint("`vela ls -A` lists the applications of every namespace")
}

/// What a policy changed, in words.
pub(super) fn changes(report: &Value) -> String {
    let count = |field: &str, noun: &str| match report[field].as_u64() {
        None | Some(0) => None,
        Some(1) => Some(format!("1 {noun}")),
        Some(number) => Some(format!("{number} {noun}s")),
    };
    let is = |field: &str, word: &str| (report[field] == true).then(|| word.to_owned());
    let all = [
        is("specModified", "spec"),
        count("labelsCount", "label"),
        count("annotationsCount", "annotation"),
        is("hasContext", "context"),
    ];
    all.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

//! Facts of Kubernetes in, the data files of the built-in kinds out; and the rewriting of all other generated files.
//!
//! The facts are recorded once for a release of Kubernetes and lie in the repository, so that the files can be made, and are
//! proven current, without a control plane. Which kinds are served, and what their tables show, is written by hand in
//! `apiserver/src/builtin/cells/cells.txt`.

mod facts;
mod golang;
mod kinds;
mod protobuf;
mod record;
mod served;
mod types;

use std::path::PathBuf;

use crate::command;
use facts::Facts;

/// A generated file: its path in the repository and its text.
type File = (&'static str, String);

/// The options of the chore.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Records the facts of Kubernetes anew first: of the folder k8s.io of Go's module cache and of a control plane
    #[arg(long, value_name = "MODULES")]
    record: Option<PathBuf>,
    /// Where `kubectl proxy` shows the control plane
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8001")]
    proxy: String,
}

/// Rewrites generated files.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    if let Some(modules) = &options.record {
        record::run(modules, &options.proxy)?;
    }
    for (path, text) in files()? {
        std::fs::write(command::root().join(path), text).map_err(|error| format!("{path}: {error}"))?;
    }
    command::cargo_with(&["test", "--package", "vela-crds"], &[("UPDATE", "1")])?;
    // The chart and the kustomize base: they have the kinds in them.
    let chart = ["test", "--package", "vela-cli", "--bin", "vela", "command::install::chart"];
    command::cargo_with(&chart, &[("UPDATE", "1")])
}

/// The data files of the built-in kinds.
fn files() -> Result<Vec<File>, String> {
    let facts = Facts::read()?;
    let served = served::read()?;
    let types = types::reached(&facts.schemas, &served)?;
    Ok(vec![
        ("apiserver/src/builtin/kinds.txt", kinds::text(&facts.resources, &served)?),
        ("apiserver/src/http/protobuf.txt", protobuf::text(&facts.structs, types.keys())?),
        ("kinds/src/types.txt", types::text(&facts.schemas, &types)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_files_of_the_built_in_kinds_are_current() {
        for (path, text) in files().unwrap() {
            let found = std::fs::read_to_string(command::root().join(path)).unwrap();
            assert!(found == text, "{path} is stale: run cargo xtask codegen");
        }
    }
}

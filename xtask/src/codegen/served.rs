//! The kinds that the embedded API server serves, as `cells.txt` lists them by hand.

use crate::command;

const PATH: &str = "apiserver/src/builtin/cells/cells.txt";

/// A kind of the embedded API server.
pub(super) struct Served {
    pub(super) api_version: String,
    pub(super) kind: String,
    /// Whether `metadata.generation` counts its changes; no document of Kubernetes says so.
    pub(super) generation: bool,
}

/// Reads the heads `#apiVersion Kind [generation]`.
pub(super) fn read() -> Result<Vec<Served>, String> {
    let text =
        std::fs::read_to_string(command::root().join(PATH)).map_err(|error| format!("{PATH}: {error}"))?;
    text.lines().filter_map(|line| line.strip_prefix('#')).map(head).collect()
}

fn head(head: &str) -> Result<Served, String> {
    let (api_version, kind, generation) = match *head.split(' ').collect::<Vec<_>>().as_slice() {
        [api_version, kind] => (api_version, kind, false),
        [api_version, kind, "generation"] => (api_version, kind, true),
        _ => return Err(format!("{PATH}: #{head}: expected `#apiVersion Kind [generation]`")),
    };
    Ok(Served { api_version: api_version.to_owned(), kind: kind.to_owned(), generation })
}

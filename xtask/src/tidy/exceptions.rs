//! Reads `xtask/tidy.toml`: what still breaks a rule and is known. Lists only get shorter: each rule fails for what is
//! new and for an entry that is no longer needed.

use std::collections::BTreeMap;

use crate::command;

/// Where the lists stand.
const FILE: &str = "xtask/tidy.toml";

/// All lists.
#[derive(Default, serde::Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub(super) struct Exceptions {
    /// One file of each circle of files inside a crate, and how many files are in it.
    pub(super) circles: BTreeMap<String, usize>,
    /// One top-level module of each circle of them inside a crate, and how many modules are in it.
    pub(super) module_circles: BTreeMap<String, usize>,
    /// Rooms that no shipped binary reaches.
    pub(super) unshipped: Vec<String>,
    /// Files with too many lines, and their limit.
    pub(super) lines: BTreeMap<String, usize>,
    /// Files of any length: what data they are.
    pub(super) data: BTreeMap<String, String>,
    /// Rooms, and how often they still use a pronoun that hides who acts.
    pub(super) pronouns: BTreeMap<String, usize>,
    /// Files `x.rs` beside a folder `x`.
    pub(super) beside: Vec<String>,
    /// Rooms and their public modules that no other room names.
    pub(super) unreached: BTreeMap<String, Vec<String>>,
}

impl Exceptions {
    /// Reads the lists.
    ///
    /// # Errors
    /// When the file is not there or is written wrongly.
    pub(super) fn read() -> Result<Self, String> {
        let text = std::fs::read_to_string(command::root().join(FILE)).map_err(|e| format!("{FILE}: {e}"))?;
        toml::from_str(&text).map_err(|e| format!("{FILE}: {e}"))
    }
}

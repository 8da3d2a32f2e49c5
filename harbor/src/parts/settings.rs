//! The operator's settings for all parts of this cluster.

/// Settings of the operator itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Where images come from, unless an object says otherwise.
    pub repository: String,
    /// The suffix of each tag.
    pub tag_suffix: String,
    /// The value of the label with the operator's version.
    pub version: String,
    /// The class that this operator looks after; all where it is empty.
    pub class: String,
    /// Network policies for every Harbor, whatever its annotations say.
    pub network_policies: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            repository: "goharbor".to_owned(),
            tag_suffix: String::new(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            class: String::new(),
            network_policies: false,
        }
    }
}

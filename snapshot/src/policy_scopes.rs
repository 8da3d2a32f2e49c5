//! Which PolicyDefinitions change applications.

/// Which PolicyDefinitions change applications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyScopes {
    /// Those that applications name, and with [`PolicyScopes::global`] the others.
    pub application: bool,
    /// Those that act on every application.
    pub global: bool,
}

impl Default for PolicyScopes {
    fn default() -> Self {
        Self { application: true, global: true }
    }
}

//! Built-in definitions of components, traits, policies and workflow steps, embedded.
//!
//! The CUE texts lie beside this crate: `components/*.cue`, `traits/*.cue`, `policies/*.cue` and `steps/*.cue` are the templates (parameter, output,
//! patch, calls), `status/*.cue` say how health and a line for people are read from the objects. A text is the whole template, as it stands in
//! `spec.schematic.cue.template`. Fields outside the CUE text (description, workload kind, where a trait may go) stand in `components.rs`,
//! `traits.rs`, `policies.rs`, `steps.rs`, `standard.rs` and `v1alpha2.rs` as plain data, so that nothing is parsed before it is needed.
//!
//! Parameters and results are those of KubeVela's definitions of the same name; the texts are
//! ours. `tests/known_differences.md` lists where results differ, and why.

mod components;
mod definition;
mod policies;
mod standard;
mod steps;
mod traits;
mod v1alpha2;
mod views;

pub use definition::{Attributes, Definition, Kind, StatusTexts};
pub use views::{VIEWS, View};

/// Every built-in definition: components, traits, those of 0.3, policies, steps, then the v1alpha2 kinds of the platform.
pub fn builtin() -> &'static [Definition] {
    static BUILTIN: std::sync::OnceLock<Vec<Definition>> = std::sync::OnceLock::new();
    BUILTIN.get_or_init(|| {
        [
            components::COMPONENTS,
            traits::TRAITS,
            standard::STANDARD,
            policies::POLICIES,
            steps::STEPS,
            v1alpha2::V1ALPHA2,
        ]
        .concat()
    })
}

/// The built-in definition of a kind and name.
pub fn find(kind: Kind, name: &str) -> Option<&'static Definition> {
    builtin().iter().find(|definition| definition.kind == kind && definition.name == name)
}

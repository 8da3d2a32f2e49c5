//! The types that an Appfile may name, and what they take.

use vela_engine::{Definition, DefinitionKind, Snapshot};

/// The kinds of definitions that give them.
pub(super) const KINDS: [DefinitionKind; 3] =
    [DefinitionKind::Component, DefinitionKind::Workload, DefinitionKind::Trait];

/// The types that exist.
pub(super) struct Types<'a>(pub(super) &'a Snapshot);

impl<'a> Types<'a> {
    pub(super) fn is_trait(&self, name: &str) -> bool {
        self.0.definition(DefinitionKind::Trait, name).is_some()
    }

    pub(super) fn traits(&self) -> Vec<&'a str> {
        let all = self.0.definitions().map(AsRef::as_ref);
        all.filter(|one: &&Definition| one.kind() == DefinitionKind::Trait).map(Definition::name).collect()
    }

    /// What a component of this type takes; nothing where there is no such type.
    pub(super) fn parameters(&self, component: &str) -> Vec<String> {
        let kinds = [DefinitionKind::Component, DefinitionKind::Workload];
        let found = kinds.iter().find_map(|kind| self.0.definition(*kind, component));
        let root = found.map(|definition| vela_engine::parameters::parameters(definition).root);
        root.into_iter().flat_map(|root| root.children).map(|parameter| parameter.name).collect()
    }
}

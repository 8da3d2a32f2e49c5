//! The catalog of now, and how definitions enter and leave it.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use super::snapshot::{self, Catalog};
use crate::crd::Definition;

/// The catalog of now; readers keep the one they started with.
#[derive(Debug)]
pub(crate) struct Registry {
    state: RwLock<State>,
}

#[derive(Debug)]
struct State {
    definitions: BTreeMap<String, Arc<Definition>>,
    catalog: Arc<Catalog>,
}

impl Registry {
    pub(crate) fn new() -> Self {
        let definitions = BTreeMap::new();
        let catalog = Arc::new(snapshot::build(&definitions, 1));
        Self { state: RwLock::new(State { definitions, catalog }) }
    }

    /// Another registry that knows the same now and goes its own way.
    pub(crate) fn fork(&self) -> Self {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let copy = State { definitions: state.definitions.clone(), catalog: state.catalog.clone() };
        Self { state: RwLock::new(copy) }
    }

    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        self.state.read().unwrap_or_else(PoisonError::into_inner).catalog.clone()
    }

    pub(crate) fn put(&self, definition: Definition) {
        self.change(|definitions| {
            definitions.insert(definition.name.clone(), Arc::new(definition));
        });
    }

    pub(crate) fn remove(&self, name: &str) {
        self.change(|definitions| {
            definitions.remove(name);
        });
    }

    fn change(&self, edit: impl FnOnce(&mut BTreeMap<String, Arc<Definition>>)) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        edit(&mut state.definitions);
        let generation = state.catalog.generation + 1;
        state.catalog = Arc::new(snapshot::build(&state.definitions, generation));
    }
}

//! Resolves a type to its definition, or says what is wrong with it.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Parser, not_built_in};
use crate::definition::{Definition, DefinitionKind, version};
use crate::diagnostic::Code;
use crate::nearest;
use crate::plan::SUPPORTED_STEPS;
use crate::policy;

impl Parser<'_> {
    pub(super) fn component_definition(&mut self, path: &str, type_: &str) -> Option<Arc<Definition>> {
        let kinds = [DefinitionKind::Component, DefinitionKind::Workload];
        let found = kinds.iter().find_map(|kind| self.snapshot.definition(*kind, type_));
        if found.is_none() {
            // A type may have a definition of either kind, or of both.
            self.unknown_type(&format!("{path}.type"), type_, &kinds, "component type", "component types");
        }
        found.cloned()
    }

    /// A policy or a step of a version must be of one that is there; what it does is not looked at here.
    pub(super) fn named_version(&mut self, path: &str, type_: &str, kind: DefinitionKind) {
        if !type_.contains('@') || self.snapshot.definition(kind, type_).is_some() {
            return;
        }
        let path = format!("{path}.type");
        let name = version::parse_reference(type_).map_or(type_, |asked| asked.name);
        let (noun, nouns, built_in) = match kind {
            DefinitionKind::Policy => ("policy type", "policy types", policy::SUPPORTED),
            _ => ("workflow step type", "workflow step types", SUPPORTED_STEPS),
        };
        if built_in.contains(&name) && self.snapshot.versions(kind, name).next().is_none() {
            let message = format!("{noun} {name:?} is built in and has no versions");
            let hint = Some(format!("write {name:?}"));
            return self.error(Code::UnknownDefinition, &path, message, hint);
        }
        self.unknown_type(&path, type_, &[kind], noun, nouns);
    }

    /// A policy of an unknown type would silently have no effect.
    pub(super) fn known_policy(&mut self, path: &str, type_: &str) {
        let kind = DefinitionKind::Policy;
        let built_in = || policy::SUPPORTED.iter().chain(policy::LATER).copied();
        if type_.contains('@')
            || policy::is_built_in(type_)
            || self.snapshot.definition(kind, type_).is_some()
        {
            return;
        }
        let known: BTreeSet<&str> = self.snapshot.names(kind).into_iter().chain(built_in()).collect();
        let hint = nearest::advice(type_, "policy types", known.iter().copied());
        let message = format!("unknown policy type {type_:?}");
        self.error(Code::UnknownDefinition, &format!("{path}.type"), message, hint);
    }

    /// There is no such type, or not in that version.
    pub(super) fn unknown_type(
        &mut self,
        path: &str,
        type_: &str,
        kinds: &[DefinitionKind],
        noun: &str,
        nouns: &str,
    ) {
        let known: BTreeSet<&str> = kinds.iter().flat_map(|kind| self.snapshot.names(*kind)).collect();
        let asked = version::parse_reference(type_);
        let name = asked.map_or(type_, |asked| asked.name);
        let versions: BTreeSet<&str> =
            kinds.iter().flat_map(|kind| self.snapshot.versions(*kind, name)).collect();
        let (message, hint) = match asked {
            Some(asked) if known.contains(name) || !versions.is_empty() => (
                format!("{noun} {name:?} has no version \"v{}\"", asked.version),
                Some(version::advice(asked, versions)),
            ),
            _ => match type_.split_once('@') {
                Some((name, rest)) if asked.is_none() && known.contains(name) => (
                    format!("{noun} {name:?} has no version {rest:?}"),
                    Some(format!(
                        "a version is written with a v before its numbers, such as \"{name}@v1.2.0\""
                    )),
                ),
                _ => {
                    let hint = not_built_in::advice(name)
                        .or_else(|| nearest::advice(name, nouns, known.iter().copied()));
                    (format!("unknown {noun} {type_:?}"), hint)
                }
            },
        };
        self.error(Code::UnknownDefinition, path, message, hint);
    }
}

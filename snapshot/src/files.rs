//! A source that puts given documents before another source.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use vela_engine::definition::{record, version};
use vela_engine::reference::{Reference, Referenced};
use vela_engine::revision::Previous;
use vela_engine::{
    Bounds, ClusterVersion, Definition, DefinitionKind, Diagnostic, Diagnostics, Document, ObjectKey,
};

use crate::reader::Namespaces;
use crate::registered::ApiKind;
use crate::source::{Error, KindOf, Source, Version};

/// The object that keeps a version.
const DEFINITION_REVISION: &str = "DefinitionRevision";

/// Definitions and their versions by kind and name.
type ByName<T> = BTreeMap<(DefinitionKind, String), T>;

/// Definitions and DefinitionRevisions given as documents win over what is below them, in every namespace.
#[derive(Clone, Debug)]
pub struct Files<S> {
    below: S,
    namespaces: Namespaces,
    /// In the order of the documents; the last one counts, those before it are versions.
    definitions: Arc<ByName<Vec<Document>>>,
    revisions: Arc<ByName<Vec<Version>>>,
}

impl<S: Source> Files<S> {
    /// The documents over `below`; of two of one name the later one counts, and the earlier one is a version of it. In
    /// `namespaces` it is looked up which version a given definition would become.
    ///
    /// # Errors
    /// Every document that is no definition, with its place.
    pub fn new(
        below: S,
        namespaces: Namespaces,
        documents: impl IntoIterator<Item = Document>,
    ) -> Result<Self, Diagnostics> {
        let mut wrong = Diagnostics::new();
        let (mut definitions, mut revisions) =
            (ByName::<Vec<Document>>::new(), ByName::<Vec<Version>>::new());
        for document in documents {
            if document.kind() == DEFINITION_REVISION {
                // One that keeps nothing readable is the matter of those who ask for it.
                if let Err(diagnostic) = insert_revision(&mut revisions, &document) {
                    wrong.push(diagnostic);
                }
                continue;
            }
            match Definition::from_document(&document) {
                Ok(definition) => {
                    let name = (definition.kind(), definition.name().to_owned());
                    definitions.entry(name).or_default().push(document);
                }
                Err(diagnostic) => wrong.push(diagnostic),
            }
        }
        let (definitions, revisions) = (Arc::new(definitions), Arc::new(revisions));
        wrong.or(Self { below, namespaces, definitions, revisions }).map(|(files, _)| files)
    }

    fn given(&self, kind: DefinitionKind, name: &str) -> Option<&Document> {
        self.definitions.get(&(kind, name.to_owned())).and_then(|given| given.last())
    }

    fn recorded(&self, kind: DefinitionKind, name: &str) -> &[Version] {
        self.revisions.get(&(kind, name.to_owned())).map_or(&[], Vec::as_slice)
    }

    /// The versions that given definitions will be once they are recorded, one after the other.
    async fn expected(
        &self,
        kind: DefinitionKind,
        namespace: &str,
        name: &str,
    ) -> Result<Vec<Version>, Error> {
        let given = self.definitions.get(&(kind, name.to_owned()));
        let Some(given) = given.filter(|_| record::name_label(kind).is_some()) else { return Ok(Vec::new()) };
        let mut known = self.recorded(kind, name).to_vec();
        for place in self.namespaces.around(namespace) {
            known.extend(self.below.versions(kind, place, name, None).await?);
        }
        let newest = known.into_iter().max_by_key(|version| version.number);
        let mut previous = newest.and_then(|newest| {
            let definition = Definition::from_document(&newest.definition).ok()?;
            Some(Previous { number: newest.number, hash: record::revision(&definition, None).hash })
        });
        let mut expected = Vec::with_capacity(given.len());
        for document in given {
            let Ok(definition) = Definition::from_document(document) else { continue };
            let next = record::revision(&definition, previous.as_ref());
            if let Some(version) = next.name.strip_prefix(&format!("{name}-v")).map(str::to_owned) {
                expected.push(Version { version, number: next.number, definition: document.clone() });
            }
            previous = Some(Previous { number: next.number, hash: next.hash });
        }
        Ok(expected)
    }
}

fn insert_revision(revisions: &mut ByName<Vec<Version>>, document: &Document) -> Result<(), Diagnostic> {
    let spec = document.value().get("spec").unwrap_or(&Value::Null);
    let Some(recorded) = version::of_revision(document.name(), spec) else { return Ok(()) };
    let (kind, name) = (recorded.kind, recorded.name.to_owned());
    let Some(version) = Version::of(document.value(), kind, &name, document.namespace()) else {
        return Ok(());
    };
    Definition::from_document(&version.definition)?;
    revisions.entry((kind, name)).or_default().push(version);
    Ok(())
}

impl<S: Source> Source for Files<S> {
    async fn cluster_version(&self) -> Result<ClusterVersion, Error> {
        self.below.cluster_version().await
    }

    async fn definition(
        &self,
        kind: DefinitionKind,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Document>, Error> {
        match self.given(kind, name) {
            Some(given) => Ok(Some(given.clone())),
            None => self.below.definition(kind, namespace, name).await,
        }
    }

    async fn versions(
        &self,
        kind: DefinitionKind,
        namespace: &str,
        name: &str,
        asked: Option<&str>,
    ) -> Result<Vec<Version>, Error> {
        let mut found = self.recorded(kind, name).to_vec();
        found.extend(self.expected(kind, namespace, name).await?);
        let below = self.below.versions(kind, namespace, name, asked).await?;
        let given: BTreeSet<String> = found.iter().map(|version| version.version.clone()).collect();
        found.extend(below.into_iter().filter(|version| !given.contains(&version.version)));
        Ok(found)
    }

    async fn names(&self, kind: DefinitionKind, namespace: &str) -> Vec<String> {
        let mut names = self.below.names(kind, namespace).await;
        names.extend(self.definitions.keys().filter(|(of, _)| *of == kind).map(|(_, name)| name.clone()));
        names
    }

    async fn definitions(&self, kind: DefinitionKind, namespace: &str) -> Result<Vec<Document>, Error> {
        let below = self.below.definitions(kind, namespace).await?;
        let mut all: Vec<Document> =
            below.into_iter().filter(|one| self.given(kind, one.name()).is_none()).collect();
        let given = self.definitions.iter().filter(|((of, _), _)| *of == kind);
        all.extend(given.filter_map(|(_, documents)| documents.last().cloned()));
        Ok(all)
    }

    async fn object(&self, key: &ObjectKey) -> Result<Option<Value>, Error> {
        self.below.object(key).await
    }

    async fn kind(&self, api_version: &str, kind: &str) -> Result<Option<KindOf>, Error> {
        self.below.kind(api_version, kind).await
    }

    async fn registered(&self, resource: &str, version: &str) -> Result<Option<ApiKind>, Error> {
        self.below.registered(resource, version).await
    }

    async fn referenced(
        &self,
        reference: &Reference,
        own: &str,
        bounds: Bounds,
    ) -> Result<Option<Referenced>, Error> {
        self.below.referenced(reference, own, bounds).await
    }

    async fn schemas(&self, api_version: &str) -> Result<Option<Value>, Error> {
        self.below.schemas(api_version).await
    }
}

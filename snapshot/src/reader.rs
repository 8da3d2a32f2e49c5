//! Reads what references name from a source into a snapshot; decides namespaces, versions and advice alike for every
//! caller.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde_json::Value;
use tokio::time::Instant;
use vela_engine::definition::version;
use vela_engine::parse::{self, References};
use vela_engine::{
    Bounds, Definition, DefinitionKind, Diagnostic, Document, ObjectKey, Snapshot, Templates,
    application_configuration,
};
use vela_runtime::egress::EgressPolicy;

use crate::definition_cache::DefinitionCache;
use crate::imports::{is_complete, with_imports};
use crate::manifests;
use crate::policy_scopes::PolicyScopes;
use crate::registered::ApiKind;
use crate::source::{Error, Source, Version};

/// Components name kinds, kinds name definitions: three rounds see all of it, the rest is a margin.
const ROUNDS_AT_MOST: usize = 6;
/// Reads under way for one snapshot: an object may name thousands of others, and the API server serves others too.
const CONCURRENT_READS: usize = 16;
/// How long the kind behind a resource name is remembered: a CRD seldom gets another first version.
const REGISTERED_TTL: Duration = Duration::from_secs(300);

/// Where definitions are looked for, beside the namespace of the object that names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namespaces {
    /// Before the object's own.
    pub first: Option<String>,
    /// After it: the definitions that everybody shares.
    pub system: String,
}

impl Namespaces {
    /// In the order in which they are looked for; none is named twice.
    pub fn around<'n>(&'n self, own: &'n str) -> Vec<&'n str> {
        let mut all = Vec::with_capacity(3);
        for name in self.first.as_deref().into_iter().chain([own, &self.system]) {
            if !all.contains(&name) {
                all.push(name);
            }
        }
        all
    }
}

impl Default for Namespaces {
    fn default() -> Self {
        Self { first: None, system: vela_crds::finalizers::SYSTEM_NAMESPACE.to_owned() }
    }
}

/// A definition that was asked for, and where there is none of that version, which there are.
#[derive(Default)]
struct Found {
    definition: Option<Arc<Definition>>,
    versions: Vec<String>,
}

/// Resource names and versions, each with its kind and since when that is known.
type Registered = BTreeMap<(String, String), (ApiKind, Instant)>;

/// Reads the state of a cluster from a source. Cheap to clone; the clones remember together.
#[derive(Clone, Debug)]
pub struct Reader<S> {
    source: S,
    namespaces: Namespaces,
    bounds: Bounds,
    applies_once: bool,
    reads_referenced: bool,
    urls: Option<EgressPolicy>,
    pub(crate) policies: PolicyScopes,
    pub(crate) templates: Templates,
    cache: Arc<DefinitionCache>,
    registered: Arc<Mutex<Registered>>,
}

impl<S: Source> Reader<S> {
    /// A reader that has read nothing yet, where applications reach as far as they like.
    pub fn new(source: S, namespaces: Namespaces) -> Self {
        let (policies, templates, cache, registered) = Default::default();
        let (bounds, applies_once, reads_referenced) = (Bounds::NONE, false, true);
        Self {
            source,
            namespaces,
            bounds,
            applies_once,
            reads_referenced,
            urls: None,
            policies,
            templates,
            cache,
            registered,
        }
    }

    /// The same where applications reach so far and no further.
    #[must_use]
    pub fn within(self, bounds: Bounds) -> Self {
        Self { bounds, ..self }
    }

    /// The same where applications leave alone what they applied, unless their policies say more.
    #[must_use]
    pub fn applying_once(self, applies_once: bool) -> Self {
        Self { applies_once, ..self }
    }

    /// The same where only these policies change applications.
    #[must_use]
    pub fn with_policies(self, policies: PolicyScopes) -> Self {
        Self { policies, ..self }
    }

    /// The same without the objects that components refer to: for a client whose rights are not those of the author.
    #[must_use]
    pub fn without_referenced(self) -> Self {
        Self { reads_referenced: false, ..self }
    }

    /// The same which asks the servers of URLs that components name for their objects, within this policy.
    #[must_use]
    pub fn reading_urls(self, egress_policy: EgressPolicy) -> Self {
        Self { urls: Some(egress_policy), ..self }
    }

    /// The same over another source.
    pub fn over<T: Source>(&self, source: T) -> Reader<T> {
        let reader = Reader::new(source, self.namespaces.clone()).within(self.bounds);
        let (reads_referenced, urls, policies) = (self.reads_referenced, self.urls, self.policies);
        Reader { reads_referenced, urls, policies, ..reader.applying_once(self.applies_once) }
    }

    /// An empty snapshot of this cluster.
    async fn begin(&self) -> Result<Snapshot, Error> {
        let snapshot = Snapshot::new(self.source.cluster_version().await?).within(self.bounds);
        Ok(snapshot.applying_once(self.applies_once))
    }

    /// The source of the reader.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// Where definitions are looked for.
    pub fn namespaces(&self) -> &Namespaces {
        &self.namespaces
    }

    /// The needs of an Application in a namespace.
    ///
    /// # Errors
    /// When the source does not answer or a definition is broken; so with all the others.
    pub async fn application(&self, namespace: &str, document: &Document) -> Result<Snapshot, Error> {
        let mut references = parse::references(document);
        let mut snapshot = self.snapshot(namespace, &references).await?;
        // The steps of a workflow, and policies, in objects of their own name definitions and each other, too.
        let with_workflow = parse::with_workflow(document, &snapshot);
        if let Some(whole) = &with_workflow {
            references.include(&parse::references(whole));
            snapshot = self.snapshot(namespace, &references).await?;
        }
        let document = with_workflow.as_ref().unwrap_or(document);
        let with_policies = parse::with_policies(document, &snapshot);
        if let Some(whole) = &with_policies {
            references.include(&parse::references(whole));
            snapshot = self.snapshot(namespace, &references).await?;
        }
        let document = with_policies.as_ref().unwrap_or(document);
        self.insert_global_policies(namespace, document, &mut snapshot).await?;
        if let Some(transformed) = self.transformed(document, &snapshot).await? {
            let asked = references.clone();
            references.include(&parse::references(transformed.document()));
            if references != asked {
                snapshot = self.snapshot(namespace, &references).await?;
            }
            snapshot.insert_transformed(transformed);
        }
        let document = &snapshot.as_transformed(document).clone();
        self.insert_referenced(document, &mut snapshot).await?;
        let registered = parse::registered(document, &snapshot);
        self.insert_registered(&registered, &mut snapshot).await?;
        Ok(snapshot)
    }

    /// Tell the snapshot what the source has of the objects that components refer to.
    async fn insert_referenced(&self, document: &Document, snapshot: &mut Snapshot) -> Result<(), Error> {
        if !self.reads_referenced {
            return Ok(());
        }
        let own = match document.namespace() {
            "" => parse::DEFAULT_NAMESPACE,
            namespace => namespace,
        };
        for reference in parse::referenced(document, self.bounds) {
            if let Some(found) = self.source.referenced(&reference, own, self.bounds).await? {
                snapshot.insert_referenced(reference, found);
            }
        }
        if let Some(policy) = self.urls {
            for (url, found) in manifests::read(policy, parse::manifest_urls(document).into_keys()).await {
                snapshot.insert_manifests(&url, found);
            }
        }
        Ok(())
    }

    /// The needs of an ApplicationConfiguration in a namespace, and their own needs.
    pub async fn configuration(&self, namespace: &str, document: &Document) -> Result<Snapshot, Error> {
        self.configuration_by(namespace, document, None).await
    }

    /// The same, with `recorded` to tell each snapshot which definitions and components it is made of instead.
    pub async fn configuration_by(
        &self,
        namespace: &str,
        document: &Document,
        recorded: Option<&(dyn Fn(&mut Snapshot) + Send + Sync)>,
    ) -> Result<Snapshot, Error> {
        let mut asked = References::default();
        let mut snapshot = self.snapshot(namespace, &asked).await?;
        for _ in 0..ROUNDS_AT_MOST {
            let mut wanted = application_configuration::references(document, &snapshot);
            if recorded.is_some() {
                wanted.definitions.clear();
            }
            wanted.include(&asked);
            if wanted == asked {
                break;
            }
            snapshot = self.snapshot(namespace, &wanted).await?;
            if let Some(tell) = recorded {
                tell(&mut snapshot);
            }
            self.insert_registered(&wanted.registered, &mut snapshot).await?;
            asked = wanted;
        }
        Ok(snapshot)
    }

    /// The objects that these definitions name, and the kinds that they register.
    pub async fn definitions(
        &self,
        namespace: &str,
        definitions: impl IntoIterator<Item = (DefinitionKind, String)>,
    ) -> Result<Snapshot, Error> {
        let definitions = definitions.into_iter().collect();
        let references = References { definitions, ..References::default() };
        let mut snapshot = self.snapshot(namespace, &references).await?;
        let registered = references
            .definitions
            .iter()
            .filter_map(|(kind, name)| snapshot.definition(*kind, name))
            .map(|definition| parse::resource_of(definition))
            .collect();
        self.insert_registered(&registered, &mut snapshot).await?;
        Ok(snapshot)
    }

    /// All definitions of these kinds that objects of a namespace may name. Broken ones are left out: they are the matter of
    /// those who name them.
    pub async fn all_definitions(
        &self,
        namespace: &str,
        kinds: &[DefinitionKind],
    ) -> Result<Snapshot, Error> {
        let mut snapshot = self.begin().await?;
        // A later one replaces an earlier one.
        for place in self.namespaces.around(namespace).into_iter().rev() {
            for kind in kinds {
                for document in self.source.definitions(*kind, place).await? {
                    if let Ok(definition) = self.read(*kind, document.name(), &document).await {
                        snapshot.insert_definition(definition);
                    }
                }
            }
        }
        Ok(snapshot)
    }

    /// Everything of these references that is there. It leaves out absent objects: the pure phases say so in their
    /// words.
    pub async fn snapshot(&self, namespace: &str, references: &References) -> Result<Snapshot, Error> {
        let mut snapshot = self.begin().await?;
        let reads: Vec<_> =
            references.definitions.iter().map(|(kind, name)| self.find(namespace, *kind, name)).collect();
        let found: Vec<Found> = stream::iter(reads).buffered(CONCURRENT_READS).try_collect().await?;
        for ((kind, name), found) in references.definitions.iter().zip(found) {
            let asked = version::parse_reference(name);
            if let Some(asked) = asked {
                found.versions.iter().for_each(|each| snapshot.insert_known_version(*kind, asked.name, each));
            }
            let Some(definition) = found.definition else { continue };
            match definition.name() == name {
                true => snapshot.insert_definition(definition),
                false => snapshot.insert_definition_version(name, definition),
            }
        }
        for kind in snapshot.missing(&references.definitions) {
            for place in self.namespaces.around(namespace) {
                for name in self.source.names(kind, place).await {
                    snapshot.insert_name(kind, name);
                }
            }
        }
        for (api_version, kind) in &references.kinds {
            let Some(found) = self.source.kind(api_version, kind).await? else { continue };
            snapshot.insert_resource(api_version, kind, found.resource);
            if !found.is_served {
                snapshot.insert_not_served(api_version, kind);
            }
        }
        let reads: Vec<_> = references.objects.iter().map(|key| self.source.object(key)).collect();
        let objects: Vec<Option<Value>> =
            stream::iter(reads).buffered(CONCURRENT_READS).try_collect().await?;
        objects.into_iter().flatten().for_each(|object| snapshot.insert_object(object));
        Ok(snapshot)
    }

    /// Tell the snapshot which kinds these resources are, as far as the source knows them.
    pub async fn insert_registered(
        &self,
        resources: &BTreeSet<(String, String)>,
        snapshot: &mut Snapshot,
    ) -> Result<(), Error> {
        for (resource, version) in resources {
            if let Some(kind) = self.registered(resource, version).await? {
                snapshot.insert_registered(resource, version, kind);
            }
        }
        Ok(())
    }

    /// An object as it is, if it is there.
    pub async fn object(&self, key: &ObjectKey) -> Result<Option<Value>, Error> {
        self.source.object(key).await
    }

    /// A definition as it is stored, from the first namespace that has it.
    pub async fn stored(
        &self,
        kind: DefinitionKind,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Document>, Error> {
        for place in self.namespaces.around(namespace) {
            if let Some(found) = self.source.definition(kind, place, name).await? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The definition that a document describes, with the kinds that its template imports.
    pub async fn definition(&self, document: &Document) -> Result<Arc<Definition>, Error> {
        let kind = DefinitionKind::from_kind(document.kind());
        self.read(kind.unwrap_or(DefinitionKind::Component), document.name(), document).await
    }

    /// A definition with the kinds that its template imports.
    pub async fn with_imports(&self, definition: Definition) -> Result<Definition, Error> {
        with_imports(&self.source, definition).await
    }

    async fn find(&self, namespace: &str, kind: DefinitionKind, name: &str) -> Result<Found, Error> {
        if let Some(stored) = self.stored(kind, namespace, name).await? {
            return Ok(Found { definition: Some(self.read(kind, name, &stored).await?), ..Found::default() });
        }
        let Some(asked) = version::parse_reference(name) else { return Ok(Found::default()) };
        let mut known = Vec::new();
        for place in self.namespaces.around(namespace) {
            let found = self.source.versions(kind, place, asked.name, Some(asked.version)).await?;
            let chosen = version::choose(asked.version, found.iter().map(|found| found.version.as_str()));
            if let Some(Version { definition, .. }) =
                chosen.and_then(|chosen| found.iter().find(|found| found.version == chosen))
            {
                let definition = Some(self.read(kind, name, definition).await?);
                return Ok(Found { definition, ..Found::default() });
            }
            known.extend(found.into_iter().map(|found| found.version));
        }
        Ok(Found { definition: None, versions: known })
    }

    pub(crate) async fn read(
        &self,
        kind: DefinitionKind,
        asked: &str,
        document: &Document,
    ) -> Result<Arc<Definition>, Error> {
        if let Some(known) = self.cache.get(kind, document) {
            return Ok(known);
        }
        let broken = |found: Diagnostic| Error::Definition {
            kind,
            namespace: document.namespace().to_owned(),
            name: asked.to_owned(),
            found: found.into(),
        };
        let definition = Definition::from_document(document).map_err(broken)?;
        let definition = Arc::new(with_imports(&self.source, definition).await?);
        if is_complete(&definition) {
            self.cache.insert(kind, document, &definition);
        }
        Ok(definition)
    }

    async fn registered(&self, resource: &str, version: &str) -> Result<Option<ApiKind>, Error> {
        let key = (resource.to_owned(), version.to_owned());
        {
            let known = self.registered.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((kind, since)) = known.get(&key)
                && since.elapsed() < REGISTERED_TTL
            {
                return Ok(Some(kind.clone()));
            }
        }
        let found = self.source.registered(resource, version).await?;
        if let Some(kind) = &found {
            let mut known = self.registered.lock().unwrap_or_else(PoisonError::into_inner);
            known.insert(key, (kind.clone(), Instant::now()));
        }
        Ok(found)
    }
}

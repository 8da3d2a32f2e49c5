//! Answers every review by its path; the handler of the webhook server.

use std::sync::Arc;
use std::time::Instant;

use futures::future::BoxFuture;
use kube::Client;
use vela_engine::parse::{COMPONENT_LIMIT, References};
use vela_engine::{Bounds, Definition, DefinitionKind, Document, Snapshot, Templates};
use vela_runtime::cache::Cache;
use vela_runtime::webhook::Handler;
pub use vela_runtime::webhook::Reply;
use vela_runtime::{Computations, Discovery};
use vela_snapshot::{Live, Namespaces, PolicyScopes, Reader, Watched};

use crate::allowance::limits;
use crate::application::ApiVersion;
use crate::identity::OwnName;
use crate::paths::{self, Action, Path, Subject};
use crate::review::{self, Review};
use crate::strictness::{MadeKind, Strictness, made_kinds};
use crate::verdict::{Cause, Refusal, Verdict};
use crate::{
    application, component, configuration, conversion, counts, definition, identity, rollout,
    service_binding, standard,
};

/// Every webhook of the platform.
#[derive(Clone)]
pub struct Webhooks {
    reader: Reader<Live>,
    /// The same with definitions that may be behind.
    watched: Option<Reader<Watched>>,
    templates: Arc<Templates>,
    computations: Computations,
    only_injecting: bool,
    strictness: Strictness,
    client: Client,
    own: OwnName,
}

/// Why there is no verdict.
#[derive(Debug, thiserror::Error)]
enum ReviewFailure {
    /// The cluster could not be read.
    #[error(transparent)]
    Fetch(#[from] vela_snapshot::Error),
    /// There was no memory or no time for it.
    #[error("the review was not finished: {0}")]
    Interrupted(String),
}

impl Webhooks {
    /// Webhooks that read a cluster through a client and share compiled templates.
    pub fn new(client: Client, templates: Arc<Templates>) -> Self {
        Self {
            reader: reader(&client, Namespaces::default()),
            watched: None,
            templates,
            computations: Computations::default(),
            only_injecting: false,
            strictness: Strictness::default(),
            client,
            own: OwnName::default(),
        }
    }

    /// The same where definitions are looked for in these namespaces.
    #[must_use]
    pub fn in_namespaces(self, namespaces: Namespaces) -> Self {
        Self { reader: reader(&self.client, namespaces), watched: None, ..self }
    }

    /// The same where applications reach so far and no further.
    #[must_use]
    pub fn within(self, bounds: Bounds) -> Self {
        Self {
            reader: self.reader.within(bounds),
            watched: self.watched.map(|one| one.within(bounds)),
            ..self
        }
    }

    /// The same, with definitions from the watches of a cache: what they let in needs no other read. They may be
    /// behind, so admission refuses nothing because of them; the controller reads them too and reports what they let in
    /// wrongly.
    #[must_use]
    pub fn with_watches(self, cache: &Cache) -> Self {
        let source = Watched::new(self.reader.source().clone(), cache);
        Self { watched: Some(self.reader.over(source)), ..self }
    }

    /// The same with evaluations that share the places and the memory of their process.
    #[must_use]
    pub fn with_computations(self, computations: &Computations) -> Self {
        Self { computations: computations.clone(), ..self }
    }

    /// The same where only these policies change applications.
    #[must_use]
    pub fn with_policies(self, policies: PolicyScopes) -> Self {
        let watched = self.watched.map(|watched| watched.with_policies(policies));
        Self { reader: self.reader.with_policies(policies), watched, ..self }
    }

    /// The same, as strict as the operator wants it.
    #[must_use]
    pub fn strictly(self, strictness: Strictness) -> Self {
        Self { strictness, ..self }
    }

    /// The same for a server that answers about ServiceBindings and nothing else.
    #[must_use]
    pub fn only_injecting(self) -> Self {
        Self { only_injecting: true, ..self }
    }

    /// Answers one request. A cluster that cannot be read is an error of the webhook (500), so that
    /// the failure policy of the configuration decides, not we.
    pub async fn answer(&self, path: &str, body: &[u8]) -> Reply {
        self.answer_before(path, body, None).await
    }

    async fn answer_before(&self, path: &str, body: &[u8], until: Option<Instant>) -> Reply {
        if self.only_injecting && path != paths::INJECT {
            return Reply::failure(
                404,
                format!("no webhook at {path}; this server answers {}", paths::INJECT),
            );
        }
        if path == paths::CONVERT {
            return match conversion::answer(body) {
                Ok(body) => Reply { status: 200, body },
                Err(error) => Reply::failure(400, error.to_string()),
            };
        }
        if [paths::STAMP, paths::RECORD].contains(&path) {
            return self.authored(path, body).await;
        }
        let Some(path) = Path::at(path) else {
            return Reply::failure(404, format!("no webhook at {path}"));
        };
        if let Some(reply) = too_many(path, body) {
            return reply;
        }
        let review = match Review::read(body) {
            Ok(review) => review,
            Err(error) => return Reply::failure(400, error.to_string()),
        };
        match self.verdict(path, &review, until).await {
            Ok(verdict) => Reply { status: 200, body: verdict.reply(&review) },
            Err(error @ ReviewFailure::Interrupted(_)) => Reply::failure(503, error.to_string()),
            Err(error) => Reply::failure(500, error.to_string()),
        }
    }

    /// The author of the object, and whether theirs may enter.
    async fn authored(&self, path: &str, body: &[u8]) -> Reply {
        let review = match Review::read(body) {
            Ok(review) => review,
            Err(error) => return Reply::failure(400, error.to_string()),
        };
        let verdict = match path {
            _ if !review.object.is_object() => Verdict::allowed(),
            paths::STAMP => identity::mutate(&review),
            _ => match self.own.of(&self.client).await {
                Ok(own) => identity::validate_record(&review, own),
                Err(error) => {
                    return Reply::failure(
                        500,
                        format!("cannot ask for the name of vela-core's account: {error}"),
                    );
                }
            },
        };
        Reply { status: 200, body: verdict.reply(&review) }
    }

    async fn verdict(
        &self,
        path: &Path,
        review: &Review,
        until: Option<Instant>,
    ) -> Result<Verdict, ReviewFailure> {
        if let Some(wrong) = path.refuses(review) {
            return Ok(Verdict::bad_request("", wrong));
        }
        // A user who deletes needs no permission of ours, and an object that goes away must be let go; yet what was
        // made for it is deleted on behalf of its author, whom no client may choose.
        if !review.concerns_a_living_object() {
            let stamped = matches!(path.subject, Subject::Application | Subject::Configuration)
                && path.action == Action::Mutate
                && review.object.is_object();
            return Ok(if stamped { identity::mutate(review) } else { Verdict::allowed() });
        }
        let version = if path.path.contains("v1alpha2") { ApiVersion::V1alpha2 } else { ApiVersion::V1beta1 };
        match (path.subject, path.action) {
            (Subject::Application, Action::Mutate) => Ok(identity::mutate(review)),
            (Subject::Application, Action::Validate) => self.application(review, version, until).await,
            (Subject::Configuration, action) => Ok(self.configuration(review, action).await?),
            (Subject::Component, action) => Ok(self.component(review, action).await?),
            (Subject::Definition, Action::Mutate) => {
                let resource = self.workload_resource(review).await?;
                Ok(definition::mutate(review, resource.as_deref()))
            }
            (Subject::Definition, Action::Validate) => self.definition(review, until).await,
            (Subject::DefinitionRevision, _) => Ok(definition::validate_revision(review)),
            (Subject::Rollout, Action::Mutate) => Ok(rollout::mutate(review, version)),
            (Subject::Rollout, Action::Validate) => {
                let references = References { objects: rollout::references(review), ..References::default() };
                let snapshot = self.reader.snapshot(review.object_namespace(), &references).await?;
                Ok(rollout::validate(review, &snapshot))
            }
            (Subject::MetricsTrait, Action::Mutate) => Ok(standard::mutate_metrics(review)),
            (Subject::MetricsTrait, Action::Validate) => Ok(standard::validate_metrics(review)),
            (Subject::PodSpecWorkload, Action::Mutate) => Ok(standard::mutate_pod_spec(review)),
            (Subject::PodSpecWorkload, Action::Validate) => Ok(standard::validate_pod_spec(review)),
            (Subject::Workload, _) => Ok(self.workload(review).await?),
        }
    }

    /// Judges by templates, with an allowance of the process.
    async fn evaluate<T: Send>(
        &self,
        until: Option<Instant>,
        validate: impl FnOnce(&Templates) -> T + Send,
    ) -> Result<T, ReviewFailure> {
        let allowance = self.computations.begin(until).await;
        let templates = self.templates.within(limits(&self.computations, &allowance));
        let verdict = allowance.run(|| validate(&templates)).map_err(ReviewFailure::Interrupted)?;
        match allowance.refusal() {
            Some(reason) => Err(ReviewFailure::Interrupted(reason.to_owned())),
            None => Ok(verdict),
        }
    }

    async fn application(
        &self,
        review: &Review,
        version: ApiVersion,
        until: Option<Instant>,
    ) -> Result<Verdict, ReviewFailure> {
        let document = Document::from_object(review.object.clone());
        let namespace = review.object_namespace();
        let strictness = self.strictness;
        let validate = |snapshot: Snapshot| {
            self.evaluate(until, move |templates| {
                let known = (&snapshot, templates);
                application::validate_strictly(review, version, known, strictness)
            })
        };
        if let Some(watched) = &self.watched {
            // Objects that cannot be read from the watches are read from the API server, which says why.
            if let Ok(snapshot) = watched.application(namespace, &document).await {
                let verdict = validate(snapshot).await?;
                if verdict.is_allowed() {
                    return Ok(verdict);
                }
            }
        }
        // A definition may have been written a moment ago: admission refuses nothing because of a watch.
        validate(self.reader.application(namespace, &document).await?).await
    }

    async fn configuration(&self, review: &Review, action: Action) -> Result<Verdict, vela_snapshot::Error> {
        let namespace = review.object_namespace();
        if action == Action::Validate {
            let document = Document::from_object(review.object.clone());
            if let Some(watched) = &self.watched {
                let verdict =
                    configuration::validate(review, &watched.configuration(namespace, &document).await?);
                if verdict.is_allowed() {
                    return Ok(verdict);
                }
            }
            let snapshot = self.reader.configuration(namespace, &document).await?;
            return Ok(configuration::validate(review, &snapshot));
        }
        let names = configuration::trait_names(&review.object);
        let names = names.into_iter().map(|name| (DefinitionKind::Trait, name));
        let snapshot = self.reader.definitions(namespace, names).await?;
        Ok(configuration::mutate(review, &snapshot))
    }

    async fn definition(&self, review: &Review, until: Option<Instant>) -> Result<Verdict, ReviewFailure> {
        let definition = match definition::read(review) {
            Ok(definition) => Ok(self.reader.with_imports(definition).await?),
            Err(diagnostic) => Err(diagnostic),
        };
        let revision = definition.as_ref().ok();
        let revision = revision.and_then(|one| definition::revision(one, review.object_namespace()));
        let recorded = match revision {
            Some(key) => self.reader.object(&key).await?,
            None => None,
        };
        let workload = match definition::workload_type(&review.object) {
            Some(name) => {
                let asked = [(DefinitionKind::Workload, name.to_owned())];
                let snapshot = self.reader.definitions(review.object_namespace(), asked).await?;
                Some(snapshot.definition(DefinitionKind::Workload, name).is_some())
            }
            None => None,
        };
        let absent = match &definition {
            Ok(definition) if self.strictness.absent_kinds => self.absent_kinds(definition, until).await?,
            _ => Vec::new(),
        };
        let facts = definition::DefinitionFacts {
            recorded,
            resource: self.workload_resource(review).await?,
            workload,
            absent,
        };
        self.evaluate(until, move |templates| definition::validate(review, definition, &facts, templates))
            .await
    }

    /// Why the kinds that a definition makes keep it out.
    async fn absent_kinds(
        &self,
        definition: &Definition,
        until: Option<Instant>,
    ) -> Result<Vec<Cause>, ReviewFailure> {
        let made = self.evaluate(until, |templates| made_kinds(definition, templates)).await?;
        let mut absent = Vec::new();
        for kind in made {
            let MadeKind { api_version, kind: name, .. } = &kind;
            if self.reader.source().served(api_version, name).await?.is_none() {
                absent.push(kind.absent());
            }
        }
        Ok(absent)
    }

    async fn workload_resource(&self, review: &Review) -> Result<Option<String>, vela_snapshot::Error> {
        match definition::workload_kind(&review.object) {
            Some((api_version, kind)) => {
                let kind = self.reader.source().served(api_version, kind).await?;
                Ok(kind.map(|kind| kind.resource_name()))
            }
            None => Ok(None),
        }
    }

    async fn workload(&self, review: &Review) -> Result<Verdict, vela_snapshot::Error> {
        if !service_binding::takes(&review.object) {
            return Ok(Verdict::allowed());
        }
        let (api_version, kind) = service_binding::kind();
        let bindings = self.reader.source().objects(&api_version, &kind, review.object_namespace()).await?;
        let Some(injection) = service_binding::injection(review, &bindings) else {
            return Ok(Verdict::allowed());
        };
        let object = match injection.object() {
            Some(key) => self.reader.object(key).await?,
            None => None,
        };
        // A refusal and no failure: a failure could be ignored, and the workload would run without what it needs.
        let injected = injection.mutate(review, object.as_ref());
        Ok(injected.unwrap_or_else(|missing| {
            Verdict::refused(Refusal::Invalid, vec![Cause::not_found("spec.template.spec", missing)])
        }))
    }

    async fn component(&self, review: &Review, action: Action) -> Result<Verdict, vela_snapshot::Error> {
        let type_ = review.object["spec"]["workload"]["type"].as_str().map(str::to_owned);
        let names = type_.into_iter().map(|name| (DefinitionKind::Workload, name));
        let snapshot = self.reader.definitions(review.object_namespace(), names).await?;
        Ok(match action {
            Action::Mutate => component::mutate(review, &snapshot),
            Action::Validate => component::validate(review, &snapshot),
        })
    }
}

fn reader(client: &Client, namespaces: Namespaces) -> Reader<Live> {
    let live = Live::new(client.clone(), Discovery::new(client.clone()));
    // Its account may read more than the author: what the author may not see does not decide what is let in.
    Reader::new(live, namespaces).without_referenced()
}

/// The answer to a review that holds too much, before anything is built of it.
fn too_many(path: &Path, body: &[u8]) -> Option<Reply> {
    if body.len() > review::BYTES_AT_MOST {
        // Its reader says so.
        return None;
    }
    let counts = match counts::counts(body) {
        Ok(counts) => counts,
        Err(error) => return Some(Reply::failure(400, format!("the review is not read: {error}"))),
    };
    let [components, before] = counts.components;
    // An existing object must be let go, and its finalizers be removed.
    if components <= COMPONENT_LIMIT || components == before || path.subject != Subject::Application {
        return None;
    }
    let message = format!("{components} components; the limit is {COMPONENT_LIMIT}");
    let verdict = Verdict::refused(Refusal::Invalid, vec![Cause::invalid("spec.components", message)]);
    Some(Reply { status: 200, body: verdict.reply(&Review::unread(counts.api_version, counts.uid)) })
}

impl Handler for Webhooks {
    fn answer<'a>(&'a self, path: &'a str, body: &'a [u8]) -> BoxFuture<'a, Reply> {
        Box::pin(self.answer(path, body))
    }

    fn answer_until<'a>(&'a self, path: &'a str, body: &'a [u8], until: Instant) -> BoxFuture<'a, Reply> {
        Box::pin(self.answer_before(path, body, Some(until)))
    }

    fn body_at_most(&self, path: &str) -> usize {
        if path == paths::CONVERT { conversion::BYTES_AT_MOST } else { review::BYTES_AT_MOST }
    }
}

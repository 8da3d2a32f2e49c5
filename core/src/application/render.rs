//! An Application → its graph: by the definitions of its revision while it asks for nothing new, by the present ones where it
//! does; may not write.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use vela_crds::annotations;
use vela_engine::parse::Era;
use vela_engine::render::processing;
use vela_engine::render::stages::{Dispatched, Stages, has_stages};
use vela_engine::revision::Previous;
use vela_engine::status::Definitions;
use vela_engine::{
    AppFile, Diagnostics, Document, Graph, Secrets, Snapshot, Templates, graph, parse, plan, render, revision,
};
use vela_runtime::Key;

use super::application_revision::RecordedApplication;
use super::error::{Cause, PhaseError, Stopped};
use super::fetch::{ReadBy, json as to_json};
use super::http_requests;
use super::outputs;
use super::reconciler::ApplicationReconciler;
use super::update_slots::Slot;
use super::workflow_run;
use crate::author::Actor;
use crate::blocking::run_blocking;
use crate::options::DefinitionUpdates;
use crate::successors::{self, SuccessorError};

/// Definitions named in one message.
const NAMED_AT_MOST: usize = 5;

/// An application as it is rendered now.
pub(super) struct RenderedApplication {
    pub(super) graph: Graph,
    /// How the definitions it goes by differ from those that are there now.
    pub(super) definitions: Option<Definitions>,
    /// It waits for a slot to take up changed definitions, for so long at most.
    pub(super) waits: Option<Duration>,
}

impl From<Graph> for RenderedApplication {
    fn from(graph: Graph) -> Self {
        Self { graph, definitions: None, waits: None }
    }
}

impl ApplicationReconciler {
    /// Renders the application. One that asks for what it asked for before keeps the definitions of that revision, unless
    /// it is to follow them and has a slot for it.
    pub(super) async fn render(
        &self,
        (key, acting): (&Key, &Actor),
        document: &Document,
        secrets: &mut Secrets,
    ) -> Result<RenderedApplication, Stopped> {
        let previous = self.revisions.previous(document, key);
        let live = match self.snapshot((key, acting), document, None, secrets).await {
            Err(stopped) if stopped.lasting().is_none() => return Err(stopped),
            live => live,
        };
        let now = live.as_ref().ok().and_then(|snapshot| parse::parse(document, snapshot).ok());
        let is_known = now.as_ref().is_some_and(|now| {
            let hash = revision::hash(now);
            previous.iter().any(|known| known.hash == hash)
        });
        let recorded = match is_known {
            true => None,
            false => self.revision_of(key, document, &previous).await?,
        };
        let Some(recorded) = recorded.filter(|recorded| self.was_applied(key, document, recorded)) else {
            return self
                .render_with_answers((key, acting), document, (&live?, &previous), secrets)
                .await
                .map(RenderedApplication::from);
        };
        let changed = now.as_ref().map_or_else(String::new, |now| changed(now, &recorded));
        if !self.follows(document) {
            let graph = self.render_as_recorded((key, acting), document, &recorded, secrets).await?;
            let definitions = match self.try_present(key, document, live, now).await {
                Some(wrong) => Some(Definitions::broken(&recorded.name, &wrong)),
                None if changed.is_empty() => None,
                None => Some(Definitions::newer(&recorded.name, &changed)),
            };
            return Ok(RenderedApplication { graph, definitions, waits: None });
        }
        let graph = self.render_with_answers((key, acting), document, (&live?, &previous), secrets).await?;
        match self.update_slots.take(key) {
            Slot::Taken => Ok(graph.into()),
            Slot::Full(waits) => {
                let graph = self.render_as_recorded((key, acting), document, &recorded, secrets).await?;
                let in_turn = Definitions::in_turn(&recorded.name, &changed, self.update_slots.at_once());
                Ok(RenderedApplication { graph, definitions: Some(in_turn), waits: Some(waits) })
            }
        }
    }

    /// Renders the application by the definitions that a revision recorded.
    pub(super) async fn render_as_recorded(
        &self,
        (key, acting): (&Key, &Actor),
        document: &Document,
        recorded: &RecordedApplication,
        secrets: &mut Secrets,
    ) -> Result<Graph, Stopped> {
        let snapshot = self.snapshot((key, acting), document, Some(recorded), secrets).await?;
        // Policies that changed make another content.
        let known = match follows_policies(document) {
            true => self.revisions.previous(document, key),
            false => vec![recorded.previous.clone()],
        };
        self.render_with_answers((key, acting), document, (&snapshot, &known), secrets).await
    }

    /// The application as it was published under the version that it still names, where it was changed since: the change
    /// counts when it is published as another one.
    pub(super) async fn published(
        &self,
        key: &Key,
        document: &Document,
    ) -> Result<Option<Document>, Stopped> {
        let (Some(version), Some(known)) = (revision::asked(document).1, Previous::of(document)) else {
            return Ok(None);
        };
        let recorded = self.recorded_of(key, &known).await?;
        let published =
            recorded.filter(|recorded| recorded.is_published_as(version) && !recorded.is_asked_by(document));
        Ok(published.map(|recorded| recorded.asked_then(document)))
    }

    /// The content of this revision.
    async fn recorded_of(
        &self,
        key: &Key,
        known: &Previous,
    ) -> Result<Option<Arc<RecordedApplication>>, Stopped> {
        let name = Key::new(key.namespace.clone(), format!("{}-v{}", key.name, known.number));
        let stored = self.revisions.stored(&name);
        let recorded = self.recorded.get(key, known, stored.as_deref()).await;
        recorded.map_err(|error| Stopped::unavailable(PhaseError::Revision, &error))
    }

    /// The revision by which the application asked for what it asks for now.
    async fn revision_of(
        &self,
        key: &Key,
        document: &Document,
        previous: &[Previous],
    ) -> Result<Option<Arc<RecordedApplication>>, Stopped> {
        for known in previous {
            let recorded = self.recorded_of(key, known).await?;
            if let Some(recorded) = recorded.filter(|recorded| recorded.is_asked_by(document)) {
                return Ok(Some(recorded));
            }
        }
        Ok(None)
    }

    /// Was it completely applied once, or left to another controller to deploy? A revision that never was is no state to keep
    /// to: a definition that is mended heals it.
    fn was_applied(&self, key: &Key, document: &Document, recorded: &RecordedApplication) -> bool {
        let hash = &recorded.previous.hash;
        match self.records.read(key) {
            Ok((record, _)) if record.identity.as_ref() == Some(hash) => record.complete,
            _ => Previous::of(document).is_some_and(|latest| latest.hash == *hash),
        }
    }

    /// Does a definition that changes reach the application by itself?
    fn follows(&self, document: &Document) -> bool {
        let annotations = document.value().pointer("/metadata/annotations");
        let asked = annotations.and_then(|all| all.get(annotations::AUTO_UPDATE)?.as_str()) == Some("true");
        asked || self.context.options.definition_updates == DefinitionUpdates::All
    }

    /// The errors by the present definitions; each content is tried once.
    async fn try_present(
        &self,
        key: &Key,
        document: &Document,
        live: Result<Snapshot, Stopped>,
        now: Option<AppFile>,
    ) -> Option<Diagnostics> {
        let snapshot = match live {
            Ok(snapshot) => snapshot,
            Err(stopped) => return stopped.lasting().map(|failed| failed.diagnostics().clone()),
        };
        let Some(now) = now else { return parse::parse(document, &snapshot).err() };
        let content = revision::hash(&now);
        if let Some(known) = self.attempts.of(key, &content) {
            return known;
        }
        let inputs = render::Inputs {
            answers: Some(processing::Answers::new()),
            stages: Stages::Assumed,
            ..render::Inputs::default()
        };
        let computed = self.compute(document.clone(), snapshot, Vec::new(), inputs).await;
        // An error that passes says nothing about the definitions.
        let wrong = computed.err().and_then(|stopped| Some(stopped.lasting()?.diagnostics().clone()));
        self.attempts.insert(key, content, wrong.clone());
        wrong
    }

    /// Everything that the application names, as the caches have it; of configurations and Secrets only that and when they
    /// change is watched, since a cluster may have very many.
    async fn snapshot(
        &self,
        (key, acting): (&Key, &Actor),
        document: &Document,
        recorded: Option<&RecordedApplication>,
        secrets: &mut Secrets,
    ) -> Result<Snapshot, Stopped> {
        let unavailable = |error: &dyn std::fmt::Display| Stopped::unavailable(PhaseError::Parse, error);
        let by = match recorded.map(RecordedApplication::definitions) {
            None => ReadBy::Live,
            Some(recorded) if follows_policies(document) => ReadBy::RecordedButPolicies(recorded),
            Some(recorded) => ReadBy::Recorded(recorded),
        };
        let mut snapshot = self.cluster.application(&key.namespace, document, by).await?;
        let written = document;
        let document = &snapshot.as_transformed(document).clone();
        let registered = parse::registered(document, &snapshot);
        self.cluster.insert_registered(&registered, &mut snapshot).await.map_err(PhaseError::from)?;
        let look = self.interests.track(key);
        let inserted = parse::inserted_secrets(document, &snapshot);
        for named in parse::user_configs(document).into_iter().chain(inserted) {
            let name = Key::new(named.namespace.clone(), named.name.clone());
            let known = look.metadata(&named.api_version, &named.kind, &name).await;
            let (kind, _) = known.map_err(|error| unavailable(&error))?;
            // Its content becomes part of what the application makes.
            let api = kind.api(acting.client(), &named.namespace);
            let found = api.get_opt(&named.name).await.map_err(|error| {
                unavailable(&format!("cannot read {} {name}: {}", named.kind, acting.explain(&error)))
            })?;
            if let Some(found) = found {
                let mut found = to_json(&found);
                found["apiVersion"] = json!(named.api_version);
                found["kind"] = json!(named.kind);
                secrets.add(&found);
                snapshot.insert_object(found);
            }
        }
        self.add_referenced((key, acting), (document, &look), &mut snapshot, secrets).await?;
        self.add_manifests(key, (written, document), &mut snapshot, secrets).await?;
        Ok(snapshot)
    }

    /// Renders by this snapshot, with the answers to the requests of traits: what was answered to this content is not requested
    /// again.
    async fn render_with_answers(
        &self,
        (key, acting): (&Key, &Actor),
        document: &Document,
        (snapshot, previous): (&Snapshot, &[Previous]),
        secrets: &mut Secrets,
    ) -> Result<Graph, Stopped> {
        let (mut content, mut answers) = self.answers.of(key);
        let (mut outputs, mut stages) = (BTreeMap::new(), BTreeMap::new());
        // Each round answers at least one request more, or knows one output or one stage more, and their number is limited.
        loop {
            let inputs = render::Inputs {
                answers: Some(answers.clone()),
                outputs: outputs.clone(),
                stages: Stages::Known(stages.clone()),
                ..render::Inputs::default()
            };
            let computed = self.compute(document.clone(), snapshot.clone(), previous.to_vec(), inputs);
            let graph = computed.await?;
            let hash = graph.identity().hash();
            if content != hash {
                hash.clone_into(&mut content);
                if !answers.is_empty() {
                    answers.clear();
                    continue;
                }
            }
            let components = graph.rendered().components().iter();
            let requests: Vec<_> = components.flat_map(|component| component.requests.clone()).collect();
            if requests.is_empty() {
                let given = outputs::given(self, (key, acting), &graph).await;
                let mut given = given.map_err(|error| Stopped::not_computed(PhaseError::Render, &error))?;
                given.extend(workflow_run::given(self, (key, acting), &graph, secrets).await?);
                if given.len() > outputs.len() {
                    outputs = given;
                    continue;
                }
                if self.came_further(key, &graph, &mut stages).await? {
                    continue;
                }
                return self.with_served_versions(graph).await;
            }
            let sent = http_requests::send_all(&self.context.egress, &requests, &mut answers).await;
            sent.map_err(|error| Stopped::unavailable(PhaseError::Render, &error))?;
            self.answers.insert(key, &content, &answers);
        }
    }

    /// Finds out how far the components are whose traits have stages, and whether that is news.
    async fn came_further(
        &self,
        key: &Key,
        graph: &Graph,
        stages: &mut BTreeMap<usize, Dispatched>,
    ) -> Result<bool, Stopped> {
        if !has_stages(graph.app_file()) {
            return Ok(false);
        }
        let served = self.with_served_versions(graph.clone()).await?;
        let mut is_news = false;
        for (node, found) in super::stages::of(self, key, &served).await? {
            is_news |= stages.entry(node).or_default().grow(found);
        }
        Ok(is_news)
    }

    /// Objects of versions that the cluster does not serve any more, in the versions that followed. Objects in the
    /// v1alpha2 form keep their versions on the way to the configuration, which has a reconcile of its own.
    async fn with_served_versions(&self, graph: Graph) -> Result<Graph, Stopped> {
        if graph.app_file().era() == Era::V1alpha2 {
            return Ok(graph);
        }
        successors::succeeded(&self.context.discovery, graph).await.map_err(|error| match error {
            SuccessorError::Discovery(error) => Stopped::unavailable(PhaseError::Render, &error),
            SuccessorError::Object(error) => PhaseError::Render(Cause::Lasting(error)).into(),
        })
    }

    /// The pure phases; a template may compute for a while.
    async fn compute(
        &self,
        document: Document,
        snapshot: Snapshot,
        previous: Vec<Previous>,
        mut inputs: render::Inputs,
    ) -> Result<Graph, Stopped> {
        let compute = move |templates: &Templates| {
            let app_file =
                parse::parse(&document, &snapshot).map_err(|e| PhaseError::Parse(Cause::Lasting(e)))?;
            let revision = revision::revision_among(app_file, &previous);
            let plan = plan::plan(revision).map_err(|e| PhaseError::Policy(Cause::Lasting(e)))?;
            if !has_stages(plan.app_file()) {
                inputs.stages = Stages::Ignored;
            }
            let rendered = render::render(&plan, templates, &inputs);
            let rendered = rendered.map_err(|e| PhaseError::Render(Cause::Lasting(e)))?;
            graph::graph(rendered).map_err(|e| PhaseError::Render(Cause::Lasting(e)))
        };
        let computed = run_blocking(&self.context.computations, &self.templates, compute).await;
        Ok(computed.map_err(|error| Stopped::not_computed(PhaseError::Render, &error))??)
    }
}

/// Does a policy that changes reach the application by itself?
fn follows_policies(document: &Document) -> bool {
    let annotations = document.value().pointer("/metadata/annotations");
    annotations.and_then(|all| all.get(annotations::POLICY_AUTO_REVISION)?.as_str()) == Some("true")
}

/// Which definitions are not as they were.
fn changed(now: &AppFile, recorded: &RecordedApplication) -> String {
    let changed: Vec<String> = now
        .definitions()
        .into_iter()
        .filter(|definition| !recorded.has(definition))
        .map(|definition| definition.title())
        .collect();
    match changed.len().saturating_sub(NAMED_AT_MOST) {
        0 => changed.join(", "),
        more => format!("{} and {more} more", changed[..NAMED_AT_MOST].join(", ")),
    }
}

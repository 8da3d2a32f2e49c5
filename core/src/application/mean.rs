//! An Application → the graph it means: by the definitions of its revision while it asks for nothing new, by those that are
//! there now where it does; may not write.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::json;
use vela_crds::annotations;
use vela_engine::parse::Era;
use vela_engine::render::processing;
use vela_engine::revision::Previous;
use vela_engine::status::{ConditionType, Definitions};
use vela_engine::{
    AppFile, Diagnostics, Document, Graph, Secrets, Snapshot, Templates, graph, parse, plan, render, revision,
};
use vela_runtime::Key;

use super::fetch::json as to_json;
use super::kept::Kept;
use super::stopped::Stopped;
use super::turns::Turn;
use super::{Hands, ask, fetch};
use crate::apart::apart;
use crate::author::Acting;
use crate::options::DefinitionUpdates;
use crate::successors::{self, Unsucceeded};

/// Definitions named in one message.
const NAMED_AT_MOST: usize = 5;
/// Applications whose last try is remembered; beyond it the memory starts anew, at the price of one render each.
const TRIES_AT_MOST: usize = 50_000;

/// What an application means now.
pub(super) struct Meant {
    pub(super) graph: Graph,
    /// How the definitions it goes by differ from those that are there now.
    pub(super) definitions: Option<Definitions>,
    /// It waits for its turn to take up changed definitions, for so long at most.
    pub(super) waits: Option<Duration>,
}

impl From<Graph> for Meant {
    fn from(graph: Graph) -> Self {
        Self { graph, definitions: None, waits: None }
    }
}

/// What came of rendering each application by definitions it does not go by: the content, and what was wrong.
#[derive(Debug, Default)]
pub(super) struct Tried(Mutex<BTreeMap<Key, (String, Option<Diagnostics>)>>);

impl Tried {
    fn of(&self, key: &Key, content: &str) -> Option<Option<Diagnostics>> {
        let tried = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tried.get(key).filter(|(known, _)| known == content).map(|(_, wrong)| wrong.clone())
    }

    fn keep(&self, key: &Key, content: String, wrong: Option<Diagnostics>) {
        let mut tried = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if tried.len() >= TRIES_AT_MOST {
            tried.clear();
        }
        tried.insert(key.clone(), (content, wrong));
    }

    pub(super) fn forget(&self, key: &Key) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}

impl Hands {
    /// What the application means. One that asks for what it asked for before keeps the definitions of that revision, unless
    /// it is to follow them and its turn has come.
    pub(super) async fn meant(
        &self,
        (key, acting): (&Key, &Acting),
        document: &Document,
        secrets: &mut Secrets,
    ) -> Result<Meant, Stopped> {
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
        let kept = match is_known {
            true => None,
            false => self.asked_before(key, document, &previous).await?,
        };
        let Some(kept) = kept.filter(|kept| self.was_applied(key, document, kept)) else {
            return self.answered(key, document, &live?, &previous).await.map(Meant::from);
        };
        let changed = now.as_ref().map_or_else(String::new, |now| changed(now, &kept));
        if !self.follows(document) {
            let graph = self.kept((key, acting), document, &kept, secrets).await?;
            let definitions = match self.tried(key, document, live, now).await {
                Some(wrong) => Some(Definitions::broken(&kept.name, &wrong)),
                None if changed.is_empty() => None,
                None => Some(Definitions::newer(&kept.name, &changed)),
            };
            return Ok(Meant { graph, definitions, waits: None });
        }
        let graph = self.answered(key, document, &live?, &previous).await?;
        match self.turns.take(key) {
            Turn::Now => Ok(graph.into()),
            Turn::Later(waits) => {
                let graph = self.kept((key, acting), document, &kept, secrets).await?;
                let told = Definitions::in_turn(&kept.name, &changed, self.turns.at_once());
                Ok(Meant { graph, definitions: Some(told), waits: Some(waits) })
            }
        }
    }

    /// What the application means by the definitions of a revision.
    pub(super) async fn kept(
        &self,
        (key, acting): (&Key, &Acting),
        document: &Document,
        kept: &Kept,
        secrets: &mut Secrets,
    ) -> Result<Graph, Stopped> {
        let snapshot = self.snapshot((key, acting), document, Some(kept), secrets).await?;
        self.answered(key, document, &snapshot, std::slice::from_ref(&kept.previous)).await
    }

    /// The revision by which the application asked for what it asks for now.
    async fn asked_before(
        &self,
        key: &Key,
        document: &Document,
        previous: &[Previous],
    ) -> Result<Option<Arc<Kept>>, Stopped> {
        for known in previous {
            let name = Key::new(key.namespace.clone(), format!("{}-v{}", key.name, known.number));
            let stored = self.revisions.stored(&name);
            let kept = self.keeper.get(key, known, stored.as_deref()).await;
            let kept = kept.map_err(|error| Stopped::trouble(ConditionType::Revision, &error))?;
            if let Some(kept) = kept.filter(|kept| kept.is_asked_by(document)) {
                return Ok(Some(kept));
            }
        }
        Ok(None)
    }

    /// Was it completely applied once, or left to somebody else to deploy? What never was is no state to keep to: a definition
    /// that is mended heals it.
    fn was_applied(&self, key: &Key, document: &Document, kept: &Kept) -> bool {
        let hash = &kept.previous.hash;
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

    /// What would be wrong by the definitions that are there now; each content is tried once.
    async fn tried(
        &self,
        key: &Key,
        document: &Document,
        live: Result<Snapshot, Stopped>,
        now: Option<AppFile>,
    ) -> Option<Diagnostics> {
        let snapshot = match live {
            Ok(snapshot) => snapshot,
            Err(stopped) => return stopped.lasting().map(|failed| failed.error.clone()),
        };
        let Some(now) = now else { return parse::parse(document, &snapshot).err() };
        let content = revision::hash(&now);
        if let Some(known) = self.tried.of(key, &content) {
            return known;
        }
        let meant = self.mean(document.clone(), snapshot, Vec::new(), processing::Answers::new()).await;
        // Trouble that passes says nothing about the definitions.
        let wrong = meant.err().and_then(|stopped| Some(stopped.lasting()?.error.clone()));
        self.tried.keep(key, content, wrong.clone());
        wrong
    }

    /// Everything that the application names, as the caches have it; of configurations only that and when they change
    /// is watched, since a cluster may have very many.
    async fn snapshot(
        &self,
        (key, acting): (&Key, &Acting),
        document: &Document,
        kept: Option<&Kept>,
        secrets: &mut Secrets,
    ) -> Result<Snapshot, Stopped> {
        let wrong = |error| match error {
            fetch::Error::Definition { found, .. } => Stopped::wrong(ConditionType::Parsed, found),
            error => Stopped::trouble(ConditionType::Parsed, &error),
        };
        let trouble = |error: &dyn std::fmt::Display| Stopped::trouble(ConditionType::Parsed, error);
        let mut references = parse::references(document);
        if kept.is_some() {
            references.definitions.clear();
        }
        let mut snapshot = self.world.snapshot(&key.namespace, &references).await.map_err(wrong)?;
        if let Some(kept) = kept {
            kept.tell(document, &mut snapshot);
        }
        let registered = parse::registered(document, &snapshot);
        self.world.tell_registered(&registered, &mut snapshot).await.map_err(wrong)?;
        let look = self.interests.look(key);
        for config in parse::user_configs(document) {
            let name = Key::new(config.namespace.clone(), config.name.clone());
            let known = look.metadata(&config.api_version, &config.kind, &name).await;
            let (kind, _) = known.map_err(|error| trouble(&error))?;
            // Its content becomes part of what the application makes.
            let api = kind.api(acting.client(), &config.namespace);
            let found = api.get_opt(&config.name).await.map_err(|error| {
                trouble(&format!("cannot read {} {name}: {}", config.kind, acting.told_of(&error)))
            })?;
            if let Some(found) = found {
                let mut found = to_json(&found);
                found["apiVersion"] = json!(config.api_version);
                found["kind"] = json!(config.kind);
                secrets.add(&found);
                snapshot.insert_object(found);
            }
        }
        Ok(snapshot)
    }

    /// The pure middle with the answers that its traits ask for: what was answered to this content is not asked again.
    async fn answered(
        &self,
        key: &Key,
        document: &Document,
        snapshot: &Snapshot,
        previous: &[Previous],
    ) -> Result<Graph, Stopped> {
        let (mut content, mut answers) = self.answers.of(key);
        // Each round answers at least one question more, and their number is limited.
        loop {
            let mean = self.mean(document.clone(), snapshot.clone(), previous.to_vec(), answers.clone());
            let graph = mean.await?;
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
                return self.succeeded(graph).await;
            }
            let asked = ask::ask(&self.context.outbound, &requests, &mut answers).await;
            asked.map_err(|error| Stopped::trouble(ConditionType::Render, &error))?;
            self.answers.keep(key, &content, &answers);
        }
    }

    /// Objects of versions that the cluster does not serve any more, in the versions that followed. What is written in the
    /// v1alpha2 form keeps its versions on the way to its configuration, which has a lap of its own.
    async fn succeeded(&self, graph: Graph) -> Result<Graph, Stopped> {
        if graph.app_file().era() == Era::V1alpha2 {
            return Ok(graph);
        }
        successors::succeeded(&self.context.discovery, graph).await.map_err(|error| match error {
            Unsucceeded::Discovery(error) => Stopped::trouble(ConditionType::Render, &error),
            Unsucceeded::Object(error) => Stopped::wrong(ConditionType::Render, error),
        })
    }

    /// The pure middle; a template may compute for a while.
    async fn mean(
        &self,
        document: Document,
        snapshot: Snapshot,
        previous: Vec<Previous>,
        answers: processing::Answers,
    ) -> Result<Graph, Stopped> {
        let mean = move |templates: &Templates| {
            let app_file =
                parse::parse(&document, &snapshot).map_err(|e| Stopped::wrong(ConditionType::Parsed, e))?;
            let revision = revision::revision_among(app_file, &previous);
            let plan = plan::plan(revision).map_err(|e| Stopped::wrong(ConditionType::Policy, e))?;
            let inputs = render::Inputs { answers: Some(answers), ..render::Inputs::default() };
            let rendered = render::render(&plan, templates, &inputs);
            let rendered = rendered.map_err(|e| Stopped::wrong(ConditionType::Render, e))?;
            graph::graph(rendered).map_err(|e| Stopped::wrong(ConditionType::Render, e))
        };
        let meant = apart(&self.context.computations, &self.templates, mean).await;
        meant.map_err(|error| Stopped::not_computed(ConditionType::Render, &error))?
    }
}

/// Which definitions are not as they were.
fn changed(now: &AppFile, kept: &Kept) -> String {
    let changed: Vec<String> = now
        .definitions()
        .into_iter()
        .filter(|definition| !kept.has(definition))
        .map(|definition| definition.title())
        .collect();
    match changed.len().saturating_sub(NAMED_AT_MOST) {
        0 => changed.join(", "),
        more => format!("{} and {more} more", changed[..NAMED_AT_MOST].join(", ")),
    }
}

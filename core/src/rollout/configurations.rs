//! A rollout between two ApplicationConfigurations that an Application stored for its revisions, as early 2021 wrote them: the
//! same steps as between two revisions, over workloads that the configurations make.
//!
//! Two places say which of the two may write a workload, the configuration or the rollout. The marks of a configuration ask
//! it to leave a component, and its status answers; so it does not make a workload again that it gave up. The claim on the
//! workload itself keeps all other writers away, whatever a stale cache shows: it is read and written in one version.

use kube::api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams};
use serde_json::Value;
use vela_crds::rollout_plan::RollingState;
use vela_crds::{AppRolloutStatus, ApplicationConfiguration, labels};
use vela_engine::ObjectKey;
use vela_engine::application_configuration::rolled_components::rolled;
use vela_engine::application_configuration::{API_VERSION, KIND, application, handover, is_of_a_revision};
use vela_engine::rollout::template::Template;
use vela_engine::rollout::workload::changes_in_place;
use vela_engine::rollout::{PlannedStep, Spelling, State};
use vela_runtime::dynamic_watch::TrackedReads;
use vela_runtime::{Api, Key};

use super::attempt::{Error, Made};
use super::decide::{decide, remember};
use super::driver::Ends;
use super::lookup_error::Missing;
use super::reconcile_inputs::{Part, Side, StatusReport, Work};
use super::reconciler::RolloutReconciler;
use super::stage;
use crate::application::fetch::json;
use crate::author::Actor;
use crate::context::FIELD_MANAGER;

/// The two ends of a rollout.
pub(super) struct Located {
    target: Value,
    source: Option<Value>,
    /// Configurations that the rollout was turned away from half-way.
    given_up: Vec<Value>,
    /// The components that the rollout moves.
    components: Vec<String>,
    /// Their workloads, once the rollout is prepared.
    parts: Vec<Part>,
}

/// The ends of a rollout between configurations.
pub(super) struct Configurations<'a> {
    pub(super) reconciler: &'a RolloutReconciler,
    pub(super) work: &'a Work<'a>,
    pub(super) acting: &'a Actor,
    pub(super) look: &'a TrackedReads,
}

impl Ends for Configurations<'_> {
    type Status = AppRolloutStatus;
    type Located = Located;

    async fn locate(
        &self,
        status: &AppRolloutStatus,
        _report: &mut StatusReport,
    ) -> Result<Located, Missing> {
        let Self { reconciler, work, look, .. } = *self;
        let mut located = locate(reconciler, look, work, &status.given_up_revisions).await?;
        // Before the rollout is prepared, the workloads may be missing.
        if State::of(&status.rollout).rolling != RollingState::LocatingTargetApp {
            located.parts = parts(look, work, &located).await.map_err(Missing::Failed)?;
        }
        Ok(located)
    }

    /// A rollout that releases its workloads needs no ends.
    fn may_release_without(&self, _missing: &Missing) -> bool {
        true
    }

    async fn prepare(&self, located: &Located) -> Result<(), Error> {
        self.hand_over(located).await
    }

    fn begin(&self, status: &mut AppRolloutStatus, _located: &Located) {
        if !self.work.direction.is_back {
            remember(status, self.work.direction);
        }
    }

    async fn decide(&self, status: &AppRolloutStatus, located: &Located) -> Result<PlannedStep, String> {
        decide(self.work, status, self.look, &located.parts, located.lenders()).await
    }

    async fn finish(&self, status: &mut AppRolloutStatus, located: &Located) -> Result<(), Error> {
        self.hand_back(located).await?;
        status.given_up_revisions.clear();
        Ok(())
    }

    fn remember(&self, status: &mut AppRolloutStatus, made: &Made) {
        self.work.remember_wanted(status, made);
    }
}

impl Located {
    /// The uids of the configurations that control the workloads.
    fn lenders(&self) -> Vec<String> {
        let all = [Some(&self.target), self.source.as_ref()].into_iter().flatten().chain(&self.given_up);
        all.filter_map(|each| each["metadata"]["uid"].as_str()).map(str::to_owned).collect()
    }
}

/// Finds the configurations, and their components that roll.
async fn locate(
    reconciler: &RolloutReconciler,
    look: &TrackedReads,
    work: &Work<'_>,
    given_up: &[String],
) -> Result<Located, Missing> {
    let direction = work.direction;
    let differ = Spelling::Configurations.differ(&direction.target, direction.source.as_deref());
    differ.map_err(|same| Missing::Failed(same.to_string()))?;
    let [to, from] = Spelling::Configurations.fields();
    let (to, from) = if direction.is_back { (from, to) } else { (to, from) };
    let target = configuration(reconciler, look, work, &direction.target, to).await?;
    let source = match &direction.source {
        Some(name) => Some(configuration(reconciler, look, work, name, from).await?),
        None => None,
    };
    of_one_application(&target, source.as_ref(), [to, from]).map_err(Missing::Failed)?;
    let mut turned_from = Vec::new();
    for name in
        given_up.iter().filter(|name| **name != direction.target && direction.source.as_ref() != Some(*name))
    {
        let found = read(look, &Key::new(work.key.namespace.clone(), name.clone())).await;
        turned_from.extend(found.map_err(Missing::Failed)?);
    }
    let components = rolled(&work.rollout.spec.component_list, &target, source.as_ref());
    let components = components.map_err(Missing::Failed)?;
    Ok(Located { target, source, given_up: turned_from, components, parts: Vec::new() })
}

async fn configuration(
    reconciler: &RolloutReconciler,
    look: &TrackedReads,
    work: &Work<'_>,
    name: &str,
    field: &str,
) -> Result<Value, Missing> {
    let key = Key::new(work.key.namespace.clone(), name);
    let found = read(look, &key).await.map_err(Missing::Failed)?;
    found.ok_or_else(|| {
        let namespace = &key.namespace;
        let hint = match reconciler.revisions.stored().get(&key) {
            Some(_) => {
                let [to, from] = Spelling::Revisions.fields();
                format!(
                    "ApplicationRevision {key} is: its Application is written in the v1beta1 form, or does not ask for rollouts; \
                     write {to} and {from} for the one, the annotation app.oam.dev/rollout-template: \"true\" on the other"
                )
            }
            None => format!(
                "`kubectl get applicationconfigurations -n {namespace}` lists those that are, and <application>-v<N> is the \
                 name of one"
            ),
        };
        Missing::Revision(format!("spec.{field}: {KIND} {key} is not there; {hint}"))
    })
}

/// A configuration as a copy shows it; every change of it wakes the rollout.
async fn read(look: &TrackedReads, key: &Key) -> Result<Option<Value>, String> {
    let found = look.get(API_VERSION, KIND, key).await.map_err(|error| error.to_string())?;
    Ok(found.map(|found| json(&found)))
}

/// Only configurations of one Application follow each other.
fn of_one_application(target: &Value, source: Option<&Value>, [to, from]: [&str; 2]) -> Result<(), String> {
    let name = |configuration: &Value| text(&configuration["metadata"]["name"]);
    let Some(owner) = application(target).filter(|_| is_of_a_revision(target)) else {
        return Err(format!(
            "spec.{to}: {KIND} {} was not stored by an Application: a rollout goes between those that an Application stores \
             for its revisions, named <application>-v<N>",
            name(target)
        ));
    };
    let Some(source) = source else { return Ok(()) };
    match application(source) {
        Some(other) if other["uid"] == owner["uid"] && is_of_a_revision(source) => Ok(()),
        _ => Err(format!(
            "spec.{from}: {KIND} {} is no revision of Application {}, to which {} belongs; name another one of it",
            name(source),
            text(&owner["name"]),
            name(target)
        )),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The existing workloads of the components.
async fn parts(look: &TrackedReads, work: &Work<'_>, located: &Located) -> Result<Vec<Part>, String> {
    let mut parts = Vec::with_capacity(located.components.len());
    for component in &located.components {
        let target = side(look, &located.target, component).await?;
        let source = match &located.source {
            Some(source) => Some(side(look, source, component).await?),
            None => None,
        };
        let key = target.template.key();
        let shares = source.as_ref().is_some_and(|source| source.template.key() == key);
        if shares && !changes_in_place(&key.api_version, &key.kind) {
            return Err(format!(
                "component {component:?}: source and target have one workload, {key}, and pods of a {} go from one to another",
                key.kind
            ));
        }
        let leftovers = leftovers(look, work, located, component, [Some(&target), source.as_ref()]).await?;
        parts.push(Part { component: component.clone(), target, source, leftovers });
    }
    Ok(parts)
}

async fn side(look: &TrackedReads, configuration: &Value, component: &str) -> Result<Side, String> {
    let key = handover::workload_of(configuration, component).ok_or_else(|| {
        format!(
            "{KIND} {} has no workload for component {component:?} yet{}",
            text(&configuration["metadata"]["name"]),
            complaint(configuration)
        )
    })?;
    let live = stage::read(look, &key).await?;
    let template = Template { workload: identity(&key), base: component.to_owned(), traits: Vec::new() };
    Ok(Side { template, live: live.map(|live| json(&live)) })
}

/// The fields of a workload that a rollout needs that never writes its template.
fn identity(key: &ObjectKey) -> Value {
    serde_json::json!({
        "apiVersion": key.api_version, "kind": key.kind,
        "metadata": {"name": key.name, "namespace": key.namespace},
    })
}

/// The reason why a configuration cannot be applied, in its own words.
fn complaint(configuration: &Value) -> String {
    let conditions = configuration["status"]["conditions"].as_array();
    let synced = conditions.into_iter().flatten().find(|each| each["type"] == "Synced");
    let said = synced.filter(|synced| synced["status"] != "True").map(|synced| text(&synced["message"]));
    said.filter(|said| !said.is_empty()).map_or_else(String::new, |said| format!(": {said}"))
}

/// Workloads of configurations that this rollout was turned away from, and to which it gave pods.
async fn leftovers(
    look: &TrackedReads,
    work: &Work<'_>,
    located: &Located,
    component: &str,
    sides: [Option<&Side>; 2],
) -> Result<Vec<Value>, String> {
    let mut found = Vec::new();
    for former in &located.given_up {
        let Some(key) = handover::workload_of(former, component) else { continue };
        let is_side = sides.iter().flatten().any(|side| side.template.key() == key);
        if is_side || changes_in_place(&key.api_version, &key.kind) {
            continue;
        }
        let Some(live) = stage::read(look, &key).await? else { continue };
        let uid = work.live.metadata.uid.as_ref();
        let owners = live.metadata.owner_references.as_deref().unwrap_or_default();
        let is_held = owners.iter().any(|owner| Some(&owner.uid) == uid);
        let is_ours = owners.iter().any(|owner| former["metadata"]["uid"] == owner.uid.as_str());
        let live = json(&live);
        let has_pods = [&live["spec"]["replicas"], &live["status"]["replicas"]];
        let has_pods = has_pods.iter().any(|pods| pods.as_i64().unwrap_or(0) > 0);
        if is_held || is_ours && has_pods && handover::rollout_of(&live).is_none() {
            found.push(live);
        }
    }
    Ok(found)
}

/// The marks of configurations.
impl Configurations<'_> {
    /// Runs before the rollout: former targets lose their mark, the source leaves its components, and then the target
    /// does.
    async fn hand_over(&self, located: &Located) -> Result<(), Error> {
        let direction = self.work.direction;
        let rolled = &located.components;
        for former in self.former_targets(&located.target).await? {
            self.mark(&former, handover::without_target).await?;
        }
        if let Some(source) = &located.source {
            let source = self.mark(source, |source| handover::request(source, rolled, None)).await?;
            templated(&source)?;
        }
        let kind = self.work.live.types.as_ref().map_or("", |types| &types.kind);
        let whence = direction.source.as_deref().unwrap_or_default();
        let whose = format!("{kind}/{} from {whence}", self.work.key.name);
        let target =
            self.mark(&located.target, |target| handover::request(target, rolled, Some(&whose))).await?;
        templated(&target)?;
        self.has_template(&target, rolled).await
    }

    /// Configurations of the Application that were targets of failed or turned rollouts: only the target may apply the template
    /// of a workload that revisions share.
    async fn former_targets(&self, target: &Value) -> Result<Vec<Value>, Error> {
        let Some(owner) = application(target) else { return Ok(Vec::new()) };
        let label = format!("{}={}", labels::APP_NAME, text(&owner["name"]));
        let listed = self.api().list(&ListParams::default().labels(&label)).await;
        let listed = listed.map_err(|error| Error::retry(self.acting.explain(&error)))?;
        let is_former = |other: &Value| {
            handover::is_target(other)
                && other["metadata"]["uid"] != target["metadata"]["uid"]
                && application(other).is_some_and(|other| other["uid"] == owner["uid"])
        };
        Ok(listed.iter().map(json).filter(is_former).collect())
    }

    /// Checks before anything rolls that the target's workloads exist, and that shared workloads have its template.
    async fn has_template(&self, target: &Value, rolled: &[String]) -> Result<(), Error> {
        for component in rolled {
            let side = side(self.look, target, component).await.map_err(Error::Waiting)?;
            let key = side.template.key();
            let Some(live) = side.live else {
                return Err(Error::Waiting(format!(
                    "{key} is not there, and {KIND} {} makes it again{}",
                    text(&target["metadata"]["name"]),
                    complaint(target)
                )));
            };
            if handover::is_outdated(target, component, &live) {
                return Err(Error::Waiting(format!(
                    "{key} has the template of {} still, and {KIND} {} applies its own{}",
                    text(&live["metadata"]["labels"][labels::APP_COMPONENT_REVISION]),
                    text(&target["metadata"]["name"]),
                    complaint(target)
                )));
            }
        }
        Ok(())
    }

    /// Runs after the rollout: the source runs nothing any more, and the target takes its components back.
    async fn hand_back(&self, located: &Located) -> Result<(), Error> {
        let rolled = &located.components;
        let target = self.fresh(&located.target).await?;
        let is_last = target.as_ref().is_none_or(|target| handover::remaining(target, rolled).is_empty());
        if let (Some(source), true) = (&located.source, is_last) {
            self.mark(source, handover::finish_source).await?;
        }
        if let Some(target) = target {
            self.mark(&target, |target| handover::finish_target(target, rolled)).await?;
        }
        Ok(())
    }

    /// Writes the marks onto the configuration as the server has it; returns it as it is afterwards. A deleted
    /// configuration gets no marks.
    async fn mark(
        &self,
        configuration: &Value,
        asked: impl Fn(&Value) -> Option<Value> + Send,
    ) -> Result<Value, Error> {
        let Some(live) = self.fresh(configuration).await? else { return Ok(configuration.clone()) };
        let Some(patch) = asked(&live) else { return Ok(live) };
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let written =
            self.api().patch(&text(&live["metadata"]["name"]), &params, &Patch::Merge(&patch)).await;
        match written {
            Ok(written) => {
                self.look.observe(&written);
                Ok(json(&written))
            }
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Err(Error::Behind),
            Err(error) => Err(Error::Waiting(format!(
                "cannot mark {KIND} {}: {}",
                text(&live["metadata"]["name"]),
                self.acting.explain(&error)
            ))),
        }
    }

    /// The configuration as the server has it: a stale cache may still show old marks.
    async fn fresh(&self, configuration: &Value) -> Result<Option<Value>, Error> {
        let found = self.api().get_opt(&text(&configuration["metadata"]["name"])).await;
        let found = found.map_err(|error| Error::retry(self.acting.explain(&error)))?;
        Ok(found.map(|found| json(&found)))
    }

    /// The controllers write marks with their own account, as they write the configurations.
    fn api(&self) -> Api<DynamicObject> {
        let acting = self.acting.for_record(&self.reconciler.context);
        let resource = ApiResource::erase::<ApplicationConfiguration>(&());
        Api::namespaced_with(acting.client(), &self.work.key.namespace, &resource)
    }
}

/// Has the configuration confirmed that it leaves the components of its marks?
fn templated(configuration: &Value) -> Result<(), Error> {
    if handover::is_templated(configuration) {
        return Ok(());
    }
    Err(Error::Waiting(format!(
        "{KIND} {} has not made its workloads wait for the rollout yet{}",
        text(&configuration["metadata"]["name"]),
        complaint(configuration)
    )))
}

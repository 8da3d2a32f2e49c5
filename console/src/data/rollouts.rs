//! The rollouts of an application: that of its own plan and those that name its revisions, each with its batches.

use kube::Client;
use kube::ResourceExt as _;
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use vela_crds::AppRollout;
use vela_engine::rollout::progress;
use vela_engine::rollout::progress::{At, Progress};
use vela_engine::rollout::rest::{self, Rest};
use vela_engine::rollout::state::{self, State, batch_name};
use vela_engine::rollout::steering::{self, Order};
use vela_runtime::Api;

use crate::error::Error;

/// Rollouts of a page of the list.
const PAGE: u32 = 500;
/// Rollouts of a namespace that are looked at; the answer says when there are more.
const LOOKED_AT: usize = 5_000;
/// Rollouts of an application that are shown.
const ROLLOUTS_AT_MOST: usize = 100;
/// Batches of a rollout that are shown.
const BATCHES_AT_MOST: usize = 200;

/// Rollouts, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct RolloutList {
    /// The application has a rollout plan of its own.
    pub(crate) planned: bool,
    /// The rollouts.
    pub(crate) items: Vec<Rollout>,
    /// There are more than are shown.
    pub(crate) truncated: bool,
}

/// One rollout.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Rollout {
    /// The name of its AppRollout.
    pub(crate) name: String,
    /// When it was made.
    pub(crate) created: String,
    /// It carries out the plan of the application, and no plan of its own.
    pub(crate) of_application: bool,
    /// The revision that it comes from; empty where it only scales.
    pub(crate) from: String,
    /// The revision that it goes to.
    pub(crate) to: String,
    /// Its state; empty before a controller saw it.
    pub(crate) phase: String,
    /// What it does now.
    pub(crate) doing: String,
    /// Why it does not go on, or how it failed; empty where nothing stands against it.
    pub(crate) reason: String,
    /// It waits for a person, or a metric holds it.
    pub(crate) waiting: bool,
    /// It is to stay where it is.
    pub(crate) paused: bool,
    /// Pods before it; absent until they are counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pods_before: Option<i32>,
    /// Pods after it; absent until that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pods_after: Option<i32>,
    /// Pods that were replaced.
    pub(crate) replaced: i32,
    /// Replaced pods that are ready.
    pub(crate) ready: i32,
    /// Components that both revisions have alike.
    pub(crate) unchanged: Vec<String>,
    /// What a user can order now: `pause`, `resume`, `promote`, `undo`.
    pub(crate) orders: Vec<String>,
    /// Its batches; none before the sizes are known.
    pub(crate) batches: Vec<Batch>,
}

/// How far a batch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum BatchPhase {
    /// It is done.
    Done,
    /// It runs.
    Running,
    /// The rollout ended in it.
    Stopped,
    /// It is to come.
    ToCome,
}

/// A batch of a rollout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Batch {
    /// Pods that change in it.
    pub(crate) pods: i64,
    /// How many of these have changed and are ready.
    pub(crate) ready: i64,
    /// How far it is.
    pub(crate) phase: BatchPhase,
    /// Its state while it runs, as the AppRollout spells it.
    pub(crate) state: String,
}

/// Which kind it is.
pub(super) fn resource() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(vela_crds::GROUP, "v1beta1", "AppRollout"))
}

/// The rollouts of an application, given as it is stored.
pub(crate) async fn read(client: &Client, application: &Value) -> Result<RolloutList, Error> {
    let text = |field: &str| application["metadata"][field].as_str().unwrap_or_default();
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), text("namespace"), &resource());
    let mut list =
        RolloutList { planned: application["spec"]["rolloutPlan"].is_object(), ..RolloutList::default() };
    let (mut params, mut seen) = (ListParams::default().limit(PAGE), 0);
    loop {
        let page = api.list(&params).await.map_err(Error::cluster("the rollouts"))?;
        seen += page.items.len();
        list.items.extend(page.items.into_iter().filter(|one| is_of(one, text("name"))).map(rollout));
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(_) if seen >= LOOKED_AT => {
                list.truncated = true;
                break;
            }
            Some(token) => params = params.continue_token(&token),
            None => break,
        }
    }
    list.items.sort_by(|a, b| (&b.created, &a.name).cmp(&(&a.created, &b.name)));
    list.truncated |= list.items.len() > ROLLOUTS_AT_MOST;
    list.items.truncate(ROLLOUTS_AT_MOST);
    Ok(list)
}

/// Whether it carries out the plan of the application, or goes to or comes from one of its revisions.
pub(super) fn is_of(object: &DynamicObject, application: &str) -> bool {
    let names =
        ["targetAppRevisionName", "sourceAppRevisionName"].map(|field| object.data["spec"][field].as_str());
    let is_revision = |name: &str| {
        name.rsplit_once("-v").is_some_and(|(of, number)| of == application && number.parse::<u64>().is_ok())
    };
    is_plan_of(object, application) || names.into_iter().flatten().any(is_revision)
}

fn is_plan_of(object: &DynamicObject, application: &str) -> bool {
    let mut owners = object.owner_references().iter();
    owners.any(|by| by.controller == Some(true) && by.kind == "Application" && by.name == application)
}

fn rollout(object: DynamicObject) -> Rollout {
    let created = object.metadata.creation_timestamp.as_ref().map(|time| time.0.to_string());
    let owners = object.owner_references();
    let shown = Rollout {
        name: object.name_any(),
        created: created.unwrap_or_default(),
        of_application: owners.iter().any(|by| by.controller == Some(true) && by.kind == "Application"),
        ..Rollout::default()
    };
    match serde_json::to_value(object).and_then(serde_json::from_value) {
        Ok(found) => described(&found, shown),
        Err(error) => Rollout { reason: format!("the AppRollout cannot be read: {error}"), ..shown },
    }
}

fn described(found: &AppRollout, mut shown: Rollout) -> Rollout {
    let spec = &found.spec;
    let status = found.status.clone().unwrap_or_default();
    let now = State::of(&status.rollout);
    shown.from = spec.source().unwrap_or_default().to_owned();
    shown.to = spec.target().to_owned();
    shown.paused = spec.rollout_plan.paused;
    shown.orders = orders(found);
    shown.doing = rest::doing(found);
    if found.status.is_some() {
        shown.phase = state::name(now.rolling).to_owned();
    }
    (shown.waiting, shown.reason) = match rest::rest(found) {
        Some(Rest::Waits(why)) => (true, why),
        Some(Rest::Failed(why)) => (false, why),
        Some(Rest::Succeeded) => (false, String::new()),
        None => (false, rest::problem(&status, now).to_owned()),
    };
    let size = |size: Option<i32>| size.filter(|size| *size >= 0);
    shown.pods_before = size(status.rollout.rollout_original_size);
    shown.pods_after = size(status.rollout.rollout_target_size);
    (shown.replaced, shown.ready) =
        (status.rollout.upgraded_replicas, status.rollout.upgraded_ready_replicas);
    shown.unchanged.clone_from(&status.unchanged_components);
    let batches = progress(&spec.rollout_plan, &status.rollout, spec.source().is_some());
    shown.batches = batches.iter().take(BATCHES_AT_MOST).map(batch).collect();
    shown
}

/// The orders that change something now. A rollout that is over is only undone.
fn orders(rollout: &AppRollout) -> Vec<String> {
    let is_over = matches!(rest::rest(rollout), Some(Rest::Succeeded | Rest::Failed(_)));
    let is_paused = rollout.spec.rollout_plan.paused;
    let can = |order| steering::steer(rollout, order).is_ok();
    let all = [
        ("pause", !is_over && !is_paused),
        ("resume", !is_over && (is_paused || rest::held(rollout).is_some())),
        ("promote", !is_over && can(Order::Promote { full: false })),
        ("undo", can(Order::Undo)),
    ];
    all.into_iter().filter(|(_, can)| *can).map(|(name, _)| name.to_owned()).collect()
}

fn batch(found: &Progress) -> Batch {
    let (phase, state) = match found.at {
        At::Done => (BatchPhase::Done, ""),
        At::Running(state) => (BatchPhase::Running, batch_name(state)),
        At::Stopped => (BatchPhase::Stopped, ""),
        At::ToCome => (BatchPhase::ToCome, ""),
    };
    Batch { pods: found.pods, ready: found.ready, phase, state: state.to_owned() }
}

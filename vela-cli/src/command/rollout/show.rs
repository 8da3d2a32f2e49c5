//! Shows a rollout: from where to where, how far, and a row for each batch.

use serde_json::{Value, json};
use vela_crds::{AppRollout, AppRolloutStatus};
use vela_engine::rollout::progress::{At, Progress};
use vela_engine::rollout::state::{State, batch_name};
use vela_engine::rollout::{progress, rest, state};

use super::found::source;
use crate::args::Format;
use crate::error::Result;
use crate::screen::{BAD, BOLD, BUSY, DIM, GOOD, Screen, styled};
use crate::table::Table;

/// Columns of a bar.
const BAR: i64 = 20;

/// A row and a bar for each batch.
pub(super) fn batches(rollout: &AppRollout) -> String {
    let status = rollout.status.clone().unwrap_or_default();
    let batches = progress(&rollout.spec.rollout_plan, &status.rollout, source(rollout).is_some());
    table(&batches, &status)
}

pub(crate) fn show(rollout: &AppRollout, format: Format, screen: &mut Screen) -> Result<()> {
    let status = rollout.status.clone().unwrap_or_default();
    let source = source(rollout);
    if format != Format::Table {
        let batches = progress(&rollout.spec.rollout_plan, &status.rollout, source.is_some());
        let rows: Vec<Value> = batches.iter().map(row_data).collect();
        let status = serde_json::to_value(&status).unwrap_or_default();
        return screen.data(format, &json!({"batches": rows, "status": status}));
    }
    let mut out = String::new();
    let mut say = |name: &str, value: &str| {
        if !value.is_empty() {
            out.push_str(&format!("{}{value}\n", styled(BOLD, &format!("{name:<9}"))));
        }
    };
    let spec = &rollout.spec;
    say("Name", rollout.metadata.name.as_deref().unwrap_or_default());
    say("From", source.unwrap_or_default());
    say("To", spec.target());
    let now = State::of(&status.rollout);
    say("State", state::name(now.rolling));
    say("Stays", &status.unchanged_components.join(", "));
    if spec.rollout_plan.paused {
        say("Paused", &styled(BUSY, "yes: `vela rollout resume` lets it go on"));
    }
    match rest::rest(rollout) {
        Some(rest::Rest::Waits(what)) => say("Waits", &styled(BUSY, &what)),
        _ if rest::problem(&status, now).is_empty() => {}
        _ => say("Why", &styled(BAD, rest::problem(&status, now))),
    }
    out.push('\n');
    out.push_str(&batches(rollout));
    screen.print(&out)
}

fn table(batches: &[Progress], status: &AppRolloutStatus) -> String {
    if batches.is_empty() {
        return "Its batches are not known yet.\n".to_owned();
    }
    let mut table = Table::new(&["BATCH", "PODS", "READY", "", "STATE"]);
    for (index, batch) in batches.iter().enumerate() {
        let (style, word) = match batch.at {
            At::Done => (GOOD, "done".to_owned()),
            At::Running(state) => (BUSY, batch_name(state).to_owned()),
            At::Stopped => (BAD, status.rollout.rolling_state.clone()),
            At::ToCome => (DIM, "to come".to_owned()),
        };
        table.row(vec![
            format!("{} of {}", index + 1, batches.len()),
            batch.pods.to_string(),
            batch.ready.to_string(),
            styled(style, &bar(batch)),
            styled(style, &word),
        ]);
    }
    table.render()
}

fn bar(batch: &Progress) -> String {
    let full = match batch.pods {
        0 if batch.at == At::Done => BAR,
        0 => 0,
        pods => batch.ready * BAR / pods,
    };
    let times = |columns: i64| usize::try_from(columns).unwrap_or(0);
    format!("{}{}", "█".repeat(times(full)), "░".repeat(times(BAR - full)))
}

fn row_data(batch: &Progress) -> Value {
    let state = match batch.at {
        At::Done => "done",
        At::Running(state) => batch_name(state),
        At::Stopped => "stopped",
        At::ToCome => "toCome",
    };
    json!({"pods": batch.pods, "ready": batch.ready, "state": state})
}

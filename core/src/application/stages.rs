//! How far the components of an application are whose traits have stages: by its record, and by its objects as the copies of
//! their kinds have them; may not write.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use vela_engine::render::stages::Dispatched;
use vela_engine::{Graph, Observed, Templates, dispatched};
use vela_runtime::Key;

use super::desired::{Desired, Piece};
use super::error::{PhaseError, Stopped};
use super::inventory::{Entry, Record};
use super::outputs;
use super::reconciler::ApplicationReconciler;
use crate::blocking::run_blocking;

/// By the numbers of nodes. A component counts as healthy when all its objects were written with their present content by an
/// earlier reconcile, and are healthy since.
pub(super) async fn of(
    reconciler: &ApplicationReconciler,
    application: &Key,
    graph: &Graph,
) -> Result<BTreeMap<usize, Dispatched>, Stopped> {
    // A record that cannot be read is told of when it is to be written.
    let Ok((record, _)) = reconciler.records.read(application) else { return Ok(BTreeMap::new()) };
    let desired = Desired::of(&reconciler.context.discovery, graph, None).await;
    let desired = desired.map_err(|error| Stopped::unavailable(PhaseError::Render, &error))?;
    let (mut observed, mut current) = (Observed::new(), BTreeSet::new());
    for (_, piece) in desired.pieces() {
        let Some(live) = outputs::live(reconciler, application, &piece.name).await else { continue };
        observed.insert_named(piece.name.clone(), live);
        if is_current(piece, &desired, &record) {
            current.insert(piece.name.clone());
        }
    }
    let graph = graph.clone();
    let judge =
        move |templates: &Templates| Ok::<_, Infallible>(dispatched(&graph, &observed, &current, templates));
    let judged = run_blocking(&reconciler.context.computations, &reconciler.templates, judge).await;
    let Ok(judged) = judged.map_err(|error| Stopped::not_computed(PhaseError::Render, &error))?;
    Ok(judged)
}

/// Was the object written with this content, as far as it is written now?
fn is_current(piece: &Piece, desired: &Desired, record: &Record) -> bool {
    let is_written = |entry: &Entry| {
        let same = || entry.hash.as_deref() == Some(piece.content().as_str());
        desired.is_of_later_trait(entry) || (entry.uid.is_some() && same())
    };
    piece.rules.read_only || record.entries.get(&piece.owned()).is_some_and(is_written)
}

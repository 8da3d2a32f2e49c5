//! An Application to be made or changed, and a snapshot → may it enter? It may if it renders.

use vela_engine::{Document, Snapshot, Templates, dry_run, graph};

use crate::review::Review;
use crate::verdict::Verdict;

/// Judges an Application by a dry render with everything the snapshot knows.
///
/// Deletions, objects that go away and updates that keep the spec always pass: a definition that
/// broke later must not hold back a finalizer or a status.
pub fn judge(review: &Review, snapshot: &Snapshot, templates: &Templates) -> Verdict {
    if !review.concerns_a_living_object() || review.keeps_the_spec() {
        return Verdict::allowed();
    }
    let document = Document::from_object(review.object.clone());
    let graph = dry_run::render(&document, snapshot, templates).and_then(graph::graph).map_err(|first| {
        // A render stops at the phase that fails; the author gets the mistakes of all phases in one refusal.
        let all = vela_engine::check(&document, snapshot, templates);
        if all.has_errors() { all } else { first }
    });
    Verdict::from_result(&graph, |graph| graph.warnings())
}

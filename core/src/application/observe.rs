//! Applied → Observed: the live objects and errors as the pure phases read them; may not write.

use vela_engine::Observed;

use super::apply::Applied;
use super::fetch::json;

/// The objects that this reconcile saw, under the names of the graph.
pub(crate) fn observe(applied: &Applied) -> Observed {
    let mut observed = Observed::new();
    for (name, object) in applied.live() {
        observed.insert_named(name.clone(), json(object));
    }
    for name in applied.left_away() {
        observed.insert_left_away(name.clone());
    }
    for (name, error) in applied.errors() {
        match applied.is_lasting(name) {
            true => observed.insert_refusal(name.clone(), error.clone()),
            false => observed.insert_error(name.clone(), error.clone()),
        }
    }
    observed
}

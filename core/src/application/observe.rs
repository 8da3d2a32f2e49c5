//! Applied → Observed: the live objects and errors as the pure phases read them; may not write.

use serde_json::Value;
use vela_engine::Observed;

use super::apply::Applied;
use super::fetch::json;

/// What this lap saw, under the names the graph gave.
pub(crate) fn observe(applied: &Applied) -> Observed {
    let mut observed = Observed::new();
    for (name, object) in &applied.live {
        let mut object = json(object);
        if !name.namespace.is_empty() {
            object["metadata"]["namespace"] = Value::String(name.namespace.clone());
        }
        observed.insert(object);
    }
    for (name, error) in &applied.errors {
        match applied.lasting.contains(name) {
            true => observed.insert_refusal(name.clone(), error.clone()),
            false => observed.insert_error(name.clone(), error.clone()),
        }
    }
    observed
}

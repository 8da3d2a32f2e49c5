//! Mutates an ApplicationConfiguration, which gets the kinds of its traits and its author's stamp, and validates it.

use std::collections::BTreeSet;

use serde_json::Value;
use vela_engine::application_configuration::{rules, type_resolution};
use vela_engine::{Document, Snapshot};

use crate::identity;
use crate::review::Review;
use crate::verdict::{Cause, Refusal, Verdict};

/// Gives traits that are written by `name` and `properties` their kind, and the configuration its author.
pub fn mutate(review: &Review, snapshot: &Snapshot) -> Verdict {
    let mut object = review.object.clone();
    let mut causes = Vec::new();
    let components = object.pointer_mut("/spec/components").and_then(Value::as_array_mut);
    for (i, component) in components.into_iter().flatten().enumerate() {
        let traits = component.get_mut("traits").and_then(Value::as_array_mut);
        for (j, entry) in traits.into_iter().flatten().enumerate() {
            let Some(written) = entry.get_mut("trait") else { continue };
            match type_resolution::trait_object(written, snapshot) {
                Ok(Some(typed)) => *written = typed,
                Ok(None) => {}
                Err(message) => {
                    causes.push(Cause::invalid(
                        format!("spec.components[{i}].traits[{j}].trait.name"),
                        message,
                    ));
                }
            }
        }
    }
    if !causes.is_empty() {
        return Verdict::refused(Refusal::BadRequest, causes);
    }
    match identity::stamp(review, &mut object) {
        Ok(()) => Verdict::changed(review, &object),
        Err(refused) => *refused,
    }
}

/// Judges a configuration with its components and their definitions.
pub fn validate(review: &Review, snapshot: &Snapshot) -> Verdict {
    if !review.concerns_a_living_object() || review.keeps_the_spec() {
        return Verdict::allowed();
    }
    let document = Document::from_object(review.object.clone());
    Verdict::from_diagnostics(rules::check(&document, snapshot).iter())
}

/// Names of the definitions that traits are written with.
pub fn trait_names(configuration: &Value) -> BTreeSet<String> {
    let components = configuration["spec"]["components"].as_array().into_iter().flatten();
    let traits = components.filter_map(|component| component["traits"].as_array()).flatten();
    traits.filter_map(|entry| entry["trait"]["name"].as_str()).map(str::to_owned).collect()
}

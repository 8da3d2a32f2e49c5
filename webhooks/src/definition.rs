//! A definition to be made or changed → may it enter? It may if its template compiles.

use vela_engine::{Definition, Document, Templates};

use crate::review::Review;
use crate::verdict::{Cause, Verdict};

/// Judges a definition by compiling its template.
pub fn judge(review: &Review, templates: &Templates) -> Verdict {
    if !review.concerns_a_living_object() || review.keeps_the_spec() {
        return Verdict::allowed();
    }
    let document = Document::from_object(review.object.clone());
    let definition = match Definition::from_document(&document) {
        Ok(definition) => definition,
        Err(diagnostic) => return Verdict::from_diagnostics([&diagnostic]),
    };
    let mut verdict = match templates.get(&definition).as_ref() {
        Ok(_) => Verdict::allowed(),
        Err(diagnostics) => Verdict::from_diagnostics(diagnostics.iter()),
    };
    verdict.causes.extend(nothing_to_make(review));
    verdict
}

/// A trait without a template must name the resource it is, or there is nothing it could make.
fn nothing_to_make(review: &Review) -> Option<Cause> {
    let spec = &review.object["spec"];
    let named = spec["definitionRef"]["name"].as_str().is_some_and(|name| !name.is_empty());
    let has_template = spec["schematic"].as_object().is_some_and(|members| !members.is_empty())
        || spec["extension"]["template"].as_str().is_some_and(|text| !text.is_empty());
    (review.object["kind"] == "TraitDefinition" && !named && !has_template).then(|| Cause {
        reason: "FieldValueRequired",
        field: "spec.definitionRef".to_owned(),
        message: "if definition reference is omitted, patch or output with GVK is required: \
                  add spec.schematic.cue.template or spec.definitionRef.name"
            .to_owned(),
    })
}

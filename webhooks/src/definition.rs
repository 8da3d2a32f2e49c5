//! A definition to be made or changed → may it enter? It may if its template compiles and it says what it makes.

use serde_json::Value;
use vela_engine::definition::record;
use vela_engine::{Code, Definition, Diagnostic, Diagnostics, Document, Templates};

use crate::review::Review;
use crate::verdict::{Cause, Refusal, Verdict};

/// More parameters without a description are only counted.
const UNDESCRIBED_AT_MOST: usize = 5;

/// The definition of a review. Whoever has a cluster adds the kinds that it imports.
pub fn read(review: &Review) -> Result<Definition, Diagnostic> {
    Definition::from_document(&Document::from_object(review.object.clone()))
}

/// Judges a definition by compiling its template.
pub fn judge(review: &Review, definition: Result<Definition, Diagnostic>, templates: &Templates) -> Verdict {
    if !review.concerns_a_living_object() || review.keeps_the_spec() {
        return Verdict::allowed();
    }
    let definition = match definition {
        Ok(definition) => definition,
        Err(diagnostic) => {
            let mut causes = nothing_to_make(&review.object);
            causes.push(Cause::from_diagnostic(&diagnostic));
            return Verdict::refused(Refusal::Invalid, causes);
        }
    };
    let mut verdict = faults(&definition, templates);
    verdict.warnings.extend(undescribed(&definition));
    verdict.warnings.extend(deprecated(&review.object));
    verdict
}

/// What is wrong with a definition, whoever asks: admission, or a controller about one that nobody judged.
pub fn faults(definition: &Definition, templates: &Templates) -> Verdict {
    Verdict::from_diagnostics(&findings(definition, templates))
}

/// The same for a program that shows diagnostics.
pub fn findings(definition: &Definition, templates: &Templates) -> Diagnostics {
    let mut found = templates.get(definition).err().unwrap_or_default();
    for cause in nothing_to_make(definition.object()) {
        let finding = Diagnostic::error(Code::MissingField, cause.message);
        found.push(Diagnostic { path: cause.field, ..finding });
    }
    found
}

/// A definition must name the resource it is, or have a template that makes one.
fn nothing_to_make(object: &Value) -> Vec<Cause> {
    let spec = &object["spec"];
    let text = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
    let named = text(&spec["definitionRef"]["name"]);
    let has_template = spec["schematic"].as_object().is_some_and(|members| !members.is_empty())
        || text(&spec["extension"]["template"]);
    let workload = &spec["workload"];
    let (field, message) = match object["kind"].as_str().unwrap_or_default() {
        "TraitDefinition" if !named && !has_template => (
            "spec.definitionRef",
            "if definition reference is omitted, patch or output with GVK is required: \
             add spec.schematic.cue.template or spec.definitionRef.name",
        ),
        "WorkloadDefinition" | "ScopeDefinition" if !named => {
            ("spec.definitionRef.name", "name the resource, `<plural>.<group>`, such as deployments.apps")
        }
        "ComponentDefinition" if !text(&workload["type"]) && !text(&workload["definition"]["kind"]) => (
            "spec.workload",
            "name the workload: its kind in spec.workload.definition, or a WorkloadDefinition in spec.workload.type",
        ),
        _ => return Vec::new(),
    };
    vec![Cause::required(field, message)]
}

/// Parameters are what users see of a definition.
fn undescribed(definition: &Definition) -> Option<String> {
    let schema = record::schema(definition)?;
    let described =
        |parameter: &Value| parameter["description"].as_str().is_some_and(|text| !text.is_empty());
    let parameters = schema["properties"].as_object()?;
    let names: Vec<&str> =
        parameters.iter().filter(|(_, schema)| !described(schema)).map(|(name, _)| name.as_str()).collect();
    if names.is_empty() {
        return None;
    }
    let more = names.len().saturating_sub(UNDESCRIBED_AT_MOST);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let shown = names[..names.len().min(UNDESCRIBED_AT_MOST)].join(", ");
    Some(format!(
        "{}: parameters without a description: {shown}{more}; write `// +usage=…` above each",
        definition.title()
    ))
}

fn deprecated(object: &Value) -> Option<String> {
    let template = object["spec"]["extension"]["template"].as_str().is_some_and(|text| !text.is_empty());
    template.then(|| "spec.extension.template is deprecated; write spec.schematic.cue.template".to_owned())
}

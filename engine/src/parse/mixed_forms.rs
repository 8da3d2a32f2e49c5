//! Refuses an application whose parts are written in both forms: the form decides how all of it is deployed, and what the other
//! one says would come to nothing.

use serde_json::{Map, Value as Json};

use super::parser::{Era, Parser};
use crate::diagnostic::Code;

/// A field that only one of the forms has.
struct FormField {
    path: String,
    era: Era,
    field: &'static str,
}

impl Parser<'_> {
    /// Every field of the other form is an error, with a field that shows the form of the whole.
    pub(super) fn mixed_forms(&mut self, spec: &Map<String, Json>) {
        let found = form_fields(spec);
        let era = self.era;
        let Some(own) = found.iter().find(|one| one.era == era) else { return };
        for other in found.iter().filter(|one| one.era != era) {
            let instead = match (other.field, era) {
                ("settings" | "properties", era) => era.properties_field(),
                (_, era) => era.trait_type_field(),
            };
            let message = format!(
                "two forms of the API are mixed: {:?} is of the one, {} of the other, and only one can be read",
                other.field, own.path
            );
            let hint = format!("write {instead:?} here, or all of the application in the other form");
            self.error(Code::WrongKind, &other.path, message, Some(hint));
        }
    }
}

/// The fields of components and their traits that tell a form, in the order written.
fn form_fields(spec: &Map<String, Json>) -> Vec<FormField> {
    const COMPONENT: [(Era, &str); 2] = [(Era::V1alpha2, "settings"), (Era::V1beta1, "properties")];
    const TRAIT: [(Era, &str); 2] = [(Era::V1alpha2, "name"), (Era::V1beta1, "type")];
    let mut found = Vec::new();
    let mut look = |path: &str, object: &Json, fields: [(Era, &'static str); 2]| {
        let written = fields.into_iter().filter(|(_, field)| object.get(*field).is_some());
        found.extend(written.map(|(era, field)| FormField { path: format!("{path}.{field}"), era, field }));
    };
    for (index, component) in items(spec.get("components")).iter().enumerate() {
        let path = format!("spec.components[{index}]");
        look(&path, component, COMPONENT);
        for (index, one) in items(component.get("traits")).iter().enumerate() {
            look(&format!("{path}.traits[{index}]"), one, TRAIT);
        }
    }
    found
}

fn items(value: Option<&Json>) -> &[Json] {
    value.and_then(Json::as_array).map_or(&[], Vec::as_slice)
}

//! A PolicyDefinition → what can be known to be wrong with it before an application is there; evaluates no application.

use serde_json::Value as Json;

use crate::definition::{Definition, DefinitionKind, Language};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::policy;
use crate::render::{Compiled, may_declare};
use crate::transformed::{changes_applications, is_global};

/// The scopes that a PolicyDefinition may have.
const SCOPES: [&str; 2] = ["Application", ""];

/// The mistakes of a PolicyDefinition, each with the field of the definition or the place in its template; `compiled` is its
/// template, where that can be read. Of other definitions there are none.
pub fn mistakes(definition: &Definition, compiled: Option<&Compiled>) -> Diagnostics {
    let mut found = Diagnostics::new();
    // What the engine itself carries out only describes its parameters.
    if definition.kind() != DefinitionKind::Policy || policy::is_built_in(definition.name()) {
        return found;
    }
    let spec = definition.spec();
    let mut wrong = |path: &str, finding: Diagnostic| {
        found.push(Diagnostic { path: path.to_owned(), ..finding });
    };
    let scope = spec.get("scope").filter(|scope| !scope.is_null());
    if scope.is_some_and(|scope| !scope.as_str().is_some_and(|scope| SCOPES.contains(&scope))) {
        let message = format!("{} is no scope of a policy", scope.unwrap_or(&Json::Null));
        let error = Diagnostic::error(Code::WrongType, message);
        wrong("spec.scope", error.hint("write Application, or nothing for a policy that makes objects"));
    }
    let has_scope = changes_applications(definition);
    let global = is_global(definition.object());
    if global && !has_scope {
        let message = "a global policy changes applications, and has to say so";
        let error = Diagnostic::error(Code::MissingField, message);
        wrong("spec.global", error.hint("write spec.scope: Application, or take spec.global away"));
    }
    if !global && spec.get("priority").is_some_and(|priority| !priority.is_null()) {
        let message = "only global policies have a priority; others run in the order in which an application names them";
        wrong("spec.priority", Diagnostic::warning(Code::UnknownField, message));
    }
    let text = match definition.language() {
        Language::Cue(text) if !text.trim().is_empty() => text,
        _ if has_scope => {
            let message = "only a CUE template can change an application";
            let error = Diagnostic::error(Code::MissingField, message);
            wrong("spec.schematic", error.hint("write spec.schematic.cue.template with an output"));
            return found;
        }
        _ => return found,
    };
    if !may_declare(text, "output") {
        let (message, hint) = match has_scope {
            true => (
                "the template has no `output`, so it changes nothing",
                "write what takes the place of components, workflow and policies, and labels, annotations and ctx, under `output`",
            ),
            false => (
                "the template has no `output`, so it makes no object: an application that names the policy is refused",
                "write the first object under `output`, others under `outputs`; or spec.scope: Application where it changes \
                 applications",
            ),
        };
        let finding = match has_scope {
            true => Diagnostic::error(Code::BadDefinition, message),
            false => Diagnostic::warning(Code::BadDefinition, message),
        };
        found.push(finding.hint(hint));
    }
    if let Some(Compiled::Cue(template)) = compiled.filter(|_| has_scope) {
        found.extend(template.scoped_mistakes(global));
    }
    found
}

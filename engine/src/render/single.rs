//! Renders one template by itself to plain JSON, for conformance cases and authors of definitions.

use serde_json::{Map, Value as Json, json};

use super::cue::Template;
use super::patch::{self, Tree};
use crate::definition::DEFAULT_ERA;
use crate::diagnostic::{Code, Diagnostic, Diagnostics};

/// A component template: `{output, outputs}` (`outputs` only where there are some).
///
/// # Errors
/// The template or its parameters are wrong, or a value is not known.
pub fn component(template: &str, parameter: &Json, context: &Json) -> Result<Json, Diagnostics> {
    let (made, _) =
        Template::compile("template", template, DEFAULT_ERA)?.component(&parameter.into(), context)?;
    let outputs = made.outputs.iter().map(|(name, tree)| (name.clone(), tree)).collect::<Vec<_>>();
    result(&made.output, outputs.iter().map(|(name, tree)| (name.as_str(), *tree)))
}

/// A trait template on the workload as a CUE text (JSON is one too) and the `outputs` made before it: the same,
/// patched and added to, as `{output, outputs}`; a trait's own `output` stands in `outputs` under "".
///
/// # Errors
/// One of the texts is wrong, or the patch conflicts.
pub fn trait_(
    template: &str,
    workload: &str,
    outputs: &Json,
    parameter: &Json,
    context: &Json,
) -> Result<Json, Diagnostics> {
    let (made, _) =
        Template::compile("template", template, DEFAULT_ERA)?.trait_(&parameter.into(), context, None)?;
    let mut output = Template::compile("workload", workload, DEFAULT_ERA)?.whole()?;
    let before = outputs.as_object().into_iter().flatten();
    let mut outputs: Vec<(String, Tree)> =
        before.map(|(name, value)| (name.clone(), Tree::from(value))).collect();
    if let Some(patch) = &made.patch {
        output = patch.apply(&output)?;
    }
    outputs.extend(made.outputs);
    for (name, patch) in &made.patch_outputs {
        for (_, tree) in outputs.iter_mut().filter(|(target, _)| target == name) {
            *tree = patch.apply(tree)?;
        }
    }
    result(&output, outputs.iter().map(|(name, tree)| (name.as_str(), tree)))
}

/// The `patch` field of one CUE text on the value of another.
///
/// # Errors
/// One of the texts is wrong, or they conflict.
pub fn patch(base: &str, patch: &str) -> Result<Json, Diagnostics> {
    patches(base, &[patch])
}

/// The `patch` fields of several CUE texts, one after the other, on the value of another.
///
/// # Errors
/// Those of [`patch`].
pub fn patches(base: &str, patches: &[&str]) -> Result<Json, Diagnostics> {
    let mut patched = Template::compile("base", base, DEFAULT_ERA)?.whole()?;
    for text in patches {
        let template = Template::compile("patch", text, DEFAULT_ERA)?;
        let (made, _) = template.trait_(&(&json!({})).into(), &json!({}), None)?;
        let Some(patch) = made.patch else {
            return Err(Diagnostic::error(Code::MissingField, "the text has no field `patch`").into());
        };
        patched = patch.apply(&patched)?;
    }
    finish(&patched)
}

fn result<'a>(
    output: &Tree,
    outputs: impl Iterator<Item = (&'a str, &'a Tree)>,
) -> Result<Json, Diagnostics> {
    let mut result = json!({"output": object("output", output)?});
    let outputs: Map<String, Json> = outputs
        .map(|(name, tree)| Ok((name.to_owned(), object(name, tree)?)))
        .collect::<Result<_, Diagnostics>>()?;
    if !outputs.is_empty() {
        result["outputs"] = Json::Object(outputs);
    }
    Ok(result)
}

/// A complete value that says what kind of object it is.
fn object(name: &str, tree: &Tree) -> Result<Json, Diagnostics> {
    let value = finish(tree)?;
    match value.get("kind").and_then(Json::as_str) {
        Some(kind) if !kind.is_empty() => Ok(value),
        _ => {
            Err(Diagnostic::error(Code::Template, format!("{name} has no kind: it is not an object")).into())
        }
    }
}

fn finish(tree: &Tree) -> Result<Json, Diagnostics> {
    let error = |open: patch::Incomplete| Diagnostic::error(Code::Template, open.to_string());
    tree.finish().map_err(|open| open.into_iter().map(error).collect())
}

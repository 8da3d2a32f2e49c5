//! Writes data as CUE: definitions for an editor, and objects with expressions in some places. It reads nothing.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use vela_engine::DefinitionKind;
use vela_engine::definition::cue_file;

use crate::pointer::text;

/// Where the template of a definition stands.
const TEMPLATE: &str = "/spec/schematic/cue/template";
const DESCRIPTION: &str = "definition.oam.dev/description";
/// What `kubectl apply` writes for itself; it would only repeat the object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Words that mean something in CUE or in templates, so that a field of that name is quoted.
const RESERVED: [&str; 11] =
    ["context", "false", "for", "if", "import", "in", "let", "null", "package", "parameter", "true"];

/// Expressions that stand in place of values, by JSON pointer.
pub(crate) type Expressions = BTreeMap<String, String>;

/// A definition as the text of a CUE file that `vela def apply` reads: in the short form with a template where that says
/// the same, else written out.
pub(crate) fn definition(object: &Value) -> String {
    let wanted = comparable(object);
    let short = short(object)
        .filter(|text| cue_file::read("definition.cue", text).is_ok_and(|read| comparable(&read) == wanted));
    short.unwrap_or_else(|| whole(object))
}

/// The annotations that users wrote.
pub(crate) fn is_for_users(annotation: &str) -> bool {
    annotation != LAST_APPLIED
}

/// What the two forms must agree on.
fn comparable(object: &Value) -> Value {
    let mut spec = object.get("spec").cloned().unwrap_or_default();
    if let Some(template) = spec.pointer_mut("/schematic/cue/template") {
        let (imports, body) = imports(template.as_str().unwrap_or_default());
        *template = Value::String(imports + &dedented(&body));
    }
    let map = |field: &str| object["metadata"][field].as_object().cloned().unwrap_or_default();
    let annotations: Map<String, Value> =
        map("annotations").into_iter().filter(|(name, _)| is_for_users(name)).collect();
    serde_json::json!({
        "kind": object["kind"], "name": object["metadata"]["name"], "labels": map("labels"), "annotations": annotations, "spec": spec,
    })
}

/// `name: {type: …}` and `template: {…}`; nothing where the object has no template in CUE.
fn short(object: &Value) -> Option<String> {
    let template = object.pointer(TEMPLATE)?.as_str()?;
    let noun = type_name(DefinitionKind::from_kind(text(object, "/kind"))?)?;
    let head = comparable(object);
    let mut annotations = head["annotations"].clone();
    let description = annotations.as_object_mut().and_then(|all| all.remove(DESCRIPTION));
    let mut attributes = head["spec"].clone();
    attributes.as_object_mut()?.remove("schematic");
    let parts = [
        ("type", noun.into()),
        ("description", description.unwrap_or_default()),
        ("labels", head["labels"].clone()),
        ("annotations", annotations),
        ("attributes", attributes),
    ];
    let is_empty = |part: &Value| part.is_null() || part.as_object().is_some_and(Map::is_empty);
    let about: Vec<(&str, Value)> = parts.into_iter().filter(|(_, part)| !is_empty(part)).collect();
    Some(file(text(object, "/metadata/name"), &about, template))
}

/// The text of a definition file of its description and its template.
pub(crate) fn file(name: &str, about: &[(&str, Value)], template: &str) -> String {
    let (imports, body) = imports(template);
    let lead = if imports.is_empty() { String::new() } else { format!("{imports}\n") };
    let mut head = String::new();
    for (field, part) in about {
        head.push_str(&format!("\t{}: ", label(field)));
        write(part, "", 1, &Expressions::new(), &mut head);
        head.push('\n');
    }
    format!("{lead}{}: {{\n{head}}}\n\ntemplate: {{\n{}}}\n", label(name), indented(&dedented(&body)))
}

/// The word for a kind in a definition file.
pub(crate) fn type_name(kind: DefinitionKind) -> Option<&'static str> {
    Some(match kind {
        DefinitionKind::Component => "component",
        DefinitionKind::Trait => "trait",
        DefinitionKind::Policy => "policy",
        DefinitionKind::WorkflowStep => "workflow-step",
        DefinitionKind::Workload => "workload",
        DefinitionKind::Scope => return None,
    })
}

/// The object written out, without what the server adds.
fn whole(object: &Value) -> String {
    let mut metadata = Map::new();
    for field in ["name", "namespace", "labels", "annotations"] {
        if let Some(part) = object["metadata"].get(field) {
            metadata.insert(field.to_owned(), part.clone());
        }
    }
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.retain(|name, _| is_for_users(name));
    }
    let none = Expressions::new();
    let mut out = String::new();
    for (name, part) in [
        ("apiVersion", &object["apiVersion"]),
        ("kind", &object["kind"]),
        ("metadata", &Value::Object(metadata)),
        ("spec", &object["spec"]),
    ] {
        out.push_str(&format!("{name}: {}\n", value(part, &none)));
    }
    out
}

/// The imports at the beginning of a template, and the rest.
fn imports(template: &str) -> (String, String) {
    let (mut imports, mut rest) = (String::new(), String::new());
    let (mut in_group, mut is_over) = (false, false);
    for line in template.lines() {
        let trimmed = line.trim();
        let begins = !is_over && !in_group && trimmed.starts_with("import");
        is_over |= !begins && !in_group && !trimmed.is_empty() && !trimmed.starts_with("//");
        if begins || in_group {
            in_group = if begins {
                trimmed.contains('(') && !trimmed.contains(')')
            } else {
                !trimmed.starts_with(')')
            };
            imports.push_str(&format!("{trimmed}\n"));
        } else {
            rest.push_str(&format!("{line}\n"));
        }
    }
    (imports, rest)
}

/// The lines without the margin that all have, and without blank ones around them.
fn dedented(text: &str) -> String {
    let is_blank = |line: &&str| line.trim().is_empty();
    let margin = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let mut lines = text.lines().filter(|line| !is_blank(line));
    let first = lines.next().map_or("", |line| &line[..margin(line)]);
    let shared = |a: &str, b: &str| a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let common = lines.fold(first, |common, line| &common[..shared(common, &line[..margin(line)])]);
    let lines: Vec<&str> = text.lines().map(|line| line.strip_prefix(common).unwrap_or("")).collect();
    let start = lines.iter().position(|line| !is_blank(line)).unwrap_or(lines.len());
    let end = lines.iter().rposition(|line| !is_blank(line)).map_or(start, |at| at + 1);
    lines[start..end].iter().map(|line| format!("{}\n", line.trim_end_matches('\r'))).collect()
}

fn indented(text: &str) -> String {
    let line = |line: &str| if line.is_empty() { "\n".to_owned() } else { format!("\t{line}\n") };
    text.lines().map(line).collect()
}

/// A name as the label of a field.
fn label(name: &str) -> String {
    let mut characters = name.chars();
    let is_plain = characters.next().is_some_and(|c| c.is_ascii_alphabetic())
        && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !RESERVED.contains(&name);
    if is_plain { name.to_owned() } else { quoted(name) }
}

/// JSON escapes what CUE escapes, and nothing else.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Data as CUE, with expressions in some places.
pub(crate) fn value(data: &Value, expressions: &Expressions) -> String {
    let mut out = String::new();
    write(data, "", 0, expressions, &mut out);
    out
}

/// Depth is bounded by that of the parser that made the value.
fn write(data: &Value, pointer: &str, depth: usize, expressions: &Expressions, out: &mut String) {
    if let Some(expression) = expressions.get(pointer) {
        out.push_str(expression);
        return;
    }
    let (margin, end) = ("\t".repeat(depth + 1), "\t".repeat(depth));
    match data {
        Value::Object(fields) if !fields.is_empty() => {
            out.push_str("{\n");
            for (name, field) in fields {
                out.push_str(&format!("{margin}{}: ", label(name)));
                let inner = format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
                write(field, &inner, depth + 1, expressions, out);
                out.push('\n');
            }
            out.push_str(&format!("{end}}}"));
        }
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            out.push_str("[\n");
            for (index, item) in items.iter().enumerate() {
                out.push_str(&margin);
                write(item, &format!("{pointer}/{index}"), depth + 1, expressions, out);
                out.push_str(",\n");
            }
            out.push_str(&format!("{end}]"));
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(ToString::to_string).collect();
            out.push_str(&format!("[{}]", items.join(", ")));
        }
        Value::String(text) if is_long(text) => {
            out.push_str("#\"\"\"\n");
            for line in text.split('\n') {
                out.push_str(&if line.is_empty() { "\n".to_owned() } else { format!("{margin}{line}\n") });
            }
            out.push_str(&format!("{margin}\"\"\"#"));
        }
        Value::String(text) => out.push_str(&quoted(text)),
        other => out.push_str(&other.to_string()),
    }
}

/// Several lines that can stand as they are.
fn is_long(text: &str) -> bool {
    let is_plain = |c: char| !c.is_control() || matches!(c, '\n' | '\t');
    text.contains('\n') && text.chars().all(is_plain) && !text.contains("\"\"\"#") && !text.contains("\\#")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_definition_survives_being_written_and_read() {
        let template = "import \"strconv\"\nimport (\n\t\"strings\"\n)\n\tpatch: n: strconv.Atoi(\"1\")\n\n\tx: \"\"\"\n\t\ttext\n\t\t\"\"\"\n";
        let object = json!({
            "apiVersion": "core.oam.dev/v1beta1", "kind": "TraitDefinition",
            "metadata": {"name": "my-trait", "uid": "u", "labels": {"a/b": "c"}, "annotations": {
                DESCRIPTION: "says \"it\" \\(x)", LAST_APPLIED: "{}", "other": "two\nlines\n"}},
            "spec": {"podDisruptive": true, "appliesToWorkloads": ["a", "b"], "conflictsWith": [],
                "status": {"healthPolicy": "isHealth: \"\\(1)\" == \"1\"\nx: 1"}, "schematic": {"cue": {"template": template}}},
        });
        let text = definition(&object);
        assert!(
            text.starts_with(
                "import \"strconv\"\nimport (\n\"strings\"\n)\n\n\"my-trait\": {\n\ttype: \"trait\"\n"
            ),
            "{text}"
        );
        assert!(!text.contains("last-applied") && !text.contains("uid"), "{text}");
        let read = cue_file::read("a.cue", &text).unwrap();
        assert_eq!(comparable(&read), comparable(&object), "{text}");
        // What is written again is the same, however often.
        assert_eq!(definition(&read), text);
    }

    #[test]
    fn what_is_no_template_in_cue_is_written_out() {
        let object = json!({
            "apiVersion": "core.oam.dev/v1beta1", "kind": "ComponentDefinition",
            "metadata": {"name": "page", "namespace": "shop", "generation": 3, "annotations": {LAST_APPLIED: "{}"}},
            "spec": {"schematic": {"handlebars": {"template": "a: 1\n\tb: \"\"\"#\n"}}},
        });
        let text = definition(&object);
        let read = cue_file::read("a.cue", &text).unwrap();
        assert_eq!(comparable(&read), comparable(&object), "{text}");
        assert_eq!(read["metadata"], json!({"name": "page", "namespace": "shop", "annotations": {}}));
    }
}

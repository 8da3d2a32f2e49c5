//! Reads a CUE file as the object it stands for: a definition (`name: {type: …}`, `template: {…}`), or any object
//! written out.

use serde_json::{Map, Value as Json, json};
use vela_cue::ast::{DeclKind, ExprKind, Field, LabelKind};
use vela_cue::source::Sources;
use vela_cue::{Source, parser};

use crate::definition::{DEFAULT_ERA, DefinitionKind};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Place};
use crate::manifest::{Document, Lines, Places};

/// Path of the template in the object.
const TEMPLATE: [&str; 4] = ["spec", "schematic", "cue", "template"];

/// Reads the file: the definition it describes or, where it has `apiVersion` and `kind`, the object that it evaluates to.
/// `file` is what diagnostics call it.
///
/// # Errors
/// The mistakes of the text, or what it lacks to be a definition.
pub fn read(file: &str, text: &str) -> Result<Json, Diagnostics> {
    document(file, text).map(Document::into_value)
}

/// The same as a document that knows where its template stands in the file.
///
/// # Errors
/// Those of [`read`].
pub fn document(file: &str, text: &str) -> Result<Document, Diagnostics> {
    let source = Source::new(file, text).with_era(DEFAULT_ERA);
    let mut sources = Sources::default();
    let id = sources.add(source.clone());
    let (tree, mistakes) = parser::parse(&source, id);
    let place = |at: Option<(&str, usize, usize)>, mut diagnostic: Diagnostic| {
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        diagnostic.manifest = at.map(|(_, line, column)| Place {
            file: file.into(),
            line: number(line),
            column: number(column),
        });
        diagnostic
    };
    if !mistakes.is_empty() {
        let found = mistakes.iter().map(|mistake| {
            let at = sources.position(mistake.span());
            place(at, Diagnostic::error(Code::Syntax, mistake.message.clone()))
        });
        return Err(found.collect());
    }
    let names = |decl: &vela_cue::ast::Decl, wanted: &str| matches!(&decl.kind, DeclKind::Field(field) if name(field) == Some(wanted));
    if ["apiVersion", "kind"].iter().all(|wanted| tree.decls.iter().any(|decl| names(decl, wanted))) {
        return whole(file, text).map(Document::from_object);
    }
    let broken = |message: &str| -> Diagnostics {
        let hint = "a definition file has a field named like the definition, and a field `template`";
        place(Some((file, 1, 1)), Diagnostic::error(Code::BadDefinition, message).hint(hint)).into()
    };
    let mut head: Option<(&str, &Field)> = None;
    let mut template = None;
    for decl in &tree.decls {
        let DeclKind::Field(field) = &decl.kind else { continue };
        match name(field) {
            Some("template") => template = Some(field),
            Some(name) if head.is_none() => head = Some((name, field)),
            _ => {}
        }
    }
    let ((name, head), template) = match (head, template) {
        (Some(head), Some(template)) => (head, template),
        (None, _) => return Err(broken("the file names no definition")),
        (_, None) => return Err(broken("the file has no field `template`")),
    };
    let ExprKind::Struct(body) = &template.value.kind else {
        return Err(broken("`template` must be a struct"));
    };
    let (start, end) = (template.value.span.start as usize + 1, body.close.start as usize);
    let imports: String = tree
        .decls
        .iter()
        .filter(|decl| matches!(decl.kind, DeclKind::Import(_)))
        .map(|decl| format!("{}\n", sources.text(decl.span)))
        .collect();
    let template = format!("{imports}{}", text.get(start..end).unwrap_or(""));
    let about = about(file, sources.text(head.label.span.to(head.value.span)), name)?;
    let object = object(name, &about, &template).map_err(|message| broken(&message))?;
    let number = |number: usize| u32::try_from(number).unwrap_or(0);
    let (line, column) =
        sources.position(head.label.span).map_or((1, 1), |(_, line, column)| (number(line), number(column)));
    let opened = text.get(..start).unwrap_or("").matches('\n').count();
    let before = number(opened.saturating_sub(imports.lines().count()));
    let places = Places::of_text(file, (line, column), &TEMPLATE, Lines { before, indent: 0 });
    Ok(Document::new(object, places))
}

fn name(field: &Field) -> Option<&str> {
    match &field.label.kind {
        LabelKind::Ident(name) => Some(name),
        // As written, with its quotes; names of definitions need no escapes.
        LabelKind::String(name) => Some(name.trim_matches('"')),
        _ => None,
    }
}

/// The object that the whole file is.
fn whole(file: &str, text: &str) -> Result<Json, Diagnostics> {
    evaluated(file, text, |root| root.to_json())
}

/// The description of the definition in the file, evaluated by itself.
fn about(file: &str, text: &str, name: &str) -> Result<Json, Diagnostics> {
    evaluated(file, text, |root| root.field(name).to_json())
}

fn evaluated(
    file: &str,
    text: &str,
    show: impl FnOnce(vela_cue::Value) -> Result<Json, vela_cue::Diagnostics>,
) -> Result<Json, Diagnostics> {
    let problem = |found: vela_cue::Diagnostics| -> Diagnostics {
        found
            .iter()
            .map(|found| Diagnostic::error(Code::BadDefinition, format!("{file}: {}", found.message)))
            .collect()
    };
    let template =
        vela_cue::Template::compile(&[Source::new(file, text).with_era(DEFAULT_ERA)]).map_err(problem)?;
    show(template.instantiate(&[]).root()).map_err(problem)
}

fn object(name: &str, about: &Json, template: &str) -> Result<Json, String> {
    let type_ = about.get("type").and_then(Json::as_str).unwrap_or("");
    let kind = match type_ {
        "component" => DefinitionKind::Component,
        "trait" => DefinitionKind::Trait,
        "policy" => DefinitionKind::Policy,
        "workflow-step" => DefinitionKind::WorkflowStep,
        "workload" => DefinitionKind::Workload,
        other => {
            return Err(format!(
                "type {other:?} is not one of component, trait, policy, workflow-step, workload"
            ));
        }
    };
    let part = |field: &str| about.get(field).and_then(Json::as_object).cloned().unwrap_or_default();
    let mut annotations: Map<String, Json> = part("annotations");
    if let Some(description) = about.get("description").and_then(Json::as_str).filter(|text| !text.is_empty())
    {
        annotations.insert(vela_crds::annotations::DEFINITION_DESCRIPTION.to_owned(), json!(description));
    }
    let mut spec = part("attributes");
    spec.insert("schematic".to_owned(), json!({"cue": {"template": template}}));
    Ok(json!({
        "apiVersion": "core.oam.dev/v1beta1",
        "kind": kind.kind(),
        "metadata": {"name": name, "labels": part("labels"), "annotations": annotations},
        "spec": spec,
    }))
}

#[cfg(test)]
mod tests {
    use super::read;

    const FILE: &str = "import \"strconv\"\n\n\"my-trait\": {\n\ttype: \"trait\"\n\tdescription: \"d\"\n\tattributes: status: healthPolicy: #\"\"\"\n\t\tisHealth: \"\\(1)\" == \"1\"\n\t\t\"\"\"#\n}\ntemplate: {\n\tpatch: n: strconv.Atoi(\"1\")\n}\n";

    #[test]
    fn a_file_becomes_a_definition_object() {
        let object = read("my.cue", FILE).unwrap();
        assert_eq!(object["kind"], "TraitDefinition");
        assert_eq!(object["metadata"]["name"], "my-trait");
        assert_eq!(object["spec"]["status"]["healthPolicy"], "isHealth: \"\\(1)\" == \"1\"");
        let template = object["spec"]["schematic"]["cue"]["template"].as_str().unwrap();
        assert!(template.starts_with("import \"strconv\"\n") && template.contains("patch: n:"), "{template}");
    }

    #[test]
    fn an_object_may_be_written_in_cue() {
        let text = "import \"strings\"\nlet image = \"nginx\"\napiVersion: \"core.oam.dev/v1beta1\"\nkind: \"Application\"\n\
                    metadata: name: strings.ToLower(\"Web\")\nspec: components: [{name: \"c\", properties: {\"image\": image}}]\n";
        let object = read("app.cue", text).unwrap();
        assert_eq!(object["metadata"]["name"], "web");
        assert_eq!(object["spec"]["components"][0]["properties"]["image"], "nginx");
        let errors = read("app.cue", "apiVersion: \"v1\"\nkind: string\n").unwrap_err().to_string();
        assert!(errors.contains("app.cue: incomplete value string"), "{errors}");
    }

    #[test]
    fn a_broken_file_is_told_with_its_place() {
        let errors = read("my.cue", "x: {type: \"trait\"}\ntemplate: {").unwrap_err().to_string();
        assert!(errors.starts_with("my.cue:2:"), "{errors}");
        assert!(read("my.cue", "x: {}").unwrap_err().to_string().contains("no field `template`"));
        let errors = read("my.cue", "x: type: \"y\"\ntemplate: {}").unwrap_err().to_string();
        assert!(errors.contains("type \"y\" is not one of"), "{errors}");
    }
}

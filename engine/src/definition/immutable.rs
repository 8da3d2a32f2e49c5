//! Finds the parameters that never change once they are given (`// +immutable` above them).

use serde_json::Value as Json;
use vela_cue::ast::Decl;
use vela_cue::source::Sources;
use vela_cue::{Era, Source, parser};

use super::secret_parameters::{PARAMETERS, fields, label};

/// The mark above such a parameter.
const MARKER: &str = "+immutable";
/// The schema of such a parameter.
const SCHEMA_MARK: &str = "x-immutable";
/// Parameters that are nested deeper are not looked at.
const DEPTH_LIMIT: usize = 16;

/// Paths of the marked parameters of a template; what stands in one of them is not named again. None of a text that is no
/// CUE, which is told where it is compiled.
pub(super) fn immutable_parameters(template: &str, era: Era) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    if !template.contains(MARKER) {
        return found;
    }
    let source = Source::new("template", template).with_era(era);
    let mut sources = Sources::default();
    let (file, mistakes) = parser::parse(&source, sources.add(source.clone()));
    if mistakes.is_empty() {
        let parameters = file.decls.iter().filter(|decl| label(decl) == Some(PARAMETERS));
        parameters.for_each(|decl| marked_below(decl, &mut Vec::new(), &mut found));
    }
    found
}

fn marked_below(decl: &Decl, path: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    if path.len() == DEPTH_LIMIT {
        return;
    }
    for inner in fields(decl) {
        let Some(name) = label(inner) else { continue };
        path.push(name.to_owned());
        match is_marked(inner) {
            true => found.push(path.clone()),
            false => marked_below(inner, path, found),
        }
        path.pop();
    }
}

fn is_marked(decl: &Decl) -> bool {
    let lines = decl.comments.iter().flat_map(|group| &group.lines);
    lines.filter_map(|line| line.text.trim().strip_prefix("//")).any(|text| text.trim() == MARKER)
}

/// Says in the schema of the parameters which of them never change.
pub(super) fn mark(schema: &mut Json, paths: &[Vec<String>]) {
    for path in paths {
        let pointer: String = path.iter().map(|name| format!("/properties/{}", escaped(name))).collect();
        // A schema that does not list the parameter has no place for the mark.
        if let Some(fields) = schema.pointer_mut(&pointer).and_then(Json::as_object_mut) {
            fields.insert(SCHEMA_MARK.to_owned(), Json::Bool(true));
        }
    }
}

/// A name as a JSON pointer has it.
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn marked_parameters_are_found_at_any_depth() {
        let template = "output: {}\nparameter: {\n\t// +usage=Where\n\t// +immutable\n\tregion: string\n\tplain: int\n\
                        \tgovernance: {\n\t\t// +immutable\n\t\ttenant?: string\n\t\tteam: string\n\t}\n\
                        \t// +immutable\n\tdisk: {\n\t\t// +immutable\n\t\tsize: string\n\t}\n}\n";
        let found = immutable_parameters(template, Era::default());
        let paths: Vec<String> = found.iter().map(|path| path.join(".")).collect();
        assert_eq!(paths, ["region", "governance.tenant", "disk"]);
        assert!(immutable_parameters("parameter: {a: string}", Era::default()).is_empty());
        assert!(immutable_parameters("// +immutable\nparameter: {", Era::default()).is_empty());
        assert!(immutable_parameters("// +immutable\noutput: {a: 1}", Era::default()).is_empty());
    }

    #[test]
    fn a_schema_says_what_never_changes() {
        let mut schema =
            json!({"properties": {"a/b": {"type": "object", "properties": {"c": {"type": "string"}}}}});
        let path = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        mark(&mut schema, &[path(&["a/b", "c"]), path(&["absent"]), path(&["a/b", "c", "d"])]);
        assert_eq!(
            schema["properties"]["a/b"]["properties"]["c"],
            json!({"type": "string", "x-immutable": true})
        );
        assert!(schema["properties"]["a/b"]["x-immutable"].is_null());
    }
}

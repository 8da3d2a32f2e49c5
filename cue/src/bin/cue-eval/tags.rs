//! `-t key=value` in; the fields marked `@tag(key)` set in the sources out.

use super::failure::Failure;
use vela_cue::ast::{DeclKind, Field, visit};
use vela_cue::source::FileId;
use vela_cue::{Source, literal, parser};

/// Sets the marked fields: their value is unified with the given one.
pub(crate) fn inject(sources: &mut [Source], tags: &[String]) -> Result<(), Failure> {
    let mut used = vec![false; tags.len()];
    for source in sources.iter_mut().filter(|source| source.name.ends_with(".cue") || source.name == "-") {
        if !source.text.contains("@tag(") {
            continue;
        }
        let (mut file, _) = parser::parse(source, FileId(0));
        let mut finder = Finder { tags, used: &mut used, edits: Vec::new(), failure: None };
        visit::walk_file::<Finder<'_>>(&mut finder, &mut file);
        if let Some(message) = finder.failure {
            return Err(Failure::Message(format!("{}: {message}", source.name)));
        }
        let mut edits = finder.edits;
        edits.sort_by_key(|edit| std::cmp::Reverse(edit.0));
        for (at, text) in edits {
            source.text.insert_str(at, &text);
        }
    }
    match used.iter().position(|used| !used) {
        Some(index) => {
            let tag = tags.get(index).map_or("", String::as_str);
            Err(Failure::Message(format!(
                "no field is marked @tag({})",
                tag.split('=').next().unwrap_or(tag)
            )))
        }
        None => Ok(()),
    }
}

struct Finder<'a> {
    tags: &'a [String],
    used: &'a mut [bool],
    /// Texts to insert behind the values, by offset.
    edits: Vec<(usize, String)>,
    failure: Option<String>,
}

impl visit::Visitor for Finder<'_> {
    fn decl(&mut self, decl: &mut vela_cue::ast::Decl) {
        if let DeclKind::Field(field) = &decl.kind {
            self.field(field);
        }
        visit::walk_decl(self, decl);
    }
}

impl Finder<'_> {
    fn field(&mut self, field: &Field) {
        for attribute in &field.attributes {
            let body = attribute.text.strip_prefix("@tag(").and_then(|text| text.strip_suffix(')'));
            let Some(body) = body else { continue };
            let mut parts = body.split(',').map(str::trim);
            let key = parts.next().unwrap_or_default();
            let options: Vec<(&str, &str)> =
                parts.map(|part| part.split_once('=').unwrap_or((part, ""))).collect();
            let option = |name: &str| options.iter().find(|(n, _)| *n == name).map(|(_, value)| *value);
            for (index, tag) in self.tags.iter().enumerate() {
                let (name, value) = match tag.split_once('=') {
                    Some((name, value)) if name == key => (name, value),
                    // `-t short` for @tag(key,short=short|other).
                    None if option("short").is_some_and(|s| s.split('|').any(|word| word == tag)) => {
                        (key, tag.as_str())
                    }
                    None if tag == key => {
                        self.failure = Some(format!("tag {key} needs a value: write -t {key}=value"));
                        return;
                    }
                    _ => continue,
                };
                self.used[index] = true;
                match injected(value, option("type").unwrap_or("string")) {
                    Some(text) => {
                        self.edits.push((field.value.span.start as usize, "(".into()));
                        self.edits.push((field.value.span.end as usize, format!(") & {text}")));
                    }
                    None => {
                        self.failure = Some(format!("the value {value:?} of tag {name} has another type"))
                    }
                }
            }
        }
    }
}

/// A value in the words of the language.
fn injected(value: &str, kind: &str) -> Option<String> {
    match kind {
        "string" | "" => Some(literal::quote_string(value)),
        "int" | "number" => {
            literal::parse_number(value.trim_start_matches('-')).is_ok().then(|| value.to_owned())
        }
        "bool" => match value {
            "true" | "1" | "t" | "T" | "TRUE" | "True" => Some("true".into()),
            "false" | "0" | "f" | "F" | "FALSE" | "False" => Some("false".into()),
            _ => None,
        },
        _ => None,
    }
}

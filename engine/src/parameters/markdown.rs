//! Writes the description of parameters as Markdown: a table of fields, and one for every object inside them.

use std::fmt::Write as _;

use super::{Parameter, Parameters};

/// Markdown knows no deeper headings.
const DEEPEST_HEADING: usize = 6;

pub(super) fn render(parameters: &Parameters, level: usize) -> String {
    let mut out = String::new();
    if let Some(note) = &parameters.note {
        let _ = writeln!(out, "{note}\n");
    }
    let root = &parameters.root;
    if !root.children.is_empty() && root.type_ == "object" {
        section(root, "", level, &mut out);
    } else if root.type_ == "object" && parameters.note.is_none() && root.description.is_empty() {
        out.push_str("It takes no parameters.\n");
    } else if parameters.note.is_none() {
        let _ = writeln!(out, "`properties` is `{}`. {}\n", root.type_, escaped(&root.description));
        if !root.children.is_empty() {
            section(root, place("", root).as_str(), level, &mut out);
        }
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// The fields of one object, then the objects in it.
fn section(parameter: &Parameter, path: &str, level: usize, out: &mut String) {
    if !path.is_empty() {
        let _ = writeln!(out, "{} `{path}`\n", "#".repeat(level.clamp(1, DEEPEST_HEADING)));
    }
    if !parameter.one_of.is_empty() {
        let _ = writeln!(out, "Give {}.\n", one_of(parameter));
    }
    out.push_str("| Name | Type | Required | Default | Description |\n|---|---|---|---|---|\n");
    for child in &parameter.children {
        let default = child.default.as_ref().map_or_else(String::new, |value| format!("`{value}`"));
        let _ = writeln!(
            out,
            "| `{}` | {} | {} | {} | {} |",
            child.name,
            code(&child.type_),
            if child.required { "yes" } else { "" },
            default.replace('|', "\\|"),
            words(child),
        );
    }
    out.push('\n');
    for child in parameter.children.iter().filter(|child| !child.children.is_empty()) {
        let path = if path.is_empty() { child.name.clone() } else { format!("{path}.{}", child.name) };
        section(child, &place(&path, child), level, out);
    }
}

/// The separator between the name of a parameter and those of its children.
fn place(path: &str, parameter: &Parameter) -> String {
    match parameter.type_.as_str() {
        list if list.starts_with("[]") => format!("{path}[]"),
        map if map.starts_with("map[") => format!("{path}.NAME").trim_start_matches('.').to_owned(),
        _ => path.to_owned(),
    }
}

/// Description, values and rules in one cell.
fn words(parameter: &Parameter) -> String {
    let mut words = escaped(&parameter.description);
    let mut add = |text: String| {
        if !words.is_empty() {
            words.push_str("; ");
        }
        words.push_str(&text);
    };
    if !parameter.allowed.is_empty() {
        let values: Vec<String> = parameter.allowed.iter().map(|value| code(&value.to_string())).collect();
        add(format!("one of {}", values.join(", ")));
    }
    for rule in &parameter.rules {
        add(code(rule));
    }
    if let Some(condition) = &parameter.condition {
        add(format!("only if {}", code(condition)));
    }
    words
}

fn one_of(parameter: &Parameter) -> String {
    let set =
        |names: &Vec<String>| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" with ");
    parameter.one_of.iter().map(set).collect::<Vec<_>>().join(" or ")
}

fn code(text: &str) -> String {
    format!("`{}`", text.replace('|', "\\|"))
}

fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}

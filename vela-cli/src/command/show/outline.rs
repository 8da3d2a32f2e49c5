//! Prints the description of parameters as an outline, with nested fields indented.

use vela_engine::parameters::{Parameter, Parameters};

use crate::screen::{BOLD, DIM, styled, text_width, wrapped};

/// How much deeper children stand.
const STEP: usize = 2;

pub(in crate::command) fn render(parameters: &Parameters, width: usize) -> String {
    let root = &parameters.root;
    let mut out = String::new();
    if let Some(note) = &parameters.note {
        out.push_str(&format!("{}\n", wrapped(note, width)));
    }
    let is_plain = root.type_ == "object" && root.description.is_empty();
    if !is_plain {
        let text = format!("properties: {} {}", root.type_, root.description);
        out.push_str(&format!("{}\n", wrapped(text.trim_end(), width)));
    } else if root.children.is_empty() && parameters.note.is_none() {
        out.push_str("It takes no parameters.\n");
    }
    children(root, 0, width, &mut out);
    out
}

/// One parameter: its name and type on a line, then what it is for, then what is inside it.
fn entry(parameter: &Parameter, lead: &str, indent: usize, width: usize, out: &mut String) {
    let margin = " ".repeat(indent);
    let head = wrapped(&format!("{margin}{lead}{}  {}", parameter.name, facts(parameter)), width);
    let head = head.replacen(&parameter.name, &styled(BOLD, &parameter.name), 1);
    out.push_str(&format!("{head}\n"));
    let inner = indent + text_width(lead);
    if !parameter.description.is_empty() {
        let margin = " ".repeat(inner + 2 * STEP);
        for line in filled(&parameter.description, width.saturating_sub(margin.len())) {
            out.push_str(&format!("{margin}{}\n", styled(DIM, &line)));
        }
    }
    children(parameter, inner + STEP, width, out);
}

/// What is inside, as it is written in YAML: behind a dash for items of a list, below a name for values of a map.
fn children(parameter: &Parameter, mut indent: usize, width: usize, out: &mut String) {
    if parameter.children.is_empty() {
        return;
    }
    if !parameter.one_of.is_empty() {
        let sets: Vec<String> = parameter.one_of.iter().map(|names| names.join(" with ")).collect();
        let text = format!("{}give {}", " ".repeat(indent), sets.join(", or "));
        out.push_str(&format!("{}\n", wrapped(&text, width)));
    }
    let is_list = parameter.type_.starts_with("[]");
    if parameter.type_.starts_with("map[") {
        out.push_str(&format!("{}<name>:\n", " ".repeat(indent)));
        indent += STEP;
    }
    for (index, child) in parameter.children.iter().enumerate() {
        match (is_list, index) {
            (true, 0) => entry(child, "- ", indent, width, out),
            (true, _) => entry(child, "", indent + STEP, width, out),
            (false, _) => entry(child, "", indent, width, out),
        }
    }
}

/// Type, values and rules, in one line.
pub(in crate::command) fn facts(parameter: &Parameter) -> String {
    let mut facts = parameter.type_.clone();
    if !parameter.allowed.is_empty() {
        let values: Vec<String> = parameter.allowed.iter().map(ToString::to_string).collect();
        facts.push_str(&format!(", one of {}", values.join(" ")));
    }
    for rule in &parameter.rules {
        facts.push_str(&format!(", {rule}"));
    }
    if let Some(default) = &parameter.default {
        facts.push_str(&format!(", default {default}"));
    }
    if parameter.required {
        facts.push_str(", required");
    }
    if let Some(condition) = &parameter.condition {
        facts.push_str(&format!(", only if {condition}"));
    }
    facts
}

/// The words on lines of this width.
fn filled(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if text_width(line) + 1 + text_width(word) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use vela_engine::Definition;
    use vela_engine::parameters::parameters;

    use super::render;

    #[test]
    fn inner_parts_stand_where_written_and_long_texts_wrap() {
        let template = "parameter: {\n\t// +usage=Ports that are opened for everybody who asks\n\tports?: [...{\n\t\tport: int\n\t\t\
                        protocol: *\"TCP\" | \"UDP\"\n\t}]\n\tenv: [string]: {value: string}\n\
                        \tif ports != _|_ {host: string}\n}\n";
        let object = json!({
            "kind": "TraitDefinition", "metadata": {"name": "a"}, "spec": {"schematic": {"cue": {"template": template}}},
        });
        let described = parameters(&Definition::from_object(object).unwrap());
        let text = anstream::adapter::strip_str(&render(&described, 40)).to_string();
        let expected = "\
env  map[string]object
  <name>:
    value  string, required
ports  []object
    Ports that are opened for everybody
    who asks
  - port  int, required
    protocol  string, one of \"TCP\"
      \"UDP\", default \"TCP\"
host  string, required, only if ports !=
  _|_
";
        assert_eq!(text, expected);
    }
}

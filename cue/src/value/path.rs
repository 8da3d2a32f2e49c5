//! A path as people write it in; the names on the way out.

use crate::evaluate::Evaluation;
use crate::ir::Label;

/// The parts of a path; quoted parts may hold dots, `[0]` is an index.
pub(super) fn segments(path: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut current = String::new();
    let mut quoted = false;
    for c in path.chars() {
        match c {
            '"' => quoted = !quoted,
            '.' | '[' | ']' if !quoted => {
                if !current.is_empty() {
                    out.push(std::mem::take(&mut current));
                }
            }
            c => current.push(c),
        }
    }
    if !current.is_empty() {
        out.push(current);
    }
    out
}

pub(super) fn field_name(evaluation: &Evaluation, label: Label) -> String {
    let text = evaluation.label_text(label);
    text.split('\u{0}').next().unwrap_or("").to_owned()
}

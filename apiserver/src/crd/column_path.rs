//! The path of a printer column in, a compiled query out.

use jsonpath_rust::parser::model::JpQuery;
use jsonpath_rust::parser::parse_json_path;

/// Longest path of a printer column.
const PATH_MAX_BYTES: usize = 1024;

/// Compiles a printer column's path (`.spec.x`, `.metadata.labels.a\.b/c`); nothing if it is not understood.
pub(crate) fn compile_path(path: &str) -> Option<JpQuery> {
    if path.len() > PATH_MAX_BYTES {
        return None;
    }
    let mut out = String::from("$");
    let mut rest =
        path.trim().trim_start_matches('{').trim_end_matches('}').trim_start_matches('$').chars().peekable();
    // Names with escaped dots or characters that the standard's short form lacks are written in brackets.
    let mut name = String::new();
    let flush = |name: &mut String, out: &mut String| {
        if name.is_empty() {
            return;
        }
        if name == "*" {
            out.push_str("[*]");
        } else {
            let quoted = name.replace('\\', "\\\\").replace('\'', "\\'");
            out.push_str(&format!("['{quoted}']"));
        }
        name.clear();
    };
    while let Some(c) = rest.next() {
        match c {
            '\\' => name.extend(rest.next()),
            '.' => {
                flush(&mut name, &mut out);
                if rest.peek() == Some(&'.') {
                    rest.next();
                    out.push_str("..");
                }
            }
            '[' => {
                flush(&mut name, &mut out);
                out.push('[');
                let (mut depth, mut quote) = (1, None);
                for c in rest.by_ref() {
                    out.push(c);
                    match (quote, c) {
                        (Some(q), c) if c == q => quote = None,
                        (None, '\'' | '"') => quote = Some(c),
                        (None, '[') => depth += 1,
                        (None, ']') => depth -= 1,
                        _ => {}
                    }
                    if depth == 0 {
                        break;
                    }
                }
            }
            c => name.push(c),
        }
    }
    flush(&mut name, &mut out);
    parse_json_path(&out).ok()
}

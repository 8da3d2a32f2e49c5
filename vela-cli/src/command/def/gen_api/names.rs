//! Names of definitions and parameters → legal identifiers of TypeScript, Go and Python, each once.

use std::collections::HashSet;

/// The words of Python that are no identifiers.
const PYTHON: &[&str] = &[
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def",
    "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
    "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];
/// The words of Go that are no name of a package.
const GO: &[&str] = &[
    "break",
    "case",
    "chan",
    "const",
    "continue",
    "default",
    "defer",
    "else",
    "fallthrough",
    "for",
    "func",
    "go",
    "goto",
    "if",
    "import",
    "interface",
    "main",
    "map",
    "package",
    "range",
    "return",
    "select",
    "struct",
    "switch",
    "type",
    "var",
];

/// The identifiers of one scope.
#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    taken: HashSet<String>,
}

impl Names {
    /// With names that are taken already.
    pub(super) fn with(taken: &[&str]) -> Self {
        Self { taken: taken.iter().map(ToString::to_string).collect() }
    }

    /// The identifier, with a number where it is taken.
    pub(super) fn fresh(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        let mut number = 2_u64;
        // A scope has finitely many names, so that one of these is free.
        while !self.taken.insert(name.clone()) {
            name = format!("{wanted}{number}");
            number += 1;
        }
        name
    }
}

/// `my-trait` as `MyTrait`: legal in all three languages.
pub(super) fn pascal(name: &str) -> String {
    let mut out = String::new();
    for word in name.split(|c: char| !c.is_ascii_alphanumeric()) {
        let mut characters = word.chars();
        out.extend(characters.next().map(|first| first.to_ascii_uppercase()));
        out.push_str(characters.as_str());
    }
    if out.starts_with(|c: char| c.is_ascii_alphabetic()) { out } else { format!("X{out}") }
}

/// `MyTrait` as `myTrait`.
pub(super) fn lower_first(name: &str) -> String {
    let mut characters = name.chars();
    let first: String = characters.next().map(|first| first.to_ascii_lowercase()).into_iter().collect();
    first + characters.as_str()
}

/// The field of a Python class, as near to the parameter as Python allows. It never begins with `_`: such names are those of
/// the generated file itself.
pub(super) fn python(name: &str) -> String {
    let legal: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let legal = legal.trim_start_matches('_');
    match legal {
        _ if PYTHON.contains(&legal) => format!("{legal}_"),
        _ if legal.starts_with(|c: char| c.is_ascii_alphabetic()) => legal.to_owned(),
        _ => format!("x{legal}"),
    }
}

/// The name of a Python function.
pub(super) fn snake(name: &str) -> String {
    python(&name.to_ascii_lowercase())
}

/// May a property of TypeScript stand without quotes?
pub(super) fn is_plain(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// May it be the name of a field in a tag of Go, which reads no others?
pub(super) fn is_tag(name: &str) -> bool {
    let is_legal = |c: char| c.is_ascii_alphanumeric() || "!#$%&()*+-./:;<=>?@[]^_{|}~ ".contains(c);
    !name.is_empty() && name != "-" && name.chars().all(is_legal)
}

/// Is it the name of a package of Go?
pub(super) fn is_package(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
        && !GO.contains(&name)
}

/// A text as a literal, in the escapes that all three languages read.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            // Ends of lines, marks and controls that a source does not hold.
            c if c.is_control() || matches!(c, '\u{feff}' | '\u{2028}' | '\u{2029}') => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A text as one line of a comment.
pub(super) fn comment(text: &str) -> String {
    let is_kept = |c: &char| !c.is_control() && !matches!(c, '\u{feff}' | '\u{2028}' | '\u{2029}');
    let words: Vec<String> =
        text.split_whitespace().map(|word| word.chars().filter(is_kept).collect()).collect();
    words.join(" ").replace("*/", "* /")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_becomes_a_legal_identifier() {
        for (name, pascals, pythons) in [
            ("livenessProbe", "LivenessProbe", "livenessProbe"),
            ("my-trait", "MyTrait", "my_trait"),
            ("class", "Class", "class_"),
            ("3d", "X3d", "x3d"),
            ("_private", "Private", "private"),
            ("__class__", "Class", "class__"),
            ("", "X", "x"),
            ("ä/ö", "X", "x"),
            ("None", "None", "None_"),
        ] {
            assert_eq!((pascal(name).as_str(), python(name).as_str()), (pascals, pythons), "{name}");
        }
        let mut names = Names::with(&["A"]);
        assert_eq!(["A", "A", "B"].map(|name| names.fresh(name)), ["A2", "A3", "B"]);
        assert!(is_package("vela2") && !is_package("go") && !is_package("a-b") && !is_package(""));
        assert!(is_plain("a_b") && !is_plain("a-b") && !is_plain("1a") && !is_plain(""));
        assert!(is_tag("a-b") && !is_tag("a,b") && !is_tag("a`b") && !is_tag("a\"b"));
    }

    #[test]
    fn no_text_leaves_its_literal_or_comment() {
        assert_eq!(quoted("a\"b\\c\n\u{2028}\u{1}"), "\"a\\\"b\\\\c\\n\\u2028\\u0001\"");
        assert_eq!(comment("a\n*/ b\r\u{2028}c\u{1}"), "a * / b c");
    }
}

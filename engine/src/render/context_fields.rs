//! Finds the fields of `context` that a template can read; what it cannot read need not be computed.

/// The field of the context that a template reads.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ContextFields {
    /// Any field: the text uses `context` in some other way than `context.name`.
    Everything,
    /// These fields, each with its path (`context.name`).
    Fields(Vec<(String, String)>),
}

impl ContextFields {
    /// Looks at every `context` in the text. Comments and strings are looked at too: at worst too much is made.
    pub(super) fn of(text: &str) -> Self {
        const WORD: &str = "context";
        let mut fields: Vec<(String, String)> = Vec::new();
        for after in behind(text, WORD) {
            let name = after.strip_prefix('.').map(|rest| {
                let end = rest.find(|c| !in_word(c)).unwrap_or(rest.len());
                &rest[..end]
            });
            match name {
                Some(name) if !name.is_empty() => {
                    if !fields.iter().any(|(known, _)| known == name) {
                        fields.push((name.to_owned(), format!("{WORD}.{name}")));
                    }
                }
                _ => return Self::Everything,
            }
        }
        Self::Fields(fields)
    }

    /// Whether the field can be asked for.
    pub(super) fn includes(&self, name: &str) -> bool {
        match self {
            Self::Everything => true,
            Self::Fields(fields) => fields.iter().any(|(known, _)| known == name),
        }
    }
}

fn in_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '#' | '$')
}

/// The text behind each use of a word. `a.word` is a field of something else, `words` another word.
fn behind<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = &'a str> {
    text.match_indices(word).filter_map(move |(at, _)| {
        let (before, after) = (text[..at].chars().next_back(), &text[at + word.len()..]);
        let other = before.is_some_and(|c| in_word(c) || c == '.') || after.starts_with(in_word);
        (!other).then_some(after)
    })
}

/// Whether the text may read the field of that name at all, and not only declare it.
pub(super) fn reads(text: &str, field: &str) -> bool {
    behind(text, field).any(|after| !after.trim_start().trim_start_matches(['?', '!']).starts_with(':'))
}

#[cfg(test)]
mod tests {
    use super::{ContextFields, reads};

    #[test]
    fn a_declaration_alone_reads_nothing() {
        for text in ["parameter: {}", "a: 1\nparameter?: {x: int}", "a: b.parameter, parameters: 1"] {
            assert!(!reads(text, "parameter"), "{text}");
        }
        for text in ["parameter: {}\noutput: parameter", "a: parameter.b", "if parameter[\"x\"] != _|_ {}"] {
            assert!(reads(text, "parameter"), "{text}");
        }
    }

    fn fields(text: &str) -> Option<Vec<String>> {
        match ContextFields::of(text) {
            ContextFields::Everything => None,
            ContextFields::Fields(fields) => Some(fields.into_iter().map(|(name, _)| name).collect()),
        }
    }

    #[test]
    fn only_selections_narrow_what_is_asked() {
        let some = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(
            fields(r#"a: context.name, b: "\(context.output.spec.x)-\(context.name)""#),
            some(&["name", "output"])
        );
        assert_eq!(fields("securityContext: parameter.context, contexts: 1, _context: 2"), some(&[]));
        for text in [
            "a: context[\"name\"]",
            "a: context",
            "let c = context",
            "context: name: string",
            "context.\"x\"",
        ] {
            assert_eq!(fields(text), None, "{text}");
        }
        assert!(ContextFields::of("context.output").includes("output"));
        assert!(!ContextFields::of("context.outputs").includes("output"));
    }
}

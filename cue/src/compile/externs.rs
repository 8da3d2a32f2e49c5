//! The attributes `@extern(kind)` of a file in; a mistake for each that asks for values without a provider.
//!
//! Such values come from the program around the evaluator. It knows none of these programs, so that a field marked for one
//! would silently stay without its value if the attribute were read over.

use super::Compiler;
use crate::{
    ast::{Attribute, DeclKind, File},
    diagnostic::{Code, Diagnostic},
    literal,
    source::Span,
};

/// The kind whose values are files beside the text.
const EMBED: &str = "embed";

impl Compiler<'_> {
    pub(super) fn externs(&mut self, file: &File) {
        let clause = file.package.as_ref().map(|package| package.position);
        let (mut early, mut late) = (Vec::new(), Vec::new());
        for (at, decl) in file.decls.iter().enumerate() {
            if let DeclKind::Attribute(attribute) = &decl.kind
                && let Some(body) = body(attribute)
            {
                let stands_before = clause.is_none_or(|clause| at < clause);
                let list = if stands_before { &mut early } else { &mut late };
                list.push((body, attribute.span));
            }
        }
        if early.is_empty() {
            for (_, span) in late {
                self.error(Code::Syntax, "@extern must stand before the package clause", span);
            }
            return;
        }
        let before = self.diagnostics.len();
        let kinds = self.kinds(&early);
        if clause.is_none() {
            for (_, span) in early {
                self.error(Code::Syntax, "@extern needs a package clause behind it", span);
            }
        }
        if self.diagnostics.len() == before {
            kinds.into_iter().for_each(|(kind, span)| self.refuse_kind(&kind, span));
        }
    }

    /// The kinds asked for, each once.
    fn kinds(&mut self, attributes: &[(&str, Span)]) -> Vec<(String, Span)> {
        let mut kinds: Vec<(String, Span)> = Vec::new();
        for (body, span) in attributes {
            let kind = first_argument(body);
            if kind.is_empty() {
                self.error(
                    Code::Syntax,
                    "@extern must name what gives the values, as in @extern(embed)",
                    *span,
                );
            } else if kinds.iter().any(|(known, _)| *known == kind) {
                self.error(Code::Redeclared, format!("@extern({kind}) stands twice in this file"), *span);
            } else {
                kinds.push((kind, *span));
            }
        }
        kinds
    }

    fn refuse_kind(&mut self, kind: &str, span: Span) {
        let (message, hint) = if kind == EMBED {
            let hint =
                "cue-eval embeds files when it is given the folder of the package instead of its files";
            ("cannot embed files: the evaluator reads none".to_owned(), hint)
        } else {
            (format!("no injection defined for {kind:?}"), "remove @extern and write the values themselves")
        };
        self.diagnostics.push(Diagnostic::new(Code::Import, message, span).with_hint(Some(hint.into())));
    }
}

/// The text between the parentheses of `@extern(…)`.
fn body(attribute: &Attribute) -> Option<&str> {
    attribute.text.strip_prefix("@extern(")?.strip_suffix(')')
}

/// The first argument, without its quotes where it is one string.
fn first_argument(body: &str) -> String {
    let mut quoted = false;
    let end = body.find(|c: char| {
        quoted ^= c == '"';
        c == ',' && !quoted
    });
    let argument = body[..end.unwrap_or(body.len())].trim();
    match literal::unquote(argument) {
        Ok((_, bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(_) => argument.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use crate::{Source, Template};

    fn mistakes(text: &str) -> Vec<String> {
        match Template::compile(&[Source::new("a.cue", text)]) {
            Ok(_) => Vec::new(),
            Err(found) => found.to_string().lines().map(str::to_owned).collect(),
        }
    }

    #[test]
    fn an_unprovided_kind_is_refused_with_its_place() {
        assert_eq!(
            mistakes("@extern(\"wasm\")\n@extern(other, x=\"a,b\")\npackage p\nf: _ @wasm(\"x.wasm\")\n"),
            ["a.cue:1:1: no injection defined for \"wasm\"", "a.cue:2:1: no injection defined for \"other\""]
        );
        assert_eq!(
            mistakes("@extern(embed)\npackage p\na: _ @embed(file=\"b.json\")\n"),
            ["a.cue:1:1: cannot embed files: the evaluator reads none"]
        );
    }

    #[test]
    fn a_wrong_attribute_is_told_before_what_it_asks_for() {
        for (text, place, words) in [
            ("@extern(a)\n@extern(\"a\")\npackage p\n", "a.cue:2:1", "twice"),
            ("@extern()\npackage p\n", "a.cue:1:1", "must name"),
            ("package p\n@extern(a)\n", "a.cue:2:1", "before the package clause"),
            ("@extern(a)\nx: 1\n", "a.cue:1:1", "needs a package clause"),
        ] {
            let found = mistakes(text);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert!(found[0].starts_with(place) && found[0].contains(words), "{text}: {found:?}");
        }
    }

    #[test]
    fn attributes_of_others_are_read_over() {
        assert_eq!(
            mistakes("@external(x)\npackage p\n@other()\nx: 1 @embed(file=\"a\")\n"),
            Vec::<String>::new()
        );
    }
}

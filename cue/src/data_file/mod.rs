//! A text of JSON, YAML or TOML in; syntax with the places and comments of that text out.
//!
//! The content of a data file is one more conjunct beside the CUE files it is given with, so a mistake in it is told
//! with its own file, line and column.

pub(crate) mod tree;

use std::ops::Range;

pub use crate::source::Format;
use crate::{
    ast::{Decl, DeclKind, File},
    diagnostic::{Code, Diagnostic},
    packages, parser,
    source::{FileId, Source, Span},
};
use tree::{Member, Node, Tree};

/// How many YAML documents a source holds; all other formats hold one value.
///
/// # Errors
/// The first mistake of a YAML text.
pub fn documents(source: &Source) -> Result<usize, Diagnostic> {
    match source.format {
        Format::Yaml => match packages::yaml_tree(&source.text) {
            Ok(documents) => Ok(documents.len()),
            Err((at, message)) => Err(mistake(FileId(0), &source.text, at, "YAML", &message)),
        },
        _ => Ok(1),
    }
}

/// The syntax of a source, whatever its format, and every mistake that was found.
pub fn parse(source: &Source, id: FileId) -> (File, Vec<Diagnostic>) {
    let text = source.text.as_str();
    let read = match source.format {
        Format::Cue => return parser::parse(source, id),
        // JSON is CUE: once it is known to be JSON, its text is read as it stands.
        Format::Json => match packages::json_check(text.as_bytes()) {
            Ok(()) => return parser::parse(source, id),
            Err((at, message)) => Err((at, "JSON", message)),
        },
        Format::Yaml | Format::YamlDocument(_) => packages::yaml_tree(text)
            .map(|documents| chosen(documents, source.format))
            .map_err(|(at, message)| (at, "YAML", message)),
        Format::Toml => packages::toml_tree(text)
            .map(|root| vec![toml(root, text)])
            .map_err(|(at, message)| (at, "TOML", message)),
    };
    let mut file = File { id, ..File::default() };
    match read {
        Ok(documents) => {
            for document in documents {
                file.decls.extend(declared(document, id));
            }
            (file, Vec::new())
        }
        Err((at, format, message)) => (file, vec![mistake(id, text, at, format, &message)]),
    }
}

fn mistake(id: FileId, text: &str, at: usize, format: &str, message: &str) -> Diagnostic {
    let at = at.min(text.len());
    let end = text.get(at..).and_then(|rest| rest.chars().next()).map_or(at, |c| at + c.len_utf8());
    Diagnostic::new(Code::Syntax, format!("invalid {format}: {message}"), Span::new(id, at, end))
}

fn chosen(mut documents: Vec<Node>, format: Format) -> Vec<Node> {
    match format {
        Format::YamlDocument(number) if number < documents.len() => vec![documents.swap_remove(number)],
        Format::YamlDocument(_) => Vec::new(),
        _ if documents.is_empty() => {
            vec![Node::new(0..0, Tree::Scalar(packages::Data::Null))]
        }
        _ => documents,
    }
}

/// The fields of a document stand at the root of the file; any other value is the file's.
fn declared(document: Node, id: FileId) -> Vec<Decl> {
    match document.value {
        Tree::Struct(fields) if !fields.is_empty() => tree::decls(fields, id),
        _ => {
            let value = document.into_expr(id);
            vec![Decl {
                span: value.span,
                kind: DeclKind::Embed(value),
                comments: Vec::new(),
                blank_before: false,
            }]
        }
    }
}

/// A tree of TOML; its reader knows only where things begin.
fn toml(node: packages::TomlNode, text: &str) -> Node {
    let at = token(text, node.at);
    let value = match node.value {
        packages::TomlValue::Scalar(data) => Tree::Scalar(data),
        packages::TomlValue::List(items) => {
            Tree::List(items.into_iter().map(|item| toml(item, text)).collect())
        }
        packages::TomlValue::Table(fields) => Tree::Struct(
            fields
                .into_iter()
                .map(|field| Member {
                    at: token(text, field.at),
                    name: field.name,
                    value: toml(field.value, text),
                    words: tree::Words::default(),
                })
                .collect(),
        ),
    };
    Node::new(at, value)
}

/// The bytes of the name or scalar that begins at an offset.
fn token(text: &str, at: usize) -> Range<usize> {
    let rest = text.get(at..).unwrap_or("");
    let length = match rest.chars().next() {
        Some(quote @ ('"' | '\'')) => rest[1..].find(quote).map_or(1, |end| end + 2),
        _ => rest
            .find(|c: char| c.is_whitespace() || matches!(c, '=' | '.' | ',' | ']' | '}' | '#'))
            .unwrap_or(rest.len()),
    };
    at..at + length
}

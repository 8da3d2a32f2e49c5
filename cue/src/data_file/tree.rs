//! Values of a data text with their places in; syntax with the same places and comments out.

use std::ops::Range;

use crate::{
    ast::{
        Comment, CommentGroup, CommentPlace, Decl, DeclKind, Expr, ExprKind, Field, Label, LabelKind,
        ListLit, LiteralKind, StructLit, UnaryOp,
    },
    literal,
    packages::Data,
    source::{FileId, Span},
};

/// A value and the bytes where it is written.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Its bytes in the text.
    pub at: Range<usize>,
    /// The value.
    pub value: Tree,
    /// The words about it, where it is an element of a list.
    pub words: Words,
}

/// The content of a node.
#[derive(Debug, Clone, PartialEq)]
pub enum Tree {
    /// Anything but a list or struct.
    Scalar(Data),
    /// Elements in order.
    List(Vec<Node>),
    /// Fields in order.
    Struct(Vec<Member>),
}

/// A field.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// The bytes of the name.
    pub at: Range<usize>,
    /// Its value.
    pub value: Node,
    /// The words about it.
    pub words: Words,
}

/// Comments about a field or element, without their `#`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Words {
    /// Those on the lines above.
    pub above: Vec<(String, Range<usize>)>,
    /// The one behind it on its line.
    pub behind: Option<(String, Range<usize>)>,
}

impl Node {
    pub(crate) fn new(at: Range<usize>, value: Tree) -> Self {
        Self { at, value, words: Words::default() }
    }

    /// The data without its places.
    pub fn into_data(self) -> Data {
        match self.value {
            Tree::Scalar(data) => data,
            Tree::List(items) => Data::List(items.into_iter().map(Self::into_data).collect()),
            Tree::Struct(fields) => {
                Data::Struct(fields.into_iter().map(|f| (f.name, f.value.into_data())).collect())
            }
        }
    }

    /// The same as syntax of a file.
    pub(super) fn into_expr(self, file: FileId) -> Expr {
        let span = Span::new(file, self.at.start, self.at.end);
        let comments = self.words.into_groups(file);
        let kind = match self.value {
            Tree::Scalar(data) => scalar(&data, span),
            Tree::List(items) => ExprKind::List(ListLit {
                elements: items.into_iter().map(|item| item.into_expr(file)).collect(),
                ..Default::default()
            }),
            Tree::Struct(fields) => {
                ExprKind::Struct(StructLit { decls: decls(fields, file), braces: true, ..Default::default() })
            }
        };
        Expr { comments, ..Expr::new(span, kind) }
    }
}

impl Words {
    fn into_groups(self, file: FileId) -> Vec<CommentGroup> {
        let comment = |(text, at): (String, Range<usize>)| Comment {
            span: Span::new(file, at.start, at.end),
            text: format!("//{text}"),
        };
        let group = |place, lines: Vec<Comment>| CommentGroup { place, lines, blank_before: false };
        let mut groups = Vec::new();
        if !self.above.is_empty() {
            groups.push(group(CommentPlace::Doc, self.above.into_iter().map(comment).collect()));
        }
        groups.extend(self.behind.map(|line| group(CommentPlace::Line, vec![comment(line)])));
        groups
    }
}

/// The fields of a struct or of a whole file.
pub(super) fn decls(fields: Vec<Member>, file: FileId) -> Vec<Decl> {
    let decl = |field: Member| {
        let label = Span::new(file, field.at.start, field.at.end);
        let value = field.value.into_expr(file);
        Decl {
            span: label.to(value.span),
            kind: DeclKind::Field(Field {
                alias: None,
                label: Label { span: label, kind: LabelKind::String(literal::quote_string(&field.name)) },
                postfix_alias: None,
                constraint: None,
                colon: Span::NONE,
                value,
                attributes: Vec::new(),
            }),
            comments: field.words.into_groups(file),
            blank_before: false,
        }
    };
    fields.into_iter().map(decl).collect()
}

fn scalar(data: &Data, span: Span) -> ExprKind {
    match data {
        Data::Bool(value) => ExprKind::Literal(LiteralKind::Bool, value.to_string()),
        Data::Number { value, is_float } => {
            let kind = if *is_float { LiteralKind::Float } else { LiteralKind::Int };
            if value.is_negative() {
                let positive = Expr::new(span, ExprKind::Literal(kind, value.neg().to_cue(*is_float)));
                return ExprKind::Unary(UnaryOp::Minus, Box::new(positive));
            }
            ExprKind::Literal(kind, value.to_cue(*is_float))
        }
        Data::String(text) => ExprKind::Literal(LiteralKind::String, literal::quote_string(text)),
        Data::Bytes(bytes) => ExprKind::Literal(LiteralKind::Bytes, literal::quote_bytes(bytes)),
        // Lists and structs are trees of their own; a value of the evaluator never comes from a text.
        Data::Null | Data::List(_) | Data::Struct(_) | Data::Opaque(_) => {
            ExprKind::Literal(LiteralKind::Null, "null".into())
        }
    }
}

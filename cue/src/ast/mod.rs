//! The syntax tree of CUE: what the parser makes and the formatter prints, with spans and comments.

mod operator;
pub mod visit;

use crate::source::{FileId, Span};
pub use operator::{BinaryOp, UnaryOp};

/// A line of a comment, with its `//`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// Where it stands.
    pub span: Span,
    /// The text with the leading `//`.
    pub text: String,
}

/// Where a group of comments stands relative to its node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommentPlace {
    /// On the lines right above the node.
    Doc,
    /// Above the node, parted from it by an empty line.
    Above,
    /// Behind the node on its last line.
    Line,
    /// Inside, before the closing bracket or at the end of the file.
    Inside,
}

/// Comments on successive lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommentGroup {
    /// Where it belongs.
    pub place: CommentPlace,
    /// Its lines.
    pub lines: Vec<Comment>,
    /// Whether an empty line stands before it.
    pub blank_before: bool,
}

/// The comments of a node.
pub type Comments = Vec<CommentGroup>;

/// One file.
#[derive(Debug, Clone, Default)]
pub struct File {
    /// Its id.
    pub id: FileId,
    /// `package name`.
    pub package: Option<Package>,
    /// Declarations in order, imports and attributes among them.
    pub decls: Vec<Decl>,
    /// Comments at the end of the file, or before the package clause.
    pub comments: Comments,
}

/// A package clause.
#[derive(Debug, Clone)]
pub struct Package {
    /// The whole clause.
    pub span: Span,
    /// The name.
    pub name: Ident,
    /// Index in [`File::decls`] before which the clause stands (attributes may come first).
    pub position: usize,
    /// Its comments.
    pub comments: Comments,
}

/// An identifier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ident {
    /// Where it stands.
    pub span: Span,
    /// The text.
    pub name: String,
}

/// A declaration in a file or struct.
#[derive(Debug, Clone)]
pub struct Decl {
    /// The whole declaration.
    pub span: Span,
    /// Its kind.
    pub kind: DeclKind,
    /// Its comments.
    pub comments: Comments,
    /// Whether an empty line stands before it (its comments included).
    pub blank_before: bool,
}

/// The kinds of declarations.
#[derive(Debug, Clone)]
pub enum DeclKind {
    /// `label: value`.
    Field(Field),
    /// An embedded expression, comprehensions included.
    Embed(Expr),
    /// `let name = value`.
    Let(Let),
    /// `name = value`, an alias of old.
    Alias(Let),
    /// `...` or `...T`.
    Ellipsis(Option<Expr>),
    /// `@name(body)`.
    Attribute(Attribute),
    /// `import (…)`.
    Import(Import),
    /// A part that could not be parsed.
    Bad,
}

/// `@name(body)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribute {
    /// Where it stands.
    pub span: Span,
    /// The text, `@` and parentheses included.
    pub text: String,
}

/// An import declaration.
#[derive(Debug, Clone)]
pub struct Import {
    /// Whether the specs stand in parentheses.
    pub parenthesized: bool,
    /// The specs.
    pub specs: Vec<ImportSpec>,
    /// Where the closing parenthesis stands.
    pub close: Span,
}

/// One imported package.
#[derive(Debug, Clone)]
pub struct ImportSpec {
    /// The whole spec.
    pub span: Span,
    /// The local name.
    pub name: Option<Ident>,
    /// The path, unquoted.
    pub path: String,
    /// The path as written.
    pub text: String,
    /// Its comments.
    pub comments: Comments,
}

/// `?` or `!` behind a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Constraint {
    /// `?`
    Optional,
    /// `!`
    Required,
}

/// A field.
#[derive(Debug, Clone)]
pub struct Field {
    /// `X=` before the label.
    pub alias: Option<Ident>,
    /// The label.
    pub label: Label,
    /// `~X` or `~(K,V)` behind the label.
    pub postfix_alias: Option<PostfixAlias>,
    /// `?` or `!`.
    pub constraint: Option<Constraint>,
    /// Where the colon stands.
    pub colon: Span,
    /// The value. `a: b: 1` is a struct without braces ([`StructLit::braces`] is false).
    pub value: Expr,
    /// Attributes behind the value.
    pub attributes: Vec<Attribute>,
}

/// `~X` or `~(K,V)`.
#[derive(Debug, Clone)]
pub struct PostfixAlias {
    /// Where it stands.
    pub span: Span,
    /// Whether it is written with two names; either may be `_`.
    pub pair: bool,
    /// `K` of `~(K,V)`.
    pub key: Option<Ident>,
    /// The name of the field.
    pub value: Option<Ident>,
}

/// A label.
#[derive(Debug, Clone)]
pub struct Label {
    /// Where it stands.
    pub span: Span,
    /// Its kind.
    pub kind: LabelKind,
}

/// The kinds of labels.
#[derive(Debug, Clone)]
pub enum LabelKind {
    /// `a`, `#a`, `_a`, `_#a`.
    Ident(String),
    /// A quoted string, as written.
    String(String),
    /// `"\(x)"`.
    Interpolation(Box<Expr>),
    /// `(x)`.
    Dynamic(Box<Expr>),
    /// `[x]` or `[X=x]`.
    Pattern {
        /// `X` of `[X=x]`.
        alias: Option<Ident>,
        /// The pattern of labels.
        expr: Box<Expr>,
    },
}

/// `let name = value`.
#[derive(Debug, Clone)]
pub struct Let {
    /// The name.
    pub name: Ident,
    /// The value.
    pub value: Box<Expr>,
}

/// An expression.
#[derive(Debug, Clone)]
pub struct Expr {
    /// The whole expression.
    pub span: Span,
    /// Its kind.
    pub kind: ExprKind,
    /// Comments that belong to it (elements of lists, operands on their own line).
    pub comments: Comments,
}

impl Expr {
    /// An expression without comments.
    pub fn new(span: Span, kind: ExprKind) -> Self {
        Self { span, kind, comments: Vec::new() }
    }
}

/// The kind of literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LiteralKind {
    /// `1`, `0x1F`, `1Ki`.
    Int,
    /// `1.5`, `1e3`.
    Float,
    /// `"…"` in any form.
    String,
    /// `'…'` in any form.
    Bytes,
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool,
}

/// The kinds of expressions.
#[derive(Debug, Clone)]
pub enum ExprKind {
    /// A part that could not be parsed.
    Bad,
    /// A name.
    Ident(String),
    /// `_|_`.
    Bottom,
    /// A literal, its text as written.
    Literal(LiteralKind, String),
    /// A string or bytes with `\(…)`.
    Interpolation(Interpolation),
    /// `{…}`.
    Struct(StructLit),
    /// `[…]`.
    List(ListLit),
    /// `...` or `...T` in a list.
    Ellipsis(Option<Box<Expr>>),
    /// `op x`.
    Unary(UnaryOp, Box<Expr>),
    /// `x op y`.
    Binary(BinaryOp, Span, Box<Expr>, Box<Expr>),
    /// `(x)`.
    Paren(Box<Expr>),
    /// `x.label`.
    Selector(Box<Expr>, Label),
    /// `x[i]`.
    Index(Box<Expr>, Box<Expr>),
    /// `x[low:high]`.
    Slice(Box<Expr>, Option<Box<Expr>>, Option<Box<Expr>>),
    /// `f(a, b)`.
    Call(Box<Expr>, Vec<Expr>),
    /// `X=value`.
    Alias(Ident, Box<Expr>),
    /// `x...`, an explicitly opened value.
    Open(Box<Expr>),
    /// `x?` within a `try` clause.
    Try(Box<Expr>),
    /// `for … if … {…}` in a struct or list.
    Comprehension(Box<Comprehension>),
}

/// A string or bytes with interpolations.
#[derive(Debug, Clone)]
pub struct Interpolation {
    /// The opening quotes as written, `#"""` for instance.
    pub open: String,
    /// Text and expressions in turn; the first and the last are texts (raw, without quotes).
    pub parts: Vec<InterpolationPart>,
    /// The closing quotes.
    pub close: String,
}

/// A part of an interpolation.
#[derive(Debug, Clone)]
pub enum InterpolationPart {
    /// Raw text between quotes and expressions.
    Text(Span, String),
    /// `\(x)`.
    Expr(Expr),
}

/// A struct.
#[derive(Debug, Clone, Default)]
pub struct StructLit {
    /// Whether it is written with braces.
    pub braces: bool,
    /// Its declarations.
    pub decls: Vec<Decl>,
    /// Comments before the closing brace; those of the struct itself and not of its last declaration are not `Inside`.
    pub comments: Comments,
    /// Where the closing brace stands.
    pub close: Span,
}

/// A list.
#[derive(Debug, Clone, Default)]
pub struct ListLit {
    /// Elements, comprehensions and at most one last ellipsis.
    pub elements: Vec<Expr>,
    /// Comments before the closing bracket.
    pub comments: Comments,
    /// Where the closing bracket stands.
    pub close: Span,
}

/// Clauses and a value.
#[derive(Debug, Clone)]
pub struct Comprehension {
    /// `for`, `if`, `let` and `try`.
    pub clauses: Vec<Clause>,
    /// The struct that is yielded.
    pub value: Expr,
    /// `else {…}` or `fallback {…}`.
    pub fallback: Option<Fallback>,
}

/// `else {…}` or `fallback {…}`.
#[derive(Debug, Clone)]
pub struct Fallback {
    /// The word used.
    pub keyword: Ident,
    /// The struct.
    pub value: Expr,
}

/// A clause.
#[derive(Debug, Clone)]
pub struct Clause {
    /// The whole clause.
    pub span: Span,
    /// Its kind.
    pub kind: ClauseKind,
    /// Its comments.
    pub comments: Comments,
}

/// The kinds of clauses.
#[derive(Debug, Clone)]
pub enum ClauseKind {
    /// `for k, v in source`.
    For {
        /// `k`.
        key: Option<Ident>,
        /// `v`.
        value: Ident,
        /// The range.
        source: Expr,
    },
    /// `if condition`.
    If(Expr),
    /// `let name = value`.
    Let(Let),
    /// `try` or `try x = value`.
    Try(Option<Let>),
}

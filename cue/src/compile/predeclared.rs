//! A name in; what it stands for out: a name in scope, an import, or a word of the language.

use super::{Compiler, Imported, scope::Scope};
use crate::{
    ast::UnaryOp,
    diagnostic::{Code, Diagnostic},
    ir::{Atom, Builtin, Callee, Expr},
    literal, nearest,
    packages::{self, Kinds},
    source::Span,
};

/// Names that every file knows, for hints.
const PREDECLARED: [&str; 14] = [
    "string", "bytes", "bool", "int", "float", "number", "uint", "len", "close", "and", "or", "div", "mod",
    "error",
];

impl Compiler<'_> {
    pub(super) fn ident(&mut self, name: &str, span: Span) -> Expr {
        if name == "_" {
            return Expr::Top;
        }
        if let Some(expr) = self.resolve(name, span) {
            return expr;
        }
        if let Some(import) = self.imports.get_mut(name) {
            import.used = true;
            return match import.target {
                Some(Imported::Package(id)) => Expr::Package(id),
                Some(Imported::Builtin(package)) => Expr::Package(self.builtin_package(package)),
                None => Expr::Bottom,
            };
        }
        if (name == "self" || name == "__self")
            && self.experiments.iter().any(|e| e == "aliasv2")
            && let Some(up) = self.scopes.iter().rev().position(|s| s.is_struct)
        {
            return Expr::Own { up: up as u32 };
        }
        if let Some(expr) = self.predeclared(name.strip_prefix("__").unwrap_or(name), span) {
            return expr;
        }
        let hint = self.name_hint(name);
        let error = Diagnostic::new(Code::Reference, format!("reference {name:?} not found"), span);
        self.diagnostics.push(error.with_hint(hint));
        Expr::Bottom
    }

    /// The likely meaning of an unknown name.
    pub(super) fn name_hint(&self, name: &str) -> Option<String> {
        if let Some(package) = packages::lookup_by_name(name) {
            return Some(format!("add `import {:?}`", package.path));
        }
        let visible = self.scopes.iter().flat_map(Scope::visible).chain(PREDECLARED.iter().copied());
        nearest::did_you_mean(name, visible)
            .or_else(|| Some(format!("declare the field `{name}`, or write \"{name}\" if text is meant")))
    }

    pub(super) fn predeclared(&mut self, name: &str, span: Span) -> Option<Expr> {
        let builtin = |b| Some(Expr::Function(Callee::Builtin(b)));
        match name {
            "string" => Some(Expr::Kinds(Kinds::STRING)),
            "bytes" => Some(Expr::Kinds(Kinds::BYTES)),
            "bool" => Some(Expr::Kinds(Kinds::BOOL)),
            "int" => Some(Expr::Kinds(Kinds::INT)),
            "float" => Some(Expr::Kinds(Kinds::FLOAT)),
            "number" => Some(Expr::Kinds(Kinds::NUMBER)),
            "uint" => Some(self.range(Kinds::INT, Some("0"), None, span)),
            "uint8" => Some(self.range(Kinds::INT, Some("0"), Some("255"), span)),
            "int8" => Some(self.range(Kinds::INT, Some("-128"), Some("127"), span)),
            "uint16" => Some(self.range(Kinds::INT, Some("0"), Some("65535"), span)),
            "int16" => Some(self.range(Kinds::INT, Some("-32768"), Some("32767"), span)),
            "rune" => Some(self.range(Kinds::INT, Some("0"), Some("1114111"), span)),
            "uint32" => Some(self.range(Kinds::INT, Some("0"), Some("4294967295"), span)),
            "int32" => Some(self.range(Kinds::INT, Some("-2147483648"), Some("2147483647"), span)),
            "uint64" => Some(self.range(Kinds::INT, Some("0"), Some("18446744073709551615"), span)),
            "int64" => {
                Some(self.range(Kinds::INT, Some("-9223372036854775808"), Some("9223372036854775807"), span))
            }
            "uint128" => {
                Some(self.range(Kinds::INT, Some("0"), Some("340282366920938463463374607431768211455"), span))
            }
            "int128" => Some(self.range(
                Kinds::INT,
                Some("-170141183460469231731687303715884105728"),
                Some("170141183460469231731687303715884105727"),
                span,
            )),
            "float32" => Some(self.range(
                Kinds::NUMBER,
                Some("-3.40282346638528859811704183484516925440e+38"),
                Some("3.40282346638528859811704183484516925440e+38"),
                span,
            )),
            "float64" => Some(self.range(
                Kinds::NUMBER,
                Some("-1.797693134862315708145274237317043567981e+308"),
                Some("1.797693134862315708145274237317043567981e+308"),
                span,
            )),
            "len" => builtin(Builtin::Len),
            "close" => builtin(Builtin::Close),
            "and" => builtin(Builtin::And),
            "or" => builtin(Builtin::Or),
            "div" => builtin(Builtin::Div),
            "mod" => builtin(Builtin::Mod),
            "quo" => builtin(Builtin::Quo),
            "rem" => builtin(Builtin::Rem),
            "matchN" => builtin(Builtin::MatchN),
            "matchIf" => builtin(Builtin::MatchIf),
            "error" => builtin(Builtin::Error),
            _ => None,
        }
    }

    /// A type with a least and a greatest value.
    pub(super) fn range(
        &mut self,
        kinds: Kinds,
        least: Option<&str>,
        greatest: Option<&str>,
        span: Span,
    ) -> Expr {
        let mut id = self.push(span, Expr::Kinds(kinds));
        let mut last = Expr::Kinds(kinds);
        for (op, text) in [(UnaryOp::GreaterEqual, least), (UnaryOp::LessEqual, greatest)] {
            let Some(text) = text else { continue };
            let (negative, digits) = text.strip_prefix('-').map_or((false, text), |d| (true, d));
            let Ok(number) = literal::parse_number(digits) else { continue };
            let value = if negative { number.value.neg() } else { number.value };
            let limit = self.push(span, Expr::Atom(Atom::Number { value, is_float: number.is_float }));
            let bound = self.push(span, Expr::Bound(op, limit));
            last = Expr::And(id, bound);
            if op == UnaryOp::GreaterEqual && greatest.is_some() {
                id = self.push(span, Expr::And(id, bound));
            }
        }
        last
    }
}

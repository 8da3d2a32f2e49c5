//! Declarations in; the names they mean, and a name in; the expression it stands for, out.

use super::Compiler;
use super::scope::{Name, Scope};
use crate::{
    ast::{Decl, DeclKind, Field, LabelKind},
    diagnostic::Code,
    ir::{Expr, ExprId},
    source::Span,
};

impl Compiler<'_> {
    /// Declares the names of fields, lets and aliases of a struct.
    pub(super) fn declare(&mut self, scope: &mut Scope, decls: &[Decl]) {
        for decl in decls {
            match &decl.kind {
                DeclKind::Field(field) => self.declare_field(scope, field),
                DeclKind::Let(binding) | DeclKind::Alias(binding) => {
                    if binding.name.name == "_" {
                        self.error(Code::Syntax, "'_' is no name for a let clause", binding.name.span);
                    }
                    let index = self.lets.len() as u32;
                    self.lets.push(ExprId::NONE);
                    if matches!(scope.names.get(&binding.name.name), Some(Name::Let(_))) {
                        self.error(
                            Code::Redeclared,
                            format!(
                                "cannot have two let clauses or aliases named {:?} in the same scope",
                                binding.name.name
                            ),
                            binding.name.span,
                        );
                    } else if scope.names.contains_key(&binding.name.name) {
                        self.error(
                            Code::Redeclared,
                            format!(
                                "cannot have both alias and field with name {:?} in same scope",
                                binding.name.name
                            ),
                            binding.name.span,
                        );
                    }
                    scope.set(&binding.name.name, Name::Let(index));
                    scope.require(&binding.name.name, binding.name.span);
                }
                _ => {}
            }
        }
    }

    fn declare_field(&mut self, scope: &mut Scope, field: &Field) {
        let label = match &field.label.kind {
            LabelKind::Ident(name) => {
                let label = self.ident_label(name);
                if matches!(scope.names.get(name), Some(Name::Let(_))) {
                    self.error(
                        Code::Redeclared,
                        format!("cannot have both alias and field with name {name:?} in same scope"),
                        field.label.span,
                    );
                }
                scope.set(name, Name::Field(label));
                Some(label)
            }
            LabelKind::String(text) => Some(self.string_label(text)),
            _ => None,
        };
        if let Some(alias) = field.alias.as_ref().filter(|alias| alias.name == "_") {
            self.error(Code::Syntax, "'_' is no name for an alias", alias.span);
        }
        if let (Some(alias), Some(label)) = (&field.alias, label) {
            scope.set(&alias.name, Name::Field(label));
            scope.require(&alias.name, alias.span);
        }
        if let (Some(alias), Some(label)) = (&field.postfix_alias, label) {
            if let Some(value) = &alias.value {
                scope.set(&value.name, Name::Field(label));
                scope.require(&value.name, value.span);
            }
            if let Some(key) = &alias.key {
                scope.set(&key.name, Name::Constant(label));
            }
        }
    }

    /// Ends a level; an unused `let` or alias is a mistake.
    pub(super) fn close_scope(&mut self) {
        let Some(scope) = self.scopes.pop() else { return };
        for (name, span) in &scope.must_use {
            if !scope.used.contains(name) {
                self.error(Code::Unused, format!("unreferenced alias or let clause {name}"), *span);
            }
        }
    }

    /// The expression a name stands for.
    pub(super) fn resolve(&mut self, name: &str, span: Span) -> Option<Expr> {
        for (up, scope) in self.scopes.iter_mut().rev().enumerate() {
            let up = up as u32;
            let Some(meaning) = scope.names.get(name).copied() else { continue };
            if !scope.must_use.is_empty() && !scope.used.contains(name) {
                scope.used.insert(name.to_owned());
            }
            return Some(match meaning {
                Name::Field(label) => Expr::Field { up, label },
                Name::Dynamic(label) => Expr::DynamicField { up, label },
                Name::Let(index) => Expr::Let { up, index },
                Name::ForKey => Expr::ForKey { up },
                Name::ForValue => Expr::ForValue { up },
                Name::ClauseLet => Expr::ClauseLet { up },
                Name::PatternLabel => Expr::PatternLabel { up },
                Name::Own => Expr::Own { up },
                Name::Constant(label) => {
                    let text = self.labels.get(label.string_id()).cloned()?;
                    Expr::Atom(crate::ir::Atom::String(text))
                }
            });
        }
        let _ = span;
        None
    }
}

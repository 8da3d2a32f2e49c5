//! `for`, `if` and `let` in; the clauses with their names resolved out.

use super::{Compiler, Name, Scope};
use crate::{
    ast::{self, ClauseKind},
    ir::{Clause, Comprehension, Decl, Expr, ExprId, Label},
};

impl Compiler<'_> {
    pub(super) fn comprehension(&mut self, comprehension: &ast::Comprehension) -> Expr {
        let mut clauses = Vec::new();
        let mut opened = 0;
        for clause in &comprehension.clauses {
            match &clause.kind {
                ClauseKind::For { key, value, source } => {
                    let source = self.expr(source);
                    let mut scope = Scope::of([(value.name.clone(), Name::ForValue)]);
                    if let Some(key) = key {
                        scope.set(&key.name, Name::ForKey);
                    }
                    scope.unset("_");
                    self.scopes.push(scope);
                    opened += 1;
                    clauses.push(Clause::For { source });
                }
                ClauseKind::If(condition) => clauses.push(Clause::If(self.expr(condition))),
                ClauseKind::Let(binding) => {
                    let value = self.expr(&binding.value);
                    self.scopes.push(Scope::of([(binding.name.name.clone(), Name::ClauseLet)]));
                    opened += 1;
                    clauses.push(Clause::Let(value));
                }
                ClauseKind::Try(binding) => {
                    let value = binding.as_ref().map(|b| self.expr(&b.value));
                    let names = binding.iter().map(|b| (b.name.name.clone(), Name::ClauseLet));
                    self.scopes.push(Scope::of(names));
                    opened += 1;
                    clauses.push(Clause::Try(value));
                }
            }
        }
        let value = self.expr(&comprehension.value);
        for _ in 0..opened {
            self.close_scope();
        }
        let fallback = comprehension.fallback.as_ref().map(|f| self.expr(&f.value));
        let mut labels = Some(Vec::new());
        for id in [Some(value), fallback].into_iter().flatten() {
            match self.static_labels(id) {
                Some(found) => labels.iter_mut().for_each(|l| l.extend(found.iter().copied())),
                None => labels = None,
            }
        }
        Expr::Comprehension(Comprehension { clauses, value, fallback, labels })
    }

    /// The labels a struct adds, when they are all known.
    pub(super) fn static_labels(&self, id: ExprId) -> Option<Vec<Label>> {
        let Some(Expr::Struct(body)) = self.chunk.exprs.get(id.index()) else { return None };
        let mut labels = Vec::new();
        for decl in &body.decls {
            match decl {
                Decl::Field { label, .. } => labels.push(*label),
                Decl::Comprehension(inner) => match self.chunk.exprs.get(inner.index()) {
                    Some(Expr::Comprehension(c)) => labels.extend(c.labels.as_ref()?.iter().copied()),
                    _ => return None,
                },
                Decl::Ellipsis => {}
                _ => return None,
            }
        }
        Some(labels)
    }
}

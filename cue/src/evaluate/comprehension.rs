//! Clauses in; an environment per yield out, and the yielded structs added.

use super::{Conjunct, EnvId, EnvKind, Evaluation, Fault, Message, State, Term, VertexId};
use crate::{
    diagnostic::Code,
    ir::{ArcKind, Atom, Clause, Comprehension, Expr, ExprId},
    source::Span,
};

/// Deepest level at which the body of `try` is searched for a `?` that failed.
const MAX_BODY_DEPTH: u32 = 60;

/// One run of a comprehension.
#[derive(Clone, Copy)]
struct Run {
    firing: u32,
    body: ExprId,
}

impl Evaluation {
    pub(crate) fn run_comprehension(&mut self, vertex: VertexId, conjunct: Conjunct) -> Result<(), Fault> {
        let chunk = self.chunk(conjunct.expr);
        let Expr::Comprehension(comprehension) = self.expr(&chunk, conjunct.expr) else { return Ok(()) };
        let envs = self.yields(comprehension, conjunct)?;
        if envs.is_empty()
            && let Some(fallback) = comprehension.fallback
        {
            self.add(vertex, conjunct.with(fallback));
        }
        for env in envs {
            self.add(vertex, Conjunct { env, ..conjunct.with(comprehension.value) });
        }
        Ok(())
    }

    /// The environments for which the value is yielded; all of them or a fault.
    pub(crate) fn yields(
        &mut self,
        comprehension: &Comprehension,
        conjunct: Conjunct,
    ) -> Result<Vec<EnvId>, Fault> {
        let mut out = Vec::new();
        self.firings += 1;
        let run = Run { firing: self.firings, body: comprehension.value };
        self.clause(&comprehension.clauses, conjunct, run, &mut out)?;
        Ok(out)
    }

    fn clause(
        &mut self,
        clauses: &[Clause],
        conjunct: Conjunct,
        run: Run,
        out: &mut Vec<EnvId>,
    ) -> Result<(), Fault> {
        self.step(conjunct.expr)?;
        let Some((first, rest)) = clauses.split_first() else {
            out.push(conjunct.env);
            return Ok(());
        };
        match first {
            Clause::If(condition) => match self.concrete(conjunct.with(*condition))? {
                Term::Atom(Atom::Bool(true)) => self.clause(rest, conjunct, run, out),
                Term::Atom(Atom::Bool(false)) => Ok(()),
                other => {
                    let found = self.kinds_set(&other);
                    Err(self.wrong_kind(*condition, found, crate::packages::Kinds::BOOL))
                }
            },
            Clause::Let(value) => {
                let vertex = self.inline(conjunct.with(*value), VertexId::NONE);
                let env = self.new_env(conjunct.env, EnvKind::Let(vertex));
                self.clause(rest, Conjunct { env, ..conjunct }, run, out)
            }
            Clause::Try(value) => {
                let body = match value {
                    Some(value) => conjunct.with(*value),
                    // The clause opens a level also when it names nothing.
                    None => {
                        let env = self.new_env(conjunct.env, EnvKind::Let(VertexId::NONE));
                        Conjunct { env, ..conjunct.with(run.body) }
                    }
                };
                let Some(vertex) = self.tried(body)? else { return Ok(()) };
                let env = self.new_env(conjunct.env, EnvKind::Let(vertex));
                self.clause(rest, Conjunct { env, ..conjunct }, run, out)
            }
            Clause::For { source } => {
                let from = self.container(conjunct.with(*source))?;
                if self.v(from).state == State::Busy {
                    return Err(self.busy(from, *source));
                }
                let mut arcs = self.v(from).arcs.to_list();
                // As the reference does: in the order of arrival, which is not the order of output.
                if !self.is_list(from) {
                    arcs.sort_by_key(|a| a.vertex);
                }
                for arc in arcs {
                    let key = match arc.label.as_index() {
                        Some(index) => Atom::Number { value: (index as i64).into(), is_float: false },
                        None if !arc.label.is_regular() || arc.kind == ArcKind::Optional => continue,
                        None if arc.kind == ArcKind::Required => {
                            let text = format!("required field missing: {}", self.label_name(arc.label));
                            return Err(self.fault(Code::MissingRequired, text, *source));
                        }
                        None => Atom::String(self.label_text(arc.label)),
                    };
                    let kind = EnvKind::For { key, value: arc.vertex, firing: run.firing };
                    let env = self.new_env(conjunct.env, kind);
                    self.clause(rest, Conjunct { env, ..conjunct }, run, out)?;
                }
                Ok(())
            }
        }
    }

    /// The value of what `try` tries, or nothing when a reference marked by `?` in it leads to nothing.
    fn tried(&mut self, conjunct: Conjunct) -> Result<Option<VertexId>, Fault> {
        let body = self.span(conjunct.expr);
        let parent = self.nearest(conjunct);
        let vertex = self.inline(conjunct, parent);
        self.finalize(vertex);
        match self.failed_mark(vertex, body, 0) {
            None => Ok(Some(vertex)),
            Some(fault) if self.is_waiting(&fault) => Err(fault),
            Some(_) => Ok(None),
        }
    }

    /// The fault of a reference marked by `?` that stands in a text.
    fn failed_mark(&self, vertex: VertexId, body: Span, depth: u32) -> Option<Fault> {
        if depth > MAX_BODY_DEPTH {
            return None;
        }
        let own = self.deref(vertex);
        let v = self.v(own);
        let marked = |fault: &&Fault| {
            // A reference that leads somewhere, if only to a type, did not fail.
            matches!(fault.0.message, Message::Undefined(..) | Message::Optional(..))
                && fault.0.places.iter().any(|place| {
                    let span = self.span(*place);
                    let within = span.file == body.file && span.start >= body.start && span.end <= body.end;
                    within && matches!(self.expr(&self.chunk(*place), *place), Expr::Try(_))
                })
        };
        let faults = v.fault.iter().chain(v.tasks.iter().filter_map(|t| t.fault.as_ref()));
        if let Some(fault) = faults.into_iter().find(marked) {
            return Some(fault.clone());
        }
        v.arcs.iter().find_map(|arc| self.failed_mark(arc.vertex, body, depth + 1))
    }

    /// The fault of a reference marked by `?`, told at the mark.
    pub(crate) fn not_given(&self, fault: &Fault, mark: ExprId) -> Fault {
        if self.is_waiting(fault) {
            return fault.clone();
        }
        self.fault_with(fault.0.code, fault.0.message.clone(), &[mark])
    }
}

//! Clauses in; an environment per yield out, and the yielded structs added.

use super::{Conjunct, EnvId, EnvKind, Evaluation, Fault, State, Term, VertexId};
use crate::{
    diagnostic::Code,
    ir::{ArcKind, Atom, Clause, Comprehension, Expr},
};

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
        self.clause(&comprehension.clauses, conjunct, self.firings, &mut out)?;
        Ok(out)
    }

    fn clause(
        &mut self,
        clauses: &[Clause],
        conjunct: Conjunct,
        firing: u32,
        out: &mut Vec<EnvId>,
    ) -> Result<(), Fault> {
        self.step(conjunct.expr)?;
        let Some((first, rest)) = clauses.split_first() else {
            out.push(conjunct.env);
            return Ok(());
        };
        match first {
            Clause::If(condition) => match self.concrete(conjunct.with(*condition))? {
                Term::Atom(Atom::Bool(true)) => self.clause(rest, conjunct, firing, out),
                Term::Atom(Atom::Bool(false)) => Ok(()),
                other => {
                    let found = self.kinds_set(&other);
                    Err(self.wrong_kind(*condition, found, crate::packages::Kinds::BOOL))
                }
            },
            Clause::Let(value) => {
                let vertex = self.inline(conjunct.with(*value), VertexId::NONE);
                let env = self.new_env(conjunct.env, EnvKind::Let(vertex));
                self.clause(rest, Conjunct { env, ..conjunct }, firing, out)
            }
            Clause::Try(value) => {
                let vertex = match value {
                    Some(value) => match self.eval(conjunct.with(*value)) {
                        Ok(Term::Vertex(vertex)) => {
                            self.process(vertex);
                            vertex
                        }
                        Ok(Term::Atom(_)) => self.inline(conjunct.with(*value), VertexId::NONE),
                        Err(fault) if fault.is_incomplete() && fault.0.busy.is_none() => return Ok(()),
                        Err(fault) => return Err(fault),
                    },
                    None => VertexId::NONE,
                };
                let env = self.new_env(conjunct.env, EnvKind::Let(vertex));
                self.clause(rest, Conjunct { env, ..conjunct }, firing, out)
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
                    let kind = EnvKind::For { key, value: arc.vertex, firing };
                    let env = self.new_env(conjunct.env, kind);
                    self.clause(rest, Conjunct { env, ..conjunct }, firing, out)?;
                }
                Ok(())
            }
        }
    }
}

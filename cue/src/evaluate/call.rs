//! Calls of builtin functions: arguments forced, results taken in; and functions that judge values.

use std::sync::Arc;

use super::{
    Check, Choice, Conjunct, Evaluation, Fault, Message, Mode, ScopeKind, State, Term, VertexId,
    fault::FunctionName,
};
use crate::{
    ast::BinaryOp,
    diagnostic::Code,
    ir::{ArcKind, Atom, Builtin, Callee, Expr, ExprId, Label},
    packages::{Data, Failure, Function, Kinds, Run},
};

pub(super) fn name_of(callee: Callee) -> &'static str {
    match callee {
        Callee::Package(function) => function.name,
        Callee::Builtin(builtin) => match builtin {
            Builtin::Len => "len",
            Builtin::Close => "close",
            Builtin::And => "and",
            Builtin::Or => "or",
            Builtin::Div => "div",
            Builtin::Mod => "mod",
            Builtin::Quo => "quo",
            Builtin::Rem => "rem",
            Builtin::MatchN => "matchN",
            Builtin::MatchIf => "matchIf",
            Builtin::Error => "error",
            Builtin::NoFunction => "a function",
        },
    }
}

/// How many times larger than its arguments the result of a function may be, beside what the function itself limits: some
/// give a value for every few bytes of text.
fn growth(function: &Function) -> usize {
    match function.name {
        "Unmarshal" | "UnmarshalStream" | "Decode" => 40,
        "Split" | "SplitN" | "SplitAfter" | "SplitAfterN" | "Fields" | "Runes" | "ToRunes" => 100,
        name if name.starts_with("FindAll") => 250,
        _ => 1,
    }
}

impl Evaluation {
    /// Whether a call is a constraint on the value it stands beside, or makes its vertex otherwise.
    pub(crate) fn runs_as_constraint(&self, callee: Callee, count: usize) -> bool {
        match callee {
            Callee::Builtin(Builtin::MatchN) => count == 2,
            Callee::Builtin(Builtin::MatchIf) => count == 3,
            Callee::Builtin(Builtin::And | Builtin::Or | Builtin::Close) => true,
            Callee::Builtin(_) => false,
            Callee::Package(function) => {
                function.is_validator()
                    && count + 1 == function.parameters.len()
                    && function.parameters.last().is_none_or(|p| p.default.is_none())
            }
        }
    }

    /// `and`, `or` and `close` work on the vertex itself.
    pub(crate) fn add_validator(
        &mut self,
        vertex: VertexId,
        callee: Callee,
        arguments: &[ExprId],
        conjunct: Conjunct,
    ) -> Result<(), Fault> {
        match callee {
            Callee::Builtin(builtin @ (Builtin::And | Builtin::Or | Builtin::Close)) => {
                let [argument] = arguments else {
                    return Err(self.fault(
                        Code::Argument,
                        format!("{} takes one argument", name_of(callee)),
                        conjunct.expr,
                    ));
                };
                return self.combine_call(vertex, builtin, conjunct.with(*argument), conjunct);
            }
            Callee::Builtin(Builtin::MatchN | Builtin::MatchIf) => {}
            Callee::Builtin(_) => {
                return Err(self.fault(
                    Code::Argument,
                    format!("{} must be called", name_of(callee)),
                    conjunct.expr,
                ));
            }
            Callee::Package(function) => {
                if !function.is_validator() || arguments.len() + 1 != function.parameters.len() {
                    return Err(self.fault(
                        Code::Argument,
                        format!("{} must be called", function.name),
                        conjunct.expr,
                    ));
                }
                if let Some(first) = function.parameters.first() {
                    self.add_kinds(vertex, first.kinds, conjunct.expr);
                }
            }
        }
        let mut terms = Vec::with_capacity(arguments.len());
        for (at, argument) in arguments.iter().enumerate() {
            let force = match callee {
                Callee::Package(function) => match function.run {
                    Run::Evaluator(_) => false,
                    _ => function.parameters.get(at + 1).is_some_and(|p| p.kinds != Kinds::TOP),
                },
                Callee::Builtin(_) => false,
            };
            let argument = conjunct.with(*argument);
            terms.push(if force { self.concrete(argument)? } else { self.eval(argument)? });
        }
        self.note_origin(vertex, conjunct, super::OriginKind::Constraint);
        self.has_value(vertex, conjunct);
        self.take(size_of_val(terms.as_slice()));
        self.put(vertex, |v| &mut v.checks, Check { callee, arguments: terms, conjunct });
        Ok(())
    }

    fn combine_call(
        &mut self,
        vertex: VertexId,
        builtin: Builtin,
        argument: Conjunct,
        conjunct: Conjunct,
    ) -> Result<(), Fault> {
        match builtin {
            Builtin::Close => {
                let scope = self.new_scope(conjunct.scope, ScopeKind::Close(vertex));
                match self.eval(argument)? {
                    Term::Vertex(target) => {
                        self.process(target);
                        let target = self.deref(target);
                        if let Some(fault) = self.v(target).fault.clone() {
                            return Err(fault);
                        }
                        let chosen = self.default_of(target).unwrap_or(target);
                        if self.v(chosen).kinds != Kinds::STRUCT && self.v(chosen).disjuncts.is_none() {
                            let text =
                                format!("cannot close {}: not a struct", self.source_text(argument.expr));
                            return Err(self.fault(Code::Argument, text, argument.expr));
                        }
                        self.close_by(vertex, scope);
                        self.include(vertex, target, Conjunct { scope, ..conjunct })
                    }
                    Term::Atom(_) => Err(self.fault(Code::Argument, "close takes a struct", argument.expr)),
                }
            }
            _ => {
                let list = match self.container(argument) {
                    Err(fault) => return Err(self.wrong_argument(fault, argument, Kinds::LIST, builtin, 0)),
                    Ok(list) => list,
                };
                if !self.term_may_be(&Term::Vertex(list), Kinds::LIST) {
                    let fault = self.fault(Code::Incomplete, "not a list", argument.expr);
                    return Err(self.wrong_argument(fault, argument, Kinds::LIST, builtin, 0));
                }
                let elements = self.elements_of(list);
                if builtin == Builtin::Or {
                    if elements.is_empty() {
                        return Err(self.fault(Code::Incomplete, "empty list in call to or", conjunct.expr));
                    }
                    self.take(size_of_val(elements.as_slice()));
                    self.put(vertex, |v| &mut v.choices, Choice::Terms(elements, conjunct));
                    self.has_value(vertex, conjunct);
                } else {
                    for element in elements {
                        self.include(vertex, element, conjunct.with(ExprId::value(element.0)))?;
                    }
                }
                Ok(())
            }
        }
    }

    pub(crate) fn call(
        &mut self,
        callee: Callee,
        arguments: &[ExprId],
        conjunct: Conjunct,
    ) -> Result<Term, Fault> {
        match callee {
            Callee::Builtin(builtin) => self.call_builtin(builtin, arguments, conjunct),
            Callee::Package(function) => self.call_package(function, arguments, conjunct),
        }
    }

    /// The fault of a call whose argument is not known yet, or that the argument can never be of the right kind.
    fn wrong_argument(
        &mut self,
        fault: Fault,
        argument: Conjunct,
        kinds: Kinds,
        builtin: Builtin,
        at: usize,
    ) -> Fault {
        if fault.is_fatal() || !fault.0.busy.is_none() {
            return fault;
        }
        let Ok(term) = self.eval(argument) else { return fault };
        if self.term_may_be(&term, kinds) {
            return fault;
        }
        let text = format!(
            "cannot use {} as {} in argument {} to {}",
            self.term_text(&term),
            super::bounds::kinds_text(kinds),
            at + 1,
            name_of(Callee::Builtin(builtin))
        );
        self.fault(Code::Argument, text, argument.expr)
    }

    fn call_builtin(
        &mut self,
        builtin: Builtin,
        arguments: &[ExprId],
        conjunct: Conjunct,
    ) -> Result<Term, Fault> {
        let kinds = match builtin {
            Builtin::Len => Kinds::STRING.or(Kinds::BYTES).or(Kinds::LIST).or(Kinds::STRUCT),
            Builtin::Div | Builtin::Mod | Builtin::Quo | Builtin::Rem => Kinds::INT,
            Builtin::Error => Kinds::STRING,
            _ => Kinds::TOP,
        };
        let mut result = self.builtin_result(builtin, arguments, conjunct);
        // An argument that has no value yet may still become anything.
        let waits = |fault: &Fault| fault.is_incomplete() && fault.0.busy.is_none();
        let known = result.as_ref().is_err_and(waits)
            && arguments.iter().all(|argument| self.eval(conjunct.with(*argument)).is_ok());
        for (at, argument) in arguments.iter().enumerate().filter(|_| known) {
            if let Err(fault) = result {
                result = Err(self.wrong_argument(fault, conjunct.with(*argument), kinds, builtin, at));
            }
        }
        result
    }

    fn builtin_result(
        &mut self,
        builtin: Builtin,
        arguments: &[ExprId],
        conjunct: Conjunct,
    ) -> Result<Term, Fault> {
        let name = name_of(Callee::Builtin(builtin));
        let count = |this: &Self, wanted: usize| {
            if arguments.len() == wanted {
                Ok(())
            } else {
                let text = format!("{name} takes {wanted} arguments, not {}", arguments.len());
                Err(this.fault(Code::Argument, text, conjunct.expr))
            }
        };
        match builtin {
            Builtin::Len => {
                count(self, 1)?;
                if let Some(length) = self.known_length(conjunct.with(arguments[0]))? {
                    return Ok(Term::Atom(Atom::Number { value: (length as i64).into(), is_float: false }));
                }
                let length = match self.concrete(conjunct.with(arguments[0]))? {
                    Term::Atom(Atom::String(s)) => s.len(),
                    Term::Atom(Atom::Bytes(b)) => b.len(),
                    Term::Vertex(v) if self.v(v).state == State::Busy => {
                        return Err(self.busy(v, conjunct.expr));
                    }
                    Term::Vertex(v) if self.is_list(v) => self.elements_of(v).len(),
                    Term::Vertex(v) => {
                        let member = |a: &&super::Arc_| a.kind == ArcKind::Member && a.label.is_regular();
                        self.v(v).arcs.iter().filter(member).count()
                    }
                    other @ Term::Atom(_) => {
                        let text = format!("invalid argument type {} of len", self.term_kinds(&other));
                        return Err(self.fault(Code::Argument, text, conjunct.expr));
                    }
                };
                Ok(Term::Atom(Atom::Number { value: (length as i64).into(), is_float: false }))
            }
            Builtin::Div | Builtin::Mod | Builtin::Quo | Builtin::Rem => {
                count(self, 2)?;
                let a = self.concrete(conjunct.with(arguments[0]))?;
                let b = self.concrete(conjunct.with(arguments[1]))?;
                let op = match builtin {
                    Builtin::Div => BinaryOp::Div,
                    Builtin::Mod => BinaryOp::Mod,
                    Builtin::Quo => BinaryOp::Quo,
                    _ => BinaryOp::Rem,
                };
                match (&a, &b) {
                    (Term::Atom(x), Term::Atom(y)) => {
                        self.atoms(op, x, y, [arguments[0], arguments[1]], conjunct.expr)
                    }
                    _ => Err(self.bad_operands(op, &a, &b, conjunct.expr)),
                }
            }
            Builtin::NoFunction => {
                let callee = arguments.first().copied().unwrap_or(conjunct.expr);
                let text = format!("cannot call {}: it is no function", self.source_text(callee));
                Err(self.fault(Code::Operation, text, callee))
            }
            Builtin::Error => {
                count(self, 1)?;
                match self.concrete(conjunct.with(arguments[0]))? {
                    Term::Atom(Atom::String(text)) => Err(self.fault(Code::User, &*text, conjunct.expr)),
                    _ => Err(self.fault(Code::Argument, "error takes a string", conjunct.expr)),
                }
            }
            _ => Err(self.fault(
                Code::Argument,
                format!("wrong number of arguments in call to {name}"),
                conjunct.expr,
            )),
        }
    }

    /// The length of a closed list whose elements are still being made.
    fn known_length(&mut self, conjunct: Conjunct) -> Result<Option<usize>, Fault> {
        let chunk = self.chunk(conjunct.expr);
        if matches!(self.expr(&chunk, conjunct.expr), Expr::Atom(_)) {
            return Ok(None);
        }
        let Term::Vertex(vertex) = self.eval(conjunct)? else { return Ok(None) };
        self.process(vertex);
        let own = self.deref(vertex);
        let v = self.v(own);
        Ok(if v.state == State::Busy { v.list.as_ref().and_then(|l| l.closed) } else { None })
    }

    fn call_package(
        &mut self,
        function: &'static Function,
        arguments: &[ExprId],
        conjunct: Conjunct,
    ) -> Result<Term, Fault> {
        if arguments.len() > function.parameters.len() {
            let text = format!("too many arguments in call to {}", FunctionName::of(function));
            return Err(self.fault(Code::Argument, text, conjunct.expr));
        }
        let mut terms = Vec::with_capacity(arguments.len());
        for (at, (argument, parameter)) in arguments.iter().zip(function.parameters).enumerate() {
            let argument = conjunct.with(*argument);
            let mut term = self.eval(argument)?;
            // A kind that can never fit is told before what is only not concrete yet.
            if parameter.kinds != Kinds::TOP && self.term_may_be(&term, parameter.kinds) {
                term = self.concrete_term(term, argument.expr)?;
            }
            let kinds = match &term {
                Term::Atom(atom) => atom.kinds(),
                Term::Vertex(v) => {
                    self.process(*v);
                    self.v(self.deref(*v)).kinds
                }
            };
            if !kinds.meets(parameter.kinds) {
                let message = Message::Argument {
                    function: FunctionName::of(function),
                    at,
                    text: self.term_text(&term),
                    found: kinds,
                    wanted: parameter.kinds,
                };
                return Err(self.fault_with(Code::Argument, message, &[argument.expr]));
            }
            terms.push(term);
        }
        for parameter in function.parameters.iter().skip(arguments.len()) {
            match parameter.default {
                Some(default) => terms.push(Term::Atom(Atom::String(Arc::from(default)))),
                None => {
                    let text = format!("not enough arguments in call to {}", FunctionName::of(function));
                    return Err(self.fault(Code::Argument, text, conjunct.expr));
                }
            }
        }
        self.run_function(function, &terms, conjunct)
    }

    pub(super) fn run_function(
        &mut self,
        function: &'static Function,
        terms: &[Term],
        conjunct: Conjunct,
    ) -> Result<Term, Fault> {
        let result = match function.run {
            Run::Data(run) => {
                let mut data = Vec::with_capacity(terms.len());
                for term in terms {
                    data.push(self.term_data(term, conjunct.expr)?);
                }
                let given: usize = data.iter().map(super::limits::data_bytes).sum();
                self.room(given.saturating_mul(growth(function)), conjunct.expr)?;
                run(&data)
            }
            Run::Shape(levels, run) => {
                let mut data = Vec::with_capacity(terms.len());
                for term in terms {
                    data.push(self.shape_data(term, (0, levels), conjunct.expr)?);
                }
                run(&data)
            }
            Run::Lenient(run) => {
                let mut shown = Vec::new();
                let mut data = Vec::with_capacity(terms.len());
                for term in terms {
                    let value = self.lenient_data(term, &mut shown, 0);
                    if let Term::Vertex(vertex) = term
                        && let Some(fault) = self.fatal(self.deref(*vertex))
                    {
                        return Err(fault.clone());
                    }
                    if let (Data::Opaque(_), Term::Vertex(vertex)) = (&value, term) {
                        let message = Message::NotConcrete(conjunct.expr, *vertex);
                        return Err(self.fault_with(Code::Incomplete, message, &[conjunct.expr]));
                    }
                    data.push(value);
                }
                self.step(conjunct.expr)?;
                run(&data)
            }
            Run::Count(run) => {
                let mut data = Vec::with_capacity(terms.len());
                for (at, term) in terms.iter().enumerate() {
                    data.push(match term {
                        Term::Vertex(v) if at == 0 => {
                            self.process(*v);
                            let v = self.deref(*v);
                            let list = self.is_list(v);
                            let counts = |a: &&super::Arc_| {
                                a.kind == ArcKind::Member && (list || a.label.is_regular())
                            };
                            Data::int(self.v(v).arcs.iter().filter(counts).count() as i64)
                        }
                        _ => self.term_data(term, conjunct.expr)?,
                    });
                }
                run(&data)
            }
            Run::Evaluator(special) => return self.run_special(special, terms, conjunct),
        };
        match result {
            Ok(data) => self.data_term(&data, conjunct.expr),
            Err(Failure::Error(text)) => Err(self.fault(
                Code::Argument,
                format!("error in call to {}: {text}", FunctionName::of(function)),
                conjunct.expr,
            )),
            Err(Failure::Budget(text)) => Err(self.fault(
                Code::Budget,
                format!("error in call to {}: {text}", FunctionName::of(function)),
                conjunct.expr,
            )),
            Err(Failure::Incomplete(vertex)) => {
                let vertex = VertexId(vertex as u32);
                self.validate(vertex, Mode::Concrete, conjunct.expr)?;
                // It is concrete, so it will never fit.
                let text = format!("cannot use value {} here", self.show(vertex));
                Err(self.fault(
                    Code::Argument,
                    format!("error in call to {}: {text}", FunctionName::of(function)),
                    conjunct.expr,
                ))
            }
        }
    }

    /// A vertex that is both values.
    pub(crate) fn joined(&mut self, a: VertexId, b: VertexId) -> VertexId {
        let made = self.new_vertex(VertexId::NONE, Label::NONE);
        for value in [a, b] {
            let conjunct = self.plain(ExprId::value(value.0));
            self.put(made, |v| &mut v.conjuncts, conjunct);
        }
        made
    }

    pub(super) fn term_vertex(&mut self, term: &Term) -> VertexId {
        match term {
            Term::Vertex(vertex) => *vertex,
            Term::Atom(atom) => {
                let made = self.new_vertex(VertexId::NONE, Label::NONE);
                self.add_atom(made, atom.clone(), ExprId::NONE);
                self.vm(made).state = State::Done;
                made
            }
        }
    }
}

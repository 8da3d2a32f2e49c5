//! A name in; the vertex it means, and that vertex's conjuncts brought to the one that refers, out.

use super::{
    Conjunct, CycleKind, EnvKind, Evaluation, Fault, Message, Scope, ScopeId, ScopeKind, State, TaskKind,
    TaskState, Term, VertexId, cycle::Step,
};
use crate::{
    diagnostic::Code,
    ir::{ArcKind, Atom, Expr, ExprId, Label},
    packages::Kinds,
};

/// Deepest nesting of closing scopes.
const MAX_SCOPES: u32 = 256;

impl Evaluation {
    pub(crate) fn run_reference(&mut self, vertex: VertexId, conjunct: Conjunct) -> Result<(), Fault> {
        match self.resolve(conjunct)? {
            Term::Atom(atom) => {
                self.has_value(vertex, conjunct);
                self.add_atom(vertex, atom, conjunct.expr);
                Ok(())
            }
            Term::Vertex(target) => {
                if self.share(vertex, target, conjunct) {
                    return Ok(());
                }
                self.include(vertex, target, conjunct)
            }
        }
    }

    /// The target of a reference; the vertex is not evaluated yet.
    pub(crate) fn resolve(&mut self, conjunct: Conjunct) -> Result<Term, Fault> {
        if let Some(value) = conjunct.expr.as_value() {
            return Ok(Term::Vertex(VertexId(value)));
        }
        let chunk = self.chunk(conjunct.expr);
        let here = |up: u32, this: &Self| {
            let id = this.env_up(conjunct.env, up);
            (!id.is_none()).then(|| (id, this.env(id).kind.clone()))
        };
        let missing = |this: &Self| this.fault(Code::Reference, "reference leads nowhere", conjunct.expr);
        match self.expr(&chunk, conjunct.expr) {
            Expr::Value(value) => Ok(Term::Vertex(VertexId(*value))),
            Expr::Field { up, label } => match here(*up, self) {
                Some((_, EnvKind::Vertex(vertex))) => {
                    self.lookup(vertex, *label, conjunct.expr).map(Term::Vertex)
                }
                _ => Err(missing(self)),
            },
            Expr::DynamicField { up, label } => match here(*up, self) {
                Some((env, EnvKind::Vertex(vertex))) => {
                    let term = self.concrete(Conjunct { env, ..conjunct.with(*label) })?;
                    let Term::Atom(Atom::String(text)) = term else { return Err(missing(self)) };
                    let label = Label::regular(self.intern(&text));
                    self.lookup(vertex, label, conjunct.expr).map(Term::Vertex)
                }
                _ => Err(missing(self)),
            },
            Expr::Let { up, index } => match here(*up, self) {
                Some((env, EnvKind::Vertex(vertex))) => {
                    if let Some(known) = self.lets.get(&(env, *index)) {
                        return Ok(Term::Vertex(*known));
                    }
                    let Some(expr) = self.program.lets.get(*index as usize).copied() else {
                        return Err(missing(self));
                    };
                    let made = self.inline(Conjunct { env, ..conjunct.with(expr) }, vertex);
                    self.take(super::limits::MAP_ENTRY);
                    self.lets.insert((env, *index), made);
                    Ok(Term::Vertex(made))
                }
                _ => Err(missing(self)),
            },
            Expr::ForKey { up } => match here(*up, self) {
                Some((_, EnvKind::For { key, .. })) => Ok(Term::Atom(key)),
                _ => Err(missing(self)),
            },
            Expr::ForValue { up } => match here(*up, self) {
                Some((_, EnvKind::For { value, .. })) => Ok(Term::Vertex(value)),
                _ => Err(missing(self)),
            },
            Expr::ClauseLet { up } => match here(*up, self) {
                Some((_, EnvKind::Let(vertex))) => Ok(Term::Vertex(vertex)),
                _ => Err(missing(self)),
            },
            Expr::PatternLabel { up } => match here(*up, self) {
                Some((_, EnvKind::Label(label))) => Ok(Term::Atom(Atom::String(self.label_text(label)))),
                _ => Err(missing(self)),
            },
            Expr::Own { up } => match here(*up, self) {
                Some((_, EnvKind::Vertex(vertex))) => Ok(Term::Vertex(vertex)),
                _ => Err(missing(self)),
            },
            Expr::Package(id) => {
                let id = *id;
                if let Some(known) = self.packages.get(&id) {
                    return Ok(Term::Vertex(*known));
                }
                let files =
                    self.program.packages.get(id as usize).map(|p| p.files.clone()).unwrap_or_default();
                let made = self.new_vertex(VertexId::NONE, Label::NONE);
                self.root_conjuncts(made, &files);
                self.packages.insert(id, made);
                Ok(Term::Vertex(made))
            }
            Expr::Selector(base, label) => {
                let from = self.base(conjunct.with(*base))?;
                self.looked_into(&from, conjunct);
                match from {
                    Term::Vertex(from) => self.lookup(from, *label, conjunct.expr).map(Term::Vertex),
                    Term::Atom(_) => Err(self.fault(
                        Code::Operation,
                        format!(
                            "{} is not a struct: it has no field {}",
                            self.source_text(*base),
                            self.label_name(*label)
                        ),
                        conjunct.expr,
                    )),
                }
            }
            Expr::Index(base, index) => self.resolve_index(conjunct, *base, *index),
            Expr::Open(inner) => self.base(conjunct.with(*inner)),
            Expr::Try(inner) => match self.base(conjunct.with(*inner)) {
                Err(fault) if fault.is_incomplete() => Err(self.not_given(&fault, conjunct.expr)),
                result => result,
            },
            _ => self.eval(conjunct),
        }
    }

    /// To look into a value that is still to be made is to go one level deeper: what it refers to may be around it.
    fn looked_into(&mut self, from: &Term, conjunct: Conjunct) {
        if let Term::Vertex(from) = from
            && conjunct.kind != CycleKind::Cyclic
            && self.v(*from).state == State::New
        {
            self.vm(*from).standing.acyclic = true;
        }
    }

    /// The left side of a selector or index.
    fn base(&mut self, conjunct: Conjunct) -> Result<Term, Fault> {
        self.step(conjunct.expr)?;
        self.resolve(conjunct)
    }

    fn resolve_index(&mut self, conjunct: Conjunct, base: ExprId, index: ExprId) -> Result<Term, Fault> {
        let from = self.base(conjunct.with(base))?;
        self.looked_into(&from, conjunct);
        let key = self.concrete(conjunct.with(index))?;
        let Term::Vertex(from) = from else {
            let kinds =
                if let Term::Atom(a) = &from { super::bounds::kinds_text(a.kinds()) } else { String::new() };
            let text =
                format!("invalid operand {} (found {kinds}, want list or struct)", self.source_text(base));
            return Err(self.fault(Code::Index, text, base));
        };
        let label = match key {
            Term::Atom(Atom::String(text)) => {
                let value = self.settled(from, base)?;
                if !self.v(value).kinds.meets(Kinds::STRUCT) {
                    return Err(self.fault(
                        Code::Index,
                        format!("invalid index {text:?}: not a struct"),
                        index,
                    ));
                }
                Label::regular(self.intern(&text))
            }
            Term::Atom(Atom::Number { value, is_float: false }) => {
                let settled = self.settled(from, base)?;
                if !self.v(settled).kinds.meets(Kinds::LIST) {
                    return Err(self.fault(
                        Code::Index,
                        format!("invalid list index {value}: not a list"),
                        index,
                    ));
                }
                match value.to_i64() {
                    Some(i) if (0..1 << 29).contains(&i) => {
                        let closed = self.v(settled).list.as_ref().and_then(|l| l.closed);
                        if closed.is_some_and(|n| i as usize >= n) {
                            return Err(self.fault(Code::Index, format!("index out of range [{i}]"), index));
                        }
                        Label::index(i as usize)
                    }
                    _ => {
                        return Err(self.fault(
                            Code::Index,
                            format!("invalid list index {value}: out of range"),
                            index,
                        ));
                    }
                }
            }
            _ => return Err(self.fault(Code::Index, "an index is a string or an int", index)),
        };
        self.lookup(from, label, conjunct.expr).map(Term::Vertex)
    }

    /// The vertex whose fields are meant: evaluated, the default taken.
    pub(crate) fn settled(&mut self, vertex: VertexId, place: ExprId) -> Result<VertexId, Fault> {
        self.process(vertex);
        let vertex = self.deref(vertex);
        if self.v(vertex).disjuncts.is_some() {
            return match self.default_of(vertex) {
                Some(default) => Ok(default),
                None => Err(self.fault_with(Code::Ambiguous, Message::Ambiguous(vertex), &[place])),
            };
        }
        Ok(vertex)
    }

    /// The field of a vertex. Tasks that may still add it run first.
    pub(crate) fn lookup(&mut self, from: VertexId, label: Label, place: ExprId) -> Result<VertexId, Fault> {
        let from = self.settled(from, place)?;
        if self.v(from).state == State::Busy {
            self.work(self.v(from).tasks.len(), place)?;
            let known = self.v(from).arcs.find(label).is_some_and(|arc| arc.kind == ArcKind::Member);
            let mut at = 0;
            while at < self.v(from).tasks.len() {
                let task = &self.v(from).tasks[at];
                let waiting = matches!(task.state, TaskState::Pending | TaskState::Blocked);
                // Thousands of computed labels that use one name would otherwise each wait for all the others.
                let computed = known && matches!(task.kind, TaskKind::Dynamic { .. });
                if waiting && !computed && self.may_provide(task, label) {
                    self.run_task(from, at);
                }
                at += 1;
            }
        }
        let v = self.v(from);
        let arc = self.arc_index(from, label).and_then(|at| v.arcs.get(at)).copied();
        if let Some(arc) = arc
            && arc.kind == ArcKind::Member
        {
            return Ok(arc.vertex);
        }
        if let Some(fault) = v.fault.as_ref().filter(|f| f.is_fatal()) {
            return Err(fault.clone());
        }
        let open = !v.choices.is_empty() && v.forward.is_none() && v.disjuncts.is_none();
        let unfinished = v.state == State::Busy
            && (open || v.tasks.iter().any(|t| t.state != TaskState::Done && self.may_provide(t, label)));
        if unfinished {
            return Err(self.busy(from, place));
        }
        if let Some(fault) = v.fault.as_ref() {
            return Err(fault.clone());
        }
        if v.atom.is_some() || v.kinds.0 & (Kinds::STRUCT.0 | Kinds::LIST.0) == 0 {
            let text = format!(
                "invalid operand {} (found {}, want {})",
                self.source_text(place),
                super::bounds::kinds_text(v.kinds),
                if label.as_index().is_some() { "list" } else { "struct" }
            );
            return Err(self.fault(Code::Operation, text, place));
        }
        let message = match arc.map(|arc| arc.kind) {
            Some(ArcKind::Required) => {
                Message::Text(format!("required field missing: {}", self.label_name(label)))
            }
            Some(_) => Message::Optional(label, from),
            None => Message::Undefined(label, from),
        };
        let in_list = v.list.is_some() && label.as_index().is_none();
        let closed = arc.is_none()
            && label.is_regular()
            && v.state == State::Done
            && (in_list || !self.accepts(from, label));
        let code = if closed { Code::UndefinedField } else { Code::Incomplete };
        Err(self.fault_with(code, message, &[place]))
    }

    /// Brings the conjuncts of a target to a vertex.
    pub(crate) fn include(
        &mut self,
        vertex: VertexId,
        target: VertexId,
        conjunct: Conjunct,
    ) -> Result<(), Fault> {
        let target = self.unshared(target);
        match self.follow(vertex, target, conjunct)? {
            Step::Skip => Ok(()),
            Step::Follow(through) => self.bring(vertex, target, through),
        }
    }

    /// Brings the conjuncts of a target to a vertex, cycle or not.
    pub(crate) fn bring(
        &mut self,
        vertex: VertexId,
        target: VertexId,
        through: Conjunct,
    ) -> Result<(), Fault> {
        if let Some(fault) = self.v(target).fault.as_ref().filter(|f| f.0.code == Code::StructuralCycle) {
            return Err(fault.clone());
        }
        let key = (target, through.scope);
        if through.kind != CycleKind::Cyclic && self.v(vertex).included.contains(&key) {
            return Ok(());
        }
        self.put(vertex, |v| &mut v.included, key);
        let through = self.apart_from_outer(vertex, target, through);
        // Vertices that may still add conjuncts to the target do it first.
        let parent = self.v(target).parent;
        if !parent.is_none() && self.v(parent).state == State::Busy && self.v(target).label != Label::NONE {
            let label = self.v(target).label;
            let mut at = 0;
            while at < self.v(parent).tasks.len() {
                let task = &self.v(parent).tasks[at];
                if task.state == TaskState::Pending && self.may_provide(task, label) {
                    self.run_task(parent, at);
                }
                at += 1;
            }
            self.put(target, |v| &mut v.subscribers, (vertex, through));
        }
        if self.v(target).conjuncts.is_empty() {
            return self.include_value(vertex, target, through);
        }
        let mut at = 0;
        while at < self.v(target).conjuncts.len() {
            let brought = self.brought(self.v(target).conjuncts[at], through);
            self.add(vertex, brought);
            at += 1;
        }
        Ok(())
    }

    /// A definition that closes a vertex already and is referred to inside of it closes the inner one by itself: what the
    /// outer one leaves open says nothing about the inner one.
    fn apart_from_outer(&mut self, vertex: VertexId, target: VertexId, through: Conjunct) -> Conjunct {
        let own = self.v(target).own_scope;
        if own.is_none() {
            return through;
        }
        let closer = self.graft(own, through.scope);
        let mut outer = self.v(vertex).parent;
        while !outer.is_none() {
            let v = self.v(outer);
            if v.closers.contains(&closer) {
                return Conjunct { scope: self.new_scope(through.scope, ScopeKind::Literal), ..through };
            }
            outer = v.parent;
        }
        through
    }

    /// Copies what a finished copy of a disjunction's vertex came to.
    fn include_value(&mut self, vertex: VertexId, target: VertexId, through: Conjunct) -> Result<(), Fault> {
        self.process(target);
        let v = self.v(target);
        if let Some(fault) = &v.fault {
            return Err(fault.clone());
        }
        let (kinds, by) = (v.kinds, v.kinds_by);
        let (atom, bounds, checks) = (v.atom.clone(), v.bounds.clone(), v.checks.clone());
        let (patterns, list, arcs) = (v.patterns.clone(), v.list.clone(), v.arcs.to_list());
        let (open, closers) = (v.open.clone(), v.closers.clone());
        self.has_value(vertex, through);
        if kinds != Kinds::TOP {
            self.add_kinds(vertex, kinds, by);
        }
        if let Some(atom) = atom {
            self.add_atom(vertex, atom, by);
        }
        self.room(arcs.len() * super::limits::VERTEX_SIZE, through.expr)?;
        bounds.into_iter().for_each(|bound| self.put(vertex, |v| &mut v.bounds, bound));
        checks.into_iter().for_each(|check| self.put(vertex, |v| &mut v.checks, check));
        patterns.into_iter().for_each(|pattern| self.put(vertex, |v| &mut v.patterns, pattern));
        for scope in open {
            let scope = self.graft(scope, through.scope);
            self.put(vertex, |v| &mut v.open, scope);
        }
        for scope in closers {
            let scope = self.graft(scope, through.scope);
            self.close_by(vertex, scope);
        }
        if let Some(list) = list {
            self.include_list(vertex, *list, through.expr);
        }
        for arc in arcs {
            let mut conjuncts = self.v(arc.vertex).conjuncts.clone();
            if conjuncts.is_empty() {
                conjuncts.push(self.plain(ExprId::value(arc.vertex.0)));
            }
            for conjunct in conjuncts {
                let brought = self.brought(conjunct, through);
                match arc.label.as_index() {
                    Some(at) => self.insert_element(vertex, at, brought),
                    None => self.insert_field(vertex, arc.label, arc.kind, brought),
                }
            }
        }
        Ok(())
    }

    /// A conjunct of a target as it stands in the vertex that refers to it.
    pub(crate) fn brought(&mut self, conjunct: Conjunct, through: Conjunct) -> Conjunct {
        let scope = self.graft(conjunct.scope, through.scope);
        Conjunct { scope, cycle: through.cycle, kind: through.kind, ..conjunct }
    }

    pub(crate) fn new_scope(&mut self, parent: ScopeId, kind: ScopeKind) -> ScopeId {
        let above = self.scopes[parent.0 as usize];
        let closes = above.closes || matches!(kind, ScopeKind::Definition | ScopeKind::Close(_));
        self.take(size_of::<Scope>());
        self.scopes.push(Scope { parent, kind, depth: above.depth + 1, closes });
        ScopeId(self.scopes.len() as u32 - 1)
    }

    /// The same scope below another one.
    pub(crate) fn graft(&mut self, scope: ScopeId, below: ScopeId) -> ScopeId {
        if scope == super::ROOT_SCOPE {
            return below;
        }
        if below == super::ROOT_SCOPE {
            return scope;
        }
        // Only values that hold themselves nest scopes without end; they fail for that reason.
        let depth = self.scopes[scope.0 as usize].depth + self.scopes[below.0 as usize].depth;
        if depth > MAX_SCOPES {
            return below;
        }
        if let Some(known) = self.grafts.get(&(scope, below)) {
            return *known;
        }
        let Scope { parent, kind, .. } = self.scopes[scope.0 as usize];
        let parent = self.graft(parent, below);
        let made = self.new_scope(parent, kind);
        self.take(super::limits::MAP_ENTRY);
        self.grafts.insert((scope, below), made);
        made
    }
}

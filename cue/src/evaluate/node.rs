//! A vertex in; the same vertex with all conjuncts added, tasks run and disjunctions expanded, out.

use super::{
    Conjunct, Evaluation, Fault, FaultData, Message, ScopeId, State, Task, TaskKind, TaskState, VertexId,
};
use crate::{
    diagnostic::Code,
    ir::{ArcKind, Expr, ExprId, Label},
    packages::Kinds,
};

/// Most conjuncts of one value: a file that writes one field of a struct on each line stays below it.
const MAX_CONJUNCTS: usize = 20_000;

/// Most references of one value: only values that hold themselves come near it.
pub(crate) const MAX_REFERENCES: usize = 2_000;

impl Evaluation {
    /// Makes the shape of a vertex known: its fields, or its scalar. Children stay as they are.
    pub(crate) fn process(&mut self, vertex: VertexId) {
        match self.v(vertex).state {
            State::Busy => return,
            State::Done if self.v(vertex).sharing.target.is_some() => {
                self.process(self.v(vertex).forward);
                return self.adopt(vertex);
            }
            State::Done => {
                if !self.worth_retrying(vertex) {
                    return;
                }
            }
            State::New => {}
        }
        if let Some(stopped) = self.stopped().cloned() {
            // No task begins any more.
            self.set_fault(vertex, stopped);
            self.vm(vertex).state = State::Done;
            return;
        }
        if self.depth >= self.budget.depth {
            let limit = self.budget.depth;
            let fault = self.fault(
                Code::Budget,
                format!("values are nested deeper than {limit} levels"),
                ExprId::NONE,
            );
            self.set_fault(vertex, fault);
            self.vm(vertex).state = State::Done;
            return;
        }
        self.depth += 1;
        stacker::maybe_grow(256 * 1024, 2 * 1024 * 1024, || self.process_now(vertex));
        self.depth -= 1;
    }

    fn worth_retrying(&self, vertex: VertexId) -> bool {
        let v = self.v(vertex);
        v.tasks.iter().any(|t| t.state == TaskState::Blocked && self.is_free(t))
            || v.disjuncts.as_ref().is_some_and(|d| d.iter().any(|(o, _)| self.worth_retrying(*o)))
            || (!v.forward.is_none() && self.worth_retrying(v.forward))
    }

    /// Whether what a task waited for is done by now.
    fn is_free(&self, task: &Task) -> bool {
        task.fault.as_ref().is_some_and(|f| !f.0.busy.is_none() && self.v(f.0.busy).state != State::Busy)
    }

    fn process_now(&mut self, vertex: VertexId) {
        let first = self.v(vertex).state == State::New;
        self.vm(vertex).state = State::Busy;
        if first {
            let mut at = 0;
            while at < self.v(vertex).conjuncts.len() {
                let conjunct = self.v(vertex).conjuncts[at];
                at += 1;
                self.add(vertex, conjunct);
            }
        } else {
            let v = self.vm(vertex);
            v.disjuncts = None;
            v.forward = VertexId::NONE;
            v.finalized = false;
            v.child_fault = None;
            if v.fault.as_ref().is_some_and(Fault::is_incomplete) {
                v.fault = None;
            }
        }
        self.run_tasks(vertex);
        self.check_cycle(vertex);
        if self.v(vertex).fault.as_ref().is_none_or(Fault::is_incomplete)
            && !self.v(vertex).choices.is_empty()
        {
            self.expand(vertex);
        }
        self.finish(vertex);
        let v = self.vm(vertex);
        v.state = State::Done;
        // Only what is blocked is ever looked at again.
        v.tasks.retain(|task| task.state != TaskState::Done);
        self.epoch += 1;
        if self.v(vertex).sharing.target.is_some() {
            self.adopt(vertex);
        }
    }

    /// Runs tasks until none makes progress.
    pub(crate) fn run_tasks(&mut self, vertex: VertexId) {
        self.run_labels(vertex);
        loop {
            let mut progress = false;
            let mut at = 0;
            while at < self.v(vertex).tasks.len() {
                if matches!(self.v(vertex).tasks[at].state, TaskState::Pending | TaskState::Blocked) {
                    progress |= self.run_task(vertex, at);
                }
                at += 1;
            }
            let waiting = self.v(vertex).tasks.iter().any(|t| t.state == TaskState::Blocked);
            let pending = self.v(vertex).tasks.iter().any(|t| t.state == TaskState::Pending);
            if !pending && (!progress || !waiting) {
                return;
            }
        }
    }

    /// Adds the fields of computed labels first: a condition may ask for one of them by its name.
    fn run_labels(&mut self, vertex: VertexId) {
        for at in 0..self.v(vertex).tasks.len() {
            let task = &self.v(vertex).tasks[at];
            if task.state == TaskState::Pending && matches!(task.kind, TaskKind::Dynamic { .. }) {
                self.run_task(vertex, at);
            }
        }
    }

    /// Runs one task; true when it is done with.
    pub(crate) fn run_task(&mut self, vertex: VertexId, at: usize) -> bool {
        self.vm(vertex).tasks[at].state = TaskState::Running;
        let Task { kind, conjunct, .. } = self.v(vertex).tasks[at].clone();
        let result = self.step(conjunct.expr).and_then(|()| match kind {
            TaskKind::Reference => self.run_reference(vertex, conjunct),
            TaskKind::Value => self.run_value(vertex, conjunct),
            TaskKind::Comprehension => self.run_comprehension(vertex, conjunct),
            TaskKind::Dynamic { label, kind } => self.run_dynamic(vertex, label, kind, conjunct),
            TaskKind::Pattern { pattern, labelled } => self.run_pattern(vertex, pattern, labelled, conjunct),
            TaskKind::List => self.run_list(vertex, conjunct),
        });
        let task = &mut self.vm(vertex).tasks[at];
        match result {
            Ok(()) => {
                task.state = TaskState::Done;
                task.fault = None;
                true
            }
            Err(fault) if fault.is_incomplete() => {
                task.state = TaskState::Blocked;
                task.fault = Some(fault.clone());
                self.take_fault(&fault);
                false
            }
            Err(fault) => {
                task.state = TaskState::Done;
                self.set_fault(vertex, fault);
                true
            }
        }
    }

    /// Records why a vertex has no value; a fatal reason replaces an incomplete one.
    pub(crate) fn set_fault(&mut self, vertex: VertexId, fault: Fault) {
        let old = self.v(vertex).fault.as_ref();
        if old.is_none_or(|old| old.is_incomplete() && fault.is_fatal()) {
            let fault = if fault.0.vertex.is_none() {
                let mut data = FaultData::clone(&fault.0);
                data.vertex = vertex;
                // A task that waits for itself will wait for ever.
                if data.busy == vertex {
                    data.busy = VertexId::NONE;
                }
                let fault = Fault(std::rc::Rc::new(data));
                self.take_fault(&fault);
                if fault.0.code == Code::Budget {
                    self.note_stopped(&fault);
                }
                fault
            } else {
                fault
            };
            self.vm(vertex).fault = Some(fault);
        }
    }

    fn check_cycle(&mut self, vertex: VertexId) {
        let v = self.v(vertex);
        if v.standing.is_cycle() {
            let place = v.conjuncts.first().map_or(ExprId::NONE, |c| c.expr);
            let fault = self.fault(Code::StructuralCycle, "structural cycle", place);
            let v = self.vm(vertex);
            v.arcs.clear();
            v.choices.clear();
            v.tasks.clear();
            v.fault = None;
            self.set_fault(vertex, fault);
        }
    }

    /// Judges what came together.
    pub(crate) fn finish(&mut self, vertex: VertexId) {
        let blocked = self.v(vertex).tasks.iter().filter(|t| t.state == TaskState::Blocked);
        let faults: Vec<Fault> = blocked.filter_map(|t| t.fault.clone()).collect();
        for fault in faults {
            self.set_fault(vertex, fault);
        }
        if !self.v(vertex).forward.is_none() || self.v(vertex).disjuncts.is_some() {
            return;
        }
        let v = self.v(vertex);
        if v.weak_struct && !v.embeds_top && v.kinds == Kinds::TOP && v.atom.is_none() && v.fault.is_none() {
            self.vm(vertex).kinds = Kinds::STRUCT;
        } else if v.weak_struct && v.kinds.0 & Kinds::STRUCT.0 == 0 {
            let arc = v.arcs.iter().find(|a| a.label.is_regular() && a.kind == ArcKind::Member).copied();
            if let Some(arc) = arc {
                let place = self.v(arc.vertex).conjuncts.first().map_or(ExprId::NONE, |c| c.expr);
                let by = self.v(vertex).kinds_by;
                let fault = self.fault_with(
                    Code::Conflict,
                    Message::Text(format!(
                        "conflicting values: a struct with field {} and a {}",
                        self.label_name(arc.label),
                        super::bounds::kinds_text(self.v(vertex).kinds)
                    )),
                    &[place, by],
                );
                self.set_fault(vertex, fault);
            }
        }
        self.finish_list(vertex);
        self.finish_scalar(vertex);
        self.check_closed(vertex);
    }

    /// Makes a vertex and everything below it known, and notes the first fatal fault below.
    pub(crate) fn finalize(&mut self, vertex: VertexId) {
        if self.v(vertex).finalized && !self.worth_retrying(vertex) {
            return;
        }
        self.process(vertex);
        let own = self.deref(vertex);
        if self.v(vertex).state == State::Busy || self.v(own).state == State::Busy {
            return;
        }
        if self.v(vertex).waiting_since == self.epoch {
            return;
        }
        if self.v(vertex).sharing.target.is_some() {
            return self.finalize_shared(vertex);
        }
        if own != vertex {
            self.finalize(own);
            self.vm(vertex).child_fault = self.v(own).child_fault.clone();
            if let Some(fault) = self.v(own).fault.clone() {
                self.set_fault(vertex, fault);
            }
            self.vm(vertex).finalized = self.v(own).finalized;
            self.vm(vertex).waiting_since = self.v(own).waiting_since;
            return;
        }
        // Set first, so that a value that holds itself ends here.
        self.vm(vertex).finalized = true;
        if self.v(vertex).fault.as_ref().is_some_and(Fault::is_fatal) {
            return;
        }
        if self.depth >= self.budget.depth {
            let limit = self.budget.depth;
            let fault = self.fault(
                Code::Budget,
                format!("values are nested deeper than {limit} levels"),
                ExprId::NONE,
            );
            self.set_fault(vertex, fault);
            return;
        }
        self.depth += 1;
        self.vm(vertex).on_path = true;
        self.vm(vertex).child_fault = None;
        let mut waiting =
            self.v(vertex).tasks.iter().any(|t| {
                t.state == TaskState::Blocked && t.fault.as_ref().is_some_and(|f| !f.0.busy.is_none())
            });
        let mut at = 0;
        while at < self.v(vertex).arcs.len() {
            let arc = self.v(vertex).arcs[at];
            at += 1;
            if arc.kind == ArcKind::Optional {
                continue;
            }
            stacker::maybe_grow(256 * 1024, 2 * 1024 * 1024, || self.finalize(arc.vertex));
            let child = self.v(arc.vertex);
            waiting |= !child.finalized;
            let fault = child.fault.as_ref().filter(|f| f.is_fatal()).or(child.child_fault.as_ref()).cloned();
            if let (Some(fault), None) = (fault, &self.v(vertex).child_fault) {
                self.vm(vertex).child_fault = Some(fault);
            }
        }
        self.depth -= 1;
        self.vm(vertex).on_path = false;
        self.run_checks(vertex);
        if waiting {
            self.vm(vertex).finalized = false;
            self.vm(vertex).waiting_since = self.epoch;
        }
    }

    /// The fatal fault of a vertex or of what is below it.
    pub(crate) fn fatal(&self, vertex: VertexId) -> Option<&Fault> {
        let v = self.v(vertex);
        v.fault.as_ref().filter(|f| f.is_fatal()).or(v.child_fault.as_ref())
    }

    /// Adds a field; its patterns and late conjuncts follow.
    pub(crate) fn insert_field(&mut self, vertex: VertexId, label: Label, kind: ArcKind, conjunct: Conjunct) {
        let child = self.arc(vertex, label, kind);
        self.push_conjunct(child, conjunct);
    }

    /// Where the arc of a label is.
    pub(crate) fn arc_index(&self, vertex: VertexId, label: Label) -> Option<usize> {
        self.v(vertex).arcs.place(label)
    }

    /// The vertex of a field, made when it is not there.
    pub(crate) fn arc(&mut self, vertex: VertexId, label: Label, kind: ArcKind) -> VertexId {
        if let Some(at) = self.arc_index(vertex, label) {
            let arcs = &mut self.vm(vertex).arcs;
            arcs.declare_again(at, kind);
            return arcs[at].vertex;
        }
        let child = self.new_vertex(vertex, label);
        self.put(vertex, |v| &mut v.arcs, super::Arc_ { label, kind, vertex: child });
        if label.is_regular() {
            for at in 0..self.v(vertex).patterns.len() {
                self.apply_pattern(vertex, at, label, child);
            }
        }
        child
    }

    pub(crate) fn push_conjunct(&mut self, child: VertexId, mut conjunct: Conjunct) {
        if self.is_definition(self.v(child).label) {
            conjunct.scope = self.definition_scope(child, conjunct.scope);
        }
        if self.v(child).conjuncts.contains(&conjunct) {
            return;
        }
        if self.v(child).conjuncts.len() >= MAX_CONJUNCTS {
            let text = format!("a value has more than {MAX_CONJUNCTS} conjuncts");
            let fault = self.fault(Code::Budget, text, conjunct.expr);
            return self.set_fault(child, fault);
        }
        if conjunct.kind <= super::CycleKind::Optional {
            self.vm(child).standing.plain = true;
        }
        self.put(child, |v| &mut v.conjuncts, conjunct);
        match self.v(child).state {
            State::New => {}
            State::Busy => self.add(child, conjunct),
            State::Done => self.reset(child),
        }
        for at in 0..self.v(child).subscribers.len() {
            let (subscriber, through) = self.v(child).subscribers[at];
            let brought = self.brought(conjunct, through);
            match self.v(subscriber).state {
                State::New => {}
                State::Busy => self.add(subscriber, brought),
                State::Done => self.reset_through(subscriber),
            }
        }
    }

    /// `#a` and `_#a` close what they hold.
    fn is_definition(&self, label: Label) -> bool {
        label.is_definition() || (label.is_hidden() && self.label_text(label).starts_with("_#"))
    }

    fn definition_scope(&mut self, child: VertexId, scope: ScopeId) -> ScopeId {
        if self.v(child).own_scope.is_none() {
            let made = self.new_scope(scope, super::ScopeKind::Definition);
            self.vm(child).own_scope = made;
        }
        self.v(child).own_scope
    }

    /// Starts a vertex anew because it got another conjunct after it was done.
    pub(crate) fn reset(&mut self, vertex: VertexId) {
        let (parent, label) = (self.v(vertex).parent, self.v(vertex).label);
        let fresh = self.new_vertex(parent, label);
        let Some(mut made) = self.vertices.pop() else { return };
        debug_assert_eq!(fresh.0 as usize, self.vertices.len());
        let old = self.vm(vertex);
        made.conjuncts = std::mem::take(&mut old.conjuncts);
        made.subscribers = std::mem::take(&mut old.subscribers);
        made.own_scope = old.own_scope;
        made.copy_of = old.copy_of;
        made.sharing.forbidden = old.sharing.forbidden;
        made.standing.plain = old.standing.plain;
        *old = made;
    }

    /// Starts a vertex anew, and those that share it through it.
    fn reset_through(&mut self, vertex: VertexId) {
        self.reset(vertex);
        for at in 0..self.v(vertex).subscribers.len() {
            let (subscriber, _) = self.v(vertex).subscribers[at];
            if self.v(subscriber).sharing.target == Some(vertex) {
                self.reset_through(subscriber);
            }
        }
    }

    /// Whether a task may add a field of this label to its vertex.
    pub(crate) fn may_provide(&self, task: &Task, label: Label) -> bool {
        let chunk = self.chunk(task.conjunct.expr);
        match task.kind {
            TaskKind::Reference => true,
            TaskKind::Value => !matches!(
                self.expr(&chunk, task.conjunct.expr),
                Expr::Bound(..)
                    | Expr::Interpolation { .. }
                    | Expr::IsBottom { .. }
                    | Expr::Binary(..)
                    | Expr::Unary(..)
            ),
            TaskKind::Pattern { .. } => true,
            TaskKind::List => label.as_index().is_some(),
            TaskKind::Dynamic { .. } => label.is_regular(),
            TaskKind::Comprehension => match self.expr(&chunk, task.conjunct.expr) {
                Expr::Comprehension(c) => c.labels.as_ref().is_none_or(|l| l.contains(&label)),
                _ => true,
            },
        }
    }
}

//! A vertex with open choices in; one copy of it per surviving combination, marked for the default, out.

use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use super::{
    Choice, Conjunct, Env, EnvId, EnvKind, Evaluation, Fault, Mark, Message, OriginKind, State, TaskState,
    Vertex, VertexId,
};
use crate::{
    diagnostic::Code,
    ir::{ArcKind, Expr, ExprId},
};

/// Most combinations kept at a time.
const MAX_DISJUNCTS: usize = 10_000;

impl Evaluation {
    /// Multiplies out the choices of a vertex.
    pub(crate) fn expand(&mut self, vertex: VertexId) {
        let choices = self.v(vertex).choices.clone();
        let mut results: Vec<(VertexId, Ways)> = Vec::new();
        let mut first = true;
        let mut faults: Vec<Fault> = Vec::new();
        for choice in &choices {
            let bases =
                if first { vec![(vertex, smallvec![Marks::new()])] } else { std::mem::take(&mut results) };
            let (conjunct, options) = self.options(choice);
            let marked = options.iter().any(|(m, _)| *m);
            for (base, ways) in bases {
                for (preferred, expr) in &options {
                    let own = match (*preferred, marked) {
                        (true, _) => Mark::Default,
                        (false, true) => Mark::Not,
                        (false, false) => Mark::Maybe,
                    };
                    if let Err(fault) = self.step(*expr) {
                        return self.set_fault(vertex, fault);
                    }
                    // A copy takes about what the original does.
                    let size = (1 + self.v(base).arcs.len()) * super::limits::VERTEX_SIZE;
                    if let Err(fault) = self.room(size, *expr) {
                        return self.set_fault(vertex, fault);
                    }
                    let copy = self.copy(base, vertex);
                    self.vm(copy).state = State::Busy;
                    let mapped = self.copied_env(conjunct, vertex, copy);
                    let before = self.v(copy).origins.len();
                    self.add(copy, mapped.with(*expr));
                    if *preferred {
                        for origin in self.vm(copy).origins.iter_mut().skip(before) {
                            if origin.1 == OriginKind::Value {
                                origin.1 = OriginKind::Default;
                            }
                        }
                    }
                    self.settle(copy, &ways, own, &mut results, &mut faults);
                    if results.len() > MAX_DISJUNCTS {
                        let text = format!("more than {MAX_DISJUNCTS} combinations of disjuncts");
                        let fault = self.fault(Code::Budget, text, *expr);
                        return self.set_fault(vertex, fault);
                    }
                }
            }
            self.deduplicate(&mut results, !first);
            first = false;
            if results.is_empty() {
                return self.no_disjunct(vertex, faults);
            }
        }
        let results = weighed(results);
        if let [(only, _)] = results.as_slice() {
            let only = *only;
            self.vm(vertex).forward = only;
            if let Some(fault) = self.v(only).fault.clone() {
                self.set_fault(vertex, fault);
            }
        } else {
            self.take(size_of_val(results.as_slice()));
            self.vm(vertex).disjuncts = Some(results);
        }
    }

    fn options(&self, choice: &Choice) -> (Conjunct, Vec<(bool, ExprId)>) {
        match choice {
            Choice::Expr(conjunct) => {
                let chunk = self.chunk(conjunct.expr);
                match self.expr(&chunk, conjunct.expr) {
                    Expr::Or(options) => (*conjunct, options.clone()),
                    _ => (*conjunct, vec![(false, conjunct.expr)]),
                }
            }
            Choice::Terms(terms, conjunct) => {
                (*conjunct, terms.iter().map(|t| (false, ExprId::value(t.0))).collect())
            }
        }
    }

    /// Finishes a copy: drops it when it fails, flattens it when it is a disjunction itself.
    fn settle(
        &mut self,
        copy: VertexId,
        ways: &Ways,
        own: Mark,
        results: &mut Vec<(VertexId, Ways)>,
        faults: &mut Vec<Fault>,
    ) {
        self.run_tasks(copy);
        let v = self.v(copy);
        if v.standing.is_cycle() {
            let place = v.origins.first().map_or(ExprId::NONE, |o| o.0);
            faults.push(self.fault(Code::StructuralCycle, "structural cycle", place));
            return;
        }
        if let Some(fault) = v.fault.as_ref().filter(|f| f.is_fatal()) {
            faults.push(fault.clone());
            return;
        }
        if !v.choices.is_empty() {
            self.expand(copy);
        }
        self.finish(copy);
        self.vm(copy).state = State::Done;
        if let Some(nested) = self.v(copy).disjuncts.clone() {
            for (inner, inner_mark) in nested {
                results.push((inner, further(ways, combine(own, inner_mark))));
            }
            return;
        }
        let left = self.deref(copy);
        if let Some(fault) = self.v(left).fault.clone() {
            // No vertex that is being made could still give it a value.
            if !self.is_waiting(&fault) {
                faults.push(fault);
                return;
            }
        }
        self.finalize(left);
        let fault = self.fatal(left).cloned().or_else(|| self.unfinished_field(left));
        if let Some(fault) = fault {
            faults.push(fault);
            return;
        }
        results.push((left, further(ways, own)));
    }

    /// Why a field of an alternative has no value, and nothing that is being made will give it one. `*{a: b.c} | {}` is
    /// the second alternative where `b` has no `c`: as in the reference, one level down counts and no deeper one.
    fn unfinished_field(&mut self, alternative: VertexId) -> Option<Fault> {
        for at in 0..self.v(alternative).arcs.len() {
            let arc = self.v(alternative).arcs[at];
            if arc.kind == ArcKind::Optional {
                continue;
            }
            self.process(arc.vertex);
            let own = self.deref(arc.vertex);
            let fault = self.v(own).fault.as_ref().or(self.v(arc.vertex).fault.as_ref());
            if let Some(fault) = fault.filter(|fault| fault.is_incomplete() && !self.is_waiting(fault)) {
                return Some(fault.clone());
            }
        }
        None
    }

    fn no_disjunct(&mut self, vertex: VertexId, faults: Vec<Fault>) {
        let cycle = faults.iter().all(|f| f.0.code == Code::StructuralCycle) && !faults.is_empty();
        let budget = faults.iter().find(|f| f.0.code == Code::Budget).cloned();
        if let Some(fault) = budget {
            return self.set_fault(vertex, fault);
        }
        let places: Vec<ExprId> = faults.iter().flat_map(|f| f.0.places.iter().copied()).take(8).collect();
        let user = faults.iter().all(|f| f.0.code == Code::User) && !faults.is_empty();
        let code = if faults.iter().any(Fault::is_incomplete) {
            Code::Incomplete
        } else if cycle {
            Code::StructuralCycle
        } else if user {
            Code::User
        } else {
            Code::Disjunction
        };
        let fault = self.fault_with(code, Message::Disjunction(faults), &places);
        self.set_fault(vertex, fault);
    }

    /// Merges equal disjuncts; each way to them counts. As in the reference, lists that came of several choices are
    /// equal by their elements, whether or not they may become longer.
    fn deduplicate(&mut self, results: &mut Vec<(VertexId, Ways)>, several: bool) {
        let mut kept: Vec<(VertexId, Ways)> = Vec::with_capacity(results.len());
        // Only what looks the same from afar is compared: there may be thousands.
        let mut alike: FxHashMap<u64, SmallVec<[usize; 2]>> = FxHashMap::default();
        for (vertex, ways) in results.drain(..) {
            let candidates = alike.entry(self.outline(vertex)).or_default();
            let same = candidates.iter().copied().find(|at| {
                let other = kept[*at].0;
                self.same_disjunct(other, vertex) || (several && self.same_elements(other, vertex))
            });
            match same {
                Some(at) => {
                    self.note_same(kept[at].0, vertex);
                    let known = &mut kept[at].1;
                    for way in ways {
                        if !known.contains(&way) && known.len() < MAX_WAYS {
                            known.push(way);
                        }
                    }
                }
                None => {
                    candidates.push(kept.len());
                    kept.push((vertex, ways));
                }
            }
        }
        *results = kept;
    }

    /// Notes an alternative that is dropped for an equal one: it may declare fields that the other does not.
    fn note_same(&mut self, kept: VertexId, dropped: VertexId) {
        let dropped = self.deref(dropped);
        if !self.v(dropped).arcs.is_empty() {
            let kept = self.deref(kept);
            self.take(super::limits::MAP_ENTRY + 4 * size_of::<VertexId>());
            self.same_as.entry(kept).or_default().push(dropped);
        }
    }

    /// The default of a disjunction, when there is exactly one.
    pub(crate) fn default_of(&mut self, vertex: VertexId) -> Option<VertexId> {
        let vertex = self.deref(vertex);
        let Some(disjuncts) = &self.v(vertex).disjuncts else { return Some(vertex) };
        // A field that may not be there is wrong whatever its alternatives are.
        if self.v(vertex).fault.as_ref().is_some_and(Fault::is_fatal) {
            return Some(vertex);
        }
        let mut defaults = disjuncts.iter().filter(|(_, m)| *m == Mark::Default);
        let first = defaults.next()?.0;
        if defaults.next().is_some() {
            return None;
        }
        let first = self.deref(first);
        Some(first)
    }

    /// A copy of a vertex whose fields have their names in the copy.
    fn copy(&mut self, base: VertexId, original: VertexId) -> VertexId {
        let v = self.v(base);
        let (parent, label) = (v.parent, v.label);
        let made = self.new_vertex(parent, label);
        let v = self.v(base);
        let copy = Vertex {
            parent,
            label,
            state: State::Busy,
            forward: VertexId::NONE,
            sharing: Default::default(),
            on_path: false,
            shown: false,
            walk: 0,
            copy_of: original,
            conjuncts: Default::default(),
            structs: v.structs.clone(),
            arcs: Default::default(),
            kinds: v.kinds,
            kinds_by: v.kinds_by,
            atom: v.atom.clone(),
            atom_by: v.atom_by,
            bounds: v.bounds.clone(),
            checks: v.checks.clone(),
            weak_struct: v.weak_struct,
            embeds_top: v.embeds_top,
            list: v.list.clone(),
            patterns: v.patterns.clone(),
            open: v.open.clone(),
            closers: v.closers.clone(),
            tasks: v.tasks.iter().filter(|t| t.state != TaskState::Done).cloned().collect(),
            choices: Vec::new(),
            included: v.included.clone(),
            subscribers: Vec::new(),
            fault: None,
            child_fault: None,
            disjuncts: None,
            standing: v.standing,
            postponed: v.postponed.clone(),
            finalized: false,
            waiting_since: 0,
            has_ellipsis: v.has_ellipsis,
            own_scope: v.own_scope,
            origins: v.origins.clone(),
        };
        let arcs = v.arcs.to_list();
        *self.vm(made) = copy;
        if let Some(same) = self.same_as.get(&base).cloned() {
            self.take(super::limits::MAP_ENTRY + size_of_val(same.as_slice()));
            self.same_as.insert(made, same);
        }
        self.take_content(made);
        let mut map: FxHashMap<EnvId, EnvId> = FxHashMap::default();
        for arc in arcs {
            let child = self.new_vertex(made, arc.label);
            let conjuncts = self.v(arc.vertex).conjuncts.clone();
            let own_scope = self.v(arc.vertex).own_scope;
            let moved = conjuncts.iter().map(|c| self.moved(*c, base, made, &mut map)).collect();
            let v = self.vm(child);
            v.conjuncts = moved;
            v.own_scope = own_scope;
            self.take_content(child);
            self.put(made, |v| &mut v.arcs, super::Arc_ { vertex: child, ..arc });
        }
        for at in 0..self.v(made).patterns.len() {
            let value = self.v(made).patterns[at].value;
            let moved = self.moved(value, base, made, &mut map);
            self.vm(made).patterns[at].value = moved;
        }
        for at in 0..self.v(made).tasks.len() {
            let conjunct = self.v(made).tasks[at].conjunct;
            let moved = self.moved(conjunct, base, made, &mut map);
            let task = &mut self.vm(made).tasks[at];
            task.conjunct = moved;
            task.state = TaskState::Pending;
        }
        for at in 0..self.v(made).checks.len() {
            let conjunct = self.v(made).checks[at].conjunct;
            let moved = self.moved(conjunct, base, made, &mut map);
            self.vm(made).checks[at].conjunct = moved;
        }
        if let Some(mut list) = self.vm(made).list.take() {
            for rest in &mut list.rest {
                rest.1 = self.moved(rest.1, base, made, &mut map);
            }
            self.vm(made).list = Some(list);
        }
        made
    }

    fn moved(
        &mut self,
        conjunct: Conjunct,
        from: VertexId,
        to: VertexId,
        map: &mut FxHashMap<EnvId, EnvId>,
    ) -> Conjunct {
        Conjunct { env: self.moved_env(conjunct.env, from, to, map), ..conjunct }
    }

    /// The same environment with a copy in place of a vertex.
    fn moved_env(
        &mut self,
        env: EnvId,
        from: VertexId,
        to: VertexId,
        map: &mut FxHashMap<EnvId, EnvId>,
    ) -> EnvId {
        if env.is_none() {
            return env;
        }
        if let Some(known) = map.get(&env) {
            return *known;
        }
        let Env { up, kind } = self.env(env).clone();
        let made = match kind {
            EnvKind::Vertex(vertex) if vertex == from => {
                // Levels above were there before the vertex, except those of its own aliases.
                let up = self.moved_env(up, from, to, map);
                self.new_env(up, EnvKind::Vertex(to))
            }
            // Beyond another vertex nothing can lead back into this one.
            EnvKind::Vertex(_) => env,
            _ => {
                let moved = self.moved_env(up, from, to, map);
                if moved == up { env } else { self.new_env(moved, kind) }
            }
        };
        map.insert(env, made);
        made
    }

    /// The choice's own environment, should it stand inside the vertex.
    fn copied_env(&mut self, conjunct: Conjunct, from: VertexId, to: VertexId) -> Conjunct {
        let mut map = FxHashMap::default();
        self.moved(conjunct, from, to, &mut map)
    }
}

/// One mark for each choice, in order.
type Marks = SmallVec<[Mark; 4]>;

/// The marks of all combinations that came to the same value. Whether a choice still has a default is asked of each of
/// them: `number | *1` and `*5 | 1` both meet in 1 by way of a default, so 5 is no default of the two.
type Ways = SmallVec<[Marks; 1]>;

/// Most ways that are kept of one value: four choices with two alternatives each.
const MAX_WAYS: usize = 16;

fn further(ways: &Ways, mark: Mark) -> Ways {
    let mut ways = ways.clone();
    ways.iter_mut().for_each(|marks| marks.push(mark));
    ways
}

fn combined(marks: &Marks) -> Mark {
    marks.iter().copied().fold(Mark::Maybe, combine)
}

/// A choice whose defaults are all gone is one without defaults; where a nested one has a default, the alternatives beside it
/// are none, marked or not.
fn weighed(mut results: Vec<(VertexId, Ways)>) -> Vec<(VertexId, Mark)> {
    let count = results.first().and_then(|(_, ways)| ways.first()).map_or(0, |marks| marks.len());
    for at in 0..count {
        let is_default = |marks: &Marks| marks.get(at) == Some(&Mark::Default);
        let has_default = results.iter().any(|(_, ways)| ways.iter().any(is_default));
        for mark in results.iter_mut().flat_map(|(_, ways)| ways).filter_map(|marks| marks.get_mut(at)) {
            match (has_default, *mark) {
                (false, _) => *mark = Mark::Maybe,
                (true, Mark::Maybe) => *mark = Mark::Not,
                (true, _) => {}
            }
        }
    }
    let strongest = |ways: Ways| ways.iter().map(combined).max().unwrap_or(Mark::Maybe);
    results.into_iter().map(|(vertex, ways)| (vertex, strongest(ways))).collect()
}

fn combine(a: Mark, b: Mark) -> Mark {
    match (a, b) {
        (Mark::Not, _) | (_, Mark::Not) => Mark::Not,
        (Mark::Maybe, Mark::Maybe) => Mark::Maybe,
        _ => Mark::Default,
    }
}

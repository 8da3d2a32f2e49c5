//! Charges an evaluation against its budget: a hostile template ends with a diagnostic.
//!
//! Bytes are a running sum: code that makes a lasting part charges it here, by the size that the allocator gives it. A
//! part that is dropped before the evaluation ends is not taken off again but where it is much, so the sum is never less
//! than the truth by more than what one call of a function holds for a moment.

use smallvec::SmallVec;

pub(crate) use super::budget::{MAP_ENTRY, NODE_SIZE, VERTEX_SIZE};
use super::{Arc_, Arcs, Budget, Evaluation, Fault, FaultData, Message, Vertex, VertexId};
use crate::{
    diagnostic::Code,
    ir::{self, Expr, ExprId},
    packages::Data,
    source::Span,
};

/// The price of a value that is handed out beside its text: as plain data, and as JSON or syntax at the same time.
pub(crate) const HANDED_OUT: usize = 2 * (size_of::<(String, Data)>() + size_of::<usize>());

/// Most values that are written as syntax or as a tree: far more than anybody reads.
const MAX_WRITTEN: usize = 1_000_000;

/// The price of a value written as syntax or as a tree.
const WRITTEN_SIZE: usize = 256;

/// Most pairs that are compared to tell two disjuncts apart; beyond that they count as different.
pub(crate) const MAX_COMPARED: u32 = 100_000;

/// Bytes or bits that are worked on in the time of one step.
const STEP_SIZE: usize = 64;

/// Steps after which the guard is asked again.
const STEPS_UNASKED: u64 = 1_024;

/// Bytes that are borrowed at a time.
const GRAIN: usize = 1 << 20;

/// The allocator's addition to each block.
const BLOCK: usize = 16;

/// A collection of a vertex that may lie on the heap.
pub(crate) trait Held {
    type Item;

    /// Bytes on the heap.
    fn bytes(&self) -> usize;

    fn put(&mut self, item: Self::Item);
}

fn block(bytes: usize) -> usize {
    if bytes == 0 { 0 } else { bytes + BLOCK }
}

impl<T> Held for Vec<T> {
    type Item = T;

    fn bytes(&self) -> usize {
        block(self.capacity() * size_of::<T>())
    }

    fn put(&mut self, item: T) {
        self.push(item);
    }
}

impl<A: smallvec::Array> Held for SmallVec<A> {
    type Item = A::Item;

    fn bytes(&self) -> usize {
        if self.spilled() { block(self.capacity() * size_of::<A::Item>()) } else { 0 }
    }

    fn put(&mut self, item: A::Item) {
        self.push(item);
    }
}

impl Held for Arcs {
    type Item = Arc_;

    fn bytes(&self) -> usize {
        self.heap_bytes()
    }

    fn put(&mut self, item: Arc_) {
        self.push(item);
    }
}

impl Vertex {
    /// Bytes on the heap of what it holds.
    fn heap_bytes(&self) -> usize {
        let collections = [
            self.conjuncts.bytes(),
            self.structs.bytes(),
            self.arcs.bytes(),
            self.bounds.bytes(),
            self.checks.bytes(),
            self.patterns.bytes(),
            self.open.bytes(),
            self.closers.bytes(),
            self.tasks.bytes(),
            self.choices.bytes(),
            self.included.bytes(),
            self.postponed.bytes(),
            self.origins.bytes(),
        ];
        let arguments = self.checks.iter().map(|check| check.arguments.bytes()).sum::<usize>();
        let list = self.list.as_ref().map_or(0, |list| block(size_of_val(&**list)) + list.rest.bytes());
        collections.iter().sum::<usize>() + arguments + list
    }
}

impl FaultData {
    fn heap_bytes(&self) -> usize {
        let message = match &self.message {
            Message::Text(text) | Message::Argument { text, .. } => text.len(),
            Message::Disjunction(faults) => size_of_val(faults.as_slice()),
            _ => 0,
        };
        block(size_of::<Self>()) + block(message) + self.places.bytes()
    }
}

impl Evaluation {
    /// Counts a step; fails when the budget is used up.
    #[inline]
    pub(crate) fn step(&mut self, place: ExprId) -> Result<(), Fault> {
        self.steps += 1;
        if self.steps >= self.asked_at || self.used > self.granted {
            return self.judge(place);
        }
        Ok(())
    }

    /// Counts bytes that were taken and stay; the next step tells when they were too many.
    #[inline]
    pub(crate) fn take(&mut self, bytes: usize) {
        self.used = self.used.saturating_add(bytes);
    }

    /// Bytes that were counted are free again.
    pub(crate) fn free(&mut self, bytes: usize) {
        self.used = self.used.saturating_sub(bytes);
    }

    /// Adds to a collection of a vertex, and counts by what it grew.
    #[inline]
    pub(crate) fn put<C: Held>(&mut self, vertex: VertexId, of: fn(&mut Vertex) -> &mut C, item: C::Item) {
        let held = of(self.vm(vertex));
        let before = held.bytes();
        held.put(item);
        let after = held.bytes();
        self.take(after.saturating_sub(before));
    }

    /// Counts what a vertex holds that came as a copy.
    pub(crate) fn take_content(&mut self, vertex: VertexId) {
        let bytes = self.v(vertex).heap_bytes();
        self.take(bytes);
    }

    /// Counts what a fault that is kept takes.
    pub(crate) fn take_fault(&mut self, fault: &Fault) {
        let bytes = fault.0.heap_bytes();
        self.take(bytes);
    }

    /// Fails when so many bytes more would be too many; nothing is counted.
    pub(crate) fn room(&mut self, bytes: usize, place: ExprId) -> Result<(), Fault> {
        let used = self.used;
        self.take(bytes);
        let judged = if self.used > self.granted { self.judge(place) } else { Ok(()) };
        self.used = used;
        judged
    }

    /// Whether the evaluation goes on: its limits, and the lender of its memory.
    #[cold]
    fn judge(&mut self, place: ExprId) -> Result<(), Fault> {
        if self.stopped.is_none() {
            if place != ExprId::NONE {
                self.last_place = place;
            }
            let Err(reason) = self.within_limits() else { return Ok(()) };
            // An error without a place is reported at the last known one.
            self.stopped = Some(self.fault(Code::Budget, reason, self.last_place));
            // From here on each step comes back to this.
            self.asked_at = 0;
        }
        match self.stopped.clone() {
            Some(fault) => Err(fault),
            None => Ok(()),
        }
    }

    fn within_limits(&mut self) -> Result<(), String> {
        let Budget { steps, memory, time, .. } = self.budget;
        if self.steps > steps {
            return Err(format!("evaluation stopped after {steps} steps"));
        }
        let values = self.vertices.len();
        if values >= ir::MAX_VERTICES - ir::MAX_VERTICES / 64 {
            return Err(format!("evaluation stopped at {values} values"));
        }
        if self.used > memory {
            return Err(format!("evaluation stopped at {memory} bytes of memory"));
        }
        if let Some(guard) = self.loan.guard.clone() {
            guard.go_on()?;
            if let Some(time) = time {
                let now = guard.clock();
                let began = *self.loan.began.get_or_insert(now);
                if now.saturating_sub(began) > time {
                    return Err(format!(
                        "evaluation stopped after {} ms of processor time",
                        time.as_millis()
                    ));
                }
            }
            if self.used > self.loan.bytes {
                // In grains, which double: a large evaluation asks a few times and not a thousand.
                let needed = self.used - self.loan.bytes;
                let left = memory.saturating_sub(self.loan.bytes);
                let more = needed.max(GRAIN).max(self.loan.bytes / 2).min(left).max(needed);
                guard.lend(more)?;
                self.loan.bytes += more;
            }
            self.granted = memory.min(self.loan.bytes);
        } else {
            self.granted = memory;
        }
        self.asked_at = (self.steps + STEPS_UNASKED).min(steps + 1);
        Ok(())
    }

    /// Why it was stopped, if it was.
    pub(crate) fn stopped(&self) -> Option<&Fault> {
        self.stopped.as_ref()
    }

    /// The fault of a stopped evaluation with the vertex in which it was found: all that end by it share this one.
    pub(crate) fn note_stopped(&mut self, fault: &Fault) {
        if let Some(stopped) = &mut self.stopped
            && stopped.0.vertex.is_none()
        {
            *stopped = fault.clone();
        }
    }

    /// Counts work on something of that size.
    pub(crate) fn work(&mut self, size: usize, place: ExprId) -> Result<(), Fault> {
        self.steps += (size / STEP_SIZE) as u64;
        self.step(place)
    }

    /// Counts a text before it is made.
    pub(crate) fn grow(&mut self, size: usize, place: ExprId) -> Result<(), Fault> {
        self.take(block(size));
        self.work(size, place)
    }

    /// Counts the parts of a value that are handed out; false when they are too many.
    pub(crate) fn hand_out(&mut self, own: VertexId) -> bool {
        let arcs = &self.v(own).arcs;
        let bytes = arcs.len() * HANDED_OUT;
        let place =
            arcs.first().and_then(|arc| self.v(arc.vertex).conjuncts.first()).map(|conjunct| conjunct.expr);
        self.take(bytes);
        self.step(place.unwrap_or(ExprId::NONE)).is_ok()
    }

    /// Counts an expression that was added, and with it what it holds.
    pub(crate) fn take_chunk(&mut self, chunk: &ir::Chunk) {
        let held = |expr: &Expr| match expr {
            Expr::Struct(body) => block(size_of_val(body.decls.as_slice())),
            Expr::List(list) => block(size_of_val(list.elements.as_slice())),
            Expr::Atom(ir::Atom::String(text)) => block(text.len()),
            Expr::Atom(ir::Atom::Bytes(bytes)) => block(bytes.len()),
            _ => 0,
        };
        let own = chunk.exprs.len() * (size_of::<Expr>() + size_of::<Span>());
        let bytes = own + chunk.exprs.iter().map(held).sum::<usize>();
        self.take(bytes);
    }

    /// A number that marks the vertices of one walk over values, which sharing makes a graph.
    pub(crate) fn new_walk(&mut self) -> u32 {
        self.walks += 2;
        self.walks
    }

    /// Marks a vertex as seen in a walk; false when it was before.
    pub(crate) fn enter(&mut self, vertex: VertexId, walk: u32) -> bool {
        std::mem::replace(&mut self.vm(vertex).walk, walk) != walk
    }

    /// Starts writing a value as syntax or as a tree.
    pub(crate) fn start_writing(&mut self) {
        self.written = 0;
    }

    /// Counts a value that is written; false when it is one too many.
    pub(crate) fn may_write(&mut self) -> bool {
        self.written += 1;
        self.take(WRITTEN_SIZE);
        self.written <= MAX_WRITTEN && self.step(ExprId::NONE).is_ok()
    }
}

/// Bytes that plain data takes.
pub(crate) fn data_bytes(data: &Data) -> usize {
    match data {
        Data::String(text) => block(text.len()),
        Data::Bytes(bytes) => block(bytes.len()),
        Data::List(items) => {
            block(size_of_val(items.as_slice())) + items.iter().map(data_bytes).sum::<usize>()
        }
        Data::Struct(fields) => {
            let inner = fields.iter().map(|(name, value)| block(name.len()) + data_bytes(value));
            block(size_of_val(fields.as_slice())) + inner.sum::<usize>()
        }
        Data::Number { value, .. } => value.heap_bytes(),
        Data::Null | Data::Bool(_) | Data::Opaque(_) => 0,
    }
}

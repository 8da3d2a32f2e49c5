//! A value and an input of it in; the parts of the input that no other declaration names, out.
//!
//! Closedness refuses fields that a definition does not name; an open struct takes them and no template ever reads them. The
//! vertices that the evaluation made show the declared fields: a field with conjuncts only from inputs has no declaration,
//! whatever references, patterns, conditions or alternatives the others came by. A field that a definition refuses is not
//! reported here: it is an error of the field.

use smallvec::SmallVec;

use super::{Evaluation, Fault, VertexId};
use crate::{
    diagnostic::Code,
    input::{Segment, Undeclared},
    ir::{ExprId, Label},
};

/// Values deeper than this count as declared.
const MAX_DEPTH: usize = 64;

/// More findings help no user.
const MAX_FOUND: usize = 1000;

/// Alternatives of alternatives are looked for this deep.
const MAX_NESTING: usize = 16;

type Vertices = SmallVec<[VertexId; 4]>;

/// The way to the present place, and what was found.
#[derive(Default)]
struct Walk {
    path: Vec<Segment>,
    found: Vec<Undeclared>,
}

impl Evaluation {
    /// The parts of `given`, an input of this value, that only the inputs declare.
    pub(crate) fn undeclared(&mut self, vertex: VertexId, given: &serde_json::Value) -> Vec<Undeclared> {
        let mut walk = Walk::default();
        self.undeclared_in(&[vertex], given, &mut walk);
        walk.found
    }

    fn undeclared_in(&mut self, vertices: &[VertexId], given: &serde_json::Value, walk: &mut Walk) {
        if walk.path.len() >= MAX_DEPTH || walk.found.len() >= MAX_FOUND {
            return;
        }
        let mut left = Vertices::new();
        for vertex in vertices {
            self.left_of(*vertex, 0, &mut left);
        }
        match given {
            serde_json::Value::Object(fields) => self.undeclared_fields(&left, fields, walk),
            serde_json::Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    let inner = self.declared_at(&left, Label::index(index));
                    walk.path.push(Segment::Index(index));
                    self.undeclared_in(&inner, item, walk);
                    walk.path.pop();
                }
            }
            _ => {}
        }
    }

    fn undeclared_fields(
        &mut self,
        left: &[VertexId],
        fields: &serde_json::Map<String, serde_json::Value>,
        walk: &mut Walk,
    ) {
        // Where nothing is said about fields, any may be given.
        let says = |this: &Self, vertex: &VertexId| !this.takes_any_field(*vertex);
        let is_closed = !left.is_empty() && left.iter().all(|vertex| says(self, vertex));
        for (name, value) in fields {
            let [Some(label), ..] = self.labels_of(name) else { continue };
            let inner = self.declared_at(left, label);
            walk.path.push(Segment::Field(name.clone()));
            if !inner.is_empty() {
                self.undeclared_in(&inner, value, walk);
            } else if is_closed && walk.found.len() < MAX_FOUND && !self.is_refused(left, label) {
                let known = self.declared_names(left);
                walk.found.push(Undeclared { path: walk.path.clone(), known });
            }
            walk.path.pop();
        }
    }

    /// A vertex as what is left of it: each alternative, and those that came to the same value as another one and are not
    /// told apart from it any more. A failed alternative does not show which values may be given.
    fn left_of(&mut self, vertex: VertexId, nesting: usize, left: &mut Vertices) {
        self.process(vertex);
        let own = self.deref(vertex);
        if nesting > MAX_NESTING || left.contains(&own) {
            return;
        }
        let v = self.v(own);
        if v.fault.as_ref().is_some_and(Fault::is_fatal) {
            return;
        }
        match v.disjuncts.clone() {
            Some(disjuncts) => disjuncts.iter().for_each(|(one, _)| self.left_of(*one, nesting + 1, left)),
            None => left.push(own),
        }
        for same in self.same_as.get(&own).cloned().unwrap_or_default() {
            self.left_of(same, nesting + 1, left);
        }
    }

    /// The vertices of one field or element with conjuncts from a source other than the inputs.
    fn declared_at(&self, vertices: &[VertexId], label: Label) -> Vertices {
        let found = vertices.iter().filter_map(|vertex| self.v(*vertex).arcs.find(label));
        found.map(|arc| arc.vertex).filter(|vertex| self.is_declared(*vertex)).collect()
    }

    /// Whether a definition says already that the field may not be there.
    fn is_refused(&self, vertices: &[VertexId], label: Label) -> bool {
        let found = vertices.iter().filter_map(|vertex| self.v(*vertex).arcs.find(label));
        let faults = found.filter_map(|arc| self.v(arc.vertex).fault.as_ref());
        faults.into_iter().any(|fault| fault.0.code == Code::NotAllowed)
    }

    fn is_declared(&self, vertex: VertexId) -> bool {
        self.v(vertex).conjuncts.iter().any(|conjunct| self.is_written(conjunct.expr))
    }

    fn is_written(&self, expr: ExprId) -> bool {
        self.input_kind(expr).is_none()
    }

    /// Whether it has an ellipsis, or no struct besides those given has a word on fields.
    fn takes_any_field(&self, vertex: VertexId) -> bool {
        let v = self.v(vertex);
        v.has_ellipsis
            || !v.structs.iter().any(|used| self.is_written(used.expr))
            || v.patterns.is_empty() && !v.arcs.iter().any(|arc| self.is_declared(arc.vertex))
    }

    fn declared_names(&self, vertices: &[VertexId]) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for arc in vertices.iter().flat_map(|vertex| self.v(*vertex).arcs.iter()) {
            if arc.label.is_regular() && arc.label.as_index().is_none() && self.is_declared(arc.vertex) {
                let name = self.label_text(arc.label).to_string();
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        names
    }
}

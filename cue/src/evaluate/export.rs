//! A vertex in; plain data out, exact or with opaque leaves.

use super::{
    Evaluation, Fault, Message, Mode, Term, VertexId,
    limits::{HANDED_OUT, NODE_SIZE},
};
use crate::{
    diagnostic::Code,
    ir::{ArcKind, Atom, ExprId},
    packages::{Data, Kinds},
};

/// How much was handed out so far.
#[derive(Default)]
pub(crate) struct Size {
    /// As it is held against the budget of output.
    output: usize,
    /// Bytes that it takes meanwhile.
    memory: usize,
}

impl Size {
    fn add(&mut self, output: usize, memory: usize) {
        self.output += output;
        self.memory += memory;
    }
}

impl Evaluation {
    pub(crate) fn term_data(&mut self, term: &Term, place: ExprId) -> Result<Data, Fault> {
        match term {
            Term::Atom(atom) => Ok(atom_data(atom)),
            Term::Vertex(vertex) => {
                self.validate(*vertex, Mode::Concrete, place)?;
                let mut size = Size::default();
                let data = self.data(*vertex, place, &mut size)?;
                self.work(size.output, place)?;
                Ok(data)
            }
        }
    }

    /// A concrete value as plain data.
    pub(crate) fn data(&mut self, vertex: VertexId, place: ExprId, size: &mut Size) -> Result<Data, Fault> {
        self.process(vertex);
        let Some(own) = self.default_of(vertex) else {
            return Err(self.fault_with(Code::Ambiguous, Message::Ambiguous(vertex), &[place]));
        };
        size.add(NODE_SIZE, HANDED_OUT);
        let own_place = self.v(own).conjuncts.first().map_or(place, |conjunct| conjunct.expr);
        self.room(size.memory, if place == ExprId::NONE { own_place } else { place })?;
        if size.output > self.budget.output {
            let limit = self.budget.output;
            return Err(self.fault(Code::Budget, format!("the output is larger than {limit} bytes"), place));
        }
        let v = self.v(own);
        if let Some(fault) = &v.fault {
            return Err(fault.clone());
        }
        if let Some(atom) = &v.atom {
            let data = atom_data(atom);
            if let Data::String(s) = &data {
                size.add(s.len(), 2 * s.len());
            } else if let Data::Number { value, .. } = &data {
                size.add(0, 2 * value.size());
            }
            return Ok(data);
        }
        let arcs = v.arcs.to_list();
        if v.list.is_some() {
            let mut items = Vec::with_capacity(arcs.len());
            for arc in arcs.iter().filter(|a| a.label.as_index().is_some()) {
                items.push(stacker::maybe_grow(128 * 1024, 1024 * 1024, || {
                    self.data(arc.vertex, place, size)
                })?);
            }
            return Ok(Data::List(items));
        }
        if v.kinds != Kinds::STRUCT {
            return Err(self.fault_with(Code::Incomplete, Message::NotConcrete(place, own), &[place]));
        }
        let mut fields = Vec::with_capacity(arcs.len());
        for arc in self.shown(own).iter().filter(|a| a.kind == ArcKind::Member && a.label.is_regular()) {
            let value = stacker::maybe_grow(128 * 1024, 1024 * 1024, || self.data(arc.vertex, place, size))?;
            let name = self.label_text(arc.label).to_string();
            size.add(name.len(), 2 * name.len());
            fields.push((name, value));
        }
        Ok(Data::Struct(fields))
    }

    /// Lists as lists down to so many levels, everything else handed through.
    pub(crate) fn shape_data(
        &mut self,
        term: &Term,
        (depth, levels): (u32, u32),
        place: ExprId,
    ) -> Result<Data, Fault> {
        self.step(place)?;
        Ok(match term {
            Term::Atom(atom) => atom_data(atom),
            Term::Vertex(vertex) => {
                self.process(*vertex);
                let own = self.default_of(*vertex).unwrap_or(*vertex);
                if depth > 0 {
                    // An element is handed on as it is, but a mistake in it is the call's.
                    self.finalize(own);
                    if let Some(fault) = self.fatal(own) {
                        return Err(fault.clone());
                    }
                }
                if self.is_list(own) && depth < levels {
                    let mut items = Vec::new();
                    for element in self.elements_of(own) {
                        self.take(HANDED_OUT);
                        items.push(self.shape_data(&Term::Vertex(element), (depth + 1, levels), place)?);
                    }
                    return Ok(Data::List(items));
                }
                Data::Opaque(vertex.0 as usize)
            }
        })
    }
}

pub(crate) fn atom_data(atom: &Atom) -> Data {
    match atom {
        Atom::Null => Data::Null,
        Atom::Bool(b) => Data::Bool(*b),
        Atom::Number { value, is_float } => Data::Number { value: value.clone(), is_float: *is_float },
        Atom::String(s) => Data::String(s.to_string()),
        Atom::Bytes(b) => Data::Bytes(b.to_vec()),
    }
}

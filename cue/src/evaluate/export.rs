//! A vertex in; plain data out, exact or with opaque leaves.

use super::{Evaluation, Fault, Message, Mode, Term, VertexId};
use crate::{
    diagnostic::Code,
    ir::{ArcKind, Atom, ExprId},
    packages::{Data, Kinds},
};

impl Evaluation {
    pub(crate) fn term_data(&mut self, term: &Term, place: ExprId) -> Result<Data, Fault> {
        match term {
            Term::Atom(atom) => Ok(atom_data(atom)),
            Term::Vertex(vertex) => {
                self.validate(*vertex, Mode::Concrete, place)?;
                let mut size = 0;
                let data = self.data(*vertex, place, &mut size)?;
                self.work(size, place)?;
                Ok(data)
            }
        }
    }

    /// A concrete value as plain data.
    pub(crate) fn data(&mut self, vertex: VertexId, place: ExprId, size: &mut usize) -> Result<Data, Fault> {
        self.process(vertex);
        let Some(own) = self.default_of(vertex) else {
            return Err(self.fault_with(Code::Ambiguous, Message::Ambiguous(vertex), &[place]));
        };
        *size += super::limits::NODE_SIZE;
        if *size > self.budget.output {
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
                *size += s.len();
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
            *size += name.len();
            fields.push((name, value));
        }
        Ok(Data::Struct(fields))
    }

    /// Lists as lists, everything else handed through.
    pub(crate) fn shape_data(&mut self, term: &Term, depth: u32, place: ExprId) -> Result<Data, Fault> {
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
                if self.is_list(own) && depth < 32 {
                    let mut items = Vec::new();
                    for element in self.elements_of(own) {
                        items.push(self.shape_data(&Term::Vertex(element), depth + 1, place)?);
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

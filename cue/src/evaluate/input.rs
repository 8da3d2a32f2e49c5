//! Inputs of an evaluation: plain data in, expressions out, and the places of their parts on request.

use std::sync::Arc;

use super::given::Given;
use super::{Evaluation, OriginKind};
use crate::{
    data_file::Format,
    input::{Positions, Segment},
    ir::{Decl, Expr, ExprId},
    packages::Data,
    source::{FileId, Sources, Span},
};

impl Evaluation {
    /// Takes an input in as an expression for a path; nothing when there is no more room.
    pub(crate) fn input(
        &mut self,
        mut data: Data,
        path: &[String],
        patch: bool,
        positions: Option<Arc<dyn Positions>>,
    ) -> Option<ExprId> {
        for name in path.iter().rev() {
            data = Data::Struct(vec![(name.clone(), data)]);
        }
        let root = self.data_expr(&data, Span::NONE)?;
        self.inputs.given.push(Given { root, wrapped: path.len(), patch, positions });
        Some(root)
    }

    /// An expression that was compiled from a text counts as given, too.
    pub(crate) fn note_input(&mut self, root: ExprId) {
        self.inputs.given.push(Given { root, wrapped: 0, patch: false, positions: None });
    }

    fn given(&self, id: ExprId) -> Option<&Given> {
        // Most expressions are the program's.
        (id.chunk() != 0).then(|| self.inputs.given.iter().find(|g| g.root.chunk() == id.chunk()))?
    }

    /// Whether an expression was given, and how.
    pub(crate) fn input_kind(&self, id: ExprId) -> Option<OriginKind> {
        self.given(id).map(|given| if given.patch { OriginKind::Patch } else { OriginKind::Input })
    }

    /// Where an expression of an input was written; its name when `name` is asked for.
    pub(crate) fn input_span(&self, id: ExprId, name: bool) -> Span {
        let Some(given) = self.given(id) else { return Span::NONE };
        let Some(positions) = &given.positions else { return Span::NONE };
        let path = self.path_within(given.root, id);
        let Some(path) = path.get(given.wrapped..) else { return Span::NONE };
        let Some(place) = positions.place(path, name) else { return Span::NONE };
        let mut files = self.inputs.files.borrow_mut();
        let at = files.iter().position(|known| known.name == place.source.name).unwrap_or_else(|| {
            files.push(place.source);
            files.len() - 1
        });
        Span::at_line(FileId::by_line(at), place.line, place.column)
    }

    /// Whether a place was given as input or data, not written in CUE.
    pub(crate) fn is_given(&self, span: Span) -> bool {
        let data = || self.program.sources.get(span.file).is_some_and(|s| s.format != Format::Cue);
        !span.is_none() && (span.file.is_by_line() || data())
    }

    /// The sources of the program and of the inputs that were pointed into so far.
    pub(crate) fn sources(&self) -> Sources {
        let mut sources = self.program.sources.clone();
        for file in self.inputs.files.borrow().iter() {
            sources.add_by_line(file.clone());
        }
        sources
    }

    /// The way from an expression of plain data to one inside it. Inner expressions have smaller numbers than the one
    /// around them, those of earlier parts smaller ones than those of later parts.
    fn path_within(&self, root: ExprId, wanted: ExprId) -> Vec<Segment> {
        let chunk = self.chunk(root);
        let mut path = Vec::new();
        let mut at = root;
        while at != wanted {
            let next = match self.expr(&chunk, at) {
                Expr::Struct(body) => body.decls.iter().find_map(|decl| match decl {
                    Decl::Field { label, value, .. } if value.index() >= wanted.index() => {
                        Some((Segment::Field(self.label_text(*label).to_string()), *value))
                    }
                    _ => None,
                }),
                Expr::List(list) => {
                    let found = list.elements.iter().position(|e| e.index() >= wanted.index());
                    found.map(|index| (Segment::Index(index), list.elements[index]))
                }
                _ => None,
            };
            let Some((segment, inner)) = next else { break };
            path.push(segment);
            at = inner;
        }
        path
    }
}

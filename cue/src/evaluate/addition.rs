//! Texts in, expressions of a running evaluation out: answers of providers and expressions that are asked of a value.

use std::{rc::Rc, sync::Arc};

use super::{EnvId, EnvKind, Evaluation, Shared, VertexId, step::Step};
use crate::{
    compile::addition::{self, Addition},
    diagnostic::{Code, Diagnostic, Diagnostics},
    ir::{self, Expr, ExprId, Interner, Label},
    source::{Source, Span},
};

impl Evaluation {
    /// Compiles texts into this evaluation; with `around`, names may mean the fields of that value.
    pub(crate) fn add_texts(
        &mut self,
        texts: &[Source],
        around: Option<VertexId>,
    ) -> Result<Vec<ExprId>, Diagnostics> {
        let number = self.chunks.len();
        if number >= ir::MAX_CHUNKS {
            let limit = ir::MAX_CHUNKS;
            let diagnostic = Diagnostic::new(
                Code::Budget,
                format!("more than {limit} texts in one evaluation"),
                Span::NONE,
            );
            return Err(Diagnostics::new(vec![diagnostic], self.program.sources.clone()));
        }
        let mut labels = self.program.labels.clone();
        for id in 0..self.labels.len() {
            if let Some(text) = self.labels.get(id) {
                labels.intern(text);
            }
        }
        let names = around.map(|vertex| self.names(vertex));
        let made = addition::compile(&self.program, labels, number, texts, names.as_deref())?;
        let Addition { program, chunk, exprs } = made;
        self.program = Arc::new(program);
        // The labels of the evaluation are those of the new program now, under the same numbers.
        self.labels = Interner::default();
        self.take_chunk(&chunk);
        self.chunks.push(Rc::new(Shared(Arc::new(chunk))));
        Ok(exprs)
    }

    /// The fields of a value as names.
    fn names(&self, vertex: VertexId) -> Vec<(String, Label)> {
        let arcs = self.v(vertex).arcs.iter().filter(|arc| arc.label.as_index().is_none());
        let named = arcs.map(|arc| (self.label_text(arc.label).to_string(), arc.label));
        named.filter(|(name, _)| !name.contains('\u{0}')).collect()
    }

    /// The environment in which names mean the fields of a value.
    pub(crate) fn env_of(&mut self, vertex: VertexId) -> EnvId {
        self.new_env(EnvId::NONE, EnvKind::Vertex(vertex))
    }

    /// An expression that says: at this path there is that value.
    pub(crate) fn at_path(&mut self, path: &[Step], value: ExprId) -> ExprId {
        let span = self.span(value);
        let base = (self.chunks.len() as u32) << ir::INDEX_BITS;
        // The first one is any value: it stands for the elements before the one that is meant.
        let mut chunk = ir::Chunk { exprs: vec![Expr::Top], spans: vec![Span::NONE] };
        let mut inner = value;
        for step in path.iter().rev() {
            let expr = match step {
                Step::Field(name) => field(Label::regular(self.intern(name)), inner),
                Step::Hidden(name) => field(Label::hidden(self.intern(name)), inner),
                Step::Index(index) => {
                    let mut elements = vec![ExprId(base); *index];
                    elements.push(inner);
                    Expr::List(ir::List { elements, comprehensions: false, ellipsis: Some(None) })
                }
            };
            inner = ExprId(base + chunk.exprs.len() as u32);
            chunk.exprs.push(expr);
            chunk.spans.push(span);
        }
        self.take_chunk(&chunk);
        self.chunks.push(Rc::new(Shared(Arc::new(chunk))));
        inner
    }
}

fn field(label: Label, value: ExprId) -> Expr {
    let decls = vec![ir::Decl::Field { label, kind: ir::ArcKind::Member, value }];
    Expr::Struct(ir::Struct { decls, is_struct: true, embeds: false })
}

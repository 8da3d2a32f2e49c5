//! Plain data in; a chunk of expressions of its own out.

use std::sync::Arc;

use crate::{
    ir::{self, Chunk, Expr, ExprId, Label},
    packages,
    source::Span,
};

/// Compiles plain data to a chunk of its own.
pub(crate) fn chunk(
    data: &packages::Data,
    span: Span,
    chunk: usize,
    intern: &mut dyn FnMut(&str) -> u32,
    opaque: &mut dyn FnMut(usize) -> Expr,
) -> (Chunk, ExprId) {
    fn add(
        data: &packages::Data,
        span: Span,
        base: u32,
        out: &mut Chunk,
        intern: &mut dyn FnMut(&str) -> u32,
        opaque: &mut dyn FnMut(usize) -> Expr,
    ) -> ExprId {
        use packages::Data;
        let expr = match data {
            Data::Null => Expr::Atom(ir::Atom::Null),
            Data::Bool(b) => Expr::Atom(ir::Atom::Bool(*b)),
            Data::Number { value, is_float } => {
                Expr::Atom(ir::Atom::Number { value: value.clone(), is_float: *is_float })
            }
            Data::String(s) => Expr::Atom(ir::Atom::String(Arc::from(s.as_str()))),
            Data::Bytes(b) => Expr::Atom(ir::Atom::Bytes(Arc::from(b.as_slice()))),
            Data::List(items) => {
                let elements = items.iter().map(|item| add(item, span, base, out, intern, opaque)).collect();
                Expr::List(ir::List { elements, comprehensions: false, ellipsis: None })
            }
            Data::Struct(fields) => {
                let decls = fields
                    .iter()
                    .map(|(name, value)| ir::Decl::Field {
                        label: Label::regular(intern(name)),
                        kind: ir::ArcKind::Member,
                        value: add(value, span, base, out, intern, opaque),
                    })
                    .collect();
                Expr::Struct(ir::Struct { decls, is_struct: true, embeds: false })
            }
            Data::Opaque(number) => opaque(*number),
        };
        let id = ExprId(base + out.exprs.len() as u32);
        out.exprs.push(expr);
        out.spans.push(span);
        id
    }
    let mut out = Chunk::default();
    let id = add(data, span, (chunk as u32) << ir::INDEX_BITS, &mut out, intern, opaque);
    (out, id)
}

//! A vertex in; the tree of everything known about it, as JSON, out.

use serde_json::{Map, Value as Json, json};

use super::{Evaluation, Mark, VertexId, bounds::kinds_text};
use crate::{
    ir::{ArcKind, Atom},
    packages::Kinds,
};

/// Deepest level that is shown.
const MAX_DEPTH: u32 = 60;

impl Evaluation {
    pub(crate) fn tree(&mut self, vertex: VertexId) -> Json {
        self.finalize(vertex);
        self.start_writing();
        json!({ "root": self.node(vertex, 0) })
    }

    fn node(&mut self, vertex: VertexId, depth: u32) -> Json {
        if depth > MAX_DEPTH {
            return json!({"cut": true});
        }
        self.finalize(vertex);
        let own = self.deref(vertex);
        if self.v(own).shown || !self.may_write() {
            return json!({"cut": true});
        }
        self.vm(own).shown = true;
        let node = self.node_of(vertex, own, depth);
        self.vm(own).shown = false;
        node
    }

    fn node_of(&mut self, vertex: VertexId, own: VertexId, depth: u32) -> Json {
        let mut out = Map::new();
        let fault = self.v(own).fault.clone().or_else(|| self.v(vertex).fault.clone());
        if let Some(fault) = &fault {
            out.insert("error".into(), fault.0.code.class().as_str().into());
            out.insert("msg".into(), self.message(fault).into());
        } else if let Some(fault) = self.v(own).child_fault.clone() {
            out.insert("error".into(), fault.0.code.class().as_str().into());
            out.insert("childError".into(), true.into());
            out.insert("msg".into(), self.message(&fault).into());
        }
        if let Some(disjuncts) = self.v(own).disjuncts.clone() {
            let kinds = disjuncts.iter().fold(0, |k, (d, _)| k | self.v(self.deref(*d)).kinds.0);
            out.insert("kind".into(), kinds_text(Kinds(kinds)).into());
            let defaults: Vec<VertexId> =
                disjuncts.iter().filter(|(_, m)| *m == Mark::Default).map(|(d, _)| *d).collect();
            if let [one] = defaults.as_slice() {
                let node = self.node(*one, depth + 1);
                out.insert("default".into(), node);
            }
            out.insert("numDefaults".into(), defaults.len().into());
            let mut sorted = disjuncts;
            sorted.sort_by_key(|(_, m)| std::cmp::Reverse(*m == Mark::Default));
            let nodes: Vec<Json> = sorted.iter().map(|(d, _)| self.node(*d, depth + 1)).collect();
            out.insert("disjuncts".into(), nodes.into());
            return Json::Object(out);
        }
        let v = self.v(own);
        if fault.is_none() && !out.contains_key("error") {
            out.insert("kind".into(), kinds_text(v.kinds).into());
        }
        if let Some(atom) = v.atom.as_ref().filter(|a| fault.is_none() && **a != Atom::Null) {
            let value = match atom {
                Atom::Null => Json::Null,
                Atom::Bool(b) => Json::Bool(*b),
                Atom::Number { value, .. } => Json::String(value.to_string()),
                Atom::String(s) => Json::String(s.to_string()),
                Atom::Bytes(b) => {
                    use base64::Engine as _;
                    Json::String(base64::engine::general_purpose::STANDARD.encode(b))
                }
            };
            out.insert("value".into(), value);
        } else if fault.is_none() && v.atom.is_none() && v.kinds != Kinds::STRUCT && v.list.is_none() {
            out.insert("constraint".into(), self.show(own).into());
        }
        if self.v(own).kinds == Kinds::STRUCT && self.is_closed(own) {
            out.insert("closed".into(), true.into());
        }
        self.children(own, depth, &mut out);
        Json::Object(out)
    }

    /// The fields and elements of a value. The wait of one of them is noted at its parent, but no higher.
    fn children(&mut self, own: VertexId, depth: u32, out: &mut Map<String, Json>) {
        let arcs = self.shown(own);
        let mut fields = Vec::new();
        let mut elements = Vec::new();
        for arc in arcs {
            let node = stacker::maybe_grow(128 * 1024, 1024 * 1024, || self.node(arc.vertex, depth + 1));
            if arc.kind != ArcKind::Optional
                && !out.contains_key("error")
                && node.get("childError").is_none()
                && let (Some(code), Some(message)) = (node.get("error"), node.get("msg"))
            {
                out.insert("error".into(), code.clone());
                out.insert("childError".into(), true.into());
                out.insert("msg".into(), message.clone());
            }
            if arc.label.as_index().is_some() {
                elements.push(node);
                continue;
            }
            let kind = match arc.kind {
                ArcKind::Member => "regular",
                ArcKind::Optional => "optional",
                ArcKind::Required => "required",
            };
            let name = self.label_text(arc.label);
            let name = match arc.label.is_regular() {
                // Quotes keep `"#a"` apart from `#a`, which may stand beside it.
                true if name.starts_with('#') => crate::literal::quote_string(&name),
                true => name.to_string(),
                false => name.split('\u{0}').next().unwrap_or("").to_owned(),
            };
            fields.push(json!({"name": name, "type": kind, "node": node}));
        }
        if !fields.is_empty() {
            out.insert("fields".into(), fields.into());
        }
        if !elements.is_empty() {
            out.insert("elems".into(), elements.into());
        }
    }
}

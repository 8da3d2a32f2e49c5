//! A label as written → the name of its field, if it has one.

use crate::ast::{Label, LabelKind};
use crate::literal;

pub(super) fn label_name(label: &Label) -> Option<String> {
    match &label.kind {
        LabelKind::Ident(name) => Some(name.clone()),
        LabelKind::String(text) => {
            literal::unquote(text).ok().and_then(|(_, bytes)| String::from_utf8(bytes).ok())
        }
        _ => None,
    }
}

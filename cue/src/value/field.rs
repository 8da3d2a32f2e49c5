//! The kinds of a field, the selection of fields, and the comments of one.

/// The kind of value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// There is no value, or an error.
    Bottom,
    /// `null`.
    Null,
    /// `true`, `false` or `bool`.
    Bool,
    /// Integers.
    Int,
    /// Floats.
    Float,
    /// Either kind of number.
    Number,
    /// Strings.
    String,
    /// Bytes.
    Bytes,
    /// Lists.
    List,
    /// Structs.
    Struct,
    /// More than one of these.
    Any,
}

/// Which fields are listed. Regular fields with a value always are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FieldOptions {
    /// Also `a?` without a value.
    pub optional: bool,
    /// Also `_a`.
    pub hidden: bool,
    /// Also `#a`.
    pub definitions: bool,
    /// In the order of evaluation rather than in that in which they are shown, which takes time to find out.
    pub unordered: bool,
}

/// How a field is declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldKind {
    /// It has a value.
    Regular,
    /// `a?` without a value.
    Optional,
    /// `a!` without a value.
    Required,
}

/// The comments of a field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comments {
    /// Lines without `//` and without markers.
    pub doc: Vec<String>,
    /// `+key=value` lines, in order.
    pub markers: Vec<(String, String)>,
    /// `@name(body)`.
    pub attributes: Vec<String>,
}

impl Comments {
    /// The value of a marker.
    pub fn marker(&self, key: &str) -> Option<&str> {
        self.markers.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
    }
}

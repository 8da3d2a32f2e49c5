//! The types of the built-in kinds: field names, list kinds, merge keys and allowed values, read once from a table.
use std::collections::HashMap;
use std::sync::OnceLock;

use serde_json::Value;

/// A value without inner fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scalar {
    /// Text.
    String,
    /// Base64 text.
    Bytes,
    /// An RFC 3339 time.
    Time,
    /// A 32-bit whole number.
    Int32,
    /// A 64-bit whole number.
    Int64,
    /// Any number.
    Number,
    /// True or false.
    Bool,
    /// A resource quantity such as `100m`; numbers are accepted.
    Quantity,
    /// A whole number or text such as `25%`.
    IntOrString,
}

/// The type of a field.
#[derive(Debug, Clone, PartialEq)]
pub enum Type {
    /// No inner fields.
    Scalar(Scalar),
    /// Free-form JSON.
    Any,
    /// The struct with this place in [`Table::structs`].
    Struct(usize),
    /// A list of items of one type.
    List(Box<Type>),
    /// A map from text to values of one type.
    Map(Box<Type>),
}

/// How the items of a list are told apart when merging.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ListKind {
    /// Replaced as a whole.
    #[default]
    Atomic,
    /// Scalars, each there at most once.
    Set,
    /// Objects told apart by these fields.
    Map(Vec<String>),
}

/// The effect of a strategic merge patch on a field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PatchStrategy {
    /// Lists are merged item by item, not replaced.
    pub merge: bool,
    /// The field that tells the items of a merged list apart; none for lists of scalars.
    pub key: Option<String>,
    /// Fields of the target absent from the patch's `$retainKeys` are dropped.
    pub retain_keys: bool,
}

/// One field of a struct.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The JSON name.
    pub name: String,
    /// Whether it must be present.
    pub required: bool,
    /// Its type.
    pub ty: Type,
    /// For lists: how items are told apart.
    pub list: ListKind,
    /// The whole object is replaced when merging.
    pub atomic: bool,
    /// The effect of a strategic merge patch.
    pub patch: PatchStrategy,
    /// The allowed values, if they are enumerated.
    pub allowed: Vec<String>,
    /// Always written: with its empty value where nothing was given.
    pub zero: bool,
    /// The value it gets where it is absent.
    pub default: Option<Value>,
}

/// A struct type.
#[derive(Debug, Clone, PartialEq)]
pub struct Struct {
    /// Its short name, e.g. `core.v1.Container`.
    pub name: String,
    /// Merged as a whole wherever it is used.
    pub atomic: bool,
    /// The fields, sorted by name.
    pub fields: Vec<Field>,
    /// apiVersion and kind, for the top-level types.
    pub kind: Option<(String, String)>,
}

impl Struct {
    /// The fields that are written where they are absent.
    pub fn filled(&self) -> impl Iterator<Item = &Field> {
        self.fields.iter().filter(|field| field.zero || field.default.is_some())
    }

    /// The field with this JSON name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.binary_search_by(|f| f.name.as_str().cmp(name)).ok().and_then(|i| self.fields.get(i))
    }
}

/// All types.
#[derive(Debug, Default)]
pub struct Table {
    /// The structs; [`Type::Struct`] points here.
    pub structs: Vec<Struct>,
    by_kind: HashMap<String, HashMap<String, Type>>,
    object_meta: Option<Type>,
}

impl Table {
    /// The struct of a built-in kind.
    pub fn kind(&self, api_version: &str, kind: &str) -> Option<&Struct> {
        match self.kind_type(api_version, kind)? {
            Type::Struct(at) => self.structs.get(*at),
            _ => None,
        }
    }

    /// The type of a built-in kind.
    pub fn kind_type(&self, api_version: &str, kind: &str) -> Option<&Type> {
        self.by_kind.get(api_version)?.get(kind)
    }

    /// The struct a [`Type::Struct`] points to.
    pub fn get(&self, at: usize) -> Option<&Struct> {
        self.structs.get(at)
    }

    /// `metadata` of every object.
    pub fn object_meta(&self) -> &Type {
        self.object_meta.as_ref().unwrap_or(&Type::Any)
    }
}

/// The table, read on first use.
pub fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| parse(include_str!("types.txt")))
}

/// The value a Go program would write for an unset field.
pub fn empty(ty: &Type) -> Value {
    match ty {
        Type::Scalar(Scalar::Bool) => false.into(),
        Type::Scalar(Scalar::Int32 | Scalar::Int64 | Scalar::Number | Scalar::IntOrString) => 0.into(),
        Type::Scalar(Scalar::Quantity) => "0".into(),
        Type::Scalar(Scalar::Time) | Type::Any | Type::List(_) | Type::Map(_) => Value::Null,
        Type::Scalar(Scalar::String | Scalar::Bytes) => "".into(),
        Type::Struct(at) => {
            let fields = table().get(*at).map(|s| s.fields.as_slice()).unwrap_or_default();
            let pairs = fields
                .iter()
                .filter(|f| f.zero || (f.required && !matches!(f.ty, Type::Struct(_))))
                .map(|f| (f.name.clone(), empty(&f.ty)));
            Value::Object(pairs.collect())
        }
    }
}

fn parse(text: &str) -> Table {
    let mut table = Table::default();
    let mut names: HashMap<&str, usize> = HashMap::new();
    let heads = text.lines().filter_map(|l| l.strip_prefix('#'));
    for (i, head) in heads.enumerate() {
        let mut words = head.split(' ');
        let name = words.next().unwrap_or_default();
        let mut kind = None;
        let mut atomic = false;
        while let Some(word) = words.next() {
            match word {
                "=" => {
                    let api_version = words.next().unwrap_or_default().to_owned();
                    kind = Some((api_version, words.next().unwrap_or_default().to_owned()));
                }
                "atomic" => atomic = true,
                _ => {}
            }
        }
        names.insert(name, i);
        if let Some((api_version, kind)) = kind.clone() {
            table.by_kind.entry(api_version).or_default().insert(kind, Type::Struct(i));
        }
        table.structs.push(Struct { name: name.to_owned(), atomic, fields: Vec::new(), kind });
    }
    table.object_meta = names.get("meta.v1.ObjectMeta").map(|i| Type::Struct(*i));
    let mut at = 0;
    for line in text.lines() {
        if let Some(head) = line.strip_prefix('#') {
            at = names.get(head.split(' ').next().unwrap_or_default()).copied().unwrap_or_default();
        } else if !line.starts_with(';') && !line.is_empty() {
            let field = parse_field(line, &names);
            if let Some(s) = table.structs.get_mut(at) {
                s.fields.push(field);
            }
        }
    }
    for s in &mut table.structs {
        s.fields.sort_by(|a, b| a.name.cmp(&b.name));
    }
    table
}

fn parse_field(line: &str, names: &HashMap<&str, usize>) -> Field {
    let mut words = line.split(' ');
    let name = words.next().unwrap_or_default();
    let (name, required) = name.strip_suffix('!').map_or((name, false), |n| (n, true));
    let ty = parse_type(words.next().unwrap_or("any"), names);
    let mut field = Field {
        name: name.to_owned(),
        required,
        ty,
        list: ListKind::Atomic,
        atomic: false,
        patch: PatchStrategy::default(),
        allowed: Vec::new(),
        zero: false,
        default: None,
    };
    for word in words {
        let (key, value) = word.split_once('=').map_or((word, None), |(k, v)| (k, Some(v)));
        match (key, value) {
            ("map", Some(keys)) => field.list = ListKind::Map(keys.split(',').map(str::to_owned).collect()),
            ("set", None) => field.list = ListKind::Set,
            ("atomic", None) => field.atomic = true,
            ("merge", key) => {
                field.patch.merge = true;
                field.patch.key = key.map(str::to_owned);
            }
            ("zero", None) => field.zero = true,
            ("retainKeys", None) => field.patch.retain_keys = true,
            ("enum", Some(values)) => field.allowed = values.split('|').map(str::to_owned).collect(),
            ("default", Some(json)) => field.default = serde_json::from_str(json).ok(),
            _ => {}
        }
    }
    field
}

fn parse_type(word: &str, names: &HashMap<&str, usize>) -> Type {
    if let Some(inner) = word.strip_prefix('[').and_then(|w| w.strip_suffix(']')) {
        return Type::List(Box::new(parse_type(inner, names)));
    }
    if let Some(inner) = word.strip_prefix('{').and_then(|w| w.strip_suffix('}')) {
        return Type::Map(Box::new(parse_type(inner, names)));
    }
    match word {
        "string" => Type::Scalar(Scalar::String),
        "bytes" => Type::Scalar(Scalar::Bytes),
        "time" => Type::Scalar(Scalar::Time),
        "int32" => Type::Scalar(Scalar::Int32),
        "int64" => Type::Scalar(Scalar::Int64),
        "number" => Type::Scalar(Scalar::Number),
        "bool" => Type::Scalar(Scalar::Bool),
        "quantity" => Type::Scalar(Scalar::Quantity),
        "intstr" => Type::Scalar(Scalar::IntOrString),
        name => names.get(name).map_or(Type::Any, |i| Type::Struct(*i)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn container_ports_are_told_apart_by_port_and_protocol() {
        let container = table().structs.iter().find(|s| s.name == "core.v1.Container").expect("Container");
        let ports = container.field("ports").expect("ports");
        assert_eq!(ports.list, ListKind::Map(vec!["containerPort".into(), "protocol".into()]));
        assert_eq!(ports.patch.key.as_deref(), Some("containerPort"));
        let Type::List(item) = &ports.ty else { panic!("ports is a list") };
        let Type::Struct(at) = **item else { panic!("ports has objects") };
        let protocol = table().get(at).and_then(|s| s.field("protocol")).expect("protocol");
        assert_eq!(protocol.default, Some("TCP".into()));
    }
}

//! Sets of field paths, as `managedFields[].fieldsV1` writes them: JSON ⇄ trie of path elements, with set algebra.
use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Field sets nested deeper than this are refused, so that a hostile `managedFields` cannot exhaust the stack.
const MAX_DEPTH: usize = 256;

/// One step of a path.
#[derive(Debug, Clone)]
pub(crate) enum Element {
    /// A field of an object.
    Field(String),
    /// The item of a list whose key fields have these values, sorted by name.
    Key(Vec<(String, Value)>),
    /// The item of a set.
    Value(Value),
    /// The item at a place.
    Index(i64),
}

impl PartialEq for Element {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Element {}

impl PartialOrd for Element {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Element {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Element::Field(a), Element::Field(b)) => a.cmp(b),
            (Element::Key(a), Element::Key(b)) => {
                let pairs = a.iter().zip(b);
                pairs
                    .map(|((n, v), (m, w))| n.cmp(m).then_with(|| compare_values(v, w)))
                    .find(|o| o.is_ne())
                    .unwrap_or_else(|| a.len().cmp(&b.len()))
            }
            (Element::Value(a), Element::Value(b)) => compare_values(a, b),
            (Element::Index(a), Element::Index(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

/// An order of JSON values: numbers, text, booleans, the rest by their text.
fn compare_values(a: &Value, b: &Value) -> Ordering {
    fn rank(value: &Value) -> u8 {
        match value {
            Value::Number(_) => 0,
            Value::String(_) => 1,
            Value::Bool(_) => 2,
            Value::Array(_) => 3,
            Value::Object(_) => 4,
            Value::Null => 5,
        }
    }
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => a.cmp(&b),
            _ => a.as_f64().unwrap_or_default().total_cmp(&b.as_f64().unwrap_or_default()),
        },
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        _ => rank(a).cmp(&rank(b)).then_with(|| a.to_string().cmp(&b.to_string())),
    }
}

impl Element {
    fn rank(&self) -> u8 {
        match self {
            Element::Field(_) => 0,
            Element::Key(_) => 1,
            Element::Value(_) => 2,
            Element::Index(_) => 3,
        }
    }

    fn write(&self) -> String {
        match self {
            Element::Field(name) => format!("f:{name}"),
            Element::Key(pairs) => {
                let map: Map<String, Value> = pairs.iter().cloned().collect();
                format!("k:{}", Value::Object(map))
            }
            Element::Value(value) => format!("v:{value}"),
            Element::Index(i) => format!("i:{i}"),
        }
    }

    fn read(text: &str) -> Result<Element, String> {
        let bad = || format!("{text:?} is not a path element");
        let (kind, rest) = text.split_once(':').ok_or_else(bad)?;
        match kind {
            "f" => Ok(Element::Field(rest.to_owned())),
            "v" => serde_json::from_str(rest).map(Element::Value).map_err(|_| bad()),
            "i" => rest.parse().map(Element::Index).map_err(|_| bad()),
            "k" => {
                let map: Map<String, Value> = serde_json::from_str(rest).map_err(|_| bad())?;
                Ok(Element::Key(map.into_iter().collect()))
            }
            _ => Err(bad()),
        }
    }
}

impl std::fmt::Display for Element {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Element::Field(name) => write!(f, ".{name}"),
            Element::Key(pairs) => {
                let list: Vec<String> = pairs.iter().map(|(n, v)| format!("{n}={v}")).collect();
                write!(f, "[{}]", list.join(","))
            }
            Element::Value(value) => write!(f, "[={value}]"),
            Element::Index(i) => write!(f, "[{i}]"),
        }
    }
}

/// A path as messages show it: `.spec.containers[name="c"].image`.
pub(crate) fn path_text(path: &[Element]) -> String {
    path.iter().map(Element::to_string).collect()
}

/// A set of paths; the path to each node of this tree with `member` is in the set. No empty branches are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Set {
    /// Whether the path to here is in the set.
    pub(crate) member: bool,
    /// The paths below.
    pub(crate) children: BTreeMap<Element, Set>,
}

impl Set {
    pub(crate) fn is_empty(&self) -> bool {
        !self.member && self.children.is_empty()
    }

    pub(crate) fn insert(&mut self, path: &[Element]) {
        let mut at = self;
        for element in path {
            at = at.children.entry(element.clone()).or_default();
        }
        at.member = true;
    }

    /// The set of the paths below `element`.
    pub(crate) fn below(&self, element: &Element) -> Option<&Set> {
        self.children.get(element)
    }

    fn combine(&self, other: &Set, keep: &dyn Fn(bool, bool) -> bool) -> Set {
        static NONE: Set = Set { member: false, children: BTreeMap::new() };
        let mut out = Set { member: keep(self.member, other.member), children: BTreeMap::new() };
        for (element, a) in &self.children {
            let b = other.children.get(element).unwrap_or(&NONE);
            let inner = a.combine(b, keep);
            if !inner.is_empty() {
                out.children.insert(element.clone(), inner);
            }
        }
        for (element, b) in &other.children {
            if !self.children.contains_key(element) {
                let inner = NONE.combine(b, keep);
                if !inner.is_empty() {
                    out.children.insert(element.clone(), inner);
                }
            }
        }
        out
    }

    pub(crate) fn union(&self, other: &Set) -> Set {
        self.combine(other, &|a, b| a || b)
    }

    pub(crate) fn intersection(&self, other: &Set) -> Set {
        self.combine(other, &|a, b| a && b)
    }

    pub(crate) fn difference(&self, other: &Set) -> Set {
        self.combine(other, &|a, b| a && !b)
    }

    /// Without the paths of `other` and everything below them.
    pub(crate) fn without_subtrees(&self, other: &Set) -> Set {
        if other.member {
            return Set::default();
        }
        let mut out = Set { member: self.member, children: BTreeMap::new() };
        for (element, a) in &self.children {
            let inner = match other.children.get(element) {
                Some(b) => a.without_subtrees(b),
                None => a.clone(),
            };
            if !inner.is_empty() {
                out.children.insert(element.clone(), inner);
            }
        }
        out
    }

    /// Every path of the set, in order.
    pub(crate) fn paths(&self) -> Vec<Vec<Element>> {
        fn walk(set: &Set, at: &mut Vec<Element>, out: &mut Vec<Vec<Element>>) {
            for (element, inner) in &set.children {
                at.push(element.clone());
                if inner.member {
                    out.push(at.clone());
                }
                walk(inner, at, out);
                at.pop();
            }
        }
        let mut out = Vec::new();
        walk(self, &mut Vec::new(), &mut out);
        out
    }

    /// As `fieldsV1` writes it.
    pub(crate) fn to_fields(&self) -> Value {
        let mut map = Map::new();
        for (element, inner) in &self.children {
            let mut value = inner.to_fields();
            if let (true, false, Some(map)) = (inner.member, inner.children.is_empty(), value.as_object_mut())
            {
                map.insert(".".to_owned(), Value::Object(Map::new()));
            }
            map.insert(element.write(), value);
        }
        Value::Object(map)
    }

    /// From what `fieldsV1` holds.
    pub(crate) fn from_fields(fields: &Value) -> Result<Set, String> {
        Self::read(fields, 0)
    }

    fn read(fields: &Value, depth: usize) -> Result<Set, String> {
        if depth > MAX_DEPTH {
            return Err(format!("fieldsV1 is nested deeper than {MAX_DEPTH} levels"));
        }
        let map = fields.as_object().ok_or_else(|| "fieldsV1 must hold objects".to_owned())?;
        let mut out = Set::default();
        for (name, inner) in map {
            if name == "." {
                out.member = true;
                continue;
            }
            let mut child = Self::read(inner, depth + 1)?;
            if child.is_empty() {
                child.member = true;
            }
            out.children.insert(Element::read(name)?, child);
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_survive_the_way_in_and_out() {
        let fields = json!({"f:spec": {"f:containers": {"k:{\"name\":\"c\"}": {".": {}, "f:image": {}}}},
            "f:metadata": {"f:finalizers": {".": {}, "v:\"a.b/c\"": {}}}});
        let set = Set::from_fields(&fields).unwrap();
        assert_eq!(set.to_fields(), fields);
        let shown: Vec<String> = set.paths().iter().map(|p| path_text(p)).collect();
        assert!(shown.contains(&".spec.containers[name=\"c\"].image".to_owned()), "{shown:?}");
        assert!(shown.contains(&".metadata.finalizers[=\"a.b/c\"]".to_owned()), "{shown:?}");
    }

    #[test]
    fn hostile_fields_are_refused() {
        let mut deep = json!({});
        for _ in 0..400 {
            deep = json!({ "f:a": deep });
        }
        assert!(Set::from_fields(&deep).is_err());
        assert!(Set::from_fields(&json!({"x": {}})).is_err());
        assert!(Set::from_fields(&json!({"f:a": 1})).is_err());
    }

    #[test]
    fn algebra() {
        let set = |v: Value| Set::from_fields(&v).unwrap();
        let a = set(json!({"f:a": {"f:b": {}, "f:c": {}}}));
        let b = set(json!({"f:a": {"f:b": {}}}));
        assert_eq!(a.difference(&b), set(json!({"f:a": {"f:c": {}}})));
        assert_eq!(a.intersection(&b), b);
        assert_eq!(a.union(&b), a);
        assert!(a.without_subtrees(&set(json!({"f:a": {}}))).is_empty());
    }
}

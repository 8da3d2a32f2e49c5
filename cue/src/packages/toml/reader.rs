//! TOML text in, a tree of values with their places out.

use std::collections::BTreeSet;

use super::super::Data;
use super::scanner::{Mistake, Scanner};

/// Deepest nesting of arrays and inline tables, and longest key.
const MAX_DEPTH: usize = 200;

/// Most fields of one table and most arrays of tables: each is looked for among all.
const MAX_FIELDS: usize = 20_000;

/// A value and the byte where it begins.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Offset in the text, in bytes.
    pub at: usize,
    /// The value.
    pub value: Value,
}

/// The content of a node.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A text, number or bool; times are texts.
    Scalar(Data),
    /// Elements in order.
    List(Vec<Node>),
    /// Fields in the order in which they first appear.
    Table(Vec<Field>),
}

/// A field of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Offset of the name in the text, in bytes.
    pub at: usize,
    /// Its value.
    pub value: Node,
}

impl Node {
    /// The data without its places.
    pub fn into_data(self) -> Data {
        match self.value {
            Value::Scalar(data) => data,
            Value::List(items) => Data::List(items.into_iter().map(Self::into_data).collect()),
            Value::Table(fields) => {
                Data::Struct(fields.into_iter().map(|f| (f.name, f.value.into_data())).collect())
            }
        }
    }

    fn table(at: usize) -> Self {
        Self { at, value: Value::Table(Vec::new()) }
    }
}

/// Reads a whole text.
///
/// # Errors
/// At which byte it is no TOML, and why.
pub fn read_tree(text: &str) -> Result<Node, (usize, String)> {
    let mut reader = Reader {
        scanner: Scanner { text, at: 0 },
        root: Node::table(0),
        seen: BTreeSet::new(),
        arrays: Vec::new(),
        prefix: String::new(),
        path: Vec::new(),
    };
    reader.run()?;
    Ok(reader.root)
}

/// A step from a table or list into it.
#[derive(Debug, Clone)]
enum Step {
    Field(String, usize),
    /// The last element.
    Last,
}

type Key = Vec<(String, usize)>;

struct Reader<'t> {
    scanner: Scanner<'t>,
    root: Node,
    /// Keys that have their value, from the root, each name quoted where it needs to be.
    seen: BTreeSet<String>,
    /// Arrays of tables: key and number of names in it.
    arrays: Vec<(String, usize)>,
    /// Key of the table that is being read, with the index of an array's element.
    prefix: String,
    path: Vec<Step>,
}

impl Reader<'_> {
    fn run(&mut self) -> Result<(), Mistake> {
        loop {
            self.scanner.skip_blanks();
            match self.scanner.peek() {
                None => return Ok(()),
                Some(b'#' | b'\r' | b'\n') => {}
                Some(b'[') => self.header()?,
                Some(_) => {
                    let (prefix, path) = (self.prefix.clone(), self.path.clone());
                    let (key, node) = self.entry(&prefix, 0)?;
                    self.insert(path, key, node)?;
                }
            }
            self.scanner.skip_blanks();
            self.scanner.skip_comment()?;
            if !self.scanner.accept("\r\n") && !self.scanner.accept("\n") && self.scanner.peek().is_some() {
                let found = self.scanner.rest().chars().next().unwrap_or(' ');
                return self.scanner.fail(format!("expected newline but got {found:?}"));
            }
        }
    }

    /// `[a.b]` or `[[a.b]]`.
    fn header(&mut self) -> Result<(), Mistake> {
        let at = self.scanner.at;
        let array = self.scanner.rest().starts_with("[[");
        self.scanner.at += if array { 2 } else { 1 };
        let key = self.scanner.key()?;
        self.scanner.expect(if array { "]]" } else { "]" })?;
        let rooted = rooted("", &key);
        if key.len() > MAX_DEPTH {
            return Err((at, format!("key of more than {MAX_DEPTH} names")));
        }
        if array { self.array_header(at, key, rooted) } else { self.table_header(at, key, rooted) }
    }

    fn table_header(&mut self, at: usize, key: Key, rooted: String) -> Result<(), Mistake> {
        if !self.seen.insert(rooted.clone()) {
            return Err((key[0].1, format!("duplicate key: {rooted}")));
        }
        let path = match self.open_array(&rooted) {
            Some((array, _)) if array == rooted => {
                return Err((key[0].1, format!("cannot redeclare table array {rooted:?} as a table")));
            }
            Some((_, level)) => self.steps(&key, level),
            None => self.steps(&key, 0),
        };
        self.insert(path.clone(), Vec::new(), Node::table(at))?;
        (self.prefix, self.path) = (rooted, path);
        Ok(())
    }

    fn array_header(&mut self, at: usize, key: Key, rooted: String) -> Result<(), Mistake> {
        if self.seen.contains(&rooted) {
            return Err((key[0].1, format!("cannot redeclare key {rooted:?} as a table array")));
        }
        let level = self.open_array(&rooted).map_or(0, |(_, level)| level);
        let mut path = self.steps(&key, if level == key.len() { level - 1 } else { level });
        let known = level == key.len();
        let count = if known {
            match self.find(&path) {
                Some(Node { value: Value::List(items), .. }) => {
                    items.push(Node::table(at));
                    items.len() - 1
                }
                _ => return Err((at, format!("{rooted} is no array of tables"))),
            }
        } else {
            if self.arrays.len() >= MAX_FIELDS {
                return Err((at, format!("more than {MAX_FIELDS} arrays of tables")));
            }
            self.arrays.push((rooted.clone(), key.len()));
            let list = Node { at, value: Value::List(vec![Node::table(at)]) };
            self.insert(path.clone(), Vec::new(), list)?;
            0
        };
        path.push(Step::Last);
        (self.prefix, self.path) = (format!("{rooted}.{count}"), path);
        Ok(())
    }

    /// The array of tables that a key names or lies in. One that is named again begins anew: what stood below it is forgotten.
    fn open_array(&mut self, rooted: &str) -> Option<(String, usize)> {
        if let Some(found) = self.arrays.iter().find(|(key, _)| key == rooted).cloned() {
            let below = format!("{rooted}.");
            self.arrays.retain(|(key, _)| !key.starts_with(&below));
            self.seen.retain(|key| !key.starts_with(&below));
            return Some(found);
        }
        let holds = |key: &str| rooted.strip_prefix(key).is_some_and(|rest| rest.starts_with('.'));
        self.arrays.iter().filter(|(key, _)| holds(key)).max_by_key(|(_, level)| *level).cloned()
    }

    /// The steps of a key; behind its first `level` names lies the last element of an array, as it does behind each
    /// shorter key that is an array.
    fn steps(&self, key: &Key, level: usize) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut path = Vec::new();
        for (at, part) in key.iter().enumerate() {
            path.push(part.clone());
            steps.push(Step::Field(part.0.clone(), part.1));
            let name = rooted("", &path);
            if at < level && self.arrays.iter().any(|(key, _)| *key == name) {
                steps.push(Step::Last);
            }
        }
        steps
    }

    fn find(&mut self, path: &[Step]) -> Option<&mut Node> {
        let mut node = &mut self.root;
        for step in path {
            node = match (&mut node.value, step) {
                (Value::Table(fields), Step::Field(name, _)) => {
                    &mut fields.iter_mut().find(|f| f.name == *name)?.value
                }
                (Value::List(items), Step::Last) => items.last_mut()?,
                _ => return None,
            };
        }
        Some(node)
    }

    /// Adds a value at a path and key; what is there already must agree with it.
    fn insert(&mut self, path: Vec<Step>, key: Key, node: Node) -> Result<(), Mistake> {
        let steps = path.into_iter().chain(key.into_iter().map(|(name, at)| Step::Field(name, at)));
        let mut target = &mut self.root;
        for step in steps {
            target = match (&mut target.value, step) {
                (Value::Table(fields), Step::Field(name, at)) => {
                    let index = match fields.iter().position(|f| f.name == name) {
                        Some(index) => index,
                        None if fields.len() >= MAX_FIELDS => {
                            return Err((at, format!("a table of more than {MAX_FIELDS} fields")));
                        }
                        None => {
                            fields.push(Field { name, at, value: Node::table(node.at) });
                            fields.len() - 1
                        }
                    };
                    &mut fields[index].value
                }
                (Value::List(items), Step::Last) if !items.is_empty() => {
                    let last = items.len() - 1;
                    &mut items[last]
                }
                (_, Step::Field(_, at)) => {
                    return Err((at, "conflict: this is a table and another value".into()));
                }
                (_, Step::Last) => {
                    return Err((node.at, "conflict: this is an array and another value".into()));
                }
            };
        }
        merge(target, node)
    }

    /// `key = value` in a table whose key is `prefix`.
    fn entry(&mut self, prefix: &str, depth: usize) -> Result<(Key, Node), Mistake> {
        let key = self.scanner.key()?;
        self.scanner.expect("=")?;
        self.scanner.skip_blanks();
        let rooted = rooted(prefix, &key);
        if self.arrays.iter().any(|(array, _)| *array == rooted) {
            return Err((key[0].1, format!("cannot redeclare table array {rooted:?} as a table")));
        }
        if key.len() > MAX_DEPTH {
            return Err((key[0].1, format!("key of more than {MAX_DEPTH} names")));
        }
        if !self.seen.insert(rooted.clone()) {
            return Err((key[0].1, format!("duplicate key: {rooted}")));
        }
        let node = self.value(&rooted, depth)?;
        Ok((key, node))
    }

    fn value(&mut self, rooted: &str, depth: usize) -> Result<Node, Mistake> {
        let at = self.scanner.at;
        if depth > MAX_DEPTH {
            return self.scanner.fail(format!("nested deeper than {MAX_DEPTH}"));
        }
        let value = match self.scanner.peek() {
            None => return self.scanner.fail("expected a value, but the text ends here"),
            Some(b'"' | b'\'') => Value::Scalar(Data::String(self.scanner.string()?)),
            Some(b'[') => self.array(rooted, depth)?,
            Some(b'{') => return self.inline_table(rooted, depth),
            Some(_) if self.scanner.accept("true") => Value::Scalar(Data::Bool(true)),
            Some(_) if self.scanner.accept("false") => Value::Scalar(Data::Bool(false)),
            Some(_) => Value::Scalar(self.scanner.scalar()?),
        };
        Ok(Node { at, value })
    }

    fn array(&mut self, rooted: &str, depth: usize) -> Result<Value, Mistake> {
        self.scanner.at += 1;
        let mut items = Vec::new();
        loop {
            self.scanner.skip_lines()?;
            if self.scanner.accept("]") {
                return Ok(Value::List(items));
            }
            items.push(self.value(&format!("{rooted}.{}", items.len()), depth + 1)?);
            self.scanner.skip_lines()?;
            if !self.scanner.accept(",") {
                self.scanner.expect("]")?;
                return Ok(Value::List(items));
            }
        }
    }

    fn inline_table(&mut self, rooted: &str, depth: usize) -> Result<Node, Mistake> {
        let mut table = Node::table(self.scanner.at);
        self.scanner.at += 1;
        self.scanner.skip_blanks();
        if self.scanner.accept("}") {
            return Ok(table);
        }
        loop {
            let (key, node) = self.entry(rooted, depth + 1)?;
            let mut inner = node;
            for (name, at) in key.into_iter().rev() {
                let start = inner.at;
                inner = Node { at: start, value: Value::Table(vec![Field { name, at, value: inner }]) };
            }
            merge(&mut table, inner)?;
            self.scanner.skip_blanks();
            if !self.scanner.accept(",") {
                self.scanner.expect("}")?;
                return Ok(table);
            }
        }
    }
}

/// The key from the root as one text.
fn rooted(prefix: &str, key: &Key) -> String {
    let mut text = prefix.to_string();
    for (name, _) in key {
        if !text.is_empty() {
            text.push('.');
        }
        let plain = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if plain {
            text.push_str(name);
        } else {
            text.push_str(&crate::literal::quote_string(name));
        }
    }
    text
}

/// Brings two values of one place together: tables join, all else must be equal.
fn merge(target: &mut Node, node: Node) -> Result<(), Mistake> {
    let empty = matches!(&target.value, Value::Table(fields) if fields.is_empty());
    match (&mut target.value, node.value) {
        (Value::Table(fields), Value::Table(more)) => {
            for field in more {
                let full = fields.len() >= MAX_FIELDS;
                match fields.iter_mut().find(|f| f.name == field.name) {
                    Some(known) => merge(&mut known.value, field.value)?,
                    None if full => {
                        return Err((field.at, format!("a table of more than {MAX_FIELDS} fields")));
                    }
                    None => fields.push(field),
                }
            }
            Ok(())
        }
        // A field that was made on the way holds an empty table until its value comes.
        (_, value) if empty => {
            *target = Node { at: node.at, value };
            Ok(())
        }
        (known, value) if *known == value => Ok(()),
        _ => Err((node.at, "conflict: another value stands there already".into())),
    }
}

//! Where every field of a document stands: a tree of positions beside the tree of values.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::diagnostic::Place;
use crate::field_path::{self, Segment};

/// Line and column of a field's name and of its value, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Position {
    /// Line and column of the field's name; of the value where there is no name (list items, the root).
    pub key: (u32, u32),
    /// Line and column of the value.
    pub value: (u32, u32),
}

/// Position of one value and of what is inside it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Node {
    pub(crate) at: Position,
    pub(crate) children: Children,
}

#[derive(Debug, Clone, Default)]
pub(crate) enum Children {
    #[default]
    None,
    Fields(BTreeMap<String, Node>),
    Items(Vec<Node>),
    /// A text of several lines.
    Lines(Lines),
}

/// Where the lines of a text stand in the file that holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lines {
    /// The line of the file before its first line.
    pub(crate) before: u32,
    /// By how many columns it is moved in.
    pub(crate) indent: u32,
}

impl Node {
    fn child(&self, segment: &Segment) -> Option<&Node> {
        match (&self.children, segment) {
            (Children::Fields(fields), Segment::Field(name)) => fields.get(name),
            (Children::Items(items), Segment::Index(index)) => items.get(*index),
            _ => None,
        }
    }
}

/// The positions of a document, or of a part of it.
#[derive(Debug, Clone, Default)]
pub struct Places {
    file: Option<Arc<str>>,
    root: Node,
}

impl Places {
    /// No positions: the document did not come from a text.
    pub fn none() -> Self {
        Self::default()
    }

    pub(crate) fn new(file: Arc<str>, root: Node) -> Self {
        Self { file: Some(file), root }
    }

    /// Place of the value at a field path such as `spec.components[0].name`; where the path leads outside
    /// the text, the place of the nearest value above it.
    pub fn value(&self, path: &str) -> Option<Place> {
        self.find(path)
            .map(|(position, exact)| if exact { position.value } else { position.key })
            .and_then(|at| self.place(at))
    }

    /// Place of the name of the field at a path, or of the nearest one above.
    pub fn key(&self, path: &str) -> Option<Place> {
        self.find(path).and_then(|(position, _)| self.place(position.key))
    }

    /// The place of the value at exactly this path.
    pub fn exact(&self, segments: &[Segment]) -> Option<Place> {
        let mut node = &self.root;
        for segment in segments {
            node = node.child(segment)?;
        }
        self.place(node.at.value)
    }

    /// Every value at or below `path` with its path relative to it (`env[0].name`) and position.
    pub fn below(&self, path: &str) -> Vec<(String, Place)> {
        let mut found = Vec::new();
        let mut node = &self.root;
        for segment in &field_path::parse(path).unwrap_or_default() {
            match node.child(segment) {
                Some(child) => node = child,
                None => return found,
            }
        }
        self.collect(node, &mut String::new(), &mut found);
        found
    }

    fn collect(&self, node: &Node, path: &mut String, into: &mut Vec<(String, Place)>) {
        if let Some(place) = self.place(node.at.value) {
            into.push((path.clone(), place));
        }
        let length = path.len();
        match &node.children {
            Children::None | Children::Lines(_) => {}
            Children::Fields(fields) => {
                for (name, child) in fields {
                    field_path::push_field(path, name);
                    self.collect(child, path, into);
                    path.truncate(length);
                }
            }
            Children::Items(items) => {
                for (index, child) in items.iter().enumerate() {
                    field_path::push_index(path, index);
                    self.collect(child, path, into);
                    path.truncate(length);
                }
            }
        }
    }

    /// The positions of a document that holds one text of another file.
    pub(crate) fn of_text(file: &str, at: (u32, u32), path: &[&str], lines: Lines) -> Self {
        let at = Position { key: at, value: at };
        let text = Node { at, children: Children::Lines(lines) };
        let root = path.iter().rev().fold(text, |inner, name| Node {
            at,
            children: Children::Fields(BTreeMap::from([((*name).to_owned(), inner)])),
        });
        Self::new(Arc::from(file), root)
    }

    /// The file and the lines of the text at this path, where each of its lines is one of the file.
    pub(crate) fn lines(&self, path: &[&str]) -> Option<(Arc<str>, Lines)> {
        let mut node = &self.root;
        for name in path {
            node = node.child(&Segment::Field((*name).to_owned()))?;
        }
        match (&node.children, &self.file) {
            (Children::Lines(lines), Some(file)) => Some((Arc::clone(file), *lines)),
            _ => None,
        }
    }

    /// The positions of the value under these fields (and list index).
    pub(crate) fn under(&self, fields: &[&str], index: Option<usize>) -> Places {
        let segments =
            fields.iter().map(|name| Segment::Field((*name).to_owned())).chain(index.map(Segment::Index));
        let mut node = &self.root;
        for segment in segments {
            match node.child(&segment) {
                Some(child) => node = child,
                None => return Places { file: self.file.clone(), root: Node::default() },
            }
        }
        Places { file: self.file.clone(), root: node.clone() }
    }

    /// Place of the value (or of its name) that these segments lead to, or of the nearest one above.
    pub(crate) fn nearest(&self, segments: &[Segment], name: bool) -> Option<Place> {
        let (position, exact) = self.follow(segments)?;
        self.place(if exact && !name { position.value } else { position.key })
    }

    fn find(&self, path: &str) -> Option<(Position, bool)> {
        self.follow(&field_path::parse(path).unwrap_or_default())
    }

    /// The deepest known position on the way, and whether it is the whole way.
    fn follow(&self, segments: &[Segment]) -> Option<(Position, bool)> {
        self.file.as_ref()?;
        let mut node = &self.root;
        for segment in segments {
            match node.child(segment) {
                Some(child) => node = child,
                None => return Some((node.at, false)),
            }
        }
        Some((node.at, true))
    }

    fn place(&self, (line, column): (u32, u32)) -> Option<Place> {
        let file = self.file.as_ref()?;
        (line > 0).then(|| Place { file: Arc::clone(file), line, column })
    }
}

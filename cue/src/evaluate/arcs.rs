//! The fields and elements of a vertex, in order; a large struct also has them by label.

use std::ops::Deref;

use rustc_hash::FxHashMap;

use super::VertexId;
use crate::ir::{ArcKind, Label};

/// A field or element.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arc_ {
    pub(crate) label: Label,
    pub(crate) kind: ArcKind,
    pub(crate) vertex: VertexId,
}

/// More arcs than this are found through a map: below it a walk is faster than hashing.
const INDEXED_FROM: usize = 12;

/// The arcs of one vertex. Read as a slice; changed only here, so that the map always agrees.
#[derive(Debug, Default)]
pub(crate) struct Arcs {
    list: Vec<Arc_>,
    places: Option<Box<FxHashMap<Label, u32>>>,
}

impl Deref for Arcs {
    type Target = [Arc_];

    fn deref(&self) -> &[Arc_] {
        &self.list
    }
}

impl Arcs {
    /// Where a label stands. Elements stand in order, which spares long lists the map.
    pub(crate) fn place(&self, label: Label) -> Option<usize> {
        if let Some(index) = label.as_index() {
            if self.list.get(index).is_some_and(|a| a.label == label) {
                return Some(index);
            }
            let last = self.list.last().and_then(|a| a.label.as_index());
            if self.list.len() == index && last.is_none_or(|last| last + 1 == index) {
                return None;
            }
        }
        match &self.places {
            Some(places) => places.get(&label).map(|at| *at as usize),
            None => self.list.iter().position(|a| a.label == label),
        }
    }

    /// The arc of a label.
    pub(crate) fn find(&self, label: Label) -> Option<&Arc_> {
        self.list.get(self.place(label)?)
    }

    /// Adds an arc whose label is not there yet.
    pub(crate) fn push(&mut self, arc: Arc_) {
        let at = self.list.len();
        self.list.push(arc);
        if let Some(places) = &mut self.places {
            places.insert(arc.label, at as u32);
        } else if at >= INDEXED_FROM && arc.label.as_index().is_none_or(|index| index != at) {
            self.build();
        }
    }

    /// Declares an arc once more: the stronger kind wins.
    pub(crate) fn declare_again(&mut self, at: usize, kind: ArcKind) {
        if let Some(arc) = self.list.get_mut(at) {
            arc.kind = arc.kind.max(kind);
        }
    }

    /// Puts elements into the order of a list.
    pub(crate) fn sort_elements(&mut self) {
        let key = |arc: &Arc_| arc.label.as_index().unwrap_or(usize::MAX);
        if self.list.is_sorted_by_key(key) {
            return;
        }
        self.list.sort_by_key(key);
        if self.places.is_some() {
            self.build();
        }
    }

    /// Bytes on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        const BLOCK: usize = 16;
        let places = self
            .places
            .as_ref()
            .map_or(0, |places| BLOCK + places.capacity() * (size_of::<(Label, u32)>() + size_of::<u64>()));
        let list = self.list.capacity() * size_of::<Arc_>();
        places + if list == 0 { 0 } else { list + BLOCK }
    }

    pub(crate) fn clear(&mut self) {
        self.list.clear();
        self.places = None;
    }

    /// The arcs alone, to walk over while the vertex changes.
    pub(crate) fn to_list(&self) -> Vec<Arc_> {
        self.list.clone()
    }

    fn build(&mut self) {
        let places = self.list.iter().enumerate().map(|(at, arc)| (arc.label, at as u32)).collect();
        self.places = Some(Box::new(places));
    }
}

impl<'a> IntoIterator for &'a Arcs {
    type Item = &'a Arc_;
    type IntoIter = std::slice::Iter<'a, Arc_>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.iter()
    }
}

impl FromIterator<Arc_> for Arcs {
    fn from_iter<I: IntoIterator<Item = Arc_>>(arcs: I) -> Self {
        let mut made = Self::default();
        for arc in arcs {
            made.push(arc);
        }
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_label_is_found_before_and_after_sorting() {
        let mut arcs = Arcs::default();
        for id in (0..100u32).map(|n| (n * 37) % 100) {
            arcs.push(Arc_ { label: Label::regular(id), kind: ArcKind::Member, vertex: VertexId(id) });
            assert_eq!(arcs.find(Label::regular(id)).map(|a| a.vertex), Some(VertexId(id)));
        }
        assert!(arcs.find(Label::regular(100)).is_none());
        for index in [2, 0, 1] {
            let label = Label::index(index);
            arcs.push(Arc_ { label, kind: ArcKind::Member, vertex: VertexId(index as u32) });
        }
        arcs.sort_elements();
        assert!(arcs.iter().take(3).map(|a| a.label.as_index()).eq([Some(0), Some(1), Some(2)]));
        for id in 0..100u32 {
            assert_eq!(arcs.find(Label::regular(id)).map(|a| a.vertex), Some(VertexId(id)));
        }
    }

    #[test]
    fn elements_are_found_without_a_map() {
        let element = |index: usize| Arc_ {
            label: Label::index(index),
            kind: ArcKind::Member,
            vertex: VertexId(index as u32),
        };
        let arcs: Arcs = (0..1_000).map(element).collect();
        assert!(arcs.places.is_none());
        assert_eq!(arcs.find(Label::index(999)).map(|a| a.vertex), Some(VertexId(999)));
        assert!(arcs.find(Label::index(1_000)).is_none());
    }
}

//! Names and which shall precede which in; the names in one order that keeps to it as far as it can be kept, out.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, BinaryHeap},
    sync::Arc,
};

use rustc_hash::FxHashSet;

/// The order among the fields of one struct; fields are numbers.
#[derive(Default)]
pub(super) struct Precedence {
    after: Vec<Vec<u32>>,
    known: FxHashSet<(u32, u32)>,
}

/// The fields of a group by name.
type Names = Vec<(Arc<str>, u32)>;

impl Precedence {
    pub(super) fn of(count: usize) -> Self {
        Self { after: vec![Vec::new(); count], known: FxHashSet::default() }
    }

    pub(super) fn add(&mut self, before: u32, after: u32) {
        if self.known.insert((before, after)) {
            self.after[before as usize].push(after);
        }
    }

    /// The fields in order: always the least by name of those that nothing left precedes. Fields that precede each
    /// other stand together, by name.
    pub(super) fn sorted(&self, names: &[Arc<str>]) -> Vec<u32> {
        let group_of = self.groups();
        let count = group_of.iter().map(|g| *g as usize + 1).max().unwrap_or(0);
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); count];
        for (node, group) in group_of.iter().enumerate() {
            members[*group as usize].push(node as u32);
        }
        let mut followers: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); count];
        let mut waits_for = vec![0_u32; count];
        for (node, next) in self.after.iter().enumerate() {
            let from = group_of[node];
            for to in next.iter().map(|n| group_of[*n as usize]).filter(|to| *to != from) {
                if followers[from as usize].insert(to) {
                    waits_for[to as usize] += 1;
                }
            }
        }
        let key = |group: usize| -> Names {
            let mut key: Names = members[group].iter().map(|n| (names[*n as usize].clone(), *n)).collect();
            key.sort();
            key
        };
        let mut ready: BinaryHeap<Reverse<(Names, usize)>> =
            (0..count).filter(|g| waits_for[*g] == 0).map(|g| Reverse((key(g), g))).collect();
        let mut out = Vec::with_capacity(names.len());
        while let Some(Reverse((members, group))) = ready.pop() {
            out.extend(members.into_iter().map(|(_, node)| node));
            for next in &followers[group] {
                let next = *next as usize;
                waits_for[next] -= 1;
                if waits_for[next] == 0 {
                    ready.push(Reverse((key(next), next)));
                }
            }
        }
        out
    }

    /// The number of the group of each field: those that precede each other share one (Tarjan's algorithm, with a
    /// stack of its own since structs may have many thousands of fields).
    fn groups(&self) -> Vec<u32> {
        const NEW: u32 = u32::MAX;
        let count = self.after.len();
        let mut group = vec![NEW; count];
        let mut index = vec![NEW; count];
        let mut low = vec![NEW; count];
        let (mut stack, mut walk) = (Vec::new(), Vec::<(u32, usize)>::new());
        let (mut next_index, mut next_group) = (0, 0);
        for start in 0..count as u32 {
            if index[start as usize] != NEW {
                continue;
            }
            walk.push((start, 0));
            while let Some((node, at)) = walk.pop() {
                let here = node as usize;
                if at == 0 {
                    index[here] = next_index;
                    low[here] = next_index;
                    next_index += 1;
                    stack.push(node);
                }
                if let Some(next) = self.after[here].get(at).copied() {
                    walk.push((node, at + 1));
                    let there = next as usize;
                    if index[there] == NEW {
                        walk.push((next, 0));
                    } else if group[there] == NEW {
                        low[here] = low[here].min(index[there]);
                    }
                    continue;
                }
                if low[here] == index[here] {
                    while let Some(member) = stack.pop() {
                        group[member as usize] = next_group;
                        if member == node {
                            break;
                        }
                    }
                    next_group += 1;
                }
                if let Some((parent, _)) = walk.last() {
                    let parent = *parent as usize;
                    low[parent] = low[parent].min(low[here]);
                }
            }
        }
        group
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(names: &[&str], pairs: &[(u32, u32)]) -> Vec<String> {
        let names: Vec<Arc<str>> = names.iter().map(|n| Arc::from(*n)).collect();
        let mut precedence = Precedence::of(names.len());
        for (before, after) in pairs {
            precedence.add(*before, *after);
        }
        precedence.sorted(&names).into_iter().map(|n| names[n as usize].to_string()).collect()
    }

    #[test]
    fn what_precedes_comes_first_and_names_decide_the_rest() {
        assert_eq!(order(&["b", "a", "c"], &[]), ["a", "b", "c"]);
        assert_eq!(order(&["b", "a", "c"], &[(0, 1), (0, 2)]), ["b", "a", "c"]);
        assert_eq!(order(&["z", "y", "x"], &[(0, 1), (1, 2)]), ["z", "y", "x"]);
    }

    #[test]
    fn those_that_precede_each_other_stand_together_by_name() {
        assert_eq!(order(&["e", "d", "c", "a"], &[(0, 1), (1, 2), (2, 1), (2, 3)]), ["e", "c", "d", "a"]);
    }

    #[test]
    fn a_long_chain_needs_no_deep_stack() {
        let names: Vec<Arc<str>> = (0..200_000).map(|i| Arc::from(format!("f{i}"))).collect();
        let mut precedence = Precedence::of(names.len());
        for at in 1..names.len() as u32 {
            precedence.add(at, at - 1);
        }
        assert_eq!(precedence.sorted(&names).first(), Some(&199_999));
    }
}

//! Nodes that wait for each other → one of their circles.

use std::collections::BTreeSet;

use super::node::Node;

/// Nodes that wait for each other in a circle: the first one again at the end.
pub(super) fn circle(nodes: &[Node]) -> Option<Vec<usize>> {
    // Take away nodes that wait for nothing left, again and again; what remains holds the circle.
    let mut left: BTreeSet<usize> = (0..nodes.len()).collect();
    loop {
        let free: Vec<usize> =
            left.iter().copied().filter(|node| nodes[*node].waits_for.is_disjoint(&left)).collect();
        if free.is_empty() {
            break;
        }
        for node in free {
            left.remove(&node);
        }
    }
    let mut path = vec![*left.first()?];
    loop {
        let last = *path.last()?;
        let next = *nodes[last].waits_for.intersection(&left).next()?;
        if let Some(start) = path.iter().position(|node| *node == next) {
            path.push(next);
            return Some(path.split_off(start));
        }
        path.push(next);
    }
}

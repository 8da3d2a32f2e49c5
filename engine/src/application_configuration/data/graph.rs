//! Checks the flows of all workloads and traits: names are unique and known, and values never flow in a circle.

use std::collections::{BTreeMap, BTreeSet};

use super::{Flow, Operation, Output};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::manifest::Document;
use crate::nearest;
use crate::observed::ObjectKey;

/// Circles told at most: each names its members, and one mistake often closes several.
const CYCLES_SHOWN: usize = 10;

/// A workload or trait that takes part.
pub(super) struct Member<'a> {
    /// How people call it: `web`, or `web/ManualScalerTrait` for a trait.
    pub(super) label: String,
    /// The values that it takes and gives.
    pub(super) flow: &'a Flow,
}

/// Checks names and cycles.
pub(super) fn check(document: &Document, members: &[Member<'_>]) -> Diagnostics {
    let mut found = Diagnostics::new();
    let outputs = outputs(document, members, &mut found);
    let mut edges = stores(members);
    for (taker, member) in members.iter().enumerate() {
        for input in member.flow.inputs.iter().filter(|input| !input.from.is_empty()) {
            let at = format!("{}.valueFrom.dataOutputName", input.at);
            let Some((giver, output)) = outputs.get(input.from.as_str()) else {
                let hint = nearest::advice(&input.from, "outputs", outputs.keys().copied());
                let message = format!("DataOutput does not exist: {:?}", input.from);
                found
                    .push(Diagnostic::error(Code::UnknownReference, message).at(document, at).hint_opt(hint));
                continue;
            };
            if output.field.is_none() && !input.to.is_empty() {
                let message =
                    format!("output {:?} has no fieldPath, so there is no value to write", input.from);
                let found_ = Diagnostic::error(Code::MissingField, message).at(document, at);
                found.push(
                    found_
                        .hint("give the output a fieldPath, or leave toFieldPaths away to only wait for it"),
                );
            }
            edges
                .entry(taker)
                .or_default()
                .entry(*giver)
                .or_insert_with(|| Edge { at: input.at.clone(), over: String::new() });
        }
    }
    cycles(document, members, edges, &mut found);
    found
}

fn outputs<'a>(
    document: &Document,
    members: &[Member<'a>],
    found: &mut Diagnostics,
) -> BTreeMap<&'a str, (usize, &'a Output)> {
    let mut outputs: BTreeMap<&str, (usize, &Output)> = BTreeMap::new();
    for (giver, member) in members.iter().enumerate() {
        for output in member.flow.outputs.iter().filter(|output| !output.name.is_empty()) {
            if let Some((_, first)) = outputs.get(output.name.as_str()) {
                let message = format!("two outputs are called {:?}; the first is {}", output.name, first.at);
                let at = format!("{}.name", output.at);
                found.push(Diagnostic::error(Code::DuplicateName, message).at(document, at));
                continue;
            }
            outputs.insert(&output.name, (giver, output));
        }
    }
    outputs
}

/// A member that waits for another: where it says so, and the store in between.
struct Edge {
    at: String,
    over: String,
}

/// The waits between members, by index.
type Edges = BTreeMap<usize, BTreeMap<usize, Edge>>;

/// The readers of values that another member writes into a store. A store may be shared as long as the values in it are
/// not.
fn stores(members: &[Member<'_>]) -> Edges {
    let mut written: BTreeMap<&ObjectKey, Vec<(usize, &Operation)>> = BTreeMap::new();
    for (giver, member) in members.iter().enumerate() {
        for store in member.flow.outputs.iter().filter_map(|output| output.store.as_ref()) {
            let carrying = store.operations.iter().filter(|operation| operation.from.is_some());
            written.entry(&store.key).or_default().extend(carrying.map(|operation| (giver, operation)));
        }
    }
    let mut edges = Edges::new();
    for (taker, member) in members.iter().enumerate() {
        for store in member.flow.inputs.iter().filter_map(|input| input.store.as_ref()) {
            let Some(written) = written.get(&store.key) else { continue };
            for operation in &store.operations {
                let Some(read) = &operation.from else { continue };
                for (giver, _) in written.iter().filter(|(_, written)| read.overlaps(&written.to)) {
                    edges.entry(taker).or_default().entry(*giver).or_insert_with(|| Edge {
                        at: operation.at.clone(),
                        over: format!("{} {}", store.key.kind, store.key.name),
                    });
                }
            }
        }
    }
    edges
}

fn cycles(document: &Document, members: &[Member<'_>], mut edges: Edges, found: &mut Diagnostics) {
    for _ in 0..CYCLES_SHOWN {
        let Some(cycle) = cycle(&mut edges) else { return };
        // The message follows the direction of the values.
        let mut names = Vec::new();
        for (index, taker) in cycle.iter().enumerate().rev() {
            let giver = cycle[(index + 1) % cycle.len()];
            names.push(members[giver].label.clone());
            let over = edges.get(taker).and_then(|all| all.get(&giver)).map_or("", |edge| &edge.over);
            if !over.is_empty() {
                names.push(over.to_owned());
            }
        }
        names.extend(names.first().cloned());
        let first = edges.get(&cycle[0]).and_then(|all| all.get(&cycle[1 % cycle.len()]));
        let at = first.map(|edge| edge.at.clone()).unwrap_or_default();
        let message = format!("data flows in a circle: {}", names.join(" → "));
        let hint = "no value in it can ever be there first; take one of these inputs away";
        found.push(Diagnostic::error(Code::Cycle, message).at(document, at).hint(hint));
        for taker in cycle {
            edges.remove(&taker);
        }
    }
}

/// Members each of which waits for the next, and the last for the first. Members that wait for no other are dropped.
fn cycle(edges: &mut Edges) -> Option<Vec<usize>> {
    let mut waited_by: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut waits: BTreeMap<usize, usize> = BTreeMap::new();
    for (taker, givers) in edges.iter() {
        for giver in givers.keys() {
            waited_by.entry(*giver).or_default().push(*taker);
        }
        waits.insert(*taker, givers.len());
    }
    let mut free: Vec<usize> = waited_by.keys().filter(|giver| !waits.contains_key(giver)).copied().collect();
    while let Some(giver) = free.pop() {
        for taker in waited_by.remove(&giver).unwrap_or_default() {
            if let Some(left) = waits.get_mut(&taker) {
                *left -= 1;
                if *left == 0 {
                    waits.remove(&taker);
                    free.push(taker);
                }
            }
        }
    }
    // Every remaining member waits for another remaining one: following that must come round.
    let (mut way, mut seen) = (Vec::new(), BTreeSet::new());
    let mut at = *waits.keys().next()?;
    while seen.insert(at) {
        way.push(at);
        at = *edges.get(&at)?.keys().find(|giver| waits.contains_key(giver))?;
    }
    let start = way.iter().position(|member| *member == at)?;
    let mut cycle = way.split_off(start);
    // It begins with the member that is written first, so that the same circle is always told in the same way.
    let smallest = cycle.iter().enumerate().min_by_key(|(_, member)| **member).map_or(0, |(index, _)| index);
    cycle.rotate_left(smallest);
    Some(cycle)
}

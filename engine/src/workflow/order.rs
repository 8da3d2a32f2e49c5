//! The waits of steps: finds unknown names and circles before any step runs.
//!
//! A step of a group begins after its group, and a group is finished after its steps, so a step may wait for itself through
//! the group of another.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::SpecFinding;
use super::spec::{Mode, StepSpec, WorkflowSpec};
use crate::nearest;

/// Names that are used twice, dependencies on what is not there, and steps that wait for each other.
pub(super) fn check(spec: &WorkflowSpec, found: &mut Vec<SpecFinding>) {
    let mut names: BTreeSet<&str> = BTreeSet::new();
    for (_, step) in spec.all() {
        if !names.insert(&step.name) {
            let message =
                format!("step name {:?} is used twice; steps in groups share the names of all", step.name);
            found.push(SpecFinding::new(format!("{}.name", step.path), message));
        }
    }
    for (_, step) in spec.all() {
        for (index, name) in step.depends_on.iter().enumerate() {
            if spec.dependency(name).is_none() {
                let advice = nearest::advice(name, "steps", names.iter().copied()).unwrap_or_default();
                let message = format!("step {:?} depends on {name:?}, which is no step; {advice}", step.name);
                found.push(SpecFinding::new(format!("{}.dependsOn[{index}]", step.path), message));
            }
        }
    }
    if found.is_empty()
        && let Some(circle) = circle(spec)
    {
        let first = circle.first().and_then(|name| spec.step(name));
        let path = first.map_or_else(String::new, |step| format!("{}.dependsOn", step.path));
        found.push(SpecFinding::new(
            path,
            format!("steps wait for each other in a circle: {}", circle.join(" → ")),
        ));
    }
}

/// Everything that a step depends on, directly or through others.
pub(super) fn dependencies<'a>(spec: &'a WorkflowSpec, step: &'a StepSpec) -> Vec<&'a StepSpec> {
    let mut seen: BTreeSet<&str> = BTreeSet::from([step.name.as_str()]);
    let mut all: Vec<&StepSpec> = Vec::new();
    let mut next = vec![step];
    while let Some(step) = next.pop() {
        for other in step.depends_on.iter().filter_map(|name| spec.dependency(name)) {
            if seen.insert(&other.name) {
                all.push(other);
                next.push(other);
            }
        }
    }
    all
}

/// The beginning or the end of a step, by the number of the step.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Moment {
    Start(usize),
    End(usize),
}

/// Names of steps that wait for each other, the first one again at the end.
fn circle(spec: &WorkflowSpec) -> Option<Vec<&str>> {
    let names: Vec<&str> = spec.all().map(|(_, step)| step.name.as_str()).collect();
    let waits = waits(spec, &names);
    // Take away what waits for nothing left, again and again; what remains holds the circle.
    let mut awaited_by: BTreeMap<Moment, Vec<Moment>> = BTreeMap::new();
    for (moment, others) in &waits {
        others.iter().for_each(|other| awaited_by.entry(*other).or_default().push(*moment));
    }
    let mut left: BTreeMap<Moment, usize> =
        waits.iter().map(|(moment, others)| (*moment, others.len())).collect();
    let mut free: Vec<Moment> =
        left.iter().filter(|(_, count)| **count == 0).map(|(moment, _)| *moment).collect();
    while let Some(moment) = free.pop() {
        left.remove(&moment);
        for other in awaited_by.get(&moment).into_iter().flatten() {
            if let Some(count) = left.get_mut(other) {
                *count -= 1;
                if *count == 0 {
                    free.push(*other);
                }
            }
        }
    }
    let mut path = vec![*left.keys().next()?];
    loop {
        let last = *path.last()?;
        let next = *waits.get(&last)?.iter().find(|other| left.contains_key(other))?;
        if let Some(start) = path.iter().position(|moment| *moment == next) {
            path.push(next);
            return Some(steps_of(&path[start..], &names));
        }
        path.push(next);
    }
}

/// The names on a way through moments, each once where it stands several times in a row.
fn steps_of<'a>(path: &[Moment], names: &[&'a str]) -> Vec<&'a str> {
    let mut steps: Vec<&str> = path
        .iter()
        .map(|moment| match moment {
            Moment::Start(step) | Moment::End(step) => names[*step],
        })
        .collect();
    steps.dedup();
    steps
}

/// The waits of each moment.
fn waits(spec: &WorkflowSpec, names: &[&str]) -> BTreeMap<Moment, BTreeSet<Moment>> {
    let number: BTreeMap<&str, usize> =
        names.iter().enumerate().map(|(index, name)| (*name, index)).collect();
    let mut waits: BTreeMap<Moment, BTreeSet<Moment>> = BTreeMap::new();
    for (group, step) in spec.all() {
        let own = number[step.name.as_str()];
        let end = waits.entry(Moment::End(own)).or_default();
        end.insert(Moment::Start(own));
        end.extend(step.sub_steps.iter().map(|sub| Moment::End(number[sub.name.as_str()])));
        let start = waits.entry(Moment::Start(own)).or_default();
        let others = step.depends_on.iter().filter_map(|name| spec.dependency(name));
        start.extend(others.map(|other| Moment::End(number[other.name.as_str()])));
        start.extend(group.map(|group| Moment::Start(number[group.name.as_str()])));
    }
    let mut in_order = |steps: &[StepSpec]| {
        for pair in steps.windows(2) {
            let before = Moment::End(number[pair[0].name.as_str()]);
            waits.entry(Moment::Start(number[pair[1].name.as_str()])).or_default().insert(before);
        }
    };
    if spec.mode == Mode::StepByStep {
        in_order(&spec.steps);
    }
    for group in spec.steps.iter().filter(|step| spec.mode_of(step) == Mode::StepByStep) {
        in_order(&group.sub_steps);
    }
    waits
}

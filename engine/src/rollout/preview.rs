//! Previews a plan: what each batch will do, and how many pods there are at least and at most on the way.

use std::fmt;

use vela_crds::RolloutPlan;

use super::plan::DECREASE_FIRST;
use super::size::{Mismatch, Sizes};

/// In which way pods change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// From one Deployment to another.
    Replace,
    /// In one object, as far as its partition lets them.
    InPlace,
    /// In number only.
    Scale,
}

/// A preview of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// The batches in order.
    pub batches: Vec<Batch>,
    /// So many pods are available at any time, if none fails by itself and the source's were all available.
    ///
    /// Where pods change in place, the workload's own `maxUnavailable` may promise more.
    pub least_available: i64,
    /// There are never more pods than this, those that are going away not counted. Where pods change in place, the
    /// workload's own `maxSurge` comes on top.
    pub most_pods: i64,
}

/// One batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// How many pods change.
    pub pods: i64,
    /// The sizes it goes through; the last one is where it ends.
    pub steps: Vec<Step>,
    /// So many of the new pods need not be ready.
    pub max_unavailable: i64,
    /// Names of the hooks that must say yes.
    pub hooks: Vec<String>,
    /// Does the rollout wait behind it until `batchPartition` is raised?
    pub held: bool,
}

/// Sizes at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Old pods; none in a scale.
    pub source: i64,
    /// New pods, or all of them in a scale.
    pub target: i64,
}

/// Goes through a plan before anything runs: from `source` pods to `target` pods in the end.
///
/// For [`Strategy::Replace`] `target` is how many there are in the end, not fewer than `source`; [`Strategy::InPlace`] keeps its
/// size.
///
/// # Errors
/// The batches do not lead from one size to the other.
pub fn preview(
    plan: &RolloutPlan,
    strategy: Strategy,
    source: i64,
    target: i64,
) -> Result<Preview, Mismatch> {
    let sizes = match strategy {
        Strategy::Replace => Sizes::rollout(plan, target),
        Strategy::InPlace => Sizes::rollout(plan, source),
        Strategy::Scale => Sizes::scale(plan, source, target),
    };
    match strategy {
        Strategy::Scale => sizes.check_scale()?,
        Strategy::Replace | Strategy::InPlace => sizes.check_rollout()?,
    }
    let mut course = Course::begin(strategy, source, target);
    let count = i64::try_from(sizes.count()).unwrap_or(i64::MAX);
    let batches = (0..count)
        .map(|index| {
            let goal = sizes.goal(index);
            let written =
                usize::try_from(index).ok().and_then(|index| plan.rollout_batches.as_ref()?.get(index));
            let held = plan.batch_partition.is_some_and(|partition| i64::from(partition) <= index);
            Batch {
                pods: (goal - sizes.goal(index - 1)).abs(),
                steps: course.batch(plan, goal, sizes.max_unavailable(index)),
                max_unavailable: sizes.max_unavailable(index),
                hooks: written
                    .map(|batch| batch.batch_rollout_webhooks.iter().map(|hook| hook.name.clone()).collect())
                    .unwrap_or_default(),
                held: held && !sizes.is_last(index),
            }
        })
        .collect();
    Ok(Preview { batches, least_available: course.least, most_pods: course.most })
}

/// Sizes on the way, and what is promised of them.
struct Course {
    strategy: Strategy,
    total: i64,
    now: Step,
    /// New pods that are ready for certain.
    ready: i64,
    least: i64,
    most: i64,
}

impl Course {
    fn begin(strategy: Strategy, source: i64, target: i64) -> Self {
        let total = if strategy == Strategy::InPlace { source } else { target };
        let now = match strategy {
            // The growth of the target comes at once.
            Strategy::Replace => Step { source, target: (target - source).max(0) },
            Strategy::InPlace => Step { source, target: 0 },
            Strategy::Scale => Step { source: 0, target: source },
        };
        let all = now.source + now.target;
        Self { strategy, total, now, ready: 0, least: source, most: all }
    }

    fn to(&mut self, step: Step, steps: &mut Vec<Step>) {
        if step != self.now {
            self.now = step;
            steps.push(step);
        }
        self.most = self.most.max(step.source + step.target);
        let available = if self.strategy == Strategy::Scale { step.target } else { step.source + self.ready };
        self.least = self.least.min(available);
    }

    fn batch(&mut self, plan: &RolloutPlan, goal: i64, unavailable: i64) -> Vec<Step> {
        let mut steps = Vec::new();
        let (now, rest) = (self.now, (self.total - goal).max(0));
        let ready = self.ready.max(goal - unavailable);
        let smaller = rest.min(now.source);
        match self.strategy {
            Strategy::Scale => self.to(Step { source: 0, target: goal }, &mut steps),
            Strategy::InPlace => self.to(Step { source: rest, target: goal }, &mut steps),
            Strategy::Replace if plan.rollout_strategy.as_deref() == Some(DECREASE_FIRST) => {
                self.to(Step { source: smaller, ..now }, &mut steps);
                self.to(Step { source: smaller, target: goal.max(now.target) }, &mut steps);
            }
            Strategy::Replace => {
                self.to(Step { target: goal.max(now.target), ..now }, &mut steps);
                self.ready = ready;
                self.to(Step { source: smaller, ..self.now }, &mut steps);
            }
        }
        self.ready = ready;
        steps
    }
}

impl fmt::Display for Preview {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.batches.len();
        for (index, batch) in self.batches.iter().enumerate() {
            write!(f, "batch {} of {count}: {} pods", index + 1, batch.pods)?;
            for step in &batch.steps {
                write!(f, " → {} old + {} new", step.source, step.target)?;
            }
            if batch.max_unavailable > 0 {
                write!(f, ", {} need not be ready", batch.max_unavailable)?;
            }
            if !batch.hooks.is_empty() {
                write!(f, ", hooks: {}", batch.hooks.join(", "))?;
            }
            if batch.held {
                write!(f, ", then waits for batchPartition")?;
            }
            writeln!(f)?;
        }
        writeln!(
            f,
            "at least {} pods are available, and there are at most {}",
            self.least_available, self.most_pods
        )
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    fn shown(plan: Json, strategy: Strategy, source: i64, target: i64) -> String {
        let plan: RolloutPlan = serde_json::from_value(plan).unwrap();
        preview(&plan, strategy, source, target).unwrap().to_string()
    }

    #[test]
    fn new_pods_come_before_old_ones_go() {
        let plan = json!({"rolloutBatches": [{"replicas": 1}, {"replicas": 2, "maxUnavailable": 1}, {"replicas": 2}], "batchPartition": 1});
        assert_eq!(
            shown(plan, Strategy::Replace, 5, 5),
            "batch 1 of 3: 1 pods → 5 old + 1 new → 4 old + 1 new\n\
             batch 2 of 3: 2 pods → 4 old + 3 new → 2 old + 3 new, 1 need not be ready, then waits for batchPartition\n\
             batch 3 of 3: 2 pods → 2 old + 5 new → 0 old + 5 new\n\
             at least 4 pods are available, and there are at most 7\n"
        );
    }

    #[test]
    fn old_pods_go_before_new_ones_come() {
        let plan =
            json!({"rolloutStrategy": "DecreaseFirst", "rolloutBatches": [{"replicas": 2}, {"replicas": 3}]});
        assert_eq!(
            shown(plan, Strategy::Replace, 5, 5),
            "batch 1 of 2: 2 pods → 3 old + 0 new → 3 old + 2 new\n\
             batch 2 of 2: 3 pods → 0 old + 2 new → 0 old + 5 new\n\
             at least 2 pods are available, and there are at most 5\n"
        );
    }

    #[test]
    fn a_larger_target_begins_with_what_it_is_larger_by() {
        let plan = json!({"rolloutBatches": [{"replicas": 2}, {"replicas": 4}, {"replicas": 2}]});
        let plan: RolloutPlan = serde_json::from_value(plan).unwrap();
        let preview = preview(&plan, Strategy::Replace, 5, 8).unwrap();
        assert_eq!(preview.batches[0].steps, [], "three of the target run already");
        assert_eq!(preview.batches[1].steps[0], Step { source: 5, target: 6 });
        assert_eq!((preview.least_available, preview.most_pods), (5, 11));
    }

    #[test]
    fn scales_and_changes_in_place_have_sizes_too() {
        let plan = json!({"rolloutBatches": [{"replicas": 1, "maxUnavailable": 1}, {"replicas": 3}]});
        assert!(
            shown(plan.clone(), Strategy::Scale, 1, 5)
                .ends_with("at least 1 pods are available, and there are at most 5\n")
        );
        assert!(
            shown(plan.clone(), Strategy::Scale, 5, 1)
                .ends_with("at least 1 pods are available, and there are at most 5\n")
        );
        assert!(
            shown(plan.clone(), Strategy::InPlace, 4, 4)
                .ends_with("at least 0 pods are available, and there are at most 4\n")
        );
        let plan: RolloutPlan = serde_json::from_value(plan).unwrap();
        assert!(preview(&plan, Strategy::Replace, 9, 9).is_err());
    }
}

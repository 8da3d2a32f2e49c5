//! Computes how many pods have the new revision after each batch.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use vela_crds::{RolloutBatch, RolloutPlan};

/// Why batches do not make a rollout.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    /// There are none.
    #[error("the rollout plan has no batches; write rolloutBatches")]
    NoBatches,
    /// A number that does not parse.
    #[error("rolloutBatches[{batch}].{field} is {found}: expected a number of pods from 0, or a percentage")]
    Unreadable {
        /// Index of the batch.
        batch: usize,
        /// `replicas` or `maxUnavailable`.
        field: &'static str,
        /// The written sizes.
        found: String,
    },
    /// The batches replace too many or too few pods.
    #[error(
        "batch size mismatch: {} make {sum} of {total} pods ({listed}); {advice}",
        batches(*counted)
    )]
    Rollout {
        /// How many batches were added up.
        counted: usize,
        /// Their sizes.
        listed: String,
        /// The sum of the sizes.
        sum: i64,
        /// The expected sum.
        total: i64,
        /// The remedy.
        advice: String,
    },
    /// The batches end somewhere else than at the wanted size.
    #[error(
        "batch size mismatch: {} lead from {original} to {sum} pods ({listed}), and targetSize is {target}; {advice}",
        batches(*counted)
    )]
    Scale {
        /// How many batches were added up.
        counted: usize,
        /// Their sizes.
        listed: String,
        /// Pods before.
        original: i64,
        /// Where they lead.
        sum: i64,
        /// Where they should lead.
        target: i64,
        /// The remedy.
        advice: String,
    },
}

fn batches(counted: usize) -> String {
    match counted {
        0 => "no batch before the last one".to_owned(),
        1 => "rolloutBatches[0]".to_owned(),
        more => format!("rolloutBatches[0] to [{}]", more - 1),
    }
}

/// A number of pods: as it is, or a percentage of `base`, rounded up. An unreadable number is none.
pub fn pods(value: Option<&IntOrString>, base: i64) -> i64 {
    match value {
        None => 0,
        Some(IntOrString::Int(number)) => i64::from(*number),
        Some(IntOrString::String(text)) => {
            let percent = text.strip_suffix('%').and_then(|number| number.parse::<i32>().ok()).unwrap_or(0);
            // A product of two 32-bit numbers, so there is room for it.
            let hundredths = i64::from(percent) * base.clamp(i64::from(i32::MIN), i64::from(i32::MAX));
            hundredths.div_euclid(100) + i64::from(hundredths.rem_euclid(100) > 0)
        }
    }
}

/// From which size to which one, and in which batches.
#[derive(Clone, Copy, Debug)]
pub struct Sizes<'a> {
    batches: &'a [RolloutBatch],
    original: i64,
    target: i64,
}

impl<'a> Sizes<'a> {
    /// The new revision goes from no pod to `total`.
    pub fn rollout(plan: &'a RolloutPlan, total: i64) -> Self {
        Self::scale(plan, 0, total)
    }

    /// A workload goes from `original` pods to `target`.
    pub fn scale(plan: &'a RolloutPlan, original: i64, target: i64) -> Self {
        Self { batches: plan.rollout_batches.as_deref().unwrap_or_default(), original, target }
    }

    /// Pods that there should be after a batch; before the first one the original size, after the last one the target.
    ///
    /// The last batch's own number is never used, and no batch leads beyond the target: batches may be edited while
    /// they roll, and then no check covers their sum.
    pub fn goal(&self, batch: i64) -> i64 {
        if batch < 0 {
            return self.original;
        }
        if self.is_last(batch) {
            return self.target;
        }
        let done = usize::try_from(batch).map_or(self.batches.len(), |batch| batch.saturating_add(1));
        let moved = self.sum(done).clamp(0, self.distance());
        if self.target > self.original { self.original + moved } else { self.original - moved }
    }

    /// Is there no batch behind this one?
    pub fn is_last(&self, batch: i64) -> bool {
        usize::try_from(batch).map_or(true, |batch| batch.saturating_add(1) >= self.batches.len())
    }

    /// Pods of a batch, or of the whole where there is no such batch, that need not be ready.
    pub fn max_unavailable(&self, batch: i64) -> i64 {
        let batch = usize::try_from(batch).ok().and_then(|batch| self.batches.get(batch));
        pods(batch.and_then(|batch| batch.max_unavailable.as_ref()), self.distance()).max(0)
    }

    /// How many pods change.
    pub fn distance(&self) -> i64 {
        (self.target - self.original).abs()
    }

    /// How many batches there are.
    pub fn count(&self) -> usize {
        self.batches.len()
    }

    /// Do the batches replace exactly all pods?
    ///
    /// # Errors
    /// There are no batches, or how many pods they replace instead and what to write.
    pub fn check_rollout(&self) -> Result<(), Mismatch> {
        self.check_numbers()?;
        let Some((last, before)) = self.batches.split_last() else { return Err(Mismatch::NoBatches) };
        let (total, sum) = (self.distance(), self.sum(before.len()));
        let mismatch = |counted: usize, sum: i64, advice: String| {
            Err(Mismatch::Rollout { counted, listed: self.listed(counted), sum, total, advice })
        };
        if sum >= total {
            return mismatch(
                before.len(),
                sum,
                "nothing is left for the last batch: make them smaller".to_owned(),
            );
        }
        if let Some(IntOrString::String(_)) = last.replicas {
            return Ok(());
        }
        let all = sum + pods(last.replicas.as_ref(), total);
        if all != total {
            let advice = format!("write replicas: {} in the last batch", total - sum);
            return mismatch(self.batches.len(), all, advice);
        }
        Ok(())
    }

    /// Do the batches lead exactly to the target?
    ///
    /// # Errors
    /// There are no batches, or where they lead instead and what to write.
    pub fn check_scale(&self) -> Result<(), Mismatch> {
        self.check_numbers()?;
        let Some((last, before)) = self.batches.split_last() else { return Err(Mismatch::NoBatches) };
        let Self { original, target, .. } = *self;
        let towards = |pods: i64| if target > original { original + pods } else { original - pods };
        let mismatch = |counted: usize, sum: i64, advice: String| {
            Err(Mismatch::Scale { counted, listed: self.listed(counted), original, sum, target, advice })
        };
        let moved = self.sum(before.len());
        let reached = towards(moved);
        if target == original && moved != 0 {
            return mismatch(before.len(), reached, "nothing is to be scaled: make them 0".to_owned());
        }
        if target != original && moved >= self.distance() {
            let what = if target > original { "increased too much" } else { "reduced too much" };
            let advice = format!("{what}, nothing is left for the last batch: make them smaller");
            return mismatch(before.len(), reached, advice);
        }
        if let Some(IntOrString::String(_)) = last.replicas {
            return Ok(());
        }
        let all = moved + pods(last.replicas.as_ref(), self.distance());
        if all != self.distance() {
            let advice = format!("write replicas: {} in the last batch", self.distance() - moved);
            return mismatch(self.batches.len(), towards(all), advice);
        }
        Ok(())
    }

    fn sum(&self, count: usize) -> i64 {
        let base = self.distance();
        self.batches.iter().take(count).map(|batch| pods(batch.replicas.as_ref(), base)).sum()
    }

    fn listed(&self, count: usize) -> String {
        /// More numbers than this help no user.
        const SHOWN: usize = 10;
        let base = self.distance();
        let shown = self.batches.iter().take(count.min(SHOWN));
        let mut texts: Vec<String> =
            shown.map(|batch| pods(batch.replicas.as_ref(), base).to_string()).collect();
        if count > SHOWN {
            texts.push("…".to_owned());
        }
        texts.join(" + ")
    }

    fn check_numbers(&self) -> Result<(), Mismatch> {
        for (batch, written) in self.batches.iter().enumerate() {
            for (field, value) in
                [("replicas", &written.replicas), ("maxUnavailable", &written.max_unavailable)]
            {
                let found = match value {
                    Some(IntOrString::Int(number)) if *number < 0 => number.to_string(),
                    Some(IntOrString::String(text)) if !is_percentage(text) => format!("{text:?}"),
                    _ => continue,
                };
                return Err(Mismatch::Unreadable { batch, field, found });
            }
        }
        Ok(())
    }
}

fn is_percentage(text: &str) -> bool {
    text.strip_suffix('%').and_then(|number| number.parse::<i32>().ok()).is_some_and(|number| number >= 0)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use vela_testkit::program::Random;

    use super::*;

    fn plan(batches: &Value) -> RolloutPlan {
        let batches: Vec<Value> =
            batches.as_array().unwrap().iter().map(|pods| json!({"replicas": pods})).collect();
        serde_json::from_value(json!({ "rolloutBatches": batches })).unwrap()
    }

    fn goals(batches: Value, original: i64, target: i64) -> Vec<i64> {
        let plan = plan(&batches);
        let sizes = Sizes::scale(&plan, original, target);
        (0..sizes.count()).map(|batch| sizes.goal(i64::try_from(batch).unwrap())).collect()
    }

    #[test]
    fn goals_are_those_of_the_worked_examples() {
        assert_eq!(goals(json!([1, "40%", "50%"]), 0, 5), [1, 3, 5]);
        assert_eq!(goals(json!(["15%", "15%", "70%"]), 0, 10), [2, 4, 10]);
        assert_eq!(goals(json!(["33%", "33%", "34%"]), 0, 10), [4, 8, 10]);
        assert_eq!(goals(json!([1, 2, 2]), 0, 5), [1, 3, 5]);
        assert_eq!(goals(json!([1, 2]), 8, 5), [7, 5], "a smaller scale");
        assert_eq!(goals(json!([5, null]), 5, 5), [5, 5], "no batch goes beyond the target");
        assert_eq!(Sizes::rollout(&plan(&json!([1, 2])), 3).goal(-1), 0);
        assert_eq!(Sizes::rollout(&plan(&json!([1, 2])), 3).goal(7), 3, "a batch that was edited away");
    }

    #[test]
    fn percentages_round_up() {
        let percent = |text: &str, base| pods(Some(&IntOrString::String(text.to_owned())), base);
        assert_eq!([percent("50%", 5), percent("1%", 5), percent("0%", 5), percent("100%", 5)], [3, 1, 0, 5]);
        assert_eq!([percent("half", 5), percent("3", 5), percent("99999999999%", 5)], [0, 0, 0]);
        assert!(percent("2147483647%", i64::MAX) > 0, "nothing overflows");
    }

    #[test]
    fn a_rollout_replaces_exactly_all_pods() {
        let check = |batches: Value, total| Sizes::rollout(&plan(&batches), total).check_rollout();
        for good in [json!([1, 2, 2]), json!([1, "40%", "50%"]), json!(["20%", 2, 2]), json!([0, 0, 5])] {
            check(good, 5).unwrap();
        }
        assert_eq!(check(json!([]), 5), Err(Mismatch::NoBatches));
        let message = |batches, total| check(batches, total).unwrap_err().to_string();
        assert_eq!(
            message(json!([1, 2, null]), 5),
            "batch size mismatch: rolloutBatches[0] to [2] make 3 of 5 pods (1 + 2 + 0); write replicas: 2 in the last batch"
        );
        assert_eq!(
            message(json!(["10%", 2, 2]), 1),
            "batch size mismatch: rolloutBatches[0] to [1] make 3 of 1 pods (1 + 2); nothing is left for the last batch: \
             make them smaller"
        );
        assert!(message(json!([-1, 6]), 5).contains("rolloutBatches[0].replicas is -1"));
        assert!(message(json!(["x", 5]), 5).contains("rolloutBatches[0].replicas is \"x\""));
        assert!(check(json!([0, 0]), 0).is_err(), "nothing to replace");
    }

    #[test]
    fn a_scale_leads_exactly_to_the_target() {
        let check = |batches: Value, original, target| {
            Sizes::scale(&plan(&batches), original, target).check_scale().map_err(|error| error.to_string())
        };
        check(json!([1, 3]), 1, 5).unwrap();
        check(json!([2, 1]), 5, 2).unwrap();
        check(json!([0, 0]), 5, 5).unwrap();
        check(json!([0, "70%"]), 5, 5).unwrap();
        let message = |batches, original, target| check(batches, original, target).unwrap_err();
        assert!(message(json!([2, 3]), 1, 5).contains("lead from 1 to 6 pods (2 + 3), and targetSize is 5"));
        assert!(message(json!([4, 3]), 1, 5).contains("increased too much"));
        assert!(message(json!([3, 3]), 5, 2).contains("reduced too much"));
        assert!(message(json!([1, 0]), 5, 5).contains("nothing is to be scaled"));
    }

    #[test]
    fn goals_of_any_plan_go_one_way_and_end_at_the_target() {
        let mut random = Random::new(11);
        for _ in 0..5000 {
            let batches: Vec<Value> = (0..random.between(1, 8))
                .map(|_| match random.chance(40) {
                    true => json!(format!("{}%", random.between(0, 130))),
                    false => json!(random.between(0, 12)),
                })
                .collect();
            let plan = plan(&json!(batches));
            let (original, target) = (random.between(0, 40), random.between(0, 40));
            let sizes = Sizes::scale(&plan, original, target);
            let goals: Vec<i64> =
                (-1..i64::try_from(batches.len()).unwrap()).map(|batch| sizes.goal(batch)).collect();
            assert_eq!((goals[0], goals[goals.len() - 1]), (original, target), "{batches:?}");
            let (up, down) = (goals.is_sorted(), goals.iter().rev().is_sorted());
            assert!(if target >= original { up } else { down }, "{batches:?}: {goals:?}");
            if sizes.check_scale().is_ok()
                && matches!(
                    plan.rollout_batches.as_ref().unwrap().last().unwrap().replicas,
                    Some(IntOrString::Int(_))
                )
            {
                let all = sizes.sum(batches.len());
                assert_eq!(all, (target - original).abs(), "an accepted plan moves every pod once");
            }
        }
    }
}

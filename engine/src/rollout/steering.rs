//! What a user orders a rollout to do: the rollout as it is in, the fields to write or the refusal out. Writes nothing.

use serde_json::{Value as Json, json};
use vela_crds::AppRollout;

use super::rest;

/// Steps from an object to one of its fields.
pub type Path = &'static [&'static str];
/// A field with its new value, or nothing where its writer gives it up.
pub type Field = (Path, Option<Json>);

/// Holds a rollout where it is.
const PAUSED: Path = &["spec", "rolloutPlan", "paused"];
/// The last batch that a rollout goes to by itself.
const PARTITION: Path = &["spec", "rolloutPlan", "batchPartition"];

/// What a user orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// It stays where it is.
    Pause,
    /// What is paused goes on; what a metric holds is measured anew.
    Resume,
    /// It goes on behind the batch that it waits for.
    Promote {
        /// To the end, rather than by one batch.
        full: bool,
    },
    /// It goes back to where it came from.
    Undo,
}

/// The object that is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Steered {
    /// The rollout itself.
    Rollout,
    /// The Application of this name, whose plan the rollout follows.
    Application(String),
}

/// What carries out an order.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Fields of an object; each list is a write of its own, in this order.
    Fields {
        /// The object.
        of: Steered,
        /// The writes.
        writes: Vec<Vec<Field>>,
    },
    /// The Application gets the content of one of its revisions: see [`restored`].
    Restore {
        /// Its name.
        application: String,
        /// The name of the revision.
        revision: String,
    },
}

/// An order that can be carried out.
#[derive(Debug, Clone, PartialEq)]
pub struct Steering {
    /// How.
    pub change: Change,
    /// What the rollout does then, as a sentence.
    pub then: String,
}

/// Why an order is not carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Why.
    pub message: String,
    /// What to do; empty where nothing has to be done: the rollout is as the order wants it.
    pub hint: String,
}

/// Decides how an order is carried out.
///
/// # Errors
/// The rollout is not in a state for it.
pub fn steer(rollout: &AppRollout, order: Order) -> Result<Steering, Refusal> {
    let name = rollout.metadata.name.as_deref().unwrap_or_default();
    let fields = |fields: Vec<Field>| Change::Fields { of: steered(rollout), writes: vec![fields] };
    match order {
        Order::Pause => Ok(Steering {
            change: fields(vec![(PAUSED, Some(json!(true)))]),
            then: format!("Rollout {name} is paused: `vela rollout resume {name}` lets it go on."),
        }),
        // A metric holds its rollout until the object changes, and in the end the plan is what it was.
        Order::Resume if rest::held(rollout).is_some() && !rollout.spec.rollout_plan.paused => Ok(Steering {
            change: Change::Fields {
                of: Steered::Rollout,
                writes: vec![vec![(PAUSED, Some(json!(true)))], vec![(PAUSED, None)]],
            },
            then: format!("Rollout {name} measures its batch anew: {}", follow(name)),
        }),
        Order::Resume => Ok(Steering {
            change: fields(vec![(PAUSED, None)]),
            then: format!("Rollout {name} goes on: {}", follow(name)),
        }),
        Order::Promote { full } => promote(rollout, name, full),
        Order::Undo => undo(rollout, name),
    }
}

/// The Application by whose plan it rolls out; such a rollout follows the Application in everything.
pub fn application_of(rollout: &AppRollout) -> Option<&str> {
    let owners = rollout.metadata.owner_references.iter().flatten();
    let mut owners = owners.filter(|owner| owner.controller == Some(true) && owner.kind == "Application");
    owners.next().map(|owner| owner.name.as_str())
}

/// The new spec of an Application that goes back to one of its revisions: the content of the revision and the plan of
/// the Application, which nothing holds up. Nothing where the revision has no content.
pub fn restored(revision: &Json, application: &Json) -> Option<Json> {
    let mut spec = revision.pointer("/spec/application/spec").cloned()?;
    spec["rolloutPlan"] = application["spec"]["rolloutPlan"].clone();
    for held in ["paused", "batchPartition"] {
        if let Some(plan) = spec["rolloutPlan"].as_object_mut() {
            plan.remove(held);
        }
    }
    Some(spec)
}

/// The end of a sentence about what moves.
pub fn follow(name: &str) -> String {
    format!("`vela rollout status {name} --watch` follows it.")
}

fn steered(rollout: &AppRollout) -> Steered {
    match application_of(rollout) {
        Some(application) => Steered::Application(application.to_owned()),
        None => Steered::Rollout,
    }
}

/// Lets a rollout go on behind the batch it waits for, by one batch or to the end.
fn promote(rollout: &AppRollout, name: &str, full: bool) -> Result<Steering, Refusal> {
    let as_it_is = |message: String| Err(Refusal { message, hint: String::new() });
    if let Some(why) = rest::held(rollout) {
        return as_it_is(format!("Rollout {name} waits for a metric: {why}"));
    }
    let plan = &rollout.spec.rollout_plan;
    let Some(partition) = plan.batch_partition else {
        return as_it_is(format!("Rollout {name} does not wait for a user: it has no batchPartition."));
    };
    let last = plan.rollout_batches.as_ref().map_or(0, Vec::len).saturating_sub(1);
    let next = partition.saturating_add(1);
    let is_last = usize::try_from(next).is_ok_and(|next| next >= last);
    let partition = (!full && !is_last).then_some(next);
    let then = match plan.paused {
        true => format!("once `vela rollout resume {name}` lets it."),
        false => follow(name),
    };
    let then = match partition {
        None => format!("Rollout {name} goes on to the end: {then}"),
        Some(next) => {
            let (next, last) = (i64::from(next) + 1, last + 1);
            format!("Rollout {name} goes on to batch {next} of {last}: {then}")
        }
    };
    let fields = vec![(PARTITION, partition.map(Json::from))];
    Ok(Steering { change: Change::Fields { of: steered(rollout), writes: vec![fields] }, then })
}

/// Turns a rollout round: its target becomes the source. Nothing holds it up on the way back.
fn undo(rollout: &AppRollout, name: &str) -> Result<Steering, Refusal> {
    let (spec, target) = (&rollout.spec, rollout.spec.target());
    let Some(source) = spec.source() else {
        return Err(Refusal {
            message: format!("rollout {name} came from no revision: it only scales {target}"),
            hint: "to scale back, change rolloutPlan.targetSize and its batches".to_owned(),
        });
    };
    let [to, from]: [Path; 2] = match spec.target_application_name {
        Some(_) => [&["spec", "targetApplicationName"], &["spec", "sourceApplicationName"]],
        None => [&["spec", "targetAppRevisionName"], &["spec", "sourceAppRevisionName"]],
    };
    let change = match application_of(rollout) {
        Some(application) => {
            Change::Restore { application: application.to_owned(), revision: source.to_owned() }
        }
        None => {
            let back = vec![
                (to, Some(json!(source))),
                (from, Some(json!(target))),
                (PAUSED, None),
                (PARTITION, None),
            ];
            Change::Fields { of: Steered::Rollout, writes: vec![back] }
        }
    };
    let then = format!("Rollout {name} goes back from {target} to {source}: {}", follow(name));
    Ok(Steering { change, then })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rollout(more: Json) -> AppRollout {
        let mut rollout = json!({
            "apiVersion": "core.oam.dev/v1beta1", "kind": "AppRollout", "metadata": {"name": "canary", "namespace": "a"},
            "spec": {"targetAppRevisionName": "shop-v2", "sourceAppRevisionName": "shop-v1", "componentList": ["cart"],
                "rolloutPlan": {"rolloutBatches": [{"replicas": 1}, {"replicas": 1}, {"replicas": 1}]}},
        });
        json_patch::merge(&mut rollout, &more);
        serde_json::from_value(rollout).unwrap()
    }

    fn writes(rollout: &AppRollout, order: Order) -> (Steered, Vec<Vec<Field>>) {
        match steer(rollout, order).unwrap().change {
            Change::Fields { of, writes } => (of, writes),
            Change::Restore { application, revision } => panic!("{application} {revision}"),
        }
    }

    #[test]
    fn a_rollout_is_paused_and_goes_on() {
        let plain = rollout(json!({}));
        assert_eq!(writes(&plain, Order::Pause), (Steered::Rollout, vec![vec![(PAUSED, Some(json!(true)))]]));
        assert_eq!(writes(&plain, Order::Resume), (Steered::Rollout, vec![vec![(PAUSED, None)]]));
    }

    #[test]
    fn what_follows_an_application_is_written_there() {
        let owner = json!({"apiVersion": "core.oam.dev/v1beta1", "kind": "Application", "name": "shop", "uid": "u",
            "controller": true});
        let owned = rollout(json!({"metadata": {"ownerReferences": [owner]}}));
        assert_eq!(writes(&owned, Order::Pause).0, Steered::Application("shop".to_owned()));
        let back = steer(&owned, Order::Undo).unwrap().change;
        let expected = Change::Restore { application: "shop".to_owned(), revision: "shop-v1".to_owned() };
        assert_eq!(back, expected);
    }

    #[test]
    fn a_rollout_is_promoted_by_a_batch_or_to_the_end() {
        let at = |partition: i32| rollout(json!({"spec": {"rolloutPlan": {"batchPartition": partition}}}));
        let to = |rollout: &AppRollout, full| writes(rollout, Order::Promote { full }).1.remove(0).remove(0);
        assert_eq!(to(&at(0), false), (PARTITION, Some(json!(1))));
        assert_eq!(to(&at(0), true), (PARTITION, None));
        assert_eq!(to(&at(1), false), (PARTITION, None), "the last batch is the end");
        assert_eq!(to(&at(i32::MAX), false), (PARTITION, None));
        let refusal = steer(&rollout(json!({})), Order::Promote { full: false }).unwrap_err();
        assert!(refusal.message.contains("no batchPartition") && refusal.hint.is_empty(), "{refusal:?}");
    }

    #[test]
    fn an_undone_rollout_is_turned_round() {
        let (_, writes) = writes(&rollout(json!({})), Order::Undo);
        let target: Field = (&["spec", "targetAppRevisionName"], Some(json!("shop-v1")));
        let source: Field = (&["spec", "sourceAppRevisionName"], Some(json!("shop-v2")));
        assert_eq!(writes, [vec![target, source, (PAUSED, None), (PARTITION, None)]]);
        let scale = rollout(json!({"spec": {"sourceAppRevisionName": null}}));
        assert!(steer(&scale, Order::Undo).unwrap_err().message.contains("came from no revision"));
    }

    #[test]
    fn a_restored_application_keeps_its_plan_unheld() {
        let revision =
            json!({"spec": {"application": {"spec": {"components": [1], "rolloutPlan": {"old": true}}}}});
        let live = json!({"spec": {"components": [2], "rolloutPlan": {"paused": true, "batchPartition": 1, "targetSize": 3}}});
        let expected = json!({"components": [1], "rolloutPlan": {"targetSize": 3}});
        assert_eq!(restored(&revision, &live), Some(expected));
        assert_eq!(restored(&json!({}), &live), None);
    }
}

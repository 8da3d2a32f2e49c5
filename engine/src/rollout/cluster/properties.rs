//! Properties of every plan and every order of events: the sizes' bounds, and that a rollout ends or says what it waits for.

use super::*;
use crate::rollout::preview::{Preview, Strategy, preview};
use crate::rollout::revert::is_half_way;

/// So many plans are tried for each kind.
const CASES: u64 = 100;
/// So many events happen by chance before everybody gets a fair turn.
const EVENTS: usize = 400;

fn random_plan(random: &mut Random, total: i64, strategy: bool) -> RolloutPlan {
    let count = random.between(1, 5);
    let mut left = total;
    let mut batches = Vec::new();
    for index in 1..=count {
        let pods = if index == count { left } else { random.between(0, (left - 1).max(0)) };
        left -= pods;
        let mut batch = json!({"replicas": pods});
        if random.chance(40) {
            batch["maxUnavailable"] = match random.chance(50) {
                true => json!(random.between(0, 3)),
                false => json!(format!("{}%", random.between(0, 60))),
            };
        }
        batches.push(batch);
    }
    let decrease = strategy && random.chance(50);
    let strategy = if decrease { "DecreaseFirst" } else { "IncreaseFirst" };
    serde_json::from_value(json!({"rolloutStrategy": strategy, "rolloutBatches": batches})).unwrap()
}

fn deployments(random: &mut Random) -> (Cluster, Preview) {
    let kind = ("apps/v1", "Deployment");
    let source = random.between(1, 12);
    let total = source + if random.chance(30) { random.between(0, 5) } else { 0 };
    let mut plan = random_plan(random, total, true);
    plan.target_size = Some(i32::try_from(total).unwrap());
    let known = preview(&plan, Strategy::Replace, source, total).unwrap();
    let old = json!({"replicas": source, "template": "old"});
    let new = json!({"replicas": random.between(0, 9), "paused": true, "template": "new"});
    let sets = [(SOURCE, Set::new(kind, SOURCE, source, old)), (TARGET, Set::new(kind, TARGET, 0, new))];
    (Cluster::new(kind, plan, sets.into_iter().collect()), known)
}

fn in_place(random: &mut Random, kind: (&'static str, &'static str)) -> (Cluster, Preview) {
    let size = random.between(1, 12);
    let plan = random_plan(random, size, false);
    let known = preview(&plan, Strategy::InPlace, size, size).unwrap();
    let own = if kind.1 == "StatefulSet" { 1 } else { random.between(1, 12) };
    let strategy = match kind.1 {
        "CloneSet" => json!({"paused": true}),
        "StatefulSet" => json!({"type": "RollingUpdate", "rollingUpdate": {"partition": size}}),
        _ => json!({"type": "OnDelete"}),
    };
    let spec =
        json!({"replicas": size, "nodes": size, "own": own, "template": "new", "updateStrategy": strategy});
    let sets = [(TARGET, Set::new(kind, TARGET, size, spec))];
    (Cluster::new(kind, plan, sets.into_iter().collect()), known)
}

fn scale(random: &mut Random) -> (Cluster, Preview) {
    let kind = ("apps/v1", "Deployment");
    let (original, target) = (random.between(1, 12), random.between(0, 12));
    let mut plan = random_plan(random, (target - original).abs(), false);
    plan.target_size = Some(i32::try_from(target).unwrap());
    let known = preview(&plan, Strategy::Scale, original, target).unwrap();
    let spec = json!({"replicas": original, "template": "new"});
    let sets = [(TARGET, Set::new(kind, TARGET, original, spec))];
    (Cluster::new(kind, plan, sets.into_iter().collect()), known)
}

/// Runs a rollout and judges every moment of it.
fn run(seed: u64, make: impl Fn(&mut Random) -> (Cluster, Preview), pods_fail: bool) -> Cluster {
    let mut random = Random::new(seed);
    let (mut cluster, known) = make(&mut random);
    let report = |cluster: &Cluster| {
        format!(
            "seed {seed}: {:?}\n{known}\nstatus {:?}\nsets {:?}",
            cluster.plan, cluster.status, cluster.sets
        )
    };
    let judge = |cluster: &Cluster| {
        let (available, pods) = (cluster.available() + cluster.lost(), cluster.pods());
        assert!(available >= known.least_available, "{available} available, {}", report(cluster));
        assert!(pods <= known.most_pods, "{pods} pods, {}", report(cluster));
    };
    for _ in 0..EVENTS {
        cluster.happen(&mut random, pods_fail);
        judge(&cluster);
    }
    assert!(cluster.settle(&mut random, &judge), "it never ends, {}", report(&cluster));
    assert_eq!(cluster.status.rolling_state, "rolloutSucceed", "{}", report(&cluster));
    for set in cluster.sets.values() {
        assert_eq!(set.object["metadata"].get("ownerReferences").cloned().unwrap_or(json!([])), json!([]));
    }
    cluster
}

#[test]
fn deployments_keep_their_bounds_in_any_order_of_events() {
    for seed in 0..CASES {
        let cluster = run(seed, deployments, false);
        let (source, target) = (&cluster.sets[SOURCE], &cluster.sets[TARGET]);
        let total = usize::try_from(cluster.plan.target_size.unwrap()).unwrap();
        assert_eq!((source.wanted(), target.wanted()), (0, total), "seed {seed}");
    }
}

#[test]
fn pods_that_fail_by_themselves_cost_no_more_than_themselves() {
    for seed in 0..CASES {
        run(seed, deployments, true);
    }
}

#[test]
fn sets_keep_their_bounds_in_any_order_of_events() {
    for kind in
        [("apps.kruise.io/v1alpha1", "CloneSet"), ("apps/v1", "StatefulSet"), ("apps/v1", "DaemonSet")]
    {
        for seed in 0..CASES {
            let mut cluster = run(seed, |random| in_place(random, kind), false);
            // Those that need not be available in the last batch follow afterwards.
            let mut random = Random::new(seed);
            for _ in 0..EVENTS {
                cluster.sets.get_mut(TARGET).unwrap().control(&mut random);
                cluster.turn_ready(TARGET, &mut random);
            }
            let target = &cluster.sets[TARGET];
            assert!(target.pods.iter().all(|pod| pod.new), "{kind:?} seed {seed}: {target:?}");
        }
    }
}

#[test]
fn scales_keep_their_bounds_in_any_order_of_events() {
    for seed in 0..CASES {
        let cluster = run(seed, scale, false);
        let target = usize::try_from(cluster.plan.target_size.unwrap()).unwrap();
        assert_eq!(cluster.sets[TARGET].wanted(), target, "seed {seed}");
    }
}

#[test]
fn a_rollout_that_cannot_go_on_says_why_and_then_ends() {
    for seed in 0..CASES {
        let mut random = Random::new(seed);
        let (mut cluster, _) = deployments(&mut random);
        // No pod of the target ever gets ready.
        for _ in 0..200 {
            for name in NAMES {
                cluster.sets.get_mut(name).into_iter().for_each(|set| set.control(&mut random));
                cluster.sync(name);
                cluster.watch(name);
            }
            cluster.reconcile(None);
        }
        let state = State::of(&cluster.status);
        if state.is_terminal() {
            continue;
        }
        let condition = cluster.status.condition(state.condition()).unwrap();
        assert_eq!(condition.status, "False", "seed {seed}: {:?}", cluster.status);
        assert!(
            condition.message.as_ref().is_some_and(|why| why.contains("its readiness probe says no")),
            "{condition:?}"
        );
        let before = cluster.writes;
        cluster.reconcile(None);
        assert_eq!(cluster.writes, before, "an unchanged cluster is not written to");
        assert!(cluster.decide().seconds_left.is_some());
        cluster.now += jiff::SignedDuration::from_secs(601);
        cluster.reconcile(None);
        assert_eq!(cluster.status.rolling_state, "rolloutFailing");
        cluster.reconcile(None);
        assert_eq!(cluster.status.rolling_state, "rolloutFailed");
        assert!(cluster.decide().is_still());
    }
}

#[test]
fn partition_and_pause_hold_a_rollout_and_let_it_go_on() {
    let plan =
        json!({"rolloutBatches": [{"replicas": 1}, {"replicas": 2}, {"replicas": 2}], "batchPartition": 0});
    let kind = ("apps/v1", "Deployment");
    let sets = [
        (SOURCE, Set::new(kind, SOURCE, 5, json!({"replicas": 5, "template": "old"}))),
        (TARGET, Set::new(kind, TARGET, 0, json!({"replicas": 5, "paused": true, "template": "new"}))),
    ];
    let mut cluster = Cluster::new(kind, serde_json::from_value(plan).unwrap(), sets.into_iter().collect());
    let mut random = Random::new(1);
    assert!(!cluster.settle(&mut random, &|_| ()), "it waits behind batch 0");
    assert_eq!(cluster.status.batch_rolling_state.as_deref(), Some("batchReady"));
    assert!(cluster.decide().waits_for.unwrap().contains("batchPartition 0 (batches counted from 0)"));
    assert_eq!((cluster.sets[SOURCE].wanted(), cluster.sets[TARGET].wanted()), (4, 1));
    cluster.plan.paused = true;
    cluster.plan.batch_partition = None;
    cluster.reconcile(None);
    assert_eq!(cluster.status.condition_status("BatchPaused"), "True");
    let status = cluster.status.clone();
    assert!(!cluster.settle(&mut random, &|_| ()));
    assert_eq!(cluster.status, status, "nothing happens while it is paused");
    cluster.plan.paused = false;
    assert!(cluster.settle(&mut random, &|_| ()));
    assert_eq!(cluster.status.condition_status("BatchPaused"), "False");
    assert_eq!((cluster.status.rolling_state.as_str(), cluster.status.current_batch), ("rolloutSucceed", 2));
    assert_eq!((cluster.status.upgraded_replicas, cluster.status.upgraded_ready_replicas), (5, 5));
}

/// Runs a while, gives up, and answers whether all was let go: then `turn` says where it goes instead.
fn given_up(seed: u64, turn: impl Fn(&mut Cluster)) -> Option<(Cluster, Random, i64)> {
    let mut random = Random::new(seed);
    let (mut cluster, known) = deployments(&mut random);
    for _ in 0..random.below(EVENTS) {
        cluster.happen(&mut random, false);
    }
    let least = cluster.available().min(known.least_available);
    cluster.status = next(&cluster.status.clone(), &Input::Event(Event::Modified)).0;
    for _ in 0..200 {
        if cluster.status.rolling_state == "locatingTargetApp" {
            break;
        }
        cluster.happen(&mut random, false);
    }
    if cluster.status.rolling_state != "locatingTargetApp" {
        return None;
    }
    turn(&mut cluster);
    cluster.is_turned = true;
    for name in NAMES {
        cluster.sync(name);
        cluster.watch(name);
    }
    cluster.status = next(&cluster.status.clone(), &Input::Event(Event::AppLocated)).0;
    // Half of a single pod leaves nothing for the second batch.
    let first = if cluster.status.rollout_original_size.unwrap() < 2 { "0%" } else { "50%" };
    let plan = json!({"rolloutBatches": [{"replicas": first}, {"replicas": "100%"}]});
    cluster.plan = serde_json::from_value(plan).unwrap();
    Some((cluster, random, least))
}

/// The rollout ends where it was turned to, never with fewer pods than `least` on the way.
fn arrives(seed: u64, turned: Option<(Cluster, Random, i64)>) {
    let Some((mut cluster, mut random, least)) = turned else { return };
    let total = usize::try_from(cluster.status.rollout_original_size.unwrap()).unwrap();
    let judge = |cluster: &Cluster| {
        let available = cluster.available();
        assert!(
            available >= least,
            "seed {seed}: {available} were available, and {least} before: {:?}",
            cluster.status
        );
    };
    for _ in 0..EVENTS {
        cluster.happen(&mut random, false);
        judge(&cluster);
    }
    assert!(cluster.settle(&mut random, &judge), "seed {seed}: {:?}", cluster.status);
    assert_eq!(cluster.status.rolling_state, "rolloutSucceed", "seed {seed}: {:?}", cluster.status);
    for (name, set) in &cluster.sets {
        let wanted = if *name == TARGET { total } else { 0 };
        assert_eq!(set.wanted(), wanted, "seed {seed}: {name} of {:?}", cluster.sets);
    }
}

#[test]
fn a_rollout_may_be_given_up_and_turned_round_at_any_moment() {
    for seed in 0..CASES {
        let turned = given_up(seed, |cluster| {
            let (old, new) = (cluster.sets.remove(SOURCE).unwrap(), cluster.sets.remove(TARGET).unwrap());
            cluster.sets.extend([(SOURCE, new), (TARGET, old)]);
        });
        arrives(seed, turned);
    }
}

#[test]
fn a_rollout_may_turn_to_a_third_revision_at_any_moment() {
    for seed in 0..CASES {
        let turned = given_up(seed, |cluster| {
            let left = cluster.sets.remove(TARGET).unwrap();
            let third = Set::new(
                ("apps/v1", "Deployment"),
                "third",
                0,
                json!({"replicas": 1, "paused": true, "template": "third"}),
            );
            cluster.sets.extend([(LEFTOVER, left), (TARGET, third)]);
        });
        arrives(seed, turned);
    }
}

#[test]
fn a_rollout_goes_back_from_any_moment_and_costs_no_pods() {
    let mut gone_back = 0;
    for seed in 0..CASES {
        let mut random = Random::new(seed);
        let (mut cluster, known) = deployments(&mut random);
        for _ in 0..random.below(EVENTS) {
            cluster.happen(&mut random, false);
        }
        if !is_half_way(State::of(&cluster.status)) {
            continue;
        }
        // The obstacles of a rollout do not hold up its way back.
        cluster.plan.paused = random.chance(50);
        cluster.plan.batch_partition = random.chance(50).then_some(0);
        let least = cluster.available().min(known.least_available);
        let back = Input::Revert { why: "too many errors".to_owned(), since: cluster.now };
        cluster.status = next(&cluster.status.clone(), &back).0;
        for _ in 0..EVENTS {
            if cluster.status.rolling_state == "locatingTargetApp" {
                break;
            }
            cluster.happen(&mut random, false);
        }
        let (old, new) = (cluster.sets.remove(SOURCE).unwrap(), cluster.sets.remove(TARGET).unwrap());
        cluster.sets.extend([(SOURCE, new), (TARGET, old)]);
        cluster.is_turned = true;
        for name in NAMES {
            cluster.sync(name);
            cluster.watch(name);
        }
        cluster.status = next(&cluster.status.clone(), &Input::Event(Event::AppLocated)).0;
        let mut fewest = i64::MAX;
        for _ in 0..EVENTS {
            cluster.happen(&mut random, false);
            fewest = fewest.min(cluster.available());
        }
        assert!(cluster.settle(&mut random, &|_| ()), "seed {seed}: {:?}", cluster.status);
        assert!(fewest >= least, "seed {seed}: {fewest} were available, and {least} before");
        assert_eq!(cluster.status.rolling_state, "rolloutFailed", "seed {seed}");
        let sizes = (cluster.sets[SOURCE].wanted(), cluster.sets[TARGET].wanted());
        let size = usize::try_from(cluster.plan.target_size.unwrap()).unwrap();
        assert_eq!(sizes, (0, size), "seed {seed}: {:?}", cluster.status);
        let report = cluster.status.condition_status("RolloutReverted");
        assert_eq!(report, "True", "seed {seed}");
        gone_back += 1;
    }
    assert!(gone_back > CASES / 10, "only {gone_back} rollouts were half-way");
}

//! What callers of a graph may rely on: order, limits, failures with their types, cancelling, and running again.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use vela_runtime::graph::{
    BLOCKERS_AT_MOST, Cause, Error, Graph, NODES_AT_MOST, OnCancel, Outcome, Requeue, Run,
};

type Names = Graph<&'static str, ()>;
type Answer = Result<usize, Cause<String>>;

fn graph(nodes: &[(&'static str, &[&'static str])]) -> Names {
    let mut graph = Graph::new();
    for (name, blockers) in nodes {
        graph.add(*name, (), blockers.iter().copied()).unwrap();
    }
    graph
}

fn diamond() -> Names {
    graph(&[("top", &[]), ("left", &["top"]), ("right", &["top"]), ("bottom", &["left", "right"])])
}

/// Who began and ended, in order.
#[derive(Default)]
struct Log(Mutex<Vec<String>>);

impl Log {
    fn add(&self, line: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[tokio::test]
async fn no_nodes_are_done_at_once() {
    let report = Names::new().run(&Run::new(4), |_, ()| async { Answer::Ok(1) }).await;
    assert!(report.is_complete());
    assert_eq!(report.requeue(), Requeue::Never);
    assert_eq!(report.into_result().unwrap(), []);
}

#[tokio::test]
async fn one_node_gives_what_it_gives() {
    let report = graph(&[("a", &[])]).run(&Run::new(0), |name, ()| async { Answer::Ok(name.len()) }).await;
    assert_eq!(report.into_result().unwrap(), [("a", 1)]);
}

#[tokio::test(start_paused = true)]
async fn a_diamond_runs_from_top_to_bottom_and_its_sides_together() {
    let log = Log::default();
    let run = async |concurrency: usize| {
        let node = async |name: &&str, (): &()| {
            log.add(format!("+{name}"));
            sleep(Duration::from_millis(10)).await;
            log.add(format!("-{name}"));
            Answer::Ok(0)
        };
        assert!(diamond().run(&Run::new(concurrency), node).await.is_complete());
        log.take()
    };
    let began = Instant::now();
    let together = ["+top", "-top", "+left", "+right", "-left", "-right", "+bottom", "-bottom"];
    assert_eq!(run(4).await, together);
    assert_eq!(began.elapsed().as_millis(), 30);
    let in_turn = ["+top", "-top", "+left", "-left", "+right", "-right", "+bottom", "-bottom"];
    assert_eq!(run(1).await, in_turn);
}

#[tokio::test(start_paused = true)]
async fn the_limit_is_used_and_kept_and_the_order_is_always_the_same() {
    let mut wide: Graph<usize, Duration> = Graph::new();
    for node in 0..50 {
        // Names in another order than the one they are added in, and times that mix the ends.
        let name = node * 7 % 50;
        wide.add(name, Duration::from_millis(1 + (name * 13 % 11) as u64), []).unwrap();
    }
    let log = Log::default();
    for limit in [1, 3, 8, 100] {
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let mut runs = BTreeSet::new();
        for _ in 0..3 {
            let run = Run::new(limit);
            let report = wide.run(&run, async |name, time| {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                log.add(format!("+{name}"));
                sleep(*time).await;
                log.add(format!("-{name}"));
                now.fetch_sub(1, Ordering::SeqCst);
                Answer::Ok(0)
            });
            assert!(report.await.is_complete());
            runs.insert(log.take());
        }
        assert_eq!(most.load(Ordering::SeqCst), limit.min(50));
        assert_eq!(runs.len(), 1, "limit {limit}");
        if limit == 1 {
            let began = runs.first().unwrap().iter().filter_map(|line| line.strip_prefix('+'));
            let added: Vec<String> = wide.iter().map(|(name, _)| name.to_string()).collect();
            assert!(began.eq(added.iter().map(String::as_str)));
        }
    }
}

#[tokio::test]
async fn nodes_with_one_blocker_go_on_in_their_order() {
    let mut wide: Graph<usize, ()> = Graph::new();
    (0..20).for_each(|node| wide.add(node, (), []).unwrap());
    // The waiters of such a channel are woken by chance.
    for _ in 0..20 {
        let (sender, receiver) = tokio::sync::watch::channel(false);
        let log = Log::default();
        let run = Run::new(20);
        let report = wide.run(&run, async |node, ()| {
            let mut receiver = receiver.clone();
            receiver.changed().await.unwrap();
            log.add(node.to_string());
            tokio::task::yield_now().await;
            Answer::Ok(0)
        });
        let (report, ()) = tokio::join!(report, async {
            tokio::task::yield_now().await;
            sender.send(true).unwrap();
        });
        assert!(report.is_complete());
        assert_eq!(log.take(), (0..20).map(|node| node.to_string()).collect::<Vec<_>>());
    }
}

#[test]
fn what_cannot_be_run_is_refused_and_leaves_the_graph_as_it_was() {
    let mut graph = graph(&[("a", &[])]);
    assert_eq!(graph.add("a", (), []), Err(Error::Duplicate("a")));
    let unknown = |node, blocker| Err(Error::UnknownBlocker { node, blocker });
    assert_eq!(graph.add("b", (), ["a", "c"]), unknown("b", "c"));
    // The smallest circle.
    assert_eq!(graph.add("b", (), ["b"]), unknown("b", "b"));
    assert_eq!(graph.len(), 1);
    let message = graph.add("b", (), ["c"]).unwrap_err().to_string();
    assert_eq!(message, r#""b" waits for "c", which is not there: add what is waited for first"#);
    // Said twice is no mistake.
    assert_eq!(graph.add("b", (), ["a", "a"]), Ok(()));
}

#[test]
fn a_full_graph_takes_no_more() {
    let mut many: Graph<usize, ()> = Graph::new();
    for node in 0..NODES_AT_MOST {
        many.add(node, (), []).unwrap();
    }
    assert_eq!(many.add(NODES_AT_MOST, (), []), Err(Error::TooManyNodes { node: NODES_AT_MOST }));
    let mut dense: Graph<usize, ()> = Graph::new();
    let refused = (0..NODES_AT_MOST).find_map(|node| dense.add(node, (), 0..node).err());
    let Some(Error::TooManyBlockers { node }) = refused else { panic!("{refused:?}") };
    assert_eq!(dense.len(), node);
    assert!(node * (node - 1) / 2 <= BLOCKERS_AT_MOST && node * (node + 1) / 2 > BLOCKERS_AT_MOST, "{node}");
}

#[tokio::test]
async fn dependents_of_a_failed_node_rest_and_first_causes_are_kept() {
    let nodes = graph(&[
        ("a", &[]),
        ("b", &[]),
        ("c", &["a"]),
        ("d", &["c", "b"]),
        ("e", &[]),
        ("f", &["e"]),
        ("g", &["d"]),
    ]);
    let begun = Log::default();
    let report = nodes
        .run(&Run::new(1), async |name, ()| {
            begun.add((*name).to_owned());
            match *name {
                "a" => Err(Cause::Later { after: Some(Duration::from_secs(3)), error: "busy".to_owned() }),
                "b" => Err(Cause::Unrecoverable("no such field".to_owned())),
                name => Ok(name.len()),
            }
        })
        .await;
    assert_eq!(begun.take(), ["a", "b", "e", "f"]);
    assert!(!report.is_complete());
    assert_eq!(report.requeue(), Requeue::After(Duration::from_secs(3)));
    let outcomes = report.clone().into_outcomes();
    let of = |name| &outcomes.iter().find(|(known, _)| *known == name).unwrap().1;
    assert_eq!(*of("c"), Outcome::Blocked(vec!["a"]));
    assert_eq!(*of("d"), Outcome::Blocked(vec!["b", "c"]));
    assert_eq!(*of("g"), Outcome::Blocked(vec!["d"]));
    assert_eq!(*of("f"), Outcome::Done(1));
    let failed = report.into_result().unwrap_err();
    assert_eq!(failed.to_string(), "a: busy; b: no such field; 3 not run because of it");
    assert_eq!(failed.requeue, Requeue::After(Duration::from_secs(3)));
}

#[tokio::test]
async fn the_type_of_a_failure_says_when_to_come_again() {
    let nodes = graph(&[("a", &[]), ("b", &[])]);
    let after = |seconds| Cause::Later { after: Some(Duration::from_secs(seconds)), error: String::new() };
    let cases = [
        (Cause::NotReady(String::new()), Cause::Unrecoverable(String::new()), Requeue::WhenChanged),
        (Cause::NotReady(String::new()), after(5), Requeue::After(Duration::from_secs(5))),
        (after(5), after(2), Requeue::After(Duration::from_secs(2))),
        (after(5), Cause::later(String::new()), Requeue::BackOff),
        (Cause::Panicked(String::new()), after(1), Requeue::BackOff),
    ];
    for (a, b, requeue) in cases {
        let node = async |name: &&str, (): &()| Answer::Err(if *name == "a" { a.clone() } else { b.clone() });
        let report = nodes.run(&Run::new(2), node).await;
        assert_eq!(report.requeue(), requeue);
        let causes: Vec<_> = report.causes().map(|(_, cause)| cause.clone()).collect();
        assert_eq!(causes, [a.clone(), b.clone()]);
    }
}

#[tokio::test]
async fn a_graph_runs_again_from_the_beginning() {
    let nodes = diamond();
    let tries = AtomicUsize::new(0);
    let run = async || {
        let node = async |name: &&str, (): &()| match *name {
            "left" if tries.fetch_add(1, Ordering::SeqCst) == 0 => Err(Cause::later("once".to_owned())),
            _ => Ok(0),
        };
        nodes.run(&Run::new(4), node).await
    };
    assert_eq!(run().await.requeue(), Requeue::BackOff);
    assert!(run().await.is_complete());
    assert!(run().await.is_complete());
    assert_eq!(tries.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_panic_is_one_nodes_failure() {
    let report = diamond()
        .run(&Run::new(2), |name, ()| {
            // One before there is a future at all, one in the middle of it.
            assert!(*name != "left", "left went wrong");
            async move {
                tokio::task::yield_now().await;
                assert!(*name != "right", "{name} too");
                Answer::Ok(0)
            }
        })
        .await;
    let causes: Vec<String> = report.causes().map(|(name, cause)| format!("{name} {cause}")).collect();
    assert_eq!(causes, ["left panicked: left went wrong", "right panicked: right too"]);
    assert_eq!(report.requeue(), Requeue::BackOff);
    assert_eq!(report.into_outcomes()[3].1, Outcome::Blocked(vec!["left", "right"]));
}

/// A node that counts how many live, and ends never or after a while.
struct Alive<'a>(&'a AtomicUsize);

impl Drop for Alive<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_run_begins_nothing_and_waits_or_drops() {
    let nodes = graph(&[("a", &[]), ("b", &[]), ("c", &[]), ("d", &["a"])]);
    for (on_cancel, ended) in [(OnCancel::Await, Outcome::Done(1)), (OnCancel::Drop, Outcome::Dropped)] {
        let (cancel, alive) = (CancellationToken::new(), AtomicUsize::new(0));
        let run = Run::new(2).until(cancel.clone()).on_cancel(on_cancel);
        let report = nodes.run(&run, async |name, ()| {
            alive.fetch_add(1, Ordering::SeqCst);
            let _alive = Alive(&alive);
            sleep(Duration::from_secs(10)).await;
            Answer::Ok(name.len())
        });
        let began = Instant::now();
        let (report, ()) = tokio::join!(report, async {
            sleep(Duration::from_secs(1)).await;
            cancel.cancel();
        });
        assert_eq!(began.elapsed().as_secs(), if on_cancel == OnCancel::Drop { 1 } else { 10 });
        assert_eq!(alive.load(Ordering::SeqCst), 0, "nothing goes on behind a run");
        assert_eq!(report.requeue(), Requeue::WhenChanged);
        let outcomes: Vec<_> = report.into_outcomes().into_iter().map(|(_, outcome)| outcome).collect();
        assert_eq!(outcomes, [ended.clone(), ended, Outcome::NotBegun, Outcome::NotBegun]);
    }
}

#[tokio::test]
async fn a_run_that_was_cancelled_before_it_began_begins_nothing() {
    let cancel = CancellationToken::new();
    cancel.cancel();
    for on_cancel in [OnCancel::Await, OnCancel::Drop] {
        let run = Run::new(4).until(cancel.clone()).on_cancel(on_cancel);
        let report = diamond().run(&run, async |_, ()| -> Answer { panic!("must not begin") }).await;
        assert!(report.iter().all(|(_, outcome)| *outcome == Outcome::NotBegun));
        assert_eq!(report.into_result().unwrap_err().to_string(), "cancelled, 4 not run");
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_may_end_its_own_run() {
    let cancel = CancellationToken::new();
    let nodes = graph(&[("a", &[]), ("b", &[]), ("c", &[])]);
    let run = Run::new(2).until(cancel.clone());
    let report = nodes.run(&run, async |name, ()| {
        if *name == "a" {
            cancel.cancel();
            return Err(Cause::later("the record cannot be written".to_owned()));
        }
        sleep(Duration::from_secs(1)).await;
        Ok(0)
    });
    let outcomes = report.await.into_outcomes();
    assert_eq!(outcomes[1].1, Outcome::Done(0));
    assert_eq!(outcomes[2].1, Outcome::NotBegun);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_run_drops_its_nodes() {
    let alive = AtomicUsize::new(0);
    let nodes = diamond();
    let run = Run::new(4);
    let hung = nodes.run(&run, async |_, ()| {
        alive.fetch_add(1, Ordering::SeqCst);
        let _alive = Alive(&alive);
        std::future::pending::<Answer>().await
    });
    assert!(timeout(Duration::from_secs(1), hung).await.is_err());
    assert_eq!(alive.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_long_chain_and_a_wide_fan_end() {
    let mut chain: Graph<usize, ()> = Graph::new();
    for node in 0..20_000_usize {
        chain.add(node, (), node.checked_sub(1)).unwrap();
    }
    let run = Run::new(8);
    let report = chain.run(&run, async |node, ()| if *node == 1 { Err(Cause::later("no")) } else { Ok(()) });
    let failed = report.await.into_result().unwrap_err();
    assert_eq!((failed.causes.len(), failed.not_run), (1, 19_998));
    let mut fan: Graph<usize, ()> = Graph::new();
    fan.add(0, (), []).unwrap();
    (1..20_000).for_each(|node| fan.add(node, (), [0]).unwrap());
    let report = fan.run(&run, async |_, ()| Ok::<(), Cause<String>>(()));
    assert!(report.await.is_complete());
}

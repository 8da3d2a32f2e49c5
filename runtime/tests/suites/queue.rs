//! One worker a key, deduplication, back-off and delays.

use std::time::Duration;

use vela_runtime::queue::{BACKOFF_LAST, Item, Priority, Queue, Verdict, backoff};

async fn now<K: Clone + Eq + std::hash::Hash>(queue: &Queue<K>) -> Option<Item<K>> {
    tokio::time::timeout(Duration::from_millis(20), queue.next()).await.ok().flatten()
}

#[tokio::test]
async fn a_waiting_key_is_there_once() {
    let queue = Queue::new();
    queue.add("a");
    queue.add("a");
    queue.add("b");
    assert_eq!(now(&queue).await.unwrap().key, "a");
    assert_eq!(now(&queue).await.unwrap().key, "b");
    assert_eq!(now(&queue).await, None);
}

#[tokio::test]
async fn a_running_key_is_not_given_out_again_until_it_is_done() {
    let queue = Queue::new();
    queue.add("a");
    let item = now(&queue).await.unwrap();
    queue.add("a");
    assert_eq!(now(&queue).await, None, "the key is with a worker");
    queue.done(&item.key, Verdict::Forget);
    assert_eq!(now(&queue).await.unwrap().key, "a", "what happened meanwhile is not lost");
    queue.done(&"a", Verdict::Forget);
    assert!(queue.idle());
}

#[tokio::test]
async fn changes_go_before_the_objects_of_the_first_list() {
    let queue = Queue::new();
    queue.add_with("listed", Priority::Low);
    queue.add_with("moved", Priority::Low);
    queue.add("changed");
    queue.add("moved");
    let order =
        [now(&queue).await.unwrap().key, now(&queue).await.unwrap().key, now(&queue).await.unwrap().key];
    assert_eq!(order, ["changed", "moved", "listed"]);
    assert_eq!(now(&queue).await, None);
}

#[tokio::test]
async fn a_failing_key_backs_off_and_delays_no_other() {
    let queue = Queue::new();
    queue.add("bad");
    let began = tokio::time::Instant::now();
    for failures in 0..4 {
        let item = queue.next().await.unwrap();
        assert_eq!(item.failures, failures);
        queue.done(&item.key, Verdict::Backoff);
    }
    let item = queue.next().await.unwrap();
    assert!(began.elapsed() >= Duration::from_millis(5 + 10 + 20 + 40), "{:?}", began.elapsed());
    queue.done(&item.key, Verdict::Forget);
    queue.add("bad");
    assert_eq!(now(&queue).await.unwrap().failures, 0, "success forgets the failures");
}

#[test]
fn the_back_off_doubles_from_five_milliseconds_to_its_limit() {
    let delays: Vec<u128> = (0..6).map(|failures| backoff(failures).as_millis()).collect();
    assert_eq!(delays, [5, 10, 20, 40, 80, 160]);
    assert_eq!(backoff(60), BACKOFF_LAST);
    assert_eq!(backoff(u32::MAX), BACKOFF_LAST);
}

#[tokio::test]
async fn a_delay_is_kept_and_the_earliest_counts() {
    let queue = Queue::new();
    queue.add_after("a", Duration::from_secs(60));
    queue.add_after("a", Duration::from_millis(30));
    queue.add_after("a", Duration::from_secs(60));
    let began = tokio::time::Instant::now();
    assert_eq!(queue.next().await.unwrap().key, "a");
    assert!(began.elapsed() >= Duration::from_millis(30) && began.elapsed() < Duration::from_secs(10));
    queue.done(&"a", Verdict::Forget);
    assert!(queue.idle(), "the other delays are gone");
}

#[tokio::test]
async fn a_closed_queue_releases_every_worker() {
    let queue = std::sync::Arc::new(Queue::<&str>::new());
    let workers: Vec<_> = (0..3)
        .map(|_| {
            let queue = queue.clone();
            tokio::spawn(async move { queue.next().await })
        })
        .collect();
    tokio::task::yield_now().await;
    queue.close();
    for worker in workers {
        let ended = tokio::time::timeout(Duration::from_secs(10), worker).await;
        assert_eq!(ended.unwrap().unwrap(), None);
    }
}

#[tokio::test(start_paused = true)]
async fn what_failed_comes_at_once_when_its_cause_is_gone() {
    let queue = Queue::new();
    for key in ["failed", "asked"] {
        queue.add(key);
    }
    // Eleven failures in a row: the next try is ten seconds away.
    for _ in 0..11 {
        let item = queue.next().await.unwrap();
        let verdict =
            if item.key == "failed" { Verdict::Backoff } else { Verdict::After(Duration::from_secs(60)) };
        queue.done(&item.key, verdict);
    }
    assert_eq!(now(&queue).await, None);
    queue.retry_on_reconnect();
    let item = now(&queue).await.unwrap();
    assert_eq!((item.key, item.failures), ("failed", 10));
    assert_eq!(now(&queue).await, None, "what asked for a moment gets that moment");
    queue.done(&item.key, Verdict::Backoff);
    assert_eq!(now(&queue).await, None, "a try in between does not forget the failures");
}

#[tokio::test(start_paused = true)]
async fn figures_tell_what_waits_and_what_runs() {
    let queue = Queue::new();
    for key in ["a", "b", "a", "c"] {
        queue.add(key);
    }
    assert_eq!((queue.figures().depth, queue.figures().adds, queue.figures().retries), (3, 3, 0));
    let first = now(&queue).await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    let second = now(&queue).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    queue.add(first.key);
    queue.add(first.key);
    let figures = queue.figures();
    assert_eq!(
        (figures.depth, figures.adds),
        (1, 4),
        "a running key is counted once when it is wanted again"
    );
    assert_eq!((figures.unfinished, figures.longest), (Duration::from_secs(4), Duration::from_secs(3)));
    queue.done(&first.key, Verdict::Backoff);
    queue.done(&second.key, Verdict::After(Duration::from_secs(1)));
    let figures = queue.figures();
    assert_eq!((figures.depth, figures.adds, figures.retries), (2, 4, 2));
    assert_eq!(figures.longest, Duration::ZERO);
}

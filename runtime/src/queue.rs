//! The work queue: gives each key to one worker at a time, deduplicated, delayed and backed off per item.

use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, BinaryHeap, HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// First delay after a failure; the same as the reference manager's, so operators see familiar timing.
pub const BACKOFF_FIRST: Duration = Duration::from_millis(5);
/// Longest delay between two attempts of one item.
pub const BACKOFF_LAST: Duration = Duration::from_secs(1000);

/// The priority of a key when more keys wait than workers are free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// A change that a client made just now.
    Normal,
    /// A key from an initial list: after a restart thousands of these must not delay a user's change.
    Low,
}

/// A key handed to a worker; it must come back through [`Queue::done`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item<K> {
    /// The key to reconcile.
    pub key: K,
    /// How long it waited since it became due.
    pub waited: Duration,
    /// How often it failed in a row before.
    pub failures: u32,
}

/// The next action for a key when its worker is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No further run until the next [`Queue::add`]; the failure count is forgotten.
    Forget,
    /// Try again after the item's next back-off delay.
    Backoff,
    /// Come again after this time; the failure count is forgotten.
    After(Duration),
}

/// A work queue: a key is never handed to two workers at once, and adding a waiting key changes nothing.
#[derive(Debug)]
pub struct Queue<K> {
    state: Mutex<State<K>>,
    wake: Notify,
    closing: Notify,
}

#[derive(Debug)]
struct State<K> {
    normal: VecDeque<K>,
    low: VecDeque<K>,
    waiting: HashMap<K, (Priority, Instant)>,
    running: HashMap<K, Instant>,
    again: HashMap<K, Priority>,
    delayed: BinaryHeap<Reverse<(Instant, u64)>>,
    delayed_keys: HashMap<u64, K>,
    delay_of: HashMap<K, (Instant, u64)>,
    failures: HashMap<K, u32>,
    sequence: u64,
    adds: u64,
    retries: u64,
    closed: bool,
}

/// The metrics of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Keys that are due and wait for a worker.
    pub depth: usize,
    /// Keys that became due so far; one that waited already is not counted again.
    pub adds: u64,
    /// Keys that were put off so far: for another try, or until a moment they asked for.
    pub retries: u64,
    /// How long the keys that are being worked on have been at it, together.
    pub unfinished: Duration,
    /// The longest of them.
    pub longest: Duration,
}

impl<K: Clone + Eq + Hash> Default for Queue<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Clone + Eq + Hash> Queue<K> {
    /// An empty queue.
    pub fn new() -> Self {
        Self {
            state: Mutex::new(State {
                normal: VecDeque::new(),
                low: VecDeque::new(),
                waiting: HashMap::new(),
                running: HashMap::new(),
                again: HashMap::new(),
                delayed: BinaryHeap::new(),
                delayed_keys: HashMap::new(),
                delay_of: HashMap::new(),
                failures: HashMap::new(),
                sequence: 0,
                adds: 0,
                retries: 0,
                closed: false,
            }),
            wake: Notify::new(),
            closing: Notify::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Make the key due now.
    pub fn add(&self, key: K) {
        self.add_with(key, Priority::Normal);
    }

    /// Make the key due now, at the given priority; a waiting key only ever moves forward.
    pub fn add_with(&self, key: K, priority: Priority) {
        self.lock().enqueue(key, priority);
        self.wake.notify_one();
    }

    /// Make the key due after a delay; the earliest of several delays counts.
    pub fn add_after(&self, key: K, delay: Duration) {
        self.lock().delay(key, delay);
        self.wake.notify_one();
    }

    /// Let every key that failed try again now: what made it fail has ended. Its failures still count.
    pub fn retry_on_reconnect(&self) {
        let mut state = self.lock();
        let failed: Vec<(Instant, u64)> =
            state.failures.keys().filter_map(|key| state.delay_of.get(key).copied()).collect();
        // In the order in which they would have come.
        let ordered: BTreeSet<_> = failed.into_iter().collect();
        for (_, id) in ordered {
            if let Some(key) = state.delayed_keys.remove(&id) {
                state.delay_of.remove(&key);
                state.enqueue(key, Priority::Normal);
            }
        }
        drop(state);
        self.wake.notify_one();
    }

    /// Wait until nothing is handed out any more.
    pub async fn closed(&self) {
        loop {
            let notified = self.closing.notified();
            tokio::pin!(notified);
            notified.as_mut().enable();
            if self.lock().closed {
                return;
            }
            notified.await;
        }
    }

    /// The next due key, or nothing once the queue is closed.
    pub async fn next(&self) -> Option<Item<K>> {
        loop {
            let notified = self.wake.notified();
            tokio::pin!(notified);
            notified.as_mut().enable();
            let due = {
                let mut state = self.lock();
                if state.closed {
                    // Every waiting worker must learn it, and a notification wakes only one.
                    self.wake.notify_one();
                    return None;
                }
                state.promote(Instant::now());
                if let Some(item) = state.take() {
                    if !state.normal.is_empty() || !state.low.is_empty() {
                        self.wake.notify_one();
                    }
                    return Some(item);
                }
                state.delayed.peek().map(|Reverse((at, _))| *at)
            };
            match due {
                Some(at) => {
                    tokio::select! { biased; () = notified => {}, () = tokio::time::sleep_until(at) => {} }
                }
                None => notified.await,
            }
        }
    }

    /// Return a key with the verdict on it. A change that arrived meanwhile makes it due at once.
    pub fn done(&self, key: &K, verdict: Verdict) {
        let mut state = self.lock();
        state.running.remove(key);
        match verdict {
            Verdict::Forget => {
                state.failures.remove(key);
            }
            Verdict::After(delay) => {
                state.failures.remove(key);
                state.delay(key.clone(), delay);
            }
            Verdict::Backoff => {
                let failures = state.failures.entry(key.clone()).or_insert(0);
                let delay = backoff(*failures);
                *failures = failures.saturating_add(1);
                state.delay(key.clone(), delay);
            }
        }
        if let Some(priority) = state.again.remove(key) {
            // It was counted when it was added.
            state.adds = state.adds.saturating_sub(1);
            state.enqueue(key.clone(), priority);
        }
        drop(state);
        self.wake.notify_one();
    }

    /// Hand out nothing more; workers that wait are released.
    pub fn close(&self) {
        self.lock().closed = true;
        self.closing.notify_waiters();
        self.wake.notify_waiters();
        self.wake.notify_one();
    }

    /// How many keys are due and wait for a worker.
    pub fn depth(&self) -> usize {
        self.lock().waiting.len()
    }

    /// Its past and present work.
    pub fn figures(&self) -> Figures {
        let state = self.lock();
        let now = Instant::now();
        let at_work = || state.running.values().map(|since| now.saturating_duration_since(*since));
        Figures {
            depth: state.waiting.len(),
            adds: state.adds,
            retries: state.retries,
            unfinished: at_work().sum(),
            longest: at_work().max().unwrap_or_default(),
        }
    }

    /// True when nothing is due, running or delayed: the controller is at rest.
    pub fn idle(&self) -> bool {
        let state = self.lock();
        state.waiting.is_empty() && state.running.is_empty() && state.delay_of.is_empty()
    }
}

impl<K: Clone + Eq + Hash> State<K> {
    fn enqueue(&mut self, key: K, priority: Priority) {
        if self.closed {
            return;
        }
        if self.running.contains_key(&key) {
            match self.again.entry(key) {
                Entry::Vacant(again) => {
                    again.insert(priority);
                    self.adds += 1;
                }
                Entry::Occupied(mut again) if priority == Priority::Normal => {
                    again.insert(priority);
                }
                Entry::Occupied(_) => {}
            }
            return;
        }
        match self.waiting.get_mut(&key) {
            Some((waiting, _)) => {
                if *waiting == Priority::Low && priority == Priority::Normal {
                    *waiting = Priority::Normal;
                    self.normal.push_back(key);
                }
            }
            None => {
                self.adds += 1;
                self.waiting.insert(key.clone(), (priority, Instant::now()));
                match priority {
                    Priority::Normal => self.normal.push_back(key),
                    Priority::Low => self.low.push_back(key),
                }
            }
        }
    }

    fn delay(&mut self, key: K, delay: Duration) {
        if self.closed {
            return;
        }
        self.retries += 1;
        let at = Instant::now() + delay;
        if self.delay_of.get(&key).is_some_and(|(earlier, _)| *earlier <= at) {
            return;
        }
        self.sequence += 1;
        let id = self.sequence;
        if let Some((_, old)) = self.delay_of.insert(key.clone(), (at, id)) {
            self.delayed_keys.remove(&old);
        }
        self.delayed_keys.insert(id, key);
        self.delayed.push(Reverse((at, id)));
    }

    fn promote(&mut self, now: Instant) {
        while let Some(Reverse((at, id))) = self.delayed.peek().copied() {
            let stale = !self.delayed_keys.contains_key(&id);
            if !stale && at > now {
                return;
            }
            self.delayed.pop();
            if let Some(key) = self.delayed_keys.remove(&id) {
                self.delay_of.remove(&key);
                self.enqueue(key, Priority::Normal);
            }
        }
    }

    fn take(&mut self) -> Option<Item<K>> {
        loop {
            let (key, from) = match self.normal.pop_front() {
                Some(key) => (key, Priority::Normal),
                None => (self.low.pop_front()?, Priority::Low),
            };
            // A key promoted from low to normal leaves its old entry behind; that entry is skipped here.
            match self.waiting.get(&key) {
                Some((priority, since)) if *priority == from => {
                    let waited = since.elapsed();
                    self.waiting.remove(&key);
                    // The reconcile that starts now decides anew when to come again.
                    if let Some((_, id)) = self.delay_of.remove(&key) {
                        self.delayed_keys.remove(&id);
                    }
                    self.running.insert(key.clone(), Instant::now());
                    let failures = self.failures.get(&key).copied().unwrap_or(0);
                    return Some(Item { key, waited, failures });
                }
                _ => {}
            }
        }
    }
}

/// The delay after that many failures in a row: 5 ms, doubling, never above 1000 s.
pub fn backoff(failures: u32) -> Duration {
    let factor = 2u32.checked_pow(failures).unwrap_or(u32::MAX);
    BACKOFF_FIRST.checked_mul(factor).unwrap_or(BACKOFF_LAST).min(BACKOFF_LAST)
}

//! The latest value of something that several wait for; each waiter is woken, first come first served.
//!
//! `tokio::sync::watch` wakes its receivers in an order that it draws by chance: several reconciles that wait for one list
//! would go on in another order in each run, and a simulation could not be repeated.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

#[derive(Debug, Default)]
struct Inner<T> {
    value: Mutex<T>,
    wake: Notify,
}

/// A value that is replaced; cheap to clone.
#[derive(Debug, Default)]
pub(crate) struct Latest<T>(Arc<Inner<T>>);

impl<T> Clone for Latest<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: Copy + PartialEq> Latest<T> {
    fn value(&self) -> MutexGuard<'_, T> {
        self.0.value.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self) -> T {
        *self.value()
    }

    /// What it was before.
    pub(crate) fn replace(&self, value: T) -> T {
        let before = std::mem::replace(&mut *self.value(), value);
        self.0.wake.notify_waiters();
        before
    }

    /// Waits until this holds of it; may be dropped at any time.
    pub(crate) async fn wait_for(&self, holds: impl Fn(T) -> bool) -> T {
        loop {
            // The place in the queue is taken before the look, so that no value falls between them.
            let mut woken = std::pin::pin!(self.0.wake.notified());
            woken.as_mut().enable();
            let value = self.get();
            if holds(value) {
                return value;
            }
            woken.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn waiters_are_woken_in_the_order_they_came() {
        // By chance, twenty waiters would be in order once in a number of nineteen digits.
        const WAITERS: usize = 20;
        let (latest, order) = (Latest::<u64>::default(), Arc::new(Mutex::new(Vec::new())));
        let waiting: Vec<_> = (0..WAITERS)
            .map(|number| {
                let (latest, order) = (latest.clone(), order.clone());
                tokio::spawn(async move {
                    let value = latest.wait_for(|value| value > 1).await;
                    order.lock().unwrap().push((number, value));
                })
            })
            .collect();
        tokio::task::yield_now().await;
        assert_eq!(latest.replace(1), 0);
        tokio::task::yield_now().await;
        assert!(order.lock().unwrap().is_empty(), "it does not hold yet");
        assert_eq!(latest.replace(2), 1);
        for one in waiting {
            one.await.unwrap();
        }
        let expected: Vec<_> = (0..WAITERS).map(|number| (number, 2)).collect();
        assert_eq!((order.lock().unwrap().clone(), latest.get()), (expected, 2));
    }
}

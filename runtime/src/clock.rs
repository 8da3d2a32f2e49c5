//! The present moment as objects carry it; a simulation sets it for its own thread.

use std::cell::RefCell;
use std::marker::PhantomData;

use jiff::Timestamp;

type Now = Box<dyn Fn() -> Timestamp>;

thread_local! {
    static SET: RefCell<Option<Now>> = const { RefCell::new(None) };
}

/// The present moment: this machine's, unless a simulation on this thread says otherwise.
pub fn now() -> Timestamp {
    SET.with_borrow(|set| set.as_ref().map_or_else(Timestamp::now, |now| now()))
}

/// From here until the guard goes, [`now`] is what `now` says, on this thread: times are written into objects, and
/// whether two writes of the same thing are equal must not depend on the second in which a simulation runs.
#[must_use = "the clock is the machine's again when this goes"]
pub fn set(now: impl Fn() -> Timestamp + 'static) -> Set {
    SET.set(Some(Box::new(now)));
    Set { of_this_thread: PhantomData }
}

/// See [`set`].
#[derive(Debug)]
pub struct Set {
    of_this_thread: PhantomData<*const ()>,
}

impl Drop for Set {
    fn drop(&mut self) {
        SET.set(None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_clock_holds_for_its_thread_and_until_its_guard_goes() {
        let guard = set(|| Timestamp::UNIX_EPOCH);
        assert_eq!(now(), Timestamp::UNIX_EPOCH);
        let elsewhere = std::thread::spawn(now).join();
        assert!(elsewhere.is_ok_and(|elsewhere| elsewhere > Timestamp::UNIX_EPOCH));
        drop(guard);
        assert!(now() > Timestamp::UNIX_EPOCH);
    }
}

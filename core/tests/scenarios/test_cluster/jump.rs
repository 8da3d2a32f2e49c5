//! The clock of a test that runs alone on its thread: it jumps to the next moment that anybody waits for.

use std::cell::Cell;

use tokio::runtime::{Handle, RuntimeFlavor};
use vela_apiserver::Clock;
use vela_embedded::virtual_time::VirtualClock;

/// While it lives, time in this test jumps to the next moment that anybody waits for, for tokio, the server and what the
/// controllers write. Only a runtime of one thread has such a clock, and only where nothing outside of it is waited for.
pub(super) struct Jumping {
    _clock: VirtualClock,
}

thread_local! {
    static JUMPS: Cell<bool> = const { Cell::new(false) };
}

impl Jumping {
    /// With the time of the server; the machine's where several threads work.
    pub(super) fn begin() -> (Option<Self>, Clock) {
        let alone = Handle::current().runtime_flavor() == RuntimeFlavor::CurrentThread;
        if !alone || JUMPS.replace(true) {
            return (None, Clock::system());
        }
        tokio::time::pause();
        let clock = VirtualClock::begin(jiff::Timestamp::now());
        let of_server = clock.of_server();
        (Some(Self { _clock: clock }), of_server)
    }
}

impl Drop for Jumping {
    fn drop(&mut self) {
        tokio::time::resume();
        JUMPS.set(false);
    }
}

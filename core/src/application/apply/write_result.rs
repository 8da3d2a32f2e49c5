//! The result of the write of one desired object.

use std::time::Duration;

use vela_runtime::apply as runtime_apply;

/// The result for one object.
pub(super) enum Written {
    /// It is as it is wanted.
    Done(runtime_apply::Applied),
    /// It is as others want it: the application names it, and it is not the application's.
    Seen(runtime_apply::Applied),
    /// It is not there, and a policy leaves it so.
    Absent,
    /// It is to be made again: now is not the time, but then. Where no time is said, its end wakes the application.
    Later(Option<Duration>),
    /// A policy has it made again, because these fields differ.
    Differs(Vec<String>),
    /// It cannot be as it is wanted, for this reason; another try may end otherwise.
    NotYet(String),
    /// It cannot be as it is wanted, for this reason; the same need not be tried again.
    Refused(String),
}

//! The number by which the network knows a process of the controllers, and the name by which it signs the lease.

/// One process of the controllers; a restarted one is another.
pub(crate) type Process = u32;

/// How a process signs the lease.
pub(crate) fn identity(process: Process) -> String {
    format!("process-{process}")
}

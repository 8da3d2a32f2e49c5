//! Limits that evaluations of templates keep to, drawn from an allowance of the process.

use std::sync::Arc;
use std::time::Duration;

use vela_engine::render::{Budget, Guard, Limits};
use vela_runtime::{Allowance, Computations};

/// Lends an evaluation what the process has.
struct AllowanceGuard(Arc<Allowance>);

impl Guard for AllowanceGuard {
    fn go_on(&self) -> Result<(), String> {
        self.0.go_on()
    }

    fn lend(&self, bytes: usize) -> Result<(), String> {
        self.0.lend(bytes)
    }

    fn give_back(&self, bytes: usize) {
        self.0.give_back(bytes);
    }

    fn clock(&self) -> Duration {
        self.0.clock()
    }

    fn interrupted(&self) -> bool {
        self.0.interrupted()
    }
}

/// Limits of the evaluations that this allowance is for.
pub fn limits(computations: &Computations, allowance: &Arc<Allowance>) -> Limits {
    let shared = computations.limits();
    let budget = Budget { memory: shared.memory, time: Some(shared.time), ..Limits::default().budget };
    Limits { budget, guard: Some(Arc::new(AllowanceGuard(allowance.clone()))) }
}

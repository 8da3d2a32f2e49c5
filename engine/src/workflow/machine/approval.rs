//! Steps that the machine suspends itself, without a call of a template.

use super::Machine;
use super::task::Task;

impl Machine<'_> {
    /// Did a user resume the step that was suspended at this field?
    pub fn is_resumed(&self, task: &Task, field: &str) -> bool {
        self.values.record_of(&task.id).is_resumed(field)
    }
}

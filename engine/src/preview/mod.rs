//! An Application as a preview shows it: with the Policies and Workflow that stand beside it, and one step at a time.
//!
//! A workflow with `deploy` steps makes the same components several times, each time in another form and at another place.
//! [`merge`] takes in what the application only names; [`steps`] cuts the whole into one Application for each step that makes
//! objects; [`Made`] says which objects are compared with those that are there. These functions render nothing, and no caller deploys their results.

mod compared;
mod external;
mod steps;
mod written;

pub use compared::{CONTROLLER, Made, Reference, as_controller_writes, written_fields};
pub use external::{EXTERNAL_VERSION, Merged, is_external, merge};
pub use steps::{PreviewStep, steps};
pub use written::{named_workflow, written_workflow};

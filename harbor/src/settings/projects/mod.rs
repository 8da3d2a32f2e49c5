//! A namespace that asks for a project of a Harbor → the project, a robot account, and a PullSecretBinding of both.
//!
//! | file | in → out |
//! |---|---|
//! | `wish` | the annotations of a namespace → what it asks for |
//! | `harbor` | a server and the name of a project → the project and its robot account, found or made |
//! | `bound` | a wish, what the Harbor has → the PullSecretBinding, and whether there is one already |
//! | `controller` | what the operator works with → the controller, with all that wakes it |
//! | `reconciler` | a namespace → its PullSecretBinding and its annotations; the only one that writes to the cluster |

mod bound;
mod controller;
mod harbor;
mod reconciler;
mod wish;

pub(crate) use controller::projects;
pub(crate) use reconciler::Tools;

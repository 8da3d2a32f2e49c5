//! A pod that is made → its images as projects of Harbors have them, by the rules that hold for its namespace.
//!
//! | file | in → out |
//! |---|---|
//! | `reference` | the image of a container → registry and path |
//! | `choice` | a namespace, its ConfigMap, all HarborServerConfigurations → the rules that hold |
//! | `rewrite` | a pod and rules → a patch |
//! | `review` | a review of an API server → its answer; the only one that reads the cluster |

mod choice;
mod reference;
mod review;
mod rewrite;

pub(crate) use review::Rewriting;

//! The runner of workflows: what steps may do now is asked, done, and asked again, until nothing new may begin.
//!
//! Which steps may go on is decided by `vela_engine::workflow`; who runs them does what they ask for. A run has no memory of its
//! own: how far it is follows from what is seen of the objects, and is written to the journal in `status.workflow`, so that
//! another process goes on where this one was killed. A workflow with other steps than such that apply components is run by
//! the [`executor`], step by step.

mod calls;
mod effects;
mod executor;
mod providers;
mod run_secret;
mod run_store;

use std::collections::BTreeSet;

pub(crate) use effects::{Effects, First};
pub(crate) use executor::{Executed, execute};
pub(crate) use providers::{MayWrite, Network, Objects, OwnedObject, Owner, Selection};
pub(crate) use run_store::{Form, Home, RunStore, StoreError};

/// The executor of steps. Steps `apply-component` and `deploy` ask to apply nodes: components at their places.
pub(crate) trait Steps {
    /// Why the run ends before its time.
    type Error;

    /// The numbers of the nodes that may be applied, given what was done so far.
    async fn due(&mut self) -> Result<Vec<usize>, Self::Error>;

    /// Apply these nodes, several at the same time.
    async fn apply(&mut self, nodes: &[usize]) -> Result<(), Self::Error>;
}

/// Runs the steps as far as they may go on, each node once. Gives the nodes that were begun; the others wait.
pub(crate) async fn run<S: Steps>(steps: &mut S) -> Result<BTreeSet<usize>, S::Error> {
    let mut begun = BTreeSet::new();
    // Each round begins at least one node more, and their number is limited.
    loop {
        let due = steps.due().await?;
        let next: Vec<usize> = due.into_iter().filter(|node| begun.insert(*node)).collect();
        if next.is_empty() {
            return Ok(begun);
        }
        steps.apply(&next).await?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each node waits for the one before it; `broken` cannot be applied.
    struct Chain {
        length: usize,
        broken: Option<usize>,
        applied: Vec<usize>,
    }

    impl Steps for Chain {
        type Error = usize;

        async fn due(&mut self) -> Result<Vec<usize>, usize> {
            Ok((0..self.length.min(self.applied.len() + 1)).collect())
        }

        async fn apply(&mut self, nodes: &[usize]) -> Result<(), usize> {
            match nodes.iter().find(|node| Some(**node) == self.broken) {
                Some(broken) => Err(*broken),
                None => {
                    self.applied.extend(nodes);
                    Ok(())
                }
            }
        }
    }

    #[tokio::test]
    async fn each_node_is_begun_once_when_its_turn_comes() {
        let mut chain = Chain { length: 4, broken: None, applied: Vec::new() };
        assert_eq!(run(&mut chain).await, Ok((0..4).collect()));
        assert_eq!(chain.applied, [0, 1, 2, 3]);
    }

    #[tokio::test]
    async fn what_cannot_be_done_ends_the_run() {
        let mut chain = Chain { length: 4, broken: Some(2), applied: Vec::new() };
        assert_eq!(run(&mut chain).await, Err(2));
        assert_eq!(chain.applied, [0, 1]);
    }

    #[tokio::test]
    async fn without_steps_nothing_begins() {
        let mut chain = Chain { length: 0, broken: None, applied: Vec::new() };
        assert_eq!(run(&mut chain).await, Ok(BTreeSet::new()));
    }
}

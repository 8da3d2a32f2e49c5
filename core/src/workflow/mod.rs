//! The runner of workflows: what may be applied now is asked, applied, and asked again, until nothing new may begin.
//!
//! `vela_engine::workflow` decides which steps may go on. A workflow of steps that only apply components needs no memory: how far it
//! is follows from what is seen of the objects. Any other is run by the [`executor`], which stores how far it is, so that
//! another process goes on where this one was killed. Both apply components by [`apply_due`].

mod calls;
mod deployed_components;
mod effects;
mod executor;
mod providers;
mod run_secret;
mod run_store;

use std::collections::BTreeSet;

use serde_json::Value;

use crate::options::Options;

pub(crate) use effects::{Applying, Effects, First};
pub(crate) use executor::{Executed, execute};
pub(crate) use providers::{Asked, Called, MayWrite, Network, Objects, OwnedObject, Owner, call};
pub(crate) use run_store::{Form, Home, RunStore, StoreError};

/// The context of a run, with what steps know of the controller.
pub(crate) fn with_home(mut context: Value, options: &Options) -> Value {
    if let Value::Object(fields) = &mut context {
        fields.insert("systemNamespace".to_owned(), Value::from(options.system_namespace.as_str()));
        if let Some(account) = &options.service_account {
            fields.insert("systemServiceAccount".to_owned(), Value::from(account.as_str()));
        }
    }
    context
}

/// Applies nodes: components at their places.
pub(crate) trait Apply<E> {
    /// The numbers of the nodes that may be applied, given what was done so far.
    async fn due(&mut self) -> Result<Vec<usize>, E>;

    /// Apply these nodes, several at the same time.
    async fn apply(&mut self, nodes: &[usize]) -> Result<(), E>;
}

/// Applies each of these nodes once, as soon as it may be applied. Gives the nodes that were begun; the others wait.
pub(crate) async fn apply_due<E, A: Apply<E>>(
    applying: &mut A,
    wanted: BTreeSet<usize>,
) -> Result<BTreeSet<usize>, E> {
    let (mut wanted, mut begun) = (wanted, BTreeSet::new());
    // Each round begins at least one node more, and their number is limited.
    while !wanted.is_empty() {
        let due = applying.due().await?;
        let next: Vec<usize> = due.into_iter().filter(|node| wanted.remove(node)).collect();
        if next.is_empty() {
            break;
        }
        applying.apply(&next).await?;
        begun.extend(next);
    }
    Ok(begun)
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

    impl Apply<usize> for Chain {
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
        assert_eq!(apply_due(&mut chain, (0..4).collect()).await, Ok((0..4).collect()));
        assert_eq!(chain.applied, [0, 1, 2, 3]);
    }

    #[tokio::test]
    async fn what_cannot_be_done_ends_the_run() {
        let mut chain = Chain { length: 4, broken: Some(2), applied: Vec::new() };
        assert_eq!(apply_due(&mut chain, (0..4).collect()).await, Err(2));
        assert_eq!(chain.applied, [0, 1]);
    }

    #[tokio::test]
    async fn a_node_that_waits_for_another_is_left() {
        let mut chain = Chain { length: 4, broken: None, applied: Vec::new() };
        let wanted = BTreeSet::from([0, 2, 3]);
        assert_eq!(apply_due(&mut chain, wanted).await, Ok(BTreeSet::from([0])));
        assert_eq!(chain.applied, [0]);
    }

    #[tokio::test]
    async fn without_nodes_nothing_begins() {
        let mut chain = Chain { length: 0, broken: None, applied: Vec::new() };
        assert_eq!(apply_due(&mut chain, BTreeSet::new()).await, Ok(BTreeSet::new()));
    }
}

//! Rollouts: what a plan means.

pub mod plan;

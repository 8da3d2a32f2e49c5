//! The words: API types of core.oam.dev and standard.oam.dev, and their CRD YAML.
//!
//! Each group has its folder and each kind its module there; [`crds`] and [`crd_yaml`] give the CustomResourceDefinitions.
//! Free-form parts are [`Raw`]: the API server keeps their unknown fields. Nothing here acts.

#![warn(missing_docs, clippy::missing_errors_doc)]

pub mod annotations;
pub mod condition;
mod core_oam_dev;
pub mod finalizers;
mod generate;
pub mod labels;
mod raw;
mod reference;
pub mod standard_oam_dev;

pub use condition::{Condition, Conditioned};
pub use core_oam_dev::*;
pub use generate::{CrdFile, GenerateError, crd_files, crd_yaml, crds};
pub use raw::{Embedded, Raw};
pub use reference::{
    ChildResourceKind, ClusterObjectReference, DefinitionReference, ObjectReference, Revision,
    TypedReference, WorkloadGvk,
};
pub use standard_oam_dev::{
    Autoscaler, MetricsTrait, PodSpecWorkload, RolloutTrait, RolloutTraitStatus, Route,
};

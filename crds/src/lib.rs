//! The words: API types of core.oam.dev, standard.oam.dev and dapr.io, the kinds of goharbor.io, and their CRD YAML.
//!
//! Each group has its folder and each kind its module there; [`crds`], [`dapr_crds`] and [`harbor_crds`] give the
//! CustomResourceDefinitions.
//! Free-form parts are [`Raw`]: the API server keeps their unknown fields. Nothing here acts.

#![warn(missing_docs, clippy::missing_errors_doc)]

pub mod annotations;
mod committed;
pub mod condition;
mod core_oam_dev;
pub mod dapr_io;
pub mod finalizers;
mod generate;
pub mod goharbor_io;
pub mod labels;
mod raw;
mod reference;
pub mod standard_oam_dev;

pub use committed::{crd_values, crds};
pub use condition::{Condition, Conditioned};
pub use core_oam_dev::*;
pub use generate::{CrdFile, GenerateError, crd_files, crd_lines, dapr_crds, harbor_crds};
pub use raw::{Embedded, Raw};
pub use reference::{
    ChildResourceKind, ClusterObjectReference, DefinitionReference, ObjectReference, Revision,
    TypedReference, WorkloadGvk,
};
pub use standard_oam_dev::{
    Autoscaler, MetricsTrait, PodSpecWorkload, RolloutTrait, RolloutTraitStatus, Route,
};

//! Computes the meaning of an Application: manifest, parse, revision, plan, render, graph, status.
//!
//! Everything here is a pure function of plain data: no cluster client, no async, no file, no clock, no
//! environment. The outside world enters as one [`Snapshot`] (definitions and objects) and as
//! [`Observed`] objects; it leaves as a [`Graph`] and a [`Status`].
//!
//! The reconcile, one file and one type per phase; each type is made only by its own phase:
//!
//! ```text
//! text ─manifest─▶ Documents (─transform─▶ Snapshot) ─parse─▶ AppFile ─revision─▶ Revision ─plan─▶ Plan
//!      ─render─▶ Rendered ─graph─▶ Graph ─(applied and observed by the caller)─▶ Observed ─status─▶ Status
//! ```
//!
//! ```
//! use vela_engine::{graph, manifest, parse, plan, render, revision, Snapshot, Templates};
//! # let text = "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata: {name: web}\nspec: {components: []}\n";
//! let documents = manifest::read("app.yaml", text)?;
//! let snapshot = Snapshot::default(); // filled with what `parse::references` asks for
//! let app_file = parse::parse(&documents.as_slice()[0], &snapshot)?;
//! let revision = revision::revision(app_file, None);
//! let plan = plan::plan(revision)?;
//! let rendered = render::render(&plan, &Templates::default(), &render::Inputs::default())?;
//! let graph = graph::graph(rendered)?;
//! assert_eq!(graph.identity().name(), "web-v1");
//! # Ok::<(), vela_engine::Diagnostics>(())
//! ```
//!
//! *Pending is not an error*: a component that lacks another component's output is carried through
//! `Rendered` and `Graph` as pending with what it waits for.

#![warn(missing_docs, clippy::missing_errors_doc)]

pub mod application_configuration;
pub mod bounds;
pub mod check;
pub mod children;
pub mod config;
pub mod containerized_workload;
pub mod definition;
mod dependent;
mod diagnostic;
pub mod diff;
pub mod dry_run;
pub mod endpoints;
pub mod field_path;
pub mod graph;
pub mod health;
pub mod health_scope;
pub mod immutable;
pub mod kube_packages;
mod label_selector;
pub mod manifest;
pub mod manual_scaler;
mod stage_progress;

pub mod names;
mod observed;
pub mod parameters;
pub mod parse;
mod placement;
pub mod plan;
pub mod policy;
pub mod preview;
mod previous;
pub mod readiness;
pub mod reference;
pub mod render;
pub mod revision;
pub mod rollout;
mod secrets;
pub mod side_by_side;
pub mod snapshot;
pub mod standard;
pub mod status;
pub mod steps;
pub mod successor;
pub mod transform;
mod transformed;
pub mod view;
pub mod workflow;
pub mod workload_names;

pub use bounds::Bounds;
pub use check::check;
pub use definition::{Definition, DefinitionKind};
pub use diagnostic::{Code, DefinitionPlace, Diagnostic, Diagnostics, Place, Severity};
pub use graph::Graph;
pub use kube_packages::KubePackage;
pub use manifest::{Document, Documents};
pub use observed::{ObjectKey, Observed};
pub use parse::AppFile;
pub use placement::{LOCAL, Placement};
pub use plan::Plan;
pub use render::{Rendered, Templates};
pub use revision::Revision;
pub use secrets::Secrets;
pub use snapshot::{ClusterVersion, Snapshot};
pub use stage_progress::dispatched;
pub use status::Status;
pub use transformed::{AppliedPolicy, Source as PolicySource, Transformed, is_global};
pub use vela_cue::nearest;

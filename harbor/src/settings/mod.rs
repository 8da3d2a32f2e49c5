//! The kinds that set up a Harbor which runs: what they say goes to its API.
//!
//! | file | in → out |
//! |---|---|
//! | `api` | a server and what to tell it → requests, within limits of time and size |
//! | `egress` | at which addresses Harbors are asked, or what answers in their place |
//! | `connection` | the objects that describe a server → its address and its account |
//! | `configuration` | HarborConfiguration → the configuration of the Harbor of a HarborCluster |
//! | `config_map` | a ConfigMap with the annotation `goharbor.io/configuration` → a HarborConfiguration |
//! | `condition` | the HarborConfigurations of a HarborCluster → its condition ConfigurationReady |
//! | `server` | HarborServerConfiguration → whether its server works and takes the account |
//! | `rule` | the rules of a HarborServerConfiguration or of a ConfigMap → which images come from which project |
//! | `namespace` | a namespace and all HarborServerConfigurations → the one that is for it |
//! | `projects` | a namespace with the annotation `goharbor.io/project` → a project, a robot account, a PullSecretBinding |
//! | `images` | a pod that is made → its images as projects of Harbors have them |
//! | `selection` | HarborServerConfiguration and a namespace → whether it is for that namespace |
//! | `binding` | PullSecretBinding → a robot account of a Harbor that a ServiceAccount pulls images with |
//! | `reconciler` | one of these objects → its status |
//! | `reads` | names → objects, which wake the reconcile when they change |
//! | `outcome` | what became of an object: its status, and when to try again |
//! | `error` | why it cannot go on, and what helps |

mod api;
mod binding;
mod condition;
mod config_map;
mod configuration;
mod connection;
mod egress;
mod error;
mod images;
mod namespace;
mod outcome;
mod projects;
mod reads;
mod reconciler;
mod rule;
mod selection;
mod server;

pub(crate) use condition::{clusters_of, condition};
pub(crate) use config_map::{ConfigMapReconciler, Stores, configuring};
pub(crate) use egress::Egress;
pub use egress::EgressOverride;
pub(crate) use images::Rewriting;
pub(crate) use projects::{Tools as ProjectTools, projects};
pub(crate) use reconciler::SettingsReconciler;

//! Collects the findings of every phase for an Application at once; gives nothing that could be applied.
//!
//! The reconcile stops at the first phase that fails. People want to hear of a wrong parameter in one component even
//! while another component's type is unknown: here later phases go on with what earlier ones could read.

use std::collections::BTreeSet;

use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::manifest::Document;
use crate::parse;
use crate::plan;
use crate::render::stages::Stages;
use crate::render::{self, Inputs, Templates};
use crate::revision;
use crate::snapshot::Snapshot;

/// All findings, errors and warnings, in the order of phases. No error among them: the reconcile succeeds.
pub fn check(application: &Document, snapshot: &Snapshot, templates: &Templates) -> Diagnostics {
    let (app_file, mut found) = match parse::resolve(application, snapshot) {
        Ok(resolved) => resolved,
        Err(errors) => return errors,
    };
    let revision = revision::revision(app_file, None);
    let later = match plan::plan(revision.clone()) {
        // Without a plan the components can still be rendered: each stands for itself.
        Err(errors) => {
            let unknown = unknown_types(&found);
            found.extend_new(errors.into_iter().filter(|error| !is_type_of(error, &unknown)).collect());
            plan::without_order(revision)
        }
        Ok(plan) => plan,
    };
    let inputs = Inputs { stages: Stages::Assumed, ..Inputs::default() };
    match render::render(&later, templates, &inputs) {
        // Phases pass earlier warnings on: each is told once.
        Ok(rendered) => found.extend_new(rendered.warnings().clone()),
        Err(errors) => found.extend_new(errors),
    }
    found
}

/// The fields that name a type which is not there.
fn unknown_types(found: &Diagnostics) -> BTreeSet<String> {
    let unknown = found.iter().filter(|finding| finding.code == Code::UnknownDefinition);
    unknown.map(|finding| finding.path.clone()).collect()
}

/// What the phases after say of a type that is not there is no news.
fn is_type_of(finding: &Diagnostic, unknown: &BTreeSet<String>) -> bool {
    finding.code == Code::NotSupported && unknown.contains(&finding.path)
}

//! Application → every finding of every phase at once; makes nothing that could be applied.
//!
//! The lap stops at the first phase that fails. People want to hear of a wrong parameter in one component even
//! while another component's type is unknown: here later phases go on with what earlier ones could read.

use crate::diagnostic::Diagnostics;
use crate::manifest::Document;
use crate::parse;
use crate::plan;
use crate::render::{self, Inputs, Templates};
use crate::revision;
use crate::snapshot::Snapshot;

/// All findings, errors and warnings, in the order of phases. No error among them: the lap succeeds.
pub fn check(application: &Document, snapshot: &Snapshot, templates: &Templates) -> Diagnostics {
    let (app_file, mut found) = match parse::resolve(application, snapshot) {
        Ok(resolved) => resolved,
        Err(errors) => return errors,
    };
    let revision = revision::revision(app_file, None);
    let later = match plan::plan(revision.clone()) {
        // Without a plan the components can still be rendered: each stands for itself.
        Err(errors) => {
            add_new(&mut found, errors);
            plan::without_order(revision)
        }
        Ok(plan) => plan,
    };
    match render::render(&later, templates, &Inputs::default()) {
        Ok(rendered) => add_new(&mut found, rendered.warnings().clone()),
        Err(errors) => add_new(&mut found, errors),
    }
    found
}

/// Phases pass earlier warnings on: each is told once.
fn add_new(found: &mut Diagnostics, more: Diagnostics) {
    for finding in more {
        if !found.iter().any(|known| *known == finding) {
            found.push(finding);
        }
    }
}

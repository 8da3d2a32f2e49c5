//! Judges applications of which a preview shows single steps: what is doubtful about the whole, and what would not run.

use vela_engine::{Diagnostic, Document, parse, plan, revision};
use vela_snapshot::{Reader, Source};

use crate::error::{Failure, Result};

/// The message about such applications.
#[derive(Default)]
pub(crate) struct JudgedWorkflows {
    pub(crate) warnings: Vec<String>,
    /// An error of those that need what is not supported yet.
    pub(crate) will_not_run: Option<Failure>,
}

/// Parses and plans them. Their components are rendered with each step, where they may be other ones.
pub(crate) async fn workflows<S: Source>(
    reader: &Reader<S>,
    applications: &[Document],
    unread: impl Fn(vela_snapshot::Error) -> Failure,
) -> Result<JudgedWorkflows> {
    let (mut warnings, mut refused, mut will_not_run) = (Vec::new(), Vec::new(), Vec::new());
    for application in applications {
        let snapshot = reader.application(application.namespace(), application).await.map_err(&unread)?;
        let app_file = parse::parse(application, &snapshot);
        match app_file.and_then(|app_file| plan::preview(revision::revision(app_file, None))) {
            Ok(plan) => {
                let left_out = plan.left_out();
                if !left_out.is_empty() {
                    will_not_run.push(Failure::will_not_run(&application.title(), left_out.clone()));
                }
                let is_new = |warning: &&Diagnostic| !left_out.iter().any(|part| part == *warning);
                warnings.extend(plan.warnings().iter().filter(is_new).map(ToString::to_string));
            }
            Err(found) => refused.push(Failure::from(found)),
        }
    }
    let judged = JudgedWorkflows { warnings, will_not_run: Failure::all(will_not_run) };
    Failure::all(refused).map_or(Ok(judged), Err)
}

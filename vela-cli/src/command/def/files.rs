//! Reads the definitions of files and judges them as admission would, without a cluster.

use std::path::PathBuf;

use vela_engine::{ClusterVersion, Diagnostics, Document, Templates};

use crate::args::DefinitionFiles;
use crate::command::up::place;
use crate::error::{Error, Failure, Result};
use crate::offline::RenderInputs;
use crate::session::block_on;
use crate::{input, offline};

/// The definitions of the files, and what is wrong with those that cannot be read.
pub(super) fn read(files: &DefinitionFiles) -> (Vec<Document>, Vec<Failure>) {
    let paths: Vec<PathBuf> = files.paths.iter().chain(&files.files).cloned().collect();
    let (documents, mut failures) = input::gather_definitions(&paths, files.recursive);
    let (definitions, others): (Vec<_>, Vec<_>) = documents.into_iter().partition(offline::is_definition);
    failures.extend(others.iter().map(|other| {
        let at = other.places().value("kind").map_or_else(|| place(other), |place| place.to_string());
        let title = Some(other.title()).filter(|title| !title.trim().is_empty());
        let error =
            Error::user(format!("{at}: {} is no definition", title.as_deref().unwrap_or("the object")));
        error.hint("give ComponentDefinitions, TraitDefinitions and their like, as CUE, YAML or JSON").into()
    }));
    (definitions, failures)
}

/// What admission would say about each, beside the others.
pub(in crate::command) fn judge(documents: &[Document]) -> Result<Vec<Result<Diagnostics>>> {
    let judged: Vec<&Document> = documents.iter().collect();
    let reader = offline::built_in(ClusterVersion::newest(), &judged)?;
    // One event loop for all: what reads the kinds lives in it.
    block_on(async {
        let mut found = Vec::with_capacity(documents.len());
        for document in documents {
            let unread = |error| offline::unread(None, error);
            let inputs = RenderInputs::read(&reader, Vec::new(), &[document], unread).await;
            found.push(inputs.map(|inputs| inputs.faults(&Templates::default())));
        }
        Ok(found)
    })
}

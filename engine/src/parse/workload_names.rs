//! Checks what an application says of the names of its workloads.

use vela_crds::annotations::WORKLOAD_NAMES;

use super::parser::{Era, Parser};
use crate::diagnostic::{Code, Diagnostic};
use crate::workload_names::WorkloadNames;

impl Parser<'_> {
    /// A word that means nothing is refused; one that comes to nothing is warned of.
    pub(super) fn workload_names(&mut self) {
        let path = format!("metadata.annotations[{WORKLOAD_NAMES:?}]");
        match WorkloadNames::annotated(self.document.value()) {
            Err(message) => self.error(Code::WrongType, &path, message, None),
            Ok(Some(WorkloadNames::Revision)) if self.era == Era::V1beta1 => {
                let message = "workloads of an Application in the v1beta1 form are named after their components, whatever this says";
                let hint = "take the annotation out, or write the application in the v1alpha2 form";
                self.found.push(
                    Diagnostic::warning(Code::NotSupported, message).at(self.document, path).hint(hint),
                );
            }
            Ok(_) => {}
        }
    }
}

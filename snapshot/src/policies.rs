//! PolicyDefinitions that change applications: reads those that act on every application, and lets them act for previews.

use tokio::runtime::{Handle, RuntimeFlavor};
use vela_engine::{Code, DefinitionKind, Diagnostic, Document, Snapshot, Transformed, transform};

use crate::policy_scopes::PolicyScopes;
use crate::reader::Reader;
use crate::source::{Error, Source};

/// HTTP status of a request that the caller has no right to.
const FORBIDDEN: u16 = 403;
/// HTTP status of a request for a kind that the cluster does not have.
const ABSENT: u16 = 404;

impl<S: Source> Reader<S> {
    /// Which policies change applications.
    pub fn policies(&self) -> PolicyScopes {
        self.policies
    }

    /// Adds the policies that act on every application of a namespace. A caller without the right to list them gets a
    /// warning for the application.
    ///
    /// # Errors
    /// When the source does not answer or such a definition is broken.
    pub async fn insert_global_policies(
        &self,
        namespace: &str,
        application: &Document,
        snapshot: &mut Snapshot,
    ) -> Result<(), Error> {
        if !self.policies.application || !self.policies.global || transform::skips_globals(application) {
            return Ok(());
        }
        let namespace = match namespace {
            "" => vela_engine::parse::DEFAULT_NAMESPACE,
            namespace => namespace,
        };
        // A later one replaces an earlier one.
        for place in self.namespaces().around(namespace).into_iter().rev() {
            let found = match self.source().global_policies(place).await {
                // Releases before 1.1 have no such kind.
                Err(Error::Api { source: kube::Error::Api(status), .. }) if status.code == ABSENT => continue,
                Err(Error::Api { what, source: kube::Error::Api(status) }) if status.code == FORBIDDEN => {
                    let message = format!(
                        "global policies of namespace {place} are not known: reading {what}: {}",
                        status.message
                    );
                    snapshot.insert_warning(Diagnostic::warning(Code::Unavailable, message));
                    continue;
                }
                found => found?,
            };
            for document in found {
                let definition = self.read(DefinitionKind::Policy, document.name(), &document).await?;
                snapshot.insert_definition(definition);
            }
        }
        Ok(())
    }

    /// The application as the policies of the snapshot leave it; nothing where none is meant for it. Templates compute for a
    /// while, so that they do not keep a thread of requests busy.
    pub(crate) async fn transformed(
        &self,
        application: &Document,
        snapshot: &Snapshot,
    ) -> Result<Option<Transformed>, Error> {
        if !self.policies.application || !transform::is_needed(application, snapshot) {
            return Ok(None);
        }
        if Handle::current().runtime_flavor() == RuntimeFlavor::CurrentThread {
            return Ok(transform::transform(application, snapshot, &self.templates));
        }
        let (application, snapshot, templates) =
            (application.clone(), snapshot.clone(), self.templates.clone());
        let computed =
            tokio::task::spawn_blocking(move || transform::transform(&application, &snapshot, &templates));
        computed.await.map_err(|error| Error::Policies(error.to_string()))
    }
}

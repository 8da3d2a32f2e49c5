//! Answers what plans a deployment.

use vela_engine::{Code, Document};

use super::console::{Console, Inner};
use crate::data::plan::{Plan, Planner, single};
use crate::error::Error;

/// The field manager of `vela up`, by which a console that only reads compares.
const AUTHOR: &str = "vela-cli";

impl Console {
    pub(super) fn planner(&self) -> Planner<'_> {
        let Inner { client, discovery, options, .. } = &*self.inner;
        let manager = options.changes_as.as_deref().unwrap_or(AUTHOR);
        Planner { client, discovery, manager }
    }

    /// What deploying a manifest would do.
    pub(super) async fn plan(&self, namespace: &str, text: &str) -> Result<Plan, Error> {
        match single(text) {
            Err(found) => Ok(Plan::failed(&found)),
            Ok(document) => self.plan_of(&document.in_namespace(namespace)).await,
        }
    }

    async fn plan_of(&self, application: &Document) -> Result<Plan, Error> {
        self.is_within(application.namespace())?;
        self.planner().plan(application, self.place_of_run()?).await
    }

    /// The same where the manifest is one application; a dry run where it is several objects.
    pub(super) async fn planned(&self, namespace: &str, text: &str) -> Result<Plan, Error> {
        match single(text) {
            Ok(document) => self.plan_of(&document.in_namespace(namespace)).await,
            // A dry run takes several objects, too.
            Err(found) if found.iter().all(|one| one.code == Code::WrongKind) => {
                let dry_run = self.dry_run(namespace, text).await?;
                Ok(Plan { dry_run, changes: None })
            }
            Err(found) => Ok(Plan::failed(&found)),
        }
    }

    /// A console of one namespace plans and writes nothing in another.
    pub(super) fn is_within(&self, namespace: &str) -> Result<(), Error> {
        match self.inner.options.namespace.as_deref() {
            Some(own) if own != namespace => Err(Error::OutOfReach(format!(
                "metadata.namespace: this console is for namespace {own:?} alone, and this is {namespace:?}; start \
                 `vela dashboard` without -n for others"
            ))),
            _ => Ok(()),
        }
    }
}

//! The Workflow that an Application names → the Application with its steps; a change of it wakes the Application. May not write.

use vela_engine::Document;
use vela_engine::parse::{self, named_workflow};
use vela_runtime::{Key, dynamic_watch};

use super::error::{PhaseError, Stopped};
use super::fetch::json as to_json;
use super::reconciler::ApplicationReconciler;
use crate::author::Actor;

impl ApplicationReconciler {
    /// The Application with the steps of the Workflow that it names; nothing where it names none, or one that is not there,
    /// which parsing says.
    pub(super) async fn with_workflow(
        &self,
        (key, acting): (&Key, &Actor),
        document: &Document,
    ) -> Result<Option<Document>, Stopped> {
        let look = self.workflows.track(key);
        let Some(named) = named_workflow(document) else { return Ok(None) };
        let name = Key::new(key.namespace.clone(), named.name.clone());
        let kind = match look.metadata(&named.api_version, &named.kind, &name).await {
            Ok((kind, _)) => kind,
            Err(dynamic_watch::Error::Missing { .. }) => return Ok(None),
            Err(error) => return Err(Stopped::unavailable(PhaseError::Parse, &error)),
        };
        let found = kind.api(acting.client(), &key.namespace).get_opt(&named.name).await;
        let found = found.map_err(|error| {
            let why = format!("cannot read Workflow {name}: {}", acting.explain(&error));
            Stopped::unavailable(PhaseError::Parse, &why)
        })?;
        let Some(found) = found else { return Ok(None) };
        Ok(parse::with_workflow_object(document, &to_json(&found)))
    }
}

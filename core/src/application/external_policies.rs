//! The Policies that an Application's steps name → the Application with them in it; a change of one wakes the Application. May not
//! write.

use serde_json::Value;
use vela_engine::{Document, parse};
use vela_runtime::{Key, dynamic_watch};

use super::error::{PhaseError, Stopped};
use super::fetch::json as to_json;
use super::reconciler::ApplicationReconciler;
use crate::author::Actor;

impl ApplicationReconciler {
    /// The Application with the Policies that its `deploy` steps name; nothing where they name no existing one. The plan
    /// reports missing ones.
    pub(super) async fn with_policies(
        &self,
        (key, acting): (&Key, &Actor),
        document: &Document,
    ) -> Result<Option<Document>, Stopped> {
        let look = self.policies.track(key);
        let mut policies: Vec<(String, Value)> = Vec::new();
        for named in parse::named_policies(document) {
            let name = Key::new(key.namespace.clone(), named.name.clone());
            let kind = match look.metadata(&named.api_version, &named.kind, &name).await {
                Ok((kind, _)) => kind,
                Err(dynamic_watch::Error::Missing { .. }) => continue,
                Err(error) => return Err(Stopped::unavailable(PhaseError::Parse, &error)),
            };
            let found = kind.api(acting.client(), &key.namespace).get_opt(&named.name).await;
            let found = found.map_err(|error| {
                let why = format!("cannot read Policy {name}: {}", acting.explain(&error));
                Stopped::unavailable(PhaseError::Parse, &why)
            })?;
            let Some(found) = found else { continue };
            policies.push((named.name, to_json(&found)));
        }
        let policies = policies.iter().map(|(name, policy)| (name.as_str(), policy));
        Ok(parse::with_policy_objects(document, policies))
    }
}

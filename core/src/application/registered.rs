//! Resource names, as definitions register them → the kinds behind them, asked of the cluster and remembered a while.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use vela_webhooks::registered::ApiKind;

use crate::context::Context;

/// How long the kind behind a resource name is remembered: a CRD seldom gets another first version.
const REGISTERED_KEPT: Duration = Duration::from_secs(300);

/// Resource names (`<plural>.<group>`) and the kinds behind them, as definitions register them.
#[derive(Debug, Default)]
pub(super) struct Registered {
    known: Mutex<BTreeMap<(String, String), (ApiKind, Instant)>>,
}

impl Registered {
    /// `apiVersion` and `kind` of a resource in a version, or ("") in the first that its CRD lists or the server names.
    pub(super) async fn kind(
        &self,
        context: &Context,
        name: &str,
        version: &str,
    ) -> Result<Option<ApiKind>, kube::Error> {
        let key = (name.to_owned(), version.to_owned());
        {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((kind, since)) = known.get(&key)
                && since.elapsed() < REGISTERED_KEPT
            {
                return Ok(Some(kind.clone()));
            }
        }
        let found = vela_webhooks::registered::kind(&context.client, name, version).await?;
        if let Some(kind) = &found {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.insert(key, (kind.clone(), Instant::now()));
        }
        Ok(found)
    }
}

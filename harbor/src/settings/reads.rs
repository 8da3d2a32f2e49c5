//! Names → objects as values; each read wakes the reconcile when the object changes, also one that is not there yet.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use vela_runtime::Key;
use vela_runtime::dynamic_watch::TrackedReads;

use super::error::Error;
use crate::field::Field;
use crate::owner::Owner;
use crate::parts::{Found, kinds};

/// The reads of one reconcile.
pub(super) struct Reads<'a> {
    pub(super) owner: &'a Owner,
    pub(super) tracked: &'a TrackedReads,
}

impl Reads<'_> {
    /// The object that a field names; kinds without namespaces leave the namespace out.
    pub(super) async fn named(
        &self,
        (api_version, kind): kinds::Kind,
        namespace: &str,
        field: &Field<'_>,
    ) -> Result<Value, Error> {
        let name = field.text()?;
        let found = self.tracked.get(api_version, kind, &Key::new(namespace, name)).await?;
        let Some(found) = found else {
            return Err(crate::error::Error::Missing {
                object: self.owner.described().to_owned(),
                field: field.path().to_owned(),
                kind: kind.to_owned(),
                name: name.to_owned(),
            }
            .into());
        };
        let mut value = serde_json::to_value(&*found)?;
        value["apiVersion"] = api_version.into();
        value["kind"] = kind.into();
        Ok(value)
    }

    /// The value of a key of the secret that a field names.
    pub(super) async fn secret(
        &self,
        namespace: &str,
        field: &Field<'_>,
        key: &str,
    ) -> Result<String, Error> {
        let mut found = Found::new();
        found.add(self.named(kinds::SECRET, namespace, field).await?);
        Ok(found.secret(self.owner.described(), field, key)?)
    }

    /// The authority in the secret that a field names; nothing where none is named or it has none.
    pub(super) async fn authority(
        &self,
        namespace: &str,
        field: &Field<'_>,
    ) -> Result<Option<Vec<u8>>, Error> {
        if field.text_or_none()?.is_none_or(str::is_empty) {
            return Ok(None);
        }
        let secret = self.named(kinds::SECRET, namespace, field).await?;
        Ok(secret["data"]["ca.crt"]
            .as_str()
            .and_then(|text| STANDARD.decode(text).ok())
            .filter(|pem| !pem.is_empty()))
    }
}

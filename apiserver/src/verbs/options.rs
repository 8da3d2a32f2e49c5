//! The options of every write: which object, by whom, and how strictly.

use ::http::Method;

use crate::catalog::Resource;
use crate::http::Call;
use crate::status::{ApiError, ApiResult};

/// One object, or a part of it that is written apart (`status`, `scale`).
#[derive(Clone, Copy)]
pub(crate) struct ObjectRef<'a> {
    pub(crate) resource: &'a Resource,
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    /// Empty for the object as a whole.
    pub(crate) subresource: &'a str,
}

/// The treatment of fields that the schema does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    Ignore,
    Warn,
    Strict,
}

/// Options that all writes have.
#[derive(Clone, Debug)]
pub(crate) struct WriteOptions {
    pub(crate) dry_run: bool,
    pub(crate) manager: String,
    pub(crate) field_validation: FieldValidation,
    pub(crate) force: bool,
}

impl WriteOptions {
    /// For writes of the server itself.
    pub(crate) fn own(manager: &str) -> Self {
        Self {
            dry_run: false,
            manager: manager.to_owned(),
            field_validation: FieldValidation::Ignore,
            force: false,
        }
    }

    pub(crate) fn read(call: &Call) -> ApiResult<Self> {
        let manager = match call.query.text("fieldManager") {
            // Clients that do not say who they are are known by their program's name.
            "" => call.user_agent.split('/').next().unwrap_or_default().to_owned(),
            named => named.to_owned(),
        };
        let field_validation = match call.query.text("fieldValidation") {
            "" | "Warn" => FieldValidation::Warn,
            "Strict" => FieldValidation::Strict,
            "Ignore" => FieldValidation::Ignore,
            other => {
                return Err(ApiError::bad_request(format!(
                    "invalid fieldValidation {other:?}: expected Ignore, Warn or Strict"
                )));
            }
        };
        Ok(Self {
            dry_run: call.query.dry_run(match call.method {
                Method::POST => "CreateOptions",
                Method::PUT => "UpdateOptions",
                _ => "PatchOptions",
            })?,
            manager: if manager.is_empty() { "unknown".into() } else { manager },
            field_validation,
            force: call.query.flag("force"),
        })
    }
}

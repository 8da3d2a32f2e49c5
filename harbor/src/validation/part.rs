//! What must be right in a JobService and in a Registry beyond their schemas.

use serde_json::Value;

use super::harbor::one_of;
use super::invalid::Invalid;
use crate::field::Field;

const DRIVERS: [&str; 6] = ["inmemory", "filesystem", "s3", "swift", "azure", "gcs"];

/// Each of the two has to have a logger.
pub(super) fn job_service(spec: &Field<'_>, found: &mut Vec<Invalid>) {
    for name in ["jobLoggers", "loggers"] {
        let loggers = spec.get(name);
        let files = loggers.get("files").value().as_array().is_some_and(|files| !files.is_empty());
        if !files && !loggers.get("database").is_set() && !loggers.get("stdout").is_set() {
            let detail = "one of files, database or stdout must be specified";
            found.push(Invalid::value(loggers.path(), Value::Null, detail));
        }
    }
}

pub(super) fn registry(spec: &Field<'_>, found: &mut Vec<Invalid>) {
    one_of(&spec.get("storage").get("driver"), &DRIVERS, found);
}

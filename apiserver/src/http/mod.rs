//! Requests and answers: a path, a query, headers and a body in, a [`Call`] out, and the [`Answer`] to it.

mod answer;
mod call;
mod negotiate;
mod path;
mod protobuf;
mod query;

pub use answer::ResponseBody;
pub(crate) use answer::{Answer, full};
pub(crate) use call::Call;
pub(crate) use negotiate::{Shape, content_type, read_object, read_yaml, shape, wants_aggregated};
pub(crate) use path::{Place, Target};
pub(crate) use query::Query;

//! REST API and pages for people; reads the API, decides nothing.
//!
//! ```text
//! request ─route─▶ Route ─applications│tree─▶ JSON or a page ─serve─▶ response
//! ```
//!
//! [`Console`] is a tower service over a kube client: whoever owns a listener serves it. It only
//! ever reads, and only what the client it was given may read. Objects are judged by the same
//! readiness rules the controllers use; the console has none of its own.
//!
//! | path | answer |
//! |---|---|
//! | `/` | a page |
//! | `/api/applications` | every application in short |
//! | `/api/namespaces/{namespace}/applications` | those of a namespace |
//! | `/api/namespaces/{namespace}/applications/{name}` | one application with its resource tree |

mod applications;
mod route;
mod serve;
mod tree;

pub use serve::Console;

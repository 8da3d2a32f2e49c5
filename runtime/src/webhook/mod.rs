//! Requests of an API server over TLS in → what a handler says about them, within limits of size, number and time.
//!
//! ```text
//! connection ─server─▶ request ─answer─▶ path, bytes ─Handler─▶ Reply
//! folder ─directory─▶ ┐
//!                     ├ Pair ─keep─▶ presented: the certificate of the next handshake
//! Secret ─kept─▶ ─────┘       └────▶ bundle: by whom API servers trust it
//! ```
//!
//! Everything inside the JSON is the handler's; what surrounds it is ours: one method, a body of bounded size, a
//! deadline before the API server's own, so many at once and no more, and a certificate that may change at any time.

mod answer;
mod authority;
mod bundle;
mod certificate;
mod directory;
mod figures;
mod handler;
mod keep;
mod kept;
mod presented;
mod server;
mod validity;

pub use answer::Limits;
pub use authority::NotIssued;
pub use bundle::Bundles;
pub use certificate::{Pair, Unusable};
pub use directory::{Directory, Missing};
pub use handler::{BODY_AT_MOST, Handler, Reply};
pub use keep::Certificates;
pub use kept::{SelfIssued, Unkept};
pub use server::{Config, Error, Running, Server};

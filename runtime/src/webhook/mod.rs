//! Requests of an API server over TLS in → what a handler says about them, within limits of size, number and time.
//!
//! ```text
//! connection ─server─▶ request ─answer─▶ path, bytes ─Handler─▶ Reply
//! folder ─directory─▶ Pair ─presented─▶ the certificate of the next handshake
//! ```
//!
//! Everything inside the JSON is the handler's; what surrounds it is ours: one method, a body of bounded size, a
//! deadline before the API server's own, so many at once and no more, and a certificate that may change at any time.

mod answer;
mod certificate;
mod directory;
mod figures;
mod handler;
mod presented;
mod server;
mod validity;

pub use answer::Limits;
pub use certificate::{Pair, Unusable};
pub use directory::{Directory, Missing};
pub use handler::{BODY_AT_MOST, Handler, Reply};
pub use server::{Certificates, Config, Error, Running, Server};

//! The protocol between sidecars and the operator, generated from `proto/operator.proto`: messages, server and client; and that with the
//! issuer of certificates, from `proto/sentry.proto`.
#![allow(missing_docs, unreachable_pub, clippy::all, clippy::pedantic)]

include!(concat!(env!("OUT_DIR"), "/dapr.proto.operator.v1.rs"));

pub mod sentry {
    include!(concat!(env!("OUT_DIR"), "/dapr.proto.sentry.v1.rs"));
}

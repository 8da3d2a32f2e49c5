//! The protocol between sidecars and the operator, generated from `proto/operator.proto`: messages, server and client.
#![allow(missing_docs, unreachable_pub, clippy::all, clippy::pedantic)]

include!(concat!(env!("OUT_DIR"), "/dapr.proto.operator.v1.rs"));

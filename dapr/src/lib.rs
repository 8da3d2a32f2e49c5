//! Dapr operator on the shared runtime.

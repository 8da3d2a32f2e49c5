//! A small Kubernetes API for one person or one test.

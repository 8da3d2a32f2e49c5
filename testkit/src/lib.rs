//! One golden harness, used by the tests of every room.

//! Strangers: scenarios that use only the doors.

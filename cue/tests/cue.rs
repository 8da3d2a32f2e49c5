//! Archives of small programs with the results of the reference implementation, and the promises of the doors.

mod archive;
mod doors;
mod speed;

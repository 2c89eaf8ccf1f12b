//! Days and spans of time that words name.

pub mod days;
pub mod spans;

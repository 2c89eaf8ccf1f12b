//! Doing it.

pub mod tools;

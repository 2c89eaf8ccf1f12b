//! The whole brain, wired as in the daemon, in virtual time.

#[path = "../common/mod.rs"]
mod common;

mod replay;
mod thread;

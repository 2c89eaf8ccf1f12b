//! The command line as scripts see it: the real binary, a separate home, exit codes and messages.

mod configuration;
mod daemon;
mod door;
mod home;
mod learning;
mod many;
mod mind;
mod offline;
mod questions;
mod rooms;
mod scenario;
mod sleeping;
mod stopping;
mod words;

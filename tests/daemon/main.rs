//! The real binary as a daemon: killed, damaged, stopped and asked, through its doors alone.

mod harness;

mod chat;
mod kill;
mod manners;
mod offline;
mod stop;

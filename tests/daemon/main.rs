//! The real binary as a daemon: killed, damaged, stopped and asked, only through its doors.

mod acknowledged;
mod body;
mod bounds;
mod channels;
mod chat;
mod components;
mod escapes;
mod harness;
mod held;
mod hostile;
mod kill;
mod lease;
#[path = "../common/loopback.rs"]
mod loopback;
mod machines;
mod manners;
mod mcp;
mod model;
mod model_server;
mod offline;
mod own_data;
mod own_modes;
mod own_port;
mod page;
mod raw_calls;
mod restored;
mod retries;
mod stop;
mod supervised;
mod trust;
mod upgrade;

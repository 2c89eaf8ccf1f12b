//! The guarantees of the bus, as `bus/README.md` states them.

mod common;
mod corridor;
mod inbox;
mod model;
mod wiring;

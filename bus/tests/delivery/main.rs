//! What the bus guarantees, as `bus/README.md` states it.

mod common;
mod corridor;
mod inbox;
mod model;
mod wiring;

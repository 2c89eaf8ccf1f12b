//! Chaos against a live agent: every room is broken by every signal it hears, by orders and at random; and a stop
//! under load.

mod budget;
mod hang;
mod live;
#[path = "../common/loopback.rs"]
mod loopback;
mod model;
mod orders;
mod poison;
mod random;
mod recorded;
mod script;
#[path = "../common/static_model.rs"]
mod static_model;
mod stop;
mod twin;

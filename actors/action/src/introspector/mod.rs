//! Looking inward: questions about the brain itself, and about what it can do.

mod affordances;
mod narrative;
mod questions;
pub mod region;
mod stats;
mod times;

pub use region::{Introspector, IntrospectorEvent, IntrospectorSettings};
pub use times::moment;

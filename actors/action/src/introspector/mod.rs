//! Looking inward: questions about the brain itself, and about what it can do.

mod affordances;
mod narrative;
pub mod region;
mod stats;
mod times;

pub use region::{Introspector, IntrospectorEvent, IntrospectorSettings};
pub use times::moment;

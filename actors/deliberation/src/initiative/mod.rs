//! Initiative: what the brain does unasked, when something is around that can be acted on.
//!
//! Pure: its state, the law of choice and their words. The room of turns asks experience and gate, and makes a turn of what is chosen
//! (`turns/opportunity.rs`).

pub(crate) mod choice;
mod settings;
mod state;

pub use choice::ActLaw;
pub use settings::ActingSettings;
pub(crate) use settings::affordances;
pub(crate) use state::{Acting, ActingEvent, Answer, Chosen, Halt, Pondering};

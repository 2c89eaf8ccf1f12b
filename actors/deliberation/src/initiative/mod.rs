//! Initiative: what the brain does unasked, when there is something around to act on.
//!
//! Pure: its state, the law of choice, and its words. The room of turns asks experience and gate, and makes a turn of the chosen
//! act (`turns/opportunity.rs`).

pub(crate) mod choice;
mod settings;
mod state;
pub(crate) mod wording;

pub use choice::ActLaw;
pub use settings::ActingSettings;
pub(crate) use settings::affordances;
pub(crate) use state::{Acting, ActingEvent, Answer, Choice, Chosen, Halt, Pondering};

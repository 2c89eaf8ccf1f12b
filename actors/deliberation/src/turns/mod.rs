//! The room that owns every turn, from the enriched percept to its end.
//!
//! It decides what comes next: a step, a look-up, a question to another room, a thought of the model, or the reply. Reading and
//! wording are done by `maxim_speech`, look-ups in memory by `recollection`, unasked acts by [`crate::initiative`].
//! On the bus, in stores and in the configuration, the room is called `habit`.

mod bridges;
mod consent;
mod counsel;
mod delegation;
mod doubt;
mod goals;
mod handover;
mod opportunity;
mod outcome;
mod percept;
mod plan;
mod programs;
mod region;
mod settings;
mod turn;

pub use region::Turns;
pub use settings::TurnsSettings;

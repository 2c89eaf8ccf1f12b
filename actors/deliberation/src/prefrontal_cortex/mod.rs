//! Prefrontal cortex: deliberation with a language model, where one is configured.
//!
//! Biology: the lateral prefrontal cortex, slow and costly, for what habit doesn't settle.
//! Law: the ThoughtGate (`thought_gate.rs`) says what is worth a thought; it stands in this room, since it decides by what
//! is known here: energy, the last thought, what thinking led to. Then up to three cycles (`cycles.rs`), each a prompt
//! within the model's window and a call within the token budgets of the hour, the day and the session. A thought that isn't ready to act
//! is what memory is asked with; the next cycle sees both. A reply that can't be read, or was cut off, is answered once with
//! the error; a second one, an error or a spent budget hands the turn back to habit. A prompt that the server finds too long
//! is made again for what it told of its window (`window.rs`), and a call that a crash took along is made again (`lost_calls.rs`). Three failures in a row open the circuit for a minute, and
//! then one is enough.
//! Remembers: turns that wait for tools, memory or the model, as records; the last prompt; tokens of this hour and day,
//! failures, counts, what thinking led to, what the senses and the body told last. Forgets: turns when they are answered or stopped, tokens with the day.
//! Down: habit answers at its deadline.

mod agent_states;
mod asking;
mod cycles;
mod identity;
mod lost_calls;
mod model;
mod on_mind;
mod privacy;
mod region;
mod reminding;
mod surroundings;
#[cfg(test)]
mod tests;
mod thinking;
mod thought_gate;
mod transcript;
mod window;

pub use asking::{LAST_PROMPT, LastPrompt, acting_coach, stable_sections};
pub use model::{COUNTS, Counts, Embodiment, PrefrontalSettings, Prices};
pub use region::PrefrontalCortex;

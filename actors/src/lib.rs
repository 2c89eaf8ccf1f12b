//! The rooms of Maxim under one name: regions that decide, effectors that act, and the furniture they stand on.
//!
//! In the order in which a percept passes them:
//!
//! 1. [`perception`]: what is happening? The gateway makes a percept; preemption and salience weigh it.
//! 2. [`memory`]: what does it remind of? An episode is opened, and all memories are asked.
//! 3. [`deliberation`]: what to do? One room owns the turn; the prefrontal cortex thinks with a model.
//! 4. [`gate`]: is it allowed, and is it safe? Nothing acts without its clearance.
//! 5. [`action`]: doing it, and writing down why. The executor is the one hand.
//! 6. [`learning`]: what did it teach? Outcomes meet predictions.
//! 7. [`sleep`]: what to keep? Episodes become small, go, or become concepts.
//!
//! Around them, [`effectors`] carry words and movements in and out. Below them: [`region`] is the furniture of every room,
//! [`store`] its durable state, [`language`] what rooms share about words, [`speech`] the reading and wording of English.
//!
//! Each stage is a crate of its own; this one gives them one name, for programs that embed an agent.
//!
//! `README.md` beside this crate lists all rooms, `WIRING.md` what each hears and says.

pub use maxim_language as language;
pub use maxim_region as region;
pub use maxim_region::wiring;
pub use maxim_speech as speech;
pub use maxim_store as store;

pub use maxim_deliberation as deliberation;
pub use maxim_gate as gate;
pub use maxim_learning as learning;
pub use maxim_memory as memory;
pub use maxim_perception as perception;
pub use maxim_sleep as sleep;

/// Doing it, and the tools that it is done with.
pub mod action {
    pub use maxim_action::*;
    pub use maxim_tools as tools;
}

pub use maxim_effectors as effectors;

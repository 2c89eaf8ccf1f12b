//! The rooms of Maxim: regions that decide, effectors that act, and the furniture they stand on.
//!
//! In the order in which a percept passes them:
//!
//! 1. [`perception`]: what is happening? The gateway makes a percept; preemption and salience weigh it.
//! 2. [`memory`]: what does it remind of? An episode is opened, and all memories are asked.
//! 3. [`deliberation`]: what to do? Habit owns the turn; the prefrontal cortex thinks with a model.
//! 4. [`gate`]: is it allowed, and is it safe? Nothing acts without its clearance.
//! 5. [`action`]: doing it, and writing down why. The executor is the one hand.
//! 6. [`learning`]: what did it teach? Outcomes meet predictions.
//! 7. [`sleep`]: what to keep? Episodes become small, go, or become concepts.
//!
//! Around them, [`effectors`] carry words and movements in and out. Below them: [`region`] is the furniture of every room,
//! [`store`] its durable state, [`language`] what rooms share about words.
//!
//! `README.md` beside this crate lists all rooms, `WIRING.md` what each hears and says.

#[cfg(test)]
mod development_data;
pub mod language;
pub mod region;
pub mod store;

pub mod action;
pub mod deliberation;
pub mod gate;
pub mod learning;
pub mod memory;
pub mod perception;
pub mod sleep;

pub mod effectors;

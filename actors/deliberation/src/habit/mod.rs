//! The embedded reasoner: what the brain does with words when no model thinks for it.
//!
//! Biology: habits of the dorsal striatum, quick and fixed answers to known cues.
//!
//! Its law: understanding is a grammar generated from what the registered tools say about themselves ([`ToolSpeech`]);
//! precision comes before coverage, so what has side effects is asked back rather than guessed; answers are worded
//! from evidence alone. Everything here is pure: no clock, no chance, no state.

mod acting;
pub mod answer;
mod choice;
mod coming_back;
mod consent;
mod corrections;
mod counsel;
mod courtesy;
mod days;
mod doubts;
mod experience;
mod goal_words;
mod goals;
mod grammar;
mod grounds;
mod guard;
mod handing_over;
mod held;
mod inflect;
mod judge;
mod lexicon;
mod looking_up;
mod matcher;
mod opportunities;
mod past;
mod pattern;
mod plan;
mod programs;
mod question_forms;
mod questions;
mod recent;
mod region;
mod settings;
mod small_talk;
mod speech;
mod steps;
mod taking_up;
mod telling;
mod thinking_on;
mod times;
mod tokens;
mod turn;
mod understanding;
mod wanted;

#[cfg(test)]
mod tests;

pub use acting::ActingSettings;
pub use choice::ActLaw;
pub use grammar::{Grammar, GrammarError};
pub use lexicon::terms;
pub use pattern::PatternError;
pub use region::Habit;
pub use settings::HabitSettings;
pub use speech::{Effect, ToolSpeech};
pub use understanding::{Partial, Place, QuestionKind, Side, Step, Understanding, Unsupported, Which, Whose};

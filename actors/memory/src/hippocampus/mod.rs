//! Episodes: what happened.
//!
//! # The life of an episode
//!
//! 1. `capturing`: a percept opens it. The scene of that time is part of it, with labels whose confidence is above 0.5.
//! 2. `linking`: it is linked with episodes that share its goal, objects or rare words, by at most five edges.
//! 3. `outcomes`: results, refusals and pain complete it. When the turn ends, `EpisodeLived` tells the whole of it. A later
//!    yes or no of a person completes it again, and it is told again.
//! 4. A moment that nothing spoke for is let pass. The newest 32 of these are held: one whose action fails or hurts is kept
//!    after all.
//! 5. `sleeping`: sleep scores it. It stays whole, becomes small (about 200 bytes, still found by its words), or goes.
//! 6. `cut`: after a crash, turns that don't go on are closed as unknown.
//!
//! # Removal is complete
//!
//! Sleep and a person's wish remove by one law: record, vector, edges, names and index entries in one commit.
//! `RecordsRemoved` is part of that commit, so a crash only delays the other rooms. If a person had it forgotten, the
//! rooms that learned from it also drop what they learned from nothing else. What sleep removed has taught, and that
//! stays. Later results of a forgotten turn are learned and dropped again: the hippocampus notes the newest forgotten
//! turns and repeats `RecordsRemoved`. The journal, recordings and backups keep such text as long as they are kept
//! themselves.

mod capturing;
pub mod compressed;
mod cut;
pub mod edges;
mod events;
mod evidence;
pub mod exporting;
pub mod held;
pub mod import;
mod importing;
pub mod key_index;
pub mod law;
mod linking;
pub mod model;
mod outcomes;
mod recalling;
mod records;
pub mod region;
mod remembering;
pub mod retention;
mod sleeping;
pub mod spreading;
mod surroundings;
#[cfg(test)]
mod tests;
pub mod text_index;
mod upkeep;

pub use region::{Hippocampus, HippocampusSettings};

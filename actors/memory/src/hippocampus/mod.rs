//! Episodes: what happened.
//!
//! # The life of an episode
//!
//! 1. `capturing`: a percept opens it. The scene at that time is part of it, with labels whose confidence is above
//!    0.5.
//! 2. `linking`: it is linked with episodes that share its goal, objects or rare words, by at most five edges.
//! 3. `outcomes`: results, refusals and pain complete it. When the turn ends, `EpisodeLived` reports all of it. A
//!    person's later yes or no completes it again, and it is reported again.
//! 4. A moment without a reason to store it is not stored. The newest 32 of these are held: one whose action fails or
//!    hurts is stored after all.
//! 5. `sleeping`: sleep scores it. It stays whole, is compressed (about 200 bytes, still found by its words), or is
//!    removed.
//! 6. `cut`: after a crash, turns that don't continue are closed as unknown.
//!
//! # Removal is complete
//!
//! Sleep and a person's wish remove in the same way: record, vector, edges, names and index entries in one commit.
//! `RecordsRemoved` is part of that commit, so a crash only delays the other rooms. If a person had it forgotten, the
//! rooms that learned from it also remove what they learned only from it. If sleep removed it, what it taught stays.
//! Later results of a forgotten turn are learned and then removed again: the hippocampus notes the newest forgotten
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

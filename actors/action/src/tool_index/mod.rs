//! The learned index of tools: which fit a goal, and how many are worth showing with their whole schemas.
//!
//! Law: the score is the coverage of the goal's words by the tool's own words and by words of goals that it served
//! (words of similar meaning included), plus the similarity of meaning, minus what the tool gets for every goal. Only
//! counts and sums are used, so the same successes give the same index in any order. How many tools are shown follows
//! from how well the used ones ranked before.
//! The room that keeps it is in `region.rs`, the room's numbers in `law.rs`.

mod catalog;
mod index;
mod law;
mod learned;
pub mod region;
mod remembering;
mod soft;

#[cfg(test)]
mod tests;

pub use catalog::ToolText;
pub use index::{Ranked, Ranking, ToolIndex};
pub use learned::{Goal, Learned, Sampled};
pub use region::{ToolIndexRoom, ToolIndexSettings};

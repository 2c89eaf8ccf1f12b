//! The learned index of tools: which of them fit a goal, and how many of these are worth their whole schemas.
//!
//! Law: coverage of the goal's words by each tool's own words and by those of the goals that it served, words of near
//! meaning included; the nearness of the goal's meaning to the tool's; less what a tool gets of every goal. Counts and sums
//! alone, so that the same successes give the same index in any order. How many tools are shown follows from how well the
//! used ones ranked before.
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

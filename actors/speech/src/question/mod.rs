//! What is asked: the kind of a question, its topic, its time, and what an answer must hold.

pub mod computation;
pub mod content;
mod forms;
pub(crate) mod kinds;
pub mod topic;
pub mod wanted;
pub mod whereabouts;

//! The vocabulary, one file a stage.

pub mod bridges;
pub mod intent;
pub mod lifecycle;
pub mod outcome;
pub mod percept;
pub mod recall;
pub mod thought;

//! The vocabulary, one file a stage.

pub mod body;
pub mod bridges;
pub mod concepts;
pub mod cycle;
pub mod intent;
pub mod introspection;
pub mod lifecycle;
pub mod numbers;
pub mod outcome;
pub mod percept;
pub mod powers;
pub mod prompt;
pub mod recall;
pub mod similarity;
pub mod skill;
pub mod sleep;
pub mod thought;
pub mod working_memory;

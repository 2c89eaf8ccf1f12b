//! The vocabulary, one file a stage.

pub mod approval;
pub mod associations;
pub mod body;
pub mod bridges;
pub mod concepts;
pub mod cycle;
pub mod encoding;
pub mod goal;
pub mod intent;
pub mod introspection;
pub mod layers;
pub mod lifecycle;
pub mod numbers;
pub mod outbox;
pub mod outcome;
pub mod percept;
pub mod powers;
pub mod prompt;
pub mod recall;
pub mod scene;
pub mod similarity;
pub mod skill;
pub mod sleep;
pub mod strain;
pub mod thought;
pub mod working_memory;

//! Knowledge of meaning: concepts, their properties and their relations.

pub mod cards;
mod document;
mod find;
mod heard;
mod index;
mod joining;
mod learn;
mod meanings;
mod meant;
pub mod model;
mod region;
mod remembering;
mod revising;
mod sentences;
mod tables;
mod unused;
mod upkeep;

#[cfg(test)]
mod tests;

pub use region::{AnteriorTemporalLobe, AtlSettings};

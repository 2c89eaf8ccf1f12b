//! The rooms, in the order in which a percept passes them.

#[cfg(test)]
mod development_data;
pub mod language;
pub mod region;
pub mod store;

pub mod action;
pub mod deliberation;
pub mod gate;
pub mod learning;
pub mod memory;
pub mod perception;
pub mod sleep;

pub mod effectors;

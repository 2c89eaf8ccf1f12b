//! What is happening.

pub mod pain_detector;
pub mod salience;

//! What deserves attention.

pub mod law;

//! The quick sense of numbers.

pub mod law;
pub mod region;

pub use region::IntraparietalSulcus;

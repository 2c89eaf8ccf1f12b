//! Numbers: exact arithmetic, statistics, lines through points. Pure, and the same for all rooms that count.

pub mod analysis;
pub mod arithmetic;
pub mod knowledge;
pub mod matrix;
pub mod statistics;

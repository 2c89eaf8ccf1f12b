//! Scenario files: what happens to an agent over time, and what is expected of it. The whole agent
//! runs in virtual time; its tools work in a folder of their own.

mod check;
mod file;
mod junit;
mod live;

pub use check::{Checked, check};
pub use file::Scenario;
pub use junit::junit;
pub use live::{Lived, live};

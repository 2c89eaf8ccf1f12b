//! Scenario files: what happens to an agent over time, and what is expected of it. The agent is whole and lives in virtual
//! time; its tools work in a folder of its own.

mod check;
mod file;
mod junit;
mod live;

pub use check::{Checked, check};
pub use file::Scenario;
pub use junit::junit;
pub use live::{Lived, live};

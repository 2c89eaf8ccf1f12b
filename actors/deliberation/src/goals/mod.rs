//! What the agent is about: one goal at a time, the others proposed or laid aside.

mod agenda;
mod outcome;
mod region;
#[cfg(test)]
mod tests;

pub use region::Goals;

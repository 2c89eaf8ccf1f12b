//! All that is wrong with a configuration.

use std::fmt;

use super::Fault;

/// All that is wrong, so that it can be put right in one go. Never empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ConfigError {
    pub faults: Vec<Fault>,
    /// Nothing is wrong but values of the command line.
    pub by_flags: bool,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.faults.iter().map(Fault::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl From<Fault> for ConfigError {
    fn from(fault: Fault) -> Self {
        Self { faults: vec![fault], by_flags: false }
    }
}

//! All faults of a configuration.

use std::fmt;

use super::Fault;

/// All faults, so that they can be corrected at once. Never empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ConfigError {
    pub faults: Vec<Fault>,
    /// True if only values of the command line are wrong.
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

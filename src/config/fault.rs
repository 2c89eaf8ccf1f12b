//! What is wrong with a configuration, and how to put it right.

use std::fmt;

/// One thing that is wrong. Prints as `<what> <value>; <fix>`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{found}; {fix}")]
pub struct Fault {
    /// The key, or the file when it can't be read at all.
    pub key: String,
    /// What was found, with the value and where it stands. Secrets are not shown.
    pub found: String,
    pub fix: String,
}

impl Fault {
    pub fn new(key: impl Into<String>, found: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { key: key.into(), found: found.into(), fix: fix.into() }
    }
}

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

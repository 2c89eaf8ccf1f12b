//! What is wrong with a configuration, and how to put it right.

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

//! What a person is to be asked about a call: each reason by itself, with what it is about.

/// Stands in paths for the folder of temporary files that each command has to itself.
pub(super) const SCRATCH: &str = "/tmp/folder-of-this-command";

use super::tables::Hit;

/// One reason for asking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    pub rule: &'static str,
    pub reason: String,
    /// The simple command that it is about, as it was written; none where it isn't about one.
    pub command: Option<String>,
    /// The parameter of the call that it is about; none where it is about the call as a whole.
    pub parameter: Option<String>,
    /// What would be touched, where a later wall may refuse that.
    pub touch: Option<Touch>,
    /// The program that it is about, where the sandbox may refuse that whatever a person says.
    pub(super) hit: Option<Hit>,
}

/// A path outside of the working folder, and what would be done to it. Links are resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Touch {
    /// `is_free`: nothing but its place speaks against reading it.
    Read {
        path: String,
        is_free: bool,
    },
    Write {
        path: String,
    },
    /// It would become the working folder.
    Enter {
        path: String,
    },
}

//! What a person is asked about a call: each reason separately, with what it concerns.

/// Stands in paths for the temporary folder that each command has for itself.
pub(super) const SCRATCH: &str = "/tmp/folder-of-this-command";

use super::tables::Hit;

/// One reason for asking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    pub rule: &'static str,
    pub reason: String,
    /// The simple command concerned, as written; `None` if it concerns no single command.
    pub command: Option<String>,
    /// The parameter concerned; `None` if it concerns the whole call.
    pub parameter: Option<String>,
    /// The path concerned, if a later wall may refuse it.
    pub touch: Option<Touch>,
    /// The program concerned, if the sandbox may refuse it even after a yes.
    pub(super) hit: Option<Hit>,
}

/// A path outside the working folder and what would be done to it. Links are resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Touch {
    /// `is_free`: only the path's place is a reason to ask.
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

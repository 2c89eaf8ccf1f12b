//! A provider's webhook request, and the answer to it.

use super::Arrived;

/// A request to `/hooks/{channel}`, as received.
#[derive(Clone, Copy, Debug)]
pub struct HookRequest<'a> {
    /// Names in lower case; of repeated headers the first counts.
    pub headers: &'a [(String, String)],
    /// Path and query, as requested.
    pub target: &'a str,
    pub body: &'a [u8],
}

impl HookRequest<'_> {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// The contents of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hooked {
    pub messages: Vec<Arrived>,
    /// The answer to send once the messages are on disk.
    pub answer: HookAnswer,
}

/// An answer with status 200.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookAnswer {
    pub content_type: &'static str,
    pub body: String,
}

/// Why a request was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HookRefused {
    #[error("this channel is not called by its provider")]
    NotHere,
    #[error("{0}")]
    Forged(String),
    #[error("{0}")]
    Stale(String),
    #[error("{0}")]
    Malformed(String),
}

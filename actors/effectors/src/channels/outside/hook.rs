//! A provider's post, and its answer.

use super::Arrived;

/// A request to `/hooks/{channel}`, unchanged.
#[derive(Clone, Copy, Debug)]
pub struct HookRequest<'a> {
    /// Names in lower case; of a repeated header the first counts.
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

/// The content of a post.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hooked {
    pub messages: Vec<Arrived>,
    /// The answer, sent once the messages are on disk.
    pub answer: HookAnswer,
}

/// An answer with status 200.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookAnswer {
    pub content_type: &'static str,
    pub body: String,
}

/// Why nothing was accepted.
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

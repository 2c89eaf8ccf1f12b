//! Every bound on input from outside, in one table.
//!
//! A field from outside passes its [`Bound`] before it is kept. The table also says what happens to a field that is
//! too long, so no door decides that by itself. `deploy/bounds.md` is this table; a test keeps the two equal.

use std::borrow::Cow;
use std::fmt::Write;

use sha2::{Digest, Sha256};

/// What a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Bytes,
    /// Items of the kind that the bound names.
    Pieces,
    Seconds,
    PerSecond,
}

impl Unit {
    const fn word(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Pieces => "",
            Self::Seconds => "s",
            Self::PerSecond => "a second",
        }
    }
}

/// What happens to input beyond a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    /// It is refused, and the refusal names the field and the limit. By HTTP: 422, or 413 for a whole body or text.
    Refused,
    /// Its end is cut off, and a note says that.
    Cut,
    /// It is replaced by its digest (SHA-256), so two different ones stay different.
    Digested,
    /// It is left out, and counted or reported.
    LeftOut,
    /// The connection ends, and the reason is reported.
    Ended,
    /// The least useful part is dropped, and that is reported.
    Shed,
    /// The oldest connection without a whole request is closed, so that the new one gets in.
    OldestClosed,
}

impl Excess {
    const fn words(self) -> &'static str {
        match self {
            Self::Refused => "refused, naming field and limit",
            Self::Cut => "cut, with a note",
            Self::Digested => "replaced by its digest",
            Self::LeftOut => "left out, and reported",
            Self::Ended => "the connection ends, with the reason",
            Self::Shed => "the least useful part is dropped, and that is reported",
            Self::OldestClosed => "the oldest connection without a whole request is closed",
        }
    }
}

/// A limit on one kind of input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    pub name: &'static str,
    /// The door by which it comes in.
    pub at: &'static str,
    pub limit: usize,
    pub unit: Unit,
    pub excess: Excess,
}

/// Something from outside is beyond its bound.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name} has {found} bytes; at most {limit} are taken")]
pub struct TooMuch {
    pub name: &'static str,
    pub found: usize,
    pub limit: usize,
}

/// Appended to a text that was cut.
const CUT: &str = "… (cut)";

impl Bound {
    const fn new(name: &'static str, at: &'static str, limit: usize, unit: Unit, excess: Excess) -> Self {
        Self { name, at, limit, unit, excess }
    }

    const fn bytes(name: &'static str, at: &'static str, limit: usize, excess: Excess) -> Self {
        Self::new(name, at, limit, Unit::Bytes, excess)
    }

    /// Returns the text as it came, or shortened as the table says. A text that is too long and is neither cut nor
    /// digested is refused.
    ///
    /// # Errors
    /// The text is too long, and the table allows no shorter form.
    pub fn take<'a>(&self, text: &'a str) -> Result<Cow<'a, str>, TooMuch> {
        if text.len() <= self.limit {
            return Ok(Cow::Borrowed(text));
        }
        match self.excess {
            Excess::Cut => Ok(Cow::Owned(self.cut(text))),
            Excess::Digested => Ok(Cow::Owned(digest(text))),
            _ => Err(TooMuch { name: self.name, found: text.len(), limit: self.limit }),
        }
    }

    /// The limit in words, such as "512 bytes".
    pub fn amount(&self) -> String {
        format!("{} {}", self.limit, self.unit.word()).trim_end().to_owned()
    }

    /// At most the limit, with a note where something is missing. For callers that need a text in any case.
    pub fn cut(&self, text: &str) -> String {
        if text.len() <= self.limit {
            return text.to_owned();
        }
        let end = text.floor_char_boundary(self.limit.saturating_sub(CUT.len()));
        format!("{}{CUT}", &text[..end])
    }
}

/// Replaces an id that is too long. 128 bits of SHA-256, because a sender may try to make two ids collide.
pub fn digest(text: &str) -> String {
    written(&Sha256::digest(text.as_bytes()))
}

/// The same of several parts: two lists of parts that differ have different digests.
pub fn digest_of(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    written(&hash.finalize())
}

fn written(hash: &[u8]) -> String {
    let mut out = String::from("sha256:");
    for byte in hash.iter().take(16) {
        let _ = write!(out, "{byte:02x}");
    }
    out
}

macro_rules! bounds {
    ($($(#[$doc:meta])* $name:ident = $bound:expr;)*) => {
        $($(#[$doc])* pub const $name: Bound = $bound;)*

        /// All of them, in the order of the document.
        pub const ALL: &[Bound] = &[$($name),*];
    };
}

use Excess::{Cut, Digested, Ended, LeftOut, OldestClosed, Refused, Shed};

bounds! {
    /// A message's sender. An e-mail address has at most 254 bytes (RFC 5321).
    SENDER = Bound::bytes("sender", "HTTP, WebSocket, every channel", 320, Refused);
    /// The message's name, given by the provider or the caller.
    PROVIDER_ID = Bound::bytes("provider_id", "HTTP, WebSocket, every channel", 512, Refused);
    USER = Bound::bytes("user", "POST /v1/chat/completions", 320, Refused);
    IDEMPOTENCY_KEY = Bound::bytes("Idempotency-Key", "POST /v1/percepts, /v1/chat/completions", 255, Refused);
    /// A channel's name.
    CHANNEL = Bound::bytes("channel", "every message", 64, Refused);
    /// Any text field without a bound of its own.
    FIELD = Bound::bytes("a text field", "HTTP, where nothing else is said", 4096, Refused);
    /// The text of a message. `gateway.text_max` is the narrower bound that a person sets; over HTTP a longer text is
    /// refused.
    TEXT = Bound::bytes("text", "every channel", 1 << 20, Cut);
    DOCUMENT = Bound::bytes("a document's text", "POST /v1/memory/ingest", 512 << 10, Refused);
    /// Why the agent was stopped, and by whom. A stop takes effect however long the reason is.
    REASON = Bound::bytes("reason", "every way to stop", 1000, Cut);
    OBJECT = Bound::bytes("an object's or person's name", "POST /v1/observations", 200, Refused);
    JOINT = Bound::bytes("a joint or axis", "POST /v1/observations", 80, Refused);
    SOURCE = Bound::bytes("source", "POST /v1/observations", 80, Refused);
    PLACE = Bound::bytes("a place that hurts", "POST /v1/observations", 80, Refused);
    PAIN_REASON = Bound::bytes("why it hurts", "POST /v1/observations", 1000, Refused);
    /// A JSON value given as one field.
    VALUE = Bound::bytes("a JSON field", "HTTP", 256 << 10, Refused);
    LIST = Bound::new("a list's entries", "HTTP", 1024, Unit::Pieces, Refused);
    IMPORT_LINE = Bound::bytes("a line", "POST /v1/memory/import", 1 << 20, LeftOut);
    IMPORT_ID = Bound::bytes("id or key of a line", "POST /v1/memory/import", 1024, LeftOut);
    SEGMENT = Bound::bytes("a part of the path", "HTTP", 512, Refused);
    HEADERS = Bound::new("header fields", "HTTP", 64, Unit::Pieces, Refused);
    HEAD = Bound::bytes("request line and headers", "HTTP", 64 << 10, Refused);
    HOOK = Bound::bytes("a webhook's body", "POST /hooks/{channel}", 256 << 10, Refused);
    SOCKET_FRAME = Bound::bytes("a frame", "WebSocket", 1 << 20, Ended);
    SOCKET_BACKLOG = Bound::new("words that a reader has not fetched", "WebSocket, streams", 1024, Unit::Pieces, Ended);
    /// Also applies to a connection that waits for its next request.
    HEAD_TIME = Bound::new("time for the headers, and between requests", "HTTP", 30, Unit::Seconds, Ended);
    BODY_PAUSE = Bound::new("time between two pieces of a body", "HTTP", 20, Unit::Seconds, Refused);
    BODY_TIME = Bound::new("time for a whole body", "HTTP", 300, Unit::Seconds, Refused);
    WRITE_PAUSE = Bound::new("time in which a reader takes nothing, before its connection may be closed for a newcomer",
        "HTTP", 10, Unit::Seconds, OldestClosed);
    SOCKET_SILENCE = Bound::new("time without a sign of life (it is pinged every 30 s)", "WebSocket", 90, Unit::Seconds, Ended);
    /// Fewer where the limit of open files is low.
    CONNECTIONS = Bound::new("connections", "HTTP", 512, Unit::Pieces, OldestClosed);
    PEER_CONNECTIONS = Bound::new("connections of one address", "HTTP", 384, Unit::Pieces, OldestClosed);
    /// Connections beyond those, reserved for stop, status and health.
    RESERVE = Bound::new("connections beyond those, for stop, status and health alone", "HTTP", 16, Unit::Pieces, OldestClosed);
    /// Fewer where the limit of open files is low. They count towards no other limit.
    SHED = Bound::new("connections that made place and may still become a stop, within 5 s", "HTTP", 256, Unit::Pieces,
        OldestClosed);
    SOCKETS = Bound::new("WebSockets", "WebSocket", 128, Unit::Pieces, Refused);
    PEER_SOCKETS = Bound::new("WebSockets of one address", "WebSocket", 64, Unit::Pieces, Refused);
    /// The id of an e-mail message. References and subject are also read up to this length.
    MESSAGE_ID = Bound::bytes("Message-ID", "e-mail", 256, Digested);
    SUBJECT = Bound::bytes("subject that goes with an answer", "e-mail", 480, Cut);
    LETTER = Bound::bytes("a letter", "e-mail", 4 << 20, LeftOut);
    RESULTS = Bound::bytes("Authentication-Results", "e-mail", 16 << 10, LeftOut);
    TOPIC = Bound::bytes("topic", "MQTT", 1024, LeftOut);
    PUBLICATION = Bound::bytes("a publication", "MQTT", 256 << 10, Ended);
    /// Also limits the data of one event, which may be several lines.
    MODEL_LINE = Bound::bytes("a line or event of a reply's stream", "model server", 1 << 20, Ended);
    MODEL_ANSWER = Bound::bytes("an answer", "model server, embeddings server", 8 << 20, Ended);
    /// A model's text is a plan or an answer. A room reads all of it in one step.
    MODEL_TEXT = Bound::bytes("the text of a reply", "model server", 256 << 10, Ended);
    /// The pieces of a stream carry much besides the text.
    MODEL_STREAM = Bound::bytes("a reply's stream", "model server", 64 << 20, Ended);
    /// Usually one event per token. The longest replies of current models have 128 000 tokens.
    MODEL_EVENTS = Bound::new("events of a reply's stream", "model server", 150_000, Unit::Pieces, Ended);
    PROVIDER_ANSWER = Bound::bytes("an answer", "Telegram, Slack, Twilio, Discord", 4 << 20, Ended);
    MCP_MESSAGE = Bound::bytes("a message", "MCP server", 8 << 20, LeftOut);
    MCP_LINES = Bound::new("lines, over ten seconds", "MCP server", 200, Unit::PerSecond, Ended);
    MCP_BYTES = Bound::new("bytes, over ten seconds", "MCP server", 8 << 20, Unit::PerSecond, Ended);
    MCP_TOOL = Bound::bytes("all that is said of one tool", "MCP server", 64 << 10, LeftOut);
    ROOT = Bound::bytes("a room's root state", "store", 16 << 20, Shed);
}

/// The table as a document.
pub fn document() -> String {
    let mut out = String::from(
        "# Bounds\n\nHow much may come from outside, and what happens beyond that. Generated from `bus/src/bounds.rs`; a test \
         keeps it equal.\nBytes are those of UTF-8. Two narrower bounds are a person's to set: `gateway.text_max` (a text that \
         becomes a percept) and `http.body_max` (a request's body).\n\n| what | where | at most | beyond that |\n|---|---|---|---|\n",
    );
    for bound in ALL {
        let _ = writeln!(out, "| {} | {} | {} | {} |", bound.name, bound.at, bound.amount(), bound.excess.words());
    }
    out
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_document_is_the_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/bounds.md");
        if std::env::var_os("BOUNDS_UPDATE").is_some() {
            std::fs::write(path, document()).expect("written");
        }
        let written = std::fs::read_to_string(path).expect("deploy/bounds.md is there");
        assert!(written == document(), "deploy/bounds.md is old: run this test with BOUNDS_UPDATE=1");
    }

    #[test]
    fn no_two_bounds_are_of_the_same_thing() {
        let named: BTreeSet<_> = ALL.iter().map(|bound| (bound.name, bound.at)).collect();
        assert_eq!(named.len(), ALL.len());
    }

    #[test]
    fn two_long_ids_never_become_one_and_a_short_one_stays() {
        let (one, two) = ("a".repeat(1_000_000), format!("{}b", "a".repeat(999_999)));
        let taken = |text: &str| MESSAGE_ID.take(text).expect("its digest").into_owned();
        assert_ne!(taken(&one), taken(&two));
        assert_eq!(taken(&one), taken(&one));
        assert_eq!(taken("m1@example.org"), "m1@example.org");
        let refused = SENDER.take(&one).expect_err("refused");
        assert_eq!(refused.to_string(), "sender has 1000000 bytes; at most 320 are taken");
    }

    proptest! {
        #[test]
        fn what_is_taken_is_within_its_bound(text in "(?s).{0,40}", times in 0_usize..200) {
            let long = text.repeat(times);
            for bound in ALL.iter().filter(|bound| bound.unit == Unit::Bytes && bound.limit < 2000) {
                match bound.take(&long) {
                    Ok(taken) => prop_assert!(taken.len() <= bound.limit.max(40)),
                    Err(refused) => prop_assert!(refused.found > refused.limit && bound.excess != Cut),
                }
                prop_assert!(bound.cut(&long).len() <= bound.limit);
            }
        }
    }
}

//! Why a model server gave no answer, and the fix.

use std::time::Duration;

use jiff::fmt::rfc2822;
use maxim_bus::bounds::{Bound, MODEL_ANSWER};
use maxim_bus::signals::thought::Overflow;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use reqwest::{Response, StatusCode};
use serde_json::Value as Json;

/// Requests of one call beyond the first, if the fault may be temporary.
pub const RETRIES: u32 = 3;
/// Characters of a server's message that are kept.
const SAID: usize = 300;

/// Words by which servers say that a prompt is too long for the model.
const TOO_LONG: [&str; 7] = [
    "exceed_context_size",
    "context_length_exceeded",
    "context length",
    "context size",
    "context window",
    "maximum context",
    "prompt is too long",
];

/// Maximum length of an answer, in bytes.
pub const ANSWER_MAX: usize = MODEL_ANSWER.limit;

/// An answer without error. An error keeps its status and the whole body, which may have any shape.
pub async fn accepted(response: Response) -> Result<Response, Fault> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let retry_after = retry_after(response.headers());
    let body = String::from_utf8_lossy(&whole(response).await.unwrap_or_default()).into_owned();
    Err(Fault::Refused { status, retry_after, body })
}

/// How long the server wants no further request: seconds, or a date, relative to the server's own (RFC 9110, 10.2.3).
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let wish = text(RETRY_AFTER)?;
    if let Ok(seconds) = wish.parse() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = |text: &str| rfc2822::parse(text).ok().map(|at| at.timestamp());
    let (then, now) = (date(wish)?, date(text(DATE)?)?);
    Some(Duration::try_from(then.duration_since(now)).unwrap_or_default())
}

/// An answer's body.
pub async fn whole(mut response: Response) -> Result<Vec<u8>, Fault> {
    let mut body = Vec::new();
    while let Some(part) = response.chunk().await.map_err(|error| Fault::Lost(told(&error)))? {
        body.extend_from_slice(&part);
        if body.len() > ANSWER_MAX {
            return Err(Fault::TooLong(ANSWER_MAX));
        }
    }
    Ok(body)
}

/// The fault of a failed sending: an absent server is different from a broken connection.
pub fn unsent(error: &reqwest::Error) -> Fault {
    match error.is_connect() {
        true => Fault::Unreachable(told(error)),
        false => Fault::Lost(told(error)),
    }
}

/// Why there is no reply.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The server answered with an error.
    #[error("{status}: {}", message(body))]
    Refused { status: StatusCode, retry_after: Option<Duration>, body: String },
    /// The answer doesn't have the form of the interface.
    #[error("its answer has not the requested form: {0}")]
    Garbage(String),
    /// A stream that ended before the reply was complete.
    #[error("its answer ended in the middle")]
    Cut,
    #[error("its answer is longer than {0} bytes")]
    TooLong(usize),
    /// More of something came than its bound allows.
    #[error("there is too much of {}: more than {}; the rest was left unread (deploy/bounds.md)", .0.name, .0.amount())]
    Excess(Bound),
    /// Nothing accepted the connection.
    #[error("{0}")]
    Unreachable(String),
    /// The connection broke, or was never made.
    #[error("{0}")]
    Lost(String),
    /// It asks for a longer delay than there is time.
    #[error("it is busy, and asks to be left alone for {} s", .0.as_secs())]
    Busy(Duration),
    #[error("no answer within {} s", .0.as_secs_f64())]
    Late(Duration),
    #[error("the call was abandoned because of a stop")]
    Stopped,
}

impl Fault {
    /// The same without this key: some servers repeat what they were sent.
    pub fn without(self, key: &str) -> Self {
        let clean = |said: String| if key.is_empty() { said } else { said.replace(key, "(key)") };
        match self {
            Self::Refused { status, retry_after, body } => Self::Refused { status, retry_after, body: clean(body) },
            Self::Garbage(said) => Self::Garbage(clean(said)),
            Self::Unreachable(said) => Self::Unreachable(clean(said)),
            Self::Lost(said) => Self::Lost(clean(said)),
            other => other,
        }
    }

    /// How many retries of the same request make sense.
    pub fn retries(&self) -> u32 {
        let passes = match self {
            // An account without money won't have any in a second.
            Self::Refused { status, body, .. } => match status.as_u16() {
                429 => !body.contains("insufficient_quota"),
                408 | 500 | 502 | 503 | 504 | 529 => true,
                _ => false,
            },
            Self::Garbage(_) | Self::Cut | Self::Lost(_) => true,
            // A person waits, and a server that is down is seldom up in a second.
            Self::Unreachable(_) => return 1,
            Self::TooLong(_) | Self::Excess(_) | Self::Busy(_) | Self::Late(_) | Self::Stopped => false,
        };
        if passes { RETRIES } else { 0 }
    }

    /// True if the server works and refuses the request: it may not support the requested format.
    pub fn refuses_form(&self) -> bool {
        matches!(self, Self::Refused { status, .. } if matches!(status.as_u16(), 400 | 415 | 422 | 501))
            && self.overflow().is_none()
    }

    /// The prompt is too long; with the server's numbers.
    pub fn overflow(&self) -> Option<Overflow> {
        let Self::Refused { status, body, .. } = self else { return None };
        let is_told = status.is_client_error() || *status == StatusCode::INTERNAL_SERVER_ERROR;
        let said = body.to_lowercase();
        if !is_told || !TOO_LONG.iter().any(|words| said.contains(words)) {
            return None;
        }
        let fields: Json = serde_json::from_str(body).unwrap_or_default();
        let field = |name: &str| {
            let found = fields.pointer(&format!("/error/{name}")).and_then(Json::as_u64);
            found.and_then(|count| u32::try_from(count).ok())
        };
        let text = message(body).to_lowercase();
        // "maximum context length is 8192 tokens. However, you requested 9123 tokens", and similar texts.
        let behind = |words: &[&str]| words.iter().find_map(|word| number_behind(&text, word));
        Some(Overflow {
            prompt_tokens: field("n_prompt_tokens").or_else(|| behind(&["requested", "resulted in", "request ("])),
            window: field("n_ctx").or_else(|| {
                behind(&[
                    "context length is",
                    "context length of only",
                    "context length of",
                    "context size (",
                    "maximum of",
                ])
            }),
        })
    }
}

/// The first number soon after these words.
fn number_behind(text: &str, words: &str) -> Option<u32> {
    let rest = &text[text.find(words)? + words.len()..];
    let start = rest.find(|c: char| c.is_ascii_digit()).filter(|start| *start <= 12)?;
    let digits: String = rest[start..].chars().take_while(|c| c.is_ascii_digit() || *c == ',').collect();
    digits.replace(',', "").parse().ok()
}

/// The message in an error's body, in any shape.
fn message(body: &str) -> String {
    let fields: Json = serde_json::from_str(body).unwrap_or_default();
    let places = ["/error/message", "/error", "/message", "/detail"];
    let found = places.iter().find_map(|place| fields.pointer(place).and_then(Json::as_str));
    clip(found.unwrap_or(body).trim())
}

/// With all causes: the outermost error of a client says little.
pub fn told(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let mut parts: Vec<String> = causes.map(ToString::to_string).collect();
    // Many errors repeat their causes.
    parts.dedup_by(|inner, outer| outer.contains(inner.as_str()));
    parts.join(": ")
}

pub fn clip(text: &str) -> String {
    text.chars().take(SAID).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(status: u16, body: &str) -> Fault {
        let status = StatusCode::from_u16(status).expect("a status");
        Fault::Refused { status, retry_after: None, body: body.into() }
    }

    #[test]
    fn a_wish_to_be_left_alone_is_read_in_seconds_or_as_a_date_by_the_servers_clock() {
        let wish = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, value.parse().expect("a value"));
            headers.insert(DATE, "Tue, 24 Nov 2026 10:00:00 GMT".parse().expect("a value"));
            retry_after(&headers)
        };
        assert_eq!(wish("7"), Some(Duration::from_secs(7)));
        assert_eq!(wish("0.5"), Some(Duration::from_millis(500)));
        assert_eq!(wish("Tue, 24 Nov 2026 10:01:30 GMT"), Some(Duration::from_secs(90)));
        assert_eq!(wish("Tue, 24 Nov 2026 09:00:00 GMT"), Some(Duration::ZERO), "it is over");
        assert!(["soon", "-1", "NaN", "inf", ""].into_iter().all(|value| wish(value).is_none()));
    }

    #[test]
    fn a_prompt_that_is_too_long_is_seen_in_the_words_of_each_server() {
        let seen = |status, body: &str| {
            let overflow = refused(status, body).overflow().expect(body);
            (overflow.prompt_tokens, overflow.window)
        };
        let llama = r#"{"error":{"code":400,"message":"request (18031 tokens) exceeds the available context size (8192 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":18031,"n_ctx":8192}}"#;
        assert_eq!(seen(400, llama), (Some(18_031), Some(8_192)));
        let openai = r#"{"error":{"message":"This model's maximum context length is 8,192 tokens. However, your messages resulted in 9123 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}"#;
        assert_eq!(seen(400, openai), (Some(9_123), Some(8_192)));
        let plain = r#"{"error":"the context length of only 4096 tokens is not enough"}"#;
        assert_eq!(seen(500, plain), (None, Some(4_096)));
        assert_eq!(seen(413, "prompt is too long"), (None, None));
        assert_eq!(refused(400, r#"{"error":{"message":"no such model"}}"#).overflow(), None);
        assert_eq!(refused(503, llama).overflow(), None, "a server that is ill says nothing of the prompt");
    }

    #[test]
    fn what_passes_is_told_from_what_stays() {
        for status in [408, 429, 500, 502, 503, 504] {
            assert_eq!(refused(status, "{}").retries(), RETRIES, "{status}");
        }
        for status in [400, 401, 403, 404, 422, 501] {
            assert_eq!(refused(status, "{}").retries(), 0, "{status}");
        }
        assert_eq!(refused(429, r#"{"error":{"type":"insufficient_quota"}}"#).retries(), 0);
        assert!(refused(400, r#"{"error":{"message":"response_format is unknown"}}"#).refuses_form());
        assert!(!refused(400, "context_length_exceeded").refuses_form() && !refused(401, "").refuses_form());
    }

    #[test]
    fn an_error_says_what_the_server_said_in_whatever_shape() {
        for body in [
            r#"{"error":{"message":"no such model","code":404}}"#,
            r#"{"error":"no such model"}"#,
            r#"{"detail":"no such model"}"#,
            "no such model\n",
        ] {
            assert_eq!(refused(404, body).to_string(), "404 Not Found: no such model");
        }
    }
}

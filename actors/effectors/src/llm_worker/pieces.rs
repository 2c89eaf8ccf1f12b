//! Assembles a reply from its pieces.

use maxim_bus::bounds::MODEL_TEXT;
use reqwest::StatusCode;
use serde_json::Value as Json;

use crate::server_fault::{Fault, clip};

/// The parts of a reply so far.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    text: Option<String>,
    /// The model's reason for the end; `None` before the end.
    finish: Option<String>,
    prompt_tokens: u32,
    completion_tokens: u32,
    /// The last piece, for error messages.
    last: Json,
}

/// A complete reply.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Whole {
    pub text: String,
    /// Its tokens ran out before the model ended it.
    pub is_cut: bool,
    pub prompt_tokens: u32,
    pub completion_tokens: u32,
}

impl Pieces {
    /// Takes the next piece: a part of a streamed reply, or a whole reply.
    pub fn take(&mut self, piece: Json) -> Result<(), Fault> {
        if let Some(error) = piece.get("error").filter(|error| !error.is_null()) {
            let code = error.get("code").and_then(Json::as_u64).and_then(|code| u16::try_from(code).ok());
            let status = code.and_then(|code| StatusCode::from_u16(code).ok());
            let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            return Err(Fault::Refused { status, retry_after: None, body: piece.to_string() });
        }
        if let Some(choice) = piece.pointer("/choices/0") {
            let parts = [choice.pointer("/delta/content"), choice.pointer("/message/content")];
            for part in parts.into_iter().flatten().filter_map(Json::as_str) {
                self.text.get_or_insert_default().push_str(part);
            }
            if let Some(reason) = choice.get("finish_reason").and_then(Json::as_str) {
                self.finish = Some(reason.into());
            } else if choice.get("message").is_some() {
                self.finish = Some("stop".into()); // some servers omit it in a complete reply
            }
        }
        let tokens = |field: &str| {
            let count = piece.pointer(&format!("/usage/{field}")).and_then(Json::as_u64);
            count.map(|count| u32::try_from(count).unwrap_or(u32::MAX))
        };
        self.prompt_tokens = tokens("prompt_tokens").unwrap_or(self.prompt_tokens);
        self.completion_tokens = tokens("completion_tokens").unwrap_or(self.completion_tokens);
        self.last = piece;
        match self.text.as_ref().is_some_and(|text| text.len() > MODEL_TEXT.limit) {
            true => Err(Fault::TooLong(MODEL_TEXT.limit)),
            false => Ok(()),
        }
    }

    /// The stream has ended. A broken stream ends in the same way: the reply is complete if the model said so.
    pub fn finish(self) -> Result<Whole, Fault> {
        let Self { text, finish, prompt_tokens, completion_tokens, last } = self;
        match (text, finish) {
            (_, None) if last.get("choices").is_some() => Err(Fault::Cut),
            (Some(text), Some(finish)) => {
                Ok(Whole { text, is_cut: finish == "length", prompt_tokens, completion_tokens })
            }
            _ if last.is_null() => Err(Fault::Cut),
            _ => Err(Fault::Garbage(clip(&last.to_string()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn joined(pieces: &[Json]) -> Result<Whole, Fault> {
        let mut all = Pieces::default();
        for piece in pieces {
            all.take(piece.clone())?;
        }
        all.finish()
    }

    fn piece(content: &str, finish: Option<&str>) -> Json {
        json!({ "choices": [{ "index": 0, "delta": { "content": content }, "finish_reason": finish }] })
    }

    #[test]
    fn pieces_join_and_the_tokens_come_last() {
        let usage = json!({ "choices": [], "usage": { "prompt_tokens": 7, "completion_tokens": 2 } });
        let role = json!({ "choices": [{ "delta": { "role": "assistant", "content": null } }] });
        let whole = joined(&[role, piece("{\"a\"", None), piece(":1}", Some("stop")), usage]).expect("whole");
        let expected = Whole { text: "{\"a\":1}".into(), is_cut: false, prompt_tokens: 7, completion_tokens: 2 };
        assert_eq!(whole, expected);
        let at_once = json!({ "choices": [{ "message": { "content": "hi" } }] });
        assert_eq!(joined(&[at_once]).expect("whole").text, "hi");
        assert!(joined(&[piece("a", Some("length"))]).expect("whole").is_cut);
    }

    #[test]
    fn a_text_beyond_its_bound_is_no_reply() {
        let half = "x".repeat(MODEL_TEXT.limit / 2);
        let mut pieces = Pieces::default();
        for _ in 0..2 {
            pieces.take(piece(&half, None)).expect("within the bound");
        }
        let fault = pieces.take(piece("x", Some("stop"))).expect_err("too long");
        assert!(matches!(fault, Fault::TooLong(limit) if limit == MODEL_TEXT.limit), "{fault}");
    }

    #[test]
    fn a_stream_that_ends_early_is_cut_and_an_error_in_it_is_an_error() {
        assert!(matches!(joined(&[piece("{\"a\"", None)]), Err(Fault::Cut)));
        assert!(matches!(joined(&[]), Err(Fault::Cut)));
        assert!(matches!(joined(&[json!({ "hello": 1 })]), Err(Fault::Garbage(_))));
        let error = joined(&[piece("{", None), json!({ "error": { "code": 503, "message": "overloaded" } })]);
        let error = error.expect_err("an error");
        assert!(error.retries() > 0 && error.to_string().contains("overloaded"), "{error}");
    }
}

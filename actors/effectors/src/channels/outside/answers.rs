//! What an HTTP server's answer means for a message.

use std::time::Duration;

use maxim_bus::bounds::PROVIDER_ANSWER;
use maxim_bus::signals::outbox::Attempted;
use reqwest::{RequestBuilder, StatusCode, header};
use serde_json::Value as Json;

/// How long a provider may take to answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// Maximum length of a server's text that is kept, in characters.
const TOLD: usize = 300;

/// Posts a message; returns the server's answer if it accepted the message.
///
/// # Errors
/// The result of the attempt, if the message wasn't accepted.
pub(super) async fn post(request: RequestBuilder) -> Result<Json, Attempted> {
    let answer = request.timeout(PATIENCE).send().await.map_err(|error| unanswered(&error))?;
    let status = answer.status();
    let asked = answer.headers().get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    let body = bounded(answer).await;
    if status.is_success() {
        // It was accepted, whatever else the answer says.
        return Ok(body.ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or(Json::Null));
    }
    Err(of_status(status, asked, &body.unwrap_or_default()))
}

/// The text of an answer, within its bound.
///
/// # Errors
/// The answer broke off, or is too long.
pub(super) async fn bounded(mut answer: reqwest::Response) -> Result<String, String> {
    let mut body = Vec::new();
    while let Some(part) = answer.chunk().await.map_err(|error| reason(&error))? {
        body.extend_from_slice(&part);
        if body.len() > PROVIDER_ANSWER.limit {
            return Err(format!("its answer is longer than {} bytes", PROVIDER_ANSWER.limit));
        }
    }
    Ok(String::from_utf8_lossy(&body).into_owned())
}

/// A request without an answer. Its address may contain a secret, so it isn't shown.
pub(super) fn unanswered(error: &reqwest::Error) -> Attempted {
    let why = reason(error);
    match (error.is_builder(), error.is_connect()) {
        (true, _) => {
            Attempted::Refused { why: format!("the request can't be made: {why}; check the channel's settings") }
        }
        (_, true) => Attempted::NotNow { why: format!("the provider can't be reached: {why}"), retry_after_s: None },
        _ => Attempted::Unknown { why: format!("the provider did not answer: {why}") },
    }
}

/// The deepest cause of an error. The error's own text contains the address, which may contain a secret.
pub(super) fn reason(error: &reqwest::Error) -> String {
    let mut cause = std::error::Error::source(error);
    while let Some(deeper) = cause.and_then(std::error::Error::source) {
        cause = Some(deeper);
    }
    match cause {
        Some(cause) if !error.is_timeout() => cause.to_string(),
        _ if error.is_timeout() => "no answer came in time".into(),
        _ => "the connection or its answer broke off".into(),
    }
}

/// The meaning of a refusal. An error of a gateway says nothing about the server behind it.
fn of_status(status: StatusCode, retry_after_s: Option<u64>, body: &str) -> Attempted {
    let said = words(body);
    let why = format!("the provider answered {}: {said}", status.as_u16());
    match status.as_u16() {
        401 | 403 => Attempted::Refused { why: format!("{why}; check the channel's secrets") },
        408 | 502 | 504 => Attempted::Unknown { why },
        429 | 500 | 503 => Attempted::NotNow { why, retry_after_s },
        _ => Attempted::Refused { why },
    }
}

/// The server's own text, wherever it is in the answer.
fn words(body: &str) -> String {
    let json: Json = serde_json::from_str(body).unwrap_or(Json::Null);
    let named = ["message", "detail", "description", "error", "title"].iter().find_map(|name| json[*name].as_str());
    let text = named.unwrap_or(body).trim();
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(TOLD).collect();
    if text.is_empty() { "nothing".into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(status: u16, body: &str) -> Attempted {
        of_status(StatusCode::from_u16(status).expect("a status"), Some(7), body)
    }

    #[test]
    fn a_refusal_is_told_in_the_servers_words_and_only_what_passes_is_tried_again() {
        let Attempted::Refused { why } = of(400, "{\"code\": 21211, \"message\": \"The 'To' number is not valid\"}")
        else {
            panic!("refused")
        };
        assert!(why.contains("400") && why.contains("The 'To' number is not valid"), "{why}");
        assert!(matches!(of(401, ""), Attempted::Refused { why } if why.contains("secrets")));
        for later in [429, 500, 503] {
            assert!(matches!(of(later, "busy"), Attempted::NotNow { retry_after_s: Some(7), .. }), "{later}");
        }
        for unknown in [408, 502, 504] {
            assert!(matches!(of(unknown, ""), Attempted::Unknown { .. }), "{unknown}");
        }
    }
}

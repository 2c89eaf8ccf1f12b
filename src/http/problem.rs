//! Errors as RFC 9457 problem documents: what is wrong, and what to do about it.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use maxim_actors::effectors::door::Unanswered;
use maxim_bus::bounds::TooMuch;
use serde_json::{Map, Value, json};

/// A refusal.
#[derive(Clone, Debug)]
pub struct Problem {
    pub status: StatusCode,
    /// The thing and the value that are wrong.
    pub detail: String,
    /// What the caller can do.
    pub fix: String,
    /// Seconds after which trying again makes sense.
    pub retry_after: Option<u32>,
    /// Further members of the document.
    pub more: Map<String, Value>,
}

/// The result of a handler.
pub type Answer = Result<Response, Problem>;

impl Problem {
    pub fn new(status: StatusCode, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { status, detail: detail.into(), fix: fix.into(), retry_after: None, more: Map::new() }
    }

    pub fn bad(detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail, fix)
    }

    /// A field is beyond its bound.
    pub fn too_much(detail: impl Into<String>, field: &str, limit: usize) -> Self {
        let fix = format!("give at most {limit} bytes; deploy/bounds.md lists all bounds");
        let mut problem = Self::new(StatusCode::UNPROCESSABLE_ENTITY, detail, fix);
        problem.more.insert("field".into(), field.into());
        problem.more.insert("limit_bytes".into(), limit.into());
        problem
    }

    /// The same for a part of a message.
    pub fn beyond(much: &TooMuch) -> Self {
        Self::too_much(much.to_string(), much.name, much.limit)
    }

    /// A refusal that may be over later.
    pub fn later(detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { retry_after: Some(1), ..Self::new(StatusCode::SERVICE_UNAVAILABLE, detail, fix) }
    }

    pub fn document(&self) -> Value {
        let mut document = json!({
            "type": "about:blank",
            "title": self.status.canonical_reason().unwrap_or("Error"),
            "status": self.status.as_u16(),
            "detail": self.detail,
            "fix": self.fix,
        });
        if let Value::Object(members) = &mut document {
            members.extend(self.more.clone());
        }
        document
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = self.document().to_string();
        let kind = [(header::CONTENT_TYPE, "application/problem+json")];
        let mut response = (self.status, kind, body).into_response();
        // Kept for clients that need another form of errors.
        response.extensions_mut().insert(self.clone());
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl From<Unanswered> for Problem {
    fn from(error: Unanswered) -> Self {
        let detail = error.to_string();
        match error {
            Unanswered::Refused(_) => Self::bad(detail, "correct the question"),
            Unanswered::Late(_) => Self::later(detail, "try again, and see `maxim status` for rooms that are down"),
            Unanswered::Lost(_) => Self::later(detail, "try again"),
            Unanswered::NotDurable(_) => Self::later(
                detail,
                "correct what it names, or make room on the store's disk; then it answers again by itself",
            ),
        }
    }
}

/// A document as an answer.
pub fn json_answer(status: StatusCode, body: &Value) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

pub fn ok(body: &Value) -> Answer {
    Ok(json_answer(StatusCode::OK, body))
}

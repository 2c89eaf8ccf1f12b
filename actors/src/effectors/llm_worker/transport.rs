//! Requests to a model server, and its answers as a stream of pieces.
//!
//! An answer that isn't streamed is made a stream of one piece, so that there is one way to read replies. An error keeps its
//! status and its whole body: the client's own reading of them loses what servers of other makers say.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use async_openai::error::OpenAIError;
use async_openai::middleware::HttpRequestFactory;
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Client, Response};
use serde_json::Value as Json;
use tower_service::Service;

use super::fault::{Fault, clip, told};

/// The longest answer, in bytes.
pub(super) const ANSWER_MAX: usize = 8 * 1024 * 1024;
const STREAM: &str = "text/event-stream";

/// Sends a request once.
#[derive(Clone)]
pub(super) struct Transport(pub Client);

impl Service<HttpRequestFactory> for Transport {
    type Response = Response;
    type Error = OpenAIError;
    type Future = Pin<Box<dyn Future<Output = Result<Response, OpenAIError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), OpenAIError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: HttpRequestFactory) -> Self::Future {
        let client = self.0.clone();
        Box::pin(async move {
            let request = request.build().await?;
            let response = client.execute(request).await.map_err(|error| match error.is_connect() {
                true => Fault::Unreachable(told(&error)),
                false => Fault::Lost(told(&error)),
            })?;
            Ok(read(response).await?)
        })
    }
}

async fn read(response: Response) -> Result<Response, Fault> {
    let status = response.status();
    if !status.is_success() {
        let header = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        let retry_after = header.and_then(|seconds| seconds.trim().parse().ok()).map(Duration::from_secs);
        let body = String::from_utf8_lossy(&whole(response).await.unwrap_or_default()).into_owned();
        return Err(Fault::Refused { status, retry_after, body });
    }
    let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if kind.starts_with(STREAM) {
        return Ok(response);
    }
    let body = whole(response).await?;
    let reply: Json =
        serde_json::from_slice(&body).map_err(|_| Fault::Garbage(clip(&String::from_utf8_lossy(&body))))?;
    let events = http::Response::builder().header(CONTENT_TYPE, STREAM).body(format!("data: {reply}\n\n"));
    Ok(Response::from(events.map_err(|error| Fault::Lost(error.to_string()))?))
}

async fn whole(mut response: Response) -> Result<Vec<u8>, Fault> {
    let mut body = Vec::new();
    while let Some(part) = response.chunk().await.map_err(|error| Fault::Lost(told(&error)))? {
        body.extend_from_slice(&part);
        if body.len() > ANSWER_MAX {
            return Err(Fault::TooLong(ANSWER_MAX));
        }
    }
    Ok(body)
}

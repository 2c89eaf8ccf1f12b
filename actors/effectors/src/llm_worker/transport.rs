//! Requests to a model server, and its answers as a stream of pieces.
//!
//! An answer that isn't streamed is made a stream of one piece, so that there is one way to read replies. An error keeps its
//! status and its whole body: the client's own reading of them loses what servers of other makers say.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use async_openai::error::OpenAIError;
use async_openai::middleware::HttpRequestFactory;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Body, Client, Response};
use serde_json::Value as Json;
use tower_service::Service;

use super::lines::lines;
use crate::server_fault::{Fault, accepted, clip, unsent, whole};

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
            let response = client.execute(request).await.map_err(|error| unsent(&error))?;
            Ok(read(response).await?)
        })
    }
}

async fn read(response: Response) -> Result<Response, Fault> {
    let response = accepted(response).await?;
    let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if kind.starts_with(STREAM) {
        let kind = kind.to_owned();
        let events = http::Response::builder().header(CONTENT_TYPE, kind).body(Body::wrap_stream(lines(response)));
        return Ok(Response::from(events.map_err(|error| Fault::Lost(error.to_string()))?));
    }
    let body = whole(response).await?;
    let reply: Json =
        serde_json::from_slice(&body).map_err(|_| Fault::Garbage(clip(&String::from_utf8_lossy(&body))))?;
    let events = http::Response::builder().header(CONTENT_TYPE, STREAM).body(format!("data: {reply}\n\n"));
    Ok(Response::from(events.map_err(|error| Fault::Lost(error.to_string()))?))
}

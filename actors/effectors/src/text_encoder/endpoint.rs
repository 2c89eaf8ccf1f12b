//! A server with the OpenAI-compatible embeddings interface.

use std::time::Duration;

use maxim_bus::clock::Stopwatch;
use maxim_bus::latch::{EffectKind, StopLatch};
use maxim_bus::signals::encoding::EncodeTexts;
use reqwest::Client;
use serde::{Deserialize, Serialize};

use super::{EmbeddingServer, Encoded};
use crate::http_client;
use crate::server_fault::{Fault, accepted, clip, told, unsent, whole};

const CONNECT: Duration = Duration::from_secs(5);
/// The delay before the first retry; it doubles with each further one.
const PAUSE: Duration = Duration::from_millis(300);
/// Numbers of a vector, at most: far more than any encoder makes.
const DIMS_MAX: usize = 16_384;

pub struct Endpoint {
    server: EmbeddingServer,
    client: Client,
}

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    input: &'a [String],
    encoding_format: &'static str,
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Item>,
    #[serde(default)]
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Usage {
    #[serde(default)]
    prompt_tokens: u64,
}

#[derive(Deserialize)]
struct Item {
    index: Option<usize>,
    embedding: Vec<f64>,
}

/// A text's vector; `None` if the server refuses this text.
type Vector = Option<Vec<f32>>;

/// Vectors, and the tokens that they used.
type Paid<T> = (Vec<T>, u64);

impl Endpoint {
    pub fn to(server: EmbeddingServer) -> Result<Self, String> {
        let client = http_client::builder(&server.roots).connect_timeout(CONNECT).build().map_err(|error| {
            format!("no TLS for {}: {}; name the authorities in encoder.ca_file", server.base_url, told(&error))
        })?;
        Ok(Self { server, client })
    }

    pub fn timeout(&self) -> Duration {
        self.server.timeout
    }

    /// The vectors of a call's texts. Vectors of another length than memory's are an error: mixed with those they would
    /// mean nothing.
    pub async fn encode(&self, call: &EncodeTexts, latch: &StopLatch) -> Result<Encoded, String> {
        let timeout = self.server.timeout;
        let vectors = match tokio::time::timeout(timeout, self.persist(&call.texts, latch)).await {
            Ok(vectors) => vectors,
            Err(_) => Err(Fault::Late(timeout)),
        };
        let vectors =
            vectors.map_err(|fault| format!("the embeddings server {} failed: {fault}", self.server.base_url))?;
        let (vectors, tokens) = vectors;
        let Some(dims) = vectors.iter().flatten().map(Vec::len).next() else {
            return Err(format!("the embeddings server {} refuses each of these texts", self.server.base_url));
        };
        let encoder = format!("{}/{dims}", self.id());
        match &call.known {
            Some(known) if *known != encoder => Err(format!(
                "the embeddings server {} makes vectors of {dims} numbers, those in memory are of {known}; if its model \
                 was changed, give it another name in encoder.model and all is encoded anew",
                self.server.base_url
            )),
            _ => Ok(Encoded { encoder, tokens, money: self.server.price * tokens as f64 / 1e6, vectors }),
        }
    }

    fn id(&self) -> String {
        super::EncoderSource::Server(self.server.clone()).name()
    }

    async fn persist(&self, texts: &[String], latch: &StopLatch) -> Result<Paid<Vector>, Fault> {
        let watch = Stopwatch::start();
        let mut retry = 0;
        loop {
            let fault = match self.once(texts, latch).await {
                Ok((vectors, tokens)) => return Ok((vectors.into_iter().map(Some).collect(), tokens)),
                Err(fault) => fault,
            };
            // One bad text must not prevent the encoding of the others.
            if fault.refuses_form() || fault.overflow().is_some() {
                return self.one_by_one(texts, fault, latch).await;
            }
            let pause = PAUSE * 2u32.pow(retry);
            if retry >= fault.retries() || watch.elapsed() + pause >= self.server.timeout {
                return Err(fault);
            }
            tracing::warn!(server = self.server.base_url, %fault, ?pause, "an embeddings call is retried");
            tokio::time::sleep(pause).await;
            retry += 1;
        }
    }

    async fn one_by_one(&self, texts: &[String], of_all: Fault, latch: &StopLatch) -> Result<Paid<Vector>, Fault> {
        let (mut vectors, mut tokens) = (Vec::with_capacity(texts.len()), 0);
        for text in texts {
            vectors.push(match self.once(std::slice::from_ref(text), latch).await {
                Ok((mut vector, cost)) => {
                    tokens += cost;
                    vector.pop()
                }
                Err(fault) if fault.refuses_form() || fault.overflow().is_some() => {
                    tracing::warn!(server = self.server.base_url, %fault, "a text has no vector");
                    None
                }
                Err(fault) => return Err(fault),
            });
        }
        // The server refuses everything, so it isn't the fault of one text.
        if vectors.iter().all(Option::is_none) { Err(of_all) } else { Ok((vectors, tokens)) }
    }

    async fn once(&self, texts: &[String], latch: &StopLatch) -> Result<Paid<Vec<f32>>, Fault> {
        self.request(texts, latch).await.map_err(|fault| fault.without(&self.server.api_key))
    }

    async fn request(&self, texts: &[String], latch: &StopLatch) -> Result<Paid<Vec<f32>>, Fault> {
        latch.permit(EffectKind::Other).map_err(|_| Fault::Stopped)?;
        let url = format!("{}/embeddings", self.server.base_url.trim_end_matches('/'));
        let request = Request { model: &self.server.model, input: texts, encoding_format: "float" };
        let body = serde_json::to_vec(&request).map_err(|error| Fault::Lost(error.to_string()))?;
        let mut request = self.client.post(url).header("content-type", "application/json").body(body);
        if !self.server.api_key.is_empty() {
            request = request.bearer_auth(&self.server.api_key);
        }
        let response = request.send().await.map_err(|error| unsent(&error))?;
        read(&whole(accepted(response).await?).await?, texts.len())
    }
}

/// One vector per text, in the order of the texts, all of one length and with finite numbers.
fn read(body: &[u8], texts: usize) -> Result<Paid<Vec<f32>>, Fault> {
    let answer: Answer =
        serde_json::from_slice(body).map_err(|_| Fault::Garbage(clip(&String::from_utf8_lossy(body))))?;
    let tokens = answer.usage.map_or(0, |usage| usage.prompt_tokens);
    let mut items = answer.data;
    // Servers without index numbers give vectors in order.
    items.sort_by_key(|item| item.index.unwrap_or(0));
    let first = items.first().map_or(0, |item| item.embedding.len());
    let garbage = |what: String| Err(Fault::Garbage(what));
    if items.len() != texts {
        return garbage(format!("{} vectors for {texts} texts", items.len()));
    }
    if first == 0 || first > DIMS_MAX {
        return garbage(format!("a vector of {first} numbers"));
    }
    if let Some(other) = items.iter().map(|item| item.embedding.len()).find(|dims| *dims != first) {
        return garbage(format!("vectors of {first} and of {other} numbers"));
    }
    let narrow = |item: Item| item.embedding.into_iter().map(|number| number as f32).collect();
    let vectors: Vec<Vec<f32>> = items.into_iter().map(narrow).collect();
    if vectors.iter().flatten().any(|number| !number.is_finite()) {
        return garbage("a vector with a number that is not finite".into());
    }
    Ok((vectors, tokens))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_in_the_order_of_the_texts_and_what_is_none_is_refused() {
        let of = |body: &str| read(body.as_bytes(), 2).map_err(|fault| fault.to_string());
        let good = r#"{"object":"list","usage":{"prompt_tokens":7,"total_tokens":7},"data":[{"index":1,"embedding":[0,1]},{"index":0,"embedding":[1.5,0]}]}"#;
        assert_eq!(of(good), Ok((vec![vec![1.5, 0.0], vec![0.0, 1.0]], 7)));
        for (bad, why) in [
            ("<html>", "<html>"),
            (r#"{"data":[{"embedding":[1]}]}"#, "1 vectors for 2 texts"),
            (r#"{"data":[{"embedding":[1]},{"embedding":[1,2]}]}"#, "of 1 and of 2"),
            (r#"{"data":[{"embedding":[]},{"embedding":[]}]}"#, "of 0 numbers"),
            (r#"{"data":[{"embedding":[1e39]},{"embedding":[1]}]}"#, "not finite"),
            (r#"{"data":[{"embedding":[null]},{"embedding":[1]}]}"#, "null"),
        ] {
            let told = of(bad).expect_err(bad);
            assert!(told.contains(why), "{bad}: {told}");
        }
    }
}

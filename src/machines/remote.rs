//! What other machines may send to the one that runs the agent: stops, reports of their senses, and heartbeats.
//!
//! Other ways to stop don't depend on this: a message is only one more way into the latch. Every listener gets each
//! message, so a stop reaches whichever machine runs the agent.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use maxim_actors::effectors::door::Door;
use maxim_bus::clock::since_boot;
use serde_json::{Value, json};

use super::connection::Nats;
use crate::http::{self, Request, Served};
use crate::stopping::{stop_by, stop_document};

/// The longest reason that is read, in bytes.
const REASON: usize = 1024;

/// Begins to listen. With `within` zero, no heartbeat is expected.
pub fn listen(nats: &Arc<Nats>, door: &Arc<Door>, within: Duration) {
    nats.spawn(stops(Arc::clone(nats), Arc::clone(door)));
    if !within.is_zero() {
        let last = Arc::new(AtomicU64::new(millis()));
        nats.spawn(heartbeats(Arc::clone(nats), Arc::clone(&last)));
        nats.spawn(watch(Arc::clone(door), last, within));
    }
}

fn millis() -> u64 {
    u64::try_from(since_boot().as_millis()).unwrap_or(u64::MAX)
}

async fn stops(nats: Arc<Nats>, door: Arc<Door>) {
    let mut stops = match nats.client.subscribe(nats.names.subject("stop")).await {
        Ok(stops) => stops,
        Err(error) => return tracing::error!(%error, "a stop can't come in by NATS; all other ways work"),
    };
    while let Some(message) = stops.next().await {
        let text = String::from_utf8_lossy(&message.payload[..message.payload.len().min(REASON)]).trim().to_owned();
        let reason = if text.is_empty() { "a stop by NATS".to_owned() } else { text };
        let (raised, durable) = door.stop(reason, stop_by::NATS.into());
        let Some(reply) = message.reply else { continue };
        let is_durable = tokio::task::spawn_blocking(move || durable.confirm()).await.unwrap_or(false);
        let answer = stop_document(&raised, is_durable, None).to_string();
        if let Err(error) = nats.client.publish(reply, answer.into()).await {
            tracing::warn!(%error, "the sender of a stop by NATS got no confirmation");
        }
    }
}

/// Reports of other machines' senses, as for `POST /v1/observations`. A sender that asks for an answer gets its status
/// and body.
pub fn observe(nats: &Arc<Nats>, served: &Arc<Served>) {
    nats.spawn(observations(Arc::clone(nats), Arc::clone(served)));
}

async fn observations(nats: Arc<Nats>, served: Arc<Served>) {
    let mut observations = match nats.client.subscribe(nats.names.subject("observation")).await {
        Ok(observations) => observations,
        Err(error) => return tracing::error!(%error, "no observation can come in by NATS"),
    };
    while let Some(message) = observations.next().await {
        let request = Request::builder()
            .method("POST")
            .uri("/v1/observations")
            .header("content-type", "application/json")
            .body(message.payload.into());
        let Ok(request) = request else { continue };
        let (status, body) = http::answer(&served, request).await;
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        if status >= 400 {
            tracing::warn!(status, %body, "an observation by NATS was refused");
        }
        let Some(reply) = message.reply else { continue };
        let answer = json!({ "status": status, "body": body }).to_string();
        if let Err(error) = nats.client.publish(reply, answer.into()).await {
            tracing::warn!(%error, "the sender of an observation got no answer");
        }
    }
}

async fn heartbeats(nats: Arc<Nats>, last: Arc<AtomicU64>) {
    let mut beats = match nats.client.subscribe(nats.names.subject("heartbeat")).await {
        Ok(beats) => beats,
        // Then no heartbeat comes, and the agent is stopped.
        Err(error) => return tracing::error!(%error, "no heartbeat can come in"),
    };
    while beats.next().await.is_some() {
        last.store(millis(), Ordering::SeqCst);
    }
}

/// A lost heartbeat stops the agent. A later heartbeat doesn't clear the stop; only a person does.
async fn watch(door: Arc<Door>, last: Arc<AtomicU64>, within: Duration) {
    let limit = u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
    let mut heeded = None;
    loop {
        let seen = last.load(Ordering::SeqCst);
        let due = seen.saturating_add(limit);
        let left = due.saturating_sub(millis());
        if left > 0 {
            tokio::time::sleep(Duration::from_millis(left)).await;
            continue;
        }
        if heeded != Some(seen) {
            heeded = Some(seen);
            let reason = format!("no heartbeat for {} ms: the watcher of the agent is gone", within.as_millis());
            drop(door.stop(reason, stop_by::NATS.into()));
        }
        tokio::time::sleep(within.min(Duration::from_millis(100))).await;
    }
}

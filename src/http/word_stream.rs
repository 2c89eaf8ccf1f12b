//! The words of a turn as a chat client's stream: the role at once, a piece for each thing that is said, the end.
//!
//! A model's text is no speech before the gate has passed the action that says it, so no word comes earlier. Meanwhile
//! comments are sent, so that no proxy takes the connection for dead.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use maxim_actors::effectors::channels::Said;
use maxim_bus::MessageId;
use serde_json::{Value, json};
use tokio::sync::mpsc::Receiver;

use super::Served;
use super::completions::{Ended, MODEL, for_clients, spoken, usage};

/// The stream of one turn.
pub(super) struct WordStream {
    served: Arc<Served>,
    turn: MessageId,
    /// Seconds since 1970.
    created: i64,
    /// Whether the client asked for what it cost.
    wants_usage: bool,
    /// Chunks that wait to be sent.
    ready: VecDeque<String>,
    said: Vec<String>,
    is_over: bool,
}

impl WordStream {
    pub(super) fn new(served: &Arc<Served>, turn: MessageId, created: i64, wants_usage: bool) -> Self {
        let (ready, said) = (VecDeque::new(), Vec::new());
        let mut stream = Self { served: Arc::clone(served), turn, created, wants_usage, ready, said, is_over: false };
        stream.push(json!({"role": "assistant", "content": ""}), None);
        stream
    }

    /// `heard`: what is said on the channel; `ended`: the end of the turn.
    pub(super) fn response<F>(self, heard: Receiver<Said>, ended: F) -> Response
    where
        F: Future<Output = Ended> + Send + 'static,
    {
        let events = stream::unfold((self, heard, Box::pin(ended)), |(mut stream, mut heard, mut ended)| async move {
            let chunk = stream.next(&mut heard, ended.as_mut()).await?;
            Some((Ok::<_, Infallible>(Event::default().data(chunk)), (stream, heard, ended)))
        });
        Sse::new(events).keep_alive(KeepAlive::default()).into_response()
    }

    pub(super) async fn next(
        &mut self,
        heard: &mut Receiver<Said>,
        mut ended: Pin<&mut impl Future<Output = Ended>>,
    ) -> Option<String> {
        while self.ready.is_empty() && !self.is_over {
            tokio::select! {
                biased;
                Some(said) = heard.recv() => self.hear(said),
                ended = ended.as_mut() => {
                    while let Ok(said) = heard.try_recv() {
                        self.hear(said);
                    }
                    self.end(ended);
                }
            }
        }
        self.ready.pop_front()
    }

    fn hear(&mut self, said: Said) {
        if let Said::Reply { turn, text, .. } = said
            && turn == self.turn
        {
            self.say(text);
        }
    }

    fn say(&mut self, text: String) {
        let apart = if self.said.is_empty() { "" } else { "\n\n" };
        self.push(json!({ "content": format!("{apart}{text}") }), None);
        self.said.push(text);
    }

    fn end(&mut self, ended: Ended) {
        self.is_over = true;
        match spoken(self.turn, ended) {
            Ok(last) => {
                // The end of a turn may overtake its last words.
                if !last.is_empty() && !self.said.contains(&last) {
                    self.say(last);
                }
                self.push(json!({}), Some("stop"));
                if self.wants_usage {
                    let mut chunk = self.chunk(&json!([]));
                    chunk["usage"] = usage(&self.served, self.turn);
                    self.ready.push_back(chunk.to_string());
                }
            }
            Err(problem) => self.ready.push_back(for_clients(problem).document().to_string()),
        }
        self.ready.push_back("[DONE]".to_owned());
    }

    fn push(&mut self, delta: Value, finish: Option<&str>) {
        let mut chunk = self.chunk(&json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}]));
        if self.wants_usage {
            chunk["usage"] = Value::Null;
        }
        self.ready.push_back(chunk.to_string());
    }

    fn chunk(&self, choices: &Value) -> Value {
        let (id, created) = (format!("chatcmpl-{}", self.turn), self.created);
        json!({"id": id, "object": "chat.completion.chunk", "created": created, "model": MODEL, "choices": choices})
    }
}

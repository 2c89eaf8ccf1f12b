//! `GET /ws`: the WebSocket channel. JSON in, JSON out; each connection only hears of its own turns.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use maxim_actors::effectors::channels::{Said, Submission};
use maxim_bus::{MessageId, Trust, bounds};
use serde_json::{Value, json};

use tokio::time::Instant;

use super::connections::Connection;
use super::fields::{Field, Given, Kind, object};
use super::percepts::{OWNER, checked_text, submit};
use super::problem::Answer;
use super::{Problem, Served};

/// Where it is.
pub const PATH: &str = "/ws";
/// The protocol name that a client may offer. Without a name the protocol is the same.
const PROTOCOL: &str = "maxim";

/// What a client may send.
const SAYING: &[Field] = &[
    Field::needed("text", Kind::Spoken, "what is said; up to gateway.text_max, by default 64 KiB"),
    Field::optional("sender", Kind::Words(&bounds::SENDER), "a name; it gives no rights"),
    Field::optional("provider_id", Kind::Words(&bounds::PROVIDER_ID), "a repeated id means the same message"),
];

/// How often a peer is asked for a sign of life.
const PING: Duration = Duration::from_secs(30);
/// Bytes that a socket reads at once.
const READ_BUFFER: usize = 8 << 10;
/// The largest message out has this many bytes at least.
const WRITE_BUFFER: usize = 4 << 20;
/// The newest turns that a connection knows. After a turn has ended, the outcome of a question that it asked may still
/// be reported.
const TURNS: usize = 4096;

/// `GET /ws`.
pub async fn websocket(
    State(served): State<Arc<Served>>,
    connection: Option<Extension<Arc<Connection>>>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Answer {
    let upgrade = upgrade.map_err(|why| Problem::bad(why.body_text(), "open it as a WebSocket"))?;
    let place = connection.map_or_else(Connection::within, |Extension(connection)| connection).socket()?;
    let limit = served.body_max.min(bounds::SOCKET_FRAME.limit);
    let upgrade = upgrade.protocols([PROTOCOL]).max_message_size(limit).max_frame_size(limit);
    // Thousands of idle sockets must not hold buffers that only busy ones need.
    let upgrade =
        upgrade.read_buffer_size(READ_BUFFER).write_buffer_size(0).max_write_buffer_size(limit.max(WRITE_BUFFER));
    Ok(upgrade.on_upgrade(move |socket| async move {
        converse(served, socket).await;
        drop(place);
    }))
}

async fn converse(served: Arc<Served>, mut socket: WebSocket) {
    let mut said = served.agent.outside.websocket.listen();
    let (mut turns, mut ping) = (BTreeSet::new(), tokio::time::interval_at(Instant::now() + PING, PING));
    let mut heard_at = Instant::now();
    loop {
        tokio::select! {
            _ = ping.tick() => {
                if heard_at.elapsed() > Duration::from_secs(bounds::SOCKET_SILENCE.limit as u64)
                    || send(&mut socket, Message::Ping(Vec::new().into())).await.is_err()
                {
                    return;
                }
            }
            message = socket.recv() => {
                heard_at = Instant::now();
                let answer = match message {
                    Some(Ok(Message::Text(text))) => hear(&served, text.as_bytes(), &mut turns).await,
                    Some(Ok(Message::Binary(bytes))) => hear(&served, &bytes, &mut turns).await,
                    Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
                    Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                };
                for document in answer {
                    if send(&mut socket, document_of(&document)).await.is_err() {
                        return;
                    }
                }
            }
            said = said.recv() => {
                let Some(said) = said else {
                    let reason = format!("more than {} messages were not fetched", bounds::SOCKET_BACKLOG.limit).into();
                    let _ = send(&mut socket, Message::Close(Some(CloseFrame { code: close_code::POLICY, reason }))).await;
                    return;
                };
                if !concerns(&said, &turns) {
                    continue;
                }
                if send(&mut socket, document_of(&json!(said))).await.is_err() {
                    return;
                }
            }
            () = served.events.closed() => {
                let _ = socket.send(Message::Close(None)).await;
                return;
            }
        }
    }
}

fn document_of(document: &Value) -> Message {
    Message::Text(document.to_string().into())
}

/// An error means that the socket is closed, or that its reader accepts nothing.
async fn send(socket: &mut WebSocket, message: Message) -> Result<(), axum::Error> {
    let patience = Duration::from_secs(bounds::SOCKET_SILENCE.limit as u64);
    let sent = tokio::time::timeout(patience, socket.send(message)).await;
    sent.unwrap_or_else(|late| Err(axum::Error::new(late)))
}

/// Whether it belongs to a turn of this connection.
fn concerns(said: &Said, turns: &BTreeSet<MessageId>) -> bool {
    match said {
        Said::Reply { turn, .. } => turns.contains(turn),
        Said::Ended(ended) => turns.contains(&ended.turn),
    }
}

async fn hear(served: &Arc<Served>, bytes: &[u8], turns: &mut BTreeSet<MessageId>) -> Vec<Value> {
    match accept(served, bytes).await {
        Ok((turn, repeated)) => {
            turns.insert(turn);
            if turns.len() > TURNS {
                turns.pop_first();
            }
            let mut answer = vec![json!({"type": "accepted", "id": turn, "durable": true, "repeated": repeated})];
            // A repeated message's turn may be over: its end won't be said again.
            if repeated && let Ok(Ok(ended)) = served.agent.outside.websocket.turn(turn).try_recv() {
                answer.push(json!(Said::Ended(ended)));
            }
            answer
        }
        Err(problem) => {
            let mut document = problem.document();
            document["type"] = "error".into();
            vec![document]
        }
    }
}

async fn accept(served: &Arc<Served>, bytes: &[u8]) -> Result<(MessageId, bool), Problem> {
    served.refuse_while_draining()?;
    let given = Given::check(object(bytes)?, SAYING)?;
    let submission = Submission {
        channel: "websocket".into(),
        sender: given.text("sender").unwrap_or(OWNER).to_owned(),
        body: checked_text(served, "text", given.text("text").unwrap_or_default())?,
        provider_id: given.text("provider_id").map(str::to_owned),
        trust: Trust::Owner,
    };
    let accepted = submit(&served.agent.outside.websocket, submission).await?;
    Ok((accepted.percept, accepted.repeated))
}

//! `GET /ws`: the WebSocket channel. JSON in, JSON out; each connection hears of its own turns.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use maxim_actors::effectors::channels::{Said, Submission};
use maxim_bus::{MessageId, Trust};
use serde_json::{Value, json};

use super::fields::{Field, Given, Kind, object};
use super::percepts::{OWNER, checked_text, submit};
use super::problem::Answer;
use super::{Problem, Served};

/// Where it is.
pub const PATH: &str = "/ws";
/// What a client may name as its protocol; who names none speaks the same.
const PROTOCOL: &str = "maxim";

/// What a client may send.
const SAYING: &[Field] = &[
    Field::needed("text", Kind::Text, "what is said; up to gateway.text_max, by default 64 KiB"),
    Field::optional("sender", Kind::Text, "a name, nothing more"),
    Field::optional("provider_id", Kind::Text, "a repeated one is the same message"),
];

/// The newest turns of one connection: of an ended one may still be told what became of a question that it asked.
const TURNS: usize = 4096;

/// `GET /ws`.
pub async fn websocket(
    State(served): State<Arc<Served>>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Answer {
    let upgrade = upgrade.map_err(|why| Problem::bad(why.body_text(), "open it as a WebSocket"))?;
    let limit = served.body_max;
    Ok(upgrade.protocols([PROTOCOL]).max_message_size(limit).on_upgrade(move |socket| converse(served, socket)))
}

async fn converse(served: Arc<Served>, mut socket: WebSocket) {
    let mut said = served.agent.outside.websocket.listen();
    let mut turns = BTreeSet::new();
    loop {
        tokio::select! {
            message = socket.recv() => {
                let answer = match message {
                    Some(Ok(Message::Text(text))) => hear(&served, text.as_bytes(), &mut turns).await,
                    Some(Ok(Message::Binary(bytes))) => hear(&served, &bytes, &mut turns).await,
                    Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
                    Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                };
                for document in answer {
                    if send(&mut socket, &document).await.is_err() {
                        return;
                    }
                }
            }
            Some(said) = said.recv() => {
                if !concerns(&said, &turns) {
                    continue;
                }
                if send(&mut socket, &json!(said)).await.is_err() {
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

async fn send(socket: &mut WebSocket, document: &Value) -> Result<(), axum::Error> {
    socket.send(Message::Text(document.to_string().into())).await
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

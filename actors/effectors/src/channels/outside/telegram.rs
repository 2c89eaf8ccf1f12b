//! Telegram, by a bot that fetches its messages (long polling).
//!
//! Telegram keeps a message until the next request names a later one. So a message that isn't on disk here is delivered
//! again, also after a crash. A message over the rate of listed senders is left there for later. Sender and recipient
//! are the user's number. The Bot API has no id by which Telegram would drop a repeated message.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use maxim_bus::signals::outbox::{Attempted, SendMessage};
use maxim_config::{Fault, Secret, Shape};
use reqwest::Client;
use serde_json::{Value as Json, json};
use tokio::time::Instant;

use super::connected::BackOff;
use super::keys::{ChannelKeys, channel_section, exposed};
use super::{Arrived, Inlet, Taken, Transport, address, answers};

/// How long Telegram holds a request open without news.
const POLL: Duration = Duration::from_secs(50);
/// How much longer an answer may take.
const GRACE: Duration = Duration::from_secs(15);
/// How often to look for news while messages are left there.
const LOOK: Duration = Duration::from_secs(1);
/// Messages that may be left there, with those behind: Telegram shows a hundred at once, and a stop must be among them.
const LEFT: usize = 50;
/// Longest message that Telegram accepts, in characters.
const LONGEST: usize = 4096;

channel_section! {
    /// Telegram: a bot. Senders and recipients are numbers of users.
    TelegramKeys = "channels.telegram" {
        /// The token of the bot, from @BotFather; not set is no Telegram; only from the environment.
        token: Option<Secret> = "", "", Shape::Secret;
        /// A file that holds it alone; the value itself wins when both are set.
        token_file: Option<PathBuf> = "", "", Shape::Path;
        /// Where the Bot API is.
        base_url: String = "https://api.telegram.org", "", Shape::Url;
    }
}

impl ChannelKeys for TelegramKeys {
    fn is_set(&self) -> bool {
        self.token.is_some() || self.token_file.is_some()
    }

    fn transport(&self) -> Result<Arc<dyn Transport>, Fault> {
        let token = exposed("channels.telegram.token_file", &self.token, &self.token_file)?.unwrap_or_default();
        let http = address::client("channels.telegram.base_url", &self.base_url)?;
        Ok(Arc::new(Telegram { http, base_url: self.base_url.clone(), token }))
    }
}

/// A bot.
pub struct Telegram {
    pub http: Client,
    /// `https://api.telegram.org`, or a private server.
    pub base_url: String,
    pub token: String,
}

impl Telegram {
    fn url(&self, method: &str) -> String {
        format!("{}/bot{}/{method}", self.base_url.trim_end_matches('/'), self.token)
    }

    /// Updates from `offset` on.
    async fn updates(&self, offset: Option<i64>, poll: Duration) -> Result<Vec<Json>, String> {
        let mut asked = json!({"timeout": poll.as_secs(), "allowed_updates": ["message"]});
        if let Some(offset) = offset {
            asked["offset"] = offset.into();
        }
        let request = self.http.post(self.url("getUpdates")).header("content-type", "application/json");
        let answer = request.body(asked.to_string()).timeout(poll + GRACE).send().await;
        let answer =
            answer.map_err(|error| format!("{} can't be reached: {}", self.base_url, answers::reason(&error)))?;
        let status = answer.status();
        let body = answers::bounded(answer).await?;
        let answer: Json = serde_json::from_str(&body).unwrap_or(Json::Null);
        if let (true, Some(updates)) = (answer["ok"] == true, answer["result"].as_array()) {
            return Ok(updates.clone());
        }
        let said = answer["description"].as_str().unwrap_or("no words that could be read");
        let fix = match status.as_u16() {
            401 | 404 => "; the token is wrong: take a new one from @BotFather",
            409 => "; another program asks with the same token, or a webhook is set: end it",
            _ => "",
        };
        Err(format!("Telegram answered {}: {said}{fix}", status.as_u16()))
    }
}

/// The message of an update, if it is a person's text to the bot only.
fn message_of(update: &Json) -> Option<Arrived> {
    let message = &update["message"];
    let (from, text) = (message["from"]["id"].as_i64()?, message["text"].as_str()?);
    if message["from"]["is_bot"] == true {
        return None;
    }
    Arrived::new(&from.to_string(), text, Some(&update["update_id"].as_i64()?.to_string())).ok()
}

impl Transport for Telegram {
    fn reached_by(&self) -> String {
        self.base_url.clone()
    }

    fn send<'a>(&'a self, message: &'a SendMessage) -> BoxFuture<'a, Attempted> {
        async move {
            if message.text.chars().count() > LONGEST {
                return Attempted::Refused {
                    why: format!("it is longer than {LONGEST} characters, which Telegram doesn't accept"),
                };
            }
            let body = json!({"chat_id": message.recipient, "text": message.text});
            let request = self.http.post(self.url("sendMessage")).header("content-type", "application/json");
            match answers::post(request.body(body.to_string())).await {
                Ok(answer) => Attempted::Delivered {
                    provider_id: answer["result"]["message_id"].as_i64().map(|id| id.to_string()),
                },
                Err(outcome) => outcome,
            }
        }
        .boxed()
    }

    fn receive<'a>(&'a self, inlet: &'a Inlet) -> Option<BoxFuture<'a, ()>> {
        Some(
            async move {
                let (mut left, mut pause, mut stops) = (Left::default(), BackOff::new(), inlet.line().stops());
                // The first request doesn't wait, so that a bad token is known soon.
                let mut poll = Duration::ZERO;
                loop {
                    let updates = match self.updates(left.offset, poll).await {
                        Ok(updates) => updates,
                        Err(why) => {
                            inlet.line().down(why);
                            pause.wait().await;
                            poll = Duration::ZERO;
                            continue;
                        }
                    };
                    inlet.line().up();
                    if stops.has_changed().unwrap_or(false) {
                        stops.mark_unchanged();
                        left.give_up(inlet);
                    }
                    if let Err(why) = take(updates, &mut left, inlet).await {
                        // Not acknowledged, so Telegram brings it again.
                        inlet.line().down(format!("a message could not be accepted yet: {why}"));
                        pause.wait().await;
                    } else {
                        pause.reset();
                    }
                    poll = POLL;
                    if !left.later.is_empty() {
                        // Left messages come again at once, so waiting would have no effect.
                        tokio::time::sleep(LOOK).await;
                        poll = Duration::ZERO;
                    }
                }
            }
            .boxed(),
        )
    }
}

/// Messages left with Telegram. It only accepts an acknowledgement of everything before a number, so accepted messages
/// behind it are remembered.
#[derive(Default)]
struct Left {
    /// The first update that was not acknowledged to Telegram.
    offset: Option<i64>,
    /// Over the rate, with the time of the next attempt.
    later: BTreeMap<i64, Instant>,
    /// Accepted behind those.
    taken: BTreeSet<i64>,
}

impl Left {
    fn take(&mut self, update: i64) {
        self.later.remove(&update);
        self.taken.insert(update);
        // Everything before the first left message is accepted.
        let first_left = self.later.first_key_value().map_or(i64::MAX, |(id, _)| *id);
        while let Some(first) = self.taken.first().copied().filter(|first| *first < first_left) {
            self.taken.remove(&first);
            self.offset = self.offset.max(Some(first + 1));
        }
    }

    /// Messages from before a stop are not processed after it.
    fn give_up(&mut self, inlet: &Inlet) {
        for update in self.later.keys().copied().collect::<Vec<_>>() {
            inlet.line().count("limited");
            self.take(update);
        }
    }

    /// Leaves it for later; false if so many are left that a later stop might not be seen.
    fn leave(&mut self, update: i64, wait: Duration) -> bool {
        let is_known = self.later.contains_key(&update);
        let has_room = is_known || self.later.len() + self.taken.len() < LEFT;
        if has_room {
            self.later.insert(update, Instant::now() + wait);
        }
        has_room
    }
}

/// Accepts new messages, and left ones whose time has come. An error means: it isn't on disk.
async fn take(updates: Vec<Json>, left: &mut Left, inlet: &Inlet) -> Result<(), String> {
    for update in updates {
        let is_taken = |id: &i64| left.taken.contains(id) || left.offset.is_some_and(|offset| *id < offset);
        let Some(id) = update["update_id"].as_i64().filter(|id| !is_taken(id)) else { continue };
        let due = left.later.get(&id).copied();
        if due.is_some_and(|due| Instant::now() < due) {
            continue;
        }
        let taken = match message_of(&update) {
            Some(arrived) => inlet.take(arrived).await?,
            None => Taken::Repeated,
        };
        match taken {
            Taken::Limited { retry_after_s, is_listed: true } if left.leave(id, Duration::from_secs(retry_after_s)) => {
                if due.is_none() {
                    inlet.line().count("deferred");
                }
            }
            Taken::Limited { .. } => {
                inlet.line().count("limited");
                left.take(id);
            }
            Taken::Durable(_) | Taken::Repeated => left.take(id),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_texts_of_people_are_messages() {
        let update = |message: Json| json!({"update_id": 7, "message": message});
        let from = json!({"id": 42, "is_bot": false});
        let arrived = message_of(&update(json!({"from": from, "text": "hello"}))).expect("a message");
        assert_eq!((arrived.sender.as_str(), arrived.provider_id.as_deref()), ("42", Some("7")));
        for other in [
            json!({"from": {"id": 1, "is_bot": true}, "text": "hello"}),
            json!({"from": from, "photo": []}),
            json!({"from": {"id": "42"}, "text": "hello"}),
            json!(null),
            json!([]),
        ] {
            assert_eq!(message_of(&update(other.clone())), None, "{other}");
        }
    }

    #[test]
    fn what_is_left_is_asked_for_again_and_nothing_behind_it_is_taken_twice() {
        let mut left = Left::default();
        let wait = Duration::from_secs(60);
        left.take(7);
        assert_eq!(left.offset, Some(8));
        assert!(left.leave(8, wait) && left.leave(8, wait));
        left.take(9);
        assert!(left.leave(10, wait));
        left.take(11);
        assert_eq!((left.offset, left.taken.len(), left.later.len()), (Some(8), 2, 2));
        left.take(8);
        assert_eq!((left.offset, left.taken.len()), (Some(10), 1));
        left.take(10);
        assert_eq!((left.offset, left.taken.len(), left.later.len()), (Some(12), 0, 0));
        let all = i64::try_from(LEFT).expect("few");
        assert!((0..all).all(|n| left.leave(20 + n, wait)));
        assert!(!left.leave(20 + all, wait), "a stop behind them must be seen");
        left.take(20 + all);
        assert_eq!(left.offset, Some(12));
    }
}

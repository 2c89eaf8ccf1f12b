//! Slack: events come as signed webhooks; words go out by chat.postMessage or an incoming webhook.
//!
//! A message's id is its channel with its time stamp; an answer goes into that thread. Slack documents no id by which
//! it would drop a repeated message.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use maxim_bus::bounds::TooMuch;
use maxim_bus::signals::outbox::{Attempted, SendMessage};
use maxim_config::{Fault, Secret, Shape};
use reqwest::Client;
use serde_json::{Value as Json, json};

use super::keys::{ChannelKeys, channel_section, exposed};
use super::signature::{fresh, is_hmac_sha256, unhex};
use super::{Arrived, HookAnswer, HookRefused, HookRequest, Hooked, Transport, address, answers};

channel_section! {
    /// Slack: an app. Senders are ids of users, recipients those of users or channels.
    SlackKeys = "channels.slack" {
        /// The app's Signing Secret, which checks what Slack posts to /hooks/slack; not set takes nothing in; only from the environment.
        signing_secret: Option<Secret> = "", "", Shape::Secret;
        /// A file that holds it alone; the value itself wins when both are set.
        signing_secret_file: Option<PathBuf> = "", "", Shape::Path;
        /// The token of the bot, by which it answers in the thread; only from the environment.
        bot_token: Option<Secret> = "", "", Shape::Secret;
        /// A file that holds it alone; the value itself wins when both are set.
        bot_token_file: Option<PathBuf> = "", "", Shape::Path;
        /// An incoming webhook, into whose one channel everything goes where there is no bot; only from the environment.
        webhook_url: Option<Secret> = "", "", Shape::Secret;
        /// A file that holds it alone; the value itself wins when both are set.
        webhook_url_file: Option<PathBuf> = "", "", Shape::Path;
        /// Where the Web API is.
        base_url: String = "https://slack.com/api", "", Shape::Url;
    }
}

impl ChannelKeys for SlackKeys {
    fn is_set(&self) -> bool {
        let values = [&self.signing_secret, &self.bot_token, &self.webhook_url];
        let files = [&self.signing_secret_file, &self.bot_token_file, &self.webhook_url_file];
        values.into_iter().any(Option::is_some) || files.into_iter().any(Option::is_some)
    }

    fn transport(&self) -> Result<Arc<dyn Transport>, Fault> {
        let signing_secret =
            exposed("channels.slack.signing_secret_file", &self.signing_secret, &self.signing_secret_file)?;
        let bot_token = exposed("channels.slack.bot_token_file", &self.bot_token, &self.bot_token_file)?;
        let webhook = exposed("channels.slack.webhook_url_file", &self.webhook_url, &self.webhook_url_file)?;
        let (out, url) = match (bot_token, webhook) {
            (Some(token), _) => (SlackOut::Bot(token), self.base_url.clone()),
            (None, Some(webhook)) => (SlackOut::Webhook(webhook.clone()), webhook),
            (None, None) => (SlackOut::Nowhere, address::NOWHERE.into()),
        };
        let http = address::client("channels.slack.base_url", &url)?;
        Ok(Arc::new(Slack { http, base_url: self.base_url.clone(), signing_secret, out }))
    }
}

/// A workspace's app.
pub struct Slack {
    pub http: Client,
    /// `https://slack.com/api`.
    pub base_url: String,
    /// Signs Slack's posts; without it nothing is accepted.
    pub signing_secret: Option<String>,
    pub out: SlackOut,
}

/// How messages go out.
pub enum SlackOut {
    /// By a bot's token: to the author, into the thread.
    Bot(String),
    /// By an incoming webhook: into its one channel, for any recipient.
    Webhook(String),
    Nowhere,
}

impl Slack {
    fn check(&self, request: &HookRequest<'_>, now: Timestamp) -> Result<(), HookRefused> {
        let Some(secret) = &self.signing_secret else { return Err(HookRefused::NotHere) };
        let forged = |why: &str| HookRefused::Forged(why.to_owned());
        let at = request.header("x-slack-request-timestamp");
        let at = at.ok_or_else(|| forged("the header X-Slack-Request-Timestamp is missing"))?;
        let signed = request.header("x-slack-signature").and_then(|value| unhex(value.strip_prefix("v0=")?));
        let signed = signed.ok_or_else(|| forged("the header X-Slack-Signature is missing or isn't a v0 signature"))?;
        if !is_hmac_sha256(secret.as_bytes(), &[b"v0:", at.as_bytes(), b":", request.body], &signed) {
            return Err(forged(
                "the signature doesn't fit; compare channels.slack.signing_secret_file with the app's Signing Secret",
            ));
        }
        fresh(at, now)
    }
}

/// A person's message in an event; `None` for all other events of a workspace.
fn message_of(event: &Json) -> Option<Result<Arrived, TooMuch>> {
    let text = |name: &str| event[name].as_str();
    let is_said = match text("type")? {
        "app_mention" => true,
        "message" => event["subtype"].is_null(),
        _ => false,
    };
    if !is_said || event["bot_id"].is_string() {
        return None;
    }
    // In a channel, people write the bot's own name first.
    let body = text("text")?;
    let body =
        body.strip_prefix("<@").and_then(|rest| rest.split_once('>')).map_or(body, |(_, rest)| rest.trim_start());
    let id = format!("{}/{}", text("channel")?, text("ts")?);
    Some(Arrived::new(text("user")?, body, Some(&id)).map(Arrived::signed))
}

impl Transport for Slack {
    fn reached_by(&self) -> String {
        match (&self.out, &self.signing_secret) {
            (SlackOut::Bot(_), Some(_)) => format!("{} and POST /hooks/slack", self.base_url),
            (SlackOut::Webhook(_), Some(_)) => "an incoming webhook and POST /hooks/slack".into(),
            (SlackOut::Bot(_), None) => format!("{}, out only", self.base_url),
            (SlackOut::Webhook(_), None) => "an incoming webhook, out only".into(),
            (SlackOut::Nowhere, _) => "POST /hooks/slack, in only".into(),
        }
    }

    fn send<'a>(&'a self, message: &'a SendMessage) -> BoxFuture<'a, Attempted> {
        async move {
            let (thread, json) = (message.in_reply_to.as_deref().and_then(|id| id.split_once('/')), "application/json; charset=utf-8");
            match &self.out {
                SlackOut::Nowhere => Attempted::Refused {
                    why: "nothing goes out on slack: set channels.slack.bot_token_file or webhook_url_file".into(),
                },
                SlackOut::Webhook(url) => {
                    let body = json!({"text": message.text});
                    let request = self.http.post(url).header("content-type", json).body(body.to_string());
                    answers::post(request).await.map_or_else(|outcome| outcome, |_| Attempted::Delivered { provider_id: None })
                }
                SlackOut::Bot(token) => {
                    let mut body = json!({"channel": thread.map_or(message.recipient.as_str(), |(channel, _)| channel), "text": message.text});
                    if let Some((_, ts)) = thread {
                        body["thread_ts"] = ts.into();
                    }
                    let url = format!("{}/chat.postMessage", self.base_url.trim_end_matches('/'));
                    let request = self.http.post(url).bearer_auth(token).header("content-type", json);
                    answers::post(request.body(body.to_string())).await.map_or_else(|outcome| outcome, |answer| posted(&answer))
                }
            }
        }
        .boxed()
    }

    fn hook(&self, request: &HookRequest<'_>, now: Timestamp) -> Result<Hooked, HookRefused> {
        self.check(request, now)?;
        let body: Json = serde_json::from_slice(request.body)
            .map_err(|error| HookRefused::Malformed(format!("the body isn't JSON: {error}")))?;
        let answered = |text: &str| HookAnswer { content_type: "text/plain; charset=utf-8", body: text.to_owned() };
        match body["type"].as_str() {
            Some("url_verification") => match body["challenge"].as_str() {
                Some(challenge) => Ok(Hooked { messages: Vec::new(), answer: answered(challenge) }),
                None => Err(HookRefused::Malformed("the url_verification has no challenge".into())),
            },
            Some("event_callback") => {
                let message = message_of(&body["event"]).transpose();
                let message =
                    message.map_err(|why| HookRefused::Malformed(format!("the event can't be accepted: {why}")))?;
                Ok(Hooked { messages: message.into_iter().collect(), answer: answered("") })
            }
            _ => Err(HookRefused::Malformed("the body's type is neither event_callback nor url_verification".into())),
        }
    }
}

/// Slack says in the body whether it accepted a message.
fn posted(answer: &Json) -> Attempted {
    if answer["ok"] == true {
        return Attempted::Delivered { provider_id: answer["ts"].as_str().map(str::to_owned) };
    }
    let said = answer["error"].as_str().unwrap_or("something that can't be read");
    let why = format!("Slack answered {said}");
    match said {
        "ratelimited" | "rate_limited" => Attempted::NotNow { why, retry_after_s: None },
        "internal_error" | "fatal_error" | "service_unavailable" | "request_timeout" => Attempted::Unknown { why },
        "invalid_auth" | "not_authed" | "token_revoked" | "token_expired" | "account_inactive" => {
            Attempted::Refused { why: format!("{why}; check channels.slack.bot_token_file") }
        }
        _ => Attempted::Refused { why },
    }
}

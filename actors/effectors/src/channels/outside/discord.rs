//! Discord: commands come as signed interactions; words go out by a webhook into its one channel.
//!
//! The addressee is mentioned there. A webhook has no id by which Discord would drop a repeated message.

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
use super::signature::{fresh, is_ed25519, unhex};
use super::{Arrived, HookAnswer, HookRefused, HookRequest, Hooked, Transport, address, answers};

/// Longest message that Discord accepts, in characters.
const LONGEST: usize = 2000;
/// Only the author of the command sees it.
const EPHEMERAL: u32 = 64;

channel_section! {
    /// Discord: an application. Senders and recipients are numbers of users.
    DiscordKeys = "channels.discord" {
        /// The Public Key of the application, which checks what Discord posts to /hooks/discord; not set takes nothing in.
        public_key: Option<String> = "", "", Shape::Text;
        /// A webhook, into whose one channel everything goes; not set sends nothing; only from the environment.
        webhook_url: Option<Secret> = "", "", Shape::Secret;
        /// A file that holds it alone; the value itself wins when both are set.
        webhook_url_file: Option<PathBuf> = "", "", Shape::Path;
    }
}

impl ChannelKeys for DiscordKeys {
    fn is_set(&self) -> bool {
        self.public_key.is_some() || self.webhook_url.is_some() || self.webhook_url_file.is_some()
    }

    fn transport(&self) -> Result<Arc<dyn Transport>, Fault> {
        let key = "channels.discord.public_key";
        let wrong =
            || Fault::new(key, format!("{key} is not 64 hexadecimal digits"), "copy it from the application's page");
        let public_key = match &self.public_key {
            Some(digits) => Some(unhex(digits).filter(|bytes| bytes.len() == 32).ok_or_else(wrong)?),
            None => None,
        };
        let webhook_url = exposed("channels.discord.webhook_url_file", &self.webhook_url, &self.webhook_url_file)?;
        let url = webhook_url.as_deref().unwrap_or(address::NOWHERE);
        let http = address::client("channels.discord.webhook_url", url)?;
        Ok(Arc::new(Discord { http, webhook_url, public_key }))
    }
}

/// An application of Discord.
pub struct Discord {
    pub http: Client,
    /// It contains a secret; without it nothing goes out.
    pub webhook_url: Option<String>,
    /// The application's public key, 32 bytes; without it nothing is accepted.
    pub public_key: Option<Vec<u8>>,
}

impl Discord {
    fn check(&self, request: &HookRequest<'_>, now: Timestamp) -> Result<(), HookRefused> {
        let Some(key) = &self.public_key else { return Err(HookRefused::NotHere) };
        let forged = |why: &str| HookRefused::Forged(why.to_owned());
        let at = request.header("x-signature-timestamp");
        let at = at.ok_or_else(|| forged("the header X-Signature-Timestamp is missing"))?;
        let signed = request.header("x-signature-ed25519").and_then(unhex);
        let signed = signed.ok_or_else(|| forged("the header X-Signature-Ed25519 is missing or isn't hexadecimal"))?;
        if !is_ed25519(key, &[at.as_bytes(), request.body], &signed) {
            return Err(forged(
                "the signature doesn't fit; compare channels.discord.public_key with the application's",
            ));
        }
        fresh(at, now)
    }
}

/// The text of a command's first option, or of the first field of a form.
fn text_of(data: &Json) -> Option<&str> {
    let option = data["options"].as_array().into_iter().flatten().find_map(|option| option["value"].as_str());
    option.or_else(|| data.pointer("/components/0/components/0/value")?.as_str())
}

fn message_of(interaction: &Json) -> Option<Result<Arrived, TooMuch>> {
    let user = interaction.pointer("/member/user/id").or_else(|| interaction.pointer("/user/id"))?;
    let (body, id) = (text_of(&interaction["data"])?, interaction["id"].as_str()?);
    Some(Arrived::new(user.as_str()?, body, Some(id)).map(Arrived::signed))
}

impl Transport for Discord {
    fn reached_by(&self) -> String {
        match (&self.webhook_url, &self.public_key) {
            (Some(_), Some(_)) => "a webhook and POST /hooks/discord".into(),
            (Some(_), None) => "a webhook, out only".into(),
            _ => "POST /hooks/discord, in only".into(),
        }
    }

    fn send<'a>(&'a self, message: &'a SendMessage) -> BoxFuture<'a, Attempted> {
        async move {
            let Some(url) = &self.webhook_url else {
                let why = "nothing goes out on discord: set channels.discord.webhook_url_file";
                return Attempted::Refused { why: why.into() };
            };
            let is_user = !message.recipient.is_empty() && message.recipient.bytes().all(|byte| byte.is_ascii_digit());
            let users: Vec<&str> = is_user.then_some(message.recipient.as_str()).into_iter().collect();
            let text = users.first().map_or_else(|| message.text.clone(), |user| format!("<@{user}> {}", message.text));
            if text.chars().count() > LONGEST {
                return Attempted::Refused {
                    why: format!("it is longer than {LONGEST} characters, which Discord doesn't accept"),
                };
            }
            // The words can't mention anybody else.
            let body = json!({"content": text, "allowed_mentions": {"parse": [], "users": users}});
            let request = self.http.post(url).query(&[("wait", "true")]).header("content-type", "application/json");
            match answers::post(request.body(body.to_string())).await {
                Ok(answer) => Attempted::Delivered { provider_id: answer["id"].as_str().map(str::to_owned) },
                Err(outcome) => outcome,
            }
        }
        .boxed()
    }

    fn hook(&self, request: &HookRequest<'_>, now: Timestamp) -> Result<Hooked, HookRefused> {
        self.check(request, now)?;
        let malformed = |why: String| HookRefused::Malformed(why);
        let body: Json =
            serde_json::from_slice(request.body).map_err(|error| malformed(format!("the body isn't JSON: {error}")))?;
        let answered = |body: Json| HookAnswer { content_type: "application/json", body: body.to_string() };
        match body["type"].as_u64() {
            // A ping.
            Some(1) => Ok(Hooked { messages: Vec::new(), answer: answered(json!({"type": 1})) }),
            Some(2 | 5) => {
                let message = message_of(&body).ok_or_else(|| malformed("the command has no text option".into()))?;
                let message = message.map_err(|why| malformed(format!("the command can't be accepted: {why}")))?;
                let said = json!({"type": 4, "data": {"content": "I have it.", "flags": EPHEMERAL}});
                Ok(Hooked { messages: vec![message], answer: answered(said) })
            }
            _ => Err(malformed("the interaction is neither a command nor a form".into())),
        }
    }
}

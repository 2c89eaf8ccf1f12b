//! The published REST interfaces of Telegram, Slack, Twilio and Discord, as far as the channels use them. Counts
//! accepted messages.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::{Value, json};

pub const TELEGRAM_TOKEN: &str = "42:telegram-token";
pub const SLACK_TOKEN: &str = "xoxb-slack-token";

#[derive(Default)]
struct Held {
    /// (provider, recipient, text), in the order of acceptance.
    taken: Vec<(String, String, String)>,
    /// Telegram's unacknowledged updates.
    updates: Vec<Value>,
    next_update: i64,
    /// Messages are accepted, but the request is never answered.
    hangs: bool,
}

#[derive(Clone, Default)]
pub struct Providers(Arc<Mutex<Held>>);

impl Providers {
    /// Serves in the background; returns its base URL.
    pub fn start() -> (Self, String) {
        let providers = Self::default();
        let app = Router::new()
            .route("/telegram/{bot}/{method}", post(telegram))
            .route("/slack/chat.postMessage", post(slack))
            .route("/twilio/2010-04-01/Accounts/AC1/{what}", post(twilio))
            .route("/discord/{id}", post(discord));
        let url = crate::loopback::serve(app.with_state(providers.clone()));
        (providers, url)
    }

    /// Messages sent through a provider: recipient and text.
    pub fn taken(&self, provider: &str) -> Vec<(String, String)> {
        let held = self.0.lock().expect("no panic inside");
        let of_provider = held.taken.iter().filter(|(by, ..)| by == provider);
        of_provider.map(|(_, recipient, text)| (recipient.clone(), text.clone())).collect()
    }

    pub fn hangs(&self, hangs: bool) {
        self.0.lock().expect("no panic inside").hangs = hangs;
    }

    /// A person writes to the bot.
    pub fn telegram_says(&self, from: i64, text: &str) {
        self.telegram_update(json!({"from": {"id": from, "is_bot": false}, "chat": {"id": from}, "text": text}));
    }

    pub fn telegram_update(&self, message: Value) {
        let mut held = self.0.lock().expect("no panic inside");
        held.next_update += 1;
        let update = json!({"update_id": held.next_update, "message": message});
        held.updates.push(update);
    }

    pub fn unread_by_the_bot(&self) -> usize {
        self.0.lock().expect("no panic inside").updates.len()
    }

    async fn take(&self, provider: &str, recipient: &str, text: &str, answer: Value) -> Response {
        let hangs = {
            let mut held = self.0.lock().expect("no panic inside");
            held.taken.push((provider.into(), recipient.into(), text.into()));
            held.hangs
        };
        if hangs {
            std::future::pending::<()>().await;
        }
        answer.to_string().into_response()
    }
}

fn refused(status: StatusCode, body: Value) -> Response {
    (status, body.to_string()).into_response()
}

async fn telegram(
    State(providers): State<Providers>,
    Path((bot, method)): Path<(String, String)>,
    body: Bytes,
) -> Response {
    if bot != format!("bot{TELEGRAM_TOKEN}") {
        return refused(
            StatusCode::UNAUTHORIZED,
            json!({"ok": false, "error_code": 401, "description": "Unauthorized"}),
        );
    }
    let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
    if method == "sendMessage" {
        let (to, text) = (asked["chat_id"].as_str().unwrap_or_default(), asked["text"].as_str().unwrap_or_default());
        return providers.take("telegram", to, text, json!({"ok": true, "result": {"message_id": 7}})).await;
    }
    let look = || {
        let mut held = providers.0.lock().expect("no panic inside");
        if let Some(offset) = asked["offset"].as_i64() {
            held.updates.retain(|update| update["update_id"].as_i64() >= Some(offset));
        }
        held.updates.clone()
    };
    // Held open until something is new, for the requested time, like the real server.
    for _ in 0..=100 * asked["timeout"].as_u64().unwrap_or(0) {
        let updates = look();
        if !updates.is_empty() {
            return json!({"ok": true, "result": updates}).to_string().into_response();
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    json!({"ok": true, "result": []}).to_string().into_response()
}

async fn slack(State(providers): State<Providers>, headers: HeaderMap, body: Bytes) -> Response {
    let shown = headers.get("authorization").and_then(|value| value.to_str().ok()).unwrap_or_default();
    if shown != format!("Bearer {SLACK_TOKEN}") {
        return json!({"ok": false, "error": "invalid_auth"}).to_string().into_response();
    }
    let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
    let thread = format!(
        "{} {}",
        asked["channel"].as_str().unwrap_or_default(),
        asked["thread_ts"].as_str().unwrap_or_default()
    );
    let text = asked["text"].as_str().unwrap_or_default();
    providers.take("slack", thread.trim(), text, json!({"ok": true, "ts": "18.1"})).await
}

async fn twilio(
    State(providers): State<Providers>,
    Path(what): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    use base64::Engine;
    let login = base64::engine::general_purpose::STANDARD.encode("AC1:12345");
    let shown = headers.get("authorization").and_then(|value| value.to_str().ok()).unwrap_or_default();
    if shown != format!("Basic {login}") {
        return refused(StatusCode::UNAUTHORIZED, json!({"code": 20003, "message": "Authenticate", "status": 401}));
    }
    let form: Vec<(String, String)> = serde_urlencoded(&body);
    let field = |name: &str| form.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    let (Some(to), Some(_)) = (field("To"), field("From")) else {
        return refused(
            StatusCode::BAD_REQUEST,
            json!({"code": 21211, "message": "Invalid 'To' Phone Number", "status": 400}),
        );
    };
    let (by, text) = match what.as_str() {
        "Messages.json" => ("twilio", field("Body")),
        _ => ("twilio calls", field("Twiml")),
    };
    providers.take(by, &to, &text.unwrap_or_default(), json!({"sid": "SM100", "status": "queued"})).await
}

fn serde_urlencoded(body: &[u8]) -> Vec<(String, String)> {
    let text = format!("http://h/?{}", String::from_utf8_lossy(body));
    let url = reqwest::Url::parse(&text).expect("a form");
    url.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned())).collect()
}

async fn discord(State(providers): State<Providers>, body: Bytes) -> Response {
    let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
    let user = asked.pointer("/allowed_mentions/users/0").and_then(Value::as_str).unwrap_or_default();
    providers.take("discord", user, asked["content"].as_str().unwrap_or_default(), json!({"id": "900"})).await
}

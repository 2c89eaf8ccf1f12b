//! The model worker: carries a prompt to an OpenAI-compatible server and brings the reply back.
//!
//! Replies are read leniently, because local servers omit fields that typed clients demand. They are read no faster
//! than they are consumed: a client that queues everything lets the server decide how much memory it takes. A temporary
//! fault is retried with growing, jittered pauses, within the time of the call. The stop latch is read right before
//! each request, and a stop during the request abandons it.

mod events;
mod keys;
mod lines;
mod pieces;
mod queue;
mod reply_format;
mod tape;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use maxim_bus::clock::Stopwatch;
use maxim_bus::latch::{EffectKind, StopLatch};
use maxim_bus::rooms;
use maxim_bus::signals::thought::{ModelCall, ModelReply, Purpose};
use maxim_bus::{RegionName, Stage};
use reqwest::header::CONTENT_TYPE;
use serde::Serialize;
use serde_json::value::RawValue;

use super::http_client::{self, Roots};
use super::server_fault::{Fault, told, unsent};
use events::Events;
use maxim_language::Price;
use maxim_region::{Effector, EffectorCard, Operation, Performs, Placement, Room};
use pieces::{Pieces, Whole};

pub use keys::LlmKeys;
pub use queue::CallQueue;
pub use reply_format::ReplyFormat;
pub use tape::{Tape, TapedReply};

/// The model's server.
#[derive(Clone)]
pub struct ModelServer {
    /// With its version path, e.g. `http://127.0.0.1:8080/v1`.
    pub base_url: String,
    /// The model for each purpose.
    pub roles: Box<Roles>,
    /// Sent as a bearer token; never logged.
    pub api_key: String,
    /// Which certificates are trusted for an `https` address.
    pub roots: Roots,
    /// How this server can be asked for JSON.
    pub format: Arc<ReplyFormat>,
    /// Whether replies are streamed while the model writes.
    pub stream: bool,
    /// For a whole call, including connection, retries and pauses.
    pub timeout: Duration,
    pub calls: Arc<CallQueue>,
}

/// A model, and the price of its tokens.
#[derive(Clone, Debug, PartialEq)]
pub struct Role {
    pub model: String,
    pub price: Price,
}

/// The model for each purpose: a small one may review, a large one deliberate.
#[derive(Clone, Debug, PartialEq)]
pub struct Roles {
    pub review: Role,
    pub act: Role,
    pub deliberate: Role,
}

impl Roles {
    pub const fn of(&self, purpose: Purpose) -> &Role {
        match purpose {
            Purpose::Review => &self.review,
            Purpose::Act => &self.act,
            Purpose::Deliberate => &self.deliberate,
        }
    }
}

/// The source of replies.
#[derive(Clone)]
pub enum ModelSource {
    Server(ModelServer),
    /// Recorded replies.
    Tape(Arc<Tape>),
}

impl fmt::Display for ModelSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server(server) => f.write_str(&server.roles.deliberate.model),
            Self::Tape(tape) => write!(f, "the tape {}", tape.name()),
        }
    }
}

const CONNECT: Duration = Duration::from_secs(5);

/// The maximum that can be allowed as concurrent calls.
pub const CALLS_MAX: usize = 1024;

/// How often a stop is checked for while a call runs.
const STOP_CHECK: Duration = Duration::from_millis(20);

/// The pause before the first retry; each further one is twice as long, plus or minus a half.
const PAUSE: Duration = Duration::from_millis(300);

/// Asks the model, if there is one.
pub struct LlmWorker {
    source: Result<Source, String>,
}

enum Source {
    Server(Box<Line>),
    Tape(Arc<Tape>),
}

impl LlmWorker {
    /// Without a source, each call is answered with the reason.
    pub fn new(source: Option<ModelSource>) -> Self {
        let none = || "no model is configured; set llm.base_url and llm.model".to_owned();
        let source = source.ok_or_else(none).and_then(|source| match source {
            ModelSource::Server(server) => Line::to(server).map(|line| Source::Server(Box::new(line))),
            ModelSource::Tape(tape) => Ok(Source::Tape(tape)),
        });
        Self { source }
    }

    async fn reply(&self, call: &ModelCall, operation: &Operation<Self>) -> ModelReply {
        let watch = Stopwatch::start();
        let reply = match &self.source {
            Err(why) => ModelReply::failed(call, why),
            Ok(Source::Tape(tape)) => return tape.play(call),
            Ok(Source::Server(line)) => match operation.hands.durable(operation.lsn).await {
                Ok(()) => line.call(call, &operation.hands.frame.latch).await,
                Err(error) => ModelReply::failed(call, error.to_string()),
            },
        };
        ModelReply { seconds: watch.elapsed().as_secs_f64(), ..reply }
    }
}

/// A server with its client.
struct Line {
    server: ModelServer,
    client: reqwest::Client,
}

impl Line {
    fn to(server: ModelServer) -> Result<Self, String> {
        let client = http_client::builder(&server.roots).connect_timeout(CONNECT).build().map_err(|error| {
            format!("no TLS for {}: {}; name the authorities in llm.ca_file", server.base_url, told(&error))
        })?;
        Ok(Self { server, client })
    }

    async fn call(&self, call: &ModelCall, latch: &StopLatch) -> ModelReply {
        let timeout = self.server.timeout;
        let late = async {
            tokio::time::sleep(timeout).await;
            Fault::Late(timeout)
        };
        let stopped = async {
            while !latch.is_stopped() {
                tokio::time::sleep(STOP_CHECK).await;
            }
            Fault::Stopped
        };
        let reply = tokio::select! {
            reply = self.persist(call, latch) => reply,
            fault = late => Err(fault),
            fault = stopped => Err(fault),
        };
        match reply {
            Ok(Whole { text, is_cut, prompt_tokens, completion_tokens }) => ModelReply {
                text: Some(text),
                error: None,
                is_cut,
                prompt_tokens,
                completion_tokens,
                money: self.server.roles.of(call.purpose).price.of(prompt_tokens.into(), completion_tokens.into()),
                ..ModelReply::failed(call, "")
            },
            Err(fault) => ModelReply {
                overflow: fault.overflow(),
                ..ModelReply::failed(call, format!("the model server {} failed: {fault}", self.server.base_url))
            },
        }
    }

    /// Asks until there is a reply, or until nothing more can be tried.
    async fn persist(&self, call: &ModelCall, latch: &StopLatch) -> Result<Whole, Fault> {
        let lost = || Fault::Lost("the queue of calls is gone".into());
        let _place = self.server.calls.enter(call.purpose).await.ok_or_else(lost)?;
        let watch = Stopwatch::start();
        let mut format = self.server.format.best();
        let mut retry = 0;
        loop {
            let fault = match self.once(call, format, latch).await {
                Ok(whole) => {
                    self.server.format.settle(format);
                    return Ok(whole);
                }
                Err(fault) => fault.without(&self.server.api_key),
            };
            if fault.refuses_form()
                && let Some(weaker) = ReplyFormat::weaker(format)
            {
                format = weaker;
                continue;
            }
            if retry >= fault.retries() {
                return Err(fault);
            }
            let pause = match &fault {
                Fault::Refused { retry_after: Some(asked), .. } => *asked,
                _ => jittered(PAUSE * 2u32.pow(retry), call),
            };
            if watch.elapsed() + pause >= self.server.timeout {
                return Err(if matches!(fault, Fault::Refused { retry_after: Some(_), .. }) {
                    Fault::Busy(pause)
                } else {
                    fault
                });
            }
            tracing::warn!(server = self.server.base_url, %fault, ?pause, "a model call is retried");
            tokio::time::sleep(pause).await;
            retry += 1;
        }
    }

    async fn once(&self, call: &ModelCall, format: u8, latch: &StopLatch) -> Result<Whole, Fault> {
        latch.permit(EffectKind::Other).map_err(|_| Fault::Stopped)?;
        let url = format!("{}/chat/completions", self.server.base_url.trim_end_matches('/'));
        let body = serde_json::to_vec(&self.request(call, format)).map_err(|error| Fault::Lost(error.to_string()))?;
        let mut request = self.client.post(url).header(CONTENT_TYPE, "application/json").body(body);
        if !self.server.api_key.is_empty() {
            request = request.bearer_auth(&self.server.api_key);
        }
        let response = request.send().await.map_err(|error| unsent(&error))?;
        let mut events = Events::of(response).await?;
        let mut pieces = Pieces::default();
        while let Some(piece) = events.next().await? {
            pieces.take(piece)?;
        }
        pieces.finish()
    }

    fn request<'a>(&'a self, call: &'a ModelCall, format: u8) -> Request<'a> {
        Request {
            model: &self.server.roles.of(call.purpose).model,
            messages: [("system", &call.system), ("user", &call.user)].map(|(role, content)| Message { role, content }),
            max_tokens: call.max_tokens,
            temperature: 0,
            stream: self.server.stream,
            stream_options: self.server.stream.then_some(StreamOptions { include_usage: true }),
            response_format: match &call.form {
                Some(form) => ReplyFormat::of(format, form),
                None => ReplyFormat::wish(format, &call.tools),
            },
        }
    }
}

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    messages: [Message<'a>; 2],
    max_tokens: u32,
    temperature: u8,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<Box<RawValue>>,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: &'a str,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

/// Between half and one and a half times as long, so that clients that failed together don't return together. It
/// depends on the call, not on a random number.
fn jittered(pause: Duration, call: &ModelCall) -> Duration {
    let spread = crc32fast::hash(call.call.to_string().as_bytes()) % 1000;
    pause / 2 + pause * spread / 1000
}

impl LlmWorker {
    /// The room as a value, for the parts list.
    pub fn room(model: Option<ModelSource>) -> Room {
        Room::acting(Placement::Own, Box::new(move || Self::new(model.clone())))
    }
}

impl Effector for LlmWorker {
    const NAME: RegionName = rooms::LLM_WORKER;
    const STAGE: Stage = Stage::Deliberation;
    /// Calls that may wait for their turn; [`ModelServer::calls`] limits the running ones.
    const CONCURRENT: usize = CALLS_MAX;

    fn card() -> EffectorCard<Self> {
        EffectorCard::new().performs::<ModelCall>().says::<ModelReply>()
    }

    fn deadline(&self) -> Duration {
        let timeout = match &self.source {
            Ok(Source::Server(line)) => line.server.timeout,
            Ok(Source::Tape(_)) | Err(_) => Duration::from_secs(5),
        };
        timeout + Duration::from_secs(5)
    }
}

impl Performs<ModelCall> for LlmWorker {
    async fn perform(self: Arc<Self>, call: ModelCall, operation: Operation<Self>) {
        let reply = self.reply(&call, &operation).await;
        operation.say(reply);
    }

    fn abandoned(call: &ModelCall, why: &str, operation: &Operation<Self>) {
        operation.say(ModelReply { lost: true, ..ModelReply::failed(call, why) });
    }
}

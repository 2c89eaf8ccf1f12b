//! The model worker: carries a prompt to an OpenAI-compatible server and brings the reply back.
//!
//! Bring-your-own-types calls, because local servers leave fields out that the typed ones insist on. The stop latch is
//! read right before the call, and a stop while it runs abandons it.

mod reply_format;

use std::sync::Arc;
use std::time::Duration;

use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::error::OpenAIError;
use maxim_bus::latch::EffectKind;
use maxim_bus::signals::thought::{ModelCall, ModelReply};
use maxim_bus::{RegionName, Stage};
use serde_json::{Map, Value as Json, json};
use tokio::sync::Semaphore;

use super::http_client::{self, Roots};
use crate::region::{Effector, EffectorCard, Operation, Performs};

pub use reply_format::ReplyFormat;

/// Where the model is.
#[derive(Clone)]
pub struct ModelServer {
    /// With its version path, e.g. `http://127.0.0.1:8080/v1`.
    pub base_url: String,
    pub model: String,
    /// Sent as a bearer token; never logged.
    pub api_key: String,
    /// Whose certificates are believed when the address is `https`.
    pub roots: Roots,
    /// How this server can be asked for JSON.
    pub format: Arc<ReplyFormat>,
    /// A whole call, connecting included.
    pub timeout: Duration,
    /// Calls at once, for all incarnations of the worker together.
    pub calls: Arc<Semaphore>,
}

const CONNECT: Duration = Duration::from_secs(5);

/// The most calls at once that can be allowed.
pub const CALLS_MAX: usize = 1024;

/// How often a stop is looked for while a call runs.
const STOP_CHECK: Duration = Duration::from_millis(20);

/// Talks to the model, if there is one.
pub struct LlmWorker {
    server: Result<(ModelServer, Client<OpenAIConfig>), String>,
}

impl LlmWorker {
    /// Without a server it answers each call with the reason why it can't.
    pub fn new(server: Option<ModelServer>) -> Self {
        let none = || "no model is configured; set llm.base_url and llm.model".to_owned();
        let server = server.ok_or_else(none).and_then(|server| {
            let http = http_client::builder(&server.roots).connect_timeout(CONNECT).timeout(server.timeout).build();
            let http = http.map_err(|error| {
                format!("no TLS for {}: {}; name the authorities in llm.ca_file", server.base_url, told(&error))
            })?;
            let config = OpenAIConfig::new().with_api_base(&server.base_url).with_api_key(&server.api_key);
            Ok((server, Client::with_config(config).with_http_client(http)))
        });
        Self { server }
    }

    async fn call(&self, call: &ModelCall, operation: &Operation<Self>) -> Result<Json, String> {
        let (server, client) = self.server.as_ref().map_err(Clone::clone)?;
        operation.hands.durable(operation.lsn).await.map_err(|error| error.to_string())?;
        let latch = &operation.hands.frame.latch;
        let _turn = server.calls.acquire().await.map_err(|error| error.to_string())?;
        latch.permit(EffectKind::Other).map_err(|stopped| stopped.to_string())?;
        let messages = json!([{ "role": "system", "content": call.system }, { "role": "user", "content": call.user }]);
        let mut request = Map::from_iter([
            ("model".to_owned(), json!(server.model)),
            ("messages".to_owned(), messages),
            ("max_tokens".to_owned(), json!(call.max_tokens)),
            ("temperature".to_owned(), json!(0)),
        ]);
        let reply = async {
            let mut format = server.format.best();
            loop {
                ReplyFormat::ask(format, &mut request);
                match (
                    client.chat().create_byot::<&Map<String, Json>, Json>(&request).await,
                    ReplyFormat::weaker(format),
                ) {
                    (Err(error), Some(weaker)) if refuses_request(&error) => format = weaker,
                    (Ok(reply), _) => {
                        server.format.settle(format);
                        break Ok(reply);
                    }
                    (Err(error), _) => break Err(error),
                }
            }
        };
        let stopped = async {
            while !latch.is_stopped() {
                tokio::time::sleep(STOP_CHECK).await;
            }
        };
        tokio::select! {
            reply = reply => reply.map_err(|error| format!("the model server {} failed: {}", server.base_url, told(&error))),
            () = stopped => Err("the call was abandoned because of a stop".into()),
        }
    }
}

impl Effector for LlmWorker {
    const NAME: RegionName = "llm_worker";
    const STAGE: Stage = Stage::Deliberation;
    /// What may wait for its turn; [`ModelServer::calls`] bounds the calls.
    const CONCURRENT: usize = CALLS_MAX;

    fn card() -> EffectorCard<Self> {
        EffectorCard::new().performs::<ModelCall>().says::<ModelReply>()
    }

    fn deadline(&self) -> Duration {
        self.server.as_ref().map_or(Duration::from_secs(10), |(server, _)| server.timeout + Duration::from_secs(5))
    }
}

impl Performs<ModelCall> for LlmWorker {
    async fn perform(self: Arc<Self>, call: ModelCall, operation: Operation<Self>) {
        let reply = match self.call(&call, &operation).await {
            Ok(reply) => read(&call, &reply),
            Err(error) => failed(&call, error),
        };
        operation.say(reply);
    }

    fn abandoned(call: &ModelCall, why: &str, operation: &Operation<Self>) {
        operation.say(failed(call, why.into()));
    }
}

fn failed(call: &ModelCall, error: String) -> ModelReply {
    ModelReply {
        call: call.call,
        turn: call.turn,
        text: None,
        error: Some(error),
        prompt_tokens: 0,
        completion_tokens: 0,
    }
}

/// True when the server is well and doesn't take what was asked: it may lack the form in which the reply is wanted.
fn refuses_request(error: &OpenAIError) -> bool {
    match error {
        OpenAIError::ApiError(refused) => matches!(refused.status_code.as_u16(), 400 | 415 | 422 | 501),
        // An error in another shape than the interface has it, as some local servers send it.
        OpenAIError::JSONDeserialize(_, said) => said.contains("response_format") || said.contains("json_schema"),
        _ => false,
    }
}

fn read(call: &ModelCall, reply: &Json) -> ModelReply {
    let text = reply.pointer("/choices/0/message/content").and_then(Json::as_str).map(str::to_owned);
    let tokens = |field: &str| {
        let count = reply.pointer(&format!("/usage/{field}")).and_then(Json::as_u64).unwrap_or(0);
        u32::try_from(count).unwrap_or(u32::MAX)
    };
    let error = text.is_none().then(|| format!("the model's reply has no text: {}", clip(&reply.to_string())));
    ModelReply {
        call: call.call,
        turn: call.turn,
        text,
        error,
        prompt_tokens: tokens("prompt_tokens"),
        completion_tokens: tokens("completion_tokens"),
    }
}

/// With all that is behind it: the outermost error of a client says little.
fn told(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let mut parts: Vec<String> = causes.map(ToString::to_string).collect();
    // Many errors repeat what is behind them.
    parts.dedup_by(|inner, outer| outer.contains(inner.as_str()));
    parts.join(": ")
}

fn clip(text: &str) -> String {
    text.chars().take(300).collect()
}

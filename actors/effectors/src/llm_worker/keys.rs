//! The keys of the language model.

use std::path::PathBuf;
use std::sync::Arc;

use maxim_bus::mode::MoneyLimits;
use maxim_config::{Fault, Secret, Shape, Span, secret, section};
use maxim_language::{Budget, Price, TokenCounter, Tokenizer};

use super::{CALLS_MAX, CallQueue, ModelServer, Role, Roles};
use crate::http_client::Roots;

section! {
    /// The language model, if there is one. Any server with the OpenAI-compatible interface.
    LlmKeys = "llm" {
        /// Where the server is, with its version path; not set is no model: the agent acts by habit.
        base_url: Option<String> = "", "", Shape::Url;
        /// The model's name as the server knows it.
        model: Option<String> = "", "", Shape::Text;
        /// The model that is asked for an action where nothing more is thought (the last cycle, or the only one), as the
        /// server knows it; not set is the same. Its window must be no narrower.
        act_model: Option<String> = "", "", Shape::Text;
        /// The model that reviews actions, as the server knows it, e.g. a smaller one; not set is the same.
        review_model: Option<String> = "", "", Shape::Text;
        /// The key for the server; only from the environment.
        api_key: Option<Secret> = "", "", Shape::Secret;
        /// A file that holds the key alone; the key itself wins when both are set.
        api_key_file: Option<PathBuf> = "", "", Shape::Path;
        /// Certificates (PEM) of the authorities that an `https` server is checked against; not set is those of this machine.
        ca_file: Option<PathBuf> = "", "", Shape::Path;
        /// Whether replies are taken in pieces while the model writes them, so that one that breaks off is known as such.
        stream: bool = "true", "", Shape::Flag;
        /// A recording (.mcap) whose model calls are answered as they were, in the place of a server; for tests and for
        /// playing a session again.
        tape: Option<PathBuf> = "", "", Shape::Path;
        /// How long one call may take.
        timeout: Span = "1min", "time", Shape::Span { low: "1s", high: "1h" };
        /// Calls at once. Where calls wait, reviews go first, then those that must act, then thoughts.
        concurrency: u32 = "4", "calls", Shape::Integer { low: 1, high: 1024 };
        /// The model's window: prompt and reply together.
        context_tokens: u32 = "8192", "tokens", Shape::Integer { low: 1024, high: 16_777_216 };
        /// The model's tokenizer: its tokenizer.json, or a .tiktoken file of ranks; not set is an estimate.
        /// Either way what the server counts scales the next prompts.
        tokenizer_file: Option<PathBuf> = "", "", Shape::Path;
        /// How long a reply may be; at most a quarter of the window.
        reply_tokens: u32 = "1024", "tokens", Shape::Integer { low: 64, high: 1_048_576 };
        /// How often a turn is thought about at most before it is acted on; between two cycles memory is asked with the thought.
        cycles: u32 = "3", "cycles", Shape::Integer { low: 1, high: 10 };
        /// How many actions a turn may take, each chosen with what came of those before, until the person must be answered.
        steps: u32 = "8", "actions", Shape::Integer { low: 1, high: 100 };
        /// After a thought, only who may command is thought about for two ticks; the rest is left to habit.
        tick: Span = "500ms", "time", Shape::Span { low: "0s", high: "1h" };
        /// A call that would pass this many in the current hour is refused before it is made; 0 allows none.
        tokens_per_hour: u64 = "200000", "tokens", Shape::Integer { low: 0, high: 1_000_000_000_000 };
        /// A call that would pass this many in the current day is refused before it is made; 0 allows none.
        tokens_per_day: u64 = "2000000", "tokens", Shape::Integer { low: 0, high: 1_000_000_000_000 };
        /// A call that would pass this many from the start of the process on is refused before it is made; 0 is no limit.
        tokens_per_session: u64 = "0", "tokens", Shape::Integer { low: 0, high: 1_000_000_000_000 };
        /// What a million tokens of prompts cost, in whatever currency the limits are.
        price_prompt: f64 = "0", "a million tokens", Shape::Real { low: 0.0, high: 1_000_000.0 };
        /// What a million tokens of replies cost.
        price_reply: f64 = "0", "a million tokens", Shape::Real { low: 0.0, high: 1_000_000.0 };
        /// The same of prompts to the model that acts, where that is another.
        act_price_prompt: f64 = "0", "a million tokens", Shape::Real { low: 0.0, high: 1_000_000.0 };
        /// And of its replies.
        act_price_reply: f64 = "0", "a million tokens", Shape::Real { low: 0.0, high: 1_000_000.0 };
        /// The same of prompts to the reviewing model, where that is another.
        review_price_prompt: f64 = "0", "a million tokens", Shape::Real { low: 0.0, high: 1_000_000.0 };
        /// And of its replies.
        review_price_reply: f64 = "0", "a million tokens", Shape::Real { low: 0.0, high: 1_000_000.0 };
        /// A call that would pass this much money in the current hour is refused before it is made; 0 is no limit.
        money_per_hour: f64 = "0", "money", Shape::Real { low: 0.0, high: 1_000_000_000.0 };
        /// The same in the current day.
        money_per_day: f64 = "0", "money", Shape::Real { low: 0.0, high: 1_000_000_000.0 };
        /// The same from the start of the process on.
        money_per_session: f64 = "0", "money", Shape::Real { low: 0.0, high: 1_000_000_000.0 };
    }
}

impl LlmKeys {
    pub const fn money_limits(&self) -> MoneyLimits {
        let (per_hour, per_day, per_session) = (self.money_per_hour, self.money_per_day, self.money_per_session);
        MoneyLimits { per_hour, per_day, per_session }
    }

    /// What model calls may cost.
    pub const fn budget(&self) -> Budget {
        let Self { tokens_per_hour, tokens_per_day, tokens_per_session, .. } = *self;
        Budget { tokens_per_hour, tokens_per_day, tokens_per_session, money: self.money_limits() }
    }

    /// The model of each purpose with its price. A purpose without a model of its own uses the model and the price of
    /// deliberation.
    pub fn roles(&self) -> Roles {
        let model = self.model.clone().unwrap_or_default();
        let deliberate = Role { model, price: Price { prompt: self.price_prompt, reply: self.price_reply } };
        let role = |model: &Option<String>, prompt, reply| match model {
            Some(model) => Role { model: model.clone(), price: Price { prompt, reply } },
            None => deliberate.clone(),
        };
        Roles {
            review: role(&self.review_model, self.review_price_prompt, self.review_price_reply),
            act: role(&self.act_model, self.act_price_prompt, self.act_price_reply),
            deliberate,
        }
    }

    /// The key for the server. It is read from its file if the key itself isn't set.
    ///
    /// # Errors
    /// The file can't be read or doesn't hold one line.
    pub fn key(&self) -> Result<Option<Secret>, Fault> {
        secret::resolve("llm.api_key_file", self.api_key.as_ref(), self.api_key_file.as_deref())
    }

    /// The server to ask. `None` if no server or no model is named.
    ///
    /// # Errors
    /// A file that the keys name can't be read.
    pub fn server(&self) -> Result<Option<ModelServer>, Fault> {
        let (Some(base_url), Some(_)) = (&self.base_url, &self.model) else { return Ok(None) };
        let key = self.key()?;
        Ok(Some(ModelServer {
            format: Arc::default(),
            base_url: base_url.clone(),
            roles: Box::new(self.roles()),
            api_key: key.map(|key| key.expose().to_owned()).unwrap_or_default(),
            roots: Roots::of(base_url, self.ca_file.as_deref()).map_err(|error| {
                let fix = "name a file with the authority's certificate in PEM form";
                Fault::new("llm.ca_file", error.to_string(), fix)
            })?,
            stream: self.stream,
            timeout: self.timeout.get(),
            calls: CallQueue::new((self.concurrency as usize).min(CALLS_MAX)),
        }))
    }

    /// Counts with the model's own tokenizer if its file is named. Otherwise it estimates.
    ///
    /// # Errors
    /// The file isn't a tokenizer.
    pub fn token_counter(&self) -> Result<TokenCounter, Fault> {
        let Some(file) = &self.tokenizer_file else { return Ok(TokenCounter::Estimated) };
        let tokenizer = Tokenizer::open(file).map_err(|error| {
            Fault::new("llm.tokenizer_file", error.to_string(), "name another file, or remove the key")
        })?;
        Ok(TokenCounter::Model(Arc::new(tokenizer)))
    }
}

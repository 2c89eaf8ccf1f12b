//! What the configuration says of models: which are asked, how their tokens are counted, and what they may cost.

use std::path::Path;
use std::sync::Arc;

use maxim_actors::deliberation::prefrontal_cortex::Prices;
use maxim_actors::effectors::http_client::Roots;
use maxim_actors::effectors::llm_worker::{CALLS_MAX, CallQueue, ModelServer, ModelSource, Role, Roles};
use maxim_actors::language::{Budget, Price, TokenCounter, Tokenizer};
use maxim_bus::mode::MoneyLimits;

use super::settings::SettingsError;
use crate::config::{self, Fault};
use crate::recorder::Recording;

/// By the model's own tokenizer, where its file is named.
pub(super) fn token_counter(file: Option<&Path>) -> Result<TokenCounter, SettingsError> {
    let Some(file) = file else { return Ok(TokenCounter::Estimated) };
    let tokenizer = Tokenizer::open(file).map_err(|error| {
        let fix = "name another file, or leave the key out";
        SettingsError::Config(Fault::new("llm.tokenizer_file", error.to_string(), fix))
    })?;
    Ok(TokenCounter::Model(Arc::new(tokenizer)))
}

const CA_FIX: &str = "name a file with the authority's certificate in PEM form";

pub(super) fn money_limits(llm: &config::Llm) -> MoneyLimits {
    let (per_hour, per_day, per_session) = (llm.money_per_hour, llm.money_per_day, llm.money_per_session);
    MoneyLimits { per_hour, per_day, per_session }
}

/// What calls of models may cost.
pub(super) fn budget(llm: &config::Llm) -> Budget {
    let (tokens_per_hour, tokens_per_day, tokens_per_session) =
        (llm.tokens_per_hour, llm.tokens_per_day, llm.tokens_per_session);
    Budget { tokens_per_hour, tokens_per_day, tokens_per_session, money: money_limits(llm) }
}

/// What each purpose costs; a role without a model of its own costs what the model does.
pub(super) fn prices(llm: &config::Llm) -> Prices {
    let model = Price { prompt: llm.price_prompt, reply: llm.price_reply };
    let own = |name: &Option<String>, prompt, reply| if name.is_some() { Price { prompt, reply } } else { model };
    Prices { act: own(&llm.act_model, llm.act_price_prompt, llm.act_price_reply), deliberate: model }
}

/// Which model is asked for each purpose, where `model` is the one for all.
pub(super) fn roles(llm: &config::Llm, model: &str) -> Roles {
    let named = |name: &Option<String>| name.clone().unwrap_or_else(|| model.to_owned());
    let Prices { act, deliberate } = prices(llm);
    let reviewer = Price { prompt: llm.review_price_prompt, reply: llm.review_price_reply };
    let review = if llm.review_model.is_some() { reviewer } else { deliberate };
    Roles {
        review: Role { model: named(&llm.review_model), price: review },
        act: Role { model: named(&llm.act_model), price: act },
        deliberate: Role { model: model.to_owned(), price: deliberate },
    }
}

pub(super) fn model_source(llm: &config::Llm) -> Result<Option<ModelSource>, SettingsError> {
    let config::Llm {
        base_url,
        model,
        act_model: _,
        review_model: _,
        api_key: _,
        api_key_file: _,
        ca_file,
        timeout,
        concurrency,
        context_tokens: _,
        reply_tokens: _,
        tokenizer_file: _,
        cycles: _,
        steps: _,
        tick: _,
        tokens_per_hour: _,
        tokens_per_day: _,
        tokens_per_session: _,
        price_prompt: _,
        price_reply: _,
        act_price_prompt: _,
        act_price_reply: _,
        review_price_prompt: _,
        review_price_reply: _,
        money_per_hour: _,
        money_per_day: _,
        money_per_session: _,
        stream,
        tape,
    } = llm;
    if let Some(path) = tape {
        let played = Recording::tape_of(path).map_err(|error| {
            SettingsError::Config(Fault::new("llm.tape", error.to_string(), "name a recording, or unset it"))
        })?;
        return Ok(Some(ModelSource::Tape(Arc::new(played))));
    }
    let (Some(base_url), Some(model)) = (base_url, model) else { return Ok(None) };
    let key = llm.key().map_err(SettingsError::Config)?;
    Ok(Some(ModelSource::Server(ModelServer {
        format: Arc::default(),
        base_url: base_url.clone(),
        roles: Box::new(roles(llm, model)),
        api_key: key.map(|key| key.expose().to_owned()).unwrap_or_default(),
        roots: Roots::of(base_url, ca_file.as_deref())
            .map_err(|error| SettingsError::Config(Fault::new("llm.ca_file", error.to_string(), CA_FIX)))?,
        stream: *stream,
        timeout: timeout.get(),
        calls: CallQueue::new((*concurrency as usize).min(CALLS_MAX)),
    })))
}

//! `GET /v1/prompt`: the last prompt that a model was shown.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use maxim_actors::deliberation::prefrontal_cortex::{COUNTS, Counts, LAST_PROMPT, LastPrompt, PrefrontalCortex};
use maxim_actors::region::Region;
use serde_json::json;

use super::fields::query_fields;
use super::memory::blocking;
use super::problem::{Answer, ok};
use super::{Problem, Served};

/// `GET /v1/prompt`.
pub async fn prompt(State(served): State<Arc<Served>>, request: Request) -> Answer {
    query_fields(&request, &[])?;
    let store = served.agent.frame.store.clone();
    let read = move || {
        let record = |key: &str| store.record(PrefrontalCortex::NAME, key.as_bytes());
        Ok((record(LAST_PROMPT)?, record(COUNTS)?))
    };
    let (last, counts) = blocking(read).await?;
    let last = last.and_then(|bytes| serde_json::from_slice::<LastPrompt>(&bytes).ok());
    let counts = counts.and_then(|bytes| serde_json::from_slice::<Counts>(&bytes).ok()).unwrap_or_default();
    match last {
        Some(last) => {
            let mut told = json!(last);
            told["replies"] = json!(counts);
            ok(&told)
        }
        None => Err(Problem::new(
            StatusCode::NOT_FOUND,
            "no model was asked yet",
            "configure llm.base_url and llm.model, and say something that is no plain command",
        )),
    }
}

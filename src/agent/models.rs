//! The model that an agent asks: a server, or a recording that gives the same answers as the server did.

use std::sync::Arc;

use maxim_actors::deliberation::prefrontal_cortex::Prices;
use maxim_actors::effectors::llm_worker::{LlmKeys, ModelSource};

use crate::config::Fault;
use crate::recorder::Recording;

pub(super) fn prices(llm: &LlmKeys) -> Prices {
    let roles = llm.roles();
    Prices { act: roles.act.price, deliberate: roles.deliberate.price }
}

/// # Errors
/// A file that the keys name can't be read.
pub(super) fn model_source(llm: &LlmKeys) -> Result<Option<ModelSource>, Fault> {
    let Some(path) = &llm.tape else { return Ok(llm.server()?.map(ModelSource::Server)) };
    let played = Recording::tape_of(path)
        .map_err(|error| Fault::new("llm.tape", error.to_string(), "name a recording, or unset it"))?;
    Ok(Some(ModelSource::Tape(Arc::new(played))))
}

//! What the agent can do, who offers it, and its read-only questions about itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use maxim_actors::action::tools::{Door, Runner, SpeechPattern, ToolSpec};
use serde_json::{Value, json};

use super::fields::{Field, Kind, body_fields, query_fields};
use super::problem::{Answer, ok};
use super::{Problem, Served};

pub const QUESTION: &[Field] = &[Field::optional("params", Kind::Any, "the tool's parameters as an object")];

/// `GET /v1/tools`.
pub async fn tools(State(served): State<Arc<Served>>, request: Request) -> Answer {
    query_fields(&request, &[])?;
    let tools: Vec<Value> = served.tools.specs().map(|spec| shown(&served, spec)).collect();
    let left_out = served.tools.left_out();
    ok(&json!({"tools": tools, "left_out": left_out, "servers": served.tool_servers.report()}))
}

fn shown(served: &Served, spec: &ToolSpec) -> Value {
    let from = match (&spec.offered_by, spec.is_foreign) {
        (Some(offer), _) => format!("server {}", offer.server),
        (None, true) => "manifest".to_owned(),
        (None, false) => "built-in".to_owned(),
    };
    let unavailable = spec.unavailable.clone().or_else(|| served.tool_servers.unavailable(spec));
    json!({
        "name": spec.name,
        "description": spec.description,
        "parameters": spec.parameters,
        "aliases": spec.parameter_aliases.iter().cloned().collect::<BTreeMap<String, String>>(),
        "example": spec.example,
        "said": spec.speech.iter().map(said).collect::<Vec<_>>(),
        "follow_up": spec.follow_up,
        "effect": spec.effect,
        "required_mode": spec.required_mode,
        "introspection": spec.door == Door::Introspection,
        "from": from,
        "available": unavailable.is_none(),
        "reason": unavailable,
    })
}

/// A way of asking for it, with the first of its verbs.
fn said(speech: &SpeechPattern) -> String {
    speech.pattern.replace("{verb}", speech.verbs.first().map_or("", String::as_str))
}

/// `POST /v1/introspection/{tool}`.
pub async fn inquire(State(served): State<Arc<Served>>, Path(tool): Path<String>, request: Request) -> Answer {
    let given = body_fields(&served, request, QUESTION).await?;
    let is_question =
        |spec: &ToolSpec, runner: &Runner| spec.door == Door::Introspection && matches!(runner, Runner::Brain);
    let Some(found) = served.tools.get(&tool).filter(|found| is_question(&found.spec, &found.runner)) else {
        let fix = "see GET /v1/tools for those with \"introspection\": true";
        return Err(Problem::new(StatusCode::NOT_FOUND, format!("there is no introspection tool {tool:?}"), fix));
    };
    let params = served.tools.validate(&tool, given.0.get("params").unwrap_or(&Value::Null));
    let params = params.map_err(|error| Problem::bad(error.to_string(), "correct the parameters"))?;
    if let Some(reason) = &found.spec.unavailable {
        return ok(&json!({"available": false, "reason": reason}));
    }
    ok(&served.agent.outside.door.inquire(&tool, params).await?)
}

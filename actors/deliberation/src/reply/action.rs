//! The action that a reply means, in the shapes in which models write it.

use maxim_bus::units::Confidence;
use serde_json::{Map, Value as Json, json};

use super::{Unreadable, read_json};

/// What a model came to.
#[derive(Clone, Debug, PartialEq)]
pub struct ProposedAction {
    /// It wants to act now; without an action it thinks on.
    pub ready: bool,
    /// Tool and parameters. None while it isn't ready.
    pub action: Option<(String, Json)>,
    /// Private, in the first person.
    pub reasoning: String,
    /// How sure it says it is; none when it didn't say.
    pub confidence: Option<Confidence>,
    /// The reply was not exactly the JSON that was asked for.
    pub repaired: bool,
}

/// A reply that means no action.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoAction {
    #[error("the reply can't be read: {0}")]
    Unreadable(#[from] Unreadable),
    #[error("the reply names no tool; its fields are {0}; give \"tool_name\" and \"params\"")]
    NoTool(String),
    #[error("\"params\" of {tool} must be an object, not {found}")]
    BadParams { tool: String, found: String },
}

/// Fields under which models name the tool, the asked one first.
const TOOL: [&str; 5] = ["tool_name", "tool", "toolName", "function_name", "name"];
/// Fields under which they give its parameters.
const PARAMS: [&str; 7] = ["params", "parameters", "arguments", "args", "input", "action_input", "tool_input"];
/// Fields of an object that is only an answer to the person.
const ANSWER: [&str; 6] = ["message", "response", "answer", "reply", "text", "content"];
const REASONING: [&str; 5] = ["reasoning", "thought", "thoughts", "reason", "thinking"];

/// The action in a reply; a reply in plain words answers the person by `respond`.
///
/// # Errors
/// The reply can't be read, or names no tool.
pub fn read_action(reply: &str) -> Result<ProposedAction, NoAction> {
    let reading = read_json(reply)?;
    let answer = |text: &str| ProposedAction {
        ready: true,
        action: Some(("respond".into(), json!({ "message": text }))),
        reasoning: String::new(),
        confidence: None,
        repaired: true,
    };
    // Prose is an answer as it was written, whatever list or number it would also be.
    if reading.bare {
        return Ok(answer(reply.trim()));
    }
    let object = match &reading.value {
        Json::String(text) => return Ok(answer(text)),
        // A number alone answers a sum.
        Json::Number(_) => return Ok(answer(reply.trim())),
        Json::Array(items) => items.iter().find(|item| is_action(item)).or(items.iter().find(|item| item.is_object())),
        value => Some(value),
    };
    let Some(object) = object.and_then(Json::as_object) else {
        return Err(NoAction::NoTool(reading.value.to_string().chars().take(120).collect()));
    };
    let object = inner(object);
    let ready = flag(object.get("ready_to_act")).unwrap_or(true);
    let reasoning = text_of(object, &REASONING).unwrap_or_default();
    let confidence = object.get("confidence").and_then(confidence);
    let action = match named(object) {
        Some((tool, params)) => Some((tool.to_owned(), parameters(tool, params)?)),
        None => text_of(object, &ANSWER).map(|message| ("respond".to_owned(), json!({ "message": message }))),
    };
    if action.is_none() && (ready || reasoning.is_empty()) {
        return Err(NoAction::NoTool(object.keys().cloned().collect::<Vec<_>>().join(", ")));
    }
    Ok(ProposedAction { ready: ready && action.is_some(), action, reasoning, confidence, repaired: reading.repaired })
}

/// The object names a tool, at its top or in its action.
pub fn is_action(value: &Json) -> bool {
    value.as_object().is_some_and(|object| named(inner(object)).is_some())
}

/// Some wrap the whole answer once more: `{"response": {…}}`.
fn inner(object: &Map<String, Json>) -> &Map<String, Json> {
    match object.values().next() {
        Some(Json::Object(only)) if object.len() == 1 && named(object).is_none() && named(only).is_some() => only,
        _ => object,
    }
}

/// The tool that an object names, and the parameters beside it.
fn named(object: &Map<String, Json>) -> Option<(&str, Option<&Json>)> {
    let params = |object: &'_ Map<String, Json>| PARAMS.iter().find(|field| object.contains_key(**field)).copied();
    let call = |holder: &Json| holder.pointer("/0/function").or_else(|| holder.get(0)).is_some();
    if let Some(call) = object.get("tool_calls").filter(|calls| call(calls)) {
        let call = call.pointer("/0/function").or_else(|| call.get(0)).and_then(Json::as_object)?;
        return named(call);
    }
    for holder in ["action", "function", "tool_call", "function_call"] {
        match object.get(holder) {
            Some(Json::Object(action)) => {
                if let Some((tool, given)) = named(action) {
                    return Some((tool, given.or_else(|| object.get(params(object)?))));
                }
            }
            Some(Json::String(tool)) if is_name(tool) && params(object).is_some() => {
                return Some((tool, object.get(params(object)?)));
            }
            _ => {}
        }
    }
    let (field, tool) = TOOL.iter().find_map(|field| Some((*field, object.get(*field)?.as_str()?)))?;
    // "name" and "tool" are common words: alone they are no call.
    let sure = field == "tool_name" || params(object).is_some();
    (sure && is_name(tool)).then(|| (tool.trim(), params(object).and_then(|field| object.get(field))))
}

fn is_name(word: &str) -> bool {
    let word = word.trim();
    !word.is_empty() && word.len() <= 100 && !word.contains(['\n', '{'])
}

/// Parameters as an object; some models give them as text.
fn parameters(tool: &str, given: Option<&Json>) -> Result<Json, NoAction> {
    let bad =
        |found: &Json| NoAction::BadParams { tool: tool.into(), found: found.to_string().chars().take(80).collect() };
    match given {
        None | Some(Json::Null) => Ok(json!({})),
        Some(object @ Json::Object(_)) => Ok(object.clone()),
        Some(Json::String(text)) if text.trim().is_empty() => Ok(json!({})),
        Some(text @ Json::String(words)) => {
            let read = read_json(words).ok().map(|reading| reading.value).filter(Json::is_object);
            read.ok_or_else(|| bad(text))
        }
        Some(Json::Array(items)) if items.is_empty() => Ok(json!({})),
        Some(other) => Err(bad(other)),
    }
}

fn text_of(object: &Map<String, Json>, fields: &[&str]) -> Option<String> {
    fields.iter().find_map(|field| object.get(*field)?.as_str()).map(str::to_owned)
}

fn flag(value: Option<&Json>) -> Option<bool> {
    match value? {
        Json::Bool(flag) => Some(*flag),
        Json::String(word) => match word.to_lowercase().as_str() {
            "true" | "yes" => Some(true),
            "false" | "no" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

/// A share of 1, also as text or in percent.
fn confidence(value: &Json) -> Option<Confidence> {
    let share = match value {
        Json::Number(number) => number.as_f64()?,
        Json::String(word) => match word.trim().strip_suffix('%') {
            Some(percent) => percent.trim().parse::<f64>().ok()? / 100.0,
            None => word.trim().parse().ok()?,
        },
        _ => return None,
    };
    let share = if share > 1.0 && share <= 100.0 { share / 100.0 } else { share };
    (0.0..=1.0).contains(&share).then(|| Confidence::clamped(share))
}

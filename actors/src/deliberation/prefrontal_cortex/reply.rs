//! Reading what a model replied: the action in it, wherever it stands.

use serde_json::{Value as Json, json};

/// Tool, parameters and reasoning. Prose without an object is an answer to the person.
///
/// # Errors
/// Nothing in it can be read as an action or an answer.
pub fn read_reply(text: &str) -> Result<(String, Json, String), String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("the model replied with nothing".into());
    }
    let Some(object) = objects(text).into_iter().find(|object| named(object).is_some()) else {
        if text.starts_with(['{', '[']) {
            return Err(format!("the model's reply is no action: {}", text.chars().take(200).collect::<String>()));
        }
        return Ok(("respond".into(), json!({ "message": text }), String::new()));
    };
    let action = object.get("action").filter(|action| action.is_object()).unwrap_or(&object);
    let tool = named(&object).unwrap_or_default().to_owned();
    let params = action.get("params").or_else(|| action.get("parameters")).cloned().unwrap_or_else(|| json!({}));
    let reasoning = object.get("reasoning").and_then(Json::as_str).unwrap_or_default().to_owned();
    Ok((tool, params, reasoning))
}

/// The tool that an object names, at its top or in its `action`.
fn named(object: &Json) -> Option<&str> {
    object.get("tool_name").or_else(|| object.pointer("/action/tool_name")).and_then(Json::as_str)
}

/// The whole JSON objects in a text, in order.
fn objects(text: &str) -> Vec<Json> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(start) = text[from..].find('{').map(|at| from + at) {
        let mut stream = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Json>();
        match stream.next() {
            Some(Ok(object)) => {
                from = start + stream.byte_offset();
                found.push(object);
            }
            _ => from = start + 1,
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_action_is_found_in_fences_and_prose() {
        let reply = "Sure!\n```json\n{\"tool_name\": \"glob\", \"params\": {\"pattern\": \"*.rs\"}, \"reasoning\": \"I look\"}\n```";
        let (tool, params, reasoning) = read_reply(reply).expect("an action");
        assert_eq!((tool.as_str(), reasoning.as_str()), ("glob", "I look"));
        assert_eq!(params["pattern"], "*.rs");
        let nested = r#"{"ready_to_act": true, "action": {"tool_name": "bash", "params": {"command": "ls"}}}"#;
        assert_eq!(read_reply(nested).expect("an action").0, "bash");
    }

    #[test]
    fn prose_is_an_answer_and_broken_json_is_none() {
        assert_eq!(read_reply("The key is in the drawer.").expect("an answer").0, "respond");
        assert!(read_reply("{\"tool_na").is_err());
        assert!(read_reply("  ").is_err());
    }
}

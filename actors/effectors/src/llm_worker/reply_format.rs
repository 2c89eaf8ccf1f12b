//! The structured output that a model server supports: a JSON schema, JSON without a schema, or instructions only.
//!
//! Servers differ, and few say so in advance. The strictest format is tried first; a refused format isn't tried again
//! until the next start. Whatever the format, the reply is parsed as if it had been requested in words only.

use std::sync::atomic::{AtomicU8, Ordering};

use maxim_bus::signals::thought::CallableTool;
use serde_json::value::RawValue;
use serde_json::{Value as Json, json};

/// Number of formats, the strictest first.
const FORMATS: u8 = 3;

/// What one server is known to refuse.
#[derive(Debug, Default)]
pub struct ReplyFormat(AtomicU8);

impl ReplyFormat {
    /// The strictest format that isn't known to be refused.
    pub fn best(&self) -> u8 {
        self.0.load(Ordering::Relaxed)
    }

    /// The server answered to this format after it had refused stricter ones.
    pub fn settle(&self, format: u8) {
        self.0.fetch_max(format, Ordering::Relaxed);
    }

    /// The next format after `format` was refused; none after instructions only.
    pub fn weaker(format: u8) -> Option<u8> {
        (format + 1 < FORMATS).then_some(format + 1)
    }

    /// The request field for a reply with this JSON schema.
    pub fn of(format: u8, form: &Json) -> Option<Box<RawValue>> {
        let wish = match format {
            0 => json!({ "type": "json_schema", "json_schema": { "name": "answer", "schema": form } }).to_string(),
            1 => r#"{"type":"json_object"}"#.to_owned(),
            _ => return None,
        };
        RawValue::from_string(wish).ok()
    }

    /// The request field for a thought or an action. `tools` are the names that an action may have.
    pub fn wish(format: u8, tools: &[CallableTool]) -> Option<Box<RawValue>> {
        let wish = match format {
            0 => schema(tools),
            1 => r#"{"type":"json_object"}"#.to_owned(),
            _ => return None,
        };
        RawValue::from_string(wish).ok()
    }
}

/// Maximum characters of reasoning, because small models ramble.
const REASONING: usize = 800;

/// The schema of a thought or an action, as text. A server writes in the schema's order, and reasons must come before
/// acts. The intended action is named even while thinking continues, because memory is asked about it too. It isn't
/// strict: parameters are checked against the tools' own schemas, and a server only gets their simple part.
fn schema(tools: &[CallableTool]) -> String {
    let action = |name: String, params: &Json| {
        format!(
            r#"{{"type":"object","properties":{{"tool_name":{name},"params":{params}}},"required":["tool_name","params"],"additionalProperties":false}}"#
        )
    };
    let any = json!({ "type": "object" });
    let whole = tools.iter().filter_map(|tool| {
        let parameters = tool.parameters.as_ref()?;
        Some(action(json!({ "const": tool.name }).to_string(), &plain(parameters)))
    });
    let rest: Vec<&str> =
        tools.iter().filter(|tool| tool.parameters.is_none()).map(|tool| tool.name.as_str()).collect();
    let rest = (!rest.is_empty()).then(|| action(json!({ "type": "string", "enum": rest }).to_string(), &any));
    let actions: Vec<String> = whole.chain(rest).collect();
    let action = match actions.as_slice() {
        [] => action(json!({ "type": "string" }).to_string(), &any),
        actions => format!(r#"{{"anyOf":[{}]}}"#, actions.join(",")),
    };
    let properties = format!(
        r#"{{"reasoning":{{"type":"string","maxLength":{REASONING}}},"ready_to_act":{{"type":"boolean"}},"action":{action},"confidence":{{"type":"number","minimum":0,"maximum":1}}}}"#
    );
    let schema =
        format!(r#"{{"type":"object","properties":{properties},"required":["reasoning","ready_to_act","action"]}}"#);
    format!(r#"{{"type":"json_schema","json_schema":{{"name":"thought","strict":false,"schema":{schema}}}}}"#)
}

/// The part of a schema that servers with guided output understand.
fn plain(schema: &Json) -> Json {
    let Some(fields) = schema.as_object() else { return json!({ "type": "object" }) };
    let kept = fields.iter().filter_map(|(key, value)| match key.as_str() {
        "type" | "enum" | "const" | "required" => Some((key.clone(), value.clone())),
        "items" => Some((key.clone(), plain(value))),
        "properties" => {
            let properties = value.as_object()?.iter().map(|(name, schema)| (name.clone(), plain(schema)));
            Some((key.clone(), Json::Object(properties.collect())))
        }
        _ => None,
    });
    Json::Object(kept.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(format: u8, tools: &[CallableTool]) -> Option<Json> {
        let wish = ReplyFormat::wish(format, tools)?;
        Some(serde_json::from_str(wish.get()).expect("JSON"))
    }

    #[test]
    fn what_is_refused_is_followed_by_what_is_weaker_and_never_tried_again() {
        let format = ReplyFormat::default();
        assert_eq!(wish(format.best(), &[]).expect("a schema")["type"], "json_schema");
        let weaker = ReplyFormat::weaker(format.best()).expect("there is JSON without a schema");
        assert_eq!(wish(weaker, &[]), Some(json!({ "type": "json_object" })));
        format.settle(weaker);
        format.settle(0);
        assert_eq!(format.best(), weaker);
        let last = ReplyFormat::weaker(weaker).expect("there are instructions alone");
        assert_eq!(wish(last, &[]), None);
        assert_eq!(ReplyFormat::weaker(last), None);
    }

    #[test]
    fn a_server_with_schemas_is_held_to_tools_that_exist_and_reasons_before_it_acts() {
        let takes = json!({
            "type": "object", "required": ["message"], "additionalProperties": false,
            "properties": { "message": { "type": "string", "description": "words", "minLength": 1 } },
        });
        let tool = |name: &str, parameters| CallableTool { name: name.into(), parameters };
        let tools = [tool("respond", Some(takes)), tool("odd \"name\"", None), tool("glob", None)];
        let asked = wish(0, &tools).expect("a schema");
        let actions = asked.pointer("/json_schema/schema/properties/action/anyOf").expect("actions");
        assert_eq!(actions[0]["properties"]["tool_name"], json!({ "const": "respond" }));
        let plain = json!({
            "type": "object", "required": ["message"], "properties": { "message": { "type": "string" } },
        });
        assert_eq!(actions[0]["properties"]["params"], plain);
        assert_eq!(actions[1]["properties"]["tool_name"]["enum"], json!(["odd \"name\"", "glob"]));
        let text = ReplyFormat::wish(0, &tools).expect("a schema");
        let place = |word: &str| text.get().find(word).expect("it is there");
        assert!(place("\"reasoning\"") < place("\"action\""), "servers write in the order of the schema");
    }
}

//! Which structured output a model server has: a JSON schema, JSON at all, or instructions alone.
//!
//! Servers differ, and few say so beforehand. The strictest is tried first; what a server refuses isn't tried again until
//! the next start. However the reply is asked for, it is read as if it had been asked for in words only.

use std::sync::atomic::{AtomicU8, Ordering};

use serde_json::value::RawValue;

/// Ways to ask for a reply, from the strictest on.
const FORMATS: u8 = 3;

/// What one server is known to refuse.
#[derive(Debug, Default)]
pub struct ReplyFormat(AtomicU8);

impl ReplyFormat {
    /// The strictest that isn't known to be refused.
    pub fn best(&self) -> u8 {
        self.0.load(Ordering::Relaxed)
    }

    /// The server answered to this one after it had refused what is stricter.
    pub fn settle(&self, format: u8) {
        self.0.fetch_max(format, Ordering::Relaxed);
    }

    /// What to try when `format` was refused; nothing after instructions alone.
    pub fn weaker(format: u8) -> Option<u8> {
        (format + 1 < FORMATS).then_some(format + 1)
    }

    /// The wish as a request has it. `tools` are the names that an action may have.
    pub fn wish(format: u8, tools: &[String]) -> Option<Box<RawValue>> {
        let wish = match format {
            0 => schema(tools),
            1 => r#"{"type":"json_object"}"#.to_owned(),
            _ => return None,
        };
        RawValue::from_string(wish).ok()
    }
}

/// A thought or an action, as text: a server that is held to a schema writes in its order, and reasons come before acts. Not
/// strict: each tool has parameters of its own, which are checked against its own schema.
fn schema(tools: &[String]) -> String {
    let names = if tools.is_empty() { String::new() } else { format!(r#","enum":{}"#, serde_json::json!(tools)) };
    let action = format!(
        r#"{{"type":"object","properties":{{"tool_name":{{"type":"string"{names}}},"params":{{"type":"object"}}}},"required":["tool_name","params"]}}"#
    );
    let properties = format!(
        r#"{{"reasoning":{{"type":"string"}},"ready_to_act":{{"type":"boolean"}},"action":{action},"confidence":{{"type":"number","minimum":0,"maximum":1}}}}"#
    );
    let schema = format!(r#"{{"type":"object","properties":{properties},"required":["reasoning","ready_to_act"]}}"#);
    format!(r#"{{"type":"json_schema","json_schema":{{"name":"thought","strict":false,"schema":{schema}}}}}"#)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value as Json, json};

    fn wish(format: u8, tools: &[String]) -> Option<Json> {
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
        let names = ["respond".to_owned(), "odd \"name\"".to_owned()];
        let asked = wish(0, &names).expect("a schema");
        let tool = asked.pointer("/json_schema/schema/properties/action/properties/tool_name/enum");
        assert_eq!(tool, Some(&json!(names)));
        let text = ReplyFormat::wish(0, &names).expect("a schema");
        let place = |word: &str| text.get().find(word).expect("it is there");
        assert!(place("\"reasoning\"") < place("\"action\""), "servers write in the order of the schema");
    }
}

//! Which structured output a model server has: a JSON schema, JSON at all, or instructions alone.
//!
//! Servers differ, and few say so beforehand. The strictest is tried first; what a server refuses isn't tried again until
//! the next start. However the reply is asked for, it is read as if it had been asked for in words only.

use std::sync::atomic::{AtomicU8, Ordering};

use serde_json::{Map, Value as Json, json};

/// Ways to ask for a reply, from the strictest on.
const FORMATS: u8 = 3;
const FIELD: &str = "response_format";

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

    /// Puts the wish into a request.
    pub fn ask(format: u8, request: &mut Map<String, Json>) {
        match format {
            0 => request.insert(FIELD.into(), schema()),
            1 => request.insert(FIELD.into(), json!({ "type": "json_object" })),
            _ => request.remove(FIELD),
        };
    }
}

/// A thought or an action. Not strict: each tool has parameters of its own, which are checked against its own schema.
fn schema() -> Json {
    let action = json!({
        "type": "object",
        "properties": { "tool_name": { "type": "string" }, "params": { "type": "object" } },
        "required": ["tool_name", "params"],
    });
    json!({
        "type": "json_schema",
        "json_schema": {
            "name": "thought",
            "strict": false,
            "schema": {
                "type": "object",
                "properties": {
                    "reasoning": { "type": "string" },
                    "ready_to_act": { "type": "boolean" },
                    "confidence": { "type": "number", "minimum": 0, "maximum": 1 },
                    "action": action,
                },
                "required": ["reasoning", "ready_to_act"],
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_is_followed_by_what_is_weaker_and_never_tried_again() {
        let format = ReplyFormat::default();
        let mut request = Map::new();
        ReplyFormat::ask(format.best(), &mut request);
        assert_eq!(request[FIELD]["type"], "json_schema");
        let weaker = ReplyFormat::weaker(format.best()).expect("there is JSON without a schema");
        format.settle(weaker);
        format.settle(0);
        assert_eq!(format.best(), weaker);
        let last = ReplyFormat::weaker(weaker).expect("there are instructions alone");
        ReplyFormat::ask(last, &mut request);
        assert!(request.is_empty());
        assert_eq!(ReplyFormat::weaker(last), None);
    }
}

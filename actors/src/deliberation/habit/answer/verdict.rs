//! Words why something was not done, and the small coin of talk.

use serde_json::Value;

use crate::deliberation::habit::{Step, Understanding};

/// Why the gate let an action not pass.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    pub tool: String,
    /// The rule or learned link that decided.
    pub rule: String,
    pub reason: String,
}

pub fn refused(refusal: &Refusal) -> String {
    let reason = refusal.reason.trim().trim_end_matches('.');
    format!("I didn't use {}: blocked by the rule “{}”, because {reason}.", refusal.tool, refusal.rule)
}

/// What would be done, why it must be approved, and how.
pub fn approval_needed(step: &Step, reason: &str, approval: &str) -> String {
    let reason = reason.trim().trim_end_matches('.');
    format!(
        "I would use {} with {}, but it needs your approval: {reason}. To allow it: maxim approvals allow {approval}",
        step.tool,
        parameters(&step.params)
    )
}

/// `why` and `by` come from the latch.
pub fn stopped(why: &str, by: &str) -> String {
    format!(
        "I am stopped ({why}, by {by}), so I did nothing. What you wrote is recorded and won't be done later. To go on: maxim reset, then maxim resume"
    )
}

pub fn held(until: Option<&str>) -> String {
    let end = until.map(|until| format!(" until {until}")).unwrap_or_else(|| " until it is released".to_owned());
    format!("I am on hold{end}, so I do nothing new. To release it: maxim resume")
}

pub fn remembered(fact: &str) -> String {
    format!("I will remember: {}.", fact.trim().trim_end_matches('.'))
}

/// What to say when nothing was understood; `examples` are (tool, example) as the grammar gives them.
pub fn unknown(examples: &[(String, String)]) -> String {
    let some: Vec<String> = examples.iter().take(4).map(|(_, example)| format!("“{example}”")).collect();
    if some.is_empty() {
        return "I didn't understand that, so I did nothing.".to_owned();
    }
    format!("I didn't understand that, so I did nothing. I understand for example: {}.", some.join(", "))
}

/// The reply to what needs no memory and no tool; none for everything else.
pub fn small_talk(understood: &Understanding) -> Option<String> {
    let reply = match understood {
        Understanding::Greeting => "Hello.",
        Understanding::Thanks => "You're welcome.",
        Understanding::Farewell => "Goodbye.",
        Understanding::Acknowledgement { agrees: Some(false) } => "All right, I leave it.",
        Understanding::Acknowledgement { .. } => "All right.",
        Understanding::Statement => "Noted.",
        Understanding::Prohibition { words, .. } => return Some(format!("Understood, I did nothing (“{words}”).")),
        Understanding::Unsupported { reply, .. } => reply,
        Understanding::Ambiguous { question, .. } => question,
        _ => return None,
    };
    Some(reply.to_owned())
}

fn parameters(params: &Value) -> String {
    match params {
        Value::Object(fields) if fields.is_empty() => "no parameters".to_owned(),
        Value::Object(fields) => {
            let one =
                |(name, value): (&String, &Value)| format!("{name} = {}", super::bounded(&value.to_string(), 200));
            fields.iter().map(one).collect::<Vec<_>>().join(", ")
        }
        _ => "no parameters".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use maxim_bus::units::Confidence;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_not_done_names_the_rule_or_the_way_to_allow_it() {
        let refusal =
            Refusal { tool: "bash".into(), rule: "secret-read".into(), reason: "it reads a stored key.".into() };
        assert_eq!(
            refused(&refusal),
            "I didn't use bash: blocked by the rule “secret-read”, because it reads a stored key."
        );
        let step = Step {
            tool: "bash".into(),
            params: json!({"command": "make"}),
            certainty: Confidence::clamped(1.0),
            pattern: String::new(),
        };
        let asked = approval_needed(&step, "it executes code", "a1");
        assert!(asked.contains("command = \"make\"") && asked.ends_with("maxim approvals allow a1"), "{asked}");
    }

    #[test]
    fn only_talk_has_a_fixed_reply() {
        assert_eq!(small_talk(&Understanding::Thanks).as_deref(), Some("You're welcome."));
        assert_eq!(small_talk(&Understanding::Unknown), None);
        assert!(unknown(&[("bash".into(), "run <command>".into())]).contains("“run <command>”"));
    }
}

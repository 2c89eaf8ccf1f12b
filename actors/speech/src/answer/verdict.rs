//! Words for refusals and questions of the gate, and for small talk.

use maxim_bus::latch::StopDetail;
use maxim_bus::signals::grants::AlwaysOffer;
use serde_json::Value;

use crate::Step;
use crate::Understanding;

/// A refusal of the gate.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    pub tool: String,
    /// The deciding rule or learned link.
    pub rule: String,
    pub reason: String,
}

pub fn refused(refusal: &Refusal) -> String {
    let reason = refusal.reason.trim().trim_end_matches('.');
    format!("I didn't use {}: blocked by the rule “{}”, because {reason}.", refusal.tool, refusal.rule)
}

/// How to answer a question of the gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The letters that name it.
    pub code: String,
    /// The whole id, for people with a command line.
    pub id: Option<String>,
    /// The time of day at which it expires.
    pub until: Option<String>,
    /// The reach of an “always”.
    pub always: Option<AlwaysOffer>,
}

/// The planned act, why it needs an approval, and how to give it.
pub fn approval_needed(step: &Step, reason: &str, question: &Question) -> String {
    let reason = reason.trim().trim_end_matches('.');
    let Question { code, id, until, always } = question;
    let until = until.as_ref().map_or_else(String::new, |until| format!(" until {until}"));
    let by_hand = id.as_ref().map_or_else(String::new, |id| format!(" Or: maxim approvals allow {id}"));
    let answers = match always {
        Some(AlwaysOffer::Covers(covers)) => {
            format!("“yes {code}” for this once, “no {code}”, or “always {code}” for {covers}, from now on.")
        }
        Some(AlwaysOffer::Not(why)) => {
            format!("“yes {code}” or “no {code}”. There is no “always” for it: {}.", why.trim_end_matches('.'))
        }
        None => format!("“yes {code}” or “no {code}”."),
    };
    format!(
        "I would use {} with {}, but it needs your approval: {reason}. Answer{until} {answers}{by_hand}",
        step.tool,
        parameters(&step.params)
    )
}

/// The act that may have been done already, what is known of it, and how to have it done again.
pub fn doubted(tool: &str, params: &Value, known: &str, question: &Question) -> String {
    let Question { code, id, .. } = question;
    let by_hand = id.as_ref().map_or_else(String::new, |id| format!(" Or: maxim approvals allow {id}"));
    let known = if known.is_empty() { String::new() } else { format!(": {}", known.trim_end_matches('.')) };
    format!(
        "I had begun {tool} with {}, and don't know whether it happened{known}. Shall I do it again? Answer “yes {code}”, or “no {code}” to leave it as it is.{by_hand}",
        parameters(params)
    )
}

/// The reply to a no.
pub fn denied(step: &Step, again: bool) -> String {
    let again = if again { " again" } else { "" };
    format!("All right, I leave it: {} with {} isn't done{again}.", step.tool, parameters(&step.params))
}

/// Asks which of several questions a yes is for.
pub fn which(open: &[(String, Step)]) -> String {
    let one = |(code, step): &(String, Step)| format!("{code}: {} with {}", step.tool, parameters(&step.params));
    let all: Vec<String> = open.iter().map(one).collect();
    let example = open.first().map_or("", |(code, _)| code);
    format!("Which one do you mean? These wait for your answer:\n{}\nFor example, say “yes {example}”.", all.join("\n"))
}

/// `why` and `by` come from the latch.
pub fn stopped(why: &str, by: &str) -> String {
    let by = if by.is_empty() || why.contains(by) { String::new() } else { format!(", by {}", StopDetail::who(by)) };
    format!(
        "I am stopped ({why}{by}), so I did nothing. What you wrote is recorded and won't be done later. To go on: maxim reset, then maxim resume"
    )
}

pub fn held(until: Option<&str>) -> String {
    let end = until.map(|until| format!(" until {until}")).unwrap_or_else(|| " until it is released".to_owned());
    format!("I am on hold{end}, so I do nothing new. To release it: maxim resume")
}

pub fn remembered(fact: &str) -> String {
    format!("I will remember: {}.", fact.trim().trim_end_matches('.'))
}

/// The reply to words that weren't understood. `kept`: they may be a statement, and every statement is kept.
/// `examples`: (tool, example), from the grammar.
pub fn unknown(kept: bool, examples: &[(String, String)]) -> String {
    let some: Vec<String> = examples.iter().take(4).map(|(_, example)| format!("“{example}”")).collect();
    let lead = match kept {
        true => "I keep what you said. If it was a request, I didn't understand it, so I did nothing.",
        false => "I didn't understand that, so I did nothing.",
    };
    match some.is_empty() {
        true => lead.to_owned(),
        false => format!("{lead} I understand for example: {}.", some.join(", ")),
    }
}

/// The reply to words that need no memory and no tool. `None` for all others.
pub fn small_talk(understood: &Understanding) -> Option<String> {
    let reply = match understood {
        Understanding::Greeting => "Hello.",
        Understanding::Thanks => "You're welcome.",
        Understanding::Farewell => "Goodbye.",
        Understanding::Acknowledgement { agrees: Some(false) } => "All right, I leave it.",
        Understanding::Acknowledgement { .. } => "All right.",
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
            others: Vec::new(),
        };
        let always = Some(AlwaysOffer::Covers("exactly the command “make” in /work".into()));
        let question = Question { code: "3f2a".into(), id: Some("a1".into()), until: Some("15:40".into()), always };
        let asked = approval_needed(&step, "it executes code", &question);
        assert!(asked.contains("command = \"make\"") && asked.ends_with("maxim approvals allow a1"), "{asked}");
        assert!(asked.contains("until 15:40 “yes 3f2a” for this once, “no 3f2a”"), "{asked}");
        assert!(asked.contains("or “always 3f2a” for exactly the command “make” in /work, from now on"), "{asked}");
        let not = Some(AlwaysOffer::Not("it varies".into()));
        let asked = approval_needed(&step, "it executes code", &Question { always: not, ..question.clone() });
        assert!(
            asked.contains("There is no “always” for it: it varies.") && !asked.contains("“always 3f2a”"),
            "{asked}"
        );
        let asked = approval_needed(&step, "it executes code", &Question { id: None, until: None, ..question });
        assert!(asked.contains("Answer “yes 3f2a”") && !asked.contains("maxim approvals"), "{asked}");
        let which = which(&[("3f2a".into(), step.clone()), ("77b1".into(), step)]);
        assert!(which.contains("\n77b1: bash with command = \"make\"\n") && which.contains("“yes 3f2a”"), "{which}");
    }

    #[test]
    fn only_talk_has_a_fixed_reply() {
        assert_eq!(small_talk(&Understanding::Thanks).as_deref(), Some("You're welcome."));
        assert_eq!(small_talk(&Understanding::Unknown), None);
        assert!(unknown(false, &[("bash".into(), "run <command>".into())]).contains("“run <command>”"));
    }
}

//! How the pursuit of a goal ended, told by what was done in its turn.

use maxim_bus::MessageId;
use maxim_bus::signals::thought::{ActionStatus, ActionSummary, TurnEnded};

use maxim_bus::rooms::RESPOND;

/// What a turn was for the goal that it pursued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Done(String),
    Failed(String),
    /// It hangs on a person's answer to this question.
    Waits(MessageId, String),
}

impl Outcome {
    /// The last thing done decides: what failed before it was got round. Words alone are an answer, unless they say that
    /// nothing was understood.
    pub(super) fn of(ended: &TurnEnded) -> Self {
        let deeds = || ended.actions.iter().filter(|action| action.tool != RESPOND);
        if let Some(asked) = deeds().find(|action| action.is_asked()) {
            return Self::Waits(asked.id, format!("a person is asked about {}", asked.tool));
        }
        let words = |action: &ActionSummary| {
            let why = action.reason.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
            format!("{} {}{why}", action.tool, action.status)
        };
        match deeds().next_back() {
            Some(last) if last.status == ActionStatus::Done => {
                let done = deeds().filter(|action| action.status == ActionStatus::Done).count();
                Self::Done(format!("{done} of {} actions done", deeds().count()))
            }
            Some(last) => Self::Failed(words(last)),
            None if ended.lost => Self::Failed("it was not understood, and nothing was done".into()),
            None if ended.spoken => Self::Done("answered".into()),
            None => Self::Failed(ended.reply.clone().unwrap_or_else(|| "nothing came of it".into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_deed_decides_and_words_alone_are_an_answer() {
        let act = |tool: &str, status: &str| ActionSummary {
            id: MessageId::from_parts(1, 9),
            tool: tool.into(),
            params: serde_json::Value::Null,
            status: status.into(),
            reason: None,
        };
        let ended = |actions: Vec<ActionSummary>, spoken, lost| TurnEnded {
            turn: MessageId::from_parts(1, 1),
            channel: "http".into(),
            reply: Some("words".into()),
            spoken,
            actions,
            lost,
            decided: None,
            rests_on: Vec::new(),
        };
        let of = |actions, spoken, lost| Outcome::of(&ended(actions, spoken, lost));
        let respond = || act("respond", "done");
        assert!(matches!(
            of(vec![act("bash", "failed"), act("bash", "done"), respond()], true, false),
            Outcome::Done(_)
        ));
        assert!(matches!(of(vec![act("glob", "done"), act("bash", "blocked")], true, false), Outcome::Failed(_)));
        assert!(matches!(of(vec![act("bash", "asked"), respond()], true, false), Outcome::Waits(..)));
        assert!(matches!(of(vec![respond()], true, false), Outcome::Done(_)));
        assert!(matches!(of(vec![respond()], true, true), Outcome::Failed(_)));
        assert!(matches!(of(vec![], false, false), Outcome::Failed(why) if why == "words"), "a stop or a hold");
    }
}

//! A person's answer to a question of the gate, on the channel that they use.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::ids::MessageId;
use crate::signal::Trust;
use crate::signals::percept::Percept;
use crate::{queries, signal};

/// How many letters of an approval's id name it in a message.
const CODE: usize = 4;

/// The last letters of an approval's id, which name it in a message. They are random. The first letters are the time,
/// which anybody can guess.
pub fn code_of(approval: MessageId) -> String {
    longer_code_of(approval, CODE)
}

/// Whether these letters are the end of this approval's id. Its beginning names nothing.
pub fn is_called(approval: MessageId, letters: &str) -> bool {
    let given: String = letters.chars().filter(|letter| *letter != '-').collect();
    given.len() >= CODE && approval.0.simple().to_string().ends_with(&given)
}

/// The last `letters` letters of the id, to tell two approvals apart.
pub fn longer_code_of(approval: MessageId, letters: usize) -> String {
    let whole = approval.0.simple().to_string();
    whole[whole.len().saturating_sub(letters)..].to_owned()
}

/// A yes or no, parsed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consent {
    pub agrees: bool,
    /// Remember the yes for exactly this call, as the question offered.
    pub always: bool,
    /// Letters of the approval's id, lower case; none for a yes or no without letters.
    pub code: Option<String>,
    /// Nothing else was said since the question was asked. A yes without letters much later may be about something
    /// else.
    pub is_fresh: bool,
}

/// A person answers the gate. It is made only from a percept that a person said, so a model, a memory or a goal can't
/// answer. It carries no more trust than the person who said it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AnswerApproval {
    pub turn: MessageId,
    pub channel: String,
    pub sender: String,
    pub trust: Trust,
    pub consent: Consent,
}

impl AnswerApproval {
    /// None for a percept that nobody said.
    pub fn said(percept: &Percept, turn: MessageId, consent: Consent) -> Option<Self> {
        let (channel, sender) = (percept.metadata.channel.clone(), percept.metadata.sender.clone());
        percept.is_said().then_some(Self { turn, channel, sender, trust: percept.trust, consent })
    }
}

/// An open question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenQuestion {
    pub approval: MessageId,
    /// The action that is asked about. A question that is asked anew has another id than its action.
    pub intent: MessageId,
    /// Enough letters of the id to tell it from the others.
    pub code: String,
    pub tool: String,
    pub params: Json,
}

/// The result of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConsentTaken {
    Allowed {
        question: OpenQuestion,
        /// What was allowed for good, in words; or why it was allowed only once although more was wanted.
        #[serde(skip_serializing_if = "Option::is_none")]
        granted: Option<String>,
    },
    Denied {
        question: OpenQuestion,
    },
    /// It may mean several questions, or isn't certain to mean this one.
    Which {
        open: Vec<OpenQuestion>,
    },
    /// The code names a question that was asked anew, because the program changed.
    Replaced {
        question: OpenQuestion,
        /// The reason of the new question.
        why: String,
    },
    /// Nothing is open that it could mean.
    Nothing,
    /// The person who says it may not decide this.
    NotTheirs,
}

/// The gate reports what it made of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApprovalAnswered {
    pub turn: MessageId,
    pub taken: ConsentTaken,
    /// Another question of that conversation is still open.
    pub is_more: bool,
}

signal! {
    AnswerApproval: Anywhere, Transient;
    ApprovalAnswered: Anywhere, Transient;
}

queries! {
    AnswerApproval => ApprovalAnswered, of FEAR_AGENT;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_somebody_said_answers() {
        let consent = || Consent { agrees: true, always: false, code: None, is_fresh: true };
        let turn = MessageId::from_parts(1, 1);
        let said = Percept::from_outside("twilio", "+1", "yes".into(), false, Trust::Listed);
        let answer = AnswerApproval::said(&said, turn, consent()).expect("said");
        assert_eq!((answer.channel.as_str(), answer.sender.as_str(), answer.trust), ("twilio", "+1", Trust::Listed));
        let goal = Percept::of_goal("twilio", "+1", "yes".into(), Trust::Owner);
        assert_eq!(AnswerApproval::said(&goal, turn, consent()), None);
    }

    #[test]
    fn a_code_is_the_end_of_the_id() {
        let id: MessageId = "01a203e1-4097-75ba-a1ee-955c944c8726".parse().expect("an id");
        assert_eq!((code_of(id).as_str(), longer_code_of(id, 6).as_str()), ("8726", "4c8726"));
        assert_eq!(longer_code_of(id, 99).len(), 32);
        for letters in ["8726", "4c8726", "955c944c8726", "a1ee-955c944c8726", "01a203e1-4097-75ba-a1ee-955c944c8726"] {
            assert!(is_called(id, letters), "{letters}");
        }
        for letters in ["01a2", "01a203e1", "01a203e1-4097", "4097", "0000", "726", "", "----8726x", "-----"] {
            assert!(!is_called(id, letters), "{letters}");
        }
    }
}

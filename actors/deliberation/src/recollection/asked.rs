//! A look-up in memory, and the question behind it.

use jiff::Timestamp;
use maxim_speech::question::wanted::Wanted;
use maxim_speech::time::spans::NamedSpan;
use maxim_speech::{Place, Whose};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::counting::Counting;
use super::deeds::Deeds;
use super::events::Events;
use super::neighbours::Beside;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct StepWanted {
    pub tool: String,
    pub params: Json,
    /// The question behind the step. It decides how the answer is worded.
    pub question: Option<Asked>,
}

/// A question, with its look-ups so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Asked {
    Recall(Wanted),
    /// A question about a span of time, which nothing told in that span answers.
    Wider(Wanted),
    Deeds(Deeds),
    Counting(Counting),
    Events(Events),
    Beside(Beside),
    /// The grounds of the last answer.
    Grounds,
    Happened {
        tool: Option<String>,
        topic: String,
        /// The span in words.
        #[serde(default)]
        span: Option<String>,
    },
    /// Why the newest act was done, or refused.
    WhyNewest,
    /// The finds so far. The next look-up may correct them.
    Since {
        #[serde(flatten)]
        wanted: Wanted,
        found: Json,
        /// When the best answer was told.
        #[serde(default)]
        at: Option<Timestamp>,
        /// The next words of the same person are looked up.
        #[serde(default)]
        is_behind: bool,
    },
    /// What this person told or asked, by time, order or number.
    Told {
        about: String,
        place: Place,
        #[serde(default)]
        asked: bool,
        span: Option<String>,
    },
    /// Why something was or wasn't done.
    WhyDid {
        topic: String,
        refused: bool,
    },
    Predict {
        topic: String,
    },
    Concepts {
        topic: String,
    },
}

/// A look-up in memory for this question.
pub(super) fn recall(params: Json, question: Asked) -> StepWanted {
    StepWanted { tool: "memory_recall".into(), params, question: Some(question) }
}

impl Asked {
    /// The question that a find answers.
    pub(crate) fn answered_by(&self, found: &Json) -> &Self {
        match self {
            Self::Deeds(deeds) => deeds.without_tool(found).unwrap_or(self),
            _ => self,
        }
    }
}

/// Parameters of a look-up: at most `limit` results, in a span of time where one is given.
pub(crate) fn within(span: Option<&NamedSpan>, limit: usize) -> Json {
    let mut params = json!({ "limit": limit });
    if let Some(span) = span {
        params["time_after"] = json!(span.after);
        if let Some(before) = span.before {
            params["time_before"] = json!(before);
        }
    }
    params
}

/// Leaves out the episodes that are none of the person asked about, or don't bear on `about`.
pub(crate) fn narrow(params: &mut Json, whose: Whose, about: &str, asker: &str) {
    match whose {
        Whose::Anyones => {}
        Whose::Askers => params["told_by"] = json!(asker),
        Whose::Own => params["done"] = json!(true),
    }
    if !about.is_empty() {
        params["about"] = json!(about);
    }
}

//! A look-up, and the question that it is for.

use jiff::Timestamp;
use maxim_speech::Place;
use maxim_speech::question::wanted::Wanted;
use maxim_speech::time::spans::Named;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::counting::Counting;
use super::deeds::Deeds;
use super::events::Events;
use super::grounds::Recounting;
use super::neighbours::Beside;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct StepWanted {
    pub tool: String,
    pub params: Json,
    /// How the answer to a question is worded: the topic and the question's words.
    pub question: Option<Asked>,
}

/// What a question was about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Asked {
    Recall(Wanted),
    /// What was asked of a span, and isn't answered by what was told in it.
    Wider(Wanted),
    Deeds(Deeds),
    Counting(Counting),
    Events(Events),
    Beside(Beside),
    /// What the last answer rested on.
    Grounds(Recounting),
    Happened {
        tool: Option<String>,
        topic: String,
        /// When, in words.
        #[serde(default)]
        span: Option<String>,
    },
    /// Why the newest act was done, or refused.
    WhyNewest,
    /// What was recalled so far of a question; what is looked up next may revise it.
    Since {
        #[serde(flatten)]
        wanted: Wanted,
        found: Json,
        /// When what answers best was told.
        #[serde(default)]
        at: Option<Timestamp>,
        /// How often it was looked for what was told next.
        #[serde(default)]
        looks: usize,
    },
    /// What this person told or asked, by when, in which order or how often; looked through page by page.
    Told {
        about: String,
        place: Place,
        #[serde(default)]
        asked: bool,
        span: Option<String>,
        /// The look-up of the first page.
        within: Json,
        found: Json,
        pages: u32,
    },
    /// Why something was done, or not.
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

/// Parameters of a look-up: at most `limit` results, in a span of time where one is given.
pub(crate) fn within(span: Option<&Named>, limit: usize) -> Json {
    let mut params = json!({ "limit": limit });
    if let Some(span) = span {
        params["time_after"] = json!(span.after);
        if let Some(before) = span.before {
            params["time_before"] = json!(before);
        }
    }
    params
}

//! What an utterance was understood to be.

use maxim_bus::units::Confidence;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One call that was asked for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    pub tool: String,
    /// The tool's defaults, overridden by what the words set.
    pub params: Value,
    /// 1 for the words of a pattern, 0.8 with one typing error, 0.7 where a bare word was taken for a path.
    pub certainty: Confidence,
    /// The pattern that matched.
    pub pattern: String,
    /// What the same words may mean besides, the likeliest first; not acted on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Reading>,
}

/// Another reading of a request.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reading {
    pub tool: String,
    pub params: Value,
    /// Why it is the weaker one.
    pub why: String,
}

/// What was made out of an utterance that isn't acted on.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Partial {
    pub tool: Option<String>,
    pub params: Value,
    /// Names of the parameters that are missing or too vague.
    pub missing: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "about", rename_all = "snake_case")]
pub enum QuestionKind {
    /// What memory holds about a topic.
    Remember {
        topic: String,
    },
    /// What the agent did, or how it went; `success` asks for what went well or failed alone.
    WhatHappened {
        tool: Option<String>,
        topic: String,
        which: Which,
        success: Option<bool>,
    },
    /// What was in a span of time, which the topic ends in.
    Happened {
        topic: String,
        whose: Whose,
    },
    /// What came next to an event.
    Beside {
        side: Side,
        event: String,
        /// Of whom; empty for anybody.
        who: String,
        whose: Whose,
    },
    /// How often something was; `told`: by whoever asks.
    HowOften {
        topic: String,
        told: bool,
    },
    /// What an action would lead to. `params` holds what could be read from the words.
    Predict {
        tool: Option<String>,
        params: Value,
        topic: String,
    },
    /// Why it did what it did last.
    Why,
    /// Why it did something, or didn't (`refused`).
    WhyDid {
        topic: String,
        refused: bool,
    },
    /// What the person told, or what they `asked`, by when, in which order or how often.
    Told {
        topic: String,
        place: Place,
        asked: bool,
    },
    /// How the agent is.
    Status,
    /// The present time or date.
    Now,
    /// What the agent can do.
    Abilities,
    When {
        topic: String,
    },
    /// Topic `you` is the agent, `i` the person who asks.
    Who {
        topic: String,
    },
    General,
}

/// Which of several deeds: any, by order, or how many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Which {
    #[default]
    Any,
    First,
    Last,
    Counted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    Before,
    After,
}

/// Whose doing: anybody's, of whoever asks, or the agent's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Whose {
    Anyones,
    Askers,
    Own,
}

/// Which of the things that were told or asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    All,
    First,
    Last,
    /// How many they are.
    Counted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unsupported {
    /// Forgetting on request: it takes an explicit command of a person.
    Forget,
    /// Acting later, repeatedly, or on a condition.
    Deferred,
    /// What no tool does.
    NoTool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Understanding {
    /// Calls to make, in order; never empty.
    Command {
        steps: Vec<Step>,
    },
    /// A question; `terms` are its content words in lower case, in order, without repeats.
    Question {
        #[serde(flatten)]
        about: QuestionKind,
        terms: Vec<String>,
    },
    Remember {
        fact: String,
    },
    /// Told not to do something. Never an action; `tool` is the one whose verb was named.
    Prohibition {
        words: String,
        tool: Option<String>,
    },
    Unsupported {
        what: Unsupported,
        topic: String,
        /// What can't be done, and what can be done instead.
        reply: String,
    },
    Greeting,
    Thanks,
    Farewell,
    /// `agrees` is true for yes, false for no, none for "I see".
    Acknowledgement {
        agrees: Option<bool>,
    },
    /// Something was told.
    Statement,
    Ambiguous {
        understood: Partial,
        question: String,
    },
    Unknown,
}

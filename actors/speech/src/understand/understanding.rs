//! The understanding of an utterance.

use maxim_bus::units::Confidence;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One requested call.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    pub tool: String,
    /// The tool's defaults, overridden by the words.
    pub params: Value,
    /// 1 for the words of a pattern, 0.8 with one typing error, 0.7 where a bare word was taken for a path.
    pub certainty: Confidence,
    /// The pattern that matched.
    pub pattern: String,
    /// Other readings of the same words, the likeliest first. They aren't acted on.
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

/// The understood part of an utterance that isn't acted on.
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
    /// The knowledge about a topic.
    Remember {
        topic: String,
    },
    /// What the agent did, or how it went. `success`: only what went well, or only what failed.
    WhatHappened {
        tool: Option<String>,
        topic: String,
        which: Which,
        success: Option<bool>,
    },
    /// The events of a span of time. The topic ends in that span.
    Happened {
        topic: String,
        whose: Whose,
    },
    /// What came next before or after an event.
    Beside {
        side: Side,
        event: String,
        /// The person asked about. Empty for anybody.
        who: String,
        whose: Whose,
    },
    /// How often something was. `told`: how often the asker told it.
    HowOften {
        topic: String,
        told: bool,
    },
    /// The outcome of an action. `params` holds those that were read from the words.
    Predict {
        tool: Option<String>,
        params: Value,
        topic: String,
    },
    /// Why it did its last act, or why that was refused.
    Why,
    /// Why it did something, or didn't (`refused`).
    WhyDid {
        topic: String,
        refused: bool,
    },
    /// What the person told, or `asked`, by time, order or number.
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

/// Which of several deeds: any, by order, or their number.
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

/// Whose doing: anybody's, the asker's, or the agent's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Whose {
    Anyones,
    Askers,
    Own,
}

/// Which of the things told or asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    All,
    First,
    Last,
    /// Their number.
    Counted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unsupported {
    /// Forgetting on request. It takes an explicit command of a person.
    Forget,
    /// Acting later, repeatedly, or on a condition.
    Deferred,
    /// A request that no tool serves.
    NoTool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Understanding {
    /// Calls to make, in order. Never empty.
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
    /// A prohibition. Never an action. `tool`: the one whose verb was named.
    Prohibition {
        words: String,
        tool: Option<String>,
    },
    Unsupported {
        what: Unsupported,
        topic: String,
        /// Says what can't be done, and what can be done instead.
        reply: String,
    },
    Greeting,
    Thanks,
    Farewell,
    /// `agrees`: true for yes, false for no, `None` for "I see".
    Acknowledgement {
        agrees: Option<bool>,
    },
    /// A statement.
    Statement,
    Ambiguous {
        understood: Partial,
        question: String,
    },
    Unknown,
}

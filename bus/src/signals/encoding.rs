//! Texts on their way to an encoder outside of the program, and their vectors on the way back.

use serde::{Deserialize, Serialize};

use crate::ids::MessageId;
use crate::signal;
use crate::signal::{Addressed, Query};
use crate::{RegionName, rooms};

/// Asks the text encoder for vectors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EncodeTexts {
    pub call: MessageId,
    pub texts: Vec<String>,
    /// The id of the encoder whose vectors are in memory, where there are any.
    pub known: Option<String>,
}

/// A unit vector in steps of one byte; all zero for a text without direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TextVector {
    /// Value of one step.
    pub scale: f32,
    pub steps: Vec<i8>,
}

/// The vectors of a call's texts in their order, or why there are none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TextsEncoded {
    pub call: MessageId,
    /// Name, numbers of a vector and a hash: vectors of different ids don't compare. Empty with an error.
    pub encoder: String,
    /// Nothing for a text that the encoder refused by itself.
    pub vectors: Vec<Option<TextVector>>,
    pub error: Option<String>,
    /// As the server told; 0 where it tells nothing.
    #[serde(default)]
    pub tokens: u64,
    /// What these cost, by the configured price.
    #[serde(default)]
    pub money: f64,
}

impl TextsEncoded {
    /// No vectors, and why.
    pub fn failed(call: MessageId, why: impl Into<String>) -> Self {
        Self { call, encoder: String::new(), vectors: Vec::new(), error: Some(why.into()), tokens: 0, money: 0.0 }
    }
}

/// Asks the entorhinal cortex which records of a layer mean what a text means, by the encoder outside of the program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FindMeant {
    pub text: String,
    pub layer: String,
    pub limit: usize,
}

/// Ids with their likeness, the most alike first: (cosine − m) / (1 − m), m the mean cosine of texts that have nothing to
/// do with each other, so that 0 is what chance gives.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MeantFound {
    /// Nothing where no such encoder answers, or not yet for enough records.
    pub near: Option<Vec<(String, f32)>>,
    /// Likeness that nine of ten unrelated texts stay below: less alone is no reason to be found.
    #[serde(default)]
    pub floor: f32,
}

signal! {
    EncodeTexts: Anywhere, Transient;
    TextsEncoded: Anywhere, Transient;
    FindMeant: Anywhere, Transient;
    MeantFound: Anywhere, Transient;
}

impl Query for FindMeant {
    type Answer = MeantFound;
}
impl Addressed for FindMeant {
    const OF: RegionName = rooms::ENTORHINAL_CORTEX;
}

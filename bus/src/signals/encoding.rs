//! Texts sent to an external encoder, and their vectors.

use serde::{Deserialize, Serialize};

use crate::ids::MessageId;
use crate::{queries, signal};

/// Asks the text encoder for vectors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EncodeTexts {
    pub call: MessageId,
    pub texts: Vec<String>,
    /// The id of the encoder whose vectors memory holds, if it holds any.
    pub known: Option<String>,
}

/// A unit vector, quantized to one byte per component; all zero for a text without direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TextVector {
    /// The value of one step.
    pub scale: f32,
    pub steps: Vec<i8>,
}

/// The vectors of a call's texts in order, or why there are none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TextsEncoded {
    pub call: MessageId,
    /// Name, dimensions and a hash. Vectors of different ids can't be compared. Empty with an error.
    pub encoder: String,
    /// None for a text that the encoder refused.
    pub vectors: Vec<Option<TextVector>>,
    pub error: Option<String>,
    /// As the server reported; 0 when it reports nothing.
    #[serde(default)]
    pub tokens: u64,
    /// Their cost, by the configured price.
    #[serde(default)]
    pub money: f64,
}

impl TextsEncoded {
    /// No vectors, and why.
    pub fn failed(call: MessageId, why: impl Into<String>) -> Self {
        Self { call, encoder: String::new(), vectors: Vec::new(), error: Some(why.into()), tokens: 0, money: 0.0 }
    }
}

/// Asks the entorhinal cortex which records of a layer mean the same as a text, by the external encoder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FindMeant {
    pub text: String,
    pub layer: String,
    pub limit: usize,
}

/// Ids with their similarity, the most similar first: (cosine − m) / (1 − m), where m is the mean cosine of unrelated
/// texts. So 0 is what chance gives.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MeantFound {
    /// None when no external encoder answers, or when too few records have vectors yet.
    pub near: Option<Vec<(String, f32)>>,
    /// Nine of ten unrelated texts stay below this similarity. A lower value alone is no reason to be found.
    #[serde(default)]
    pub floor: f32,
}

signal! {
    EncodeTexts: Anywhere, Transient;
    TextsEncoded: Anywhere, Transient;
    FindMeant: Anywhere, Transient;
    MeantFound: Anywhere, Transient;
}

queries! {
    FindMeant => MeantFound, of ENTORHINAL_CORTEX;
}

//! What is kept of a situation.

use jiff::Timestamp;
use maxim_bus::signals::similarity::{LikenessParts, Similar, Situation};
use serde::{Deserialize, Serialize};

use crate::language::clipped;
use crate::language::packed::PackedVector;
use crate::language::signature::{Signature, signature};
use crate::language::{Encoder, EncoderId};

/// Characters of a text that an answer carries.
const CLIP: usize = 600;

/// A record: the situation with its vector.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Item {
    pub situation: Situation,
    /// Which encoder made the vector.
    pub encoder: EncoderId,
    pub vector: PackedVector,
    /// Kept, since a million of them take seconds to make.
    pub signature: Signature,
}

impl Item {
    pub fn new(situation: Situation, encoder: &dyn Encoder) -> Self {
        let vector = PackedVector::of(&encoder.embed(&situation.text));
        Self::with_vector(situation, encoder.id().clone(), vector)
    }

    pub fn with_vector(situation: Situation, encoder: EncoderId, vector: PackedVector) -> Self {
        let signature = signature(vector.numbers());
        Self { situation, encoder, vector, signature }
    }

    /// Packed: a JSON list of steps would be five times as long.
    pub fn to_bytes(&self) -> Vec<u8> {
        // Times, texts and numbers: nothing that the format refuses.
        postcard::to_stdvec(self).unwrap_or_default()
    }

    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        postcard::from_bytes(bytes)
            .inspect_err(|error| tracing::error!(%error, "a situation has another shape; it is left out"))
            .ok()
    }

    pub fn answer(self, score: f64, parts: LikenessParts) -> Similar {
        let Situation { layer, id, at, text, goal, tool, success, .. } = self.situation;
        Similar { id, layer, score, parts, timestamp: at, goal, tool, success, text: clipped(&text, CLIP) }
    }
}

/// What is asked for: the parts of a situation that are known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cue {
    pub text: Option<PackedVector>,
    pub goal: Option<String>,
    pub mode: Option<String>,
    pub tool: Option<String>,
    pub success: Option<bool>,
    pub objects: Vec<String>,
    pub people: Vec<String>,
    pub at: Option<Timestamp>,
    /// Only of this layer.
    pub layer: Option<String>,
}

impl Cue {
    /// All of a situation.
    pub fn of(item: &Item) -> Self {
        let Situation { goal, mode, tool, success, objects, people, at, .. } = item.situation.clone();
        let text = (item.vector.scale > 0.0).then(|| item.vector.clone());
        Self { text, goal, mode, tool, success, objects, people, at: Some(at), layer: None }
    }

    /// Nothing is said that could be compared.
    pub fn is_empty(&self) -> bool {
        self.text.is_none()
            && self.goal.is_none()
            && self.tool.is_none()
            && self.objects.is_empty()
            && self.people.is_empty()
    }
}

//! What is kept of a situation.

use jiff::Timestamp;
use maxim_bus::signals::recall::Via;
use maxim_bus::signals::similarity::{LikenessParts, Similar, Situation};
use serde::{Deserialize, Serialize};

use maxim_language::clipped;
use maxim_language::packed::PackedVector;
use maxim_language::signature::{Signature, signature};
use maxim_language::{Encoder, EncoderId};

/// Characters of a text that an answer carries.
const CLIP: usize = 600;

/// A situation with what the encoder made of its text.
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

    /// The situation's record: an item of the same shape whose vector stands elsewhere. Packed, since a JSON list of steps
    /// would be five times as long.
    pub fn to_bytes(&self) -> Vec<u8> {
        // Times, texts and numbers: nothing that the format refuses.
        postcard::to_stdvec(&(&self.situation, "", PackedVector::default(), Signature::default())).unwrap_or_default()
    }

    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        postcard::from_bytes(bytes)
            .inspect_err(|error| tracing::error!(%error, "a situation has another shape; it is left out"))
            .ok()
    }

    /// The record of its vector, until a segment holds it.
    pub fn vector_bytes(&self) -> Vec<u8> {
        let signature = self.signature.iter().flat_map(|word| word.to_le_bytes());
        signature.chain(self.vector.to_record(&self.encoder)).collect()
    }

    /// Takes the vector out of such a record, if that is this encoder's.
    pub fn take_vector(&mut self, record: &[u8], encoder: &EncoderId) -> Option<()> {
        let (words, vector) = record.split_first_chunk::<32>()?;
        let vector = PackedVector::from_record(vector, encoder)?;
        for (word, bytes) in self.signature.iter_mut().zip(words.chunks_exact(8)) {
            *word = u64::from_le_bytes(bytes.try_into().ok()?);
        }
        (self.vector, self.encoder) = (vector, encoder.clone());
        Some(())
    }
}

/// A situation as it is told to who asked.
pub fn answer(situation: Situation, score: f64, parts: LikenessParts) -> Similar {
    let Situation { layer, id, at, text, goal, tool, success, .. } = situation;
    Similar {
        id,
        layer,
        via: Via::Similarity,
        score,
        parts,
        timestamp: at,
        goal,
        tool,
        success,
        text: clipped(&text, CLIP),
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
    /// All of a situation but its text.
    pub fn of(situation: Situation) -> Self {
        let Situation { goal, mode, tool, success, objects, people, at, .. } = situation;
        let text = None;
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

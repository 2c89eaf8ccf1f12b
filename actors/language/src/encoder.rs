//! From text to vectors, and how alike two vectors are.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Cosine at and below which two texts count as unrelated, in [0, 1). Small talk of strangers is alike in manner: its
/// mean cosine by the embedded table is 0.27, so that 0.35 leaves 0.035 of it on average.
pub const FLOOR: f32 = 0.35;

/// Names an encoder and its version. Vectors of different encoders don't compare.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EncoderId(Arc<str>);

impl EncoderId {
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EncoderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Makes vectors of texts. The same text always gets the same vector.
pub trait Encoder: Send + Sync + fmt::Debug {
    fn id(&self) -> &EncoderId;

    /// Numbers in a vector.
    fn dims(&self) -> usize;

    /// A vector of unit length, or all zero for a text of which nothing is known.
    fn embed(&self, text: &str) -> Embedding;

    /// Cosine at and below which texts count as unrelated, in [0, 1).
    fn floor(&self) -> f32 {
        FLOOR
    }
}

/// A text's direction in the space of one encoder.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedding {
    encoder: EncoderId,
    vector: Vec<f32>,
}

impl Embedding {
    /// Made unit length here; a vector without direction stays zero.
    pub fn new(encoder: EncoderId, mut vector: Vec<f32>) -> Self {
        let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
        if length > 1e-9 && length.is_finite() {
            vector.iter_mut().for_each(|x| *x /= length);
        } else {
            vector.fill(0.0);
        }
        Self { encoder, vector }
    }

    pub fn encoder(&self) -> &EncoderId {
        &self.encoder
    }

    pub fn vector(&self) -> &[f32] {
        &self.vector
    }

    /// Nothing was known of the text.
    pub fn is_zero(&self) -> bool {
        self.vector.iter().all(|x| *x == 0.0)
    }

    /// In [−1, 1]; 0 where one has no direction; nothing for vectors of different encoders.
    pub fn cosine(&self, other: &Self) -> Option<f32> {
        if self.encoder != other.encoder || self.vector.len() != other.vector.len() {
            return None;
        }
        let sum: f32 = self.vector.iter().zip(&other.vector).map(|(a, b)| a * b).sum();
        Some(sum.clamp(-1.0, 1.0))
    }
}

/// max(0, (cosine − floor) / (1 − floor)): unrelated texts get 0, equal ones 1.
pub fn calibrated(cosine: f32, floor: f32) -> f32 {
    ((cosine - floor) / (1.0 - floor)).clamp(0.0, 1.0)
}

/// Calibrated likeness of two texts' vectors in [0, 1], by the usual floor; nothing for vectors of different encoders.
pub fn similarity(a: &Embedding, b: &Embedding) -> Option<f32> {
    a.cosine(b).map(|cosine| calibrated(cosine, FLOOR))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(encoder: &str, numbers: &[f32]) -> Embedding {
        Embedding::new(EncoderId::new(encoder), numbers.to_vec())
    }

    #[test]
    fn cosine_is_that_of_directions_and_never_crosses_encoders() {
        let a = vector("one", &[3.0, 4.0]);
        assert!((a.cosine(&vector("one", &[30.0, 40.0])).expect("comparable") - 1.0).abs() < 1e-6);
        assert!(a.cosine(&vector("one", &[-4.0, 3.0])).expect("comparable").abs() < 1e-6);
        assert_eq!(a.cosine(&vector("two", &[3.0, 4.0])), None);
        assert_eq!(a.cosine(&vector("one", &[1.0, 0.0, 0.0])), None);
        assert_eq!(similarity(&a, &vector("two", &[3.0, 4.0])), None);
        assert!(vector("one", &[0.0, 0.0]).is_zero() && vector("one", &[f32::NAN, 1.0]).is_zero());
    }

    #[test]
    fn likeness_begins_at_the_floor_and_ends_at_one() {
        assert_eq!([calibrated(0.35, 0.35), calibrated(-1.0, 0.35), calibrated(1.0, 0.35)], [0.0, 0.0, 1.0]);
        assert!((calibrated(0.675, 0.35) - 0.5).abs() < 1e-6);
    }
}

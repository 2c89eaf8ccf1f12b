//! Concepts by meaning: packed signatures are compared first, and the nearest ones exactly.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use maxim_language::nearest::{ALL_BELOW, looked_at, near};
use maxim_language::packed::PackedVector;
use maxim_language::signature::{Signature, signature};
use maxim_language::{Encoder, calibrated, similarity};

/// The encoder's result for a text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Meaning {
    pub vector: PackedVector,
    pub signature: Signature,
}

impl Meaning {
    pub fn of(vector: PackedVector) -> Self {
        Self { signature: signature(vector.numbers()), vector }
    }
}

/// The vectors of concepts, in contiguous rows.
#[derive(Default)]
pub(super) struct Meanings {
    encoder: Option<Arc<dyn Encoder>>,
    numbers: Vec<u32>,
    vectors: Vec<PackedVector>,
    signatures: Vec<Signature>,
    rows: HashMap<u32, usize>,
}

impl fmt::Debug for Meanings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} meanings", self.numbers.len())
    }
}

impl Meanings {
    pub fn new(encoder: Option<Arc<dyn Encoder>>) -> Self {
        Self { encoder, ..Self::default() }
    }

    pub fn encoder(&self) -> Option<Arc<dyn Encoder>> {
        self.encoder.clone()
    }

    /// `None` without an encoder.
    pub fn of_text(&self, text: &str) -> Option<Meaning> {
        Some(Meaning::of(PackedVector::of(&self.encoder.as_ref()?.embed(text))))
    }

    pub fn of(&self, number: u32) -> Option<Meaning> {
        let row = *self.rows.get(&number)?;
        Some(Meaning { vector: self.vectors[row].clone(), signature: self.signatures[row] })
    }

    pub fn put(&mut self, number: u32, meaning: Option<Meaning>) {
        let Some(Meaning { vector, signature }) = meaning.filter(|_| self.encoder.is_some()) else { return };
        self.rows.insert(number, self.numbers.len());
        self.numbers.push(number);
        self.vectors.push(vector);
        self.signatures.push(signature);
    }

    pub fn take(&mut self, number: u32) {
        let Some(row) = self.rows.remove(&number) else { return };
        self.numbers.swap_remove(row);
        self.vectors.swap_remove(row);
        self.signatures.swap_remove(row);
        if let Some(moved) = self.numbers.get(row) {
            self.rows.insert(*moved, row);
        }
    }

    /// How similar two texts are, 0 to 1; 0 without an encoder.
    pub fn alike(&self, a: &str, b: &str) -> f64 {
        let Some(encoder) = &self.encoder else { return 0.0 };
        similarity(&encoder.embed(a), &encoder.embed(b)).map_or(0.0, f64::from)
    }

    /// The nearest with their similarity, ties by number.
    pub fn nearest(&self, text: &str, most: usize) -> Vec<(u32, f64)> {
        let Some(encoder) = self.encoder.as_ref().filter(|_| !self.numbers.is_empty() && most > 0) else {
            return Vec::new();
        };
        let asked = encoder.embed(text);
        if asked.is_zero() {
            return Vec::new();
        }
        let asked = PackedVector::of(&asked);
        let rows: Vec<u32> = match self.numbers.len() {
            few if few <= ALL_BELOW => (0..few as u32).collect(),
            many => near(&signature(asked.numbers()), &self.signatures, looked_at(many).max(most), |_| true),
        };
        let alike = |row: usize| f64::from(calibrated(asked.dot(&self.vectors[row]), encoder.floor()));
        let rows = rows.into_iter().map(|row| row as usize);
        let mut ranked: Vec<(u32, f64)> = rows.map(|row| (self.numbers[row], alike(row))).collect();
        ranked.retain(|(_, likeness)| *likeness > 0.0);
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        ranked.truncate(most);
        ranked
    }
}

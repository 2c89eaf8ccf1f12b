//! Concepts by meaning: a packed signature of each is compared with the question's, and the nearest exactly.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::language::nearest::{ALL_BELOW, looked_at, near};
use crate::language::packed::PackedVector;
use crate::language::signature::{Signature, signature};
use crate::language::{Encoder, calibrated, similarity};

/// The vectors of concepts, in rows without gaps.
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

    pub fn put(&mut self, number: u32, text: &str, made: Option<PackedVector>) {
        let Some(encoder) = &self.encoder else { return };
        let vector = made.unwrap_or_else(|| PackedVector::of(&encoder.embed(text)));
        let signature = signature(vector.numbers());
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

    /// How alike two texts are, 0 to 1; 0 without an encoder.
    pub fn alike(&self, a: &str, b: &str) -> f64 {
        let Some(encoder) = &self.encoder else { return 0.0 };
        similarity(&encoder.embed(a), &encoder.embed(b)).map_or(0.0, f64::from)
    }

    /// The nearest with their likeness, ties by number.
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

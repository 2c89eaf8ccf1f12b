//! Soft terms: words of the tools that stand for a goal's word because they mean something similar.

use std::collections::HashMap;

use super::law::{NEIGHBOURS, WORD_FLOOR};
use maxim_language::Encoder;
use maxim_language::packed::PackedVector;

/// Asked stems whose neighbours are kept, at most.
const KEPT: usize = 4096;

/// Vectors of the tools' words by their place in the vocabulary, and what was asked.
#[derive(Clone, Debug, Default)]
pub(super) struct SoftTerms {
    vectors: Vec<PackedVector>,
    asked: HashMap<String, Neighbours>,
}

#[derive(Clone, Debug)]
struct Neighbours {
    vector: PackedVector,
    /// Words that were looked at.
    seen: usize,
    /// Cosine and place, the nearest first.
    list: Vec<(f32, u32)>,
}

/// Numbers, identifiers and single letters have no meaning by themselves.
fn vector(encoder: &dyn Encoder, word: &str) -> PackedVector {
    if word.chars().count() >= 3 && word.chars().all(char::is_alphabetic) {
        PackedVector::of(&encoder.embed(word))
    } else {
        PackedVector { scale: 0.0, steps: vec![0; encoder.dims()] }
    }
}

impl SoftTerms {
    /// Another word stands for a stem, so what was found with the old one is dropped.
    pub(super) fn change(&mut self, place: u32, word: &str, encoder: &dyn Encoder) {
        if let Some(held) = self.vectors.get_mut(place as usize) {
            *held = vector(encoder, word);
            self.asked.clear();
        }
    }

    pub(super) fn push(&mut self, word: &str, encoder: &dyn Encoder) {
        self.vectors.push(vector(encoder, word));
    }

    /// The nearest words of `stem`, which is at `own` in the vocabulary or nowhere; weight in (0, 1) and place. `name`
    /// breaks ties, so that the order in which words became known doesn't.
    pub(super) fn of<'a>(
        &mut self,
        stem: &str,
        word: &str,
        own: Option<u32>,
        encoder: &dyn Encoder,
        name: impl Fn(u32) -> &'a str,
    ) -> Vec<(f32, u32)> {
        if self.asked.len() >= KEPT {
            self.asked.clear();
        }
        let vectors = &self.vectors;
        let kept = self.asked.entry(stem.to_owned()).or_insert_with(|| {
            let held = own.and_then(|own| vectors.get(own as usize)).cloned();
            Neighbours { vector: held.unwrap_or_else(|| vector(encoder, word)), seen: 0, list: Vec::new() }
        });
        if kept.vector.scale == 0.0 {
            return Vec::new();
        }
        for (at, other) in vectors.iter().enumerate().skip(kept.seen) {
            let at = at as u32;
            let cosine = if other.scale == 0.0 || Some(at) == own { 0.0 } else { kept.vector.dot(other) };
            let worst = kept.list.get(NEIGHBOURS - 1).map_or(WORD_FLOOR, |(worst, _)| *worst);
            if cosine <= WORD_FLOOR || cosine < worst {
                continue;
            }
            let place =
                kept.list.partition_point(|(held, id)| *held > cosine || *held == cosine && name(*id) < name(at));
            kept.list.insert(place, (cosine, at));
            kept.list.truncate(NEIGHBOURS);
        }
        kept.seen = vectors.len();
        kept.list.iter().map(|(cosine, at)| ((cosine - WORD_FLOOR) / (1.0 - WORD_FLOOR), *at)).collect()
    }
}

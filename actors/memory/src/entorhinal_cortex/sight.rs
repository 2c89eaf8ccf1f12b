//! The vectors of one encoder by place, with their signatures.

use maxim_language::packed::PackedVector;
use maxim_language::signature::{Signature, signature};
use maxim_language::{EncoderId, Vectors};

/// Pairs of texts from which the likeness by chance is learned.
const PAIRS: usize = 256;
/// From this many pairs on, the learned floor replaces the usual one.
const ENOUGH: usize = 16;
/// Share of random pairs below the learned floor.
const BELOW: f64 = 0.9;
/// A higher mean would leave no room for likeness.
const HIGHEST: f32 = 0.95;
/// The floor is at most this far from the mean to 1: in a store with many repetitions, many random pairs are equal.
const FARTHEST: f32 = 0.5;

/// Places between the one that is compared and the one whose vector is prefetched.
const AHEAD: usize = 8;

/// Situations as one encoder sees them.
pub struct Sight {
    vectors: Vectors,
    signatures: Vec<Signature>,
}

/// The likeness of unrelated texts of a store: encoders differ much in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ByChance {
    /// Mean cosine.
    pub mean: f32,
    /// Nine of ten cosines are below this; at most half of the way from the mean to 1.
    pub floor: f32,
}

impl Sight {
    pub fn new(encoder: EncoderId, dims: usize) -> Self {
        Self { vectors: Vectors::new(encoder, dims), signatures: Vec::new() }
    }

    pub fn encoder(&self) -> &EncoderId {
        self.vectors.encoder()
    }

    pub fn dims(&self) -> usize {
        self.vectors.dims()
    }

    pub fn len(&self) -> usize {
        self.signatures.len()
    }

    pub fn is_empty(&self) -> bool {
        self.signatures.is_empty()
    }

    pub fn signatures(&self) -> &[Signature] {
        &self.signatures
    }

    pub fn signature(&self, place: u32) -> Signature {
        self.signatures.get(place as usize).copied().unwrap_or_default()
    }

    /// Reserves room for this many more places.
    pub fn reserve(&mut self, places: usize) {
        self.vectors.reserve(places);
        self.signatures.reserve(places);
    }

    /// Adds a place without a vector.
    pub fn push_empty(&mut self) {
        self.vectors.push(None);
        self.signatures.push([0; 4]);
    }

    /// Adds a place, as it was packed.
    pub fn push(&mut self, scale: f32, steps: impl Iterator<Item = i8>, signature: Signature) {
        self.vectors.push_steps(scale, steps);
        self.signatures.push(signature);
    }

    /// Sets a vector, with its signature if known.
    pub fn set(&mut self, place: u32, vector: &PackedVector, known: Option<Signature>) {
        while self.len() <= place as usize {
            self.push_empty();
        }
        self.vectors.set(place as usize, vector);
        self.signatures[place as usize] = known.unwrap_or_else(|| signature(vector.numbers()));
    }

    /// Clears the place.
    pub fn clear(&mut self, place: u32) {
        self.vectors.set(place as usize, &PackedVector { scale: 0.0, steps: vec![0; self.dims()] });
    }

    pub fn has(&self, place: u32) -> bool {
        self.vectors.has(place as usize)
    }

    pub fn scale(&self, place: u32) -> f32 {
        self.vectors.scale(place as usize)
    }

    pub fn steps(&self, place: u32) -> &[i8] {
        self.vectors.steps(place as usize)
    }

    /// The places, each of which will be compared at once; the vectors of later ones are prefetched.
    pub fn in_turn(&self, places: &[u32]) -> impl Iterator<Item = u32> {
        places.iter().enumerate().map(|(at, place)| {
            if let Some(later) = places.get(at + AHEAD) {
                self.vectors.soon(*later as usize);
            }
            *place
        })
    }

    /// `None` if the place has no vector.
    pub fn cosine(&self, place: u32, to: &PackedVector) -> Option<f32> {
        self.vectors.cosine(place as usize, to)
    }

    pub fn vector(&self, place: u32) -> Option<PackedVector> {
        self.has(place).then(|| PackedVector { scale: self.scale(place), steps: self.steps(place).to_vec() })
    }

    /// Learned from pairs of places that are far apart; the same vectors give the same result.
    pub fn by_chance(&self, usual: f32) -> ByChance {
        let count = self.len();
        let pairs = (0..PAIRS.min(count / 2)).map(|pair| {
            let one = pair * (count / 2) / PAIRS.min(count / 2);
            (one as u32, (count / 2 + one * 7 % (count / 2)) as u32)
        });
        let mut cosines: Vec<f32> = pairs.filter_map(|(a, b)| self.cosine(a, &self.vector(b)?)).collect();
        if cosines.len() < ENOUGH {
            return ByChance { mean: 0.0, floor: usual };
        }
        cosines.sort_by(f32::total_cmp);
        let mean = (cosines.iter().sum::<f32>() / cosines.len() as f32).clamp(0.0, HIGHEST);
        let floor = cosines[(cosines.len() as f64 * BELOW) as usize];
        ByChance { mean, floor: floor.clamp(0.0, mean + FARTHEST * (1.0 - mean)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_chance_gives_is_learned_from_the_store() {
        let mut sight = Sight::new(EncoderId::new("test"), 64);
        assert_eq!(sight.by_chance(0.35), ByChance { mean: 0.0, floor: 0.35 });
        // All share half of their direction, like texts of many encoders.
        for place in 0..600u32 {
            let own = |i: u32| if i == place % 63 + 1 { 1.0 } else { 0.0 };
            let numbers: Vec<f32> = (0..64).map(|i| if i == 0 { 1.0 } else { own(i) }).collect();
            let length = 2.0f32.sqrt();
            let numbers: Vec<f32> = numbers.into_iter().map(|x| x / length).collect();
            sight.set(place, &PackedVector::of_numbers(&numbers), None);
        }
        let chance = sight.by_chance(0.35);
        assert!((chance.mean - 0.5).abs() < 0.05, "{chance:?}");
        assert!((chance.floor - 0.5).abs() < 0.02, "{chance:?}");
        sight.clear(0);
        assert!(!sight.has(0) && sight.has(1));
    }
}

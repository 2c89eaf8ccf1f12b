//! Vectors as they are kept: one signed byte a number and one scale a vector, and fast sums over them.

use serde::{Deserialize, Serialize};

use super::encoder::{Embedding, EncoderId};

/// A unit vector in int8 with its scale; all zero for a text without direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PackedVector {
    /// Value of one step.
    pub scale: f32,
    pub steps: Vec<i8>,
}

impl PackedVector {
    pub fn of(embedding: &Embedding) -> Self {
        Self::of_numbers(embedding.vector())
    }

    pub fn of_numbers(numbers: &[f32]) -> Self {
        let most = numbers.iter().fold(0.0f32, |most, x| most.max(x.abs()));
        if most == 0.0 {
            return Self { scale: 0.0, steps: vec![0; numbers.len()] };
        }
        let scale = most / 127.0;
        Self { scale, steps: numbers.iter().map(|x| nearest(x / scale)).collect() }
    }

    /// Inner product: the cosine of unit vectors, within 0.01.
    pub fn dot(&self, other: &Self) -> f32 {
        self.scale * other.scale * dot(&self.steps, &other.steps) as f32
    }

    /// A record: the encoder's id behind its length, the scale, the steps.
    pub fn to_record(&self, encoder: &EncoderId) -> Vec<u8> {
        let name = encoder.as_str().as_bytes();
        let name = &name[..name.len().min(255)];
        let mut record = Vec::with_capacity(5 + name.len() + self.steps.len());
        record.push(name.len() as u8);
        record.extend_from_slice(name);
        record.extend_from_slice(&self.scale.to_le_bytes());
        record.extend(self.steps.iter().map(|step| step.cast_unsigned()));
        record
    }

    /// What [`PackedVector::to_record`] wrote, if it is of this encoder.
    pub fn from_record(record: &[u8], encoder: &EncoderId) -> Option<Self> {
        let (length, rest) = record.split_first()?;
        let (name, rest) = rest.split_at_checked(usize::from(*length))?;
        let (scale, steps) = rest.split_first_chunk::<4>()?;
        let steps = steps.iter().map(|step| step.cast_signed()).collect();
        (name == encoder.as_str().as_bytes()).then(|| Self { scale: f32::from_le_bytes(*scale), steps })
    }

    pub fn numbers(&self) -> impl Iterator<Item = f32> {
        self.steps.iter().map(|step| self.scale * f32::from(*step))
    }
}

/// As `round`, halves away from zero, which is a call for each number where the processor isn't known to have it.
fn nearest(steps: f32) -> i8 {
    (steps + 0.5f32.copysign(steps)) as i8
}

#[inline(always)]
fn dot_plain(a: &[i8], b: &[i8]) -> i32 {
    a.iter().zip(b).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn dot_wide(a: &[i8], b: &[i8]) -> i32 {
    dot_plain(a, b)
}

/// Σ aᵢ·bᵢ over the shorter of both.
#[inline]
pub fn dot(a: &[i8], b: &[i8]) -> i32 {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // Built for every x86-64, the plain loop would use half of the registers' width.
        #[allow(unsafe_code)] // SAFETY: the processor was just asked for the feature
        return unsafe { dot_wide(a, b) };
    }
    dot_plain(a, b)
}

/// [`dot`] with numbers that stand as bytes.
#[inline]
pub fn dot_bytes(a: &[u8], b: &[i8]) -> i32 {
    #[inline(always)]
    fn plain(a: &[u8], b: &[i8]) -> i32 {
        a.iter().zip(b).map(|(a, b)| i32::from(a.cast_signed()) * i32::from(*b)).sum()
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn wide(a: &[u8], b: &[i8]) -> i32 {
        plain(a, b)
    }

    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        #[allow(unsafe_code)] // SAFETY: the processor was just asked for the feature
        return unsafe { wide(a, b) };
    }
    plain(a, b)
}

/// Tells the processor that an item will be read soon; one that isn't there is nobody's.
///
/// What is read at a stride or at addresses known beforehand is then there in time: the processor's own guesses end at
/// each page of memory.
#[inline(always)]
pub fn soon<T>(all: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(item) = all.get(at) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        #[allow(unsafe_code)] // SAFETY: a hint, that reads nothing, of an item that is there
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(item).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (all, at);
}

/// Bits in which two signatures differ, 0 to 256.
#[inline(always)]
pub fn bits_apart(a: &[u64; 4], b: &[u64; 4]) -> u16 {
    // Written out: iterators are no part of a function that is built for more of the processor, and would be called.
    let bits = |at: usize| (a[at] ^ b[at]).count_ones();
    (bits(0) + bits(1) + bits(2) + bits(3)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_vectors_keep_their_cosine_within_a_hundredth() {
        let wave = |step: f32| (0..256).map(|i| (i as f32 * step).sin() / 11.3).collect::<Vec<_>>();
        for (a, b) in [(0.1, 0.1), (0.1, 0.11), (0.3, 0.7)] {
            let (a, b) = (wave(a), wave(b));
            let exact: f32 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
            let packed = PackedVector::of_numbers(&a).dot(&PackedVector::of_numbers(&b));
            assert!((exact - packed).abs() < 0.01, "{exact} {packed}");
        }
        assert_eq!(PackedVector::of_numbers(&[0.0; 8]).dot(&PackedVector::of_numbers(&[1.0; 8])), 0.0);
    }

    #[test]
    fn a_record_is_read_for_its_own_encoder_alone() {
        let vector = PackedVector::of_numbers(&[0.1, -0.9]);
        let record = vector.to_record(&EncoderId::new("a"));
        assert_eq!(PackedVector::from_record(&record, &EncoderId::new("a")), Some(vector));
        assert_eq!(PackedVector::from_record(&record, &EncoderId::new("b")), None);
        assert_eq!(PackedVector::from_record(&record[..3], &EncoderId::new("a")), None);
    }

    #[test]
    fn the_wide_sum_is_the_plain_one() {
        let a: Vec<i8> = (0..256).map(|i| (i * 7 % 255 - 127) as i8).collect();
        let b: Vec<i8> = (0..256).map(|i| (i * 31 % 255 - 127) as i8).collect();
        assert_eq!(dot(&a, &b), a.iter().zip(&b).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum::<i32>());
    }

    #[test]
    fn signatures_differ_by_their_bits() {
        let distances = [[0; 4], [1, 2, 4, 7], [u64::MAX; 4]].map(|other| bits_apart(&[0; 4], &other));
        assert_eq!(distances, [0, 6, 256]);
    }
}

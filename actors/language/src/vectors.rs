//! Vectors of many records, by their place in an order.

use super::encoder::EncoderId;
use super::packed::{PackedVector, dot, soon};

/// Records whose numbers lie together.
const CHUNK: usize = 4096;
/// Bytes that the processor reads at once.
const LINE: usize = 64;

/// One vector of one encoder for each record, or none.
#[derive(Clone, Debug)]
pub struct Vectors {
    encoder: EncoderId,
    dims: usize,
    chunks: Vec<Vec<i8>>,
    /// 0 for a record without a vector.
    scales: Vec<f32>,
}

impl Vectors {
    pub fn new(encoder: EncoderId, dims: usize) -> Self {
        Self { encoder, dims, chunks: Vec::new(), scales: Vec::new() }
    }

    pub fn encoder(&self) -> &EncoderId {
        &self.encoder
    }

    pub fn dims(&self) -> usize {
        self.dims
    }

    pub fn len(&self) -> usize {
        self.scales.len()
    }

    pub fn is_empty(&self) -> bool {
        self.scales.is_empty()
    }

    /// Makes room for the scales of so many more records; their numbers get it in steps.
    pub fn reserve(&mut self, records: usize) {
        self.scales.reserve(records);
    }

    /// Appends a record with its vector, or without.
    pub fn push(&mut self, vector: Option<&PackedVector>) {
        match vector.filter(|vector| vector.steps.len() == self.dims) {
            Some(vector) => self.push_steps(vector.scale, vector.steps.iter().copied()),
            None => self.push_steps(0.0, std::iter::repeat_n(0, self.dims)),
        }
    }

    /// `steps` are as many as a vector has.
    pub fn push_steps(&mut self, scale: f32, steps: impl Iterator<Item = i8>) {
        if self.scales.len().is_multiple_of(CHUNK) {
            self.chunks.push(Vec::with_capacity(CHUNK * self.dims));
        }
        if let Some(chunk) = self.chunks.last_mut() {
            let full = chunk.len() + self.dims;
            chunk.extend(steps.take(self.dims));
            chunk.resize(full, 0);
        }
        self.scales.push(scale);
    }

    pub fn set(&mut self, at: usize, vector: &PackedVector) {
        if vector.steps.len() == self.dims {
            self.set_steps(at, vector.scale, vector.steps.iter().copied());
        }
    }

    /// `steps` are as many as a vector has.
    pub fn set_steps(&mut self, at: usize, scale: f32, steps: impl Iterator<Item = i8>) {
        if let Some(kept) = self.scales.get_mut(at) {
            *kept = scale;
            let start = at % CHUNK * self.dims;
            let row = &mut self.chunks[at / CHUNK][start..start + self.dims];
            row.iter_mut().zip(steps).for_each(|(kept, step)| *kept = step);
        }
    }

    pub fn has(&self, at: usize) -> bool {
        self.scale(at) > 0.0
    }

    pub fn scale(&self, at: usize) -> f32 {
        self.scales.get(at).copied().unwrap_or(0.0)
    }

    pub fn steps(&self, at: usize) -> &[i8] {
        let start = at % CHUNK * self.dims;
        self.chunks.get(at / CHUNK).and_then(|chunk| chunk.get(start..start + self.dims)).unwrap_or(&[])
    }

    /// The record's vector will be compared soon.
    #[inline]
    pub fn soon(&self, at: usize) {
        let steps = self.steps(at);
        (0..steps.len()).step_by(LINE).for_each(|line| soon(steps, line));
    }

    /// Cosine with a record's vector; nothing where it has none.
    #[inline]
    pub fn cosine(&self, at: usize, to: &PackedVector) -> Option<f32> {
        let scale = self.scale(at);
        (scale > 0.0).then(|| scale * to.scale * dot(self.steps(at), &to.steps) as f32)
    }
}

//! Vectors of documents as bytes that are kept beside a sealed segment.

use crate::language::{Encoder, Vectors};
use crate::memory::hippocampus::packing::{DamagedSegment, Packer, Unpacker, read_u32};

const KIND: [u8; 4] = *b"MXV1";

/// A stretch of documents, with the encoder's id.
pub fn pack(vectors: &Vectors, documents: std::ops::Range<usize>) -> Vec<u8> {
    let mut out = Packer::new(KIND);
    out.text(vectors.encoder().as_str());
    out.count(vectors.dims());
    out.count(documents.len());
    documents.clone().for_each(|at| out.u32(vectors.scale(at).to_bits()));
    for at in documents {
        let row: Vec<u8> = vectors.steps(at).iter().map(|step| step.cast_unsigned()).collect();
        out.raw(&row);
    }
    out.finish()
}

/// A packed stretch, in place.
struct Stretch<'a> {
    scales: &'a [u8],
    rows: &'a [u8],
    dims: usize,
}

impl<'a> Stretch<'a> {
    /// None when it is another encoder's.
    fn open(vectors: &Vectors, bytes: &'a [u8]) -> Result<Option<Self>, DamagedSegment> {
        let mut reader = Unpacker::open(bytes, KIND)?;
        let encoder = reader.text("the encoder's id")?;
        let dims = reader.u32("the numbers of a vector")? as usize;
        let count = reader.u32("the number of vectors")? as usize;
        if encoder != vectors.encoder().as_str() || dims != vectors.dims() {
            return Ok(None);
        }
        let scales = reader.take(count.saturating_mul(4), "the scales")?;
        let rows = reader.take(count.saturating_mul(dims), "the vectors")?;
        Ok(Some(Self { scales, rows, dims }))
    }

    fn len(&self) -> usize {
        self.scales.len() / 4
    }

    fn vectors(&self) -> impl Iterator<Item = (f32, impl Iterator<Item = i8>)> {
        let rows = self.rows.chunks_exact(self.dims.max(1)).enumerate();
        rows.map(|(at, row)| (f32::from_bits(read_u32(self.scales, at)), row.iter().map(|byte| byte.cast_signed())))
    }
}

/// Gives records from `start` on what was packed; nothing of it if it is another encoder's. Tells how many there were.
pub fn fill(vectors: &mut Vectors, start: usize, bytes: &[u8]) -> Result<usize, DamagedSegment> {
    let Some(stretch) = Stretch::open(vectors, bytes)? else { return Ok(0) };
    for (at, (scale, steps)) in stretch.vectors().enumerate().filter(|(_, (scale, _))| *scale > 0.0) {
        vectors.set_steps(start + at, scale, steps);
    }
    Ok(stretch.len())
}

/// Appends what was packed; nothing of it if it is another encoder's. Tells how many documents were appended.
pub fn append(vectors: &mut Vectors, bytes: &[u8]) -> Result<usize, DamagedSegment> {
    let Some(stretch) = Stretch::open(vectors, bytes)? else { return Ok(0) };
    stretch.vectors().for_each(|(scale, steps)| vectors.push_steps(scale, steps));
    Ok(stretch.len())
}

/// Places, counted from the first, that have a vector of this encoder in what was packed.
pub fn places_with(encoder: &dyn Encoder, bytes: &[u8]) -> Vec<usize> {
    let vectors = Vectors::new(encoder.id().clone(), encoder.dims());
    let Ok(Some(stretch)) = Stretch::open(&vectors, bytes) else { return Vec::new() };
    stretch.vectors().enumerate().filter(|(_, (scale, _))| *scale > 0.0).map(|(at, _)| at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::EncoderId;
    use crate::language::packed::PackedVector;

    fn vector(first: f32) -> PackedVector {
        PackedVector::of_numbers(&[first, 1.0, 0.5])
    }

    #[test]
    fn vectors_come_back_from_their_bytes_and_never_to_another_encoder() {
        let mut made = Vectors::new(EncoderId::new("a"), 3);
        made.push(Some(&vector(0.1)));
        made.push(None);
        made.push(Some(&vector(-0.7)));
        let bytes = pack(&made, 0..3);
        let mut again = Vectors::new(EncoderId::new("a"), 3);
        assert_eq!(append(&mut again, &bytes), Ok(3));
        assert_eq!(again.cosine(2, &vector(0.3)), made.cosine(2, &vector(0.3)));
        assert_eq!(again.cosine(1, &vector(0.3)), None);
        assert!(!again.has(1) && again.has(2));
        let mut other = Vectors::new(EncoderId::new("b"), 3);
        assert_eq!((append(&mut other, &bytes), other.len()), (Ok(0), 0));
    }
}

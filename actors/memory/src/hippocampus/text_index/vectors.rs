//! Vectors of documents. Those of sealed documents are stretches of bytes beside their words. A stretch is read when
//! one of its vectors is first needed: a question needs a few hundred, and a start none. The newest are in memory.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::OnceLock;

use crate::packing::{DamagedSegment, Packer, Unpacker, read_u32};
use maxim_language::packed::{PackedVector, dot_bytes};
use maxim_language::{Encoder, EncoderId};

const KIND: [u8; 4] = *b"MXV1";

/// Returns the bytes of a range.
pub type Reading = Box<dyn Fn() -> Option<Vec<u8>> + Send + Sync>;

/// A packed range as read.
#[derive(Debug)]
struct Packed {
    bytes: Vec<u8>,
    scales: Range<usize>,
    rows: Range<usize>,
    dims: usize,
}

impl Packed {
    /// `None` if it is another encoder's.
    fn open(bytes: Vec<u8>, encoder: &str, dims: usize) -> Result<Option<Self>, DamagedSegment> {
        let mut reader = Unpacker::open(&bytes, KIND)?;
        let by = reader.text("the encoder's id")?;
        let (numbers, count) =
            (reader.u32("the numbers of a vector")? as usize, reader.u32("the number of vectors")? as usize);
        if by != encoder || numbers != dims {
            return Ok(None);
        }
        let scales = reader.position();
        reader.take(count.saturating_mul(4), "the scales")?;
        let rows = reader.position();
        reader.take(count.saturating_mul(dims), "the vectors")?;
        let (scales, rows) = (scales..rows, rows..reader.position());
        Ok(Some(Self { bytes, scales, rows, dims }))
    }

    fn len(&self) -> usize {
        self.scales.len() / 4
    }

    /// 0 for a document without a vector.
    fn scale(&self, at: usize) -> f32 {
        if at < self.len() { f32::from_bits(read_u32(&self.bytes[self.scales.clone()], at)) } else { 0.0 }
    }

    fn row(&self, at: usize) -> &[u8] {
        self.bytes[self.rows.clone()].get(at * self.dims..(at + 1) * self.dims).unwrap_or(&[])
    }

    fn cosine(&self, at: usize, to: &PackedVector) -> Option<f32> {
        let scale = self.scale(at);
        (scale > 0.0).then(|| scale * to.scale * dot_bytes(self.row(at), &to.steps) as f32)
    }

    fn vector(&self, at: usize) -> Option<PackedVector> {
        let scale = self.scale(at);
        let steps = self.row(at).iter().map(|byte| byte.cast_signed()).collect();
        (scale > 0.0).then_some(PackedVector { scale, steps })
    }
}

struct Stretch {
    /// Ordinal of its first document.
    start: usize,
    reading: Option<Reading>,
    /// `None`: unreadable, or another encoder's.
    read: OnceLock<Option<Packed>>,
}

/// The vectors of one encoder, by the ordinals of their documents.
pub struct Kept {
    encoder: EncoderId,
    dims: usize,
    stretches: Vec<Stretch>,
    /// Ordinal of the first document after them.
    end: usize,
    /// Vectors of sealed documents that were made again.
    anew: HashMap<usize, PackedVector>,
    newest: VecDeque<PackedVector>,
}

impl Kept {
    pub fn new(encoder: EncoderId, dims: usize) -> Self {
        Self { encoder, dims, stretches: Vec::new(), end: 0, anew: HashMap::new(), newest: VecDeque::new() }
    }

    /// A vector of another length counts as none.
    pub fn push(&mut self, vector: PackedVector) {
        let fits = vector.steps.len() == self.dims;
        self.newest.push_back(if fits { vector } else { PackedVector::default() });
    }

    /// Unread vectors of the documents after the sealed ones. They are known to be this encoder's.
    pub fn push_unread(&mut self, documents: usize, reading: Reading) {
        self.push_stretch(documents, Some(reading), OnceLock::new());
    }

    /// Vectors of the documents after the sealed ones. Vectors of another encoder are left out.
    ///
    /// # Errors
    /// They are damaged; then their documents have none.
    pub fn push_packed(&mut self, documents: usize, bytes: Vec<u8>) -> Result<(), DamagedSegment> {
        let packed = Packed::open(bytes, self.encoder.as_str(), self.dims);
        let (packed, problem) = packed.map_or_else(|error| (None, Err(error)), |packed| (packed, Ok(())));
        self.push_stretch(documents, None, OnceLock::from(packed));
        problem
    }

    /// Documents after the sealed ones without vectors, up to an ordinal.
    pub fn push_nothing(&mut self, upto: usize) {
        if self.end < upto {
            self.push_stretch(upto - self.end, None, OnceLock::from(None));
        }
    }

    fn push_stretch(&mut self, documents: usize, reading: Option<Reading>, read: OnceLock<Option<Packed>>) {
        self.stretches.push(Stretch { start: self.end, reading, read });
        self.end += documents;
    }

    /// Makes a stretch from the oldest of the newest documents.
    pub fn seal(&mut self, count: usize) {
        let vectors: Vec<PackedVector> = self.newest.drain(..count.min(self.newest.len())).collect();
        // Bytes that were just made are valid.
        let _ = self.push_packed(vectors.len(), self.pack(&vectors));
    }

    fn pack(&self, vectors: &[PackedVector]) -> Vec<u8> {
        let mut out = Packer::new(KIND);
        out.text(self.encoder.as_str());
        out.count(self.dims);
        out.count(vectors.len());
        vectors.iter().for_each(|vector| out.u32(vector.scale.to_bits()));
        for vector in vectors {
            let step = |at: usize| vector.steps.get(at).copied().unwrap_or(0).cast_unsigned();
            out.raw(&(0..self.dims).map(step).collect::<Vec<u8>>());
        }
        out.finish()
    }

    /// The bytes of a stretch that was sealed here, to store them.
    pub fn bytes(&self, stretch: usize) -> Option<&[u8]> {
        Some(&self.stretches.get(stretch)?.read.get()?.as_ref()?.bytes)
    }

    /// The number of stretches, and the first from which all are on disk, or will be, as they are here.
    pub fn sound_from(&self) -> (usize, usize) {
        let is_sound = |stretch: &Stretch| stretch.read.get().is_none_or(Option::is_some);
        let sound = self.stretches.iter().rev().take_while(|stretch| is_sound(stretch)).count();
        (self.stretches.len(), self.stretches.len() - sound)
    }

    /// Number of ranges in memory.
    #[cfg(test)]
    pub fn read(&self) -> usize {
        self.stretches.iter().filter(|stretch| stretch.read.get().is_some()).count()
    }

    fn stretch_of(&self, at: usize) -> Option<(&Stretch, usize)> {
        let after = self.stretches.partition_point(|stretch| stretch.start <= at);
        let stretch = self.stretches.get(after.checked_sub(1)?)?;
        Some((stretch, at - stretch.start))
    }

    fn packed(&self, at: usize) -> Option<(&Packed, usize)> {
        let (stretch, within) = self.stretch_of(at)?;
        let read = || {
            let bytes = stretch.reading.as_ref()?()?;
            Packed::open(bytes, self.encoder.as_str(), self.dims)
                .inspect_err(|error| tracing::error!(%error, "vectors of episodes are damaged; they are left out"))
                .ok()?
        };
        Some((stretch.read.get_or_init(read).as_ref()?, within))
    }

    /// Cosine with a document's vector; `None` if it has none.
    pub fn cosine(&self, at: usize, to: &PackedVector) -> Option<f32> {
        match at.checked_sub(self.end) {
            Some(newest) => self.newest.get(newest).filter(|vector| vector.scale > 0.0).map(|vector| vector.dot(to)),
            None if !self.anew.is_empty() && self.anew.contains_key(&at) => self.anew.get(&at).map(|it| it.dot(to)),
            None => self.packed(at).and_then(|(packed, within)| packed.cosine(within, to)),
        }
    }

    pub fn vector(&self, at: usize) -> Option<PackedVector> {
        match at.checked_sub(self.end) {
            Some(newest) => self.newest.get(newest).filter(|vector| vector.scale > 0.0).cloned(),
            None => self.anew.get(&at).cloned().or_else(|| self.packed(at).and_then(|(it, within)| it.vector(within))),
        }
    }

    /// Sets the remade vector of a sealed document.
    pub fn set(&mut self, at: usize, vector: PackedVector) {
        match at.checked_sub(self.end) {
            Some(newest) => self.newest.get_mut(newest).into_iter().for_each(|known| known.clone_from(&vector)),
            None => drop(self.anew.insert(at, vector)),
        }
    }

    /// Sealed documents without a vector, in the stretches that were read.
    pub fn lacking(&self) -> impl Iterator<Item = usize> {
        let ends = self.stretches.iter().skip(1).map(|stretch| stretch.start).chain([self.end]);
        let read =
            self.stretches.iter().zip(ends).filter_map(|(stretch, end)| Some((stretch, end, stretch.read.get()?)));
        read.flat_map(move |(stretch, end, packed)| {
            let has = |at: usize| packed.as_ref().is_some_and(|packed| packed.scale(at - stretch.start) > 0.0);
            (stretch.start..end).filter(move |at| !has(*at) && !self.anew.contains_key(at))
        })
    }
}

/// Places, counted from the first, that have a vector of this encoder in these packed bytes.
pub fn places_with(encoder: &dyn Encoder, bytes: Vec<u8>) -> Vec<usize> {
    let packed = Packed::open(bytes, encoder.id().as_str(), encoder.dims());
    let packed = packed.ok().flatten();
    packed.map_or_else(Vec::new, |packed| (0..packed.len()).filter(|at| packed.scale(*at) > 0.0).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn kept(encoder: &str) -> Kept {
        Kept::new(EncoderId::new(encoder), 3)
    }

    fn made_by(first: f32) -> PackedVector {
        PackedVector::of_numbers(&[first, 1.0, -0.5])
    }

    #[test]
    fn vectors_come_back_from_their_bytes_and_never_to_another_encoder() {
        let mut made = kept("a");
        for vector in [made_by(0.1), PackedVector::default(), made_by(-0.7)] {
            made.push(vector);
        }
        let asked = PackedVector::of_numbers(&[0.3, 1.0, 0.5]);
        let before: Vec<_> = (0..3).map(|at| (made.cosine(at, &asked), made.vector(at))).collect();
        assert!(before[1] == (None, None) && before[2].0.is_some(), "{before:?}");
        made.seal(3);
        assert_eq!((0..3).map(|at| (made.cosine(at, &asked), made.vector(at))).collect::<Vec<_>>(), before);
        let bytes = made.bytes(0).expect("sealed").to_vec();
        let mut again = kept("a");
        again.push_packed(3, bytes.clone()).expect("sound");
        assert_eq!((0..3).map(|at| (again.cosine(at, &asked), again.vector(at))).collect::<Vec<_>>(), before);
        assert_eq!((again.lacking().collect::<Vec<_>>(), again.sound_from()), (vec![1], (1, 0)));
        let mut other = kept("b");
        other.push_packed(3, bytes).expect("sound, but another's");
        assert_eq!((other.cosine(0, &asked), other.sound_from()), (None, (1, 1)));
        assert_eq!(other.lacking().collect::<Vec<_>>(), [0, 1, 2]);
        other.set(2, made_by(0.2));
        assert!(other.cosine(2, &asked).is_some());
        assert_eq!(other.lacking().collect::<Vec<_>>(), [0, 1]);
    }

    #[test]
    fn a_stretch_is_read_when_one_of_its_documents_is_looked_at_and_once() {
        let mut made = kept("a");
        (0..4).for_each(|at| made.push(made_by(at as f32 / 10.0)));
        made.seal(2);
        made.seal(2);
        let reads = Arc::new(AtomicUsize::new(0));
        let mut later = kept("a");
        for stretch in 0..2 {
            let (bytes, reads) = (made.bytes(stretch).expect("sealed").to_vec(), Arc::clone(&reads));
            later.push_unread(
                2,
                Box::new(move || {
                    reads.fetch_add(1, Ordering::SeqCst);
                    Some(bytes.clone())
                }),
            );
        }
        assert_eq!((later.lacking().count(), later.sound_from(), reads.load(Ordering::SeqCst)), (0, (2, 0), 0));
        for _ in 0..2 {
            assert_eq!((later.vector(2), later.vector(3)), (made.vector(2), made.vector(3)));
        }
        assert_eq!(reads.load(Ordering::SeqCst), 1, "nobody looked at the other");
        assert_eq!((later.vector(0), reads.load(Ordering::SeqCst)), (made.vector(0), 2));
    }
}

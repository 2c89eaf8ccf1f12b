//! The embedded encoder: a static table of one int8 row for each WordPiece, searched where it lies in the binary.
//!
//! A text's vector is the plain sum of its pieces' rows, made unit length; rarity stands in the length of the rows. How
//! the table is made stands in `make_table.py` of its crate.

use smallvec::SmallVec;

use super::encoder::{Embedding, Encoder, EncoderId};
use super::word_pieces::{PLAIN, WordPieces};

const KIND: [u8; 4] = *b"MXTT";
const VERSION: u32 = 1;
/// Slots of the hash table over pieces.
const SLOTS: usize = 1 << 16;
const EMPTY: u16 = u16::MAX;
/// Bytes of a text that are read.
const TEXT_BYTES: usize = 64 << 10;

/// Bytes that are no table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadTable {
    #[error("the token table begins with {0:?}; expected MXTT, version 1: make it again with make_table.py")]
    Kind(Vec<u8>),
    #[error("the token table has {found} bytes, its head says {expected}: make it again with make_table.py")]
    Length { expected: usize, found: usize },
}

/// Rows of pieces, and how to find them. Nothing is copied out of the bytes.
#[derive(Clone)]
pub struct TokenTable {
    id: EncoderId,
    dims: usize,
    scales: &'static [u8],
    ends: &'static [u8],
    slots: &'static [u8],
    texts: &'static [u8],
    rows: &'static [u8],
}

impl std::fmt::Debug for TokenTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenTable").field("id", &self.id).field("dims", &self.dims).finish_non_exhaustive()
    }
}

fn u32_at(bytes: &[u8], index: usize) -> u32 {
    bytes.get(index * 4..).and_then(|rest| rest.first_chunk::<4>()).map_or(0, |four| u32::from_le_bytes(*four))
}

/// One step of FNV-1a (Fowler, Noll, Vo).
fn fnv(hash: u32, byte: u8) -> u32 {
    (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
}

const FNV_START: u32 = 0x811C_9DC5;

impl TokenTable {
    /// The table that ships with the program: all-MiniLM-L6-v2 made static, 256 numbers a vector, 15 µs a sentence.
    pub fn embedded() -> Self {
        match Self::open(maxim_token_table::NAME, maxim_token_table::TABLE) {
            Ok(table) => table,
            Err(error) => unreachable!("the program was built with a bad table: {error}"),
        }
    }

    /// Reads the head; the rest stays where it is. `name` becomes part of the encoder's id.
    pub fn open(name: &str, bytes: &'static [u8]) -> Result<Self, BadTable> {
        let head = bytes.first_chunk::<20>().filter(|head| head[..4] == KIND && u32_at(&head[4..], 0) == VERSION);
        let head = head.ok_or_else(|| BadTable::Kind(bytes.iter().take(8).copied().collect()))?;
        let [dims, pieces, texts] = [2, 3, 4].map(|field| u32_at(head, field) as usize);
        let lengths = [pieces * 4, pieces * 4, SLOTS * 2, texts, pieces * dims];
        let expected = 20 + lengths.iter().sum::<usize>();
        if bytes.len() != expected {
            return Err(BadTable::Length { expected, found: bytes.len() });
        }
        let mut rest = &bytes[20..];
        let [scales, ends, slots, texts, rows] = lengths.map(|length| {
            let (part, after) = rest.split_at(length);
            rest = after;
            part
        });
        Ok(Self { id: EncoderId::new(name), dims, scales, ends, slots, texts, rows })
    }

    fn text(&self, piece: usize) -> &[u8] {
        let start = piece.checked_sub(1).map_or(0, |before| u32_at(self.ends, before) as usize);
        self.texts.get(start..u32_at(self.ends, piece) as usize).unwrap_or(&[])
    }

    /// The piece with this text; `hash` is that of the whole text.
    fn find(&self, prefix: &str, text: &str, hash: u32) -> Option<usize> {
        let mut slot = ((hash ^ (hash >> 16)) as usize) % SLOTS;
        loop {
            let held = self.slots.get(slot * 2..).and_then(|rest| rest.first_chunk::<2>());
            let piece = held.map_or(EMPTY, |two| u16::from_le_bytes(*two));
            if piece == EMPTY {
                return None;
            }
            let piece = usize::from(piece);
            if self.text(piece).strip_prefix(prefix.as_bytes()) == Some(text.as_bytes()) {
                return Some(piece);
            }
            slot = (slot + 1) % SLOTS;
        }
    }

    fn add(&self, piece: usize, sum: &mut [f32]) {
        let scale = f32::from_bits(u32_at(self.scales, piece));
        let row = self.rows.get(piece * self.dims..(piece + 1) * self.dims).unwrap_or(&[]);
        for (sum, number) in sum.iter_mut().zip(row) {
            *sum += scale * f32::from(number.cast_signed());
        }
    }
}

impl WordPieces for TokenTable {
    fn longest(&self, prefix: &str, rest: &str) -> Option<(usize, usize)> {
        let mut hash = prefix.bytes().fold(FNV_START, fnv);
        let mut ends: SmallVec<[(usize, u32); 24]> = SmallVec::with_capacity(rest.len());
        for (at, c) in rest.char_indices() {
            let end = at + c.len_utf8();
            hash = rest[at..end].bytes().fold(hash, fnv);
            ends.push((end, hash));
        }
        ends.iter().rev().find_map(|(end, hash)| Some((self.find(prefix, &rest[..*end], *hash)?, *end)))
    }
}

impl Encoder for TokenTable {
    fn id(&self) -> &EncoderId {
        &self.id
    }

    fn dims(&self) -> usize {
        self.dims
    }

    /// Of a long text, how it begins: the mean of so many words hardly moves any more.
    fn embed(&self, text: &str) -> Embedding {
        let text = &text[..text.floor_char_boundary(TEXT_BYTES)];
        let mut sum = vec![0.0; self.dims];
        self.pieces(text, PLAIN).into_iter().for_each(|piece| self.add(piece, &mut sum));
        Embedding::new(self.id.clone(), sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cosine(a: &str, b: &str) -> f32 {
        let table = TokenTable::embedded();
        table.embed(a).cosine(&table.embed(b)).expect("one encoder")
    }

    #[test]
    fn words_that_mean_near_things_are_near_and_others_are_not() {
        let pairs = [
            ("cup", "mug", 0.56),
            ("cup", "coffee", 0.44),
            ("cup", "git", -0.02),
            ("dog", "puppy", 0.65),
            ("car", "automobile", 0.80),
            ("doctor", "physician", 0.84),
            ("kitchen", "oven", 0.49),
            ("commit", "repository", 0.33),
            ("banana", "parliament", -0.01),
            ("turn on the light", "switch the lamp on", 0.57),
            ("turn on the light", "compile the project", -0.06),
            ("delete all files in the folder", "remove every file from the directory", 0.62),
            ("delete all files in the folder", "what a lovely sunny morning", -0.11),
        ];
        for (a, b, expected) in pairs {
            let found = cosine(a, b);
            println!("{a} ~ {b}: {found:.2}, expected {expected:.2}");
            assert!((found - expected).abs() < 0.1, "{a} ~ {b}: {found} instead of {expected}");
        }
    }

    #[test]
    fn case_accents_and_spaces_make_no_difference_and_unknown_text_has_no_direction() {
        assert!(cosine("  Café  Zürich ", "cafe zurich") > 0.999);
        assert!(cosine("the CUP, please!", "the cup , please !") > 0.999);
        let table = TokenTable::embedded();
        assert!(table.embed("").is_zero() && table.embed(" \n\t").is_zero());
        assert_eq!(table.embed(&"x".repeat(101)).vector(), table.embed("").vector());
        assert_eq!(table.embed("any").vector().len(), 256);
    }

    #[test]
    fn words_are_cut_into_their_longest_pieces() {
        let table = TokenTable::embedded();
        let shown = |text: &str| {
            let pieces = table.pieces(text, PLAIN).into_iter();
            pieces.map(|piece| String::from_utf8_lossy(table.text(piece)).into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(shown("unaffable robots' 東京"), ["una", "##ffa", "##ble", "robots", "'", "東", "京"]);
    }

    #[test]
    fn bytes_that_are_no_table_are_refused() {
        assert!(matches!(TokenTable::open("x", b"MXTTxxxx"), Err(BadTable::Kind(_))));
        let cut = &maxim_token_table::TABLE[..1000];
        assert!(matches!(TokenTable::open("x", cut), Err(BadTable::Length { found: 1000, .. })));
    }
}

//! SentencePiece's byte pair encoding (Kudo & Richardson 2018) as `tokenizer.json` writes it: merges are of characters, and
//! what no piece has is spelt in bytes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

/// Pieces by number, and what two of them make.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    /// The numbers of single characters.
    pub characters: FxHashMap<char, u32>,
    /// Of each byte, where all have a piece.
    pub bytes: Option<Box<[u32; 256]>>,
    /// Two pieces: the rank of their merge, lower first, and the piece that they become.
    pub merges: FxHashMap<(u32, u32), (u32, u32)>,
    /// Unknown characters beside each other are one token.
    pub fuses_unknown: bool,
}

/// A number that no piece has: an unknown character.
const UNKNOWN: u32 = u32::MAX;
/// No neighbour.
const NONE: usize = usize::MAX;

impl Pieces {
    /// Characters, or their bytes, as pieces.
    fn spelt(&self, word: &str) -> Vec<u32> {
        let mut spelt = Vec::with_capacity(word.len());
        for c in word.chars() {
            match (self.characters.get(&c), &self.bytes) {
                (Some(piece), _) => spelt.push(*piece),
                (None, Some(bytes)) => {
                    spelt.extend(c.encode_utf8(&mut [0; 4]).bytes().map(|byte| bytes[usize::from(byte)]));
                }
                (None, None) if self.fuses_unknown && spelt.last() == Some(&UNKNOWN) => {}
                (None, None) => spelt.push(UNKNOWN),
            }
        }
        spelt
    }

    /// How many pieces are left when nothing merges any more; of what can merge, the lowest rank first, then the leftmost.
    pub fn count(&self, word: &str) -> usize {
        let mut pieces = self.spelt(word);
        let mut next: Vec<usize> = (1..=pieces.len()).map(|at| if at < pieces.len() { at } else { NONE }).collect();
        let mut before: Vec<usize> = (0..pieces.len()).map(|at| at.checked_sub(1).unwrap_or(NONE)).collect();
        let mut gone = vec![false; pieces.len()];
        let mut wanted = BinaryHeap::new();
        let look = |pieces: &[u32], left: usize, right: usize, wanted: &mut BinaryHeap<_>| {
            if let Some((rank, _)) = self.merges.get(&(pieces[left], pieces[right])) {
                wanted.push(Reverse((*rank, left, pieces[left], pieces[right])));
            }
        };
        for left in 0..pieces.len().saturating_sub(1) {
            look(&pieces, left, left + 1, &mut wanted);
        }
        let mut left_over = pieces.len();
        while let Some(Reverse((_, left, first, second))) = wanted.pop() {
            let right = next[left];
            if gone[left] || right == NONE || (pieces[left], pieces[right]) != (first, second) {
                continue; // one of them became part of another piece
            }
            let Some((_, made)) = self.merges.get(&(first, second)) else { continue };
            pieces[left] = *made;
            gone[right] = true;
            next[left] = next[right];
            left_over -= 1;
            if next[left] != NONE {
                before[next[left]] = left;
                look(&pieces, left, next[left], &mut wanted);
            }
            if before[left] != NONE {
                look(&pieces, before[left], left, &mut wanted);
            }
        }
        left_over
    }
}

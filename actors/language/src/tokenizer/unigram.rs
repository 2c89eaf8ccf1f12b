//! SentencePiece's unigram model (Kudo 2018): of all ways to spell a word by pieces, the likeliest, by Viterbi's algorithm.

use rustc_hash::FxHashMap;

/// How much less likely than the least likely piece an unknown character is, in log probability; SentencePiece's.
const UNKNOWN_PENALTY: f64 = 10.0;

#[derive(Debug)]
pub(super) struct Unigram {
    /// Log probabilities.
    scores: FxHashMap<Box<str>, f64>,
    /// Bytes of the longest piece.
    longest: usize,
    unknown: f64,
    /// Each byte has a piece, by which unknown characters are spelt.
    spells_bytes: bool,
}

/// The best spelling of the beginning of a word that ends at a place.
#[derive(Clone, Copy)]
struct Best {
    score: f64,
    from: usize,
    is_known: bool,
}

impl Unigram {
    pub fn new(pieces: impl Iterator<Item = (String, f64)>, spells_bytes: bool) -> Self {
        let (mut scores, mut longest, mut least) = (FxHashMap::default(), 0, f64::INFINITY);
        for (piece, score) in pieces {
            longest = longest.max(piece.len());
            least = least.min(score);
            scores.insert(piece.into_boxed_str(), score);
        }
        let has_all = || (0..=u8::MAX).all(|byte| scores.contains_key(format!("<0x{byte:02X}>").as_str()));
        let spells_bytes = spells_bytes && has_all();
        Self { scores, longest, unknown: least - UNKNOWN_PENALTY, spells_bytes }
    }

    pub fn pieces(&self) -> usize {
        self.scores.len()
    }

    pub fn count(&self, word: &str) -> usize {
        let mut best: Vec<Option<Best>> = vec![None; word.len() + 1];
        for (from, c) in word.char_indices() {
            let so_far = best[from].map_or(0.0, |best| best.score);
            let mut offer = |end: usize, score: f64, is_known: bool| {
                if best[end].is_none_or(|known| score > known.score) {
                    best[end] = Some(Best { score, from, is_known });
                }
            };
            let mut has_single = false;
            let mut end = from;
            for next in word[from..].chars() {
                end += next.len_utf8();
                if end - from > self.longest {
                    break;
                }
                if let Some(score) = self.scores.get(&word[from..end]) {
                    offer(end, so_far + score, true);
                    has_single |= end == from + c.len_utf8();
                }
            }
            if !has_single {
                offer(from + c.len_utf8(), so_far + self.unknown, false);
            }
        }
        let (mut tokens, mut at, mut last_known) = (0, word.len(), true);
        while let Some(Best { from, is_known, .. }) = best[at].filter(|_| at > 0) {
            tokens += match () {
                () if is_known => 1,
                () if self.spells_bytes => at - from,
                // Unknown characters beside each other are one token.
                () => usize::from(last_known),
            };
            (at, last_known) = (from, is_known);
        }
        tokens
    }
}

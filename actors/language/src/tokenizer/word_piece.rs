//! WordPiece (Schuster & Nakajima 2012), as BERT's files have it: from the left, the longest piece that is known.

use rustc_hash::FxHashSet;

#[derive(Debug)]
pub(super) struct WordPiece {
    pub pieces: FxHashSet<String>,
    /// Before pieces that don't begin a word.
    pub inner: String,
    /// A longer word, in characters, is unknown.
    pub longest: usize,
}

impl WordPiece {
    /// A word that can't be spelt is one token.
    pub fn count(&self, word: &str) -> usize {
        if word.is_empty() {
            return 0;
        }
        if word.chars().count() > self.longest {
            return 1;
        }
        let (mut tokens, mut from) = (0, 0);
        let mut marked = String::new();
        while from < word.len() {
            let ends = word[from..].char_indices().map(|(at, c)| from + at + c.len_utf8());
            let ends: Vec<usize> = ends.collect();
            let known = ends.into_iter().rev().find(|end| {
                marked.clear();
                marked.push_str(if from > 0 { &self.inner } else { "" });
                marked.push_str(&word[from..*end]);
                self.pieces.contains(&marked)
            });
            let Some(end) = known else { return 1 };
            (tokens, from) = (tokens + 1, end);
        }
        tokens
    }
}

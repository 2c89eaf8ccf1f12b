//! Tokens as the model itself counts them, by its own file: byte pair encoding (Sennrich et al. 2016), the unigram model, or
//! WordPiece.
//!
//! The file is read once, at the start. Of a byte-level one a text is cut by the file's patterns, and each piece is merged by
//! `tiktoken-rs`, whose embedded tables stay out of the program since nothing names them; of the others it
//! goes through what the file says first (`preparing.rs`): SentencePiece's merges of characters are in `sentence.rs`.

mod charsmap;
mod file;
mod preparing;
mod sentence;
mod spelt;
#[cfg(test)]
mod tests;
mod unigram;
mod word_piece;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use fancy_regex::Regex;
use rustc_hash::FxHashMap;
use tiktoken_rs::byte_pair_split;
use unicode_normalization::UnicodeNormalization;

use super::tokens::estimated_tokens;

pub use file::BadTokenizer;
use preparing::Preparing;
use sentence::Pieces;
use unigram::Unigram;
use word_piece::WordPiece;

/// Merging is quadratic in a piece's length, so a longer one (a run of signs without a blank) is cut into parts of this
/// many bytes, each of which costs at most one token more than it would.
const PIECE_MAX: usize = 256;

/// How the tokens of a prompt are counted.
#[derive(Clone, Debug, Default)]
pub enum TokenCounter {
    /// By an estimate that errs on the dear side.
    #[default]
    Estimated,
    /// By the model's own tokenizer.
    Model(Arc<Tokenizer>),
}

impl TokenCounter {
    pub fn count(&self, text: &str) -> usize {
        match self {
            Self::Estimated => estimated_tokens(text),
            Self::Model(tokenizer) => tokenizer.count(text),
        }
    }

    /// Whether the model counts the same text alike, so that a server's count can only be higher, by its template.
    pub fn is_exact(&self) -> bool {
        matches!(self, Self::Model(_))
    }
}

impl fmt::Display for TokenCounter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Estimated => f.write_str("estimated"),
            Self::Model(tokenizer) => write!(f, "counted by {}", tokenizer.name),
        }
    }
}

/// How a model's texts become tokens.
pub struct Tokenizer {
    /// The file's name and how many merges or pieces it has.
    name: String,
    way: Way,
}

enum Way {
    Bytes(ByteRanks),
    Words(Preparing, Spelling),
}

/// How a word is spelt by pieces.
enum Spelling {
    Merges(Pieces),
    Unigram(Unigram),
    WordPiece(WordPiece),
}

/// Ranks of byte sequences, and how a text is cut before they apply.
struct ByteRanks {
    /// A lower rank is merged first.
    ranks: FxHashMap<Vec<u8>, u32>,
    /// Each cuts what those before it left: what it matches, and what lies between, are pieces.
    patterns: Vec<Regex>,
    /// Whether characters are composed before (normal form C).
    composes: bool,
}

impl fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokenizer").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Tokenizer {
    /// Reads a model's `tokenizer.json` with byte pair encoding, of bytes or of characters (SentencePiece), with a unigram
    /// model or with WordPiece, or a `.tiktoken` file of ranks.
    ///
    /// # Errors
    /// The file can't be read or is of another kind; the error names it and says what is supported.
    pub fn open(path: &Path) -> Result<Self, BadTokenizer> {
        file::open(path)
    }

    /// The file's name, and how many merges or pieces it has.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Tokens of a text by itself; names of special tokens in it are text like any other.
    pub fn count(&self, text: &str) -> usize {
        match &self.way {
            Way::Bytes(ranks) => ranks.count(text),
            Way::Words(preparing, spelling) => match spelling {
                Spelling::Merges(pieces) => preparing.sum(text, &|word| pieces.count(word)),
                Spelling::Unigram(pieces) => preparing.sum(text, &|word| pieces.count(word)),
                Spelling::WordPiece(pieces) => preparing.sum(text, &|word| pieces.count(word)),
            },
        }
    }
}

impl ByteRanks {
    fn count(&self, text: &str) -> usize {
        if self.composes && !text.is_ascii() {
            return self.cut(&text.nfc().collect::<String>(), &self.patterns);
        }
        self.cut(text, &self.patterns)
    }

    fn cut(&self, text: &str, patterns: &[Regex]) -> usize {
        let Some((pattern, rest)) = patterns.split_first() else { return self.merged(text.as_bytes()) };
        let (mut tokens, mut from) = (0, 0);
        // A pattern that gives up on a text leaves the rest of it as one piece.
        for found in pattern.find_iter(text).map_while(Result::ok) {
            tokens += self.cut(&text[from..found.start()], rest) + self.cut(found.as_str(), rest);
            from = found.end();
        }
        tokens + self.cut(&text[from..], rest)
    }

    fn merged(&self, piece: &[u8]) -> usize {
        if piece.len() < 2 || self.ranks.contains_key(piece) {
            return piece.len().min(1);
        }
        let of = |part: &[u8]| if part.len() < 2 { part.len() } else { byte_pair_split(part, &self.ranks).len() };
        piece.chunks(PIECE_MAX).map(of).sum()
    }
}

//! How a text is cut into pieces of words: BERT's own way, by whatever holds the vocabulary.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// A word longer than this has no pieces.
const LONGEST_WORD: usize = 100;
/// Before a piece that continues a word.
const CONTINUED: &str = "##";

/// What is done to a text before it is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Normalising {
    pub lowercase: bool,
    pub strip_accents: bool,
}

/// Lower case without accents, as in the uncased models.
pub const PLAIN: Normalising = Normalising { lowercase: true, strip_accents: true };

/// A vocabulary of word pieces.
pub trait WordPieces {
    /// The longest piece that, with `prefix` before it, begins `rest`: its number, and where it ends in `rest`.
    fn longest(&self, prefix: &str, rest: &str) -> Option<(usize, usize)>;

    /// The pieces of a text in order: split at spaces and at each mark, longest pieces first. A word with a part that no
    /// piece covers has none.
    fn pieces(&self, text: &str, normalising: Normalising) -> Vec<usize> {
        let mut pieces = Vec::with_capacity(text.len() / 4 + 1);
        let mut word = String::new();
        let mut take = |c: char| {
            let alone = c.is_ascii_punctuation() || !c.is_ascii() && !c.is_alphanumeric() && !is_combining_mark(c);
            let alone = alone || is_ideograph(c);
            if c.is_whitespace() || c.is_control() || alone {
                if !word.is_empty() {
                    self.pieces_of_word(&word, &mut pieces);
                    word.clear();
                }
                if alone {
                    self.pieces_of_word(c.encode_utf8(&mut [0; 4]), &mut pieces);
                }
            } else if normalising.lowercase {
                word.extend(c.to_lowercase());
            } else {
                word.push(c);
            }
        };
        match normalising.strip_accents && !text.is_ascii() {
            true => text.nfd().filter(|c| !is_combining_mark(*c)).for_each(&mut take),
            false => text.chars().for_each(&mut take),
        }
        self.pieces_of_word(&word, &mut pieces);
        pieces
    }

    fn pieces_of_word(&self, word: &str, into: &mut Vec<usize>) {
        if word.chars().count() > LONGEST_WORD {
            return;
        }
        let before = into.len();
        let mut start = 0;
        while start < word.len() {
            let prefix = if start == 0 { "" } else { CONTINUED };
            let Some((piece, end)) = self.longest(prefix, &word[start..]) else {
                into.truncate(before);
                return;
            };
            into.push(piece);
            start += end;
        }
    }
}

/// Written without spaces between words: each character is a word.
fn is_ideograph(c: char) -> bool {
    matches!(u32::from(c), 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x2FA1F)
}

//! What rooms share about language and numbers: words and stems, vectors of texts, stop phrases, arithmetic and statistics.

pub mod budget;
pub mod calendar;
pub mod encoder;
mod function_words;
pub mod gist;
pub mod naming;
pub mod nearest;
pub mod numbers;
pub mod packed;
pub mod signature;
pub mod stop_phrase;
pub mod token_table;
pub mod tokenizer;
pub mod tokens;
pub mod vectors;
pub mod word_pieces;
pub mod words;

pub use budget::{Budget, Cost, Spent};
pub use encoder::{Embedding, Encoder, EncoderId, FLOOR, calibrated, similarity};
pub use function_words::function_words_of;
pub use gist::Gist;
pub use token_table::TokenTable;
pub use tokenizer::{BadTokenizer, TokenCounter, Tokenizer};
pub use tokens::{Price, estimated_tokens};
pub use vectors::Vectors;
pub use words::{Stems, Word, is_stop_word, pieces, words};

/// The first `most` characters, and how many more there are.
pub fn clipped(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}… ({} more characters)", &text[..at], text[at..].chars().count()),
    }
}

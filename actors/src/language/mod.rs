//! What rooms share about language: words and stems, and vectors of texts.

pub mod budget;
pub mod encoder;
pub mod gist;
pub mod nearest;
pub mod packed;
pub mod signature;
pub mod token_table;
pub mod tokenizer;
pub mod tokens;
pub mod vectors;
pub mod word_pieces;
pub mod words;

pub use budget::{Budget, Cost, Spent};
pub use encoder::{Embedding, Encoder, EncoderId, FLOOR, calibrated, similarity};
pub use gist::Gist;
pub use token_table::TokenTable;
pub use tokenizer::{BadTokenizer, TokenCounter, Tokenizer};
pub use tokens::{Price, estimated_tokens};
pub use vectors::Vectors;
pub use words::{Stems, Word, is_stop_word, words};

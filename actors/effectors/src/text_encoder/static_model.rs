//! A static model in a folder, in the layout of Model2Vec (`config.json`, `tokenizer.json`, `model.safetensors`). It
//! has a vector for each word piece. A text's vector is the mean of its pieces' vectors.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value as Json;
use sha2::{Digest, Sha256};

use super::safetensors::Tensors;
use maxim_language::word_pieces::{Normalising, PLAIN, WordPieces};

/// Pieces of a text that are used, unless the folder says otherwise.
const PIECES_MAX: usize = 512;
/// The supported formats, for errors.
const SUPPORTED: &str = "supported is a static model in the layout of Model2Vec with a WordPiece tokenizer, e.g. \
                         minishlab/potion-base-8M; serve any other model by an OpenAI-compatible server and name that in \
                         encoder.base_url";

/// A folder is unusable.
#[derive(Debug, thiserror::Error)]
pub enum BadFolder {
    #[error("{file} can't be read: {error}; {SUPPORTED}")]
    File { file: PathBuf, error: std::io::Error },
    #[error("{file} {why}; {SUPPORTED}")]
    Kind { file: PathBuf, why: String },
}

/// Vectors of pieces, and how texts are split.
pub struct StaticModel {
    id: String,
    dims: usize,
    rows: Vec<f32>,
    /// Row and weight of each piece.
    pieces: Vec<(usize, f32)>,
    vocabulary: HashMap<String, usize>,
    /// Length of the longest piece, in bytes.
    longest: usize,
    normalising: Normalising,
    unknown: Option<usize>,
    most: usize,
}

impl std::fmt::Debug for StaticModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StaticModel").field("id", &self.id).field("dims", &self.dims).finish_non_exhaustive()
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Config {
    model_type: Option<String>,
    architectures: Vec<String>,
    seq_length: Option<usize>,
}

#[derive(Deserialize)]
struct Tokenizer {
    normalizer: Option<Json>,
    model: Json,
}

impl StaticModel {
    /// # Errors
    /// A file is missing or contains another kind of model; the error says what is supported.
    pub fn open(folder: &Path) -> Result<Self, BadFolder> {
        let read = |name: &str| {
            let file = folder.join(name);
            fs::read(&file).map_err(|error| BadFolder::File { file, error })
        };
        let bad = |name: &str, why: String| BadFolder::Kind { file: folder.join(name), why };
        let config = read("config.json")?;
        let parsed: Config =
            serde_json::from_slice(&config).map_err(|e| bad("config.json", format!("is no JSON: {e}")))?;
        if let Some(kind) = parsed.model_type.as_deref().filter(|kind| !kind.eq_ignore_ascii_case("model2vec")) {
            let of = parsed.architectures.first().map_or(String::new(), |name| format!(" ({name})"));
            return Err(bad("config.json", format!("is of a {kind} model{of}")));
        }
        let words = read("tokenizer.json")?;
        let tokenizer: Tokenizer =
            serde_json::from_slice(&words).map_err(|e| bad("tokenizer.json", format!("is no tokenizer: {e}")))?;
        let model = read("model.safetensors")?;
        let tensors = Tensors::read(&model).ok_or_else(|| bad("model.safetensors", "is no safetensors file".into()))?;
        let mut hash = Sha256::new();
        [&config, &words, &model].into_iter().for_each(|part| hash.update(part));
        let hash: String = hash.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let mut made = Self::of(&tensors, &tokenizer).map_err(|(file, why)| bad(file, why))?;
        made.id = format!("{name}/{}/{hash}", made.dims);
        made.most = parsed.seq_length.unwrap_or(PIECES_MAX).clamp(1, 100_000);
        Ok(made)
    }

    fn of(tensors: &Tensors<'_>, tokenizer: &Tokenizer) -> Result<Self, (&'static str, String)> {
        const MODEL: &str = "model.safetensors";
        let named: Vec<&str> = tensors.names().take(4).collect();
        let no_table =
            || (MODEL, format!("has no table \"embeddings\" of one row a piece; it has {}", named.join(", ")));
        let rows = tensors.numbers("embeddings").ok_or_else(no_table)?;
        let Some([count, dims]) = tensors.shape("embeddings").filter(|shape| shape.iter().all(|length| *length > 0))
        else {
            return Err(no_table());
        };
        if rows.iter().any(|number| !number.is_finite()) {
            return Err((MODEL, "has a number that is not finite".into()));
        }
        let vocabulary = vocabulary(tokenizer)?;
        let pieces = vocabulary.values().max().map_or(0, |last| last + 1);
        let weights = tensors.numbers("weights").unwrap_or_else(|| vec![1.0; pieces]);
        let places = tensors.numbers("mapping");
        let row =
            |piece: usize| places.as_ref().map_or(Some(piece), |places| places.get(piece).map(|row| *row as usize));
        let pieces: Option<Vec<(usize, f32)>> = (0..pieces)
            .map(|piece| Some((row(piece).filter(|row| row < count)?, *weights.get(piece)? as f32)))
            .collect();
        let pieces = pieces.ok_or_else(|| (MODEL, format!("has {count} rows, too few for the tokenizer's pieces")))?;
        let unknown = tokenizer.model["unk_token"].as_str().and_then(|unknown| vocabulary.get(unknown)).copied();
        Ok(Self {
            id: String::new(),
            dims: *dims,
            rows: rows.into_iter().map(|number| number as f32).collect(),
            pieces,
            longest: vocabulary.keys().map(String::len).max().unwrap_or(0),
            vocabulary,
            normalising: normalising(tokenizer.normalizer.as_ref()),
            unknown,
            most: PIECES_MAX,
        })
    }

    /// Name of the folder, length of a vector, and a hash of its content.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The weighted mean of the pieces' rows; all zero for a text without known pieces.
    pub fn vector(&self, text: &str) -> Vec<f32> {
        let mut sum = vec![0.0f32; self.dims];
        let pieces = self.pieces(text, self.normalising).into_iter().filter(|piece| Some(*piece) != self.unknown);
        for (row, weight) in pieces.take(self.most).filter_map(|piece| self.pieces.get(piece).copied()) {
            let numbers = &self.rows[row * self.dims..(row + 1) * self.dims];
            sum.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += weight * number);
        }
        sum
    }
}

fn vocabulary(tokenizer: &Tokenizer) -> Result<HashMap<String, usize>, (&'static str, String)> {
    const FILE: &str = "tokenizer.json";
    let kind = tokenizer.model["type"].as_str().unwrap_or("unnamed");
    let words = tokenizer.model["vocab"].as_object().filter(|_| kind == "WordPiece");
    let words = words.ok_or_else(|| (FILE, format!("has a {kind} tokenizer")))?;
    let pieces = words.iter().map(|(piece, number)| {
        let number = number.as_u64().and_then(|number| usize::try_from(number).ok());
        Some((piece.clone(), number.filter(|number| *number < 10_000_000)?))
    });
    pieces.collect::<Option<_>>().ok_or_else(|| (FILE, "has a piece without a number".into()))
}

/// By the rules of BERT's normaliser; accents are removed with the capitals unless it says otherwise.
fn normalising(normalizer: Option<&Json>) -> Normalising {
    let Some(normalizer) = normalizer.filter(|normalizer| normalizer["type"] == "BertNormalizer") else { return PLAIN };
    let lowercase = normalizer["lowercase"].as_bool().unwrap_or(true);
    Normalising { lowercase, strip_accents: normalizer["strip_accents"].as_bool().unwrap_or(lowercase) }
}

impl WordPieces for StaticModel {
    fn longest(&self, prefix: &str, rest: &str) -> Option<(usize, usize)> {
        let mut piece = String::with_capacity(prefix.len() + rest.len());
        piece.push_str(prefix);
        piece.push_str(rest);
        let ends = rest.char_indices().map(|(at, c)| at + c.len_utf8());
        let ends: Vec<usize> = ends.take_while(|end| prefix.len() + end <= self.longest).collect();
        ends.into_iter().rev().find_map(|end| {
            piece.truncate(prefix.len() + end);
            Some((*self.vocabulary.get(&piece)?, end))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with a table of five pieces in two numbers.
    fn folder(config: &str, tokenizer: &str, rows: &[f32]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        let head = format!(
            r#"{{"embeddings":{{"dtype":"F32","shape":[{},2],"data_offsets":[0,{}]}}}}"#,
            rows.len() / 2,
            rows.len() * 4
        );
        let mut model = (head.len() as u64).to_le_bytes().to_vec();
        model.extend(head.as_bytes());
        rows.iter().for_each(|number| model.extend(number.to_le_bytes()));
        fs::write(folder.path().join("config.json"), config).expect("written");
        fs::write(folder.path().join("tokenizer.json"), tokenizer).expect("written");
        fs::write(folder.path().join("model.safetensors"), model).expect("written");
        folder
    }

    const WORDS: &str = r###"{"normalizer":{"type":"BertNormalizer","lowercase":true},"model":{"type":"WordPiece",
        "unk_token":"[UNK]","vocab":{"[UNK]":0,"cup":1,"##s":2,"mug":3,"car":4}}}"###;
    const ROWS: [f32; 10] = [9.0, 9.0, 1.0, 0.0, 0.0, 0.5, 0.9, 0.1, 0.0, 1.0];

    #[test]
    fn a_texts_vector_is_the_sum_of_its_pieces_and_the_unknown_is_left_out() {
        let folder = folder(r#"{"model_type":"model2vec","normalize":true}"#, WORDS, &ROWS);
        let model = StaticModel::open(folder.path()).expect("a model");
        assert_eq!(model.vector("CUPS, zebra"), [1.0, 0.5]);
        assert_eq!(model.vector("the zebra"), [0.0, 0.0]);
        let again = StaticModel::open(folder.path()).expect("a model");
        assert_eq!(again.id(), model.id());
        assert!(model.id().contains("/2/"), "{}", model.id());
    }

    #[test]
    fn another_kind_of_model_is_told_with_what_is_supported() {
        let bert = r#"{"model_type":"bert","architectures":["BertModel"]}"#;
        let unigram = r#"{"model":{"type":"Unigram","vocab":[]}}"#;
        for (folder, why) in [
            (folder(bert, WORDS, &ROWS), "is of a bert model (BertModel)"),
            (folder("{}", unigram, &ROWS), "has a Unigram tokenizer"),
            (folder("{}", WORDS, &ROWS[..4]), "too few"),
            (tempfile::tempdir().expect("a folder"), "config.json can't be read"),
        ] {
            let told = StaticModel::open(folder.path()).expect_err(why).to_string();
            assert!(told.contains(why) && told.contains("Model2Vec"), "{told}");
        }
    }
}

//! A model's tokenizer out of its file.

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fancy_regex::Regex;
use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde_json::Value as Json;

use super::preparing::Preparing;
use super::{ByteRanks, Spelling, Tokenizer, Way, spelt};

/// What can be read, for errors.
const SUPPORTED: &str = "expected is the model's tokenizer.json with BPE, of bytes (Llama 3, Qwen, GPT, Mistral Nemo) or of \
                         characters (Llama 2, Mistral, Gemma), with a unigram model (T5, XLM-R) or WordPiece (BERT), or a .tiktoken file of ranks; without llm.tokenizer_file tokens are estimated";

/// A file that can't be used.
#[derive(Debug, thiserror::Error)]
pub enum BadTokenizer {
    #[error("{file} can't be read: {error}; {SUPPORTED}")]
    File { file: PathBuf, error: std::io::Error },
    #[error("{file} {why}; {SUPPORTED}")]
    Kind { file: PathBuf, why: String },
}

/// How words are cut where a byte-level tokenizer says nothing else: GPT-2's pattern.
const WORDS: &str = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
/// The same of the vocabulary cl100k_base, with numbers by threes.
const WORDS_100K: &str =
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
/// Of Qwen's, with numbers by the digit.
const WORDS_QWEN: &str =
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
/// Of o200k_base, which cuts where capitals begin.
const WORDS_200K: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'[sdmt]|'ll|'ve|'re)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'[sdmt]|'ll|'ve|'re)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";

pub(super) fn open(path: &Path) -> Result<Tokenizer, BadTokenizer> {
    let bytes = fs::read(path).map_err(|error| BadTokenizer::File { file: path.into(), error })?;
    let is_json = bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    let read = if is_json { of_json(&bytes) } else { of_ranks(&bytes) };
    let bad = |why: String| BadTokenizer::Kind { file: path.into(), why };
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let named = |merges: usize| format!("{name} ({merges} merges)");
    let of_pieces = |pieces: usize| format!("{name} ({pieces} pieces)");
    let Parts { ranks, patterns, composes } = match read.map_err(bad)? {
        Read::Bytes(parts) => parts,
        Read::Words(preparing, spelling) => {
            let name = match &*spelling {
                Spelling::Merges(pieces) => named(pieces.merges.len()),
                Spelling::Unigram(pieces) => of_pieces(pieces.pieces()),
                Spelling::WordPiece(pieces) => of_pieces(pieces.pieces.len()),
            };
            return Ok(Tokenizer { name, way: Way::Words(preparing, *spelling) });
        }
    };
    let patterns = patterns
        .iter()
        .map(|pattern| Regex::new(pattern).map_err(|error| bad(format!("has a pattern that can't be read: {error}"))))
        .collect::<Result<_, _>>()?;
    Ok(Tokenizer { name: named(ranks.len()), way: Way::Bytes(ByteRanks { ranks, patterns, composes }) })
}

enum Read {
    Bytes(Parts),
    Words(Preparing, Box<Spelling>),
}

/// What a byte-level file says.
#[derive(Default)]
struct Parts {
    ranks: FxHashMap<Vec<u8>, u32>,
    patterns: Vec<String>,
    composes: bool,
}

/// `BASE64 RANK` a line. The way of cutting isn't in it; it is known by how many ranks there are.
fn of_ranks(bytes: &[u8]) -> Result<Read, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "is neither JSON nor a list of ranks".to_owned())?;
    let mut ranks = FxHashMap::default();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
        let read =
            line.split_once(' ').and_then(|(piece, rank)| Some((STANDARD.decode(piece).ok()?, rank.parse().ok()?)));
        let (piece, rank) = read.ok_or_else(|| format!("has no piece in base64 with its rank in line {}", at + 1))?;
        ranks.insert(piece, rank);
    }
    let words = match ranks.len() {
        50_000..50_300 => WORDS,
        100_256 | 128_000 => WORDS_100K,
        151_643 => WORDS_QWEN,
        199_998 => WORDS_200K,
        count => {
            return Err(format!(
                "has {count} ranks, of which it isn't known how words are cut; use the tokenizer.json"
            ));
        }
    };
    Ok(Read::Bytes(Parts { ranks, patterns: vec![words.into()], composes: false }))
}

#[derive(Deserialize)]
struct Written {
    normalizer: Option<Json>,
    pre_tokenizer: Option<Json>,
    model: Model,
}

#[derive(Deserialize)]
pub(super) struct Model {
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    pub merges: Vec<Merge>,
    #[serde(default)]
    pub vocab: Json,
    #[serde(default)]
    pub byte_fallback: bool,
    #[serde(default)]
    pub fuse_unk: bool,
    pub continuing_subword_prefix: Option<String>,
    end_of_word_suffix: Option<String>,
    pub max_input_chars_per_word: Option<usize>,
}

impl Model {
    /// Whether pieces are marked by where they stand in a word.
    pub fn has_marks(&self) -> bool {
        let marks = [&self.continuing_subword_prefix, &self.end_of_word_suffix];
        marks.into_iter().flatten().any(|mark| !mark.is_empty())
    }
}

/// Two pieces that become one.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Merge {
    Apart([String; 2]),
    /// With a blank between them.
    Joined(String),
}

impl Merge {
    pub fn pair(&self) -> Result<(&str, &str), String> {
        match self {
            Self::Apart([first, second]) => Ok((first, second)),
            Self::Joined(both) => both.split_once(' ').ok_or_else(|| format!("has a merge {both:?} of one piece")),
        }
    }
}

fn of_json(bytes: &[u8]) -> Result<Read, String> {
    let written: Written = serde_json::from_slice(bytes).map_err(|error| format!("is no tokenizer.json: {error}"))?;
    let kind = written.model.kind.as_deref().unwrap_or("BPE");
    let merges = &written.model.merges;
    if kind != "BPE" || !is_byte_level(written.pre_tokenizer.as_ref()) {
        let spelling = spelt::spelling(kind, &written.model)?;
        let (normalizer, cutter) = (written.normalizer.as_ref(), written.pre_tokenizer.as_ref());
        return Ok(Read::Words(spelt::preparing(normalizer, cutter)?, Box::new(spelling)));
    }
    if written.model.has_marks() {
        return Err("marks pieces of bytes in a way that isn't known here".into());
    }
    if merges.is_empty() {
        return Err("has no merges".into());
    }
    let mut parts = Parts::default();
    cutting(written.pre_tokenizer.as_ref(), &mut parts)?;
    parts.composes = composing(written.normalizer.as_ref())?;
    let alphabet = alphabet();
    let bytes_of = |piece: &str| piece.chars().map(|c| alphabet.get(&c).copied()).collect::<Option<Vec<u8>>>();
    for (rank, merge) in (0..).zip(merges) {
        let (first, second) = merge.pair()?;
        let joined = bytes_of(first).zip(bytes_of(second)).map(|(first, second)| [first, second].concat());
        let joined = joined.ok_or_else(|| format!("merges {first:?} and {second:?}, which are no bytes"))?;
        // A piece that several pairs make has the rank of the first of them.
        parts.ranks.entry(joined).or_insert(rank);
    }
    Ok(Read::Bytes(parts))
}

/// A step, or a sequence of them.
pub(super) fn steps_of<'a>(step: Option<&'a Json>, members: &str) -> &'a [Json] {
    let single = step.filter(|step| !step.is_null()).map(std::slice::from_ref).unwrap_or_default();
    step.and_then(|step| step[members].as_array()).map_or(single, Vec::as_slice)
}

fn is_byte_level(cutter: Option<&Json>) -> bool {
    steps_of(cutter, "pretokenizers").iter().any(|cutter| cutter["type"] == "ByteLevel")
}

/// The cutters before the merges of bytes, in order.
fn cutting(cutter: Option<&Json>, into: &mut Parts) -> Result<(), String> {
    for cutter in steps_of(cutter, "pretokenizers") {
        match cutter["type"].as_str().unwrap_or("unnamed") {
            "ByteLevel" => {
                if cutter["use_regex"].as_bool().unwrap_or(true) {
                    into.patterns.push(WORDS.into());
                }
            }
            "Digits" => {
                let by_one = cutter["individual_digits"].as_bool().unwrap_or(false);
                into.patterns.push(if by_one { r"\p{N}".into() } else { r"\p{N}+".into() });
            }
            "Split" if cutter["behavior"] == "Isolated" && cutter["invert"].as_bool() != Some(true) => {
                let pattern = &cutter["pattern"];
                let literal = || pattern["String"].as_str().map(|text| fancy_regex::escape(text).into_owned());
                let pattern = pattern["Regex"].as_str().map(str::to_owned).or_else(literal);
                into.patterns.push(pattern.ok_or("has a Split without a pattern")?);
            }
            other => return Err(format!("cuts words by {other} in a way that isn't known here")),
        }
    }
    Ok(())
}

/// Whether characters are composed first; nothing else is known.
fn composing(normalizer: Option<&Json>) -> Result<bool, String> {
    let Some(normalizer) = normalizer.filter(|normalizer| !normalizer.is_null()) else { return Ok(false) };
    let single = std::slice::from_ref(normalizer);
    let steps = normalizer["normalizers"].as_array().map_or(single, Vec::as_slice);
    match steps.iter().find(|step| step["type"] != "NFC") {
        None => Ok(!steps.is_empty()),
        Some(other) => Err(format!("changes texts by {} before they are cut", other["type"])),
    }
}

/// Byte-level files write each byte as a character that can be seen: those that can't are written from U+0100 on.
fn alphabet() -> FxHashMap<char, u8> {
    let seen = |byte: &u8| matches!(byte, 0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF);
    let unseen = (0x100..).zip((0..=u8::MAX).filter(|byte| !seen(byte)));
    let unseen = unseen.filter_map(|(code, byte)| Some((char::from_u32(code)?, byte)));
    (0..=u8::MAX).filter(seen).map(|byte| (char::from(byte), byte)).chain(unseen).collect()
}

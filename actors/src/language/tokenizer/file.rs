//! A model's tokenizer out of its file.

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fancy_regex::Regex;
use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde_json::Value as Json;

use super::Tokenizer;

/// What can be read, for errors.
const SUPPORTED: &str = "expected is the model's tokenizer.json with byte-level BPE (as of Llama 3, Qwen, GPT, Mistral Nemo), \
                         or a .tiktoken file of ranks; without llm.tokenizer_file tokens are estimated";

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
    let Parts { ranks, patterns, composes } = read.map_err(bad)?;
    let patterns = patterns
        .iter()
        .map(|pattern| Regex::new(pattern).map_err(|error| bad(format!("has a pattern that can't be read: {error}"))))
        .collect::<Result<_, _>>()?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(Tokenizer { name: format!("{name} ({} merges)", ranks.len()), ranks, patterns, composes })
}

/// What a file says.
#[derive(Default)]
struct Parts {
    ranks: FxHashMap<Vec<u8>, u32>,
    patterns: Vec<String>,
    composes: bool,
}

/// `BASE64 RANK` a line. The way of cutting isn't in it; it is known by how many ranks there are.
fn of_ranks(bytes: &[u8]) -> Result<Parts, String> {
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
    Ok(Parts { ranks, patterns: vec![words.into()], composes: false })
}

#[derive(Deserialize)]
struct Written {
    normalizer: Option<Json>,
    pre_tokenizer: Option<Json>,
    model: Model,
}

#[derive(Deserialize)]
struct Model {
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    merges: Vec<Merge>,
    #[serde(default)]
    byte_fallback: bool,
    continuing_subword_prefix: Option<String>,
    end_of_word_suffix: Option<String>,
}

/// Two pieces that become one.
#[derive(Deserialize)]
#[serde(untagged)]
enum Merge {
    Apart([String; 2]),
    /// With a blank between them.
    Joined(String),
}

fn of_json(bytes: &[u8]) -> Result<Parts, String> {
    let written: Written = serde_json::from_slice(bytes).map_err(|error| format!("is no tokenizer.json: {error}"))?;
    let Model { kind, merges, byte_fallback, continuing_subword_prefix, end_of_word_suffix } = written.model;
    let kind = kind.unwrap_or_else(|| "BPE".into());
    let has_marks = [continuing_subword_prefix, end_of_word_suffix].into_iter().flatten().any(|mark| !mark.is_empty());
    if kind != "BPE" || byte_fallback || has_marks {
        let how = if byte_fallback { " with bytes as a last resort (SentencePiece)" } else { "" };
        return Err(format!("has a tokenizer of the kind {kind}{how}, not byte-level BPE"));
    }
    let mut parts = Parts::default();
    cutting(written.pre_tokenizer.as_ref(), &mut parts)?;
    parts.composes = composing(written.normalizer.as_ref())?;
    let alphabet = alphabet();
    let bytes_of = |piece: &str| piece.chars().map(|c| alphabet.get(&c).copied()).collect::<Option<Vec<u8>>>();
    for (rank, merge) in (0..).zip(&merges) {
        let (first, second) = match merge {
            Merge::Apart([first, second]) => (first.as_str(), second.as_str()),
            Merge::Joined(both) => both.split_once(' ').ok_or_else(|| format!("has a merge {both:?} of one piece"))?,
        };
        let joined = bytes_of(first).zip(bytes_of(second)).map(|(first, second)| [first, second].concat());
        let joined = joined.ok_or_else(|| format!("merges {first:?} and {second:?}, which are no bytes"))?;
        // A piece that several pairs make has the rank of the first of them.
        parts.ranks.entry(joined).or_insert(rank);
    }
    if parts.ranks.is_empty() { Err("has no merges".into()) } else { Ok(parts) }
}

/// The cutters before the merges, in order; `ByteLevel` must be among them.
fn cutting(cutter: Option<&Json>, into: &mut Parts) -> Result<(), String> {
    let mut is_byte_level = false;
    let single = cutter.map(std::slice::from_ref).unwrap_or_default();
    let cutters = cutter.and_then(|cutter| cutter["pretokenizers"].as_array()).map_or(single, Vec::as_slice);
    for cutter in cutters {
        match cutter["type"].as_str().unwrap_or("unnamed") {
            "ByteLevel" => {
                is_byte_level = true;
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
    if is_byte_level { Ok(()) } else { Err("has BPE that isn't byte-level".into()) }
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

//! Files of which words are spelt by pieces of text: what they say of changes, cuts and pieces.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fancy_regex::Regex;
use serde_json::Value as Json;

use super::Spelling;
use super::charsmap::Charsmap;
use super::file::{Model, steps_of};
use super::preparing::{Cutter, Metaspace, Preparing, Prepends, Step};
use super::sentence::Pieces;
use super::unigram::Unigram;
use super::word_piece::WordPiece;

/// What BERT takes for words: single marks, and what stands between marks and blanks.
const BERT_WORDS: &str = r"[\p{P}!-/:-@\[-`{-~]|[^\s\p{P}!-/:-@\[-`{-~]+";
/// Signs without a shape that BERT drops, and its Chinese characters.
const BERT_DROPS: &str = r"[\p{C}\x{FFFD}&&[^\t\n\r]]";
const BERT_CHINESE: &str = r"[\x{4E00}-\x{9FFF}\x{3400}-\x{4DBF}\x{20000}-\x{2A6DF}\x{2A700}-\x{2B73F}\x{2B740}-\x{2B81F}\x{2B920}-\x{2CEAF}\x{F900}-\x{FAFF}\x{2F800}-\x{2FA1F}]";
/// Characters of a word, where a file of WordPiece doesn't say.
const WORD_MAX: usize = 100;

pub(super) fn spelling(kind: &str, model: &Model) -> Result<Spelling, String> {
    match kind {
        "BPE" if !model.has_marks() => merges(model).map(Spelling::Merges),
        "Unigram" => unigram(model).map(Spelling::Unigram),
        "WordPiece" => word_piece(model).map(Spelling::WordPiece),
        other => Err(format!("has a tokenizer of the kind {other}, which isn't read")),
    }
}

/// SentencePiece's merges of characters.
fn merges(model: &Model) -> Result<Pieces, String> {
    let Model { vocab, merges, byte_fallback, fuse_unk, .. } = model;
    if merges.is_empty() {
        return Err("has no merges".into());
    }
    let vocab = vocab.as_object().ok_or("has no vocabulary")?;
    let number = |piece: &str| vocab.get(piece).and_then(Json::as_u64).and_then(|number| u32::try_from(number).ok());
    let mut pieces = Pieces { fuses_unknown: *fuse_unk, ..Pieces::default() };
    for piece in vocab.keys() {
        let mut letters = piece.chars();
        if let (Some(c), None, Some(number)) = (letters.next(), letters.next(), number(piece)) {
            pieces.characters.insert(c, number);
        }
    }
    if *byte_fallback {
        let all: Option<Vec<u32>> = (0..=u8::MAX).map(|byte| number(&format!("<0x{byte:02X}>"))).collect();
        pieces.bytes = all.and_then(|all| <Box<[u32; 256]>>::try_from(all.into_boxed_slice()).ok());
    }
    for (rank, merge) in (0..).zip(merges) {
        let (first, second) = merge.pair()?;
        let whole = number(first).zip(number(second)).zip(number(&format!("{first}{second}")));
        let ((first, second), made) =
            whole.ok_or_else(|| format!("merges {first:?} and {second:?}, which it lacks"))?;
        pieces.merges.entry((first, second)).or_insert((rank, made));
    }
    Ok(pieces)
}

fn unigram(model: &Model) -> Result<Unigram, String> {
    let list = model.vocab.as_array().filter(|list| !list.is_empty()).ok_or("has no vocabulary")?;
    let piece = |entry: &Json| Some((entry[0].as_str()?.to_owned(), entry[1].as_f64()?));
    let pieces = list.iter().map(|entry| piece(entry).ok_or_else(|| format!("has a piece {entry} without its score")));
    Ok(Unigram::new(pieces.collect::<Result<Vec<_>, _>>()?.into_iter(), model.byte_fallback))
}

fn word_piece(model: &Model) -> Result<WordPiece, String> {
    let vocab = model.vocab.as_object().filter(|vocab| !vocab.is_empty()).ok_or("has no vocabulary")?;
    Ok(WordPiece {
        pieces: vocab.keys().cloned().collect(),
        inner: model.continuing_subword_prefix.clone().unwrap_or_else(|| "##".into()),
        longest: model.max_input_chars_per_word.unwrap_or(WORD_MAX),
    })
}

pub(super) fn preparing(normalizer: Option<&Json>, cutter: Option<&Json>) -> Result<Preparing, String> {
    let mut steps = Vec::new();
    for step in steps_of(normalizer, "normalizers") {
        steps.extend(changes(step)?);
    }
    let has_no_blanks = steps.iter().any(|step| matches!(step, Step::Replace(what, _) if what == " "));
    let mut cutters = Vec::new();
    for cutter in steps_of(cutter, "pretokenizers") {
        cutters.extend(cuts(cutter, has_no_blanks)?);
    }
    Ok(Preparing { steps, cutters })
}

fn pattern(pattern: &str) -> Result<Regex, String> {
    Regex::new(pattern).map_err(|error| format!("has a pattern that can't be read: {error}"))
}

/// What a change of the file comes to.
fn changes(step: &Json) -> Result<Vec<Step>, String> {
    let kind = step["type"].as_str().unwrap_or("unnamed");
    let text = |value: &Json| value.as_str().map(str::to_owned);
    let is = |member: &str, default: bool| step[member].as_bool().unwrap_or(default);
    let drops = |what: &str| pattern(what).map(|what| Step::ReplaceMatches(what, String::new()));
    let known = match kind {
        "Prepend" => text(&step["prepend"]).map(|prefix| vec![Step::Prepend(prefix)]),
        "Replace" => {
            match (text(&step["pattern"]["String"]), text(&step["pattern"]["Regex"]), text(&step["content"])) {
                (Some(what), _, Some(with)) => Some(vec![Step::Replace(what, with)]),
                // `$` begins a group's name where it isn't doubled.
                (_, Some(what), Some(with)) => {
                    Some(vec![Step::ReplaceMatches(pattern(&what)?, with.replace('$', "$$"))])
                }
                _ => None,
            }
        }
        "NFC" => Some(vec![Step::Compose]),
        "NFKC" => Some(vec![Step::ComposeCompatible]),
        "NFD" => Some(vec![Step::Decompose]),
        "NFKD" => Some(vec![Step::DecomposeCompatible]),
        "Lowercase" => Some(vec![Step::Lowercase]),
        "StripAccents" => Some(vec![drops(r"\p{M}+")?]),
        "Strip" => {
            let sides = [(is("strip_left", true), r"^\s+"), (is("strip_right", true), r"\s+\z")];
            let sides = sides.into_iter().filter(|(strips, _)| *strips);
            Some(sides.map(|(_, side)| drops(side)).collect::<Result<_, _>>()?)
        }
        "Precompiled" => {
            let bytes = step["precompiled_charsmap"].as_str().and_then(|map| STANDARD.decode(map).ok());
            bytes.and_then(|bytes| Charsmap::read(&bytes)).map(|map| vec![Step::Charsmap(map)])
        }
        "BertNormalizer" => {
            let lowers = is("lowercase", true);
            let mut steps = Vec::new();
            if is("clean_text", true) {
                steps.extend([drops(BERT_DROPS)?, Step::ReplaceMatches(pattern(r"\s")?, " ".into())]);
            }
            if is("handle_chinese_chars", true) {
                steps.push(Step::ReplaceMatches(pattern(BERT_CHINESE)?, " $0 ".into()));
            }
            if is("strip_accents", lowers) {
                steps.extend([Step::Decompose, drops(r"\p{Mn}+")?]);
            }
            steps.extend(lowers.then_some(Step::Lowercase));
            Some(steps)
        }
        _ => None,
    };
    known.ok_or_else(|| format!("changes texts by {kind} in a way that isn't known here"))
}

/// What a cut of the file comes to; none where the whole text is looked up at once.
fn cuts(cutter: &Json, has_no_blanks: bool) -> Result<Option<Cutter>, String> {
    let words = |words: &str| pattern(words).map(|words| Some(Cutter::Words(words)));
    match cutter["type"].as_str().unwrap_or("unnamed") {
        // Gemma's: of blanks, which are none any more.
        "Split" if cutter["pattern"]["String"] == " " && has_no_blanks => Ok(None),
        "Metaspace" => {
            let prepends = match (cutter["prepend_scheme"].as_str(), cutter["add_prefix_space"].as_bool()) {
                (Some("never"), _) | (None, Some(false)) => Prepends::Never,
                (Some("first"), _) => Prepends::First,
                _ => Prepends::Always,
            };
            let mark = cutter["replacement"].as_str().and_then(|mark| mark.chars().next()).unwrap_or('\u{2581}');
            let splits = cutter["split"].as_bool().unwrap_or(true);
            Ok(Some(Cutter::Metaspace(Metaspace { mark, prepends, splits })))
        }
        "WhitespaceSplit" => words(r"\S+"),
        "Whitespace" => words(r"\w+|[^\w\s]+"),
        "BertPreTokenizer" => words(BERT_WORDS),
        other => Err(format!("cuts words by {other} in a way that isn't known here")),
    }
}

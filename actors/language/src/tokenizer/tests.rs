use std::fmt::Write as _;

use super::*;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Made over this project's own texts, and its counts below told, by Hugging Face's `tokenizers` 0.23.
const SMALL: &str = include_str!("small.json");

fn read(content: &str) -> Result<Tokenizer, BadTokenizer> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("tokenizer.json");
    std::fs::write(&file, content).expect("written");
    Tokenizer::open(&file)
}

fn texts() -> [String; 8] {
    [
        String::new(),
        "The quick brown fox jumps over the lazy dog.".into(),
        "Grüße, 東京! \u{1F680} nai\u{308}ve cafe\u{301}".into(),
        r#"{"tool_name": "respond", "params": {"message": "hi", "n": 12345}}"#.into(),
        "fn main() {\n\n\t  let x = 0;   \n}\r\n\r\ndon't WE'LL".into(),
        "- 2026-01-05T09:00:00Z (anna): \"the tide table hangs in the kitchen\"\n".repeat(3),
        "a".repeat(600),
        format!("{}x", " ".repeat(40)),
    ]
}

#[test]
fn a_tokenizer_json_counts_as_the_library_of_its_format_does() {
    let tokenizer = read(SMALL).expect("a tokenizer");
    assert_eq!(texts().map(|text| tokenizer.count(&text)), [0, 23, 31, 41, 34, 132, 600, 6]);
    assert_eq!(tokenizer.name, "tokenizer.json (643 merges)");
    // Digits alone, and the cutting that byte-level files leave unsaid; merges as one text each, as older files have them.
    let mut older: serde_json::Value = serde_json::from_str(SMALL).expect("JSON");
    older["pre_tokenizer"] = serde_json::json!({"type": "Sequence", "pretokenizers": [
        {"type": "Digits", "individual_digits": true}, {"type": "ByteLevel", "add_prefix_space": false}
    ]});
    older["normalizer"] = serde_json::Value::Null;
    for merge in older["model"]["merges"].as_array_mut().expect("merges") {
        *merge = format!("{} {}", merge[0].as_str().expect("a piece"), merge[1].as_str().expect("another")).into();
    }
    let tokenizer = read(&older.to_string()).expect("a tokenizer");
    assert_eq!(texts().map(|text| tokenizer.count(&text)), [0, 23, 32, 41, 34, 132, 600, 6]);
}

#[test]
fn a_file_of_ranks_counts_as_openai_does() {
    let theirs = tiktoken_rs::cl100k_base_singleton();
    let mut file = String::new();
    for rank in 0..100_256 {
        let piece = theirs.decode_bytes(&[rank]).expect("a piece of each rank");
        writeln!(file, "{} {rank}", STANDARD.encode(piece)).expect("written");
    }
    let ours = read(&file).expect("ranks");
    let prose = include_str!("../../../../README.md");
    for text in texts().iter().map(String::as_str).chain([prose]) {
        assert_eq!(ours.count(text), theirs.count_ordinary(text), "{text}");
    }
}

#[test]
fn a_long_piece_costs_at_most_one_more_for_each_part_of_it() {
    let tokenizer = read(SMALL).expect("a tokenizer");
    let run = "=".repeat(10_000);
    let Way::Bytes(ranks) = &tokenizer.way else { panic!("it is of bytes") };
    let whole = byte_pair_split(run.as_bytes(), &ranks.ranks).len();
    let counted = tokenizer.count(&run);
    assert!((whole..=whole + 10_000 / PIECE_MAX + 1).contains(&counted), "{counted} for {whole}");
}

#[test]
fn what_cannot_be_counted_by_is_named_with_what_was_expected() {
    let changed = |from: &str, to: &str| SMALL.replacen(from, to, 1);
    for (content, why) in [
        ("{", "is no tokenizer.json"),
        ("not a rank", "no piece in base64 with its rank in line 1"),
        ("YQ== 0\nYg== 1\n", "has 2 ranks"),
        (&changed(r#""type":"BPE""#, r#""type":"WordLevel""#), "of the kind WordLevel"),
        (&changed(r#""type":"BPE""#, r#""type":"Unigram""#), "has no vocabulary"),
        (&changed(r#""type":"BPE""#, r#""type":"WordPiece""#), "cuts words by"),
        (&changed(r#""type":"ByteLevel""#, r#""type":"UnicodeScripts""#), "isn't known here"),
        (&changed(r#""type":"NFC""#, r#""type":"Lowercase""#), "by \"Lowercase\""),
        (&changed(r#""behavior":"Isolated""#, r#""behavior":"Removed""#), "by Split"),
        (&changed(r"(?!\\S)", r"(?!\\S"), "has a pattern that can't be read"),
    ] {
        let told = read(content).expect_err(why).to_string();
        assert!(told.contains(why) && told.contains("tokenizer.json") && told.contains("estimated"), "{told}");
    }
    let missing = Tokenizer::open(Path::new("/nowhere/tokenizer.json")).expect_err("no file").to_string();
    assert!(missing.starts_with("/nowhere/tokenizer.json can't be read"), "{missing}");
}

/// Made, and counted, by Hugging Face's `tokenizers` 0.23 over texts of this project's own and of sixteen languages.
const SENTENCE: &str = include_str!("sentence.json");
const SENTENCE_COUNTS: &str = include_str!("sentence_counts.json");

#[test]
fn sentence_pieces_are_counted_as_the_library_of_their_format_does() {
    let told: serde_json::Value = serde_json::from_str(SENTENCE_COUNTS).expect("JSON");
    let texts = told["texts"].as_array().expect("texts");
    for (way, how) in told["ways"].as_object().expect("ways") {
        let mut file: serde_json::Value = serde_json::from_str(SENTENCE).expect("JSON");
        (file["normalizer"], file["pre_tokenizer"]) = (how["normalizer"].clone(), how["pre_tokenizer"].clone());
        file["model"]["byte_fallback"] = how["byte_fallback"].clone();
        file["model"]["fuse_unk"] = how["fuse_unk"].clone();
        let tokenizer = read(&file.to_string()).expect("a tokenizer");
        for (text, count) in texts.iter().zip(how["counts"].as_array().expect("counts")) {
            let text = text.as_str().expect("a text");
            assert_eq!(Some(tokenizer.count(text) as u64), count.as_u64(), "{way}: {text:?}");
        }
    }
    assert!(texts.len() >= 300, "{}", texts.len());
}

/// Made, and counted, by the same library over the same texts.
const UNIGRAM: &str = include_str!("unigram.json");
const WORD_PIECE: &str = include_str!("wordpiece.json");
const WORD_COUNTS: &str = include_str!("word_counts.json");

#[test]
fn unigrams_and_word_pieces_are_counted_as_the_library_of_their_format_does() {
    let texts: serde_json::Value = serde_json::from_str(SENTENCE_COUNTS).expect("JSON");
    let texts = texts["texts"].as_array().expect("texts");
    let told: serde_json::Value = serde_json::from_str(WORD_COUNTS).expect("JSON");
    for (kind, written) in [("unigram", UNIGRAM), ("wordpiece", WORD_PIECE)] {
        for (way, how) in told[kind].as_object().expect("ways") {
            let mut file: serde_json::Value = serde_json::from_str(written).expect("JSON");
            (file["normalizer"], file["pre_tokenizer"]) = (how["normalizer"].clone(), how["pre_tokenizer"].clone());
            if how["byte_fallback"] == true {
                file["model"]["byte_fallback"] = true.into();
                let bytes = (0..=255)
                    .map(|byte| serde_json::json!([format!("<0x{byte:02X}>"), -20.0 - f64::from(byte) / 100.0]));
                file["model"]["vocab"].as_array_mut().expect("pieces").extend(bytes);
            }
            let tokenizer = read(&file.to_string()).expect("a tokenizer");
            for (text, count) in texts.iter().zip(how["counts"].as_array().expect("counts")) {
                let text = text.as_str().expect("a text");
                assert_eq!(Some(tokenizer.count(text) as u64), count.as_u64(), "{kind} {way}: {text:?}");
            }
        }
    }
}

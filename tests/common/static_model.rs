//! A tiny static text encoder in the layout of Model2Vec.

use std::path::Path;

use serde_json::{Value, json};

pub const CONFIG: &str = r#"{"model_type":"model2vec","normalize":true}"#;

/// Writes tokenizer and table: whole words with their vectors; any other word has none.
pub fn write(folder: &Path, config: &str, words: &[(&str, [f32; 3])]) {
    let pieces = || [("[UNK]", [0.0; 3])].into_iter().chain(words.iter().copied());
    let vocabulary: serde_json::Map<String, Value> =
        pieces().enumerate().map(|(number, (piece, _))| (piece.to_owned(), json!(number))).collect();
    let tokenizer = json!({
        "normalizer": { "type": "BertNormalizer", "lowercase": true },
        "model": { "type": "WordPiece", "unk_token": "[UNK]", "vocab": vocabulary },
    });
    let rows = words.len() + 1;
    let table = json!({ "dtype": "F32", "shape": [rows, 3], "data_offsets": [0, rows * 12] });
    let head = json!({ "embeddings": table }).to_string();
    let mut model = (head.len() as u64).to_le_bytes().to_vec();
    model.extend(head.as_bytes());
    pieces().for_each(|(_, row)| row.iter().for_each(|number| model.extend(number.to_le_bytes())));
    std::fs::create_dir_all(folder).expect("a folder");
    let put = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).expect("written");
    put("config.json", config.as_bytes());
    put("tokenizer.json", tokenizer.to_string().as_bytes());
    put("model.safetensors", &model);
}

//! Keeps the documents true to the code: generated references must equal it, and names in documents must exist.

use std::fs;
use std::path::Path;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
/// Where the guide's pages are.
const PAGES: &str = "deploy/guide/src";

/// Compares a page with the present code. With `UPDATE_GUIDE` set it first writes the page.
pub(crate) fn holds(page: &str, text: &str) {
    let file = Path::new(ROOT).join(PAGES).join(page);
    if std::env::var_os("UPDATE_GUIDE").is_some() {
        fs::write(&file, text).expect("the page is written");
    }
    let written = fs::read_to_string(&file).unwrap_or_default();
    assert!(written == text, "{PAGES}/{page} is old: run this test with UPDATE_GUIDE=1");
}

/// A text as one cell of a table.
pub(crate) fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|").replace('<', "&lt;")
}

/// The pieces of code in the documents for users, each with its file: spans between backticks, and lines of blocks.
pub(crate) fn code() -> Vec<(String, String)> {
    let mut files = vec!["README.md".to_owned(), "SECURITY.md".to_owned()];
    let mut folders = vec![PAGES.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(Path::new(ROOT).join(&folder)).expect("the folder is read").flatten() {
            let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
            if entry.path().is_dir() { folders.push(name) } else { files.push(name) }
        }
    }
    let mut pieces = Vec::new();
    for file in files.into_iter().filter(|file| file.ends_with(".md")) {
        let text = fs::read_to_string(Path::new(ROOT).join(&file)).expect("the document is read");
        let mut in_block = false;
        for line in text.lines() {
            if line.trim_start().starts_with("```") {
                in_block = !in_block;
            } else if in_block || line.starts_with("    ") {
                pieces.push((file.clone(), line.trim().to_owned()));
            } else {
                pieces.extend(line.split('`').skip(1).step_by(2).map(|span| (file.clone(), span.to_owned())));
            }
        }
    }
    pieces
}

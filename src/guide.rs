//! Keeps the guide's generated references equal to the code that they describe.

use std::path::Path;

/// Where the guide's pages are.
const PAGES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/guide/src");

/// Compares a page with what the code says now. With `UPDATE_GUIDE` set it writes the page first.
pub(crate) fn holds(page: &str, text: &str) {
    let file = Path::new(PAGES).join(page);
    if std::env::var_os("UPDATE_GUIDE").is_some() {
        std::fs::write(&file, text).expect("the page is written");
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(written == text, "deploy/guide/src/{page} is old: run this test with UPDATE_GUIDE=1");
}

/// A text as one cell of a table.
pub(crate) fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|").replace('<', "&lt;")
}

//! ARCHITECTURE.md names places and tests that exist.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The words between backticks, line by line, without code blocks.
fn quoted(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let prose = text.split("```").step_by(2).flat_map(str::lines);
    prose.map(|line| line.split('`').skip(1).step_by(2).collect())
}

/// A path from the root, or from a stage's name: `gate/autonomy` means `actors/gate/src/autonomy`.
fn found(place: &str) -> Option<PathBuf> {
    let (stage, inside) = place.split_once('/').unwrap_or((place, ""));
    let of_stage = root().join("actors").join(stage).join("src").join(inside);
    [root().join(place), of_stage].into_iter().find(|path| path.exists())
}

/// A path with a slash, or a Rust file in the folder of the path before it.
fn place_of(word: &str, folder: Option<&Path>) -> Option<PathBuf> {
    if word.contains('/') { found(word) } else { folder.map(|folder| folder.join(word)).filter(|path| path.exists()) }
}

/// The document's wrong statements. `PLACE: NAME` says that the file has a function with this name. A name alone says
/// that the file named before it has the function.
fn faults(text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for words in quoted(text) {
        let mut file: Option<PathBuf> = None;
        for word in words {
            let (place, function) = match word.split_once(": ") {
                Some((place, function)) => (Some(place), Some(function)),
                None if word.contains(".rs") => (Some(word), None),
                // A name alone is a function if its line names files.
                None if word.starts_with(|first: char| first.is_ascii_lowercase())
                    && !word.contains(['/', '.', ' ']) =>
                {
                    (None, file.is_some().then_some(word))
                }
                None => (None, None),
            };
            if let Some(place) = place {
                let folder = file.as_deref().and_then(Path::parent).map(Path::to_owned);
                match place_of(place, folder.as_deref()) {
                    Some(path) => file = Some(path),
                    None => faults.push(format!("{place} isn't there")),
                }
            }
            if let (Some(function), Some(file)) = (function, &file) {
                let code = fs::read_to_string(file).unwrap_or_default();
                if !code.contains(&format!("fn {function}")) {
                    faults.push(format!("{} has no fn {function}", file.display()));
                }
            }
        }
    }
    faults
}

#[test]
fn every_place_function_and_test_that_it_names_exists() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md is read");
    let faults = faults(&text);
    assert!(faults.is_empty(), "{faults:#?}");
    assert!(text.len() <= 16 * 1024, "it has {} bytes; 16 384 are its most", text.len());
    let named = text.lines().filter(|line| line.contains(".rs: ")).count();
    assert!(named > 25, "only {named} lines name functions");
}

#[test]
fn the_check_sees_a_file_a_function_and_a_test_that_are_missing() {
    let text = "| `region/seat.rs: commit`, `nothing_such` |\n| `region/none.rs: commit` |\n| `perception/gateway.rs: hear` |\n";
    let faults = faults(text);
    assert_eq!(faults.len(), 2, "{faults:?}");
    assert!(faults[0].contains("nothing_such") && faults[1].contains("region/none.rs"), "{faults:?}");
}

//! The documents: their sizes, links, paragraphs and words, and the tests that they name. Reads files alone.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const GUIDE: &str = "deploy/guide/src";

/// Written by tests out of the code, whose words they have.
const GENERATED: &[&str] = &[
    "deploy/guide/src/configuration.md",
    "deploy/guide/src/commands.md",
    "deploy/guide/src/http.md",
    "deploy/bounds.md",
    "actors/WIRING.md",
];

/// The most bytes of a document at the top.
const SIZES: &[(&str, usize)] = &[("README.md", 8 << 10), ("ARCHITECTURE.md", 16 << 10), ("CONTRIBUTING.md", 8 << 10)];
/// The bytes of a page of the guide, least and most.
const PAGE: (usize, usize) = (1 << 10, 8 << 10);
/// The most words of a paragraph.
const PARAGRAPH: usize = 90;

/// Words that make a sentence hard to read, and what to write in their place.
const DIALECT: &[(&str, &str)] = &[
    ("of before", "older, earlier"),
    ("lest", "so that … doesn't"),
    ("whoever", "anybody who, or the noun"),
    ("whosoever", "anybody who"),
    ("whomever", "anybody"),
    ("whom", "the noun"),
    ("as such", "nothing"),
    ("nobody that", "nobody, and then who"),
    ("somebody that", "a person who"),
    ("be it", "also if"),
    ("laid aside", "put aside, suspended"),
    ("lays aside", "suspends"),
    ("surer than not", "with confidence above 0.5"),
    ("by this", "so"),
    ("for who", "for people who"),
    ("to who", "to people who"),
];

struct Document {
    /// From the root on.
    name: String,
    text: String,
}

/// All files below the root with this ending, but for what is built or hidden.
fn files(ending: &str) -> Vec<String> {
    let mut folders = vec![PathBuf::new()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(Path::new(ROOT).join(&folder)).expect("a folder").flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = folder.join(&name);
            if name.starts_with('.') || name.starts_with("target") || name == "node_modules" {
                continue;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
            } else if name.ends_with(ending) {
                found.push(path.to_string_lossy().into_owned());
            }
        }
    }
    found.sort();
    found
}

fn documents() -> Vec<Document> {
    let read = |name: String| Document { text: fs::read_to_string(Path::new(ROOT).join(&name)).expect("text"), name };
    files(".md").into_iter().map(read).collect()
}

/// The lines outside of blocks of code, with their numbers.
fn prose(text: &str) -> Vec<(usize, &str)> {
    let mut in_block = false;
    let mut lines = Vec::new();
    for (place, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if !in_block && !line.starts_with("    ") {
            lines.push((place + 1, line));
        }
    }
    lines
}

/// A line without its spans of code.
fn words_of(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("`")
}

/// How a heading is addressed.
fn slug(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    kept.chars()
        .filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

fn anchors(text: &str) -> BTreeSet<String> {
    let heading = |line: &str| line.starts_with('#').then(|| slug(line.trim_start_matches('#')));
    prose(text).into_iter().filter_map(|(_, line)| heading(line)).collect()
}

/// The targets of the links in a line.
fn links(line: &str) -> Vec<String> {
    let line = words_of(line);
    line.split("](").skip(1).filter_map(|rest| rest.split(')').next()).map(str::to_owned).collect()
}

/// What is wrong with a link from a document, if anything is.
fn broken(from: &str, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let folder = Path::new(from).parent().unwrap_or(Path::new(""));
    let mut path = PathBuf::new();
    for part in folder.join(file).components() {
        match part {
            Component::ParentDir if !path.pop() => return Some("leads out of the project".into()),
            Component::ParentDir | Component::CurDir => {}
            part => path.push(part),
        }
    }
    let path = if file.is_empty() { PathBuf::from(from) } else { path };
    let Ok(meta) = fs::metadata(Path::new(ROOT).join(&path)) else { return Some("isn't there".into()) };
    if anchor.is_empty() || meta.is_dir() {
        return None;
    }
    let text = fs::read_to_string(Path::new(ROOT).join(&path)).ok()?;
    (!anchors(&text).contains(anchor)).then(|| format!("has no heading {anchor:?}"))
}

/// Whether a line belongs to no paragraph, or begins one.
fn is_apart(line: &str) -> bool {
    let line = line.trim_start();
    line.is_empty() || line.starts_with('|') || line.starts_with('#')
}

fn begins(line: &str) -> bool {
    let line = line.trim_start();
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    line.starts_with("- ") || line.starts_with("* ") || (number.len() < line.len() && number.starts_with(". "))
}

/// The first line of each paragraph that is too long, with its words.
fn long_paragraphs(text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let (mut first, mut count, mut last) = (0, 0, 0);
    let mut end = |first: usize, count: usize| {
        if count > PARAGRAPH {
            found.push((first, count));
        }
    };
    for (place, line) in prose(text) {
        if is_apart(line) || begins(line) || place != last + 1 {
            end(first, count);
            (first, count) = (place, 0);
        }
        if !is_apart(line) {
            count += line.split_whitespace().count();
        }
        last = place;
    }
    end(first, count);
    found
}

/// Whether a phrase stands in a text as words of its own.
fn has(text: &str, phrase: &str) -> bool {
    let text = format!(" {} ", text.to_lowercase().replace(|c: char| !c.is_alphanumeric() && c != '\'', " "));
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    format!(" {text} ").contains(&format!(" {phrase} "))
}

/// All faults at once, each in a line of its own.
fn told(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn no_document_is_longer_than_people_read() {
    let mut faults = Vec::new();
    for document in documents() {
        let size = document.text.len();
        if let Some((_, most)) = SIZES.iter().find(|(name, _)| *name == document.name) {
            if size > *most {
                faults.push(format!("{} has {size} bytes; at most {most}", document.name));
            }
        } else if document.name.starts_with(GUIDE) && !GENERATED.contains(&document.name.as_str()) {
            let is_list = document.name.ends_with("/SUMMARY.md") || document.name.ends_with("/promises.md");
            if !is_list && !(PAGE.0..=PAGE.1).contains(&size) {
                faults.push(format!("{} has {size} bytes; from {} to {}", document.name, PAGE.0, PAGE.1));
            }
        }
    }
    told(&faults);
}

#[test]
fn the_readme_says_how_to_run_and_how_to_test() {
    let readme = fs::read_to_string(Path::new(ROOT).join("README.md")).expect("the README");
    let commands: Vec<&str> = readme.lines().filter_map(|line| line.strip_prefix("    cargo ")).collect();
    assert_eq!(commands, ["run --release -- run", "test --workspace --locked"], "tools read them there");
}

#[test]
fn no_link_of_a_document_is_broken() {
    let mut faults = Vec::new();
    let mut followed = 0;
    for document in documents() {
        for (place, line) in prose(&document.text) {
            for target in links(line) {
                followed += 1;
                if let Some(why) = broken(&document.name, &target) {
                    faults.push(format!("{}:{place}: {target} {why}", document.name));
                }
            }
        }
    }
    assert!(followed > 100, "{followed} links were found");
    told(&faults);
}

#[test]
fn every_page_of_the_guide_is_in_its_contents() {
    let contents = fs::read_to_string(Path::new(ROOT).join(GUIDE).join("SUMMARY.md")).expect("the contents");
    let pages: Vec<String> = files(".md").into_iter().filter(|name| name.starts_with(GUIDE)).collect();
    let short = |name: &str| name.trim_start_matches(GUIDE).trim_start_matches('/').to_owned();
    let listed = |name: &&String| !contents.contains(&format!("]({})", short(name))) && !name.ends_with("/SUMMARY.md");
    told(&pages.iter().filter(listed).map(|name| format!("{name} isn't in SUMMARY.md")).collect::<Vec<_>>());
}

#[test]
fn paragraphs_are_short_and_code_stays_on_its_line() {
    let mut faults = Vec::new();
    for document in documents().iter().filter(|document| !GENERATED.contains(&document.name.as_str())) {
        for (place, words) in long_paragraphs(&document.text) {
            faults.push(format!("{}:{place}: a paragraph of {words} words; at most {PARAGRAPH}", document.name));
        }
        for (place, line) in prose(&document.text) {
            if line.matches('`').count() % 2 == 1 {
                faults.push(format!("{}:{place}: a span of code goes over the end of the line", document.name));
            }
        }
    }
    told(&faults);
}

#[test]
fn documents_are_in_plain_words() {
    let mut faults = Vec::new();
    for document in documents().iter().filter(|document| !GENERATED.contains(&document.name.as_str())) {
        for (place, line) in prose(&document.text) {
            let words = words_of(line);
            for (phrase, better) in DIALECT.iter().filter(|(phrase, _)| has(&words, phrase)) {
                faults.push(format!("{}:{place}: {phrase:?}; write: {better}", document.name));
            }
        }
    }
    told(&faults);
}

#[test]
fn every_test_that_proves_a_promise_exists() {
    let promises = fs::read_to_string(Path::new(ROOT).join(GUIDE).join("promises.md")).expect("the promises");
    let mut tests = BTreeSet::new();
    for file in files(".rs") {
        let code = fs::read_to_string(Path::new(ROOT).join(file)).expect("code");
        let name = |rest: &str| rest.split('(').next().unwrap_or_default().trim().to_owned();
        tests.extend(code.split("fn ").skip(1).map(name));
    }
    let mut named = 0;
    let mut faults = Vec::new();
    for (place, line) in prose(&promises).into_iter().filter(|(_, line)| line.starts_with("- ")) {
        for span in line.split('`').skip(1).step_by(2).filter(|span| !span.contains([' ', '=', '.', '/'])) {
            named += 1;
            if !tests.contains(span) {
                faults.push(format!("promises.md:{place}: no test is called {span}"));
            }
        }
    }
    assert!(named > 200, "{named} tests were found");
    told(&faults);
}

#[test]
fn what_checks_the_documents_can_fail() {
    assert!(broken("README.md", "nowhere.md").is_some() && broken("README.md", "SECURITY.md").is_none());
    assert!(broken("README.md", "SECURITY.md#no-such-heading").is_some());
    assert!(broken("README.md", "../outside.md").is_some());
    assert_eq!(slug(" `GET /v1/status`"), "get-v1status");
    assert_eq!(links("see [a](b.md#c) and `[x](y)`"), ["b.md#c"]);
    let long = "word ".repeat(PARAGRAPH + 1);
    assert_eq!(long_paragraphs(&long).len(), 1);
    assert!(long_paragraphs(&format!("- {}\n- {}", "word ".repeat(50), "word ".repeat(50))).is_empty());
    assert!(has("Those of before, as it was.", "of before") && !has("Beforehand it listens.", "lest"));
}

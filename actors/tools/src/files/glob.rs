//! glob: lists files.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use ignore::WalkBuilder;
use maxim_bus::clock::Stopwatch;
use maxim_bus::latch::Permit;
use serde_json::{Value, json};

use super::ignored::heed_above;
use super::{size, text};
use crate::{Access, ErrorKind, Hands, Tool, ToolFailure, ToolOutcome, ToolSpec};

/// Entries visited in one call, at most.
const MOST_ENTRIES: usize = 500_000;

/// Results by default.
const DEFAULT_LIMIT: usize = 200;

/// Kinds of files by the words that people have for them, as patterns. The short word first: "txt" is no slip for "text".
const FILES: [(&str, &str); 14] = [
    ("md|markdown", "*.md"),
    ("txt|text", "*.txt"),
    ("python|py", "*.py"),
    ("rust|rs", "*.rs"),
    ("javascript|js", "*.js"),
    ("typescript|ts", "*.ts"),
    ("json", "*.json"),
    ("shell|bash", "*.sh"),
    ("log", "*.log"),
    ("csv", "*.csv"),
    ("yaml|yml", "*.{yaml,yml}"),
    ("toml", "*.toml"),
    ("html|htm", "*.{html,htm}"),
    ("image|picture|photo", "*.{png,jpg,jpeg,gif,webp}"),
];

/// Finds files and folders by a pattern. Output: `folder`, `entries` (sorted, relative to it, folders with a `/` at the
/// end), `found`, and `cut` in words if something was left out.
pub struct Glob(ToolSpec);

impl Glob {
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        let here = [("pattern", json!("./*"))];
        let spec = ToolSpec::new(
            "glob",
            "Finds files and folders by a pattern such as *.rs, src/**/*.toml or ./*. A pattern without a / is looked for in all folders below; ./* lists one folder. What .gitignore leaves out is left out.",
        )
        .with_parameters(
            json!({
                "pattern": {"type": "string", "minLength": 1, "description": "*, ?, **, [a-z] and {a,b} as in a shell"},
                "path": {"type": "string", "minLength": 1, "default": ".", "description": "the folder to look in"},
                "limit": {"type": "integer", "minimum": 1, "maximum": 5000, "default": DEFAULT_LIMIT, "description": "how many entries at most"},
                "include_ignored": {"type": "boolean", "default": false, "description": "also hidden files and what .gitignore leaves out"},
            }),
            &["pattern"],
        )
        .with_aliases(&[("glob", "pattern"), ("query", "pattern"), ("folder", "path"), ("directory", "path")])
        .with_example(json!({"pattern": "*.md", "path": "docs"}))
        .with_phrase(
            &["list", "show", "show me", "display", "print", "see", "what are", "name"],
            "{verb} [me] [all] [the|your|my] (files|folders|files and folders|directory|folder|directory contents|contents) [here|there|in (this|the current|the working) (folder|directory)]",
            &here,
        )
        .with_phrase(
            &["list", "show", "show me", "display", "print", "see", "what are", "name"],
            "{verb} [me] [all] [the] (files|folders|everything) (in|of|under|inside) [the] [folder|directory] {path:path} [folder|directory]",
            &here,
        )
        .with_phrase(
            &["list", "show", "show me", "display", "print"],
            "{verb} [me] [the] contents of [the] (folder|directory) {path:path}",
            &here,
        )
        .with_phrase(&["ls", "dir", "list"], "{verb} {path:path}", &here)
        .with_phrase(&["ls", "dir"], "{verb}", &here)
        .with_phrase(&[], "[show me|tell me|list] what is (in|inside) (this|the|the current|the working|my) (folder|directory)", &here)
        .with_phrase(&[], "(what|which) (files|folders) (are|do you see|do we have|do i have|exist) [here|there]", &here)
        .with_phrase(&[], "(what|which) (files|folders) are (in|inside|under) [the] [folder|directory] {path:path} [folder|directory]", &here)
        .with_speech(
            &["list", "show", "show me", "find", "find me", "look for", "search for", "locate", "where are", "where is"],
            &[
                "{verb} [all] [the] [files|file] [(called|named|matching|like)] {pattern:path} [files] (in|under|inside) [the] [folder|directory] {path:path} [folder|directory]",
                "{verb} [all] [the] files [(called|named|matching|like)] {pattern:path}",
            ],
        )
        // "Show the file" asks for its content.
        .with_speech(
            &["find", "find me", "look for", "search for", "locate", "where are", "where is"],
            &["{verb} [the|a] file [(called|named|matching|like)] {pattern:path}"],
        )
        .with_speech(
            &[],
            &[
                "(is there|do we have|do you have|do you see|can you see) [a|the|any] (file|folder) [(called|named|matching|like)] {pattern:path}",
                "does [the|a] (file|folder) [(called|named)] {pattern:path} exist",
            ],
        )
        .with_phrase(
            &[],
            "how many (files|folders|files and folders) (are|are there|do we have|do i have|do you see) [here|there|in here|in there|in (this|the|the current|the working|my) (folder|directory)]",
            &here,
        )
        .with_phrase(
            &[],
            "how many (files|folders|files and folders) (are|are there|do we have|do i have|do you see) (in|inside|under) [the] [folder|directory] {path:path} [folder|directory]",
            &here,
        )
        .with_phrase(
            &[],
            "[show me|tell me|list] what is (in|inside) [the|my|our] (folder {path:path}|directory {path:path}|{path:path} folder|{path:path} directory)",
            &here,
        )
        .with_speech(&[], &["(what|which) files (match|are called|are named) {pattern:path}"])
        .with_speech(
            &["find", "find me", "look for", "search for", "locate", "where are", "list", "show", "show me"],
            &["{verb} [all] [the] {pattern:path} files", "{verb} (every|each|any) {pattern:path} file"],
        )
        // Without the word "files" only what is hardly said of anything else: "where is Ann" is no question about files.
        .with_speech(
            &["find", "locate", "glob"],
            &[
                "{verb} {pattern:path} (in|under|inside) [the] [folder|directory] {path:path} [folder|directory]",
                "{verb} {pattern:path}",
            ],
        );
        Self(FILES.iter().fold(spec, |spec, (words, pattern)| {
            let fixed = [("pattern", json!(pattern))];
            let files = format!(
                "[a list of] [all] [of] [the|my|our] ({words}) (files|scripts|sources|documents) [here|there|in here]"
            );
            spec.with_phrase(
                &["list", "show", "show me", "find", "find me", "give me"],
                &format!("{{verb}} {files}"),
                &fixed,
            )
            .with_phrase(&[], &format!("(are there|do we have|which are|what are) [any] {files}"), &fixed)
            .with_phrase(
                &[],
                &format!("(is there|do we have|do you see|can you see) [a|an|any] ({words}) (file|script|document) [here|there|in here]"),
                &fixed,
            )
            .with_phrase(
                &[],
                &format!(
                    "(what|which|how many) ({words}) (files|scripts) (are|are there|do we have|do you see) [there|here]"
                ),
                &fixed,
            )
        }))
    }
}

impl Tool for Glob {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run(&self, params: &Value, _permit: &Permit<'_>, hands: &Hands) -> ToolOutcome {
        find(params, hands).into()
    }
}

struct Found {
    entries: Vec<String>,
    /// Why the search ended early; `None` if it saw everything.
    ended: Option<String>,
}

fn find(params: &Value, hands: &Hands) -> Result<ToolOutcome, ToolFailure> {
    let (folder, pattern) = rooted(text(params, "path"), text(params, "pattern"), hands)?;
    if !folder.is_dir() {
        let message = format!("{} isn't a folder; give a folder as path", folder.display());
        return Err(ToolFailure::new(ErrorKind::NotFound, message));
    }
    let pattern = pattern.as_str();
    let matcher = matcher(pattern)?;
    let all = params["include_ignored"].as_bool().unwrap_or(false);
    // One folder is listed without its subfolders.
    let depth = pattern.strip_prefix("./").filter(|rest| !rest.contains('/') && !rest.contains("**")).map(|_| 1);
    let Found { mut entries, ended } = walk(&folder, &matcher, all, depth, hands);
    entries.sort();
    let found = entries.len();
    let mut room = hands.output_cap;
    let fits = entries.iter().take_while(|entry| {
        let cost = entry.len() + 3;
        let fits = cost <= room;
        room = room.saturating_sub(cost);
        fits
    });
    let shown = fits.take(size(params, "limit", DEFAULT_LIMIT)).count();
    entries.truncate(shown);
    let left_out = (shown < found).then(|| format!("{} more entries are left out; narrow the pattern", found - shown));
    let cut: Vec<String> = left_out.into_iter().chain(ended).collect();
    let mut output = json!({"folder": folder, "entries": entries, "found": found});
    if !cut.is_empty() {
        output["cut"] = cut.join("; ").into();
    }
    Ok(ToolOutcome::done(output))
}

/// The folder to search, and the pattern in it. If the pattern itself names another folder (`/etc/*`, `../*`, a link),
/// that folder is searched, if the mode allows it.
fn rooted(path: &str, pattern: &str, hands: &Hands) -> Result<(PathBuf, String), ToolFailure> {
    let folder = hands.resolve(path, Access::Read)?;
    let plain = |part: &str| !part.contains(['*', '?', '[', '{', '\\']);
    let end = pattern.split_inclusive('/').take_while(|part| part.ends_with('/') && plain(part)).map(str::len).sum();
    let (head, rest) = pattern.split_at(end);
    if head.is_empty() {
        return Ok((folder, pattern.to_owned()));
    }
    let named = folder.join(head);
    let real = hands.resolve(&named.to_string_lossy(), Access::Read)?;
    let is_below = !Path::new(head).is_absolute() && named.components().eq(real.components());
    let rest = if rest.is_empty() { "*" } else { rest };
    Ok(if is_below { (folder, pattern.to_owned()) } else { (real, format!("./{rest}")) })
}

/// A pattern without `/` means any depth, as in .gitignore. `./` at its start means this folder.
fn matcher(pattern: &str) -> Result<GlobMatcher, ToolFailure> {
    let anchored = match pattern.strip_prefix("./") {
        Some(rest) => rest.to_owned(),
        None if pattern.contains('/') => pattern.to_owned(),
        None => format!("**/{pattern}"),
    };
    let glob = GlobBuilder::new(&anchored).literal_separator(true).build().map_err(|error| {
        ToolFailure::new(ErrorKind::InvalidParameters, format!("pattern {pattern}: {}", error.kind()))
    })?;
    Ok(glob.compile_matcher())
}

fn walk(folder: &Path, matcher: &GlobMatcher, all: bool, depth: Option<usize>, hands: &Hands) -> Found {
    let watch = Stopwatch::start();
    let mut walk = WalkBuilder::new(folder);
    // The machine's own ignore files aren't part of the working folder, so they don't apply.
    walk.standard_filters(!all)
        .require_git(false)
        .git_global(false)
        .parents(false)
        .follow_links(false)
        .max_depth(depth);
    if !all {
        heed_above(&mut walk, folder, hands);
    }
    let mut found = Found { entries: Vec::new(), ended: None };
    // An unreadable entry is skipped like a missing one.
    for (count, entry) in walk.build().flatten().enumerate() {
        if count >= MOST_ENTRIES || watch.elapsed() >= hands.deadline {
            found.ended = Some(format!("the search ended after {count} entries; look in a folder below"));
            break;
        }
        let Ok(relative) = entry.path().strip_prefix(folder) else { continue };
        if hands.sandbox.own.is_data(entry.path()) || relative.as_os_str().is_empty() || !matcher.is_match(relative) {
            continue;
        }
        let slash = if entry.file_type().is_some_and(|kind| kind.is_dir()) { "/" } else { "" };
        found.entries.push(format!("{}{slash}", relative.display()));
    }
    found
}

//! search_code: lines that match a regular expression, by ripgrep's crates.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use ignore::WalkBuilder;
use maxim_bus::clock::Stopwatch;
use maxim_bus::latch::Permit;
use serde_json::{Value, json};

use crate::files::ignored::heed_above;
use crate::places::may_hold_secret;
use crate::{Access, ErrorKind, Hands, Tool, ToolFailure, ToolOutcome, ToolSpec};

/// Files looked at in one call.
const MOST_FILES: usize = 200_000;
/// The longest line that is shown, in bytes.
const LINE: usize = 400;
/// Results by default.
const LIMIT: usize = 100;

/// Searches files for a regular expression. Output: `matches` (`path`, `line`, `text`, and `before` and `after` if
/// context is asked for), in the order of paths and lines; `found`, `files` (with a match), `searched` (files), and
/// `cut` in words if something was left out.
pub struct SearchCode(ToolSpec);

impl SearchCode {
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        let spec = ToolSpec::new(
            "search_code",
            "Searches the text of files for a regular expression, line by line. What .gitignore leaves out, hidden and binary files are left out.",
        )
        .with_parameters(
            json!({
                "pattern": {"type": "string", "minLength": 1, "maxLength": 1000, "description": "a regular expression, or plain text with literal"},
                "path": {"type": "string", "minLength": 1, "default": ".", "description": "the folder or file to search"},
                "files": {"type": "string", "minLength": 1, "description": "only files of this pattern, such as *.rs or src/**/*.py"},
                "literal": {"type": "boolean", "default": false, "description": "take the pattern as plain text"},
                "ignore_case": {"type": "boolean", "default": false, "description": "capitals and small letters are alike"},
                "context": {"type": "integer", "minimum": 0, "maximum": 10, "default": 0, "description": "lines shown before and after each match"},
                "limit": {"type": "integer", "minimum": 1, "maximum": 1000, "default": LIMIT, "description": "how many matches at most"},
            }),
            &["pattern"],
        )
        .with_aliases(&[("regex", "pattern"), ("query", "pattern"), ("folder", "path"), ("directory", "path"), ("glob", "files"), ("include", "files")])
        .with_example(json!({"pattern": "fn \\w+_test", "files": "*.rs"}))
        .with_phrase(
            &["search", "grep", "scan", "look through"],
            "{verb} [the] (code|source|sources|source code|files|project|repository|repo) for {pattern:rest}",
            &[("literal", json!(true))],
        )
        .with_phrase(
            &["search for", "look for", "find"],
            "{verb} {pattern:quoted} in [the|all|my] (code|source|sources|source code|project|repository|repo|files)",
            &[("literal", json!(true))],
        )
        .with_phrase(
            &["search", "grep", "scan", "look through"],
            "{verb} [the] [file|folder|directory] {path:path} for {pattern:quoted}",
            &[("literal", json!(true))],
        )
        .with_phrase(&["grep", "grep for"], "{verb} {pattern:quoted} [in] {path:path}", &[])
        .with_phrase(&["grep", "grep for"], "{verb} {pattern:word} in [the] [file|folder|directory] {path:path} [file|folder|directory]", &[])
        .with_phrase(
            &["search for", "look for", "find"],
            "{verb} [the] (word|text|string|phrase) ({pattern:quoted}|{pattern:word}) in [the] [file|folder|directory] {path:path} [file|folder|directory]",
            &[("literal", json!(true))],
        )
        .with_phrase(
            &["search for", "look for", "find"],
            "{verb} [the] (word|text|string|phrase) {pattern:word} in [all] [the|my] (code|source|project|repository|repo|files)",
            &[("literal", json!(true))],
        )
        .with_phrase(
            &["find", "find me", "list", "show", "show me"],
            "{verb} (every|each|any|all|the) [the] (file|files|document|documents) (that|which) (mention|mentions|contain|contains|use|uses|have|has|say|says|include|includes) [the] [text|word|words] {pattern:rest}",
            &[("literal", json!(true))],
        )
        .with_phrase(&["grep", "grep for"], "{verb} {pattern:quoted}", &[])
        .with_phrase(&["grep for"], "{verb} {pattern:rest}", &[("literal", json!(true))])
        .with_phrase(
            &[],
            "where in the (code|source|sources|project|repository|repo) (do|did|does|is|are) [we|you|i|it|they] (use|call|define|mention|import|used|called|defined|mentioned) {pattern:rest}",
            &[("literal", json!(true))],
        )
        .with_phrase(
            &["search for", "look for", "find"],
            "{verb} {pattern:word} in [the|my|our] (code|source|sources|source code|project|repository|repo)",
            &[("literal", json!(true))],
        )
        .with_phrase(
            &[],
            "(where|in which file) (is|are) [the] (function|method|struct|class|type|trait|module|macro|variable|constant) {pattern:word} (defined|declared|implemented|used|called) [in the code|in the project]",
            &[("literal", json!(true))],
        )
        .with_phrase(
            &[],
            "(where|in which file|in which files) (is|are) {pattern:path} (defined|used|mentioned|called) in the code",
            &[("literal", json!(true))],
        )
        .with_phrase(
            &[],
            "(which|what) files (contain|mention|use|have) [the] [text|word|words] {pattern:quoted}",
            &[("literal", json!(true))],
        );
        Self(spec)
    }
}

impl Tool for SearchCode {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run(&self, params: &Value, _permit: &Permit<'_>, hands: &Hands) -> ToolOutcome {
        search(params, hands).into()
    }
}

fn search(params: &Value, hands: &Hands) -> Result<ToolOutcome, ToolFailure> {
    let start = hands.resolve(params["path"].as_str().unwrap_or("."), Access::Read)?;
    if !start.exists() {
        let message = format!("there is no file or folder {}; give an existing one as path", start.display());
        return Err(ToolFailure::new(ErrorKind::NotFound, message));
    }
    let matcher = matcher(params)?;
    let only = params["files"].as_str().map(file_pattern).transpose()?;
    let around = number(params, "context", 0);
    let mut searcher = SearcherBuilder::new()
        .line_number(true)
        .binary_detection(BinaryDetection::quit(0))
        .before_context(around)
        .after_context(around)
        .build();
    let root = if start.is_dir() { start.clone() } else { start.parent().unwrap_or(&start).to_owned() };
    let mut found = Found::new(number(params, "limit", LIMIT), hands.output_cap);
    let watch = Stopwatch::start();
    for path in candidates(&start, &root, only.as_ref(), hands) {
        if found.searched >= MOST_FILES || watch.elapsed() >= hands.deadline {
            found.ended = Some(format!("the search ended after {} files; search a folder below", found.searched));
            break;
        }
        // The gate has judged a named file, but not the files found on the way.
        if path != start && may_hold_secret(&path, &hands.workdir) {
            found.secrets += 1;
            continue;
        }
        found.look_into(&mut searcher, &matcher, &path, &root);
    }
    Ok(ToolOutcome::done(found.told(&root)))
}

fn matcher(params: &Value) -> Result<RegexMatcher, ToolFailure> {
    let pattern = params["pattern"].as_str().unwrap_or_default();
    let flag = |name: &str| params[name].as_bool().unwrap_or(false);
    RegexMatcherBuilder::new()
        .fixed_strings(flag("literal"))
        .case_insensitive(flag("ignore_case"))
        .line_terminator(Some(b'\n'))
        .build(pattern)
        .map_err(|error| {
            let message = format!("pattern {pattern:?} is no regular expression: {error}; or set literal to true");
            ToolFailure::new(ErrorKind::InvalidParameters, message)
        })
}

/// A pattern without `/` means any depth, as in .gitignore.
fn file_pattern(pattern: &str) -> Result<GlobMatcher, ToolFailure> {
    let anchored = if pattern.contains('/') { pattern.to_owned() } else { format!("**/{pattern}") };
    let glob = GlobBuilder::new(anchored.trim_start_matches("./")).literal_separator(true).build();
    glob.map(|glob| glob.compile_matcher())
        .map_err(|error| ToolFailure::new(ErrorKind::InvalidParameters, format!("files {pattern}: {}", error.kind())))
}

/// Files to look into, in the order of their paths.
fn candidates<'a>(
    start: &'a Path,
    root: &'a Path,
    only: Option<&'a GlobMatcher>,
    hands: &Hands,
) -> impl Iterator<Item = PathBuf> + use<'a> {
    let mut walk = WalkBuilder::new(start);
    // The machine's own ignore files aren't part of the working folder, so they don't apply.
    walk.require_git(false).git_global(false).parents(false).follow_links(false).sort_by_file_path(|a, b| a.cmp(b));
    heed_above(&mut walk, start, hands);
    let own = hands.sandbox.own.clone();
    walk.build().flatten().filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file())).filter_map(
        move |entry| {
            let path = entry.into_path();
            let inside = path.strip_prefix(root).unwrap_or(&path);
            (only.is_none_or(|only| only.is_match(inside)) && !own.is_data(&path)).then_some(path)
        },
    )
}

fn number(params: &Value, name: &str, default: usize) -> usize {
    params[name].as_u64().and_then(|value| usize::try_from(value).ok()).unwrap_or(default)
}

struct Found {
    matches: Vec<Value>,
    found: usize,
    files: usize,
    searched: usize,
    unread: usize,
    secrets: usize,
    limit: usize,
    /// Bytes of text that still fit.
    room: usize,
    ended: Option<String>,
}

impl Found {
    fn new(limit: usize, room: usize) -> Self {
        let (matches, ended) = (Vec::new(), None);
        Self { matches, found: 0, files: 0, searched: 0, unread: 0, secrets: 0, limit, room, ended }
    }

    fn look_into(&mut self, searcher: &mut Searcher, matcher: &RegexMatcher, path: &Path, root: &Path) {
        self.searched += 1;
        let shown = path.strip_prefix(root).unwrap_or(path).display().to_string();
        let mut sink = Lines { path: shown, matches: Vec::new(), before: Vec::new() };
        if searcher.search_path(matcher, path, &mut sink).is_err() {
            self.unread += 1;
            return;
        }
        self.files += usize::from(!sink.matches.is_empty());
        self.found += sink.matches.len();
        for found in sink.matches {
            let cost = found.to_string().len();
            if self.matches.len() < self.limit && cost <= self.room {
                self.room -= cost;
                self.matches.push(found);
            } else {
                // What comes later is left out too, so that what is shown is a beginning.
                self.room = 0;
            }
        }
    }

    fn told(self, root: &Path) -> Value {
        let left_out = self.found - self.matches.len();
        let mut cut = Vec::new();
        if left_out > 0 {
            cut.push(format!("{left_out} more matches are left out; narrow the pattern, files or path"));
        }
        if self.unread > 0 {
            cut.push(format!("{} files can't be read", self.unread));
        }
        if self.secrets > 0 {
            cut.push(format!("{} files that may hold credentials are left out; name one as path", self.secrets));
        }
        cut.extend(self.ended);
        let mut output = json!({
            "folder": root,
            "matches": self.matches,
            "found": self.found,
            "files": self.files,
            "searched": self.searched,
        });
        if !cut.is_empty() {
            output["cut"] = cut.join("; ").into();
        }
        output
    }
}

/// Takes the matching lines of one file, with what stands around them.
struct Lines {
    path: String,
    matches: Vec<Value>,
    before: Vec<String>,
}

impl Sink for Lines {
    type Error = std::io::Error;

    fn matched(&mut self, _searcher: &Searcher, line: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        let mut found = json!({"path": self.path, "line": line.line_number(), "text": shown(line.bytes())});
        if !self.before.is_empty() {
            found["before"] = json!(std::mem::take(&mut self.before));
        }
        self.matches.push(found);
        Ok(true)
    }

    fn context(&mut self, _searcher: &Searcher, line: &SinkContext<'_>) -> Result<bool, Self::Error> {
        use grep_searcher::SinkContextKind::{After, Before, Other};
        match line.kind() {
            Before => self.before.push(shown(line.bytes())),
            After => {
                if let Some(last) = self.matches.last_mut() {
                    match &mut last["after"] {
                        Value::Array(after) => after.push(shown(line.bytes()).into()),
                        none => *none = json!([shown(line.bytes())]),
                    }
                }
            }
            Other => {}
        }
        Ok(true)
    }
}

fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let text = text.trim_end_matches(['\n', '\r']);
    match text.len() > LINE {
        true => format!("{}…", &text[..text.floor_char_boundary(LINE)]),
        false => text.to_owned(),
    }
}

//! write_file: writes a whole file, or adds text to its end.

use std::path::Path;

use maxim_bus::latch::Permit;
use serde_json::{Value, json};

use super::place::Place;
use super::{place, read_bytes, reversal, text};
use crate::{Access, EffectClass, FollowUp, Hands, Reversal, SideEffectKind, Tool, ToolFailure, ToolOutcome, ToolSpec};

/// Verbs for writing a text.
const PUTTING: &[&str] = &["put", "pop", "jot", "jot down", "write down", "note down", "stick", "add", "append"];
/// How people ask to add text to a file.
const ADDING: &[(&[&str], &str)] = &[
    (
        PUTTING,
        "{verb} [the|a] [text|words|content|line|note] {content:quoted} (to|into|in|onto|at the end of|to the end of) [a|the|a new|new] [file] [called|named] {path:path}",
    ),
    (
        PUTTING,
        "{verb} the (text|word|line|number) {content:word} (to|into|in|onto|at the end of|to the end of) [a|the|a new] [file] [called|named] {path:path}",
    ),
    (PUTTING, "{verb} {content:word} (to|into|in) [a|the] [file] [called|named] {path:path}"),
    (
        &["add", "append"],
        "{verb} [a|the|another] (line|note|text|sentence) to [the] [end of] [the] [file] {path:path} (saying|that says|reading|with|containing) [the] [text|words] {content:rest}",
    ),
    (
        &["add", "append"],
        "{verb} [a|the|another] [new] (line|note|sentence) (saying|that says|reading) ({content:quoted}|{content:word}) to [the] [end of] [the] [file] {path:path}",
    ),
    (&["take", "make", "leave"], "{verb} a note in [the] [file] {path:path} {content:rest}"),
];

/// Writes a whole file and replaces the old one; with `append` it adds to the end on a new line. Missing folders are
/// created. Output: `path`, `bytes` (of the content), `created`, `appended`.
pub struct WriteFile(ToolSpec);

impl WriteFile {
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        let spec = ToolSpec::new("write_file", "Writes a text file whole, replacing it if it exists, or adds to its end. Makes missing folders.")
            .with_parameters(
                json!({
                    "path": {"type": "string", "minLength": 1, "description": "the file, relative to the working folder"},
                    "content": {"type": "string", "description": "the whole new text, or what is added"},
                    "append": {"type": "boolean", "default": false, "description": "keep what the file holds, and add the content as a new line"},
                }),
                &["path", "content"],
            )
            .with_aliases(&[("file", "path"), ("filename", "path"), ("file_path", "path"), ("text", "content")])
            .with_example(json!({"path": "notes/today.md", "content": "- water the plants\n"}))
            .with_speech(
                &["write", "create", "save", "make", "store"],
                &[
                    "{verb} [me] [a|the|a new|new] file [called|named] {path:path} (with|containing|saying|that says|that contains|holding) [the] [following] [text|content|contents|words] {content:rest}",
                    "{verb} {path:path} (with|containing|saying|that says|that contains) [the] [following] [text|content|contents|words] {content:rest}",
                    "{verb} [the] [text|words|content] {content:quoted} (to|into|in|as|under) [a|the|a new|new] [file] [called|named] {path:path}",
                    "{verb} the (text|word|line|number) {content:word} (to|into|in|as) [a|the|a new] [file] [called|named] {path:path}",
                    "{verb} {content:word} (to|into|in) [a|the] [file] [called|named] {path:path}",
                ],
            )
            .with_speech(
                &["overwrite"],
                &["{verb} [the] [contents of|content of] [the] [file] {path:path} with [the] [following] [text|words] {content:rest}"],
            )
            .with_phrase(
                &["create", "make", "touch"],
                "{verb} [a|an|the] [new] empty file [called|named] {path:path}",
                &[("content", json!(""))],
            );
        // Who says these means no other line of the file.
        let spec = ADDING
            .iter()
            .fold(spec, |spec, (verbs, pattern)| spec.with_phrase(verbs, pattern, &[("append", json!(true))]));
        // Adding a text twice gives it twice.
        Self(ToolSpec { effect: EffectClass::Reversible, idempotent: false, follow_up: FollowUp::Respond, ..spec })
    }
}

impl Tool for WriteFile {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn prepare(&self, params: &Value, hands: &Hands) -> Result<Option<Reversal>, ToolFailure> {
        let path = hands.resolve(text(params, "path"), Access::Write)?;
        reversal::save(&path, hands).map(Some)
    }

    fn run(&self, params: &Value, _permit: &Permit<'_>, hands: &Hands) -> ToolOutcome {
        write(params, hands).into()
    }
}

fn write(params: &Value, hands: &Hands) -> Result<ToolOutcome, ToolFailure> {
    let path = hands.resolve(text(params, "path"), Access::Write)?;
    let content = text(params, "content");
    let place = place::place(&path, true)?;
    let appended = params["append"].as_bool().unwrap_or(false);
    let before = if appended { held(&place, &path)? } else { Vec::new() };
    let created = place.replace(&[&before, content.as_bytes()].concat())?;
    let kind = if created { SideEffectKind::FileCreated } else { SideEffectKind::FileChanged };
    let output = json!({"path": path, "bytes": content.len(), "created": created, "appended": appended && !created});
    let mut outcome = ToolOutcome::done(output);
    for folder in &place.made {
        outcome = outcome.with_effect(SideEffectKind::FolderCreated, folder.display().to_string());
    }
    Ok(outcome.with_effect(kind, path.display().to_string()))
}

/// The file's content up to the end of its last line.
fn held(place: &Place, path: &Path) -> Result<Vec<u8>, ToolFailure> {
    let Some(file) = place.open()? else { return Ok(Vec::new()) };
    let mut bytes = read_bytes(file, path)?;
    if bytes.last().is_some_and(|last| *last != b'\n') {
        bytes.push(b'\n');
    }
    Ok(bytes)
}

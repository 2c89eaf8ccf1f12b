//! read_file: the text of a file, by lines.

use maxim_bus::latch::Permit;
use serde_json::{Value, json};

use super::{read_text, size, text};
use crate::{Access, ErrorKind, Hands, Tool, ToolFailure, ToolOutcome, ToolSpec};

/// Lines returned by default.
const DEFAULT_LINES: usize = 2000;

/// Reads a text file. Output: `path`, `text`, `from` and `to` (lines, 1-based, both included), `lines` (in the file),
/// and `cut` in words if something was left out.
pub struct ReadFile(ToolSpec);

impl ReadFile {
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        let spec = ToolSpec::new("read_file", "Reads a text file, or the lines from `offset` on.")
            .with_parameters(
                json!({
                    "path": {"type": "string", "minLength": 1, "description": "the file, relative to the working folder"},
                    "offset": {"type": "integer", "minimum": 1, "default": 1, "description": "the first line, counted from 1"},
                    "limit": {"type": "integer", "minimum": 1, "maximum": 100_000, "default": DEFAULT_LINES, "description": "how many lines at most"},
                }),
                &["path"],
            )
            .with_aliases(&[("file", "path"), ("filename", "path"), ("file_path", "path")])
            .with_example(json!({"path": "notes/today.md"}))
            .with_speech(
                &["read", "open", "cat", "show", "show me", "display", "print", "view", "type out"],
                &[
                    "{verb} [me] lines {offset:number} (on|onwards) (of|from|in) [the] [file] {path:path}",
                    "{verb} [me] [the] [first] {limit:number} lines (of|from|in) [the] [file] {path:path}",
                    "{verb} [me] [out] [the] (file|contents of|content of|text of|text in|contents of the file) {path:path} [to me|for me|out loud|aloud]",
                    "{verb} {path:path} [to me|for me|out loud|aloud]",
                    "{verb} [me] what [the] [file] {path:path} (says|contains|holds)",
                ],
            )
            .with_speech(&["tell me", "give me"], &["{verb} [the] (contents of|content of|text of) [the] [file] {path:path}"])
            .with_speech(
                &["see", "look at", "have a look at", "take a look at"],
                &["(let me|can i|could i|may i|can we) {verb} [the] [file|contents of] {path:path}", "{verb} [the] file {path:path}"],
            )
            .with_speech(
                &[],
                &[
                    "[show me|tell me|show|let me see] (what is|what's|what does it say) (in|inside|written in) [the] [file] {path:path}",
                    "what does [the] [file] {path:path} (say|contain|hold)",
                ],
            );
        Self(spec)
    }
}

impl Tool for ReadFile {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run(&self, params: &Value, _permit: &Permit<'_>, hands: &Hands) -> ToolOutcome {
        read(params, hands).into()
    }
}

fn read(params: &Value, hands: &Hands) -> Result<ToolOutcome, ToolFailure> {
    let path = hands.resolve(text(params, "path"), Access::Read)?;
    let whole = read_text(&path)?;
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let from = size(params, "offset", 1);
    if from > lines.len().max(1) {
        let message = format!("{} has {} lines; offset {from} is behind its end", path.display(), lines.len());
        return Err(ToolFailure::new(ErrorKind::InvalidParameters, message));
    }
    let asked = lines.iter().skip(from - 1).take(size(params, "limit", DEFAULT_LINES));
    let mut shown = String::new();
    let mut to = from - 1;
    let mut cut = None;
    for line in asked {
        let room = hands.output_cap - shown.len();
        if line.len() > room {
            // A first line that doesn't fit is shown in part. Otherwise a file of one long line could never be seen.
            if shown.is_empty() {
                shown.push_str(&line[..line.floor_char_boundary(room)]);
                to += 1;
                cut = Some(format!("line {to} has {} bytes, of which {} are shown", line.len(), shown.len()));
            }
            break;
        }
        shown.push_str(line);
        to += 1;
    }
    if cut.is_none() && to < lines.len() {
        cut = Some(format!("lines {} to {} are left out; read on with offset {}", to + 1, lines.len(), to + 1));
    }
    let mut output = json!({"path": path, "text": shown, "from": from, "to": to, "lines": lines.len()});
    if let Some(cut) = cut {
        output["cut"] = cut.into();
    }
    Ok(ToolOutcome::done(output))
}

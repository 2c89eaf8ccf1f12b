//! edit_file: replaces text in a file. If the place is ambiguous it refuses.

use maxim_bus::latch::Permit;
use serde_json::{Value, json};

use super::{place, read_text, reversal, size, text};
use crate::{
    Access, EffectClass, ErrorKind, FollowUp, Hands, Reversal, SideEffectKind, Tool, ToolFailure, ToolOutcome, ToolSpec,
};

/// Places named in an error.
const SHOWN_PLACES: usize = 10;

/// Lines compared to find the most similar one if the text isn't found.
const COMPARED_LINES: usize = 20_000;

/// Lines below this similarity aren't suggested (Sørensen–Dice, 0–1).
const LIKENESS: f64 = 0.4;

/// Replaces `old_string` by `new_string`. Output: `path`, `replaced` and `lines` (where, 1-based, before the edit).
pub struct EditFile(ToolSpec);

impl EditFile {
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        let spec = ToolSpec::new(
            "edit_file",
            "Replaces text in a file. The text must stand there exactly `expected_count` times; the context parameters tell equal places apart.",
        )
        .with_parameters(
            json!({
                "path": {"type": "string", "minLength": 1, "description": "the file, relative to the working folder"},
                "old_string": {"type": "string", "minLength": 1, "description": "the text to replace, exactly as it stands"},
                "new_string": {"type": "string", "description": "the text in its place; empty to delete"},
                "expected_count": {"type": "integer", "minimum": 1, "maximum": 100_000, "default": 1, "description": "how many places are replaced"},
                "context_before": {"type": "string", "description": "what stands directly before it; white space between is ignored"},
                "context_after": {"type": "string", "description": "what stands directly after it; white space between is ignored"},
            }),
            &["path", "old_string", "new_string"],
        )
        .with_aliases(&[
            ("file", "path"), ("filename", "path"), ("file_path", "path"), ("old", "old_string"), ("old_text", "old_string"),
            ("old_str", "old_string"), ("find", "old_string"), ("new", "new_string"), ("new_text", "new_string"),
            ("new_str", "new_string"), ("replace", "new_string"), ("count", "expected_count"),
        ])
        .with_example(json!({"path": "src/main.rs", "old_string": "colour", "new_string": "color", "expected_count": 2}))
        .with_speech(
            &["replace", "change", "substitute", "swap", "correct", "turn"],
            &[
                "{verb} [the] [text|word|words] ({old_string:quoted}|{old_string:word}) (with|by|to|into|for) ({new_string:quoted}|{new_string:word}) in [the] [file] {path:path}",
                "in [the] [file] {path:path} {verb} [the] [text|word|words] ({old_string:quoted}|{old_string:word}) (with|by|to|into|for) ({new_string:quoted}|{new_string:word})",
            ],
        )
        .with_phrase(
            &["delete", "remove", "cut", "erase"],
            "{verb} [the] [text|word|words] {old_string:quoted} (from|in|out of) [the] [file] {path:path}",
            &[("new_string", json!(""))],
        );
        Self(ToolSpec { effect: EffectClass::Reversible, idempotent: false, follow_up: FollowUp::Respond, ..spec })
    }
}

impl Tool for EditFile {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn prepare(&self, params: &Value, hands: &Hands) -> Result<Option<Reversal>, ToolFailure> {
        let path = hands.resolve(text(params, "path"), Access::Write)?;
        reversal::save(&path, hands).map(Some)
    }

    fn run(&self, params: &Value, _permit: &Permit<'_>, hands: &Hands) -> ToolOutcome {
        edit(params, hands).into()
    }
}

fn edit(params: &Value, hands: &Hands) -> Result<ToolOutcome, ToolFailure> {
    let path = hands.resolve(text(params, "path"), Access::Write)?;
    let (old, new) = (text(params, "old_string"), text(params, "new_string"));
    if old == new {
        let message = "old_string and new_string are the same: there is nothing to change";
        return Err(ToolFailure::new(ErrorKind::InvalidParameters, message));
    }
    let before = read_text(&path)?;
    let all: Vec<usize> = before.match_indices(old).map(|(at, _)| at).collect();
    let chosen: Vec<usize> = all
        .iter()
        .copied()
        .filter(|&at| {
            stands_between(&before, at, old.len(), text(params, "context_before"), text(params, "context_after"))
        })
        .collect();
    let expected = size(params, "expected_count", 1);
    if chosen.len() != expected {
        return Err(wrong_count(&before, old, &all, &chosen, expected, &path.display().to_string()));
    }
    let after = replaced(&before, &chosen, old.len(), new);
    place::place(&path, false)?.replace(after.as_bytes())?;
    let lines: Vec<usize> = chosen.iter().take(SHOWN_PLACES).map(|&at| line_of(&before, at)).collect();
    let output = json!({"path": path, "replaced": chosen.len(), "lines": lines});
    Ok(ToolOutcome::done(output).with_effect(SideEffectKind::FileChanged, path.display().to_string()))
}

fn stands_between(text: &str, at: usize, len: usize, before: &str, after: &str) -> bool {
    text[..at].trim_end().ends_with(before.trim()) && text[at + len..].trim_start().starts_with(after.trim())
}

fn replaced(text: &str, places: &[usize], len: usize, new: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut done = 0;
    for &at in places {
        result.push_str(&text[done..at]);
        result.push_str(new);
        done = at + len;
    }
    result.push_str(&text[done..]);
    result
}

fn line_of(text: &str, at: usize) -> usize {
    1 + text.as_bytes()[..at].iter().filter(|&&byte| byte == b'\n').count()
}

fn wrong_count(text: &str, old: &str, all: &[usize], chosen: &[usize], expected: usize, path: &str) -> ToolFailure {
    if all.is_empty() {
        let hint = match most_like(text, old) {
            Some((line, found)) => format!("; the most like is line {line}: {found}"),
            None => String::new(),
        };
        return ToolFailure::new(ErrorKind::NotFound, format!("old_string is not in {path}{hint}"));
    }
    let mut places: Vec<String> = all.iter().take(SHOWN_PLACES).map(|&at| line_of(text, at).to_string()).collect();
    if all.len() > SHOWN_PLACES {
        places.push(format!("and {} more", all.len() - SHOWN_PLACES));
    }
    let fit =
        if chosen.len() == all.len() { String::new() } else { format!(", of which {} fit the context", chosen.len()) };
    let message = format!(
        "old_string stands {} times in {path}{fit}, on lines {}; expected {expected}: tell the place apart with context_before or context_after, or set expected_count",
        all.len(),
        places.join(", ")
    );
    ToolFailure::new(ErrorKind::Ambiguous, message)
}

/// The line most similar to the first sought line, with its number.
fn most_like(text: &str, old: &str) -> Option<(usize, String)> {
    let sought = old.lines().map(str::trim).find(|line| !line.is_empty())?;
    text.lines()
        .take(COMPARED_LINES)
        .enumerate()
        .map(|(at, line)| (strsim::sorensen_dice(sought, line.trim()), at + 1, line))
        .filter(|(score, ..)| *score >= LIKENESS)
        // On a tie the first line: max_by keeps the last of equals.
        .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))
        .map(|(_, line, found)| (line, found.chars().take(200).collect()))
}

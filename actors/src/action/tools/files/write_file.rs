//! write_file: a whole file at once.

use maxim_bus::latch::Permit;
use serde_json::{Value, json};

use super::{place, reversal, text};
use crate::action::tools::{
    Access, EffectClass, FollowUp, Hands, Reversal, SideEffectKind, Tool, ToolFailure, ToolOutcome, ToolSpec,
};

/// Writes a file whole, replacing what is there; folders on the way are made. Output: `path`, `bytes`, `created`.
pub struct WriteFile(ToolSpec);

impl WriteFile {
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        let spec = ToolSpec::new("write_file", "Writes a text file whole, replacing it if it exists. Makes missing folders.")
            .with_parameters(
                json!({
                    "path": {"type": "string", "minLength": 1, "description": "the file, relative to the working folder"},
                    "content": {"type": "string", "description": "the whole new text"},
                }),
                &["path", "content"],
            )
            .with_aliases(&[("file", "path"), ("filename", "path"), ("file_path", "path"), ("text", "content")])
            .with_example(json!({"path": "notes/today.md", "content": "- water the plants\n"}))
            .with_speech(
                &["write", "create", "save", "make", "put", "store", "pop", "jot", "jot down", "write down", "note down", "stick"],
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
            .with_speech(&["take", "make", "leave"], &["{verb} a note in [the] [file] {path:path} {content:rest}"])
            .with_phrase(
                &["create", "make", "touch"],
                "{verb} [a|an|the] [new] empty file [called|named] {path:path}",
                &[("content", json!(""))],
            );
        Self(ToolSpec { effect: EffectClass::Reversible, follow_up: FollowUp::Respond, ..spec })
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
    let created = place.replace(content.as_bytes())?;
    let kind = if created { SideEffectKind::FileCreated } else { SideEffectKind::FileChanged };
    let mut outcome = ToolOutcome::done(json!({"path": path, "bytes": content.len(), "created": created}));
    for folder in &place.made {
        outcome = outcome.with_effect(SideEffectKind::FolderCreated, folder.display().to_string());
    }
    Ok(outcome.with_effect(kind, path.display().to_string()))
}

//! git_diff: shows changes.

use maxim_bus::latch::Permit;
use serde_json::{Value, json};

use super::folder;
use super::git::Git;
use super::needs_active;
use crate::{Hands, Mode, Tool, ToolFailure, ToolOutcome, ToolSpec};

/// Untracked files listed, at most.
const UNTRACKED: usize = 100;

/// Shows changes. Output: `files` (`path`, `added`, `removed`; null for a binary file), `diff` (the patch),
/// `untracked`, and `cut` in words if something was left out.
pub struct GitDiff(ToolSpec);

impl GitDiff {
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        let spec = ToolSpec::new(
            "git_diff",
            "Shows what has changed in the git repository of the working folder: files with lines added and removed, and the patch.",
        )
        .with_parameters(
            json!({
                "path": {"type": "string", "minLength": 1, "description": "only this file or folder"},
                "staged": {"type": "boolean", "default": false, "description": "what would be committed, instead of what isn't staged yet"},
                "revision": {"type": "string", "pattern": "^[A-Za-z0-9_@][A-Za-z0-9_./@~^{}-]*$", "maxLength": 200, "description": "compared with this revision, such as HEAD~1 or main..feature"},
                "summary": {"type": "boolean", "default": false, "description": "the files alone, without the patch"},
            }),
            &[],
        )
        .with_aliases(&[("file", "path"), ("cached", "staged"), ("commit", "revision"), ("ref", "revision")])
        .with_example(json!({"path": "src/main.rs", "staged": true}))
        .with_speech(&["show", "show me", "print", "get", "give me"], &["{verb} [me] [the] [git] (diff|changes|uncommitted changes) [of|in|to|for] {path:path}"])
        .with_speech(&["show", "show me", "print", "get", "give me"], &["{verb} [me] [the] [git] (diff|changes|uncommitted changes)", "git diff"])
        .with_phrase(&["show", "show me", "print", "get", "give me"], "{verb} [me] [the] staged (diff|changes)", &[("staged", json!(true))])
        .with_speech(&[], &["what (has|have) changed [in (the|this) (repo|repository|project|code|working folder|working tree)] since [the] [last] commit", "what did (you|i|we) change in the (repo|repository|code)", "what (did|have) (you|i|we) (change|changed) since [the|my|our] [last] commit"])
        .with_speech(&[], &["(diff|compare) (with|against) {revision:word}", "git diff {revision:word}"]);
        Self(ToolSpec { required_mode: Mode::Active, ..spec })
    }
}

impl Tool for GitDiff {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run(&self, params: &Value, permit: &Permit<'_>, hands: &Hands) -> ToolOutcome {
        diff(params, permit, hands).into()
    }
}

fn diff(params: &Value, permit: &Permit<'_>, hands: &Hands) -> Result<ToolOutcome, ToolFailure> {
    needs_active("git_diff", hands)?;
    let folder = folder(".", hands)?;
    let git = Git::open(&folder, hands, permit)?;
    let path = params["path"].as_str().map(|path| hands.resolve(path, crate::Access::Read));
    let path = path.transpose()?.map(|path| path.display().to_string());
    let mut choice = vec!["--no-ext-diff", "--no-textconv"];
    if params["staged"].as_bool().unwrap_or(false) {
        choice.push("--cached");
    }
    if let Some(revision) = params["revision"].as_str() {
        choice.push(revision);
    }
    choice.push("--");
    choice.extend(path.as_deref());
    let with = |first: &[&'static str]| -> Vec<&str> { first.iter().copied().chain(choice.iter().copied()).collect() };
    let counted = git.told(&with(&["diff", "--numstat", "-z", "--no-renames"]))?;
    let files: Vec<Value> = counted.split('\0').filter_map(counts).collect();
    let others = ["ls-files", "--others", "--exclude-standard", "-z", "--"];
    let others: Vec<&str> = others.into_iter().chain(path.as_deref()).collect();
    let mut untracked = git.paths(&others)?;
    let mut cut = Vec::new();
    if untracked.len() > UNTRACKED {
        cut.push(format!("{} more untracked files are left out", untracked.len() - UNTRACKED));
        untracked.truncate(UNTRACKED);
    }
    let mut output = json!({"files": files, "untracked": untracked});
    if !params["summary"].as_bool().unwrap_or(false) {
        let patch = git.ask(&with(&["diff"]))?.stdout;
        if patch.cut > 0 {
            cut.push(format!("{} bytes of the patch are left out; give a path", patch.cut));
        }
        output["diff"] = patch.text.into();
    }
    if !cut.is_empty() {
        output["cut"] = cut.join("; ").into();
    }
    Ok(ToolOutcome::done(output))
}

/// `added<TAB>removed<TAB>path`, with `-` for both of a binary file.
fn counts(line: &str) -> Option<Value> {
    let mut fields = line.splitn(3, '\t');
    let (added, removed, path) = (fields.next()?, fields.next()?, fields.next()?);
    Some(json!({"path": path, "added": added.parse::<u64>().ok(), "removed": removed.parse::<u64>().ok()}))
}

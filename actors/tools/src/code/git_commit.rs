//! git_commit: records changes in the repository's history.

use std::path::Path;

use maxim_bus::latch::Permit;
use serde_json::{Value, json};

use super::git::Git;
use super::{folder, needs_active};
use crate::places::may_hold_secret;
use crate::{
    Access, EffectClass, ErrorKind, FollowUp, Hands, Mode, SideEffectKind, Tool, ToolFailure, ToolOutcome, ToolSpec,
};

/// Files of a commit that are listed.
const LISTED: usize = 100;
/// The author if the repository names none.
const NOBODY: [&str; 4] = ["-c", "user.name=Maxim", "-c", "user.email=maxim@localhost"];

/// Stages what is asked for and commits what is staged. Output: `commit`, `branch`, `author`, `summary`, `files`, and
/// `cut` in words if files were left out of the list.
pub struct GitCommit(ToolSpec);

impl GitCommit {
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        let spec = ToolSpec::new(
            "git_commit",
            "Commits in the git repository of the working folder: what is staged, after staging the given paths or all changes.",
        )
        .with_parameters(
            json!({
                "message": {"type": "string", "minLength": 1, "maxLength": 10_000, "description": "the commit's message; its first line is the summary"},
                "paths": {"type": "array", "items": {"type": "string", "minLength": 1}, "maxItems": 1000, "description": "files or folders to stage first"},
                "all": {"type": "boolean", "default": false, "description": "stage all changes first, new files too"},
            }),
            &["message"],
        )
        .with_aliases(&[("msg", "message"), ("summary", "message"), ("files", "paths"), ("add_all", "all")])
        .with_example(json!({"message": "The lamp answers to its name", "paths": ["src/lamp.rs"]}))
        .with_phrase(
            &["commit", "git commit"],
            "{verb} [(everything|all|all changes|the changes|my changes|it all|this|it)] (with [the] [commit] message|saying|as) {message:rest}",
            &[("all", json!(true))],
        )
        .with_phrase(
            &["commit", "git commit"],
            "{verb} [the] staged changes (with [the] [commit] message|saying|as) {message:rest}",
            &[],
        );
        Self(ToolSpec {
            effect: EffectClass::Irreversible,
            idempotent: false,
            required_mode: Mode::Active,
            follow_up: FollowUp::Respond,
            ..spec
        })
    }
}

impl Tool for GitCommit {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run(&self, params: &Value, permit: &Permit<'_>, hands: &Hands) -> ToolOutcome {
        commit(params, permit, hands).into()
    }
}

fn commit(params: &Value, permit: &Permit<'_>, hands: &Hands) -> Result<ToolOutcome, ToolFailure> {
    needs_active("git_commit", hands)?;
    let folder = folder(".", hands)?;
    let git = Git::open(&folder, hands, permit)?;
    let named = named(params, hands)?;
    let before = git.paths(&["diff", "--cached", "--name-only", "-z", "--no-renames"])?;
    if params["all"].as_bool().unwrap_or(false) {
        git.told(&["add", "--all"])?;
    } else if !named.is_empty() {
        let add: Vec<&str> = ["add", "--"].into_iter().chain(named.iter().map(String::as_str)).collect();
        git.told(&add)?;
    }
    let staged = git.paths(&["diff", "--cached", "--name-only", "-z", "--no-renames"])?;
    if staged.is_empty() {
        let message = "nothing is staged, so there is nothing to commit; give paths, or all: true";
        return Err(ToolFailure::new(ErrorKind::Failed, message));
    }
    let top = git.told(&["rev-parse", "--show-toplevel"])?;
    if let Some(secret) = unasked_secret(&staged, &before, &named, Path::new(top.trim()), hands) {
        git.told(&["reset", "--quiet", "--", &secret])?;
        let message = format!(
            "{secret} may hold a credential and was taken out again, so nothing is committed; name it in paths, or put it into .gitignore"
        );
        return Err(ToolFailure::new(ErrorKind::Refused, message));
    }
    let is_known = !git.ask(&["config", "user.email"])?.stdout.text.trim().is_empty();
    let mut args: Vec<&str> = if is_known { Vec::new() } else { NOBODY.to_vec() };
    args.extend(["commit", "--quiet", "--file=-"]);
    git.told_with(&args, params["message"].as_str().unwrap_or_default())?;
    let written = git.told(&["log", "-1", "--format=%H%x00%an <%ae>%x00%s"])?;
    let mut fields = written.trim().split('\0');
    let mut next = || fields.next().unwrap_or_default().to_owned();
    let (id, author, summary) = (next(), next(), next());
    let branch = git.told(&["rev-parse", "--abbrev-ref", "HEAD"])?;
    let shown: Vec<&String> = staged.iter().take(LISTED).collect();
    let mut output =
        json!({"commit": id, "branch": branch.trim(), "author": author, "summary": summary, "files": shown});
    if staged.len() > LISTED {
        output["cut"] = format!("{} more files are left out of the list", staged.len() - LISTED).into();
    }
    Ok(ToolOutcome::done(output).with_effect(SideEffectKind::ProcessRan, format!("git commit {id}")))
}

/// The paths to stage, each judged before git sees it.
fn named(params: &Value, hands: &Hands) -> Result<Vec<String>, ToolFailure> {
    let given = params["paths"].as_array().into_iter().flatten().filter_map(Value::as_str);
    // git stores the link itself, not its target. So the target's path is judged, and the path is passed as given.
    given.map(|path| hands.resolve(path, Access::Read).map(|_| path.to_owned())).collect()
}

/// A file that was staged with all the others and about which a person would be asked.
fn unasked_secret(staged: &[String], before: &[String], named: &[String], top: &Path, hands: &Hands) -> Option<String> {
    let came = staged.iter().filter(|path| !before.contains(path) && !named.contains(path));
    came.filter(|path| may_hold_secret(&top.join(path), &hands.workdir)).map(|path| top.join(path)).find_map(|path| {
        // A removed file isn't published.
        path.exists().then(|| path.display().to_string())
    })
}

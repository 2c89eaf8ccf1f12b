//! Is it safe. The amygdala's fast path: a tool call is judged before anything can carry it out.
//!
//! This is the deterministic layer, a pure function of the call and the setting (and of the links and files that the paths pass on
//! the way). Its law: what reads and works inside of the working folder is free; what loses work, runs code, installs, or changes
//! another machine is asked; what reads a secret, writes or deletes outside, stays behind, reaches an internal address with the
//! agent's own tool, or opens a back door is blocked, and so is, in every mode, what would
//! change the agent's own configuration or data; what can't be read or isn't known is asked, never passed.
//!
//! ```text
//! judge ─ tool (parameters) ─┬─ shell (parsed program) ─ words (expansion) ─ programs (tables by family)
//!                            │                         └─ reckoned (again)       │
//!                            ├─ code  (other languages)                          │
//!                            └─ effects: read, write, delete, fetch, run  ←──────┘
//!                    paths (where)   kinds (what)   globs (what else)   own (the agent's own?)   urls (public?)   content (encodings, credentials)
//! ```
//!
//! It remembers nothing. If it is down nothing can be executed, because nothing else makes a cleared intent.

mod admission;
mod asks;
mod code;
mod computed;
mod consent;
mod content;
mod doubts;
mod effects;
mod endless;
mod fears;
mod globs;
mod granting;
mod grants;
mod kinds;
mod learned;
mod options;
mod own;
mod paths;
mod programs;
mod reading;
mod reckoned;
mod redirects;
mod refusals;
mod region;
mod review;
mod shape;
mod shell;
mod tables;
mod tool;
mod urls;
mod verdict;
mod walls;
mod words;

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;

pub use asks::{Ask, Touch};
pub use maxim_bus::mode::Mode;
pub use reading::{Checked, Files, check};
pub use region::{ENTRIES, FearAgent, FearSettings, GateEntry};
pub use review::{ReviewPower, ReviewSettings};
pub use verdict::{Category, Judgement, Verdict, layer_of};
pub use walls::Walls;

use crate::action::tools::OwnFiles;

/// A call as the planner proposes it.
#[derive(Debug, Clone, Copy)]
pub struct ToolCall<'a> {
    pub tool: &'a str,
    pub params: &'a serde_json::Value,
}

/// Where the call would happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    pub mode: Mode,
    /// Absolute. Relative paths start here.
    pub workdir: PathBuf,
    /// Absolute. What `~` stands for.
    pub home: PathBuf,
    /// What no tool may change, whatever the mode.
    pub own: Arc<OwnFiles>,
}

/// The deterministic layer's verdict. Never panics, whatever the text; costs well under a millisecond for ordinary calls.
pub fn judge(call: &ToolCall, setting: &Setting) -> Judgement {
    judge_seen(call, setting, None).judgement
}

/// The same with what was read of the files that it would run, and what it would have to read further. Without anything that
/// was read the verdict on what stands in files is provisional.
fn judge_seen(call: &ToolCall, setting: &Setting, seen: Option<&reading::Seen>) -> reading::Judged {
    let mut findings = verdict::Findings::new(setting.mode);
    let mut walker = shell::Walker::new(setting, &mut findings);
    walker.reading = seen.map(reading::Reading::of).unwrap_or_default();
    tool::judge(&mut walker, call);
    let reading::Reading { wanted, used, .. } = std::mem::take(&mut walker.reading);
    let runs = findings.runs;
    reading::Judged { judgement: findings.into_judgement(), wanted, used, runs }
}

/// Why the agent's own HTTP tool may not read this address; none when it is one of the public web.
pub fn unfit_url(url: &str) -> Option<String> {
    match urls::reach(url) {
        urls::Reach::Public => None,
        urls::Reach::Internal(host) | urls::Reach::Metadata(host) => Some(format!("{host} is not a public host")),
        urls::Reach::Odd(why) => Some(why),
    }
}

/// Why a name may not lead to this address; none when it is a public one.
pub fn unfit_address(address: std::net::IpAddr) -> Option<String> {
    (urls::address_reach(address) != urls::Reach::Public).then(|| address.to_string())
}

/// Where a path leads as the kernel would find it, also where the end isn't there.
pub(crate) fn resolved(path: &std::path::Path) -> PathBuf {
    paths::resolve(path)
}

/// Whether what lies at this path, inside the working folder, may be a credential by its name: reading it is asked.
pub fn may_hold_secret(path: &std::path::Path, workdir: &std::path::Path) -> bool {
    let (home, own) = (PathBuf::from("/nonexistent"), Arc::default());
    let setting = Setting { mode: Mode::Active, workdir: workdir.to_owned(), home, own };
    let kind = kinds::kind_of(&setting, &path.to_string_lossy(), path.starts_with(workdir));
    matches!(kind, paths::Kind::Secret | paths::Kind::MaybeSecret)
}

//! Is it safe? The amygdala's fast path: the gate judges a tool call before anything can carry it out.
//!
//! This is the deterministic layer. It is a pure function of the call, the setting, and the links and files on the
//! call's paths. Its law:
//! - Reading and working inside the working folder passes.
//! - What loses work, runs code, installs, or changes another machine is asked about.
//! - What reads a known secret is blocked.
//! - What writes or deletes outside the working folder is blocked; in a temporary folder it is asked about.
//! - What writes a start-up file or sets up a repeating command is blocked.
//! - A connection to an internal address by the agent's own tool, and a back door, are blocked.
//! - What would change the agent's own configuration or data is blocked in every mode.
//! - What can't be read or isn't known is asked about.
//!
//! This is active mode. Passive mode blocks instead of asking. Singularity mode drops the questions about files, code
//! and the network, and the blocks about files; the agent's own files stay protected.
//!
//! ```text
//! judge ─ tool (parameters) ─┬─ shell (parsed program) ─ words (expansion) ─ programs (tables by family)
//!                            │                         └─ reckoned (again)       │
//!                            ├─ code  (other languages)                          │
//!                            └─ effects: read, write, delete, fetch, run  ←──────┘
//!                    paths (where)   kinds (what)   globs (what else)   own (the agent's own?)   urls (public?)   content (encodings, credentials)
//! ```
//!
//! It remembers nothing. If it is down, nothing can be executed, because nothing else makes a cleared intent.

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
mod granting;
mod grants;
mod handover;
mod law;
mod learned;
mod options;
mod own;
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
mod verdict;
mod walls;
mod words;

#[cfg(test)]
mod tests;

use maxim_tools::places::{globs, kinds, paths, urls};

pub use asks::{Ask, Touch};
pub use law::{FearLaw, ModelReview};
pub use maxim_bus::mode::Mode;
pub use maxim_tools::places::Setting;
pub use reading::{Checked, Files, check};
pub use region::{ENTRIES, FearAgent, FearSettings, GateEntry, GateStatus};
pub use review::{ReviewPower, ReviewSettings};
pub use verdict::{Category, Judgement, Verdict, layer_of};
pub use walls::Walls;

/// A call as the planner proposes it.
#[derive(Debug, Clone, Copy)]
pub struct ToolCall<'a> {
    pub tool: &'a str,
    pub params: &'a serde_json::Value,
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

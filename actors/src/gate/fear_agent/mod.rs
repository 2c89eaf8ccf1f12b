//! Is it safe.
pub mod region;
pub use maxim_bus::mode::Mode;
pub use region::{FearAgent, FearSettings};
use std::path::PathBuf;
pub struct ToolCall<'a> {
    pub tool: &'a str,
    pub params: &'a serde_json::Value,
}
pub struct Setting {
    pub mode: Mode,
    pub workdir: PathBuf,
    pub home: PathBuf,
}
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Verdict {
    Allow,
    Ask,
    Block,
}
pub struct Judgement {
    pub verdict: Verdict,
    pub rule: &'static str,
    pub reason: String,
}
pub fn judge(call: &ToolCall, _s: &Setting) -> Judgement {
    let v = if call.params.to_string().contains("rm -rf") {
        Verdict::Block
    } else if call.params.to_string().contains("cargo") {
        Verdict::Ask
    } else {
        Verdict::Allow
    };
    Judgement { verdict: v, rule: "wip", reason: "wip".into() }
}

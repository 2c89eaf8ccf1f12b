//! The layer's answer: a verdict, the rule that gave it, and the reason.

use serde::Serialize;

use super::Mode;
use super::asks::{Ask, Touch};
use super::tables::Hit;
/// Of several findings the severest is the judgement.
pub use maxim_bus::signals::introspection::Verdict;
use maxim_tools::Imagined;

/// The kind of harm that a rule guards against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Category {
    Routine,
    Destruction,
    CodeExecution,
    Network,
    FileSystem,
    Exfiltration,
    PrivilegeEscalation,
    Persistence,
    Obfuscation,
    ResourceExhaustion,
    Secrets,
}

/// Which part of the gate decides by a rule: the deterministic layer, a model's review, what was learned, autonomy with its
/// rails, the latch, the tracker that doubts an outcome, or a person.
pub fn layer_of(rule: &str) -> &'static str {
    let (head, _) = rule.split_once(['.', ':']).unwrap_or((rule, ""));
    match (head, rule) {
        ("approved" | "approval" | "granted" | "grant", _) | (_, super::fears::PINNED) => "person",
        ("reviewed", _) => "model",
        ("fear" | "escalation", _) => "learned",
        ("autonomy" | "tools" | "gate", _) => "autonomy",
        ("stop" | "clearance", _) => "latch",
        ("outcome", _) => "tracker",
        _ => "deterministic",
    }
}

/// The verdict on one tool call. `rule` stays the same over versions, because people pin and explain by it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Judgement {
    pub verdict: Verdict,
    pub rule: &'static str,
    pub category: Category,
    pub reason: String,
    /// Every rule that objected, in the order of finding. `rule` is the first of the most severe.
    #[serde(skip)]
    pub rules: Vec<&'static str>,
    /// Everything a person is to be asked about. Empty unless the verdict is to ask.
    #[serde(skip)]
    pub asks: Vec<Ask>,
}

/// A stable rule id and its category.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rule(pub &'static str, pub Category);

/// Reasons that are kept one by one. Beyond this number only the first of each rule is kept.
const ASKS: usize = 64;

/// The most severe finding so far, under the mode.
pub(super) struct Findings {
    mode: Mode,
    worst: Judgement,
    asks: Vec<Ask>,
    /// The simple command that is being judged.
    command: Option<String>,
    /// The parameter of the call that is being judged.
    parameter: Option<String>,
    /// The programs that are being judged, each inside the one before it, if a wall of the sandbox may refuse them.
    hits: Vec<Hit>,
    /// The judged code runs on another machine or behind a wall of its own.
    pub(super) elsewhere: bool,
    /// It would run code, asked about or not.
    pub(super) runs: bool,
}

impl Findings {
    pub(super) fn new(mode: Mode) -> Self {
        let worst = Judgement {
            verdict: Verdict::Allow,
            rule: "allow",
            category: Category::Routine,
            reason: String::from("nothing in it needs a person"),
            rules: Vec::new(),
            asks: Vec::new(),
        };
        Self {
            mode,
            worst,
            asks: Vec::new(),
            command: None,
            parameter: None,
            hits: Vec::new(),
            elsewhere: false,
            runs: false,
        }
    }

    pub(super) fn ask(&mut self, rule: Rule, reason: impl Into<String>) {
        self.runs |= rule.1 == Category::CodeExecution;
        // Passive mode has no effects and asks nobody. Singularity mode already grants what active mode asks about by
        // these rules.
        match self.mode {
            Mode::Passive => self.put(Verdict::Block, rule, reason),
            Mode::Singularity if is_granted(rule) => {}
            Mode::Active | Mode::Singularity => self.put(Verdict::Ask, rule, reason),
        }
    }

    /// The same for a path that a later wall may refuse even after a yes.
    pub(super) fn ask_of_path(&mut self, rule: Rule, reason: impl Into<String>, touch: Touch) {
        let before = self.asks.len();
        self.ask(rule, reason);
        if let Some(ask) = self.asks.get_mut(before) {
            ask.touch = Some(touch);
        }
    }

    /// From now on findings are about this simple command. Returns the previous one.
    pub(super) fn about_command(&mut self, command: Option<String>) -> Option<String> {
        std::mem::replace(&mut self.command, command)
    }

    /// From now on findings are also about this program if a wall refuses it. Returns the number of programs so far.
    pub(super) fn about_hit(&mut self, hit: Option<Hit>) -> usize {
        let before = self.hits.len();
        self.hits.extend(hit);
        before
    }

    /// Only the programs up to this number are judged again.
    pub(super) fn about_hit_again(&mut self, before: usize) {
        self.hits.truncate(before);
    }

    /// Whether something is asked about that no wall refuses. Its effects aren't known.
    pub(super) fn has_open_question(&self) -> bool {
        self.asks.iter().any(|ask| ask.hit.is_none())
    }

    /// From now on findings are about this parameter. Returns the previous one.
    pub(super) fn about_parameter(&mut self, parameter: Option<String>) -> Option<String> {
        std::mem::replace(&mut self.parameter, parameter)
    }

    pub(super) fn parameter(&self) -> Option<&str> {
        self.parameter.as_deref()
    }

    pub(super) fn block(&mut self, rule: Rule, reason: impl Into<String>) {
        if self.mode == Mode::Singularity && rule.1 == Category::FileSystem {
            return;
        }
        self.put(Verdict::Block, rule, reason);
    }

    pub(super) fn verdict(&self) -> Verdict {
        self.worst.verdict
    }

    pub(super) fn into_judgement(mut self) -> Judgement {
        if self.worst.verdict == Verdict::Ask {
            self.worst.asks = self.asks;
        }
        self.worst
    }

    fn put(&mut self, verdict: Verdict, rule: Rule, reason: impl Into<String>) {
        let reason = reason.into();
        if !self.worst.rules.contains(&rule.0) {
            self.worst.rules.push(rule.0);
        }
        if verdict == Verdict::Ask {
            let (command, parameter) = (self.command.clone(), self.parameter.clone());
            let hit = self.hits.iter().rev().find(|hit| hit.answers(rule.0)).cloned();
            let ask = Ask { rule: rule.0, reason: reason.clone(), command, parameter, touch: None, hit };
            let is_new = !self.asks.iter().any(|known| known.rule == rule.0);
            if is_new || (self.asks.len() < ASKS && !self.asks.contains(&ask)) {
                self.asks.push(ask);
            }
        }
        if verdict > self.worst.verdict {
            let rules = std::mem::take(&mut self.worst.rules);
            self.worst = Judgement { verdict, rule: rule.0, category: rule.1, reason, rules, asks: Vec::new() };
        }
    }
}

/// For a foreign program that a person installed as a tool, if its parameters need no question.
pub(super) fn of_foreign_program(tool: &str, mode: Mode) -> Judgement {
    let mut findings = Findings::new(mode);
    findings.ask(rules::FOREIGN_TOOL, format!("{tool} is a program whose effect isn't known"));
    findings.into_judgement()
}

/// Clears everything, for an agent that only imagines.
pub(super) fn of_nobody_who_fears(_: Imagined) -> Judgement {
    let reason = "this is only imagined, and without fear".into();
    Judgement {
        verdict: Verdict::Allow,
        rule: "imagined.fearless",
        category: Category::Routine,
        reason,
        rules: Vec::new(),
        asks: Vec::new(),
    }
}

fn is_granted(rule: Rule) -> bool {
    matches!(rule.1, Category::FileSystem | Category::CodeExecution | Category::Network)
}

/// Every rule of the layer. Singularity mode drops questions of the categories file system, code execution and network,
/// and blocks of the category file system. Everything else holds in every mode.
pub(super) mod rules {
    use super::{Category::*, Rule};

    pub const WRITE_OUTSIDE: Rule = Rule("fs.write-outside", FileSystem);
    pub const DELETE_OUTSIDE: Rule = Rule("fs.delete-outside", FileSystem);
    pub const DIRECTORY_CHANGE: Rule = Rule("fs.directory-change", FileSystem);
    pub const READ_OUTSIDE: Rule = Rule("fs.read-outside", FileSystem);
    pub const TEMPORARY: Rule = Rule("fs.temporary", FileSystem);
    pub const UNKNOWN_PATH: Rule = Rule("fs.unknown-path", FileSystem);
    pub const TRAVERSAL: Rule = Rule("fs.encoded-path", Obfuscation);
    pub const SYSTEM_WRITE: Rule = Rule("fs.system-write", Destruction);
    pub const DELETE_ROOT: Rule = Rule("destroy.root", Destruction);
    pub const DELETE_WORK: Rule = Rule("destroy.work", Destruction);
    pub const DEVICE: Rule = Rule("destroy.device", Destruction);
    pub const VCS: Rule = Rule("destroy.vcs", Destruction);
    pub const SERVICE: Rule = Rule("destroy.service", Destruction);
    pub const DATABASE: Rule = Rule("destroy.database", Destruction);
    pub const PROCESS: Rule = Rule("destroy.process", Destruction);
    pub const HOST: Rule = Rule("destroy.host", Destruction);
    pub const PERMISSIONS: Rule = Rule("privilege.permissions", PrivilegeEscalation);
    pub const ELEVATE: Rule = Rule("privilege.elevate", PrivilegeEscalation);
    pub const ESCAPE: Rule = Rule("privilege.container-escape", PrivilegeEscalation);
    pub const OWN_FILES: Rule = Rule("privilege.own-files", PrivilegeEscalation);
    pub const ENVIRONMENT: Rule = Rule("privilege.environment", PrivilegeEscalation);
    pub const STARTUP: Rule = Rule("persist.startup", Persistence);
    pub const PROJECT_HOOK: Rule = Rule("persist.project-hook", Persistence);
    pub const SCHEDULE: Rule = Rule("persist.schedule", Persistence);
    pub const SECRET_READ: Rule = Rule("secret.read", Secrets);
    pub const SECRET_CONTENT: Rule = Rule("secret.content", Secrets);
    pub const EXFILTRATE: Rule = Rule("exfiltrate.secret", Exfiltration);
    pub const UPLOAD: Rule = Rule("network.upload", Network);
    pub const REMOTE_CHANGE: Rule = Rule("network.change", Network);
    pub const REMOTE_SHELL: Rule = Rule("network.remote-shell", Network);
    pub const SSRF: Rule = Rule("network.internal-address", Network);
    pub const ODD_URL: Rule = Rule("network.odd-url", Obfuscation);
    pub const BACKDOOR: Rule = Rule("network.reverse-shell", Network);
    pub const SERVE: Rule = Rule("network.listen", Network);
    pub const RUN_CODE: Rule = Rule("exec.code", CodeExecution);
    pub const RUN_FILE: Rule = Rule("exec.file", CodeExecution);
    pub const BUILD: Rule = Rule("exec.build", CodeExecution);
    pub const INSTALL: Rule = Rule("exec.install", CodeExecution);
    pub const FOREIGN_TOOL: Rule = Rule("exec.foreign-tool", CodeExecution);
    pub const UNKNOWN_PROGRAM: Rule = Rule("exec.unknown-program", CodeExecution);
    pub const COMPUTED_COMMAND: Rule = Rule("obfuscate.computed-command", Obfuscation);
    pub const DOWNLOAD_RUN: Rule = Rule("exec.download", CodeExecution);
    pub const DECODE_RUN: Rule = Rule("obfuscate.decoded-code", Obfuscation);
    pub const UNPARSABLE: Rule = Rule("obfuscate.unparsable", Obfuscation);
    pub const TOO_COMPLEX: Rule = Rule("obfuscate.too-complex", Obfuscation);
    pub const FORK_BOMB: Rule = Rule("resource.fork-bomb", ResourceExhaustion);
    pub const EXHAUST: Rule = Rule("resource.exhaust", ResourceExhaustion);
    pub const PASSIVE: Rule = Rule("mode.passive", FileSystem);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_tells_the_layer_that_decided() {
        for (rule, layer) in [
            (rules::DELETE_ROOT.0, "deterministic"),
            (rules::PASSIVE.0, "deterministic"),
            ("reviewed: exec.unknown-program", "model"),
            ("fear.learned", "learned"),
            ("escalation.nobody", "learned"),
            (super::super::fears::PINNED, "person"),
            ("approval.denied", "person"),
            ("approved: exec.code", "person"),
            ("granted: exec.code", "person"),
            ("approval.guessed", "person"),
            ("grant.revoked", "person"),
            ("autonomy.rate", "autonomy"),
            ("gate.unasked", "autonomy"),
            ("tools.scene", "autonomy"),
            ("stop.latched", "latch"),
            ("clearance.expired", "latch"),
            ("outcome.unknown", "tracker"),
        ] {
            assert_eq!(layer_of(rule), layer, "{rule}");
        }
    }
}

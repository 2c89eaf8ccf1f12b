//! What the walls of the hands refuse in any case. A person isn't asked for a yes that would have no effect.
//!
//! Law: in active mode the file tools read the working folder and what the sandbox shows of the system, and write the working
//! folder alone; a program in the sandbox can't do more. What these walls refuse is refused at once, with the way out. What
//! they let pass isn't asked about for its place alone, whichever tool does it. In doubt a person is asked.

use std::path::{Path, PathBuf};

use super::asks::{Ask, SCRATCH, Touch};
use super::verdict::{Judgement, Verdict};
use super::{Category, Mode, Setting, paths};
use maxim_tools::hands::is_shown;
use maxim_tools::powers::REQUEST_DIRECTORY_CHANGE;

/// The agent's own tools that these walls hold. Tools of servers and of a person have walls of their own.
const WALLED: [&str; 10] = [
    "bash",
    "execute_file",
    "run_tests",
    "read_file",
    "write_file",
    "edit_file",
    "glob",
    "search_code",
    "git_diff",
    "git_commit",
];
/// Of these, the ones that run programs.
const RUNNING: [&str; 3] = ["bash", "execute_file", "run_tests"];

/// Rules (those that begin so), programs, and why the sandbox refuses them whatever a person says.
type Refused = (&'static [&'static str], &'static [&'static str], &'static str);

/// What needs a network.
const WITHOUT_NETWORK: Refused = (
    &["network."],
    &[
        "curl",
        "wget",
        "ssh",
        "scp",
        "sftp",
        "ftp",
        "lftp",
        "telnet",
        "nc",
        "ncat",
        "netcat",
        "socat",
        "http",
        "https",
        "xh",
        "aws",
        "az",
        "gcloud",
        "gh",
        "glab",
        "kubectl",
        "helm",
        "mail",
        "sendmail",
        "mosquitto_pub",
    ],
    "programs in the sandbox have no network; read the web by the tool for it, or have a person set up a tool of their own \
     with network = true ([[tools.user]])",
);

/// What needs more rights than a program in the sandbox can get.
const ALWAYS: &[Refused] = &[
    (
        &["privilege.elevate"],
        &["sudo", "doas", "pkexec"],
        "programs in the sandbox can't get other rights; do it yourself in a terminal",
    ),
    (
        &["exec.install"],
        &["apt", "apt-get", "aptitude", "dnf", "yum", "apk", "pacman", "zypper", "snap", "flatpak", "brew"],
        "programs in the sandbox can't change the system; install it yourself in a terminal",
    ),
    (
        &["destroy.service", "destroy.host"],
        &["systemctl", "service", "reboot", "shutdown", "poweroff", "halt", "mount", "umount", "modprobe", "swapoff"],
        "programs in the sandbox can't reach the system's services; do it yourself in a terminal",
    ),
];

/// What the hands can reach at most.
#[derive(Clone, Debug, Default)]
pub struct Walls {
    /// Files and folders beside the working folder that programs in the sandbox can read.
    pub readable: Vec<PathBuf>,
    /// Whether programs in the sandbox have a network.
    pub network: bool,
}

/// Whether a wall refused by this rule, which says nothing about the action.
pub(super) fn is_wall(rule: &str) -> bool {
    rule.starts_with("wall.")
}

impl Walls {
    /// The judgement in the light of the walls.
    pub(super) fn settle(&self, tool: &str, mut judged: Judgement, setting: &Setting) -> Judgement {
        let is_held = WALLED.contains(&tool) || tool == REQUEST_DIRECTORY_CHANGE;
        if judged.verdict != Verdict::Ask || setting.mode != Mode::Active || !is_held {
            return judged;
        }
        if let Some((rule, reason)) = judged.asks.iter().find_map(|ask| self.refuses(tool, ask, setting)) {
            return Judgement { verdict: Verdict::Block, rule, reason, asks: Vec::new(), ..judged };
        }
        let before = judged.asks.len();
        judged.asks.retain(|ask| !self.lets_pass(tool, ask));
        if judged.asks.len() == before {
            return judged;
        }
        judged.rules = judged.asks.iter().map(|ask| ask.rule).collect();
        match judged.asks.first().cloned() {
            Some(ask) => Judgement { rule: ask.rule, reason: ask.reason, ..judged },
            None => Judgement {
                verdict: Verdict::Allow,
                rule: "allow",
                category: Category::Routine,
                reason: "the sandbox shows it to every program".into(),
                ..judged
            },
        }
    }

    /// It is asked about for its place alone, and that place is shown to all.
    fn lets_pass(&self, tool: &str, ask: &Ask) -> bool {
        matches!(&ask.touch, Some(Touch::Read { path, is_free: true }) if self.shows(tool, path))
    }

    fn refuses(&self, tool: &str, ask: &Ask, setting: &Setting) -> Option<(&'static str, String)> {
        let root = paths::root_of(setting);
        let root = root.display();
        match &ask.touch {
            Some(Touch::Enter { path }) if is_certain(path) && !Path::new(path).is_dir() => {
                return Some(("wall.folder", format!("{path} is no folder; make it first, or name one that is there")));
            }
            // Where it may become the working folder, its place is no reason.
            _ if tool == REQUEST_DIRECTORY_CHANGE => return None,
            Some(Touch::Write { path }) if is_certain(path) && !is_scratch(tool, path) => {
                let reason = format!(
                    "{path} is outside of the working folder; in active mode nothing is written outside of {root}. Name a \
                     place in it, or have the working folder changed (request_directory_change)"
                );
                return Some(("wall.write", reason));
            }
            Some(Touch::Read { path, .. }) if is_certain(path) && !self.shows(tool, path) => {
                let reason = format!(
                    "{path} is outside of the working folder; in active mode files are read inside of {root} alone, beside \
                     what the sandbox shows of the system. Copy it there, or have the working folder changed \
                     (request_directory_change)"
                );
                return Some(("wall.read", reason));
            }
            _ => {}
        }
        if !RUNNING.contains(&tool) {
            return None;
        }
        let without_network = (!self.network).then_some(&WITHOUT_NETWORK);
        ALWAYS.iter().chain(without_network).find_map(|(rules, programs, why)| {
            let is_meant = rules.iter().any(|rule| ask.rule.starts_with(rule));
            let program = is_meant.then(|| first_of(ask.command.as_deref()?, programs)).flatten()?;
            Some(("wall.sandbox", format!("{program}: {why}")))
        })
    }

    fn shows(&self, tool: &str, path: &str) -> bool {
        is_shown(&self.readable, Path::new(path), RUNNING.contains(&tool))
    }
}

/// Nothing of it is known only when it runs.
fn is_certain(path: &str) -> bool {
    path.starts_with('/') && !path.contains(['…', '*', '?', '[', '{', '(', '\0'])
}

fn is_scratch(tool: &str, path: &str) -> bool {
    RUNNING.contains(&tool) && Path::new(path).starts_with(SCRATCH)
}

/// The first word of a command that is one of these programs.
fn first_of<'a>(command: &str, programs: &[&'a str]) -> Option<&'a str> {
    let name = |word: &str| word.rsplit('/').next().map(str::to_owned).unwrap_or_default();
    command.split_whitespace().find_map(|word| programs.iter().find(|known| **known == name(word)).copied())
}

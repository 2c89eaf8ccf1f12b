//! What the walls of the hands refuse in any case. No person is asked for a yes that would have no effect.
//!
//! Law: in active mode the file tools read the working folder and what the sandbox shows of the system, and write only
//! the working folder. A program in the sandbox can't do more. What these walls refuse is refused at once, with the way
//! out. A path that they let pass isn't asked about for its place alone, whichever tool reads it. In doubt a person is
//! asked.

use std::path::{Path, PathBuf};

use super::asks::{Ask, SCRATCH, Touch};
use super::tables::Wall;
use super::verdict::{Judgement, Verdict};
use super::{Category, Mode, Setting, paths};
use maxim_tools::contained::Barriers;
use maxim_tools::hands::is_shown;
use maxim_tools::powers::REQUEST_DIRECTORY_CHANGE;

/// The agent's own tools behind these walls. Tools of servers and of a person have walls of their own.
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
/// Those of them that run programs.
const RUNNING: [&str; 3] = ["bash", "execute_file", "run_tests"];

/// The widest reach of the hands.
#[derive(Clone, Debug, Default)]
pub struct Walls {
    /// Files and folders outside the working folder that programs in the sandbox can read.
    pub readable: Vec<PathBuf>,
    /// Whether programs in the sandbox have a network.
    pub network: bool,
    /// What else the sandbox refuses on this machine.
    pub barriers: Barriers,
}

/// Whether a wall refused by this rule. Such a refusal says nothing about the action.
pub(super) fn is_wall(rule: &str) -> bool {
    rule.starts_with("wall.")
}

impl Walls {
    /// The judgement after the walls.
    pub(super) fn settle(&self, tool: &str, mut judged: Judgement, setting: &Setting) -> Judgement {
        let is_held = WALLED.contains(&tool) || tool == REQUEST_DIRECTORY_CHANGE;
        if judged.verdict != Verdict::Ask || !is_held {
            return judged;
        }
        let refused = judged.asks.iter().find_map(|ask| match setting.mode {
            Mode::Active => self.refuses(tool, ask, setting).or_else(|| self.refuses_program(tool, ask)),
            // The whole file system is granted; other walls still refuse a program.
            Mode::Singularity if ask.hit.as_ref().is_some_and(|hit| hit.wall != Wall::Files) => {
                self.refuses_program(tool, ask)
            }
            Mode::Singularity | Mode::Passive => None,
        });
        if let Some((rule, reason)) = refused {
            return Judgement { verdict: Verdict::Block, rule, reason, asks: Vec::new(), ..judged };
        }
        if setting.mode != Mode::Active {
            return judged;
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

    /// The only reason is the path's place, and the sandbox shows that place to every program.
    fn lets_pass(&self, tool: &str, ask: &Ask) -> bool {
        matches!(&ask.touch, Some(Touch::Read { path, is_free: true }) if self.shows(tool, path))
    }

    fn refuses(&self, tool: &str, ask: &Ask, setting: &Setting) -> Option<(&'static str, String)> {
        let root = paths::root_of(setting);
        let root = root.display();
        match &ask.touch {
            Some(Touch::Enter { path }) if is_certain(path) && !Path::new(path).is_dir() => {
                return Some((
                    "wall.folder",
                    format!("{path} isn't a folder; create it first, or name an existing folder"),
                ));
            }
            // The path may become the working folder, so its place is no reason to refuse.
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
        None
    }

    fn refuses_program(&self, tool: &str, ask: &Ask) -> Option<(&'static str, String)> {
        if !RUNNING.contains(&tool) {
            return None;
        }
        let hit = ask.hit.as_ref().filter(|hit| self.holds(hit.wall))?;
        Some(("wall.sandbox", format!("{}: {}", hit.program, hit.words)))
    }

    fn holds(&self, wall: Wall) -> bool {
        match wall {
            Wall::Calls => self.barriers.calls,
            Wall::Signals => self.barriers.signals,
            Wall::Rights => self.barriers.rights,
            Wall::Files => self.barriers.files,
            Wall::Network => !self.network,
        }
    }

    fn shows(&self, tool: &str, path: &str) -> bool {
        is_shown(&self.readable, Path::new(path), RUNNING.contains(&tool))
    }
}

/// No part of the path is known only at run time.
fn is_certain(path: &str) -> bool {
    path.starts_with('/') && !path.contains(['…', '*', '?', '[', '{', '(', '\0'])
}

fn is_scratch(tool: &str, path: &str) -> bool {
    RUNNING.contains(&tool) && Path::new(path).starts_with(SCRATCH)
}

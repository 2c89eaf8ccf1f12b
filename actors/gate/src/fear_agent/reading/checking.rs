//! Judges a call at once together with what it would run, for callers that only want to know what the rules say.

use maxim_bus::signals::program_files::{Found, Wanted};

use super::super::{Judgement, Setting, ToolCall, Verdict, judge_seen};
use super::Seen;
use super::flow::{READ, ROUNDS};

/// What the rules say of a call, and the files it would run that they haven't seen.
#[derive(Clone, Debug)]
pub struct Checked {
    pub judgement: Judgement,
    /// Paths that don't exist or exceed the reading bounds. The verdict doesn't know their content.
    pub unread: Vec<String>,
}

/// Judges a call with the files that it would run, which `read` brings. A missing file is listed and judged as if it
/// did nothing.
pub fn check(call: &ToolCall, setting: &Setting, read: impl Fn(&[Wanted]) -> Vec<Found>) -> Checked {
    let mut seen = Seen::default();
    let mut absent: Vec<Wanted> = Vec::new();
    let mut judged = judge_seen(call, setting, Some(&seen));
    let mut open = open_of(judged.wanted, &absent);
    for _ in 0..ROUNDS {
        if open.is_empty() || judged.judgement.verdict == Verdict::Block || seen.found.len() + open.len() > READ {
            break;
        }
        for found in read(&open) {
            match is_absent(&found) {
                true => absent.push(found.wanted),
                false => seen.found.push(found),
            }
        }
        judged = judge_seen(call, setting, Some(&seen));
        open = open_of(judged.wanted, &absent);
    }
    let unread = absent.into_iter().chain(open).map(path_of).collect();
    Checked { judgement: judged.judgement, unread }
}

fn open_of(wanted: Vec<Wanted>, absent: &[Wanted]) -> Vec<Wanted> {
    wanted.into_iter().filter(|wanted| !absent.contains(wanted)).collect()
}

fn is_absent(found: &Found) -> bool {
    matches!(found.wanted, Wanted::Text { .. }) && found.files.is_empty() && found.fault.is_none()
}

fn path_of(wanted: Wanted) -> String {
    match wanted {
        Wanted::Text { path } => path,
        Wanted::Beside { folder, .. } => folder,
    }
}

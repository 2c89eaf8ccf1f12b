//! A call that is judged at once, with what it would run, for who only asks what the rules would say of it.

use maxim_bus::signals::program_files::{Found, Wanted};

use super::super::{Judgement, Setting, ToolCall, Verdict, judge_seen};
use super::Seen;
use super::flow::{READ, ROUNDS};

/// What the rules say of a call, and which files that it would run they have not seen.
#[derive(Clone, Debug)]
pub struct Checked {
    pub judgement: Judgement,
    /// Paths of what isn't there, or is more than is read: the verdict doesn't know what it holds.
    pub unread: Vec<String>,
}

/// Judges a call with the files that it would run, which `read` brings. What isn't there is named, and judged as if it did
/// nothing.
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

//! What a call would run from files and streams, judged by the same law as its command line.
//!
//! The gate doesn't touch the disk. The walk lists the texts it wants, the program reader brings them as a signal, and
//! the walk is repeated with them. Law: a text that can't be read, or that the same command writes first, is asked
//! about. What is blocked on a command line is blocked in a text. A program that needs no question on a command line
//! needs none in a file.
//!
//! ```text
//! programs (which program takes its program from where: program_files.tsv) ─┐
//! beside   (what a looking program runs beside itself: beside.tsv), git ────┼─ text / beside ─ wanted → reader → seen
//! makefile (recipes that a target reaches) ─────────────────────────────────┘
//! flow     (the room's side: asks, waits, fixes by digest, asks anew)
//! ```

mod beside;
mod checking;
mod flow;
mod git;
mod makefile;
mod programs;

use maxim_bus::signals::program_files::{Found, ProgramFile, Wanted};
use serde::{Deserialize, Serialize};

pub use checking::{Checked, check};
pub use flow::Files;
pub(super) use flow::{Judged, Wait};
pub(super) use makefile::judge_words as judge_make_words;
pub(super) use programs::{judge_programs, run_directly, with_stdin};

use super::globs;
use super::paths::{Kind, UNKNOWN};
use super::shell::Walker;
use super::verdict::rules;

/// Files recorded as read, at most.
const NAMED: usize = 16;
/// Programs that change files that their words don't name one by one.
const ARRANGES: &str =
    "git hg svn patch tar bsdtar unzip unrar 7z 7za cpio rsync wget curl scp sftp gh ar unar zip mmv rename";

/// Everything that was read for one call, in the order of the requests.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Seen {
    pub found: Vec<Found>,
}

impl Seen {
    pub fn answer(&self, wanted: &Wanted) -> Option<&Found> {
        self.found.iter().find(|found| found.wanted == *wanted)
    }

    /// A request without an answer counts as not readable.
    pub fn give_up(&mut self, wanted: Vec<Wanted>, why: &str) {
        for wanted in wanted {
            if self.answer(&wanted).is_none() {
                self.found.push(Found { wanted, files: Vec::new(), fault: Some(why.into()) });
            }
        }
    }
}

/// The reading of one walk.
#[derive(Default)]
pub(super) struct Reading<'a> {
    seen: Option<&'a Seen>,
    /// What hasn't been read yet.
    pub wanted: Vec<Wanted>,
    /// Everything that the walk looked for, found or not.
    pub used: Vec<Wanted>,
    /// Places that earlier commands have written.
    written: Vec<String>,
    /// An earlier command has written files under unknown names.
    arranged: bool,
    /// Files that the call reads by name. Their content may be run.
    named: Vec<String>,
    /// Files whose text is being judged. A file that runs itself is judged once.
    open: Vec<String>,
}

impl<'a> Reading<'a> {
    pub(super) fn of(seen: &'a Seen) -> Self {
        Self { seen: Some(seen), ..Self::default() }
    }
}

/// What is known of a file's text.
#[derive(Debug)]
pub(super) enum Text {
    Known(String),
    /// It is requested now. The call is judged again once it is read.
    Unread,
    /// The file doesn't exist.
    Missing,
    /// It can't be known, and why.
    Unknown(String),
}

impl Walker<'_> {
    /// The path as the kernel gets it: from the current folder, links not resolved.
    pub(super) fn absolute(&self, raw: &str) -> Option<String> {
        let home = self.setting.home.to_string_lossy();
        let path = match raw.strip_prefix("~/") {
            Some(rest) => format!("{home}/{rest}"),
            None if raw.starts_with('/') => raw.to_owned(),
            None => format!("{}/{}", self.cwd, raw.strip_prefix("./").unwrap_or(raw)),
        };
        (!path.contains([UNKNOWN, '\0'])).then_some(path)
    }

    /// The text of a file that would be run.
    pub(super) fn program_text(&mut self, raw: &str) -> Text {
        if raw.is_empty() || globs::is_glob(raw) {
            return Text::Unknown("the file's name is known only when it runs".into());
        }
        let Some(path) = self.absolute(raw) else {
            return Text::Unknown("the file's name is known only when it runs".into());
        };
        let place = self.place(raw);
        if matches!(place.kind, Kind::Secret | Kind::MaybeSecret | Kind::Device) || self.is_own_data(place.own) {
            return Text::Unknown("it is not read".into());
        }
        if self.is_written(&path) || self.is_written(&place.path) {
            return Text::Unknown("the same command writes it first".into());
        }
        let wanted = Wanted::Text { path };
        let Some(found) = self.wants(&wanted) else { return Text::Unread };
        match found {
            Found { fault: Some(why), .. } => Text::Unknown(why.clone()),
            Found { files, .. } => match files.first() {
                None => Text::Missing,
                Some(ProgramFile { text: Some(text), .. }) => Text::Known(text.clone()),
                Some(file) => Text::Unknown(file.fault.clone().unwrap_or_else(|| "it is no text".into())),
            },
        }
    }

    /// Files of these names beside a program; `None` while they aren't known.
    fn beside(&mut self, folder: &str, names: &[&str], upwards: bool) -> Option<Found> {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        self.wants(&Wanted::Beside { folder: folder.into(), names, upwards }).cloned()
    }

    fn wants(&mut self, wanted: &Wanted) -> Option<&Found> {
        let reading = &mut self.reading;
        if !reading.used.contains(wanted) {
            reading.used.push(wanted.clone());
        }
        let found = reading.seen.and_then(|seen| seen.answer(wanted));
        if found.is_none() && !reading.wanted.contains(wanted) {
            reading.wanted.push(wanted.clone());
        }
        found
    }

    /// A file that is read by its name.
    pub(super) fn notes_read(&mut self, raw: &str) {
        if let Some(path) = self.absolute(raw)
            && self.reading.named.len() < NAMED
            && !path.starts_with("/dev/")
            && !self.reading.named.contains(&path)
        {
            self.reading.named.push(path);
        }
    }

    /// A program text was composed from what was read. Fingerprints the read files with the question. Returns the known
    /// texts.
    pub(super) fn fixes_named(&mut self) -> Vec<String> {
        let named = self.reading.named.clone();
        let known = named.iter().filter_map(|path| match self.program_text(path) {
            Text::Known(text) => Some(text),
            Text::Unread | Text::Missing | Text::Unknown(_) => None,
        });
        known.collect()
    }

    /// A program text with an unknown part. A person is asked if that part would be a statement, or if it is known only
    /// at run time. The texts of the files that were read are judged in its place as well; returns these texts.
    pub(super) fn computed_text(&mut self, program: &str, text: &str) -> Vec<String> {
        if !text.contains(UNKNOWN) && !self.is_computed(text) {
            return Vec::new();
        }
        let known = self.fixes_named();
        if is_unknown_statement(text) || self.is_computed(text) {
            self.findings.ask(rules::RUN_CODE, format!("the instructions for {program} are known only when it runs"));
        }
        if !text.contains(UNKNOWN) {
            return Vec::new();
        }
        known.into_iter().map(|known| text.replace(UNKNOWN, known.trim_end_matches('\n'))).collect()
    }

    /// A place that this command changes before later commands run.
    pub(super) fn notes_write(&mut self, path: &str) {
        if self.reading.written.len() < 256 {
            self.reading.written.push(path.trim_end_matches('/').to_owned());
        } else {
            self.reading.arranged = true;
        }
    }

    /// Commands after a program that unpacks, fetches or checks out may run files that nobody has seen.
    pub(super) fn notes_program(&mut self, name: &str) {
        self.reading.arranged |= ARRANGES.split(' ').any(|known| known == name);
    }

    fn is_written(&self, path: &str) -> bool {
        self.reading.arranged
            || self.reading.written.iter().any(|written| {
                written == path
                    || written.contains(UNKNOWN)
                    || (globs::is_glob(written) && globs_over(written, path))
                    || path.strip_prefix(written.as_str()).is_some_and(|rest| rest.starts_with('/'))
            })
    }

    /// Judges a text once, even if it runs itself.
    fn within(&mut self, name: &str, judge: impl FnOnce(&mut Self)) {
        let name = self.absolute(name).unwrap_or_else(|| name.to_owned());
        if self.reading.open.contains(&name) || self.reading.open.len() > 8 {
            return;
        }
        self.reading.open.push(name);
        judge(self);
        self.reading.open.pop();
    }
}

/// Whether the unknown part is where a statement may begin.
pub(super) fn is_unknown_statement(text: &str) -> bool {
    text.match_indices(UNKNOWN).any(|(at, _)| {
        let before = text[..at].trim_end_matches([' ', '\t']);
        before.is_empty() || before.ends_with(['{', '}', ';', '\n', UNKNOWN])
    })
}

/// Whether a written glob may match the path, by the text before its first wildcard.
fn globs_over(glob: &str, path: &str) -> bool {
    let known = glob.split(['*', '?', '[', '{']).next().unwrap_or_default();
    path.starts_with(known)
}

//! The room's side of reading. It asks the reader and waits with a deadline. It fingerprints what would run when a
//! person is asked, and compares before it clears.
//!
//! Law: without an answer in time a person is asked. An allowed call is cleared only while the digests equal those of
//! the question. The executor compares once more before the start. A change is asked about anew, and the changed file
//! is named.

use jiff::{SignedDuration, Timestamp};
use maxim_bus::MessageId;
use maxim_bus::clock::Reckoned;
use maxim_bus::signals::intent::Escalation;
use maxim_bus::signals::outcome::{CHANGED, ToolResult};
use maxim_bus::signals::program_files::{FixPrograms, Fixed, ProgramsFixed, ProgramsRead, ReadPrograms, Scope, Wanted};
use serde::{Deserialize, Serialize};

use super::super::region::{FearAgent, FearEvent, GateEntry, GateStatus, record_key};
use super::super::verdict::rules;
use super::super::{Judgement, Setting, Verdict, paths};
use super::Seen;
use maxim_region::{Hears, Pulse};
use maxim_tools::program_files::{fixed_of, listing};

/// Deadline of a reading. After the second timeout, what could not be read is asked about.
const READING: SignedDuration = SignedDuration::from_millis(500);
/// Deadline of a fingerprint. At most 50 MB are digested.
const FIXING: SignedDuration = SignedDuration::from_secs(5);
/// Rounds of reading for one call; each reads what the texts before it name. Anything deeper isn't read.
pub(super) const ROUNDS: u8 = 6;
/// Files that one call reads in all rounds together.
pub(super) const READ: usize = 64;
/// Walks after giving up, at most, until nothing new is wanted.
const GIVEN_UP: usize = 8;

/// Key prefixes of the records of sealed calls that have begun, and of texts that were read.
const RECORDS: [&str; 2] = ["begun/", "read/"];

fn begun_key(id: MessageId) -> Vec<u8> {
    format!("{}{id}", RECORDS[0]).into_bytes()
}

fn read_key(id: MessageId) -> Vec<u8> {
    format!("{}{id}", RECORDS[1]).into_bytes()
}

/// What an intent in the gate expects from the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Purpose {
    /// The texts by which it is judged.
    Reading,
    /// The fingerprint that goes with a question.
    Fixing,
    /// The present fingerprint, after a yes.
    Checking,
    /// The present fingerprint, under a grant.
    Granted,
}

/// A wait with its deadline.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Wait {
    pub due: Timestamp,
    pub purpose: Purpose,
    /// Earlier tries. A crash loses a request, so it is sent once more.
    #[serde(default)]
    pub tries: u8,
}

/// What a gate entry stores of the files that its call would run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Files {
    /// It runs code, so all programs of the folder are fingerprinted with the question.
    #[serde(default)]
    pub runs: bool,
    /// What was read to judge it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wanted: Vec<Wanted>,
    /// Fingerprint of what would run, from its judgement or its question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fixed: Option<Fixed>,
    /// Autonomy's objection, kept while it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub escalation: Option<Escalation>,
    /// What changed since it was allowed. It is asked about, despite any grant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed: Option<String>,
    /// Fingerprints of grants that are still to be compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub granted: Vec<Fixed>,
    /// Reading rounds so far.
    #[serde(default)]
    pub round: u8,
}

impl Files {
    /// Whether an "always" is possible.
    pub fn allows_always(&self) -> bool {
        self.fixed.as_ref().is_none_or(Fixed::is_whole) && !(self.runs && self.fixed.is_none())
    }
}

/// A judgement and the texts behind it.
pub(in super::super) struct Judged {
    pub judgement: Judgement,
    /// What must be read before it counts.
    pub wanted: Vec<Wanted>,
    pub used: Vec<Wanted>,
    pub runs: bool,
}

impl FearAgent {
    /// Judges a call, or first asks for what it would run.
    pub(in super::super) fn judge_entry(&self, mut entry: GateEntry, mut seen: Seen, pulse: &mut Pulse<'_, Self>) {
        let settings = pulse.settings();
        let setting = settings.setting_under(entry.terms.powers.as_ref());
        let mut judged = self.judged_by(&entry, &setting, &seen, pulse);
        let may_read = entry.files.round < ROUNDS && seen.found.len() + judged.wanted.len() <= READ;
        let is_open = judged.judgement.verdict != Verdict::Block && !judged.wanted.is_empty();
        if is_open && may_read && !self.stopped {
            return Self::read(entry, judged.wanted, &seen, 0, pulse);
        }
        for _ in 0..GIVEN_UP {
            if judged.wanted.is_empty() || judged.judgement.verdict == Verdict::Block {
                break;
            }
            seen.give_up(judged.wanted, "it names more files than are read");
            judged = self.judged_by(&entry, &setting, &seen, pulse);
        }
        if !judged.wanted.is_empty() && judged.judgement.verdict == Verdict::Allow {
            judged.judgement.verdict = Verdict::Ask;
            judged.judgement.rule = rules::TOO_COMPLEX.0;
            judged.judgement.rules = vec![rules::TOO_COMPLEX.0];
            judged.judgement.reason = "it runs more files than are read".into();
            judged.judgement.asks.clear();
        }
        if entry.files.round > 0 {
            pulse.remove(read_key(entry.id));
        }
        entry.files.runs = judged.runs;
        entry.files.fixed = seal(&judged.used, &seen);
        entry.files.wanted = judged.used;
        self.pass(entry, judged.judgement, setting.mode, pulse);
    }

    fn judged_by(&self, entry: &GateEntry, setting: &Setting, seen: &Seen, pulse: &Pulse<'_, Self>) -> Judged {
        super::super::admission::judged_with(&entry.intent.tool, &entry.intent.params, setting, pulse.settings(), seen)
    }

    fn read(mut entry: GateEntry, wanted: Vec<Wanted>, seen: &Seen, tries: u8, pulse: &mut Pulse<'_, Self>) {
        entry.status = GateStatus::Reading;
        entry.files.round += 1;
        let (id, turn, trust) = (entry.id, entry.intent.turn, entry.trust);
        pulse.put(record_key(id), &entry);
        pulse.put(read_key(id), seen);
        let due = pulse.now().later(READING);
        pulse.keep(FearEvent::Waits { id, wait: Wait { due, purpose: Purpose::Reading, tries } });
        pulse.emit_trusted(turn, trust, ReadPrograms { intent: id, wanted });
    }

    fn fix(entry: GateEntry, scope: Scope, purpose: Purpose, pulse: &mut Pulse<'_, Self>) {
        Self::fix_again(entry, scope, purpose, 0, pulse);
    }

    fn fix_again(mut entry: GateEntry, scope: Scope, purpose: Purpose, tries: u8, pulse: &mut Pulse<'_, Self>) {
        entry.status = GateStatus::Checking;
        let (id, turn, trust) = (entry.id, entry.intent.turn, entry.trust);
        pulse.put(record_key(id), &entry);
        let due = pulse.now().later(FIXING);
        pulse.keep(FearEvent::Waits { id, wait: Wait { due, purpose, tries } });
        pulse.emit_trusted(turn, trust, FixPrograms { intent: id, scope });
    }

    /// Asks a person, after what would run is fingerprinted.
    pub(in super::super) fn fix_and_ask(&self, mut entry: GateEntry, pulse: &mut Pulse<'_, Self>) {
        if let Some(changed) = &entry.files.changed {
            entry.reason = format!("{changed} changed since it was allowed; {}", entry.reason);
        }
        if !entry.files.runs {
            return self.offer_and_ask(entry, pulse);
        }
        let scope = Self::scope(&entry, pulse);
        Self::fix(entry, scope, Purpose::Fixing, pulse);
    }

    /// Asks a person and says what an "always" would cover.
    fn offer_and_ask(&self, mut entry: GateEntry, pulse: &mut Pulse<'_, Self>) {
        self.offer(&mut entry, pulse.settings());
        Self::put_question(entry, pulse);
    }

    /// All programs of the working folder, and the texts read to judge the call.
    fn scope(entry: &GateEntry, pulse: &Pulse<'_, Self>) -> Scope {
        let setting = pulse.settings().setting_under(entry.terms.powers.as_ref());
        let folder = Some(paths::root_of(&setting).to_string_lossy().into_owned());
        Scope { folder, wanted: entry.files.wanted.clone() }
    }

    /// A person said yes. The call is cleared if what would run still equals what was asked about.
    pub(in super::super) fn clear_if_unchanged(&self, entry: GateEntry, pulse: &mut Pulse<'_, Self>) {
        match entry.files.fixed.as_ref().map(|fixed| fixed.scope.clone()) {
            Some(scope) if !entry.is_doubt() => Self::fix(entry, scope, Purpose::Checking, pulse),
            _ => self.clear(entry, pulse),
        }
    }

    /// Grants cover the call. It goes on if what would run still equals the fingerprint of each grant.
    pub(in super::super) fn consult_if_unchanged(
        &self,
        mut entry: GateEntry,
        fixed: impl IntoIterator<Item = Fixed>,
        pulse: &mut Pulse<'_, Self>,
    ) {
        entry.files.granted.extend(fixed);
        let Some(fixed) = entry.files.granted.pop() else {
            self.note_uses(&entry.grants, pulse);
            return self.consult(entry, pulse);
        };
        let scope = fixed.scope.clone();
        entry.files.fixed = Some(fixed);
        Self::fix(entry, scope, Purpose::Granted, pulse);
    }

    /// The reader didn't answer in time.
    pub(in super::super) fn waited_in_vain(&self, id: MessageId, wait: Wait, pulse: &mut Pulse<'_, Self>) {
        let Some(entry) = pulse.record::<GateEntry>(&record_key(id)) else {
            return pulse.keep(FearEvent::Closed { id });
        };
        pulse.keep(FearEvent::Waited { id });
        let is_first = wait.tries == 0;
        match wait.purpose {
            Purpose::Reading if is_first => {
                let seen: Seen = pulse.record(&read_key(id)).unwrap_or_default();
                let setting = pulse.settings().setting_under(entry.terms.powers.as_ref());
                let wanted = self.judged_by(&entry, &setting, &seen, pulse).wanted;
                Self::read(entry, wanted, &seen, wait.tries + 1, pulse);
            }
            Purpose::Reading => self.give_up(entry, pulse),
            Purpose::Fixing if is_first => {
                let scope = Self::scope(&entry, pulse);
                Self::fix_again(entry, scope, wait.purpose, wait.tries + 1, pulse);
            }
            Purpose::Checking | Purpose::Granted if is_first && entry.files.fixed.is_some() => {
                let scope = entry.files.fixed.as_ref().map(|fixed| fixed.scope.clone()).unwrap_or_default();
                Self::fix_again(entry, scope, wait.purpose, wait.tries + 1, pulse);
            }
            _ => self.compared(entry, wait.purpose, Err("no answer came in time".into()), pulse),
        }
    }

    /// What could not be read is asked about.
    fn give_up(&self, mut entry: GateEntry, pulse: &mut Pulse<'_, Self>) {
        let mut seen: Seen = pulse.record(&read_key(entry.id)).unwrap_or_default();
        let setting = pulse.settings().setting_under(entry.terms.powers.as_ref());
        for _ in 0..GIVEN_UP {
            let judged = self.judged_by(&entry, &setting, &seen, pulse);
            if judged.wanted.is_empty() {
                break;
            }
            seen.give_up(judged.wanted, "it could not be read in time");
        }
        entry.files.round = ROUNDS;
        self.judge_entry(entry, seen, pulse);
    }

    /// Judges from the start, because something changed.
    fn judge_anew(&self, mut entry: GateEntry, changed: String, pulse: &mut Pulse<'_, Self>) {
        entry.files = Files { changed: Some(changed), escalation: entry.files.escalation.take(), ..Files::default() };
        self.judge_entry(entry, Seen::default(), pulse);
    }

    fn compared(
        &self,
        mut entry: GateEntry,
        purpose: Purpose,
        now: Result<Fixed, String>,
        pulse: &mut Pulse<'_, Self>,
    ) {
        let before = entry.files.fixed.take();
        match (purpose, now) {
            (Purpose::Reading, _) => {}
            (Purpose::Fixing, Ok(now)) => {
                if let Some(changed) = before.as_ref().and_then(|before| differs_since_reading(before, &now))
                    && entry.files.round < ROUNDS
                {
                    let round = entry.files.round;
                    entry.files = Files { round, ..entry.files };
                    tracing::info!(changed, "a program changed while it was judged; it is being judged again");
                    return self.judge_entry(entry, Seen::default(), pulse);
                }
                if let Some(beyond) = &now.beyond {
                    entry.reason = format!("{} ({beyond}, so it can't be allowed for good)", entry.reason);
                }
                entry.files.fixed = Some(now);
                self.offer_and_ask(entry, pulse);
            }
            (Purpose::Fixing, Err(why)) => {
                entry.reason = format!(
                    "{} (what it would run could not be fixed: {why}; it can't be allowed for good)",
                    entry.reason
                );
                entry.files.fixed = None;
                self.offer_and_ask(entry, pulse);
            }
            (Purpose::Checking | Purpose::Granted, now) => {
                let changed = match (&before, &now) {
                    (Some(before), Ok(now)) => before.changes(now),
                    (None, _) => None,
                    (_, Err(why)) => Some(format!("what it would run could not be compared ({why}), so it may have")),
                };
                if let Some(changed) = changed {
                    // A second yes to the question before must not allow what nobody has seen.
                    if purpose == Purpose::Checking {
                        entry.renew_question(|| pulse.fresh_id());
                    }
                    return self.judge_anew(entry, changed, pulse);
                }
                entry.files.fixed = before;
                match purpose {
                    Purpose::Granted => self.consult_if_unchanged(entry, None, pulse),
                    _ => self.clear(entry, pulse),
                }
            }
        }
    }

    /// Deletes texts that were read for an intent that is gone.
    pub(in super::super) fn forget_read(&self, id: MessageId, pulse: &mut Pulse<'_, Self>) {
        if self.waits.get(&id).is_some_and(|wait| wait.purpose == Purpose::Reading) {
            pulse.remove(read_key(id));
        }
    }

    /// Keeps the record of a call that has begun, because the executor may still refuse it for a change.
    pub(in super::super) fn keep_begun(entry: &GateEntry, pulse: &mut Pulse<'_, Self>) {
        if entry.terms.sealed.is_some() {
            pulse.put(begun_key(entry.id), entry);
        }
    }

    /// The executor found another file than the allowed one. The action did not begin; it is asked about anew.
    pub(in super::super) fn ended(&self, result: &ToolResult, pulse: &mut Pulse<'_, Self>) {
        let Some(mut entry) = pulse.record::<GateEntry>(&begun_key(result.intent)) else { return };
        pulse.remove(begun_key(result.intent));
        let Some(changed) = result.output.get(CHANGED).and_then(serde_json::Value::as_str) else { return };
        if entry.intent.unasked || self.stopped {
            return;
        }
        entry.renew_question(|| pulse.fresh_id());
        self.judge_anew(GateEntry { id: result.action, ..entry }, changed.to_owned(), pulse);
    }
}

/// The fingerprint of what was read. The executor must find the same, or it doesn't begin.
fn seal(used: &[Wanted], seen: &Seen) -> Option<Fixed> {
    if used.is_empty() {
        return None;
    }
    let found = used.iter().filter_map(|wanted| seen.answer(wanted));
    let files = found.flat_map(listing).collect();
    Some(fixed_of(Scope { folder: None, wanted: used.to_vec() }, files, None))
}

/// A file that changed after it was read.
fn differs_since_reading(read: &Fixed, now: &Fixed) -> Option<String> {
    read.files.iter().find(|(path, digest)| now.files.get(*path) != Some(digest)).map(|(path, _)| path.clone())
}

impl Hears<ProgramsRead> for FearAgent {
    fn hear(&self, read: &ProgramsRead, pulse: &mut Pulse<'_, Self>) {
        let id = read.intent;
        if self.waits.get(&id).is_none_or(|wait| wait.purpose != Purpose::Reading) {
            return; // it came after the deadline
        }
        let Some(entry) = pulse.record::<GateEntry>(&record_key(id)) else { return };
        let mut seen: Seen = pulse.record(&read_key(id)).unwrap_or_default();
        for found in &read.found {
            if seen.answer(&found.wanted).is_none() {
                seen.found.push(found.clone());
            }
        }
        pulse.keep(FearEvent::Waited { id });
        self.judge_entry(entry, seen, pulse);
    }
}

impl Hears<ProgramsFixed> for FearAgent {
    fn hear(&self, told: &ProgramsFixed, pulse: &mut Pulse<'_, Self>) {
        let id = told.intent;
        let Some(wait) = self.waits.get(&id).filter(|wait| wait.purpose != Purpose::Reading) else { return };
        let Some(entry) = pulse.record::<GateEntry>(&record_key(id)) else { return };
        pulse.keep(FearEvent::Waited { id });
        let now = told.fixed.clone().ok_or_else(|| told.fault.clone().unwrap_or_else(|| "it could not be read".into()));
        self.compared(entry, wait.purpose, now, pulse);
    }
}

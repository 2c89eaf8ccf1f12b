//! Turns that a crash cut off. Most turns continue after a restart, because their messages are redelivered or time
//! out. For turns that don't continue, the episode is closed as unknown soon after the start. The room that owns
//! turns knows which continue.

use jiff::{SignedDuration, Timestamp};
use maxim_bus::MessageId;
use maxim_bus::clock::Reckoned;
use maxim_bus::signals::recall::EpisodeStored;
use maxim_bus::signals::sleep::SessionEnded;
use maxim_bus::signals::thought::{SurveyTurns, TurnsSurveyed};
use serde::{Deserialize, Serialize};

use super::events::HippocampusEvent;
use super::model::{EpisodicMemory, Outcome};
use super::records::episode_key;
use super::region::Hippocampus;
use maxim_region::{Hears, Pulse};

/// How long a turn may take to reach that room again: longer than all deadlines before it.
const TAKEN_UP: SignedDuration = SignedDuration::from_mins(1);
/// A turn that has been open for this long will not end any more.
const ABANDONED: SignedDuration = SignedDuration::from_mins(30);
/// Turns closed in one step.
const MOST_CLOSED: usize = 256;
/// The result of a cycle that a crash cut off.
const CUT_SHORT: &str = "the process went down before it ended";

/// Turns that were open when another run of the process ended, and when to ask which of them continue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cut {
    turns: Vec<MessageId>,
    due: Timestamp,
}

impl Hippocampus {
    pub(super) fn cut_due(&self) -> Option<Timestamp> {
        if self.is_cut { Some(Timestamp::UNIX_EPOCH) } else { self.cut.as_ref().map(|cut| cut.due) }
    }

    /// Notes open turns; when due, asks which of them continue, until there is an answer.
    pub(super) fn look_after_cut(&self, pulse: &mut Pulse<'_, Self>) {
        let run = pulse.settings().run.clone();
        let turns: Vec<MessageId> = match &self.cut {
            Some(cut) if !self.is_cut => {
                cut.turns.iter().filter(|turn| self.open.contains_key(turn)).copied().collect()
            }
            _ => self.open.keys().copied().collect(),
        };
        if !self.is_cut && !turns.is_empty() {
            pulse.ask(SurveyTurns { turns: turns.clone() });
        }
        let due = pulse.now().later(TAKEN_UP);
        let cut = (!turns.is_empty()).then_some(Cut { turns, due });
        pulse.keep(HippocampusEvent::CutShort { run, cut });
    }

    /// The cycle is over with an unknown result.
    fn close(&self, turn: MessageId, why: &str, pulse: &mut Pulse<'_, Self>) {
        let Some(document) = self.open.get(&turn).copied() else { return };
        let Some(mut episode) = pulse.record::<EpisodicMemory>(&episode_key(document)) else { return };
        if episode.outcome.is_none() {
            episode.outcome = Some(Outcome { success: None, result: why.to_owned() });
            pulse.put(episode_key(document), &episode);
        }
        let (id, salience) = (episode.id.clone(), episode.salience);
        let (at, reasons, repeats) = (pulse.now(), Vec::new(), None);
        let episode = Box::new(episode);
        pulse.keep(HippocampusEvent::Completed { document, turn, episode, before: String::new() });
        pulse.emit(EpisodeStored { episode: id, at, complete: true, reasons, salience, repeats });
    }
}

impl Hears<TurnsSurveyed> for Hippocampus {
    fn hear(&self, told: &TurnsSurveyed, pulse: &mut Pulse<'_, Self>) {
        let Some(cut) = &self.cut else { return };
        let lost: Vec<MessageId> = cut.turns.iter().filter(|turn| !told.open.contains(turn)).copied().collect();
        let lost: Vec<MessageId> = lost.into_iter().filter(|turn| self.open.contains_key(turn)).collect();
        if !lost.is_empty() {
            tracing::warn!(cycles = lost.len(), "{CUT_SHORT}: they are closed as unknown");
        }
        lost.into_iter().for_each(|turn| self.close(turn, CUT_SHORT, pulse));
        pulse.keep(HippocampusEvent::CutShort { run: pulse.settings().run.clone(), cut: None });
    }
}

impl Hears<SessionEnded> for Hippocampus {
    /// Cycles that will not end any more are closed as unknown.
    fn hear(&self, _ended: &SessionEnded, pulse: &mut Pulse<'_, Self>) {
        let now = pulse.now();
        let is_old = |document: &u32| {
            let episode = pulse.record::<EpisodicMemory>(&episode_key(*document));
            episode.is_some_and(|episode| now.duration_since(episode.created) >= ABANDONED)
        };
        let open = self.open.iter().take(MOST_CLOSED);
        let old: Vec<MessageId> = open.filter(|(_, document)| is_old(document)).map(|(turn, _)| *turn).collect();
        old.into_iter().for_each(|turn| self.close(turn, "", pulse));
    }
}

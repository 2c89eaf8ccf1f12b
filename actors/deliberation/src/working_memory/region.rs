//! Working memory as a room: keeps the newest 64 things that the brain perceived, recalled, thought, did and felt.
//!
//! Biology: sustained activity of the dorsolateral prefrontal cortex (Goldman-Rakic 1995).
//! Law: `law.rs`. It hears each turn twice, enriched and ended, each cycle of deliberation, and what hurts.
//! Remembers: 64 entries. Forgets: the oldest; what a person has forgotten, at once.
//! Down: what happens waits in its inbox; a prompt goes without conversation and recent outcomes.

use maxim_bus::rooms;
use maxim_bus::signals::bridges::MannerLearned;
use maxim_bus::signals::concepts::{Layer, RecordsRemoved};
use maxim_bus::signals::cycle::CycleThought;
use maxim_bus::signals::percept::PainSignal;
use maxim_bus::signals::recall::{EnrichedPercept, RecalledEpisode, ReportStats, StatsReported};
use maxim_bus::signals::thought::{ActionStatus, TurnEnded};
use maxim_bus::signals::working_memory::{EntryKind, SurveyWorkingMemory, WorkingEntry, WorkingMemorySurveyed};
use maxim_bus::units::Salience;
use maxim_bus::{RegionName, Stage, Trust};
use serde::{Deserialize, Serialize};

use super::law::{ENTRIES, Entries, OUTCOME, OWN_WORDS, REACTION, clipped, each_once, kind_of, outcome_of};
use maxim_bus::rooms::RESPOND;
use maxim_region::wiring;
use maxim_region::{Hears, Pulse, Region};

/// Recalled episodes of one moment that are noted.
const RECALLED: usize = 2;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct WorkingMemory {
    entries: Entries,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum WorkingMemoryEvent {
    Noted { entries: Vec<WorkingEntry> },
    Forgot { episodes: Vec<String> },
}

wiring!(WorkingMemory {
    hears: [EnrichedPercept, TurnEnded, CycleThought, PainSignal, SurveyWorkingMemory, RecordsRemoved, ReportStats],
    back: [MannerLearned],
    emits: [WorkingMemorySurveyed, StatsReported],
});

impl Region for WorkingMemory {
    const NAME: RegionName = rooms::WORKING_MEMORY;
    const STAGE: Stage = Stage::Deliberation;
    type Event = WorkingMemoryEvent;
    type Settings = ();

    fn apply(&mut self, event: WorkingMemoryEvent) {
        match event {
            WorkingMemoryEvent::Noted { entries } => self.entries.note(entries),
            WorkingMemoryEvent::Forgot { episodes } => self.entries.forget(&episodes),
        }
    }
}

/// An entry of the moment that is being heard.
fn entry(kind: EntryKind, salience: f64, text: &str, pulse: &mut Pulse<'_, WorkingMemory>) -> WorkingEntry {
    WorkingEntry {
        kind,
        at: pulse.now(),
        turn: pulse.turn(),
        salience: Salience::clamped(salience),
        novelty: None,
        heard: None,
        trust: pulse.trust(),
        of: String::new(),
        own: false,
        text: clipped(text),
        rests_on: Vec::new(),
    }
}

fn recalled(episodes: &[RecalledEpisode], pulse: &mut Pulse<'_, WorkingMemory>) -> Vec<WorkingEntry> {
    let found = episodes.iter().take(RECALLED);
    let noted = found.map(|episode| {
        let (kind, salience) = kind_of(episode);
        let entry = entry(kind, salience, &episode.text, pulse);
        WorkingEntry { of: episode.id.clone(), trust: episode.trust, ..entry }
    });
    noted.collect()
}

fn ids(episodes: &[RecalledEpisode]) -> impl Iterator<Item = String> + '_ {
    episodes.iter().map(|episode| episode.id.clone())
}

fn note(entries: Vec<WorkingEntry>, pulse: &mut Pulse<'_, WorkingMemory>) {
    if !entries.is_empty() {
        pulse.keep(WorkingMemoryEvent::Noted { entries });
    }
}

impl Hears<EnrichedPercept> for WorkingMemory {
    fn hear(&self, enriched: &EnrichedPercept, pulse: &mut Pulse<'_, Self>) {
        let (salient, percept) = (&enriched.salient, &enriched.salient.percept);
        let said = percept.is_said();
        let kind = if said { EntryKind::Conversation } else { EntryKind::Percept };
        let mut perceived = entry(kind, salient.salience.get(), &percept.content, pulse);
        perceived.novelty = Some(salient.novelty);
        perceived.heard = percept.heard;
        perceived.rests_on = ids(&enriched.recalled).collect();
        perceived.of = match said {
            true => format!("{}/{}", percept.metadata.channel, percept.metadata.sender),
            false => percept.source.clone(),
        };
        let mut entries = recalled(&enriched.recalled, pulse);
        entries.push(perceived);
        note(entries, pulse);
    }
}

impl Hears<TurnEnded> for WorkingMemory {
    fn hear(&self, ended: &TurnEnded, pulse: &mut Pulse<'_, Self>) {
        let mut entries = Vec::new();
        let thought_from = self.entries.thought_from(ended.turn);
        let rests_on = each_once(ended.rests_on.iter().cloned().chain(thought_from));
        // What was said by speaking is in the conversation.
        for action in ended.actions.iter().filter(|action| action.tool != RESPOND) {
            let [done, otherwise] = OUTCOME;
            let salience = if action.status == ActionStatus::Done { done } else { otherwise };
            let entry = entry(EntryKind::Outcome, salience, &outcome_of(action), pulse);
            entries.push(WorkingEntry { of: action.tool.clone(), own: true, rests_on: rests_on.clone(), ..entry });
        }
        if let Some(reply) = &ended.reply {
            let partner = self.entries.partner(ended.turn).unwrap_or(&ended.channel).to_owned();
            let entry = entry(EntryKind::Conversation, OWN_WORDS, reply, pulse);
            entries.push(WorkingEntry { of: partner, own: true, trust: Trust::Own, rests_on, ..entry });
        }
        note(entries, pulse);
    }
}

impl Hears<CycleThought> for WorkingMemory {
    fn hear(&self, thought: &CycleThought, pulse: &mut Pulse<'_, Self>) {
        let mut entries = recalled(&thought.recalled, pulse);
        if !thought.text.is_empty() {
            let entry = entry(EntryKind::Thought, thought.salience.get(), &thought.text, pulse);
            let rests_on = each_once(self.entries.reminded(thought.turn).into_iter().chain(ids(&thought.recalled)));
            entries.push(WorkingEntry { own: true, trust: Trust::Own, rests_on, ..entry });
        }
        note(entries, pulse);
    }
}

impl Hears<PainSignal> for WorkingMemory {
    fn hear(&self, pain: &PainSignal, pulse: &mut Pulse<'_, Self>) {
        let entry = entry(EntryKind::Pain, pain.intensity.get(), &pain.reason, pulse);
        note(vec![WorkingEntry { of: pain.about.clone(), own: true, ..entry }], pulse);
    }
}

impl Hears<MannerLearned> for WorkingMemory {
    fn hear(&self, manner: &MannerLearned, pulse: &mut Pulse<'_, Self>) {
        let how = if manner.brief { "wants confirmations in a word" } else { "wants to be answered in full" };
        let entry = entry(EntryKind::Reaction, REACTION, &format!("{:?} {how}", manner.person), pulse);
        note(vec![WorkingEntry { of: format!("{}/{}", manner.channel, manner.person), ..entry }], pulse);
    }
}

impl Hears<RecordsRemoved> for WorkingMemory {
    fn hear(&self, removed: &RecordsRemoved, pulse: &mut Pulse<'_, Self>) {
        if removed.layer == Layer::Hippocampus && (removed.forgotten || self.entries.holds(&removed.ids)) {
            pulse.keep_gone(WorkingMemoryEvent::Forgot { episodes: removed.ids.clone() }, removed.forgotten);
        }
    }
}

impl Hears<SurveyWorkingMemory> for WorkingMemory {
    fn hear(&self, wanted: &SurveyWorkingMemory, pulse: &mut Pulse<'_, Self>) {
        pulse.reply(self.entries.survey(wanted));
    }
}

impl Hears<ReportStats> for WorkingMemory {
    fn hear(&self, _query: &ReportStats, pulse: &mut Pulse<'_, Self>) {
        let counts = serde_json::json!({ "entries": self.entries.len(), "at_most": ENTRIES });
        pulse.reply(StatsReported { region: Self::NAME.into(), counts });
    }
}

#[cfg(test)]
mod tests {
    use maxim_bus::MessageId;
    use maxim_bus::signals::percept::{Disposition, PainKind, Percept, SalientPercept};
    use maxim_bus::signals::recall::Via;
    use maxim_bus::signals::thought::ActionSummary;
    use maxim_bus::units::{Intensity, Novelty};

    use super::*;
    use maxim_region::rig::{Rig, ear, monday_morning};

    fn turn(n: u64) -> MessageId {
        MessageId::from_parts(n, 7)
    }

    fn remembered(text: &str, via: Via) -> RecalledEpisode {
        RecalledEpisode {
            id: format!("id of {text}"),
            score: 1.0,
            via,
            timestamp: monday_morning(),
            goal: None,
            tool: None,
            success: None,
            text: text.into(),
            people: Vec::new(),
            result: None,
            trust: Trust::Outside,
            said: true,
            speaker: None,
        }
    }

    fn heard(text: &str, recalled: Vec<RecalledEpisode>) -> EnrichedPercept {
        let salient = SalientPercept {
            percept: Percept::from_outside("http", "anna", text.into(), false, Trust::Owner),
            disposition: Disposition::Proceed,
            salience: Salience::clamped(0.9),
            novelty: Novelty::clamped(0.25),
        };
        EnrichedPercept { recalled, ..EnrichedPercept::bare(salient) }
    }

    fn ended(n: u64, tool: &str, status: &str, reply: &str) -> TurnEnded {
        let params = serde_json::json!({ "path": "a.txt" });
        let (id, reason) = (turn(90 + n), (status != "done").then(|| "it is not there".to_owned()));
        let acted = ActionSummary { id, tool: tool.into(), params, status: status.into(), reason };
        let spoke = ActionSummary { tool: RESPOND.into(), status: "done".into(), ..acted.clone() };
        let (channel, reply) = ("http".into(), Some(reply.into()));
        TurnEnded {
            turn: turn(n),
            channel,
            reply,
            spoken: true,
            actions: vec![acted, spoke],
            lost: false,
            decided: None,
            rests_on: Vec::new(),
        }
    }

    fn survey(rig: &mut Rig<WorkingMemory>, wanted: SurveyWorkingMemory) -> WorkingMemorySurveyed {
        rig.send(wanted);
        rig.heard::<WorkingMemorySurveyed>().remove(0)
    }

    fn lines(surveyed: &WorkingMemorySurveyed) -> Vec<(EntryKind, &str, &str)> {
        surveyed.entries.iter().map(|entry| (entry.kind, entry.of.as_str(), entry.text.as_str())).collect()
    }

    #[test]
    fn a_turn_leaves_what_was_said_recalled_done_and_felt_and_a_crash_takes_none_of_it() {
        let mut rig: Rig<WorkingMemory> = Rig::new((), ear::<WorkingMemorySurveyed>);
        let found = vec![remembered("the key is blue", Via::Text), remembered("doors have keys", Via::Association)];
        rig.send_in(turn(1), Trust::Owner, heard("open the door", found));
        let (reason, intensity) = ("it hurt".to_owned(), Intensity::clamped(0.4));
        let pain = PainSignal { kind: PainKind::ToolError, intensity, about: "read_file".into(), reason, action: None };
        rig.send_in(turn(1), Trust::Own, pain);
        rig.send_in(turn(1), Trust::Owner, ended(1, "read_file", "failed", "I could not."));
        let before = rig.state_hash();
        rig.crash();
        assert_eq!(rig.state_hash(), before);
        let all = survey(&mut rig, SurveyWorkingMemory::default());
        let expected = [
            (EntryKind::Recall, "id of the key is blue", "the key is blue"),
            (EntryKind::Activation, "id of doors have keys", "doors have keys"),
            (EntryKind::Conversation, "http/anna", "open the door"),
            (EntryKind::Pain, "read_file", "it hurt"),
            (EntryKind::Outcome, "read_file", "read_file {\"path\":\"a.txt\"} failed: it is not there"),
            (EntryKind::Conversation, "http/anna", "I could not."),
        ];
        assert_eq!(lines(&all), expected);
        assert_eq!(all.entries[0].trust, Trust::Outside, "what was recalled is trusted as it was then");
        let head = survey(&mut rig, SurveyWorkingMemory { turn: Some(turn(1)), ..Default::default() }).head;
        let head = head.expect("a head");
        assert_eq!(
            (head.text.as_str(), head.salience.get(), head.novelty),
            ("open the door", 0.9, Some(Novelty::clamped(0.25)))
        );
    }

    #[test]
    fn what_a_person_has_forgotten_leaves_the_mind() {
        let mut rig: Rig<WorkingMemory> = Rig::new((), ear::<WorkingMemorySurveyed>);
        rig.send_in(turn(1), Trust::Owner, heard("my pin is 1234", Vec::new()));
        rig.send_in(turn(2), Trust::Owner, heard("and the door?", vec![remembered("pin", Via::Text)]));
        let ids = vec![turn(1).to_string(), "id of pin".to_owned()];
        rig.send(RecordsRemoved { layer: Layer::Atl, ids: ids.clone(), forgotten: true, again: false });
        assert_eq!(
            survey(&mut rig, SurveyWorkingMemory::default()).entries.len(),
            3,
            "a concept of that name is another"
        );
        rig.send(RecordsRemoved { layer: Layer::Hippocampus, ids, forgotten: true, again: false });
        rig.crash();
        let left = survey(&mut rig, SurveyWorkingMemory::default());
        assert_eq!(lines(&left), [(EntryKind::Conversation, "http/anna", "and the door?")]);
    }

    #[test]
    fn an_answer_goes_with_the_episode_that_it_rests_on() {
        let mut rig: Rig<WorkingMemory> = Rig::new((), ear::<WorkingMemorySurveyed>);
        let found = || vec![remembered("pin", Via::Text), remembered("door", Via::Text)];
        let answered = |n: u64, reply: &str, rests_on: &[&str]| TurnEnded {
            actions: Vec::new(),
            rests_on: rests_on.iter().map(ToString::to_string).collect(),
            ..ended(n, "read_file", "done", reply)
        };
        rig.send_in(turn(1), Trust::Owner, heard("what is the pin?", found()));
        rig.send_in(turn(1), Trust::Owner, answered(1, "It is 1234.", &["id of pin"]));
        rig.send_in(turn(2), Trust::Owner, heard("which door?", found()));
        rig.send_in(turn(2), Trust::Owner, answered(2, "The blue one.", &["id of door"]));
        let ids = vec!["id of pin".to_owned()];
        rig.send(RecordsRemoved { layer: Layer::Hippocampus, ids, forgotten: true, again: false });
        let expected = [
            (EntryKind::Recall, "id of door", "door"),
            (EntryKind::Conversation, "http/anna", "what is the pin?"),
            (EntryKind::Recall, "id of door", "door"),
            (EntryKind::Conversation, "http/anna", "which door?"),
            (EntryKind::Conversation, "http/anna", "The blue one."),
        ];
        for _ in 0..2 {
            assert_eq!(lines(&survey(&mut rig, SurveyWorkingMemory::default())), expected);
            rig.crash();
        }
    }
}

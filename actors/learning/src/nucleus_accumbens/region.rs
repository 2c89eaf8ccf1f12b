//! The nucleus accumbens as a room: learns what actions lead to, and predicts it.
//!
//! Biology: dopaminergic reward prediction errors in the ventral striatum.
//! Law: Rescorla and Wagner (1972), see `law.rs`. Links are keyed by kinds, never by values. Values, goal and hour
//! are their conditions (`circumstances.rs`).
//! Remembers: for each kind of event one record of its links, their delays and episodes, and one of their
//! circumstances (`kept.rs`). New lessons wait in the root, so that a frequent kind is written once for many lessons.
//! Forgets: by unlearning; kinds beyond the limit; the ids of removed episodes; and what a person had forgotten
//! (`forgetting.rs`).
//! Down: nothing is learned meanwhile, outcomes wait; predictions are a missing section.

use std::cell::{Ref, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use maxim_bus::mode::Mode;
use maxim_bus::rooms;
use maxim_bus::signals::concepts::{KnowledgeRecalled, RecallKnowledge, RecordsRemoved};
use maxim_bus::signals::goal::GoalChanged;
use maxim_bus::signals::introspection::{LinksListed, ListLinks};
use maxim_bus::signals::layers::{ExportRecords, HurtRecalled, ImportRecords, RecordsExported, RecordsImported};
use maxim_bus::signals::outbox::{DeliveryEnded, OutboxState};
use maxim_bus::signals::outcome::ToolResult;
use maxim_bus::signals::powers::ModeLowered;
use maxim_bus::signals::promotion::{CandidatesOffered, OfferCandidates};
use maxim_bus::signals::recall::{
    EpisodesCaptured, OutcomesPredicted, PredictOutcomes, PredictionErrorSensed, ReportStats, Reward, StatsReported,
};
use maxim_bus::signals::scene::SceneNoticed;
use maxim_bus::units::Rpe;
use maxim_bus::{MessageId, RegionName, Stage};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use super::alike::Phrases;
use super::circumstances::Circumstances;
use super::cues::{Around, CueStrengths};
use super::event::{EventKind, OutcomeKind};
use super::events::{Confined, Forgotten, Lessons, NacEvent, Observed, Pursuing, Written};
use super::kept::{KINDS, KeptConditions, Learned, conditions_key, kind_key, small};
use super::known::Known;
use super::law::{PredictionLaw, Reinforcement, value_of};
use super::model::LinkTable;
use super::predict::Basis;
use super::remembering::Restored;
use maxim_language::Encoder;
use maxim_region::wiring;
use maxim_region::{Hears, Pulse, RecordView, Region};
use maxim_tools::messaging::{CALL_USER, SEND_MESSAGE};

/// The room's settings.
#[derive(Clone, Debug)]
pub struct NacSettings {
    /// Learning rate α; 0 to 1. Default 0.14.
    pub alpha: f64,
    /// The configured mode, in which experience is made unless a lower mode is in force.
    pub mode: Mode,
    /// Local time zone of the body.
    pub zone: TimeZone,
    /// Finds kinds of events with similar names.
    pub encoder: Arc<dyn Encoder>,
    pub law: PredictionLaw,
}

/// Lessons that wait in the root, about half a kilobyte each. Beyond this number, kinds are written to records.
const MOST_WAITING: usize = 512;
/// Kinds written or removed in one commit.
const AT_ONCE: usize = 32;

#[derive(Default, Serialize, Deserialize)]
pub struct NucleusAccumbens {
    pub(super) observations: u64,
    /// By kind: lessons since its records were written, in order.
    waiting: BTreeMap<String, Vec<Observed>>,
    /// The goal being pursued.
    goal: Option<String>,
    /// The mode that the agent has lowered itself to.
    lowered: Option<Mode>,
    /// What the senses report about the place.
    around: Around,
    #[serde(skip)]
    known: RefCell<Known>,
    #[serde(skip)]
    phrases: Phrases,
}

wiring!(NucleusAccumbens {
    hears: [
        ToolResult,
        DeliveryEnded,
        GoalChanged,
        ModeLowered,
        SceneNoticed,
        EpisodesCaptured,
        RecordsRemoved,
        PredictOutcomes,
        OfferCandidates,
        ListLinks,
        RecallKnowledge,
        ReportStats,
        ExportRecords,
        ImportRecords,
    ],
    back: [],
    emits: [
        PredictionErrorSensed,
        Reward,
        OutcomesPredicted,
        CandidatesOffered,
        LinksListed,
        KnowledgeRecalled,
        StatsReported,
        HurtRecalled,
        RecordsExported,
        RecordsImported,
    ],
});

impl Region for NucleusAccumbens {
    const NAME: RegionName = rooms::NUCLEUS_ACCUMBENS;
    const STAGE: Stage = Stage::Learning;
    type Event = NacEvent;
    type Settings = NacSettings;

    fn apply(&mut self, event: NacEvent) {
        match event {
            NacEvent::Lessons(Lessons { lessons }) => lessons.into_iter().for_each(|event| self.learn_from(event)),
            NacEvent::Written(Written { written }) => written.iter().for_each(|key| self.lay_down(key)),
            NacEvent::Forgotten(Forgotten { forgotten }) => forgotten.iter().for_each(|key| {
                self.lay_down(key);
                self.known.get_mut().forget(key);
                self.phrases.forget(key);
            }),
            NacEvent::Restored(restored) => {
                let Restored { restored, observations } = *restored;
                self.observations = self.observations.max(observations);
                for learned in restored {
                    self.lay_down(&learned.event.kind.key());
                    self.known.get_mut().put_small(learned);
                }
            }
            NacEvent::Pursuing(Pursuing { pursued }) => self.goal = pursued,
            NacEvent::Confined(Confined { confined }) => self.lowered = confined,
            NacEvent::Around(around) => self.around = around,
        }
    }

    fn wake(&mut self, records: &RecordView<'_>, settings: &NacSettings) {
        self.phrases = Phrases::with_encoder(Arc::clone(&settings.encoder));
        let mut known = Known::under(settings.law);
        for (key, bytes) in records.prefixed(KINDS.as_bytes(), usize::MAX) {
            match serde_json::from_slice::<Learned>(&bytes) {
                Ok(learned) => known.put_small(learned),
                Err(error) => {
                    tracing::error!(key = %String::from_utf8_lossy(&key), %error, "a kind of event has another shape");
                }
            }
        }
        for (key, lessons) in &self.waiting {
            if !known.is_whole(key) {
                known.complete(key, records.get(&conditions_key(key)).unwrap_or_default());
            }
            lessons.iter().for_each(|event| known.learn(event));
        }
        self.known = RefCell::new(known);
    }

    fn next_deadline(&self, settings: &NacSettings) -> Option<Timestamp> {
        let waiting: usize = self.waiting.values().map(Vec::len).sum();
        let beyond = self.links().kinds() > settings.law.kinds_max;
        (waiting > MOST_WAITING || beyond).then_some(Timestamp::UNIX_EPOCH)
    }

    /// Removes kinds beyond the limit; else writes waiting lessons, the kind with the most first.
    fn tick(&self, pulse: &mut Pulse<'_, Self>) {
        let mut forgotten = self.links().beyond(pulse.settings().law.kinds_max);
        if !forgotten.is_empty() {
            forgotten.truncate(AT_ONCE);
            for key in &forgotten {
                pulse.remove(kind_key(key));
                pulse.remove(conditions_key(key));
            }
            return pulse.keep(NacEvent::Forgotten(Forgotten { forgotten }));
        }
        let mut most: Vec<(usize, &String)> = self.waiting.iter().map(|(key, events)| (events.len(), key)).collect();
        most.sort_unstable_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        let written: Vec<String> = most.into_iter().take(AT_ONCE).map(|(_, key)| key.clone()).collect();
        let links = self.links();
        for key in &written {
            let Some(event) = links.record(key) else { continue };
            pulse.put(kind_key(key), &Learned::of(&links, key, small(event)));
            pulse.put(conditions_key(key), &KeptConditions::of(event));
        }
        pulse.keep(NacEvent::Written(Written { written }));
    }
}

impl NucleusAccumbens {
    /// The small part of every kind, and circumstances only of recollected kinds.
    pub(super) fn links(&self) -> Ref<'_, LinkTable> {
        Ref::map(self.known.borrow(), Known::links)
    }

    pub(super) fn known(&self) -> Ref<'_, Known> {
        self.known.borrow()
    }

    /// Kinds and episodes of the waiting lessons.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (&str, &str)> {
        self.waiting.iter().flat_map(|(key, lessons)| lessons.iter().map(|one| (key.as_str(), one.episode.as_str())))
    }

    pub(super) fn around(&self) -> &Around {
        &self.around
    }

    /// Whether everything known of the kind is in its records.
    fn is_written(&self, key: &str) -> bool {
        !self.waiting.contains_key(key)
    }

    /// Loads the circumstances of these kinds, as far as they are known.
    pub(super) fn recollect<'k>(&self, kinds: impl IntoIterator<Item = &'k str>, records: &RecordView<'_>) {
        let mut known = self.known.borrow_mut();
        known.let_go(|key| self.is_written(key));
        for key in kinds {
            if known.is_whole(key) {
                known.mark(key);
                records.rests_on(&conditions_key(key));
            } else if known.links().record(key).is_some() {
                known.complete(key, records.get(&conditions_key(key)).unwrap_or_default());
            }
        }
    }

    fn learn_from(&mut self, event: Observed) {
        self.observations += 1;
        self.known.get_mut().learn(&event);
        self.waiting.entry(event.kind.key()).or_default().push(event);
    }

    /// The kind's records contain everything.
    fn lay_down(&mut self, key: &str) {
        self.waiting.remove(key);
    }
}

/// What a result teaches. A stop, a missing part or an unknown result says nothing about the action.
fn outcome_of(result: &ToolResult) -> Option<OutcomeKind> {
    match (result.success, result.failure) {
        (_, Some(kind)) if kind.teaches_nothing() => None,
        (None, _) => None,
        (Some(true), _) if result.reward.is_some() => result.reward.map(OutcomeKind::of_reward),
        (Some(false), Some(kind)) => Some(OutcomeKind::new(&format!("{kind:?}").to_lowercase(), Reinforcement::Bad)),
        (success, _) => Some(OutcomeKind::of_success(success)),
    }
}

fn params_of(params: &Json) -> Map<String, Json> {
    params.as_object().cloned().unwrap_or_default()
}

/// The outcome of an action.
struct Lesson<'a> {
    action: MessageId,
    tool: &'a str,
    params: Map<String, Json>,
    outcome: OutcomeKind,
    reward: Option<f64>,
    delay_s: f64,
    turn: MessageId,
}

impl NucleusAccumbens {
    /// The mode in force.
    pub(super) fn mode(&self, pulse: &Pulse<'_, Self>) -> Mode {
        pulse.settings().mode.lowered_to(self.lowered)
    }

    /// The present circumstances.
    fn circumstances(&self, params: &Map<String, Json>, pulse: &Pulse<'_, Self>) -> Circumstances {
        let mode = self.mode(pulse);
        let zone = &pulse.settings().zone;
        Circumstances::of(params, mode.as_str(), self.goal.as_deref(), pulse.now(), zone)
    }

    fn learn(&self, lesson: Lesson<'_>, pulse: &mut Pulse<'_, Self>) {
        let Lesson { action, tool, params, outcome, reward, delay_s, turn } = lesson;
        let kind = EventKind::of(tool, &params);
        let key = kind.key();
        self.recollect([key.as_str()], pulse.records());
        let links = self.links();
        let before = links.record(&key);
        let present = self.around.present(pulse.now());
        let event = Observed {
            kind,
            outcome,
            circumstances: self.circumstances(&params, pulse).into_pairs(),
            around: before.map(|record| &record.around).unwrap_or(&CueStrengths::default()).choose(present),
            delay_s: Some(delay_s),
            episode: turn.to_string(),
            at: pulse.now(),
            alpha: pulse.settings().alpha,
            reward,
        };
        // Learned on a copy of one event's record, so that the answer matches what will be applied.
        let mut trial = LinkTable::new(event.alpha).under(pulse.settings().law);
        if let Some(record) = before {
            // Only its values are needed; the circumstances don't affect them.
            Learned::of(&links, &key, small(record)).put_into(&mut trial);
        }
        let expected = value_of(trial.sum(&key, &[], &event.around));
        let learned = event.teach(&mut trial);
        let lambda = value_of(reward.unwrap_or(event.outcome.reinforcement.target()));
        pulse.emit(Reward { action, tool: tool.to_owned(), lambda });
        pulse.emit(PredictionErrorSensed {
            action,
            event: learned.event,
            outcome: learned.outcome,
            expected,
            rpe: Rpe::clamped(learned.rpe),
            value: learned.value,
            confidence: learned.confidence,
            valence: learned.valence,
        });
        pulse.keep(NacEvent::Lessons(Lessons { lessons: vec![event] }));
    }
}

impl Hears<ToolResult> for NucleusAccumbens {
    fn hear(&self, result: &ToolResult, pulse: &mut Pulse<'_, Self>) {
        let Some(outcome) = outcome_of(result) else { return };
        let lesson = Lesson {
            action: result.action,
            tool: &result.tool,
            params: params_of(&result.params),
            reward: result.reward.filter(|_| result.success == Some(true)),
            outcome,
            delay_s: result.duration_us as f64 / 1e6,
            turn: result.turn,
        };
        self.learn(lesson, pulse);
    }
}

/// The message was queued, but that wasn't its purpose: a message that failed for good is the outcome of writing it.
impl Hears<DeliveryEnded> for NucleusAccumbens {
    fn hear(&self, ended: &DeliveryEnded, pulse: &mut Pulse<'_, Self>) {
        let writes = |tool: &&String| [SEND_MESSAGE, CALL_USER].contains(&tool.as_str());
        let Some(tool) = ended.tool.as_ref().filter(writes).filter(|_| ended.state == OutboxState::Failed) else {
            return;
        };
        let DeliveryEnded { channel, recipient, text, .. } = ended;
        let params = match tool.as_str() {
            SEND_MESSAGE => json!({"channel": channel, "recipient": recipient, "body": text}),
            _ => json!({"recipient": recipient, "message": text}),
        };
        let params = params_of(&params);
        let outcome = OutcomeKind::new("failed", Reinforcement::Bad);
        let lesson =
            Lesson { action: ended.entry, tool, params, outcome, reward: None, delay_s: 0.0, turn: ended.turn };
        self.learn(lesson, pulse);
    }
}

impl Hears<GoalChanged> for NucleusAccumbens {
    fn hear(&self, changed: &GoalChanged, pulse: &mut Pulse<'_, Self>) {
        if changed.active != self.goal {
            pulse.keep(NacEvent::Pursuing(Pursuing { pursued: changed.active.clone() }));
        }
    }
}

impl Hears<PredictOutcomes> for NucleusAccumbens {
    fn hear(&self, query: &PredictOutcomes, pulse: &mut Pulse<'_, Self>) {
        let params = params_of(&query.params);
        let kind = EventKind::of(&query.tool_name, &params);
        let key = kind.key();
        let is_known = self.links().record(&key).is_some();
        // Without parameters the tool in general is meant, unless it was used without any.
        let as_such = params.is_empty() && !is_known;
        let mut near: Vec<String> = match is_known {
            true => vec![key.clone()],
            false => self.links().similar(&kind).into_iter().map(|(key, _)| key.to_owned()).collect(),
        };
        let alike = if near.is_empty() { self.phrases.alike(&kind, &self.links()) } else { Vec::new() };
        near.extend(alike.iter().map(|(key, _)| key.clone()));
        self.recollect(near.iter().map(String::as_str), pulse.records());
        let links = self.links();
        let mut circumstances = self.circumstances(&params, pulse);
        let words = query.context["words"].as_str().unwrap_or_default();
        if !words.is_empty() && alike.is_empty() {
            let known = near.iter().filter_map(|key| links.record(key));
            circumstances = known.fold(circumstances, |now, record| now.said(words, &record.conditions));
        }
        let mut present = self.around.present(pulse.now());
        if let Some(record) = links.record(&key) {
            record.around.said(words, &mut present);
            present = record.around.choose(present);
        }
        let mut predicted = match as_such {
            true => links.predict_tool(&query.tool_name, &circumstances.pairs(), pulse.now()),
            false => links.predict_among(&kind, &circumstances.pairs(), &present, pulse.now()),
        };
        if predicted.basis == Basis::Unknown {
            let alike: Vec<(&str, f64)> = alike.iter().map(|(key, likeness)| (key.as_str(), *likeness)).collect();
            predicted = links.borrow(&alike, &circumstances.pairs(), pulse.now());
        }
        let observations = predicted.links.iter().map(|link| u64::from(link.observations)).sum();
        let shown = if query.include_all_outcomes { usize::MAX } else { 1 };
        pulse.reply(OutcomesPredicted {
            tool_name: query.tool_name.clone(),
            known: predicted.basis != Basis::Unknown,
            value: predicted.value,
            valence: predicted.valence,
            confidence: predicted.confidence,
            observations,
            delay_s: predicted.delay.map(|delay| [delay.median, delay.low, delay.high]),
            outcomes: predicted.outcomes.into_iter().take(shown).map(|o| (o.name, o.probability)).collect(),
            links: predicted.links.into_iter().map(|link| format!("{} -> {}", link.event, link.outcome)).collect(),
            episodes: predicted.episodes.iter().map(|id| id.to_string()).collect(),
        });
    }
}

impl Hears<ModeLowered> for NucleusAccumbens {
    fn hear(&self, lowered: &ModeLowered, pulse: &mut Pulse<'_, Self>) {
        pulse.keep(NacEvent::Confined(Confined { confined: lowered.to }));
    }
}

impl Hears<ListLinks> for NucleusAccumbens {
    fn hear(&self, wanted: &ListLinks, pulse: &mut Pulse<'_, Self>) {
        let listed = super::links::list(&self.links(), wanted, pulse.now());
        pulse.reply(listed);
    }
}

impl Hears<ReportStats> for NucleusAccumbens {
    fn hear(&self, _query: &ReportStats, pulse: &mut Pulse<'_, Self>) {
        let links = self.links().records().map(|(_, record)| record.links.len()).sum::<usize>();
        let kinds = self.links().kinds();
        let counts = serde_json::json!({ "links": links, "kinds": kinds, "observations": self.observations });
        pulse.reply(StatsReported { region: Self::NAME.into(), counts });
    }
}

//! The nucleus accumbens as a room: learns what actions lead to, and predicts it.
//!
//! Biology: dopaminergic reward prediction errors in the ventral striatum.
//! Law: Rescorla and Wagner (1972), see `law.rs`; links are keyed by kinds, never by values; values, goal and hour are
//! their conditions (`circumstances.rs`).
//! Remembers: links with their conditions, delays and episodes. Forgets: by unlearning.
//! Down: nothing is learned meanwhile, outcomes wait; predictions are a missing section.

use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use maxim_bus::signals::concepts::{KnowledgeRecalled, RecallKnowledge};
use maxim_bus::signals::goal::GoalChanged;
use maxim_bus::signals::introspection::{LinksListed, ListLinks};
use maxim_bus::signals::layers::{ExportRecords, HurtRecalled, ImportRecords, RecordsExported, RecordsImported};
use maxim_bus::signals::outbox::{DeliveryEnded, OutboxState};
use maxim_bus::signals::outcome::ToolResult;
use maxim_bus::signals::promotion::{CandidatesOffered, OfferCandidates};
use maxim_bus::signals::recall::{
    EpisodesCaptured, OutcomesPredicted, PredictOutcomes, PredictionErrorSensed, ReportStats, Reward, StatsReported,
};
use maxim_bus::signals::scene::SceneNoticed;
use maxim_bus::units::{Rpe, Value};
use maxim_bus::{MessageId, RegionName, Stage};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use super::alike::Phrases;
use super::circumstances::Circumstances;
use super::cues::{Around, CueStrengths, Present};
use super::event::{EventKind, OutcomeKind};
use super::law::{Reinforcement, value_of};
use super::model::{LinkTable, Observation};
use super::predict::Basis;
use super::remembering::Recalled;
use crate::action::tools::messaging::{CALL_USER, SEND_MESSAGE};
use crate::language::Encoder;
use crate::region::{Card, Hears, Pulse, RecordView, Region};
use crate::wiring;
use maxim_bus::Provenance;

/// How the room is set up.
#[derive(Clone, Debug)]
pub struct NacSettings {
    /// Learning rate α; 0 to 1. Default 0.14.
    pub alpha: f64,
    /// The mode that experience is made in.
    pub mode: String,
    /// Local time zone of the body.
    pub zone: TimeZone,
    /// Tells which kinds of events are called alike.
    pub encoder: Arc<dyn Encoder>,
}

/// Kinds of events that are known at once: each takes some kilobytes of the state, up to 70 for one that was met in many
/// circumstances.
pub const MOST_KINDS: usize = 400;

#[derive(Default, Serialize, Deserialize)]
pub struct NucleusAccumbens {
    links: Option<LinkTable>,
    pub(super) observations: u64,
    /// What is pursued at present.
    #[serde(default)]
    goal: Option<String>,
    /// What the senses report of the place.
    #[serde(default)]
    around: Around,
    #[serde(skip)]
    phrases: Phrases,
}

/// Untagged: an observation is written as it always was.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum NacEvent {
    Observed(Observed),
    Recalled(Box<Recalled>),
    Imported(Imported),
    Pursuing(Pursuing),
    Around(Around),
}

/// What was done elsewhere and is learned from here.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Imported {
    pub(super) imported: Vec<Observed>,
}

/// Another goal is pursued, or none.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pursuing {
    pursued: Option<String>,
}

/// What was learned from, whole: applying it again gives the same links.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Observed {
    pub(super) kind: EventKind,
    pub(super) outcome: OutcomeKind,
    pub(super) mode: String,
    /// Empty in what was learned before there were any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) circumstances: Vec<(String, String)>,
    /// What was around and took part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) around: Vec<Present>,
    /// Seconds, where they are known.
    pub(super) delay_s: Option<f64>,
    pub(super) episode: String,
    pub(super) at: Timestamp,
    pub(super) alpha: f64,
}

wiring!(NucleusAccumbens {
    hears: [
        ToolResult,
        DeliveryEnded,
        GoalChanged,
        SceneNoticed,
        EpisodesCaptured,
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
    const NAME: RegionName = "nucleus_accumbens";
    const STAGE: Stage = Stage::Learning;
    type Event = NacEvent;
    type Settings = NacSettings;

    fn card() -> Card<Self> {
        Self::wiring()
    }

    fn apply(&mut self, event: NacEvent) {
        match event {
            NacEvent::Observed(event) => self.learn_from(&event),
            NacEvent::Imported(Imported { imported }) => imported.iter().for_each(|event| self.learn_from(event)),
            NacEvent::Recalled(recalled) => {
                recalled.put(&mut self.links, &mut self.observations);
                self.links.iter_mut().for_each(|links| while links.let_go_beyond(MOST_KINDS).is_some() {});
                self.links.iter().for_each(|links| self.phrases.know_all(links));
            }
            NacEvent::Pursuing(Pursuing { pursued }) => self.goal = pursued,
            NacEvent::Around(around) => self.around = around,
        }
    }

    fn wake(&mut self, _records: &RecordView<'_>, settings: &NacSettings) {
        self.phrases = Phrases::with_encoder(Arc::clone(&settings.encoder));
        self.links.iter().for_each(|links| self.phrases.know_all(links));
    }

    fn read_to_wake(&mut self, _records: &RecordView<'_>, _settings: &NacSettings) {}
}

impl NucleusAccumbens {
    pub(super) fn links(&self) -> Option<&LinkTable> {
        self.links.as_ref()
    }

    pub(super) fn around(&self) -> &Around {
        &self.around
    }

    fn learn_from(&mut self, event: &Observed) {
        self.phrases.know(&event.kind);
        self.observations += 1;
        let links = self.links.get_or_insert_with(|| LinkTable::new(event.alpha));
        event.teach(links);
        if let Some(gone) = links.let_go_beyond(MOST_KINDS) {
            self.phrases.forget(&gone);
        }
    }
}

impl Observed {
    pub(super) fn teach(&self, links: &mut LinkTable) -> super::model::Update {
        let mut context: Vec<(&str, &str)> =
            self.circumstances.iter().map(|(field, value)| (field.as_str(), value.as_str())).collect();
        if context.is_empty() {
            context.push(("mode", self.mode.as_str()));
        }
        links.observe(&Observation {
            event: &self.kind,
            context: &context,
            outcome: &self.outcome,
            cues: &[],
            around: &self.around,
            delay: self.delay_s,
            episode: Some(&self.episode),
            provenance: Provenance::OwnExperience,
            at: self.at,
        })
    }
}

/// What of a result teaches: a stop, or what isn't here, says nothing about the action, ignorance neither.
fn outcome_of(result: &ToolResult) -> Option<OutcomeKind> {
    match (result.success, result.failure) {
        (_, Some(kind)) if kind.teaches_nothing() => None,
        (None, _) => None,
        (Some(false), Some(kind)) => Some(OutcomeKind::new(&format!("{kind:?}").to_lowercase(), Reinforcement::Bad)),
        (success, _) => Some(OutcomeKind::of_success(success)),
    }
}

fn params_of(params: &Json) -> Map<String, Json> {
    params.as_object().cloned().unwrap_or_default()
}

/// What an action led to.
struct Lesson<'a> {
    action: MessageId,
    tool: &'a str,
    params: Map<String, Json>,
    outcome: OutcomeKind,
    delay_s: f64,
    turn: MessageId,
}

impl NucleusAccumbens {
    /// Those of now.
    fn circumstances(&self, params: &Map<String, Json>, pulse: &Pulse<'_, Self>) -> Circumstances {
        let NacSettings { mode, zone, .. } = pulse.settings();
        Circumstances::of(params, mode, self.goal.as_deref(), pulse.now(), zone)
    }

    fn learn(&self, lesson: Lesson<'_>, pulse: &mut Pulse<'_, Self>) {
        let Lesson { action, tool, params, outcome, delay_s, turn } = lesson;
        let kind = EventKind::of(tool, &params);
        let key = kind.key();
        let before = self.links.as_ref().and_then(|links| links.record(&key));
        let present = self.around.present(pulse.now());
        let event = Observed {
            kind,
            outcome,
            mode: pulse.settings().mode.clone(),
            circumstances: self.circumstances(&params, pulse).into_pairs(),
            around: before.map(|record| &record.around).unwrap_or(&CueStrengths::default()).choose(present),
            delay_s: Some(delay_s),
            episode: turn.to_string(),
            at: pulse.now(),
            alpha: pulse.settings().alpha,
        };
        // Learned on one event's record, so that what is said is what will be applied.
        let mut trial = LinkTable::new(event.alpha);
        if let Some(record) = before {
            trial.restore_record(record.clone());
            if let Some(strength) = self.links.as_ref().and_then(|links| links.cue(&key)) {
                trial.restore_cue(key.clone(), strength);
            }
        }
        let expected = value_of(trial.sum(&key, &[], &event.around));
        let learned = event.teach(&mut trial);
        let lambda = Value::clamped(event.outcome.reinforcement.lambda());
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
        pulse.keep(NacEvent::Observed(event));
    }
}

impl Hears<ToolResult> for NucleusAccumbens {
    fn hear(&self, result: &ToolResult, pulse: &mut Pulse<'_, Self>) {
        let Some(outcome) = outcome_of(result) else { return };
        let lesson = Lesson {
            action: result.action,
            tool: &result.tool,
            params: params_of(&result.params),
            outcome,
            delay_s: result.duration_us as f64 / 1e6,
            turn: result.turn,
        };
        self.learn(lesson, pulse);
    }
}

/// That it was queued was no lie, and not what it was for: a message that failed for good is what writing led to.
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
        self.learn(Lesson { action: ended.entry, tool, params, outcome, delay_s: 0.0, turn: ended.turn }, pulse);
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
        let unlearned = LinkTable::new(pulse.settings().alpha);
        let links = self.links.as_ref().unwrap_or(&unlearned);
        let params = params_of(&query.params);
        let kind = EventKind::of(&query.tool_name, &params);
        let mut circumstances = self.circumstances(&params, pulse);
        let words = query.context["words"].as_str().unwrap_or_default();
        if !words.is_empty() {
            let known = links.records_of(&query.tool_name);
            circumstances = known.fold(circumstances, |now, (_, record)| now.said(words, &record.conditions));
        }
        let mut present = self.around.present(pulse.now());
        if let Some(record) = links.record(&kind.key()) {
            record.around.said(words, &mut present);
            present = record.around.choose(present);
        }
        let mut predicted = links.predict_among(&kind, &circumstances.pairs(), &present, pulse.now());
        if predicted.basis == Basis::Unknown {
            let alike = self.phrases.alike(&kind);
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

impl Hears<ListLinks> for NucleusAccumbens {
    fn hear(&self, wanted: &ListLinks, pulse: &mut Pulse<'_, Self>) {
        let unlearned = LinkTable::new(pulse.settings().alpha);
        let listed = super::links::list(self.links.as_ref().unwrap_or(&unlearned), wanted, pulse.now());
        pulse.reply(listed);
    }
}

impl Hears<ReportStats> for NucleusAccumbens {
    fn hear(&self, _query: &ReportStats, pulse: &mut Pulse<'_, Self>) {
        let links =
            self.links.iter().flat_map(|links| links.records()).map(|(_, record)| record.links.len()).sum::<usize>();
        let counts = serde_json::json!({ "links": links, "observations": self.observations });
        pulse.reply(StatsReported { region: Self::NAME.into(), available: true, reason: None, counts });
    }
}

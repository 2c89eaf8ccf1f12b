//! The statistician as a room: finds regularities in how the brain itself is doing.
//!
//! Biology: the statistical learning of the cortex, which notices what recurs without being told to.
//! Law: metrics of the running loop (success and time of each tool, success of each kind of goal, pain, energy,
//! people's response times) go through the states of `law.rs`. Correlations over time are found in `correlation.rs`.
//! Remembers: the newest values of each metric, its state, and correlations. Forgets: silent metrics, values from
//! before a pattern broke, and what a person has forgotten (`forgetting.rs`).
//! Down: outcomes wait; nothing is confirmed meanwhile.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use maxim_bus::rooms;
use maxim_bus::signals::bridges::EpisodeLived;
use maxim_bus::signals::concepts::RecordsRemoved;
use maxim_bus::signals::intent::Intent;
use maxim_bus::signals::layers::{ExportRecords, ImportRecords, RecordsExported, RecordsImported};
use maxim_bus::signals::numbers::{
    AnalyseSeries, JudgeSeries, MathRecordRemoved, MathRecordStored, MetricsCorrelated, PatternConfirmed,
    PatternDropped, SeriesAnalysed, SeriesJudged,
};
use maxim_bus::signals::outcome::{FailureKind, Outbound, ToolResult};
use maxim_bus::signals::percept::{AdmittedPercept, PainSignal};
use maxim_bus::signals::promotion::{CandidatesOffered, OfferCandidates};
use maxim_bus::signals::recall::{ReportStats, StatsReported};
use maxim_bus::signals::thought::{ActionSummary, ModelReply, TurnEnded};
use maxim_bus::units::Confidence;
use maxim_bus::{MessageId, RegionName, Stage, Trust};
use serde::{Deserialize, Serialize};

use super::correlation::{Claims, correlations};
use super::law::{self, Move, PatternLaw};
use super::model::{FRESH, HeldPattern, JUDGE_EVERY, MOST_METRICS, Measured, Metric, MetricState, Metrics};
use super::wording::word;
use maxim_bus::rooms::RESPOND;
use maxim_language::{is_stop_word, words};
use maxim_region::wiring;
use maxim_region::{Hears, Law, Pulse, Region, RemembersInState, StatePart, StatePuts, part};

/// A person who answers later than this has begun a new conversation.
const SITTING: SignedDuration = SignedDuration::from_mins(30);
/// Maximum number of goals of open turns and of people spoken to; the oldest are removed.
const MOST_OPEN: usize = 64;
/// Number of values after which a lasting pattern is reported again with its new numbers.
const RENEW_EVERY: u64 = 16;
/// Number of words that name a kind of goal.
const GOAL_WORDS: usize = 2;
/// Maximum characters of a name that an outsider chose.
const NAME_CHARS: usize = 64;

/// The room's settings.
#[derive(Clone, Debug)]
pub struct StatisticianSettings {
    /// Length of the time buckets for rates and correlations; default 10 min.
    pub stretch: SignedDuration,
    pub law: PatternLaw,
}

impl Default for StatisticianSettings {
    fn default() -> Self {
        Self { stretch: SignedDuration::from_mins(10), law: PatternLaw::default() }
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Statistician {
    pub(super) metrics: Metrics,
    claims: Claims,
    /// The current time bucket.
    stretch: Option<i64>,
    pains: f64,
    tokens: f64,
    /// Whether a model was asked at all: otherwise there is no use of energy to measure.
    spends: bool,
    /// Kind of goal of each open turn.
    pub(super) goals: BTreeMap<MessageId, String>,
    /// When each person was last spoken to, by channel and name.
    spoken: BTreeMap<String, Timestamp>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum StatisticianEvent {
    Measured(Measured),
    Stretch { number: i64 },
    Hurt,
    Spent { tokens: u32 },
    Asked { metric: String, at: Timestamp },
    Judged { metric: String, pattern: Option<HeldPattern> },
    Moved { metric: String, state: MetricState, pattern: Option<HeldPattern> },
    Dropped { metric: String },
    Recorded { metric: String, record: Option<String> },
    Claimed(Claims),
    GoalNoted { turn: MessageId, kind: String },
    TurnClosed { turn: MessageId },
    Spoke { person: String, at: Timestamp },
    Answered { person: String },
    LetGo(RecordsRemoved),
    Imported(StatePuts),
}

wiring!(Statistician {
    hears: [
        ToolResult,
        PainSignal,
        Intent,
        TurnEnded,
        EpisodeLived,
        ModelReply,
        Outbound,
        AdmittedPercept,
        SeriesJudged,
        SeriesAnalysed,
        MathRecordStored,
        MathRecordRemoved,
        RecordsRemoved,
        OfferCandidates,
        ReportStats,
        ExportRecords,
        ImportRecords,
    ],
    back: [],
    emits: [
        JudgeSeries,
        AnalyseSeries,
        PatternConfirmed,
        PatternDropped,
        MetricsCorrelated,
        CandidatesOffered,
        StatsReported,
        RecordsExported,
        RecordsImported,
    ],
});

impl Region for Statistician {
    const NAME: RegionName = rooms::STATISTICIAN;
    const STAGE: Stage = Stage::Learning;
    type Event = StatisticianEvent;
    type Settings = StatisticianSettings;

    fn apply(&mut self, event: StatisticianEvent) {
        match event {
            StatisticianEvent::Measured(measured) => self.metrics.measure(&measured),
            StatisticianEvent::LetGo(removed) => {
                self.metrics.let_go(&removed);
                self.goals.retain(|turn, _| !removed.ids.contains(&turn.to_string()));
            }
            StatisticianEvent::Imported(puts) => puts.apply_to(self),
            StatisticianEvent::Stretch { number } => {
                (self.stretch, self.pains, self.tokens) = (Some(number), 0.0, 0.0);
            }
            StatisticianEvent::Hurt => self.pains += 1.0,
            StatisticianEvent::Spent { tokens } => {
                self.tokens += f64::from(tokens);
                self.spends = true;
            }
            StatisticianEvent::Claimed(claims) => self.claims = claims,
            StatisticianEvent::GoalNoted { turn, kind } => {
                // Ids begin with their time, so the first is the oldest.
                while self.goals.len() >= MOST_OPEN && self.goals.pop_first().is_some() {}
                self.goals.insert(turn, kind);
            }
            StatisticianEvent::TurnClosed { turn } => drop(self.goals.remove(&turn)),
            StatisticianEvent::Spoke { person, at } => {
                self.spoken.retain(|_, spoke| at.duration_since(*spoke) <= SITTING);
                while self.spoken.len() >= MOST_OPEN && self.spoken.pop_first().is_some() {}
                self.spoken.insert(person, at);
            }
            StatisticianEvent::Answered { person } => drop(self.spoken.remove(&person)),
            StatisticianEvent::Asked { metric, .. }
            | StatisticianEvent::Judged { metric, .. }
            | StatisticianEvent::Moved { metric, .. }
            | StatisticianEvent::Dropped { metric }
            | StatisticianEvent::Recorded { metric, .. }
                if self.metrics.get(&metric).is_none() => {} // it was removed since
            StatisticianEvent::Asked { metric, at } => self.with(&metric, |it| (it.asked, it.unjudged) = (Some(at), 0)),
            StatisticianEvent::Judged { metric, pattern } => {
                self.with(&metric, |it| (it.asked, it.pattern) = (None, pattern));
            }
            StatisticianEvent::Moved { metric, state, pattern } => {
                self.with(&metric, |it| (it.asked, it.state, it.pattern) = (None, state, pattern));
            }
            StatisticianEvent::Dropped { metric } => self.with(&metric, |it| {
                (it.asked, it.state, it.pattern, it.record) = (None, MetricState::Observing, None, None);
                it.values.drain(..it.values.len().saturating_sub(FRESH));
            }),
            StatisticianEvent::Recorded { metric, record } => self.with(&metric, |it| it.record = record),
        }
    }
}

/// A value for a metric.
struct Reading {
    metric: String,
    value: f64,
    trust: Trust,
    episode: Option<MessageId>,
}

impl RemembersInState for Statistician {
    const PARTS: &'static [StatePart] =
        &[part("metrics", Law::Each { most: MOST_METRICS, evidence: &["observations"] }), part("claims", Law::Whole)];

    fn imported(puts: StatePuts) -> StatisticianEvent {
        StatisticianEvent::Imported(puts)
    }
}

impl Statistician {
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    fn with(&mut self, metric: &str, change: impl FnOnce(&mut Metric)) {
        if let Some(metric) = self.metrics.get_mut(metric) {
            change(metric);
        }
    }

    /// Takes readings, closes a finished time bucket, and requests due verdicts.
    fn read(&self, readings: Vec<Reading>, pulse: &mut Pulse<'_, Self>) {
        let now = pulse.now();
        let length = pulse.settings().stretch.as_secs().max(1);
        let number = now.as_second().div_euclid(length);
        let mut measured = Vec::new();
        if let Some(old) = self.stretch.filter(|old| *old != number) {
            self.close(old, pulse, &mut measured);
        }
        if self.stretch != Some(number) {
            pulse.keep(StatisticianEvent::Stretch { number });
        }
        measured.extend(readings.into_iter().map(|Reading { metric, value, trust, episode }| {
            let episode = episode.map(|turn| turn.to_string());
            Measured { metric, value, at: now, bucket: number, episode, trust }
        }));
        // Judged on trial copies, so that the question matches what will be applied.
        let mut trial: BTreeMap<String, Metric> = BTreeMap::new();
        for measured in measured {
            let known = || self.metrics.get(&measured.metric).cloned().unwrap_or_default();
            trial.entry(measured.metric.clone()).or_insert_with(known).measure(&measured);
            pulse.keep(StatisticianEvent::Measured(measured));
        }
        for (metric, state) in trial {
            if state.is_due(now) {
                let reference = state.pattern.as_ref().map(|held| held.level);
                pulse.keep(StatisticianEvent::Asked { metric: metric.clone(), at: now });
                pulse.ask(JudgeSeries { series: metric, values: state.window(), reference });
            }
        }
    }

    /// A time bucket is over: its rates are new values, and correlations are computed again.
    fn close(&self, number: i64, pulse: &mut Pulse<'_, Self>, measured: &mut Vec<Measured>) {
        let mut rate = |metric: &str, value: f64| {
            let (at, metric) = (pulse.now(), metric.to_owned());
            measured.push(Measured { metric, value, at, bucket: number, episode: None, trust: Trust::Own });
        };
        rate("pain:rate", self.pains);
        if self.spends {
            rate("energy:rate", self.tokens);
        }
        let mut metrics = self.metrics.clone();
        measured.iter().for_each(|measured| metrics.measure(measured));
        let is_trending = |name: &String| metrics.get(name).is_some_and(Metric::is_trending);
        let (claims, changes) = self.claims.renewed(&correlations(&metrics), |(a, b)| is_trending(a) && is_trending(b));
        for change in changes {
            let (a, b) = change.pair;
            let trust = |name: &str| metrics.get(name).map_or(Trust::Own, Metric::trust);
            let (trust, shared) = (trust(&a).min(trust(&b)), change.found.shared);
            pulse.emit(MetricsCorrelated {
                metrics: [a, b],
                rho: change.found.rho,
                p: change.found.p,
                q: change.found.q,
                observations: shared,
                confidence: Confidence::of_observations(shared as u64),
                holds: change.holds,
                trends: change.trends,
                trust,
            });
        }
        if claims != self.claims {
            pulse.keep(StatisticianEvent::Claimed(claims));
        }
    }

    fn moves(&self, name: &str, metric: &Metric, step: Move, pulse: &mut Pulse<'_, Self>) {
        let owned = name.to_owned();
        match step {
            Move::Stay { pattern } => {
                // The description of a lasting pattern is updated now and then.
                let renewed = metric.observations % RENEW_EVERY < u64::from(JUDGE_EVERY);
                if let (true, MetricState::ConfirmedPattern, Some(held)) = (renewed, metric.state, &pattern) {
                    self.confirm(name, metric, held, pulse);
                }
                pulse.keep(StatisticianEvent::Judged { metric: owned, pattern });
            }
            Move::To { state, pattern } => {
                if let (MetricState::ConfirmedPattern, Some(held)) = (state, &pattern) {
                    self.confirm(name, metric, held, pulse);
                }
                pulse.keep(StatisticianEvent::Moved { metric: owned.clone(), state, pattern });
                if state == MetricState::EscalatedToAg {
                    let at = pulse.now();
                    pulse.keep(StatisticianEvent::Asked { metric: owned.clone(), at });
                    pulse.ask(AnalyseSeries { series: owned, values: metric.window() });
                }
            }
            Move::Drop { reason } => {
                pulse.keep(StatisticianEvent::Dropped { metric: owned.clone() });
                pulse.emit(PatternDropped { metric: owned, reason });
            }
        }
    }

    fn confirm(&self, name: &str, metric: &Metric, held: &HeldPattern, pulse: &mut Pulse<'_, Self>) {
        let worded = word(name, metric, &held.feature);
        pulse.emit(PatternConfirmed {
            metric: name.to_owned(),
            subject: worded.subject,
            feature: held.feature.clone(),
            verbal: worded.verbal,
            code: worded.code,
            values: metric.window(),
            outputs: worded.outputs,
            observations: metric.observations,
            confidence: Confidence::of_observations(metric.values.len() as u64),
            episodes: metric.sources.episodes.iter().cloned().collect(),
            trust: metric.trust(),
        });
    }
}

/// The kind of a goal: its first content words, without file names, numbers and quotes.
pub fn goal_kind(goal: &str) -> Option<String> {
    let plain: Vec<String> = goal
        .split_whitespace()
        .filter(|word| {
            word.trim_end_matches(['.', ',', ';', ':', '!', '?'])
                .chars()
                .all(|c| c.is_alphabetic() || c == '\'' || c == '-')
        })
        .flat_map(words)
        .map(|word| word.text)
        .filter(|word| !is_stop_word(word) && !["please", "kindly"].contains(&word.as_str()))
        .take(GOAL_WORDS)
        .collect();
    (!plain.is_empty()).then(|| plain.join(" ").chars().take(NAME_CHARS).collect())
}

impl Hears<ToolResult> for Statistician {
    /// Speaking always succeeds. A stop, an unknown result or a missing part says nothing about the tool.
    fn heeds(result: &ToolResult) -> bool {
        result.tool != RESPOND && !result.failure.is_some_and(FailureKind::teaches_nothing)
    }

    fn hear(&self, result: &ToolResult, pulse: &mut Pulse<'_, Self>) {
        let Some(success) = result.success else { return };
        let reading = |quantity: &str, value: f64| Reading {
            metric: format!("tool:{}:{quantity}", result.tool),
            value,
            trust: Trust::Own,
            episode: Some(result.turn),
        };
        let mut readings = vec![reading("success", f64::from(u8::from(success)))];
        // In virtual time nothing takes time.
        if result.duration_us > 0 {
            readings.push(reading("latency", result.duration_us as f64 / 1e6));
        }
        self.read(readings, pulse);
    }
}

impl Hears<PainSignal> for Statistician {
    fn hear(&self, _pain: &PainSignal, pulse: &mut Pulse<'_, Self>) {
        self.read(Vec::new(), pulse);
        pulse.keep(StatisticianEvent::Hurt);
    }
}

impl Hears<ModelReply> for Statistician {
    fn hear(&self, reply: &ModelReply, pulse: &mut Pulse<'_, Self>) {
        self.read(Vec::new(), pulse);
        pulse.keep(StatisticianEvent::Spent { tokens: reply.prompt_tokens.saturating_add(reply.completion_tokens) });
    }
}

impl Hears<Intent> for Statistician {
    /// Senders who may not command have no goals here, and their words never name a metric.
    fn heeds(intent: &Intent) -> bool {
        intent.tool != RESPOND && intent.trust >= Trust::Listed
    }

    fn hear(&self, intent: &Intent, pulse: &mut Pulse<'_, Self>) {
        if self.goals.contains_key(&intent.turn) {
            return;
        }
        if let Some(kind) = intent.goal.as_deref().and_then(goal_kind) {
            pulse.keep(StatisticianEvent::GoalNoted { turn: intent.turn, kind });
        }
    }
}

impl Statistician {
    /// A turn has ended, or an action in it that waited for a person. Its goal stays open while a person may still
    /// allow something.
    fn close_turn(&self, turn: MessageId, actions: &[ActionSummary], pulse: &mut Pulse<'_, Self>) {
        let Some(kind) = self.goals.get(&turn).filter(|_| !actions.iter().any(ActionSummary::is_asked)) else { return };
        let acts = actions.iter().filter(|act| act.tool != RESPOND);
        // Blocked, denied or stopped actions were never tried.
        let ends: Option<Vec<bool>> = acts.map(|act| act.status.success()).collect();
        if let Some(ends) = ends.filter(|ends| !ends.is_empty()) {
            let reached = ends.into_iter().all(|success| success);
            let metric = format!("goal:{kind}:success");
            let (value, episode) = (f64::from(u8::from(reached)), Some(turn));
            self.read(vec![Reading { metric, value, trust: Trust::Own, episode }], pulse);
        }
        pulse.keep(StatisticianEvent::TurnClosed { turn });
    }
}

impl Hears<TurnEnded> for Statistician {
    fn hear(&self, ended: &TurnEnded, pulse: &mut Pulse<'_, Self>) {
        self.close_turn(ended.turn, &ended.actions, pulse);
    }
}

impl Hears<EpisodeLived> for Statistician {
    fn heeds(lived: &EpisodeLived) -> bool {
        lived.retold
    }

    /// The result of an action that a person was asked about.
    fn hear(&self, lived: &EpisodeLived, pulse: &mut Pulse<'_, Self>) {
        self.close_turn(lived.turn, &lived.actions, pulse);
    }
}

fn person(channel: &str, name: &str) -> String {
    format!("{channel}/{}", name.chars().filter(|c| !c.is_control() && *c != ':').take(NAME_CHARS).collect::<String>())
}

impl Hears<Outbound> for Statistician {
    fn hear(&self, said: &Outbound, pulse: &mut Pulse<'_, Self>) {
        let (person, at) = (person(&said.channel, &said.recipient), pulse.now());
        pulse.keep(StatisticianEvent::Spoke { person, at });
    }
}

impl Hears<AdmittedPercept> for Statistician {
    fn hear(&self, admitted: &AdmittedPercept, pulse: &mut Pulse<'_, Self>) {
        let origin = &admitted.percept.metadata;
        let person = person(&origin.channel, &origin.sender);
        let Some(spoke) = self.spoken.get(&person) else { return };
        let took = pulse.now().duration_since(*spoke);
        if took <= SITTING {
            let (metric, value) = (format!("person:{person}:reply"), took.as_secs_f64());
            let trust = admitted.percept.trust;
            self.read(vec![Reading { metric, value, trust, episode: None }], pulse);
        }
        pulse.keep(StatisticianEvent::Answered { person });
    }
}

impl Hears<SeriesJudged> for Statistician {
    fn hear(&self, judged: &SeriesJudged, pulse: &mut Pulse<'_, Self>) {
        let Some(metric) = self.metrics.get(&judged.series).filter(|metric| metric.asked.is_some()) else { return };
        let step = law::judged(metric, judged, &pulse.settings().law);
        self.moves(&judged.series, metric, step, pulse);
    }
}

impl Hears<SeriesAnalysed> for Statistician {
    fn hear(&self, analysed: &SeriesAnalysed, pulse: &mut Pulse<'_, Self>) {
        let Some(metric) = self.metrics.get(&analysed.series) else { return };
        let step = law::analysed(metric, analysed);
        if step != (Move::Stay { pattern: metric.pattern.clone() }) {
            self.moves(&analysed.series, metric, step, pulse);
        }
    }
}

impl Hears<MathRecordStored> for Statistician {
    fn hear(&self, stored: &MathRecordStored, pulse: &mut Pulse<'_, Self>) {
        if self.metrics.get(&stored.name).is_some_and(|metric| metric.record.as_ref() != Some(&stored.id)) {
            let (metric, record) = (stored.name.clone(), Some(stored.id.clone()));
            pulse.keep(StatisticianEvent::Recorded { metric, record });
        }
    }
}

impl Hears<MathRecordRemoved> for Statistician {
    fn hear(&self, removed: &MathRecordRemoved, pulse: &mut Pulse<'_, Self>) {
        let known = self.metrics.get(&removed.name);
        if known.is_some_and(|metric| metric.record.as_ref() == Some(&removed.id)) {
            pulse.keep(StatisticianEvent::Recorded { metric: removed.name.clone(), record: None });
        }
    }
}

impl Hears<ReportStats> for Statistician {
    fn hear(&self, _query: &ReportStats, pulse: &mut Pulse<'_, Self>) {
        let mut states: BTreeMap<&str, u64> = BTreeMap::new();
        for (_, metric) in self.metrics.iter() {
            *states.entry(metric.state.as_str()).or_default() += 1;
        }
        let counts = serde_json::json!({
            "metrics": self.metrics.len(),
            "observations": self.metrics.iter().map(|(_, metric)| metric.observations).sum::<u64>(),
            "states": states,
            "correlated": self.claims.claimed.len(),
        });
        pulse.reply(StatsReported { region: Self::NAME.into(), counts });
    }
}

#[cfg(test)]
mod tests;

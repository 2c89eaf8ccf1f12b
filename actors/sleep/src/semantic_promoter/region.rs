//! The semantic promoter as a room: asks for repeated patterns, checks them, and teaches them to the anterior
//! temporal lobe.
//!
//! Biology: slow oscillations of sleep, in which the hippocampus teaches the cortex.
//! Law: `law.rs`. Noise, and candidates that only outsiders support, are rejected. Nothing is taught twice on the
//! same evidence.
//! Remembers: how often each pattern had been observed at its last promotion; the promotion in progress. Forgets: the
//! promotion, once it has ended.
//! Down: nothing is promoted meanwhile; every source keeps its candidates.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use maxim_bus::clock::Reckoned;
use maxim_bus::rooms;
use maxim_bus::signals::concepts::{
    ConceptFormed, ConceptRemoved, ConceptsLearned, EpisodesFetched, FetchEpisodes, LearnConcepts,
};
use maxim_bus::signals::layers::{ExportRecords, ImportRecords, RecordsExported, RecordsImported};
use maxim_bus::signals::numbers::{JudgeSeries, SeriesJudged, SeriesVerdict};
use maxim_bus::signals::promotion::{CandidatesOffered, OfferCandidates, Promote, PromotionEnded, PromotionVerdict};
use maxim_bus::signals::recall::{EpisodeStored, ReportStats, StatsReported};
use maxim_bus::{Name, RegionName, Stage};
use serde::{Deserialize, Serialize};

use super::law;
use super::run::{Offered, Phase, Run};
use maxim_config::{Shape, section};
use maxim_language::naming;
use maxim_region::wiring;
use maxim_region::{Hears, Law, Pulse, Region, RemembersInState, StatePart, StatePuts, part};

section! {
    /// What becomes general knowledge. How sure and how often stands at `memory.promotion_*`.
    PromoterKeys = "semantic_promoter" {
        /// Independent episodes of trusted origin that outweigh one of an outsider.
        witnesses: u32 = "2", "episodes", Shape::Integer { low: 2, high: 100 };
        /// Outcomes from which on it is asked whether they are chance.
        judged_from: u32 = "8", "outcomes", Shape::Integer { low: 4, high: 64 };
    }
}

/// The room's settings.
#[derive(Clone, Debug)]
pub struct PromoterSettings {
    /// Rooms that are asked for repeated patterns.
    pub sources: Vec<RegionName>,
    /// The room that judges series; none if it isn't built.
    pub judge: Option<RegionName>,
    /// Minimum confidence of a candidate, 0 to 1. Default 0.6.
    pub min_confidence: f64,
    /// Minimum confidence of a statistician's pattern, which is already tested, 0 to 1. Default 0.4.
    pub patterns_from: f64,
    /// Minimum number of observations. Default 3.
    pub min_observations: u64,
    /// Independent trusted episodes that outweigh an untrusted one.
    pub witnesses: usize,
    /// Number of outcomes from which a series is tested for chance.
    pub judged_from: usize,
    /// Promotion starts after this long without activity. Default 10 min.
    pub idle: SignedDuration,
    /// How long each step waits for another room. Default 2 s.
    pub patience: SignedDuration,
}

impl Default for PromoterSettings {
    fn default() -> Self {
        let keys = PromoterKeys::default();
        Self {
            sources: Vec::new(),
            judge: None,
            min_confidence: 0.6,
            patterns_from: 0.4,
            min_observations: 3,
            witnesses: keys.witnesses as usize,
            judged_from: keys.judged_from as usize,
            idle: SignedDuration::from_mins(10),
            patience: SignedDuration::from_secs(2),
        }
    }
}

/// Candidates checked and taught together.
const STEP: usize = 16;
/// Maximum number of candidates in one promotion.
const MOST_CANDIDATES: usize = 1_024;
/// Maximum number of patterns whose promotion is remembered; beyond it the first by name are removed.
const MOST_KNOWN: usize = 10_000;

#[derive(Default, Serialize, Deserialize)]
pub struct SemanticPromoter {
    run: Option<Box<Run>>,
    /// Observations of each pattern at its last promotion.
    known: BTreeMap<String, u64>,
    /// Names that a person had forgotten. They aren't learned again unless a person teaches them.
    forgotten: BTreeSet<String>,
    /// When the last episode was completed that no promotion has seen.
    stirred: Option<Timestamp>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum PromoterEvent {
    Stirred(Timestamp),
    Went(Box<Run>),
    Promoted {
        pattern: String,
        observations: u64,
    },
    Forgot {
        name: String,
    },
    Taught {
        name: String,
    },
    /// Its evidence was forgotten, so its promotion is forgotten too.
    Unlearned {
        name: String,
    },
    Ended,
    Imported(StatePuts),
}

wiring!(SemanticPromoter {
    hears: [
        EpisodeStored,
        Promote,
        CandidatesOffered,
        SeriesJudged,
        EpisodesFetched,
        ConceptsLearned,
        ConceptFormed,
        ConceptRemoved,
        ReportStats,
        ExportRecords,
        ImportRecords,
    ],
    back: [],
    emits: [
        OfferCandidates,
        JudgeSeries,
        FetchEpisodes,
        LearnConcepts,
        PromotionEnded,
        StatsReported,
        RecordsExported,
        RecordsImported,
    ],
});

impl Region for SemanticPromoter {
    const NAME: RegionName = rooms::SEMANTIC_PROMOTER;
    const STAGE: Stage = Stage::Sleep;
    type Event = PromoterEvent;
    type Settings = PromoterSettings;

    fn apply(&mut self, event: PromoterEvent) {
        match event {
            PromoterEvent::Stirred(at) => self.stirred = Some(at),
            PromoterEvent::Went(run) => {
                if self.run.is_none() {
                    self.stirred = None;
                }
                self.run = Some(run);
            }
            PromoterEvent::Promoted { pattern, observations } => {
                self.known.insert(pattern, observations);
                while self.known.len() > MOST_KNOWN {
                    self.known.pop_first();
                }
            }
            PromoterEvent::Forgot { name } => {
                self.forgotten.insert(name);
                while self.forgotten.len() > MOST_KNOWN {
                    self.forgotten.pop_first();
                }
            }
            PromoterEvent::Taught { name } => {
                self.forgotten.remove(&name);
            }
            PromoterEvent::Unlearned { name } => self.known.retain(|pattern, _| !is_of(pattern, &name)),
            PromoterEvent::Ended => self.run = None,
            PromoterEvent::Imported(puts) => puts.apply_to(self),
        }
    }

    fn next_deadline(&self, settings: &PromoterSettings) -> Option<Timestamp> {
        match &self.run {
            Some(run) => Some(run.due),
            None => self.stirred.map(|at| at.later(settings.idle)),
        }
    }

    fn tick(&self, pulse: &mut Pulse<'_, Self>) {
        let now = pulse.now();
        match &self.run {
            Some(run) if run.due <= now => self.give_up(run.as_ref().clone(), pulse),
            None if self.stirred.is_some_and(|at| at.later(pulse.settings().idle) <= now) => self.begin(None, pulse),
            _ => {}
        }
    }
}

impl RemembersInState for SemanticPromoter {
    const PARTS: &'static [StatePart] = &[
        part("known", Law::Each { most: MOST_KNOWN, evidence: &[] }),
        part("forgotten", Law::Names { most: MOST_KNOWN }),
    ];

    fn imported(puts: StatePuts) -> PromoterEvent {
        PromoterEvent::Imported(puts)
    }
}

/// Whether a pattern, by its key (see [`Offered::key`]), became the concept with this name.
fn is_of(pattern: &str, name: &str) -> bool {
    pattern.split_once(": ").is_some_and(|(_, promoted)| naming::key(promoted) == name)
}

/// The number of candidates to check and teach next.
fn step(run: &Run) -> usize {
    law::fits(run.candidates.iter().map(|offered| &offered.candidate), STEP).min(run.candidates.len())
}

impl SemanticPromoter {
    fn begin(&self, asker: Option<Name>, pulse: &mut Pulse<'_, Self>) {
        let settings = pulse.settings();
        let turn = pulse.turn();
        let mut run = Run::new(asker.map(|asker| (asker, turn)), turn, self.due(pulse), settings.sources.len());
        if settings.sources.is_empty() {
            run.report.reason = Some("no room offers anything to promote".into());
            return self.end(run, pulse);
        }
        let asked =
            OfferCandidates { min_confidence: settings.min_confidence, min_observations: settings.min_observations };
        pulse.emit_in(turn, asked);
        pulse.keep(PromoterEvent::Went(Box::new(run)));
    }

    fn due(&self, pulse: &Pulse<'_, Self>) -> Timestamp {
        pulse.now().later(pulse.settings().patience)
    }

    /// The judging phase: removes candidates that are too weak or not new, and requests judgement where needed.
    fn judge(&self, mut run: Run, pulse: &mut Pulse<'_, Self>) {
        let settings = pulse.settings();
        run.report.offered = run.candidates.len() as u64;
        for offered in std::mem::take(&mut run.candidates) {
            let before = self.known.get(&offered.key()).copied();
            let confidence = match offered.source.as_str() {
                "statistician" => settings.min_confidence.min(settings.patterns_from),
                _ => settings.min_confidence,
            };
            let observations = settings.min_observations;
            let forgotten = self.forgotten.contains(&naming::key(&offered.candidate.name));
            let verdict = match forgotten {
                true => Some(PromotionVerdict::Forgotten),
                false if offered.contradicted => before.is_none().then_some(PromotionVerdict::NothingNew),
                false => law::first_verdict(&offered.candidate, confidence, observations, before),
            };
            match verdict {
                Some(verdict) => run.verdict(&offered.candidate.name, verdict),
                None => run.candidates.push_back(offered),
            }
        }
        run.phase = Phase::Judging;
        run.waiting = 0;
        for offered in std::mem::take(&mut run.candidates) {
            match (law::needs_judgement(&offered.source, &offered.candidate, settings.judged_from), settings.judge) {
                (true, Some(judge)) => {
                    let values = offered.candidate.series.clone();
                    pulse.emit_to(judge, run.turn, JudgeSeries { series: offered.key(), values, reference: None });
                    run.waiting += 1;
                    run.candidates.push_back(offered);
                }
                (true, None) => run.verdict(&offered.candidate.name, PromotionVerdict::Unjudged),
                (false, _) => run.candidates.push_back(offered),
            }
        }
        run.due = self.due(pulse);
        match run.waiting {
            0 => self.check(run, pulse),
            _ => pulse.keep(PromoterEvent::Went(Box::new(run))),
        }
    }

    /// Fetches the evidence of the next candidates; when there are none, the promotion has ended.
    fn check(&self, mut run: Run, pulse: &mut Pulse<'_, Self>) {
        if run.candidates.is_empty() {
            return self.end(run, pulse);
        }
        run.evidence.clear();
        run.fetched = 0;
        run.phase = Phase::Checking;
        self.fetch(run, pulse);
    }

    /// Requests the next episodes of the candidates being checked; when none are left, the candidates are taught.
    fn fetch(&self, mut run: Run, pulse: &mut Pulse<'_, Self>) {
        let next = run.candidates.iter().take(step(&run));
        let all: BTreeSet<&String> = next.flat_map(|offered| &offered.candidate.episodes).collect();
        let ids: Vec<String> = all.into_iter().skip(run.fetched).take(law::FETCHED).cloned().collect();
        if ids.is_empty() {
            return self.teach(run, pulse);
        }
        run.due = self.due(pulse);
        run.fetched += ids.len();
        run.waiting = 1;
        pulse.emit_to(rooms::HIPPOCAMPUS, run.turn, FetchEpisodes { ids, only: None });
        pulse.keep(PromoterEvent::Went(Box::new(run)));
    }

    /// Teaches those of the checked candidates that hold.
    fn teach(&self, mut run: Run, pulse: &mut Pulse<'_, Self>) {
        let (mut lessons, checked) = (Vec::new(), step(&run));
        for offered in run.candidates.drain(..checked).collect::<Vec<_>>() {
            let name = &offered.candidate.name;
            match law::corroborate(&offered.candidate, &run.evidence, pulse.settings().witnesses) {
                Some(corroborated) => {
                    lessons.push(law::lesson(&offered.source, &offered.candidate, &corroborated));
                    // If it holds again later, it is taught as before, without another observation.
                    let observations = if offered.contradicted { 0 } else { offered.candidate.observations };
                    pulse.keep(PromoterEvent::Promoted { pattern: offered.key(), observations });
                    run.verdict(name, PromotionVerdict::Promoted);
                }
                None => run.verdict(name, PromotionVerdict::Uncorroborated),
            }
        }
        run.evidence.clear();
        if lessons.is_empty() {
            return self.check(run, pulse);
        }
        run.phase = Phase::Teaching;
        run.waiting = 1;
        run.due = self.due(pulse);
        // The signal is durable: lessons survive a crash, so they need not be taught again.
        pulse.emit_to(rooms::ANTERIOR_TEMPORAL_LOBE, run.turn, LearnConcepts { lessons });
        pulse.keep(PromoterEvent::Went(Box::new(run)));
    }

    fn end(&self, run: Run, pulse: &mut Pulse<'_, Self>) {
        let Run { asker, mut report, .. } = run;
        if !report.unheard.is_empty() {
            report.reason = Some(format!("{} did not answer in time", report.unheard.join(", ")));
        }
        pulse.keep(PromoterEvent::Ended);
        if let Some((asker, turn)) = asker {
            pulse.emit_to(asker, turn, report);
        }
    }

    /// A room did not answer in time: the promotion continues without its answer.
    fn give_up(&self, mut run: Run, pulse: &mut Pulse<'_, Self>) {
        run.waiting = 0;
        match run.phase {
            Phase::Offering => {
                let sources = pulse.settings().sources.iter().copied();
                let silent: Vec<RegionName> =
                    sources.filter(|room| !run.report.sources.iter().any(|told| told == room)).collect();
                silent.into_iter().for_each(|room| run.unheard(room));
                self.judge(run, pulse);
            }
            Phase::Judging => {
                for offered in std::mem::take(&mut run.candidates) {
                    match law::needs_judgement(&offered.source, &offered.candidate, pulse.settings().judged_from) {
                        true => run.verdict(&offered.candidate.name, PromotionVerdict::Unjudged),
                        false => run.candidates.push_back(offered),
                    }
                }
                run.unheard(pulse.settings().judge.unwrap_or("the judge"));
                self.check(run, pulse);
            }
            Phase::Checking => {
                let unchecked = step(&run);
                for offered in run.candidates.drain(..unchecked).collect::<Vec<_>>() {
                    run.verdict(&offered.candidate.name, PromotionVerdict::Unjudged);
                }
                run.unheard(rooms::HIPPOCAMPUS);
                self.check(run, pulse);
            }
            Phase::Teaching => {
                run.unheard(rooms::ANTERIOR_TEMPORAL_LOBE);
                self.check(run, pulse);
            }
        }
    }

    /// The promotion in progress, if it is in this phase and this message belongs to it.
    fn in_phase(&self, phase: Phase, pulse: &Pulse<'_, Self>) -> Option<Run> {
        let turn = pulse.cause()?.correlation;
        self.run.as_deref().filter(|run| run.phase == phase && run.turn == turn).cloned()
    }
}

impl Hears<EpisodeStored> for SemanticPromoter {
    fn heeds(stored: &EpisodeStored) -> bool {
        stored.complete
    }

    fn hear(&self, _stored: &EpisodeStored, pulse: &mut Pulse<'_, Self>) {
        pulse.keep(PromoterEvent::Stirred(pulse.now()));
    }
}

impl Hears<Promote> for SemanticPromoter {
    fn hear(&self, _wish: &Promote, pulse: &mut Pulse<'_, Self>) {
        let asker = pulse.cause().map(|cause| cause.sender.clone());
        match self.run.as_deref() {
            None => self.begin(asker, pulse),
            // A promotion that the room began by itself teaches the same. A request that comes meanwhile gets its
            // report.
            Some(run) if run.asker.is_none() => {
                let mut run = run.clone();
                run.asker = asker.map(|asker| (asker, pulse.turn()));
                pulse.keep(PromoterEvent::Went(Box::new(run)));
            }
            Some(_) => {
                let reason = Some("another promotion is under way; its lessons are the same".to_owned());
                pulse.reply(PromotionEnded { reason, ..PromotionEnded::default() });
            }
        }
    }
}

impl Hears<CandidatesOffered> for SemanticPromoter {
    fn hear(&self, offer: &CandidatesOffered, pulse: &mut Pulse<'_, Self>) {
        let Some(mut run) = self.in_phase(Phase::Offering, pulse) else { return };
        if run.report.sources.contains(&offer.source) {
            return;
        }
        run.report.sources.push(offer.source.clone());
        let room = MOST_CANDIDATES.saturating_sub(run.candidates.len());
        let plain = offer.candidates.iter().map(|candidate| (candidate, false));
        let offered = plain.chain(offer.contradicted.iter().map(|candidate| (candidate, true))).take(room);
        let source = offer.source.clone();
        run.candidates.extend(offered.map(|(candidate, contradicted)| Offered {
            source: source.clone(),
            candidate: candidate.clone(),
            contradicted,
        }));
        run.waiting = run.waiting.saturating_sub(1);
        if run.waiting == 0 {
            // Sources answer in any order; the lessons must not depend on it.
            run.report.sources.sort();
            run.candidates.make_contiguous().sort_by_key(Offered::key);
            return self.judge(run, pulse);
        }
        pulse.keep(PromoterEvent::Went(Box::new(run)));
    }
}

impl Hears<SeriesJudged> for SemanticPromoter {
    fn hear(&self, judged: &SeriesJudged, pulse: &mut Pulse<'_, Self>) {
        let Some(mut run) = self.in_phase(Phase::Judging, pulse) else { return };
        let Some(at) = run.candidates.iter().position(|offered| offered.key() == judged.series) else { return };
        if judged.verdict == SeriesVerdict::Random
            && let Some(noise) = run.candidates.remove(at)
        {
            run.verdict(&noise.candidate.name, PromotionVerdict::Noise);
        }
        run.waiting = run.waiting.saturating_sub(1);
        match run.waiting {
            0 => self.check(run, pulse),
            _ => pulse.keep(PromoterEvent::Went(Box::new(run))),
        }
    }
}

impl Hears<EpisodesFetched> for SemanticPromoter {
    fn hear(&self, fetched: &EpisodesFetched, pulse: &mut Pulse<'_, Self>) {
        let Some(mut run) = self.in_phase(Phase::Checking, pulse) else { return };
        run.evidence.extend(fetched.episodes.iter().map(|one| (one.asked.clone(), one.clone())));
        // A candidate with more episodes than are fetched at once is checked alone.
        let more = run.candidates.front().filter(|offered| offered.candidate.episodes.len() > run.fetched);
        let undecided = more.is_some() && !law::is_decided(&run.evidence, pulse.settings().witnesses);
        if !undecided {
            return self.teach(run, pulse);
        }
        law::keep_telling(&mut run.evidence);
        self.fetch(run, pulse);
    }
}

impl Hears<ConceptsLearned> for SemanticPromoter {
    fn hear(&self, learned: &ConceptsLearned, pulse: &mut Pulse<'_, Self>) {
        let Some(mut run) = self.in_phase(Phase::Teaching, pulse) else { return };
        for (name, why) in &learned.refused {
            tracing::warn!(name, why, "a lesson of sleep was refused");
        }
        run.report.created += learned.learned.iter().filter(|one| one.created).count() as u64;
        run.report.reinforced += learned.learned.iter().filter(|one| !one.created && one.reinforced).count() as u64;
        self.check(run, pulse);
    }
}

impl Hears<ConceptRemoved> for SemanticPromoter {
    fn hear(&self, removed: &ConceptRemoved, pulse: &mut Pulse<'_, Self>) {
        let name = naming::key(&removed.name);
        if removed.reason == ConceptRemoved::UNFOUNDED && self.known.keys().any(|pattern| is_of(pattern, &name)) {
            pulse.keep_gone(PromoterEvent::Unlearned { name }, true);
        } else if removed.reason == ConceptRemoved::FORGOTTEN {
            pulse.keep(PromoterEvent::Forgot { name });
        }
    }
}

impl Hears<ConceptFormed> for SemanticPromoter {
    fn hear(&self, formed: &ConceptFormed, pulse: &mut Pulse<'_, Self>) {
        let name = naming::key(&formed.name);
        if self.forgotten.contains(&name) {
            pulse.keep(PromoterEvent::Taught { name });
        }
    }
}

impl Hears<ReportStats> for SemanticPromoter {
    fn hear(&self, _query: &ReportStats, pulse: &mut Pulse<'_, Self>) {
        let counts = serde_json::json!({ "promoted_patterns": self.known.len() });
        pulse.reply(StatsReported { region: Self::NAME.into(), counts });
    }
}

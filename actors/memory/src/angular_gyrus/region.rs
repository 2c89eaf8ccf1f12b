//! The angular gyrus as a room: the memory layer of numerical knowledge, which also computes.
//!
//! Biology: the gyrus of the parietal lobe at which arithmetic facts are retrieved (Dehaene et al. 2003).
//! Law: exact arithmetic on fractions, statistics and small matrices (`arithmetic.rs`, `statistics.rs`, `matrix.rs`);
//! what was computed or confirmed is a record that is found by its words (`model.rs`).
//! Remembers: results, patterns of metrics, what goes together, what works with what. Forgets: the data of records that
//! were not used for a month, the least used results when it is full, patterns that stopped holding, and what a person
//! has forgotten (`upkeep.rs`).
//! Down: nothing is computed, and nothing is known of numbers; patterns wait.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use maxim_bus::Trust;
use maxim_bus::clock::Reckoned;
use maxim_bus::rooms;
use maxim_bus::signals::concepts::{
    ConsolidateLayer, ForgetRecord, KnowledgeRecalled, LayerConsolidated, LayerLinked, PinRecord, RecallKnowledge,
    RecordChanged, RecordsLinked, RecordsRemoved,
};
use maxim_bus::signals::layers::{ExportRecords, ImportRecords, RecordsExported, RecordsImported};
use maxim_bus::signals::numbers::{
    AnalyseSeries, Calculate, Calculated, MathCategory, MathProvenance, MathRecord, MathRecordRemoved,
    MathRecordStored, MetricsCorrelated, PatternConfirmed, PatternDropped, SeriesAnalysed,
};
use maxim_bus::signals::recall::{ReportStats, StatsReported};
use maxim_bus::signals::skill::ExecutesWithLearned;
use maxim_bus::units::Confidence;
use maxim_bus::{RegionName, Stage};
use maxim_config::{Shape, Span, section};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::calculator::{Fact, answer};
use super::linking::tell_edges;
use super::model::{Consolidated, MathStore};
use maxim_language::numbers::analysis::analyse;
use maxim_region::wiring;
use maxim_region::{Hears, Pulse, RecordView, Region};

/// How often it checks what may be compressed.
const UPKEEP: SignedDuration = SignedDuration::from_hours(24);
/// Domain of patterns that the statistician confirms.
pub const METRICS: &str = "metrics";
/// Domain of records about what works with what.
pub const SKILLS: &str = "skills";

/// Maximum number of episodes that a computed result names.
const MOST_EPISODES: usize = 8;

section! {
    /// How long records of numbers stay whole.
    #[derive(Copy)]
    NumberLaw = "angular_gyrus" {
        /// A record that nobody asked for over this time is made small in sleep.
        consolidated_after: Span = "30days", "time", Shape::Span { low: "1h", high: "36500days" };
    }
}

/// Settings of the room.
#[derive(Clone, Debug, Default)]
pub struct GyrusSettings {
    /// Names this run in stored records.
    pub run: String,
    pub law: NumberLaw,
}

#[derive(Default, Serialize, Deserialize)]
pub struct AngularGyrus {
    /// Uses of each record, by id. They are kept here, so that a question doesn't rewrite records.
    uses: BTreeMap<String, (u32, Timestamp)>,
    computed: u64,
    failed: u64,
    /// When upkeep is due; `None` while there is nothing to do.
    upkeep: Option<Timestamp>,
    #[serde(skip)]
    store: MathStore,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum GyrusEvent {
    Computed { ok: bool },
    Stored(Box<MathRecord>),
    Used { ids: Vec<String>, at: Timestamp },
    Removed { id: String },
    Pinned { id: String, pinned: bool },
    Kept { report: Consolidated, at: Timestamp },
}

wiring!(AngularGyrus {
    hears: [
        Calculate,
        AnalyseSeries,
        RecallKnowledge,
        RecordsRemoved,
        ConsolidateLayer,
        PinRecord,
        ForgetRecord,
        ReportStats,
        ExportRecords,
        ImportRecords,
    ],
    back: [PatternConfirmed, PatternDropped, MetricsCorrelated, ExecutesWithLearned],
    emits: [
        Calculated,
        SeriesAnalysed,
        MathRecordStored,
        MathRecordRemoved,
        RecordsRemoved,
        RecordsLinked,
        LayerLinked,
        RecordChanged,
        KnowledgeRecalled,
        LayerConsolidated,
        StatsReported,
        RecordsExported,
        RecordsImported,
    ],
});

pub(super) fn record_key(id: &str) -> Vec<u8> {
    format!("math/{id}").into_bytes()
}

impl Region for AngularGyrus {
    const NAME: RegionName = rooms::ANGULAR_GYRUS;
    const STAGE: Stage = Stage::Memory;
    type Event = GyrusEvent;
    type Settings = GyrusSettings;

    fn apply(&mut self, event: GyrusEvent) {
        match event {
            GyrusEvent::Computed { ok } => {
                self.computed += u64::from(ok);
                self.failed += u64::from(!ok);
            }
            GyrusEvent::Stored(record) => {
                self.upkeep.get_or_insert(record.created.max(record.accessed).later(UPKEEP));
                self.store.store(*record);
            }
            GyrusEvent::Used { ids, at } => {
                for id in ids {
                    self.store.touch(&id, at);
                    let uses = self.uses.entry(id).or_insert((0, at));
                    *uses = (uses.0.saturating_add(1), uses.1.max(at));
                }
            }
            GyrusEvent::Removed { id } => {
                self.uses.remove(&id);
                self.store.remove(&id);
            }
            GyrusEvent::Pinned { id, pinned } => self.store.pin(&id, pinned),
            GyrusEvent::Kept { report, at } => {
                self.uses.retain(|id, _| !report.pruned.iter().any(|(pruned, _)| pruned == id));
                self.store.apply(&report);
                self.upkeep = (self.store.learned().next().is_some()).then_some(at.later(UPKEEP));
            }
        }
    }

    fn wake(&mut self, records: &RecordView<'_>, _settings: &GyrusSettings) {
        self.store = MathStore::default();
        for (_, bytes) in records.prefixed(b"math/", usize::MAX) {
            match serde_json::from_slice::<MathRecord>(&bytes) {
                Ok(record) => drop(self.store.store(record)),
                Err(error) => tracing::error!(%error, "a record of the angular gyrus can't be read; it is left out"),
            }
        }
        for (id, (count, at)) in &self.uses {
            (0..*count).for_each(|_| self.store.touch(id, *at));
        }
    }

    fn next_deadline(&self, _settings: &GyrusSettings) -> Option<Timestamp> {
        self.upkeep
    }

    fn tick(&self, pulse: &mut Pulse<'_, Self>) {
        let report = self.store.consolidate(pulse.now(), pulse.settings().law.consolidated_after.days());
        self.keep_up(report, pulse);
    }
}

/// The content of a record; the room gives it its identity.
struct Said {
    name: String,
    category: MathCategory,
    domain: &'static str,
    verbal: String,
    code: String,
    inputs: Vec<f64>,
    outputs: BTreeMap<String, f64>,
    relates: Vec<String>,
    confidence: Confidence,
    episodes: Vec<String>,
    /// True if it comes from more episodes than it names.
    others: bool,
    long_term: bool,
    trust: Trust,
}

impl AngularGyrus {
    /// The content of the layer.
    pub fn memory(&self) -> &MathStore {
        &self.store
    }

    fn store(&self, said: Said, pulse: &mut Pulse<'_, Self>) {
        let now = pulse.now();
        let known = self.store.named(&said.name);
        let id = known.map_or_else(|| pulse.fresh_id().to_string(), |known| known.id.clone());
        let record = MathRecord {
            id: id.clone(),
            name: said.name,
            category: said.category,
            domain: said.domain.into(),
            verbal: said.verbal,
            code: said.code,
            inputs: said.inputs,
            outputs: said.outputs,
            relates: said.relates,
            confidence: said.confidence,
            episodes: said.episodes,
            others: said.others,
            created: known.map_or(now, |known| known.created),
            accessed: now,
            access_count: known.map_or(0, |known| known.access_count),
            long_term: said.long_term || known.is_some_and(|known| known.long_term),
            provenance: MathProvenance::OwnExperience,
            trust: said.trust,
            run: pulse.settings().run.clone(),
        };
        for leaving in self.store.overfull(usize::from(known.is_none()), now) {
            self.remove(&leaving, false, pulse);
        }
        pulse.put(record_key(&id), &record);
        tell_edges(&record, &self.store, pulse);
        pulse.emit(MathRecordStored { id, name: record.name.clone(), category: record.category });
        pulse.keep(GyrusEvent::Stored(Box::new(record)));
    }
}

/// The name of the record for two correlated metrics.
fn pair_name(metrics: &[String; 2]) -> String {
    format!("{} ~ {}", metrics[0], metrics[1])
}

impl Hears<Calculate> for AngularGyrus {
    fn hear(&self, query: &Calculate, pulse: &mut Pulse<'_, Self>) {
        match answer(&query.request, &self.store) {
            Ok(found) => {
                pulse.reply(Calculated { output: found.output, error: None });
                pulse.keep(GyrusEvent::Computed { ok: true });
                if !found.used.is_empty() {
                    pulse.keep(GyrusEvent::Used { ids: found.used, at: pulse.now() });
                }
                if let Some(Fact { name, domain, verbal, code, inputs, outputs }) = found.fact {
                    let mut rests_on = self.rests_on(&name);
                    rests_on.note(&pulse.turn().to_string(), MOST_EPISODES);
                    let said = Said {
                        name,
                        category: MathCategory::Fact,
                        domain,
                        verbal,
                        code,
                        inputs,
                        outputs,
                        relates: Vec::new(),
                        confidence: Confidence::clamped(1.0),
                        others: rests_on.has_others(),
                        episodes: rests_on.episodes.into(),
                        long_term: false,
                        trust: pulse.trust(),
                    };
                    self.store(said, pulse);
                }
            }
            Err(why) => {
                pulse.keep(GyrusEvent::Computed { ok: false });
                pulse.reply(Calculated { output: Json::Null, error: Some(why) });
            }
        }
    }
}

impl Hears<AnalyseSeries> for AngularGyrus {
    fn hear(&self, query: &AnalyseSeries, pulse: &mut Pulse<'_, Self>) {
        pulse.reply(analyse(&query.series, &query.values));
    }
}

impl Hears<PatternConfirmed> for AngularGyrus {
    fn hear(&self, pattern: &PatternConfirmed, pulse: &mut Pulse<'_, Self>) {
        let said = Said {
            name: pattern.metric.clone(),
            category: MathCategory::Pattern,
            domain: METRICS,
            verbal: pattern.verbal.clone(),
            code: pattern.code.clone(),
            inputs: pattern.values.clone(),
            outputs: pattern.outputs.clone(),
            relates: Vec::new(),
            confidence: pattern.confidence,
            others: pattern.observations > pattern.episodes.len() as u64,
            episodes: pattern.episodes.clone(),
            long_term: true,
            trust: pattern.trust,
        };
        self.store(said, pulse);
    }
}

impl Hears<PatternDropped> for AngularGyrus {
    fn hear(&self, dropped: &PatternDropped, pulse: &mut Pulse<'_, Self>) {
        let Some(record) = self.store.named(&dropped.metric) else { return };
        let id = record.id.clone();
        self.remove(&id, false, pulse);
    }
}

impl Hears<MetricsCorrelated> for AngularGyrus {
    fn hear(&self, found: &MetricsCorrelated, pulse: &mut Pulse<'_, Self>) {
        let name = pair_name(&found.metrics);
        if !found.holds {
            if let Some(id) = self.store.named(&name).map(|record| record.id.clone()) {
                self.remove(&id, false, pulse);
            }
            return;
        }
        let [a, b] = &found.metrics;
        let way = if found.rho > 0.0 { "rise and fall together" } else { "go opposite ways" };
        let verbal = format!(
            "{} and {} {way} (rank correlation {:.2} over {} stretches of time)",
            spoken(a),
            spoken(b),
            found.rho,
            found.observations
        );
        let outputs = [("rho", found.rho), ("p", found.p), ("q", found.q), ("n", found.observations as f64)];
        let said = Said {
            name,
            category: MathCategory::Relationship,
            domain: METRICS,
            verbal,
            code: format!("ρ({a}, {b}) = {:.3}", found.rho),
            inputs: Vec::new(),
            outputs: outputs.map(|(name, value)| (name.to_owned(), value)).into(),
            relates: found.metrics.to_vec(),
            confidence: found.confidence,
            episodes: Vec::new(),
            others: true,
            long_term: true,
            trust: found.trust,
        };
        self.store(said, pulse);
    }
}

/// `tool:bash:latency` as "the latency of bash".
pub fn spoken(metric: &str) -> String {
    match metric.split(':').collect::<Vec<_>>()[..] {
        [_, subject, quantity] => format!("the {quantity} of {subject}"),
        [subject, quantity] => format!("the {quantity} of {subject}"),
        _ => metric.to_owned(),
    }
}

impl Hears<ExecutesWithLearned> for AngularGyrus {
    fn hear(&self, skill: &ExecutesWithLearned, pulse: &mut Pulse<'_, Self>) {
        let (good, all) = (skill.successes, skill.successes + skill.failures);
        let outputs = [("successes", skill.successes), ("failures", skill.failures)];
        let said = Said {
            name: format!("{} EXECUTES_WITH {}", skill.tool, skill.object),
            category: MathCategory::Relationship,
            domain: SKILLS,
            verbal: format!("{} works with a {}: {good} of {all} times", skill.tool, skill.object),
            code: format!("P(success | {}, {}) = {good}/{all}", skill.tool, skill.object),
            inputs: Vec::new(),
            outputs: outputs.map(|(name, count)| (name.to_owned(), f64::from(count))).into(),
            relates: vec![format!("tool:{}:success", skill.tool)],
            confidence: skill.confidence,
            episodes: skill.episodes.clone(),
            others: good as usize > skill.episodes.len(),
            long_term: false,
            trust: Trust::Own,
        };
        self.store(said, pulse);
    }
}

impl Hears<ReportStats> for AngularGyrus {
    fn hear(&self, _query: &ReportStats, pulse: &mut Pulse<'_, Self>) {
        let mut counts = serde_json::json!(self.store.stats());
        counts["computed"] = self.computed.into();
        counts["failed"] = self.failed.into();
        pulse.reply(StatsReported { region: Self::NAME.into(), counts });
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use maxim_bus::signals::concepts::CrossKind;
    use maxim_bus::signals::numbers::SeriesFeature;
    use serde_json::json;

    use super::*;
    use maxim_region::rig::{Rig, ear};

    fn rig() -> Rig<AngularGyrus> {
        Rig::new(GyrusSettings { run: "r1".into(), law: NumberLaw::default() }, |bus, probe| {
            ear::<Calculated>(bus, probe);
            ear::<MathRecordStored>(bus, probe);
            ear::<MathRecordRemoved>(bus, probe);
            ear::<SeriesAnalysed>(bus, probe);
            ear::<RecordsLinked>(bus, probe);
        })
    }

    fn ask(rig: &mut Rig<AngularGyrus>, request: Json) -> Calculated {
        rig.send(Calculate { request });
        rig.heard::<Calculated>().pop().expect("an answer")
    }

    fn pattern(metric: &str, verbal: &str) -> PatternConfirmed {
        PatternConfirmed {
            metric: metric.into(),
            subject: "bash".into(),
            feature: SeriesFeature::Prevailing { share: 0.9 },
            verbal: verbal.into(),
            code: "36/40".into(),
            values: vec![1.0; 8],
            outputs: BTreeMap::from([("rate".into(), 0.9)]),
            observations: 40,
            confidence: Confidence::clamped(0.8),
            episodes: vec!["t1".into()],
            trust: Trust::Own,
        }
    }

    #[test]
    fn a_result_is_a_record_that_survives_a_crash() {
        let mut rig = rig();
        assert_eq!(ask(&mut rig, json!({"expression": "6 * 7"})).output["result"], "42");
        ask(&mut rig, json!({"expression": "6 * 7"}));
        assert!(ask(&mut rig, json!({"expression": "6 *"})).error.expect("an error").contains("ends where"));
        let (before, hash) = (rig.region().memory().export(), rig.state_hash());
        assert_eq!(before.len(), 1, "asked twice, known once");
        rig.crash();
        assert_eq!((rig.region().memory().export(), rig.state_hash()), (before, hash));
        let known = ask(&mut rig, json!({"operation": "recall", "topic": "6 7", "category": "fact"}));
        assert_eq!(known.output["results"][0]["text"], "6 * 7 = 42");
    }

    #[test]
    fn uses_are_counted_over_a_crash() {
        let mut rig = rig();
        rig.send(pattern("tool:bash:success", "bash succeeds in 90 % of 40 uses"));
        for _ in 0..3 {
            ask(&mut rig, json!({"operation": "recall", "topic": "bash", "category": "pattern"}));
        }
        let uses = |rig: &Rig<AngularGyrus>| {
            rig.region().memory().named("tool:bash:success").map(|record| record.access_count)
        };
        assert_eq!(uses(&rig), Some(3));
        rig.crash();
        assert_eq!(uses(&rig), Some(3));
    }

    #[test]
    fn a_pattern_comes_and_goes_and_takes_its_relations_along() {
        let mut rig = rig();
        rig.send(pattern("tool:bash:success", "bash succeeds in 90 % of 40 uses"));
        rig.send(pattern("pain:rate", "it hurts every hour"));
        let pair = MetricsCorrelated {
            metrics: ["pain:rate".into(), "tool:bash:success".into()],
            rho: -0.9,
            p: 0.001,
            q: 0.01,
            observations: 12,
            confidence: Confidence::clamped(0.8),
            holds: true,
            trends: true,
            trust: Trust::Own,
        };
        rig.send(pair.clone());
        let told = rig.heard::<RecordsLinked>().remove(0).edges;
        let of = |kind| told.iter().filter(|edge| edge.kind == kind).count();
        assert_eq!((of(CrossKind::TemporallyCorrelates), of(CrossKind::ComputedFrom)), (2, 2), "{told:?}");
        rig.send(pattern("pain:rate", "it hurts every half hour"));
        assert_eq!(rig.heard::<RecordsLinked>()[0].edges.len(), 2, "a record that is renewed is joined again");
        let found = ask(&mut rig, json!({"operation": "recall", "topic": "hurts"}));
        let names: Vec<&str> =
            found.output["results"].as_array().expect("a list").iter().filter_map(|r| r["name"].as_str()).collect();
        assert!(names.contains(&"tool:bash:success"), "reached over the relationship: {names:?}");
        rig.send(MetricsCorrelated { holds: false, ..pair });
        assert_eq!(rig.heard::<MathRecordRemoved>()[0].name, "pain:rate ~ tool:bash:success");
        rig.send(PatternDropped { metric: "tool:bash:success".into(), reason: "it fails now".into() });
        rig.crash();
        let left: Vec<String> = rig.region().memory().learned().map(|record| record.name.clone()).collect();
        assert_eq!(left, ["pain:rate"]);
    }

    #[test]
    fn after_a_month_the_data_of_unused_facts_is_gone_and_the_fact_is_still_known() {
        let mut rig = rig();
        ask(&mut rig, json!({"operation": "statistics", "values": [1, 2, 3]}));
        let inputs =
            |rig: &Rig<AngularGyrus>| rig.region().memory().learned().map(|record| record.inputs.len()).sum::<usize>();
        for _ in 0..29 {
            rig.pass(Duration::from_secs(86_400));
        }
        assert_eq!(inputs(&rig), 3, "a month isn't over");
        for _ in 0..4 {
            rig.pass(Duration::from_secs(86_400));
        }
        assert_eq!(inputs(&rig), 0);
        rig.crash();
        assert_eq!(inputs(&rig), 0, "on disk too");
        let known = ask(&mut rig, json!({"operation": "recall", "topic": "numbers median", "category": "fact"}));
        assert!(known.output["results"][0]["text"].as_str().expect("a text").contains("median 2"), "{known:?}");
    }

    #[test]
    fn a_series_is_analysed_for_whoever_asks() {
        let mut rig = rig();
        rig.send(AnalyseSeries { series: "s".into(), values: (0..20).map(f64::from).collect() });
        let analysed = rig.heard::<SeriesAnalysed>().pop().expect("an answer");
        assert!(matches!(analysed.feature, Some(SeriesFeature::Trend { .. })), "{analysed:?}");
    }
}

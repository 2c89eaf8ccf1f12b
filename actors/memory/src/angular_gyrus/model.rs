//! The layer of numerical knowledge: records, their index by words, and their own graph.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use maxim_bus::Trust;
use maxim_bus::signals::numbers::{MathCategory, MathFilter, MathProvenance, MathRecord, is_innate};
use maxim_bus::units::Confidence;
use serde::{Deserialize, Serialize};

use crate::hippocampus::spreading::Spreading;
use maxim_language::Stems;
use maxim_language::numbers::knowledge::{CONSTANTS, METHODS};

/// Learned records, at most. When it is full, the records least worth keeping are removed. Built-in knowledge doesn't
/// count.
pub const CAPACITY: usize = 1_024;
/// Records in an answer if a filter sets no limit, and at most.
pub const DEFAULT_LIMIT: usize = 5;
pub const MOST_LIMIT: usize = 100;
/// Approximate bytes of a compressed record.
pub const COMPRESSED_BYTES: usize = 200;

/// A record that was not used for long: it is found by the same words, but has lost its data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompressedMathRecord {
    pub id: String,
    pub name: String,
    pub category: MathCategory,
    /// The wording, shortened.
    pub verbal: String,
    pub confidence: Confidence,
    pub created: Timestamp,
    pub access_count: u32,
}

impl CompressedMathRecord {
    pub fn of(record: &MathRecord) -> Self {
        let MathRecord { id, name, category, verbal, confidence, created, access_count, .. } = record;
        let verbal = verbal.chars().take(60).collect();
        Self {
            id: id.clone(),
            name: name.chars().take(60).collect(),
            category: *category,
            verbal,
            confidence: *confidence,
            created: *created,
            access_count: *access_count,
        }
    }
}

/// The result of a consolidation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Consolidated {
    pub looked_at: usize,
    /// Ids of records that lost their data.
    pub compressed: Vec<String>,
    /// Ids and names of removed records.
    pub pruned: Vec<(String, String)>,
    pub bytes_before: usize,
    pub bytes_after: usize,
}

/// How much a layer contains.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LayerStats {
    pub records: usize,
    pub facts: usize,
    pub patterns: usize,
    pub relationships: usize,
    pub constants: usize,
    pub methods: usize,
}

/// The records of the layer.
pub struct MathStore {
    records: BTreeMap<String, MathRecord>,
    by_name: BTreeMap<String, String>,
    /// Ids by stem.
    words: BTreeMap<String, BTreeSet<String>>,
    stems: Stems,
}

impl Default for MathStore {
    /// With the built-in constants and methods.
    fn default() -> Self {
        let mut store = Self {
            records: BTreeMap::new(),
            by_name: BTreeMap::new(),
            words: BTreeMap::new(),
            stems: Stems::default(),
        };
        innate().for_each(|record| store.insert(record));
        store
    }
}

/// The built-in knowledge.
fn innate() -> impl Iterator<Item = MathRecord> {
    let record = |id: String, name: &str, category, domain: &str, verbal: String, code: String, outputs| MathRecord {
        id,
        name: name.into(),
        category,
        domain: domain.into(),
        verbal,
        code,
        inputs: Vec::new(),
        outputs,
        relates: Vec::new(),
        confidence: Confidence::clamped(1.0),
        episodes: Vec::new(),
        others: false,
        created: Timestamp::UNIX_EPOCH,
        accessed: Timestamp::UNIX_EPOCH,
        access_count: 0,
        long_term: true,
        provenance: MathProvenance::Document,
        trust: Trust::Own,
        run: String::new(),
    };
    let constants = CONSTANTS.iter().map(move |constant| {
        let (id, unit) = (format!("constant/{}", constant.name), constant.unit);
        let name = constant.name.replace('_', " ");
        let verbal = format!("{name} is {} {unit}: {}", constant.value, constant.verbal).replace(" :", ":");
        let outputs = BTreeMap::from([("value".to_owned(), constant.value)]);
        record(id, &name, MathCategory::Constant, constant.domain, verbal, constant.value.to_string(), outputs)
    });
    let methods = METHODS.iter().map(move |method| {
        let (id, verbal) = (format!("method/{}", method.name), format!("{}: {}", method.name, method.verbal));
        record(id, method.name, MathCategory::Method, method.domain, verbal, method.code.into(), BTreeMap::new())
    });
    constants.chain(methods)
}

impl MathStore {
    /// Stores a record. One of the same name is replaced, but its id, its time of creation and its uses stay. Returns
    /// the id of the record.
    pub fn store(&mut self, mut record: MathRecord) -> String {
        if let Some(known) = self.named(&record.name) {
            record.id = known.id.clone();
            record.created = known.created;
            record.access_count = record.access_count.max(known.access_count);
            record.accessed = record.accessed.max(known.accessed);
            record.long_term |= known.long_term;
        }
        let id = record.id.clone();
        self.insert(record);
        id
    }

    fn insert(&mut self, record: MathRecord) {
        self.remove(&record.id);
        for stem in self.stems_of(&record) {
            self.words.entry(stem).or_default().insert(record.id.clone());
        }
        self.by_name.insert(record.name.clone(), record.id.clone());
        self.records.insert(record.id.clone(), record);
    }

    fn stems_of(&self, record: &MathRecord) -> BTreeSet<String> {
        self.stems.of_text(&format!("{} {} {}", record.name, record.domain, record.verbal)).into_iter().collect()
    }

    pub fn get(&self, id: &str) -> Option<&MathRecord> {
        self.records.get(id)
    }

    pub fn named(&self, name: &str) -> Option<&MathRecord> {
        self.records.get(self.by_name.get(name)?)
    }

    /// Removes a record with its edges. Edges are part of the records that relate others.
    pub fn remove(&mut self, id: &str) -> Option<MathRecord> {
        let record = self.records.remove(id)?;
        for stem in self.stems_of(&record) {
            if let Some(ids) = self.words.get_mut(&stem) {
                ids.remove(id);
                if ids.is_empty() {
                    self.words.remove(&stem);
                }
            }
        }
        if self.by_name.get(&record.name).is_some_and(|named| named == id) {
            self.by_name.remove(&record.name);
        }
        Some(record)
    }

    /// The relationship records that depend on a record of this name. They are removed with it.
    pub fn relating(&self, name: &str) -> Vec<String> {
        let holds = |record: &&MathRecord| record.relates.iter().any(|related| related == name);
        self.records.values().filter(holds).map(|record| record.id.clone()).collect()
    }

    /// Pins a record for a person, or undoes the pin.
    pub fn pin(&mut self, id: &str, pinned: bool) {
        if let Some(record) = self.records.get_mut(id) {
            record.long_term = pinned;
        }
    }

    /// Notes that a record was used.
    pub fn touch(&mut self, id: &str, at: Timestamp) {
        if let Some(record) = self.records.get_mut(id) {
            record.accessed = record.accessed.max(at);
            record.access_count = record.access_count.saturating_add(1);
        }
    }

    pub fn len(&self) -> usize {
        self.records.len()
    }

    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// All records, by id.
    pub fn iter(&self) -> impl Iterator<Item = &MathRecord> {
        self.records.values()
    }

    /// The learned records, by id.
    pub fn learned(&self) -> impl Iterator<Item = &MathRecord> {
        self.iter().filter(|record| !is_innate(&record.id))
    }

    /// Records that pass the filter, best first. With a topic, the score is the share of the topic's words that a
    /// record contains, where rare words count more, weighted by confidence; 0 to 1. Without a topic it is the
    /// confidence. Related records that also pass the filter come with the activation that spreads to them.
    pub fn recall(&self, filter: &MathFilter) -> Vec<(&MathRecord, f64)> {
        let passes = |record: &MathRecord| {
            filter.category.is_none_or(|category| category == record.category)
                && filter.domain.as_ref().is_none_or(|domain| *domain == record.domain)
                && record.confidence.get() >= filter.confidence_min
        };
        let mut scores: BTreeMap<&str, f64> = match &filter.topic {
            Some(topic) => self.matches(topic),
            None => self.records.values().map(|record| (record.id.as_str(), record.confidence.get())).collect(),
        };
        if filter.expand {
            let seeds: Vec<(&str, f64)> = scores.iter().map(|(id, score)| (*id, *score)).collect();
            for (id, activation) in self.recall_associated(&seeds) {
                let score = scores.entry(id).or_insert(0.0);
                *score = score.max(activation);
            }
        }
        let mut found: Vec<(&MathRecord, f64)> = scores
            .into_iter()
            .filter_map(|(id, score)| Some((self.records.get(id).filter(|record| passes(record))?, score)))
            .collect();
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.id.cmp(&b.0.id)));
        found.truncate(if filter.limit == 0 { DEFAULT_LIMIT } else { filter.limit.min(MOST_LIMIT) });
        found
    }

    fn matches(&self, topic: &str) -> BTreeMap<&str, f64> {
        let asked: BTreeSet<String> = self.stems.of_text(topic).into_iter().collect();
        let rarity = |stem: &String| {
            let held = self.words.get(stem).map_or(0, BTreeSet::len) as f64;
            (1.0 + self.records.len() as f64 / (held + 1.0)).ln()
        };
        let all: f64 = asked.iter().map(rarity).sum();
        let mut scores: BTreeMap<&str, f64> = BTreeMap::new();
        for stem in &asked {
            for id in self.words.get(stem).into_iter().flatten() {
                *scores.entry(id).or_insert(0.0) += rarity(stem) / all;
            }
        }
        for (id, score) in &mut scores {
            let confidence = self.records.get(*id).map_or(0.0, |record| record.confidence.get());
            *score *= (1.0 + confidence) / 2.0;
        }
        scores
    }

    /// Activation of the records related to the seeds, seeds included, by the law of the hippocampus. A relationship
    /// joins the records that it names with itself, by the strength of its claim.
    pub fn recall_associated<'s>(&'s self, seeds: &[(&'s str, f64)]) -> BTreeMap<&'s str, f64> {
        let mut edges: BTreeMap<&str, Vec<(&str, f64)>> = BTreeMap::new();
        for (from, to, weight) in self.edges() {
            edges.entry(from).or_default().push((to, weight));
            edges.entry(to).or_default().push((from, weight));
        }
        Spreading::default().from_seeds(seeds.iter().copied(), |node, visit| {
            for (neighbour, weight) in edges.get(node).into_iter().flatten() {
                visit(neighbour, *weight);
            }
        })
    }

    /// The layer's own graph: (relationship, related record, weight), symmetric.
    pub fn edges(&self) -> Vec<(&str, &str, f64)> {
        let mut edges = Vec::new();
        for record in self.records.values() {
            let related = record.relates.iter().filter_map(|name| self.by_name.get(name));
            edges.extend(related.map(|related| (record.id.as_str(), related.as_str(), strength(record))));
        }
        edges
    }

    /// How much a record is worth keeping. Records that are in force or were used lately come first. A pattern in force
    /// is kept long; facts that were computed once go first.
    fn retention(record: &MathRecord, now: Timestamp) -> f64 {
        let days = now.duration_since(record.accessed).as_secs_f64().max(0.0) / 86_400.0;
        let use_ = (1.0 + f64::from(record.access_count)).ln() - 0.5 * (1.0 + days).ln();
        use_ + record.confidence.get() + if record.long_term { 1_000.0 } else { 0.0 }
    }

    /// The records to remove to make room for `more`: ids, those least worth keeping first.
    pub fn overfull(&self, more: usize, now: Timestamp) -> Vec<String> {
        let mut learned: Vec<&MathRecord> = self.learned().collect();
        let surplus = (learned.len() + more).saturating_sub(CAPACITY);
        if surplus == 0 {
            return Vec::new();
        }
        learned.sort_by(|a, b| Self::retention(a, now).total_cmp(&Self::retention(b, now)).then(a.id.cmp(&b.id)));
        learned.into_iter().take(surplus).map(|record| record.id.clone()).collect()
    }

    /// What sleep would do, in order of id, without doing it; see [`Self::apply`].
    pub fn consolidate(&self, now: Timestamp, after_days: f64) -> Consolidated {
        let bytes = |record: &MathRecord| serde_json::to_vec(record).map_or(0, |bytes| bytes.len());
        let mut report = Consolidated { looked_at: self.learned().count(), ..Consolidated::default() };
        let leaving = self.overfull(0, now);
        for record in self.learned() {
            let size = bytes(record);
            report.bytes_before += size;
            let days = now.duration_since(record.accessed).as_secs_f64() / 86_400.0;
            if leaving.contains(&record.id) {
                report.pruned.push((record.id.clone(), record.name.clone()));
            } else if !record.long_term && days > after_days && !record.inputs.is_empty() {
                report.compressed.push(record.id.clone());
                report.bytes_after += bytes(&compressed(record));
            } else {
                report.bytes_after += size;
            }
        }
        report
    }

    /// Carries out a consolidation.
    pub fn apply(&mut self, report: &Consolidated) {
        for id in &report.compressed {
            if let Some(record) = self.records.get(id).map(compressed) {
                self.insert(record);
            }
        }
        for (id, _) in &report.pruned {
            self.remove(id);
        }
    }

    pub fn stats(&self) -> LayerStats {
        let mut stats = LayerStats { records: self.learned().count(), ..LayerStats::default() };
        for record in self.records.values() {
            let count = match record.category {
                MathCategory::Fact => &mut stats.facts,
                MathCategory::Pattern => &mut stats.patterns,
                MathCategory::Relationship => &mut stats.relationships,
                MathCategory::Constant => &mut stats.constants,
                MathCategory::Method => &mut stats.methods,
            };
            *count += 1;
        }
        stats
    }

    /// The learned records, one JSON line per record.
    pub fn export(&self) -> Vec<String> {
        self.learned().filter_map(|record| serde_json::to_string(record).ok()).collect()
    }

    /// Imports lines of an export. Returns how many were imported, and the unreadable ones with the reason.
    pub fn import<'l>(&mut self, lines: impl IntoIterator<Item = &'l str>) -> (usize, Vec<(usize, String)>) {
        let (mut taken, mut bad) = (0, Vec::new());
        for (number, line) in lines.into_iter().enumerate() {
            match serde_json::from_str::<MathRecord>(line) {
                Ok(record) if is_innate(&record.id) => bad.push((number + 1, format!("{} is built in", record.id))),
                Ok(record) => {
                    self.store(record);
                    taken += 1;
                }
                Err(error) => bad.push((number + 1, error.to_string())),
            }
        }
        (taken, bad)
    }
}

/// How strongly a relationship joins the records that it names, 0 to 1.
pub(super) fn strength(record: &MathRecord) -> f64 {
    record.outputs.get("rho").map_or(record.confidence.get(), |rho| rho.abs()).clamp(0.0, 1.0)
}

/// The record without its data. The content of its compressed form stays, so it is found by the same words.
pub(super) fn compressed(record: &MathRecord) -> MathRecord {
    let kept = CompressedMathRecord::of(record);
    let MathRecord { outputs, relates, domain, trust, provenance, accessed, .. } = record.clone();
    MathRecord {
        id: kept.id,
        name: kept.name,
        category: kept.category,
        domain,
        verbal: kept.verbal,
        code: String::new(),
        inputs: Vec::new(),
        outputs: outputs.into_iter().take(1).collect(),
        relates,
        confidence: kept.confidence,
        episodes: Vec::new(),
        others: true,
        created: kept.created,
        accessed,
        access_count: kept.access_count,
        long_term: false,
        provenance,
        trust,
        run: String::new(),
    }
}

#[cfg(test)]
pub(super) fn record_of(name: &str, category: MathCategory, verbal: &str, at: Timestamp) -> MathRecord {
    MathRecord {
        id: format!("m-{name}"),
        name: name.into(),
        category,
        domain: "metrics".into(),
        verbal: verbal.into(),
        code: "37/40".into(),
        inputs: vec![1.0; 40],
        outputs: BTreeMap::from([("rate".to_owned(), 0.925)]),
        relates: Vec::new(),
        confidence: Confidence::clamped(0.8),
        episodes: vec!["e1".into()],
        others: false,
        created: at,
        accessed: at,
        access_count: 0,
        long_term: false,
        provenance: MathProvenance::OwnExperience,
        trust: Trust::Own,
        run: "run".into(),
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    fn now() -> Timestamp {
        "2026-01-05T09:00:00Z".parse().expect("a time")
    }

    fn pattern(name: &str, verbal: &str) -> MathRecord {
        record_of(name, MathCategory::Pattern, verbal, now())
    }

    fn names(store: &MathStore, topic: &str) -> Vec<String> {
        let filter = MathFilter { topic: Some(topic.into()), domain: Some("metrics".into()), ..MathFilter::default() };
        store.recall(&filter).into_iter().map(|(record, _)| record.name.clone()).collect()
    }

    #[test]
    fn what_is_stored_is_found_replaced_by_name_and_removed() {
        let mut store = MathStore::default();
        let innate = store.len();
        let id = store.store(pattern("tool:bash:success", "bash succeeds in 92 % of 40 uses"));
        store.store(pattern("tool:read_file:latency", "read_file takes 0.1 s"));
        assert_eq!(names(&store, "how reliable is bash?"), ["tool:bash:success"]);
        assert_eq!(names(&store, "does read_file succeed")[0], "tool:read_file:latency");
        store.touch(&id, now());
        let again = MathRecord { id: "other".into(), ..pattern("tool:bash:success", "bash fails in most uses") };
        assert_eq!(store.store(again), id, "the same name is the same record");
        assert_eq!(store.get(&id).map(|record| record.access_count), Some(1));
        assert!(names(&store, "succeeds").is_empty(), "the old words are gone");
        assert_eq!(store.stats().patterns, 2);
        assert_eq!(store.remove(&id).map(|record| record.name), Some("tool:bash:success".into()));
        assert!(names(&store, "bash").is_empty() && store.named("tool:bash:success").is_none());
        assert_eq!(store.len(), innate + 1);
    }

    #[test]
    fn constants_and_methods_are_there_from_the_start() {
        let store = MathStore::default();
        let filter = MathFilter { topic: Some("the speed of light".into()), ..MathFilter::default() };
        let found = store.recall(&filter);
        assert_eq!(found[0].0.outputs["value"], 299_792_458.0);
        assert!(found[0].0.verbal.starts_with("speed of light is 299792458 m/s:"), "{}", found[0].0.verbal);
        assert!(store.stats().methods >= 10 && store.stats().records == 0);
    }

    #[test]
    fn activation_spreads_over_relationships() {
        let mut store = MathStore::default();
        for name in ["a", "b", "c"] {
            store.store(pattern(name, name));
        }
        let between = |name: &str, of: [&str; 2], rho| MathRecord {
            category: MathCategory::Relationship,
            relates: of.map(str::to_owned).to_vec(),
            outputs: BTreeMap::from([("rho".to_owned(), rho)]),
            ..pattern(name, "go together")
        };
        store.store(between("ab", ["a", "b"], -0.8));
        store.store(between("bc", ["b", "c"], 1.0));
        let active = store.recall_associated(&[("m-a", 1.0)]);
        // 1 → 0.4 (0.5 · 0.8) → 0.16 → 0.08; c would be a fourth hop.
        let near = |id: &str, value: f64| assert!((active[id] - value).abs() < 1e-12, "{active:?}");
        near("m-ab", 0.4);
        near("m-b", 0.16);
        near("m-bc", 0.08);
        assert!(!active.contains_key("m-c"));
        store.remove("m-b");
        assert_eq!(store.edges().len(), 2, "no edge points at what is gone");
        assert_eq!(store.relating("b"), ["m-ab", "m-bc"]);
    }

    #[test]
    fn sleep_compresses_what_was_not_used_for_a_month_and_it_is_still_found() {
        let mut store = MathStore::default();
        store.store(pattern("old", &format!("an old pattern of lamps {}", "and more words ".repeat(20))));
        store.store(MathRecord { long_term: true, ..pattern("kept", "a pattern in force") });
        let later = now() + SignedDuration::from_hours(24 * 31);
        store.store(MathRecord { accessed: later, ..pattern("fresh", "a fresh pattern") });
        let report = store.consolidate(later, 30.0);
        assert_eq!((report.looked_at, report.compressed.as_slice()), (3, &["m-old".to_owned()][..]));
        assert!(report.pruned.is_empty() && report.bytes_after < report.bytes_before);
        store.apply(&report);
        assert_eq!(names(&store, "lamps"), ["old"]);
        assert_eq!(store.get("m-old").map(|record| record.inputs.len()), Some(0));
        let small = serde_json::to_vec(&CompressedMathRecord::of(store.get("m-old").expect("it is there")));
        assert!(small.expect("JSON").len() <= COMPRESSED_BYTES + 60);
        assert!(store.consolidate(later, 30.0).compressed.is_empty(), "once");
    }

    #[test]
    fn the_least_kept_leave_when_it_is_full() {
        let mut store = MathStore::default();
        store.store(MathRecord { long_term: true, ..pattern("0 in force", "in force") });
        for number in 0..CAPACITY {
            store.store(MathRecord { access_count: u32::from(number > 0), ..pattern(&format!("{number}"), "x") });
        }
        let report = store.consolidate(now(), 30.0);
        assert_eq!(report.pruned, [("m-0".to_owned(), "0".to_owned())]);
        store.apply(&report);
        assert_eq!(store.stats().records, CAPACITY);
    }

    #[test]
    fn an_export_comes_back_whole_and_bad_lines_are_named() {
        let mut store = MathStore::default();
        store.store(pattern("a", "the first"));
        store.store(pattern("b", "the second"));
        let lines = store.export();
        let mut other = MathStore::default();
        let given: Vec<&str> = lines.iter().map(String::as_str).chain(["{}"]).collect();
        let (taken, bad) = other.import(given);
        assert_eq!((taken, bad.len(), bad[0].0), (2, 1, 3));
        assert_eq!(other.export(), lines);
    }
}

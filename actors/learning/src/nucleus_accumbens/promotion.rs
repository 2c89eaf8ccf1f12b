//! What the nucleus accumbens offers for general knowledge: which tools usually work, and which usually don't; and what
//! around announces which of both.

use std::collections::BTreeMap;

use jiff::Timestamp;
use maxim_bus::signals::concepts::{Layer, MemoryRef, RelationLesson};
use maxim_bus::signals::promotion::{CandidatesOffered, OfferCandidates, PromotionCandidate};
use maxim_bus::units::Confidence;

use super::law::{PredictionLaw, Reinforcement};
use super::model::{CausalLink, EventRecord, LinkTable};
use super::region::NucleusAccumbens;
use super::series::OutcomeSeries;
use maxim_bus::relations::{CAUSES, PREDICTS, PROPERTY_OF};
use maxim_region::{Hears, Pulse, Region};

/// Share of a tool's outcomes from which one of them is a pattern of it.
const PREVAILS: f64 = 0.5;
/// V from which a tool is expected to go well, 0 to 1: where everything begins.
const TURNS: f64 = 0.5;
/// Strength, of at most about 1, from which a thing that is around announces how an act ends.
const ANNOUNCES: f64 = 0.4;
/// Candidates in one answer, at most; those with the most observations.
const MOST: usize = 256;

/// All that was seen of one outcome of a tool, whatever its parameters.
#[derive(Default)]
struct Pattern<'a> {
    observations: u64,
    links: Vec<(&'a EventRecord, &'a CausalLink)>,
}

impl Pattern<'_> {
    fn is_good(&self) -> bool {
        self.links.iter().any(|(_, link)| link.outcome.reinforcement == Reinforcement::Good)
    }
}

/// What there is to offer.
#[derive(Default)]
pub struct Patterns {
    /// Patterns that hold more often than not, good and bad, and don't say the opposite of what is predicted now.
    pub held: Vec<PromotionCandidate>,
    /// Those that do, told as what was before.
    pub contradicted: Vec<PromotionCandidate>,
}

pub fn candidates(links: &LinkTable, asked: &OfferCandidates) -> Patterns {
    let mut totals: BTreeMap<&str, (u64, Timestamp)> = BTreeMap::new();
    let mut patterns: BTreeMap<(&str, &str), Pattern<'_>> = BTreeMap::new();
    for (_, record) in links.records() {
        let (total, last) = totals.entry(&record.kind.tool).or_insert((0, record.last));
        *total += u64::from(record.observations);
        *last = (*last).max(record.last);
        for link in record.links.iter().filter(|link| link.outcome.reinforcement != Reinforcement::Neutral) {
            let pattern = patterns.entry((&record.kind.tool, &link.outcome.name)).or_default();
            pattern.observations += u64::from(link.observations);
            pattern.links.push((record, link));
        }
    }
    let mut found = Patterns::default();
    for ((tool, outcome), pattern) in patterns {
        let Some((total, last)) = totals.get(tool).copied() else { continue };
        let share = pattern.observations as f64 / total.max(1) as f64;
        let sure = links.law().confidence(u32::try_from(pattern.observations).unwrap_or(u32::MAX));
        let strong =
            pattern.observations >= asked.min_observations && sure.get() >= asked.min_confidence && share >= PREVAILS;
        if !strong {
            continue;
        }
        let offered = candidate(tool, outcome, &pattern, total.max(1), sure);
        // The share is of all time; what is predicted turns within some observations.
        let goes_well = links.predict_tool(tool, &[], last).value.get() >= TURNS;
        match pattern.is_good() == goes_well {
            true => found.held.push(offered),
            false => found.contradicted.push(turned(tool, outcome, &pattern, total.max(1), offered)),
        }
    }
    found.held.extend(announced(links, asked));
    found.held.sort_by(|a, b| b.observations.cmp(&a.observations).then_with(|| a.name.cmp(&b.name)));
    found.held.truncate(MOST);
    found.contradicted.truncate(MOST);
    found
}

/// A pattern that held earlier, and is told so. It keeps its name and kind: the concept made of it is found by them.
fn turned(
    tool: &str,
    outcome: &str,
    pattern: &Pattern<'_>,
    total: u64,
    offered: PromotionCandidate,
) -> PromotionCandidate {
    let times = format!("{} of {total} times", pattern.observations);
    let (definition, valence) = match pattern.is_good() {
        true => (format!("Lately using {tool} goes wrong; before, it worked: {times}."), "negative"),
        false => (format!("Lately using {tool} works; before, it went wrong ({outcome}): {times}."), "positive"),
    };
    let mut properties = offered.properties;
    properties.insert("valence".to_owned(), valence.to_owned());
    // What was is no claim about chance, so nobody has to judge its series.
    PromotionCandidate { definition, properties, series: Vec::new(), ..offered }
}

/// Things whose presence decides how an act ends: by the strength that is theirs alone, not by mere company.
fn announced<'a>(links: &'a LinkTable, asked: &'a OfferCandidates) -> impl Iterator<Item = PromotionCandidate> + 'a {
    let often = move |record: &&EventRecord| {
        u64::from(record.observations) >= asked.min_observations
            && links.law().confidence(record.observations).get() >= asked.min_confidence
    };
    let cues = links.records().map(|(_, record)| record).filter(often);
    cues.flat_map(|record| {
        let strong = record.around.strong(ANNOUNCES);
        strong.filter_map(|(thing, strength, series)| announces(record, thing, (strength, series), links.law()))
    })
}

fn announces(
    record: &EventRecord,
    thing: &str,
    (strength, beside): (f64, OutcomeSeries),
    law: &PredictionLaw,
) -> Option<PromotionCandidate> {
    let (wanted, category, end) = match strength > 0.0 {
        true => (Reinforcement::Good, "good pattern", "works"),
        false => (Reinforcement::Bad, "bad pattern", "goes wrong"),
    };
    let links = record.links.iter().filter(|link| link.outcome.reinforcement == wanted);
    let link = links.max_by_key(|link| link.observations)?;
    let (tool, outcome) = (&record.kind.tool, &link.outcome.name);
    Some(PromotionCandidate {
        name: thing.to_owned(),
        category: "object".into(),
        definition: format!("Where a {thing} is around, {tool} {end} more often than elsewhere."),
        confidence: law.confidence(link.observations),
        observations: u64::from(link.observations),
        episodes: link.episodes.iter().map(|id| id.to_string()).collect(),
        properties: BTreeMap::new(),
        relations: vec![RelationLesson {
            kind: PREDICTS.into(),
            to: format!("{tool} {outcome}"),
            category: category.into(),
            weight: strength.abs().min(1.0),
            phase: None,
            coupling: None,
        }],
        sources: vec![MemoryRef::new(Layer::Nac, format!("{} -> {outcome}", record.kind.key()))],
        // How the act went beside the thing: how it went at all may well look like chance, and the thing tells which it will be.
        series: beside.of(wanted),
    })
}

fn candidate(tool: &str, outcome: &str, pattern: &Pattern<'_>, total: u64, sure: Confidence) -> PromotionCandidate {
    let share = pattern.observations as f64 / total as f64;
    let good = pattern.is_good();
    let (category, end) = match good {
        true => ("good pattern", "works"),
        false => ("bad pattern", "goes wrong"),
    };
    let often = match share {
        share if share >= 0.9 => "almost always",
        share if share >= 0.7 => "usually",
        _ => "more often than not",
    };
    let how = if good { String::new() } else { format!(" ({outcome})") };
    let wanted = if good { Reinforcement::Good } else { Reinforcement::Bad };
    // Of several shapes of parameters the one that was seen most speaks for the order of outcomes.
    let most = pattern.links.iter().max_by_key(|(record, _)| record.observations);
    let mut episodes: Vec<String> =
        pattern.links.iter().flat_map(|(_, link)| &link.episodes).map(|id| id.to_string()).collect();
    episodes.sort_unstable();
    episodes.dedup();
    let relation = |kind: &str, to: &str, category: &str| RelationLesson {
        kind: kind.into(),
        to: to.into(),
        category: category.into(),
        weight: share,
        phase: None,
        coupling: None,
    };
    PromotionCandidate {
        name: format!("{tool} {outcome}"),
        category: category.into(),
        definition: format!("Using {tool} {often} {end}{how}: {} of {total} times.", pattern.observations),
        confidence: sure,
        observations: pattern.observations,
        episodes,
        properties: BTreeMap::from([
            ("tool".to_owned(), tool.to_owned()),
            ("outcome".to_owned(), outcome.to_owned()),
            ("valence".to_owned(), if good { "positive" } else { "negative" }.to_owned()),
        ]),
        relations: vec![relation(PROPERTY_OF, tool, "tool"), relation(CAUSES, outcome, "outcome")],
        sources: pattern
            .links
            .iter()
            .map(|(record, link)| MemoryRef::new(Layer::Nac, format!("{} -> {}", record.kind.key(), link.outcome.name)))
            .collect(),
        series: most.map(|(record, _)| record.series.of(wanted)).unwrap_or_default(),
    }
}

impl Hears<OfferCandidates> for NucleusAccumbens {
    fn hear(&self, asked: &OfferCandidates, pulse: &mut Pulse<'_, Self>) {
        let Patterns { held, contradicted } = candidates(&self.links(), asked);
        pulse.reply(CandidatesOffered { source: Self::NAME.into(), candidates: held, contradicted });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::*;
    use crate::nucleus_accumbens::event::{EventKind, OutcomeKind};
    use crate::nucleus_accumbens::model::Observation;
    use maxim_bus::Provenance;

    fn params(value: Value) -> Map<String, Value> {
        value.as_object().cloned().expect("an object")
    }

    fn see(links: &mut LinkTable, tool: &str, shape: Value, good: bool, episode: &str) {
        let event = EventKind::of(tool, &params(shape));
        links.observe(&Observation {
            event: &event,
            context: &[],
            outcome: &OutcomeKind::of_success(Some(good)),
            cues: &[],
            around: &[],
            delay: None,
            episode: Some(episode),
            provenance: Provenance::OwnExperience,
            at: Timestamp::UNIX_EPOCH,
            reward: None,
        });
    }

    const USUAL: OfferCandidates = OfferCandidates { min_confidence: 0.6, min_observations: 3 };

    #[test]
    fn good_and_bad_patterns_are_offered_with_what_they_rest_on() {
        let mut links = LinkTable::default();
        for n in 0..3 {
            see(&mut links, "write_file", json!({"path": "a.txt"}), true, &format!("w{n}"));
            see(&mut links, "bash", json!({"command": "ls"}), false, &format!("b{n}"));
        }
        see(&mut links, "write_file", json!({"path": "a.txt", "content": "long"}), true, "w3");
        see(&mut links, "read_file", json!({"path": "x.txt"}), true, "r0");
        let found = candidates(&links, &USUAL).held;
        let names: Vec<&str> = found.iter().map(|candidate| candidate.name.as_str()).collect();
        assert_eq!(names, ["write_file success", "bash failure"]);
        assert_eq!(found[0].episodes, ["w0", "w1", "w2", "w3"]);
        assert_eq!(found[0].sources.len(), 2, "two shapes of parameters, one pattern");
        assert_eq!((found[1].category.as_str(), found[1].series.as_slice()), ("bad pattern", &[1.0, 1.0, 1.0][..]));
        assert!((found[0].confidence.get() - 0.7).abs() < 1e-9);
    }

    #[test]
    fn what_is_seen_too_rarely_or_mostly_goes_otherwise_is_no_pattern() {
        let mut links = LinkTable::default();
        (0..7).for_each(|n| see(&mut links, "bash", json!({}), n < 5, &format!("e{n}")));
        (0..2).for_each(|n| see(&mut links, "glob", json!({}), true, &format!("g{n}")));
        let names: Vec<String> = candidates(&links, &USUAL).held.into_iter().map(|candidate| candidate.name).collect();
        assert_eq!(names, ["bash success"]);
        assert!(candidates(&links, &OfferCandidates { min_confidence: 0.9, ..USUAL }).held.is_empty());
    }

    #[test]
    fn a_share_that_what_is_predicted_now_contradicts_is_told_as_what_was() {
        let mut links = LinkTable::default();
        (0..36).for_each(|n| see(&mut links, "drill", json!({}), true, &format!("g{n}")));
        assert!(candidates(&links, &USUAL).contradicted.is_empty());
        (0..24).for_each(|n| see(&mut links, "drill", json!({}), false, &format!("b{n}")));
        let found = candidates(&links, &USUAL);
        assert!(found.held.is_empty(), "36 of 60 is no pattern of now: {:?}", found.held);
        let told = &found.contradicted[0];
        assert_eq!((told.name.as_str(), told.category.as_str()), ("drill success", "good pattern"));
        assert_eq!(told.definition, "Lately using drill goes wrong; before, it worked: 36 of 60 times.");
        (0..24).for_each(|n| see(&mut links, "drill", json!({}), true, &format!("a{n}")));
        let again = candidates(&links, &USUAL);
        assert_eq!((again.held[0].name.as_str(), again.contradicted.len()), ("drill success", 0));
    }
}

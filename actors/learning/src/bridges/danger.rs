//! What the fear bridge offers as general knowledge: words with which an otherwise reliable tool goes wrong.

use std::collections::{BTreeMap, BTreeSet};

use maxim_bus::signals::promotion::{CandidatesOffered, OfferCandidates, PromotionCandidate};
use maxim_bus::units::Confidence;

use super::fear::{FearBridge, Lived};
use maxim_region::{Hears, Pulse, Region};

/// How much more often it must go wrong with a word than without, as a share. Otherwise the tool itself is the
/// problem, which the nucleus accumbens knows already.
const MORE_OFTEN: f64 = 0.3;
/// Maximum number of candidates in one answer.
const MOST: usize = 64;

/// Numbers of actions and failures.
#[derive(Clone, Copy, Default)]
struct Tally {
    lived: u64,
    failed: u64,
}

impl Tally {
    fn count(&mut self, failed: bool) {
        self.lived += 1;
        self.failed += u64::from(failed);
    }

    /// Share of failures; 0 without actions.
    fn share(self) -> f64 {
        if self.lived == 0 { 0.0 } else { self.failed as f64 / self.lived as f64 }
    }
}

fn candidates<'a>(lived: impl Iterator<Item = &'a Lived> + Clone, asked: &OfferCandidates) -> Vec<PromotionCandidate> {
    let mut tools: BTreeMap<&str, Tally> = BTreeMap::new();
    let mut with: BTreeMap<(&str, &str), Tally> = BTreeMap::new();
    for one in lived.clone() {
        tools.entry(&one.context.tool).or_default().count(one.failed);
        for word in &one.context.words {
            with.entry((&one.context.tool, word)).or_default().count(one.failed);
        }
    }
    // Words that always occur together are one statement.
    let mut told: BTreeSet<(&str, Vec<&str>)> = BTreeSet::new();
    let mut found = Vec::new();
    for ((tool, word), tally) in with {
        let all = tools.get(tool).copied().unwrap_or_default();
        let without = Tally { lived: all.lived - tally.lived, failed: all.failed - tally.failed };
        let is_of_the_word = without.lived > 0 && tally.share() >= without.share() + MORE_OFTEN;
        if !is_of_the_word || tally.share() < asked.min_confidence || tally.lived < asked.min_observations {
            continue;
        }
        let is_meant = |one: &&Lived| one.context.tool == tool && one.context.words.contains(word);
        let episodes: Vec<&str> =
            lived.clone().filter(is_meant).map(|one| one.episode.as_str()).filter(|id| !id.is_empty()).collect();
        if told.insert((tool, episodes.clone())) {
            found.push(candidate(tool, word, tally, without, &episodes));
        }
    }
    found.truncate(MOST);
    found
}

fn candidate(tool: &str, word: &str, with: Tally, without: Tally, episodes: &[&str]) -> PromotionCandidate {
    let Tally { lived, failed } = with;
    PromotionCandidate {
        name: format!("{tool} with {word}"),
        category: "danger".into(),
        definition: format!(
            "Using {tool} with “{word}” went wrong {failed} of {lived} times, without it {} of {}.",
            without.failed, without.lived
        ),
        confidence: Confidence::clamped(with.share()),
        observations: lived,
        episodes: episodes.iter().map(|id| (*id).to_owned()).collect(),
        properties: BTreeMap::from([
            ("tool".to_owned(), tool.to_owned()),
            ("word".to_owned(), word.to_owned()),
            ("share".to_owned(), format!("{:.2}", with.share())),
        ]),
        relations: Vec::new(),
        sources: Vec::new(),
        series: Vec::new(),
    }
}

impl Hears<OfferCandidates> for FearBridge {
    fn hear(&self, asked: &OfferCandidates, pulse: &mut Pulse<'_, Self>) {
        let candidates = candidates(self.lived.iter(), asked);
        pulse.reply(CandidatesOffered { source: Self::NAME.into(), candidates, contradicted: Vec::new() });
    }
}

//! What the room answers: what is at such times, what usually is, what comes next, and what keeps a rhythm.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use jiff::Timestamp;
use maxim_bus::signals::introspection::{DiscoverRhythms, RhythmsDiscovered};
use maxim_bus::signals::recall::{CalendarBins, DescribeTime, TimeBins, TimeDescribed};

use super::law::TimeSignature;
use super::region::{Moment, SuprachiasmaticNucleus, moment_key};
use super::rhythm::discover;
use crate::region::{Hears, Pulse};

/// Rhythms told when nobody says how many.
const RHYTHMS: usize = 5;

/// Expected events that are always told, those that come next.
const NEXT: usize = 3;

/// Whether a time is one that is asked for.
fn is_between(query: &DescribeTime, at: Timestamp) -> bool {
    query.time_after.is_none_or(|earliest| at >= earliest) && query.time_before.is_none_or(|latest| at <= latest)
}

/// Whether a time is in the wanted bins.
fn is_in(wanted: &TimeBins, time: &TimeSignature) -> bool {
    let TimeBins { hours, days, weeks, months } = wanted;
    let scales = [(hours, time.hour), (days, time.day), (weeks, time.week), (months, time.month)];
    scales.iter().all(|(bins, bin)| bins.is_empty() || bins.contains(bin))
}

impl SuprachiasmaticNucleus {
    /// What was done in these bins of late and how often, the most frequent first.
    fn typical(&self, query: &DescribeTime, bins: &TimeBins, pulse: &Pulse<'_, Self>) -> Vec<(String, u64)> {
        let zone = &pulse.settings().zone;
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        let doings = self.doings(pulse.records());
        let is_wanted = |at: Timestamp| is_between(query, at) && is_in(bins, &TimeSignature::of(at, zone));
        for doing in doings.into_iter().filter(|doing| is_wanted(doing.at)) {
            doing.kinds.into_iter().for_each(|kind| *counts.entry(kind).or_default() += 1);
        }
        let mut counts: Vec<(String, u64)> = counts.into_iter().collect();
        counts.sort_by_key(|(_, count)| Reverse(*count));
        counts.truncate(query.limit);
        counts
    }

    /// Of these moments, those of the wanted time. When a moment was stands in its record.
    fn between(&self, found: Vec<u32>, query: &DescribeTime, pulse: &Pulse<'_, Self>) -> Vec<u32> {
        let at = |number: u32| pulse.record::<Moment>(&moment_key(number)).map(|moment| moment.at);
        found.into_iter().filter(|number| at(*number).is_some_and(|at| is_between(query, at))).collect()
    }
}

impl Hears<DescribeTime> for SuprachiasmaticNucleus {
    fn hear(&self, query: &DescribeTime, pulse: &mut Pulse<'_, Self>) {
        let Some(index) = self.index() else { return };
        let now = TimeSignature::of(pulse.now(), &pulse.settings().zone);
        let bins = match query.bins.is_empty() {
            true => TimeBins { hours: vec![now.hour], days: vec![now.day], ..TimeBins::default() },
            false => query.bins.clone(),
        };
        let is_bounded = query.time_after.is_some() || query.time_before.is_some();
        let enough = if is_bounded || query.sole { usize::MAX } else { query.limit };
        let mut found = if query.like_now { index.similar(&now, enough) } else { index.find(&bins, enough) };
        let mut matching = index.count(&bins) as u64;
        if is_bounded {
            found = self.between(found, query, pulse);
            // What is most like now stands in other bins.
            let in_bins = if query.like_now {
                self.between(index.find(&bins, usize::MAX), query, pulse).len()
            } else {
                found.len()
            };
            matching = in_bins as u64;
        }
        if query.sole && !query.like_now {
            found.retain(|number| index.is_sole_representative(*number));
        }
        found.truncate(query.limit);
        let ids = found.into_iter().filter_map(|number| pulse.record::<Moment>(&moment_key(number)));
        let episodes = ids.map(|moment| moment.id).collect();
        let typical = match query.limit {
            0 => Vec::new(),
            _ => self.typical(query, &bins, pulse),
        };
        let ticking = pulse.settings().oscillators;
        let mut clocks = ticking.then(|| self.clocks.describe(pulse.now(), &now.phases.to_radians()));
        if let Some(clocks) = &mut clocks {
            clocks.expected.truncate(query.limit.max(NEXT));
        }
        let described = TimeDescribed {
            now: CalendarBins { hour: now.hour, day: now.day, week: now.week, month: now.month },
            matching,
            total: index.living() as u64,
            bins,
            episodes,
            typical,
            clocks,
        };
        pulse.reply(described);
    }
}

impl Hears<DiscoverRhythms> for SuprachiasmaticNucleus {
    fn hear(&self, wanted: &DiscoverRhythms, pulse: &mut Pulse<'_, Self>) {
        let doings = self.doings(pulse.records());
        let events = doings.iter().flat_map(|doing| doing.kinds.iter().map(|kind| (kind.as_str(), doing.at)));
        let found = discover(events, &pulse.settings().zone, &pulse.settings().rhythm);
        let limit = if wanted.limit == 0 { RHYTHMS } else { wanted.limit };
        let rhythms = found.iter().take(limit).map(|rhythm| serde_json::json!(rhythm)).collect();
        let events = doings.iter().map(|doing| doing.kinds.len()).sum();
        let since = doings.iter().map(|doing| doing.at).min();
        pulse.reply(RhythmsDiscovered { rhythms, events, since });
    }
}

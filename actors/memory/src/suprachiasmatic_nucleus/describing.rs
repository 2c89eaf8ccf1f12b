//! The room's answers: what happened at such times, what is typical, what comes next, and which rhythms exist.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use maxim_bus::signals::introspection::{DiscoverRhythms, RhythmsDiscovered};
use maxim_bus::signals::recall::{CalendarBins, DescribeTime, TimeBins, TimeDescribed};

use super::law::TimeSignature;
use super::region::{Moment, SuprachiasmaticNucleus, moment_key};
use super::rhythm::discover;
use maxim_region::{Hears, Pulse};

/// Default number of rhythms in an answer.
const RHYTHMS: usize = 5;

/// Expected events that are always included, the next ones.
const NEXT: usize = 3;

/// A period shorter than this, in hours, is described by the hours that it touches; by days, weeks and months if it
/// is shorter than the next limits.
const MOST_HOURS: i64 = 24 * 8;
const MOST_DAYS: i64 = 24 * 300;

/// Maximum number of moments whose records are read for one answer, the newest. A longer answer would make the room
/// count as hanging.
const MOST_READ: usize = 50_000;

/// Whether a time matches the query.
fn is_between(query: &DescribeTime, at: Timestamp) -> bool {
    query.time_after.is_none_or(|earliest| at >= earliest) && query.time_before.is_none_or(|latest| at <= latest)
}

/// Whether a time is in the wanted bins.
fn is_in(wanted: &TimeBins, time: &TimeSignature) -> bool {
    let TimeBins { hours, days, weeks, months } = wanted;
    let scales = [(hours, time.hour), (days, time.day), (weeks, time.week), (months, time.month)];
    scales.iter().all(|(bins, bin)| bins.is_empty() || bins.contains(bin))
}

/// These bins. For scales without bins: those that the wanted period touches, unless it touches all.
fn narrowed(bins: &TimeBins, query: &DescribeTime, zone: &TimeZone) -> TimeBins {
    let mut near = bins.clone();
    let (Some(first), Some(last)) = (query.time_after, query.time_before) else { return near };
    let hours = last.duration_since(first).as_hours();
    let step = match hours {
        0..MOST_HOURS => SignedDuration::from_hours(1),
        MOST_HOURS..MOST_DAYS => SignedDuration::from_hours(12),
        _ => return near,
    };
    let mut touched = TimeBins::default();
    let mut at = first;
    loop {
        let time = TimeSignature::of(at.min(last), zone);
        let scales = [
            (&mut touched.hours, time.hour),
            (&mut touched.days, time.day),
            (&mut touched.weeks, time.week),
            (&mut touched.months, time.month),
        ];
        for (touched, bin) in scales {
            if !touched.contains(&bin) {
                touched.push(bin);
            }
        }
        if at >= last {
            break;
        }
        at = at.saturating_add(step).unwrap_or(last);
    }
    let is_short = hours < MOST_HOURS;
    let scales = [
        (&mut near.hours, touched.hours, is_short),
        (&mut near.days, touched.days, true),
        (&mut near.weeks, touched.weeks, true),
        (&mut near.months, touched.months, true),
    ];
    for (near, touched, is_known) in scales {
        if near.is_empty() && is_known {
            *near = touched;
        }
    }
    near
}

impl SuprachiasmaticNucleus {
    /// Recent activities in these bins with their counts, the most frequent first.
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

    /// Of these moments, those of the wanted time, as far as they are examined; and how many are not.
    fn between(&self, mut found: Vec<u32>, query: &DescribeTime, pulse: &Pulse<'_, Self>) -> (Vec<u32>, u64) {
        let unseen = found.len().saturating_sub(MOST_READ);
        found.truncate(MOST_READ);
        let at = |number: u32| pulse.record::<Moment>(&moment_key(number)).map(|moment| moment.at);
        found.retain(|number| at(*number).is_some_and(|at| is_between(query, at)));
        (found, unseen as u64)
    }
}

impl Hears<DescribeTime> for SuprachiasmaticNucleus {
    fn hear(&self, query: &DescribeTime, pulse: &mut Pulse<'_, Self>) {
        let Some(index) = self.index() else { return };
        let now = TimeSignature::of(pulse.now(), &pulse.settings().zone);
        let is_bounded = query.time_after.is_some() || query.time_before.is_some();
        let bins = match query.bins.is_empty() && (!is_bounded || query.like_now) {
            true => TimeBins { hours: vec![now.hour], days: vec![now.day], ..TimeBins::default() },
            false => query.bins.clone(),
        };
        // A moment's time is in its record: no more are read than may lie in the wanted time.
        let near = if is_bounded { narrowed(&bins, query, &pulse.settings().zone) } else { bins.clone() };
        let enough = if is_bounded || query.sole { usize::MAX } else { query.limit };
        let mut found = if query.like_now { index.similar(&now, enough) } else { index.find(&near, enough) };
        let (mut matching, mut unseen) = (index.count(&bins) as u64, 0);
        if is_bounded {
            (found, unseen) = self.between(found, query, pulse);
            matching = found.len() as u64;
            // The moments most similar to now are in other bins.
            if query.like_now {
                let (in_bins, more) = self.between(index.find(&near, usize::MAX), query, pulse);
                (matching, unseen) = (in_bins.len() as u64, unseen.max(more));
            }
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
            unseen,
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

#[cfg(test)]
mod tests {
    use maxim_bus::signals::recall::EpisodesCaptured;

    use super::super::oscillators::HebbLaw;
    use super::super::region::ScnSettings;
    use super::super::rhythm::RhythmLaw;
    use super::*;
    use maxim_region::rig::{Rig, ear, monday_morning};

    proptest::proptest! {
        #[test]
        fn a_stretch_of_time_is_narrowed_to_bins_that_hold_all_of_it(
            start in 1_700_000_000i64..1_800_000_000, seconds in 0i64..40_000_000, share in 0.0f64..=1.0
        ) {
            let zone = TimeZone::get("Europe/Berlin").expect("a zone");
            let at = |second| Timestamp::from_second(second).expect("a time");
            let (first, last) = (at(start), at(start + seconds));
            let query = DescribeTime { time_after: Some(first), time_before: Some(last), ..DescribeTime::default() };
            let near = narrowed(&TimeBins::default(), &query, &zone);
            let within = at(start + (seconds as f64 * share) as i64);
            assert!(is_in(&near, &TimeSignature::of(within, &zone)), "{within} of {first} to {last}: {near:?}");
        }
    }

    #[test]
    fn what_was_asked_for_stays_and_a_day_is_one_day_of_the_week() {
        let at = |time: &str| Some(time.parse::<Timestamp>().expect("a time"));
        let (time_after, time_before) = (at("2026-01-05T08:00:00Z"), at("2026-01-05T10:00:00Z"));
        let query = DescribeTime { time_after, time_before, ..DescribeTime::default() };
        let asked = TimeBins { hours: vec![7], ..TimeBins::default() };
        let near = narrowed(&asked, &query, &TimeZone::UTC);
        assert_eq!((near.hours, near.days, near.weeks, near.months), (vec![7], vec![0], vec![0], vec![1]));
        let open = DescribeTime { time_after, ..DescribeTime::default() };
        assert_eq!(narrowed(&asked, &open, &TimeZone::UTC), asked);
    }

    #[test]
    fn of_more_than_can_be_looked_at_the_newest_are_and_the_rest_is_told() {
        let (hebb, rhythm) = (HebbLaw::default(), RhythmLaw::default());
        let settings = ScnSettings { zone: TimeZone::UTC, oscillators: false, hebb, rhythm };
        let mut rig = Rig::<SuprachiasmaticNucleus>::new(settings, ear::<TimeDescribed>);
        let at = |n: usize| monday_morning() + SignedDuration::from_mins(n as i64);
        let count = MOST_READ + 70;
        for first in (0..count).step_by(1_000) {
            let episodes = (first..count.min(first + 1_000)).map(|n| (format!("e{n}"), at(n))).collect();
            rig.send(EpisodesCaptured { episodes, ..EpisodesCaptured::default() });
        }
        let mut asked = |first: usize| {
            rig.send(DescribeTime { time_after: Some(at(first)), limit: 1, ..DescribeTime::default() });
            let told = rig.heard::<TimeDescribed>().pop().expect("an answer");
            (told.matching as usize, told.unseen, told.episodes)
        };
        let newest = vec![format!("e{}", count - 1)];
        assert_eq!(asked(0), (MOST_READ, 70, newest.clone()));
        assert_eq!(asked(count - 5), (5, 70, newest));
    }
}

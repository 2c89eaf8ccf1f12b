//! Episodes by hour, day of week, week of month and month: one bit per bin and episode, so that any union or
//! intersection of bins is a pass over packed words. 47 bins cost 6 bytes per episode, number and bins another 8.

use std::sync::Arc;

use maxim_bus::signals::recall::TimeBins;

use super::law::TimeSignature;
use crate::packing::{DamagedSegment, Packer, Unpacker};

const KIND: [u8; 4] = *b"MXS1";

const HOURS: usize = 0;
const DAYS: usize = 24;
const WEEKS: usize = 31;
const MONTHS: usize = 35;
const BINS: usize = 47;

/// Wanted bins of each scale; a value out of range is no bin.
fn scales(wanted: &TimeBins) -> Vec<Vec<usize>> {
    let bins = |start: usize, end: usize, values: &[u8], first: u8| {
        let bin = move |v: &u8| v.checked_sub(first).map(|v| start + usize::from(v)).filter(|bin| *bin < end);
        (!values.is_empty()).then(|| values.iter().filter_map(bin).collect())
    };
    [
        bins(HOURS, DAYS, &wanted.hours, 0),
        bins(DAYS, WEEKS, &wanted.days, 0),
        bins(WEEKS, MONTHS, &wanted.weeks, 0),
        bins(MONTHS, BINS, &wanted.months, 1),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The index. The caller numbers documents in ascending order.
#[derive(Clone, Debug, Default)]
pub struct BinIndex {
    documents: Vec<u32>,
    /// Hour, day, week and month (from 0) of each document, in 5, 3, 2 and 4 bits.
    packed: Vec<u16>,
    bits: Vec<Vec<u64>>,
    counts: Vec<u32>,
    /// Living documents of each hour of each day of the week, day by day: every percept asks for this.
    hours_of_week: Vec<u32>,
    alive: Vec<u64>,
    gone: usize,
    sealed: usize,
}

/// The index of an hour of a day of the week.
fn hour_of_week(hour: usize, day: usize) -> usize {
    (day - DAYS) * 24 + hour
}

fn pack(time: &TimeSignature) -> u16 {
    u16::from(time.hour & 31)
        | u16::from(time.day & 7) << 5
        | u16::from(time.week & 3) << 8
        | u16::from(time.month.saturating_sub(1) & 15) << 10
}

/// Bins of a packed time, one per scale.
fn unpack(packed: u16) -> [usize; 4] {
    let bits = |shift: u16, width: u16| usize::from(packed >> shift & ((1 << width) - 1));
    [HOURS + bits(0, 5).min(23), DAYS + bits(5, 3).min(6), WEEKS + bits(8, 2), MONTHS + bits(10, 4).min(11)]
}

impl BinIndex {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn len(&self) -> usize {
        self.documents.len()
    }

    /// Number of documents that were not removed.
    pub fn living(&self) -> usize {
        self.documents.len() - self.gone
    }

    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// Indexes a document under a number above all earlier ones. Returns false, and does nothing, for another number.
    pub fn add(&mut self, document: u32, time: &TimeSignature) -> bool {
        self.enter(document, pack(time))
    }

    fn enter(&mut self, document: u32, packed: u16) -> bool {
        if self.documents.last().is_some_and(|last| *last >= document) {
            return false;
        }
        let ordinal = self.documents.len();
        self.bits.resize(BINS, Vec::new());
        self.counts.resize(BINS, 0);
        self.hours_of_week.resize(7 * 24, 0);
        let [hour, day, ..] = unpack(packed);
        self.hours_of_week[hour_of_week(hour, day)] += 1;
        for bin in unpack(packed) {
            set(&mut self.bits[bin], ordinal);
            self.counts[bin] += 1;
        }
        set(&mut self.alive, ordinal);
        self.documents.push(document);
        self.packed.push(packed);
        true
    }

    /// Makes a document impossible to find.
    pub fn remove(&mut self, document: u32) {
        let Ok(ordinal) = self.documents.binary_search(&document) else {
            return;
        };
        if self.alive[ordinal / 64] >> (ordinal % 64) & 1 == 1 {
            self.alive[ordinal / 64] &= !(1 << (ordinal % 64));
            self.gone += 1;
            let [hour, day, ..] = unpack(self.packed[ordinal]);
            self.hours_of_week[hour_of_week(hour, day)] -= 1;
            unpack(self.packed[ordinal]).into_iter().for_each(|bin| self.counts[bin] -= 1);
        }
    }

    /// Documents in the wanted bins, newest first, at most `limit`.
    pub fn find(&self, query: &TimeBins, limit: usize) -> Vec<u32> {
        let scales = scales(query);
        let mut found = Vec::new();
        for word in (0..self.alive.len()).rev() {
            let mut bits = self.word(&scales, word);
            while bits != 0 && found.len() < limit {
                let high = 63 - bits.leading_zeros() as usize;
                bits ^= 1 << high;
                found.push(self.documents[word * 64 + high]);
            }
            if found.len() >= limit {
                break;
            }
        }
        found
    }

    /// Documents at the times most similar to this one, best first, and newest first among equals; at most `limit`.
    /// Similarity is `TimeSignature::likeness` between the middles of bins.
    pub fn similar(&self, time: &TimeSignature, limit: usize) -> Vec<u32> {
        let phases = time.phases.to_array();
        let like = |packed: u16| {
            let [hour, day, week, month] = unpack(packed);
            let middle = |bin: usize, first: usize, count: f64| ((bin - first) as f64 + 0.5) / count;
            let circadian = middle(hour, HOURS, 24.0);
            let other = [
                circadian,
                ((day - DAYS) as f64 + circadian) / 7.0,
                // The fourth week of a month also contains the days beyond 28.
                middle(week, WEEKS, 4.3),
                middle(month, MONTHS, 12.0),
            ];
            TimeSignature::likeness(phases, other)
        };
        let alive = |ordinal: &usize| self.alive[ordinal / 64] >> (ordinal % 64) & 1 == 1;
        let mut found: Vec<(f64, u32)> = (0..self.documents.len())
            .filter(alive)
            .map(|ordinal| (like(self.packed[ordinal]), self.documents[ordinal]))
            .collect();
        let order = |a: &(f64, u32), b: &(f64, u32)| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1));
        if found.len() > limit {
            found.select_nth_unstable_by(limit, order);
            found.truncate(limit);
        }
        found.sort_unstable_by(order);
        found.into_iter().map(|(_, document)| document).collect()
    }

    /// How many documents are in the wanted bins: known for one hour of one day of the week, otherwise a pass over the
    /// words.
    pub fn count(&self, query: &TimeBins) -> usize {
        if let ([hour], [day], true, true) =
            (&*query.hours, &*query.days, query.weeks.is_empty(), query.months.is_empty())
            && *hour < 24
            && *day < 7
        {
            let place = usize::from(*day) * 24 + usize::from(*hour);
            return self.hours_of_week.get(place).map_or(0, |count| *count as usize);
        }
        let scales = scales(query);
        (0..self.alive.len()).map(|word| self.word(&scales, word).count_ones() as usize).sum()
    }

    fn word(&self, scales: &[Vec<usize>], word: usize) -> u64 {
        let of = |bin: &usize| self.bits[*bin].get(word).copied().unwrap_or(0);
        scales.iter().fold(self.alive[word], |all, bins| all & bins.iter().fold(0, |any, bin| any | of(bin)))
    }

    /// True if no other living document shares one of the document's bins: without it the bin would be empty.
    pub fn is_sole_representative(&self, document: u32) -> bool {
        let Ok(ordinal) = self.documents.binary_search(&document) else {
            return false;
        };
        let alive = self.alive[ordinal / 64] >> (ordinal % 64) & 1 == 1;
        alive && unpack(self.packed[ordinal]).into_iter().any(|bin| self.counts[bin] == 1)
    }

    /// Documents that are in no segment yet.
    pub fn unsealed(&self) -> usize {
        self.len() - self.sealed
    }

    /// The number after the last sealed document.
    pub fn sealed_before(&self) -> u32 {
        self.sealed.checked_sub(1).map_or(0, |last| self.documents[last] + 1)
    }

    /// Bytes of all documents since the last seal; `None` if there are none. Six bytes per document.
    pub fn seal(&mut self) -> Option<Arc<[u8]>> {
        if self.unsealed() == 0 {
            return None;
        }
        let mut out = Packer::new(KIND);
        out.count(self.unsealed());
        self.documents[self.sealed..].iter().for_each(|document| out.u32(*document));
        self.packed[self.sealed..].iter().for_each(|packed| out.raw(&packed.to_le_bytes()));
        self.sealed = self.len();
        Some(out.finish().into())
    }

    /// The index of sealed segments, in the order of sealing.
    pub fn from_segments<'a>(segments: impl IntoIterator<Item = &'a [u8]>) -> Result<Self, DamagedSegment> {
        let mut index = Self::default();
        for bytes in segments {
            let mut reader = Unpacker::open(bytes, KIND)?;
            let count = reader.u32("the number of documents")? as usize;
            let documents = reader.take(count.saturating_mul(4), "the document numbers")?;
            let times = reader.take(count.saturating_mul(2), "the times")?;
            for (document, packed) in documents.chunks_exact(4).zip(times.chunks_exact(2)) {
                let document = u32::from_le_bytes([document[0], document[1], document[2], document[3]]);
                if !index.enter(document, u16::from_le_bytes([packed[0], packed[1]])) {
                    let last = index.documents.last().copied().unwrap_or(0);
                    return Err(DamagedSegment::Order { document, last });
                }
            }
        }
        index.sealed = index.len();
        Ok(index)
    }

    /// Bytes in memory, without the spare capacity of vectors.
    pub fn size(&self) -> usize {
        let bits: usize = self.bits.iter().map(|bits| bits.len() * 8).sum();
        self.documents.len() * 6 + bits + self.alive.len() * 8 + (self.counts.len() + self.hours_of_week.len()) * 4
    }
}

fn set(bits: &mut Vec<u64>, ordinal: usize) {
    if bits.len() <= ordinal / 64 {
        bits.resize(ordinal / 64 + 1, 0);
    }
    bits[ordinal / 64] |= 1 << (ordinal % 64);
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::{Timestamp, tz::TimeZone};

    fn time(n: u32) -> TimeSignature {
        let at = Timestamp::from_second(1_767_225_600 + i64::from(n) * 47_123).expect("a time");
        TimeSignature::of(at, &TimeZone::UTC)
    }

    fn filled(count: u32) -> BinIndex {
        let mut index = BinIndex::new();
        (0..count).for_each(|n| assert!(index.add(n, &time(n))));
        index
    }

    #[test]
    fn every_query_finds_all_members_of_its_bins() {
        let index = filled(5000);
        let scan =
            |holds: &dyn Fn(&TimeSignature) -> bool| (0..5000).rev().filter(|n| holds(&time(*n))).collect::<Vec<_>>();
        let find = |query: &TimeBins| index.find(query, usize::MAX);
        let hour = TimeBins { hours: vec![9], ..TimeBins::default() };
        assert_eq!(find(&hour), scan(&|t| t.hour == 9));
        let weekday_mornings = TimeBins { hours: (6..12).collect(), days: (0..5).collect(), ..TimeBins::default() };
        assert_eq!(find(&weekday_mornings), scan(&|t| (6..12).contains(&t.hour) && t.day < 5));
        assert_eq!(index.count(&weekday_mornings), find(&weekday_mornings).len());
        let march = TimeBins { months: vec![3], weeks: vec![0], ..TimeBins::default() };
        assert_eq!(find(&march), scan(&|t| t.month == 3 && t.week == 0));
        assert_eq!(index.find(&march, 3), find(&march)[..3]);
        assert_eq!(find(&TimeBins::default()).len(), 5000);
        assert!(find(&TimeBins { months: vec![0, 13], ..TimeBins::default() }).is_empty());
    }

    #[test]
    fn each_hour_of_the_week_is_counted_as_it_is_found() {
        let mut index = filled(5000);
        (0..5000).step_by(3).for_each(|gone| index.remove(gone));
        index.remove(3);
        let mut all = 0;
        for (hour, day) in (0..24).flat_map(|hour| (0..7).map(move |day| (hour, day))) {
            let query = TimeBins { hours: vec![hour], days: vec![day], ..TimeBins::default() };
            assert_eq!(index.count(&query), index.find(&query, usize::MAX).len(), "hour {hour}, day {day}");
            all += index.count(&query);
        }
        assert_eq!((all, index.living()), (3333, 3333));
        assert_eq!(index.count(&TimeBins { hours: vec![24], days: vec![0], ..TimeBins::default() }), 0);
    }

    #[test]
    fn the_times_most_like_one_come_first() {
        let mut index = filled(500);
        let wanted = time(3);
        let found = index.similar(&wanted, 500);
        assert_eq!(found.len(), 500);
        let likeness = |document: &u32| time(*document).similarity(&wanted);
        // Each likeness is off by at most 0.07 because of the bins.
        assert!(found.windows(2).all(|pair| likeness(&pair[0]) + 0.14 > likeness(&pair[1])));
        assert!(likeness(&found[0]) > 0.9 && likeness(&found[499]) < 0.5, "{:?}", &found[..10]);
        assert_eq!(index.similar(&wanted, 7), found[..7]);
        index.remove(found[0]);
        assert_eq!(index.similar(&wanted, 6), found[1..7]);
    }

    #[test]
    fn an_episode_costs_at_most_fifty_bytes_over_all_scales() {
        assert!(filled(10_000).size() <= 10_000 * 50 / 3, "even a third of the budget is enough");
    }

    #[test]
    fn sealed_parts_load_into_the_same_index() {
        let mut index = BinIndex::new();
        let mut parts = Vec::new();
        for n in 0..3000 {
            index.add(n * 3, &time(n));
            if n % 1000 == 999 {
                parts.push(index.seal().expect("a thousand"));
            }
        }
        assert_eq!(index.seal(), None);
        let loaded = BinIndex::from_segments(parts.iter().map(|p| &p[..])).expect("sound");
        let query = TimeBins { hours: vec![1, 2], ..TimeBins::default() };
        assert_eq!(loaded.find(&query, 99), index.find(&query, 99));
        assert_eq!(loaded.count(&query), index.count(&query));
        let wrong = BinIndex::from_segments(parts.iter().rev().map(|p| &p[..]));
        assert!(matches!(wrong, Err(DamagedSegment::Order { .. })));
    }

    #[test]
    fn a_removed_document_is_gone_and_the_last_of_a_bin_is_its_sole_representative() {
        let mut index = BinIndex::new();
        index.add(1, &time(0));
        index.add(2, &time(0));
        assert!(!index.is_sole_representative(2));
        index.remove(1);
        index.remove(1);
        assert!(index.is_sole_representative(2));
        assert_eq!(index.find(&TimeBins::default(), 9), [2]);
        assert_eq!(index.count(&TimeBins::default()), 1);
    }
}

//! Answers a question: one pass over the postings of its stems in the order of experience, then one over the documents
//! of the sittings that were touched.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::dates::{DayRange, fit, named_dates};
use super::query::{Hit, Query, Weights};
use super::score::{HitTable, MOST_STEPS, decay_window, rarity, sitting_hit};
use super::segment::PackedList;
use super::statement::Statement;
use super::tail::Posting;
use super::{Meaning, Sitting, TextIndex};
use crate::language::Word;
use crate::language::packed::PackedVector;

/// Documents around a hit, and one more of share 0, so that a window is whole vector registers.
const WINDOW: usize = 2 * MOST_STEPS + 2;
/// Columns that are added up together; untouched blocks cost nothing.
const BLOCK: usize = 256;
/// Documents that are judged by their best before each is looked at.
const STRETCH: usize = 32;
/// Best documents by words whose meaning is looked at.
const LOOKED_AT: usize = 200;
/// Postings of related stems that are read for one question, beside a quarter of what its own stems have.
const RELATED_POSTINGS: usize = 16_384;

/// The postings of one stem over all segments and the tail, in order.
#[derive(Clone)]
struct List<'a> {
    sealed: Vec<(u32, PackedList<'a>)>,
    tail: &'a [Posting],
    weight: f32,
}

impl List<'_> {
    fn len(&self) -> usize {
        self.sealed.iter().map(|(_, list)| list.remaining()).sum::<usize>() + self.tail.len()
    }

    /// All postings, decoded first, so that the loop over them is one tight one.
    fn decode(self, into: &mut Vec<Posting>) {
        into.clear();
        into.reserve(self.len());
        for (base, list) in self.sealed {
            into.extend(list.map(|p| Posting { ordinal: base + p.ordinal, ..p }));
        }
        into.extend_from_slice(self.tail);
    }
}

/// One distinct stem of the question.
struct Cue<'a> {
    stem: String,
    /// The question's own word.
    form: String,
    /// The exact stem first, related ones after it.
    lists: Vec<List<'a>>,
    rarity: f32,
}

/// Working columns; column `ordinal + MOST_STEPS` belongs to a document.
#[derive(Default)]
pub(super) struct Columns {
    /// Σ rarity · best hit near.
    near: Vec<f32>,
    /// Best hit of the present cue near.
    best: Vec<f32>,
    /// Blocks in which `best` isn't all zero.
    touched: Vec<bool>,
    /// Blocks in which `near` isn't all zero.
    used: Vec<bool>,
}

impl Columns {
    /// Room for so many documents. Padded, so that a hit's window never leaves the columns.
    fn grow(&mut self, documents: usize) {
        let columns = (documents + WINDOW).next_multiple_of(BLOCK);
        if self.near.len() < columns {
            // A spare eighth, so that a growing store doesn't move its columns with every search.
            let columns = (columns + columns / 8).next_multiple_of(BLOCK);
            self.near.resize(columns, 0.0);
            self.best.resize(columns, 0.0);
            self.touched.resize(columns / BLOCK, false);
            self.used.resize(columns / BLOCK, false);
        }
    }

    /// Adds the cue's best hits to the sum and clears them for the next cue.
    fn settle(&mut self, rarity: f32) {
        let columns = self.near.chunks_exact_mut(BLOCK).zip(self.best.chunks_exact_mut(BLOCK));
        let blocks = self.touched.iter_mut().zip(&mut self.used).zip(columns);
        for ((touched, used), (near, best)) in blocks.filter(|((touched, _), _)| **touched) {
            for (near, best) in near.iter_mut().zip(best) {
                *near += rarity * *best;
                *best = 0.0;
            }
            *touched = false;
            *used = true;
        }
    }

    fn clear(&mut self) {
        for (used, near) in self.used.iter_mut().zip(self.near.chunks_exact_mut(BLOCK)).filter(|(used, _)| **used) {
            near.fill(0.0);
            *used = false;
        }
    }

    /// Raises a document and its neighbours in the sitting to their share of a hit.
    #[inline(always)]
    fn raise(&mut self, ordinal: usize, reach: u8, hit: f32, window: &[f32; WINDOW]) {
        self.touched[ordinal / BLOCK] = true;
        self.touched[(ordinal + WINDOW - 1) / BLOCK] = true;
        let Some(around) = self.best.get_mut(ordinal..).and_then(|rest| rest.first_chunk_mut::<WINDOW>()) else {
            return;
        };
        if reach == (MOST_STEPS as u8) << 4 | MOST_STEPS as u8 {
            // By value, so that nothing can alias and the loop becomes three vector operations.
            let (before, shares) = (*around, *window);
            *around = std::array::from_fn(|i| higher(before[i], hit * shares[i]));
            return;
        }
        let from = MOST_STEPS - usize::from(reach & 15);
        let to = MOST_STEPS + usize::from(reach >> 4);
        for (best, share) in around[from..=to].iter_mut().zip(&window[from..=to]) {
            *best = higher(*best, hit * share);
        }
    }
}

/// What the first pass has found.
struct Found {
    columns: Columns,
    /// Coverage by sitting; 0 where only a related stem occurs, nothing where none does.
    sittings: Vec<Option<f32>>,
}

impl TextIndex {
    /// The `limit` best documents, best first; ties go to the newer one.
    pub fn search(&self, query: &Query, limit: usize) -> Vec<Hit> {
        self.search_where(query, limit, |_| true)
    }

    /// The best among the documents of an ascending list. Others still lend their words to their neighbours.
    pub fn search_within(&self, query: &Query, documents: &[u32], limit: usize) -> Vec<Hit> {
        self.search_where(query, limit, |document| documents.binary_search(&document).is_ok())
    }

    fn search_where(&self, query: &Query, limit: usize, allowed: impl Fn(u32) -> bool) -> Vec<Hit> {
        if limit == 0 || self.is_empty() {
            return Vec::new();
        }
        let words = crate::language::words(query.text);
        let named = self.people.named_in(&words);
        let dates = self.date_ranges(&named.rest);
        let mut cues: Vec<Cue> = Vec::new();
        for word in &named.rest {
            if let Some(stem) = self.stems.of(&word.text).filter(|stem| cues.iter().all(|cue| cue.stem != *stem)) {
                let exact = self.list_of(&stem, 1.0);
                let rarity = rarity(self.len(), exact.len());
                cues.push(Cue { stem, form: word.text.clone(), lists: vec![exact], rarity });
            }
        }
        self.relate(&mut cues, query.weights.related);
        let total: f32 = cues.iter().map(|cue| cue.rarity).sum();
        let found = self.gather(cues, &query.weights);
        let others = self.penalties(&named.people, &query.weights);
        let ranking =
            Ranking { index: self, weights: &query.weights, found, others, dates, scale: 1.0 / total.max(1e-6) };
        let meant = self.meaning.as_ref().filter(|_| query.weights.alike != 0.0 || query.weights.alike_near != 0.0);
        let hits = match meant {
            Some(meaning) => {
                let hits = ranking.best(limit.max(LOOKED_AT), allowed);
                self.look_at_meaning(meaning, &named.rest, &query.weights, hits, limit)
            }
            None => ranking.best(limit, allowed),
        };
        let mut columns = ranking.found.columns;
        columns.clear();
        if let Ok(mut kept) = self.columns.lock() {
            *kept = columns;
        }
        hits
    }

    /// Gives each cue the lists of stems that stand for it, the weightiest first, as far as the budget reaches.
    fn relate<'a>(&'a self, cues: &mut [Cue<'a>], most: usize) {
        let Some(meaning) = self.meaning.as_ref().filter(|_| most > 0) else { return };
        let Ok(mut related) = meaning.related.lock() else { return };
        let mut found: Vec<(f32, usize, List<'a>)> = Vec::new();
        for (at, cue) in cues.iter().enumerate() {
            for soft in related.of(&cue.stem, &cue.form, &self.vocabulary, &*meaning.encoder, most) {
                let mut list = self.list_of(&self.vocabulary.entries()[soft.id as usize].stem, soft.weight);
                list.weight *= rarity(self.len(), list.len()).min(cue.rarity) / cue.rarity;
                found.push((list.weight * cue.rarity, at, list));
            }
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut left = RELATED_POSTINGS + cues.iter().map(|cue| cue.lists[0].len()).sum::<usize>() / 4;
        for (_, at, list) in found {
            if list.len() <= left {
                left -= list.len();
                cues[at].lists.push(list);
            }
        }
    }

    fn list_of(&self, stem: &str, weight: f32) -> List<'_> {
        let places = self.vocabulary.entry(stem).map_or(&[][..], |entry| &entry.places);
        let sealed = places.iter().map(|place| (self.bases[place.0 as usize], self.sealed_list(*place))).collect();
        List { sealed, tail: self.tail.list(stem), weight }
    }

    /// Adds how near the documents' meaning is to the question's, and that of their neighbours in the sitting.
    fn look_at_meaning(
        &self,
        meaning: &Meaning,
        question: &[Word],
        weights: &Weights,
        mut hits: Vec<Hit>,
        limit: usize,
    ) -> Vec<Hit> {
        let words: Vec<&str> = question.iter().map(|word| word.text.as_str()).collect();
        let asked = PackedVector::of(&meaning.encoder.embed(&words.join(" ")));
        let window = decay_window(weights.neighbour_decay, weights.neighbour_steps.min(MOST_STEPS));
        for hit in &mut hits {
            let Some(at) = self.ordinal(hit.document).map(|at| at as usize) else { continue };
            let reach = self.looks[at].reach;
            let (before, after) = (usize::from(reach & 15), usize::from(reach >> 4));
            let (mut sum, mut weight) = (0.0, 0.0);
            if weights.alike_near != 0.0 {
                for (near, share) in (at - before..=at + after).zip(&window[MOST_STEPS - before..]) {
                    if let Some(cosine) = meaning.vectors.cosine(near, &asked) {
                        sum += share * cosine;
                        weight += share;
                    }
                }
            }
            let own = meaning.vectors.cosine(at, &asked).unwrap_or(0.0);
            hit.score += weights.alike * own + weights.alike_near * sum / f32::max(weight, 1e-6);
        }
        hits.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.document.cmp(&a.document)));
        hits.truncate(limit);
        hits
    }

    fn date_ranges(&self, words: &[crate::language::Word]) -> Vec<DayRange> {
        let dates = named_dates(words);
        if dates.is_empty() {
            return Vec::new();
        }
        let year = |day: i32| i16::try_from(1970 + day.div_euclid(365)).unwrap_or(1970);
        let days = || self.sittings.iter().map(|s| s.day);
        let (from, to) = (year(days().min().unwrap_or(0)) - 1, year(days().max().unwrap_or(0)) + 1);
        dates.into_iter().flat_map(|date| date.ranges(from, to)).collect()
    }

    /// What each group of people loses when the question names somebody else. Nobody there, nothing lost.
    fn penalties(&self, named: &[u32], weights: &Weights) -> Vec<f32> {
        let known = self.people.count().max(1) as f32;
        let penalty = weights.other * (1.0 - 1.0 / known);
        let loses =
            |group: &Vec<u32>| !named.is_empty() && !group.is_empty() && !group.iter().any(|p| named.contains(p));
        self.people.groups().iter().map(|group| if loses(group) { penalty } else { 0.0 }).collect()
    }

    fn gather(&self, cues: Vec<Cue>, weights: &Weights) -> Found {
        let mut columns = self.columns.lock().map(|mut kept| std::mem::take(&mut *kept)).unwrap_or_default();
        columns.grow(self.len());
        let steps = weights.neighbour_steps.min(MOST_STEPS);
        let mut pass = Pass {
            index: self,
            columns,
            reached: vec![false; self.sittings.len()],
            asked: Vec::new(),
            postings: Vec::new(),
            window: decay_window(weights.neighbour_decay, steps),
            hits: HitTable::new(self.stems_total as f32 / self.len() as f32),
        };
        let sitting_length = self.stems_total as f32 / self.sittings.len() as f32;
        let (mut sittings, mut sittings_total) = (vec![0.0; self.sittings.len()], 0.0);
        for cue in cues {
            let counts = pass.spread(cue);
            let rarity = rarity(self.sittings.len(), counts.len());
            sittings_total += rarity;
            for (sitting, count) in counts {
                let relative = self.sittings[sitting as usize].stems as f32 / sitting_length.max(1.0);
                sittings[sitting as usize] += rarity * sitting_hit(count as f32, relative);
            }
        }
        pass.carry_answers(weights.answer);
        let coverage = |(sum, reached): (f32, &bool)| reached.then_some(sum / f32::max(sittings_total, 1e-6));
        let sittings = sittings.into_iter().zip(&pass.reached).map(coverage).collect();
        Found { columns: pass.columns, sittings }
    }
}

/// State of the first pass.
struct Pass<'a> {
    index: &'a TextIndex,
    columns: Columns,
    /// Sittings in which a stem occurs, related ones included.
    reached: Vec<bool>,
    /// Documents that hold a question, with rarity · own hit of one stem.
    asked: Vec<(u32, f32)>,
    /// Of the list at hand.
    postings: Vec<Posting>,
    window: [f32; WINDOW],
    hits: HitTable,
}

impl Pass<'_> {
    /// Adds one cue and returns how often its exact stem occurs in each sitting.
    fn spread(&mut self, cue: Cue) -> Vec<(u32, u32)> {
        let mut counts: Vec<(u32, u32)> = Vec::new();
        let looks = self.index.looks.as_slice();
        for (i, list) in cue.lists.into_iter().enumerate() {
            let weight = list.weight;
            list.decode(&mut self.postings);
            // Sitting of the last posting, its end, and the stem's count in it so far.
            let (mut sitting, mut end, mut count) = (0, 0, 0);
            for Posting { ordinal, count: times } in self.postings.iter().copied() {
                let o = ordinal as usize;
                let Some(look) = looks.get(o) else {
                    break;
                };
                let hit = weight * self.hits.hit(times, look.length);
                self.columns.raise(o, look.reach, hit, &self.window);
                if look.marks & Statement::AWAITS_ANSWER != 0 && i == 0 {
                    self.asked.push((ordinal, cue.rarity * hit));
                }
                if ordinal >= end {
                    if count > 0 && i == 0 {
                        counts.push((sitting, count));
                    }
                    sitting = self.index.sitting_of[o];
                    end = self.index.sittings[sitting as usize].end;
                    count = 0;
                    self.reached[sitting as usize] = true;
                }
                count += u32::from(times);
            }
            if count > 0 && i == 0 {
                counts.push((sitting, count));
            }
        }
        self.columns.settle(cue.rarity);
        counts
    }

    /// What a question covers is carried to the turn after it in the sitting.
    fn carry_answers(&mut self, weight: f32) {
        for (ordinal, coverage) in &self.asked {
            let o = *ordinal as usize;
            if self.index.looks[o].reach >> 4 > 0 {
                self.columns.near[o + 1 + MOST_STEPS] += weight * coverage;
            }
        }
    }
}

/// `f32::max` without its care for NaN, which would keep the loop from becoming vector instructions.
#[inline]
fn higher(a: f32, b: f32) -> f32 {
    if b > a { b } else { a }
}

/// The second pass.
struct Ranking<'a> {
    index: &'a TextIndex,
    weights: &'a Weights,
    found: Found,
    /// By group of people.
    others: Vec<f32>,
    dates: Vec<DayRange>,
    /// 1 / Σ rarity of the question's stems.
    scale: f32,
}

/// Orders by score, then by age; a NaN can't come up.
#[derive(PartialEq)]
struct Ranked(f32, u32);

impl Eq for Ranked {}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0).then(self.1.cmp(&other.1))
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ranking<'_> {
    fn best(&self, limit: usize, allowed: impl Fn(u32) -> bool) -> Vec<Hit> {
        let mut heap: BinaryHeap<Reverse<Ranked>> = BinaryHeap::with_capacity(limit + 1);
        let mut floor = 0.0;
        let marks = self.mark_scores();
        let best_marks = marks.iter().copied().fold(0.0, higher);
        let near = &self.found.columns.near;
        for (sitting, ordinal, base) in self.stretches() {
            let stretch = ordinal..(ordinal + STRETCH).min(sitting.end as usize);
            let columns = &near[stretch.start + MOST_STEPS..stretch.end + MOST_STEPS];
            // Most stretches can't reach the worst of the best, and are done with here.
            if columns.iter().copied().fold(0.0, higher) * self.scale + base + best_marks < floor {
                continue;
            }
            for (ordinal, near) in stretch.zip(columns) {
                let score = near * self.scale + base + marks[usize::from(self.index.looks[ordinal].marks)]
                    - self.others[self.index.groups[ordinal] as usize];
                if score < floor || score <= 0.0 {
                    continue;
                }
                let document = self.index.documents[ordinal];
                if self.index.dead.binary_search(&document).is_ok() || !allowed(document) {
                    continue;
                }
                heap.push(Reverse(Ranked(score, document)));
                if heap.len() > limit {
                    heap.pop();
                    floor = heap.peek().map_or(0.0, |worst| worst.0.0);
                }
            }
        }
        let sorted = heap.into_sorted_vec();
        sorted.into_iter().map(|Reverse(Ranked(score, document))| Hit { document, score }).collect()
    }

    /// Starts of runs of documents of one sitting, with what the sitting gives to each.
    fn stretches(&self) -> impl Iterator<Item = (Sitting, usize, f32)> {
        self.sitting_scores().flat_map(|(sitting, base)| {
            let starts = (sitting.start as usize..sitting.end as usize).step_by(STRETCH);
            starts.map(move |start| (sitting, start, base))
        })
    }

    /// Statement and question parts by mark byte.
    fn mark_scores(&self) -> [f32; 256] {
        std::array::from_fn(|marks| {
            let marks = Statement(marks as u8);
            let asks = if marks.has(Statement::ASKS) { self.weights.question } else { 0.0 };
            self.weights.particular * f32::from(marks.particulars()) - asks
        })
    }

    /// Sittings in which a stem occurs or whose day is named, with what all of their documents get.
    fn sitting_scores(&self) -> impl Iterator<Item = (Sitting, f32)> {
        self.index.sittings.iter().zip(&self.found.sittings).filter_map(|(sitting, coverage)| {
            let fit = if self.dates.is_empty() { 0.0 } else { fit(&self.dates, sitting.day) };
            let base = self.weights.sitting * coverage.unwrap_or(0.0) + self.weights.date * fit;
            (coverage.is_some() || fit > 0.0).then_some((*sitting, base))
        })
    }
}

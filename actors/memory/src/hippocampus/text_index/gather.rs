//! First pass: all hits of the question's stems, and the highest possible score of each group of neighbouring
//! documents.
//!
//! Documents are grouped by four. A group's bound is the sum over the stems of the best hit in it or near it, as if one
//! document had all of them. Only groups with a high bound are examined document by document.

use super::TextIndex;
use super::query::Weights;
use super::score::{HitTable, MOST_STEPS, decay_window, rarity, sitting_hit};
use super::search::{Cue, List};
use super::statement::Statement;

/// Documents of a group, as a power of two.
pub const GROUP_BITS: u32 = 2;
/// Groups before the first and after the last, so that a group's neighbours always exist.
pub const BORDER: usize = 2;

/// A document with the hit of a stem.
#[derive(Clone, Copy, Debug)]
pub struct OwnHit {
    pub ordinal: u32,
    pub hit: f32,
}

/// Columns that the next question uses again, so that it needs no fresh memory. All are zero between questions, except
/// `hits`.
#[derive(Default)]
pub struct Scratch {
    pub hits: Vec<OwnHit>,
    /// Best hit of the present stem, by group.
    best: Vec<f32>,
    /// Σ rarity · best hit near the group, by group.
    pub bounds: Vec<f32>,
    /// Number + 1 of a group among those that are examined.
    pub slots: Vec<u32>,
}

/// Documents of people named in the question, ascending.
pub struct OfPeople<'a> {
    /// Documents that speak of an absent person.
    pub mentions: &'a [u32],
    /// Documents in which they took part.
    pub spoken: &'a [u32],
    /// Rarity of all words of the question together.
    pub total: f32,
}

/// Share of a question that a document's person alone covers: enough to be found if nothing else is, and too little to
/// outweigh anything else.
const TOOK_PART: f32 = 1e-4;

/// The result of the first pass; the hits are in the scratch.
pub struct Gathered {
    /// Rarity of each stem and the end of its hits; those of its related stems follow its own.
    pub stems: Vec<(f32, usize)>,
    /// Coverage by sitting; 0 if only a related stem occurs, `None` if none does.
    pub sittings: Vec<Option<f32>>,
    /// What documents inherit from a question just before them, by ordinal.
    pub carried: Vec<OwnHit>,
}

/// `f32::max` without NaN handling, which would prevent vector instructions.
#[inline]
pub fn higher(a: f32, b: f32) -> f32 {
    if b > a { b } else { a }
}

/// The place of a run over postings: the last sitting, its end, and the stem's count in it so far.
#[derive(Default)]
struct Run {
    sitting: u32,
    end: u32,
    count: u32,
}

impl TextIndex {
    /// `asked_in`: a document whose words don't count.
    pub(super) fn gather(
        &self,
        cues: Vec<Cue>,
        weights: &Weights,
        asked_in: Option<u32>,
        people: &OfPeople<'_>,
        scratch: &mut Scratch,
    ) -> Gathered {
        let groups = (self.len() >> GROUP_BITS) + 1 + 2 * BORDER;
        scratch.hits.clear();
        scratch.best.resize(groups, 0.0);
        scratch.bounds.clear();
        scratch.bounds.resize(groups, 0.0);
        let window = decay_window(weights.neighbour_decay, weights.neighbour_steps.min(MOST_STEPS));
        let mut pass = Pass {
            index: self,
            scratch,
            asked_in: asked_in.unwrap_or(u32::MAX),
            reached: vec![false; self.sittings.len()],
            asked: Vec::new(),
            table: HitTable::new(self.stems_total as f32 / self.len() as f32),
        };
        let sitting_length = self.stems_total as f32 / self.sittings.len() as f32;
        let (mut sittings, mut sittings_total) = (vec![0.0; self.sittings.len()], 0.0);
        let mut stems = Vec::with_capacity(cues.len());
        for Cue { lists, rarity: stem_rarity, .. } in cues {
            let mut counts: Vec<(u32, u32)> = Vec::new();
            for (i, list) in lists.into_iter().enumerate() {
                if i == 0 {
                    counts = pass.own(list, stem_rarity);
                } else {
                    pass.related(list);
                }
            }
            pass.settle(stem_rarity, [window[MOST_STEPS + 1], window[2 * MOST_STEPS]]);
            stems.push((stem_rarity, pass.scratch.hits.len()));
            let rarity = rarity(self.sittings.len(), counts.len());
            sittings_total += rarity;
            for (sitting, count) in counts {
                let relative = self.sittings[sitting as usize].stems as f32 / sitting_length.max(1.0);
                sittings[sitting as usize] += rarity * sitting_hit(count as f32, relative);
            }
        }
        let carried = pass.carried(weights, people);
        let coverage = |(sum, reached): (f32, &bool)| reached.then_some(sum / f32::max(sittings_total, 1e-6));
        let sittings = sittings.into_iter().zip(&pass.reached).map(coverage).collect();
        Gathered { stems, sittings, carried }
    }
}

/// State of the first pass.
struct Pass<'a, 's> {
    index: &'a TextIndex,
    scratch: &'s mut Scratch,
    /// A document that is skipped.
    asked_in: u32,
    /// Sittings in which a stem occurs, including related stems.
    reached: Vec<bool>,
    /// Documents that contain a question, with rarity · own hit of one stem.
    asked: Vec<OwnHit>,
    table: HitTable,
}

impl Pass<'_, '_> {
    /// Adds the hits of a stem of the question. Returns how often it occurs in each sitting.
    fn own(&mut self, list: List, rarity: f32) -> Vec<(u32, u32)> {
        let mut counts: Vec<(u32, u32)> = Vec::new();
        let mut run = Run::default();
        let (looks, weight, asked_in) = (self.index.looks.as_slice(), list.weight, self.asked_in);
        let asked = &mut self.asked;
        let (table, reached, index) = (&self.table, &mut self.reached, self.index);
        let Scratch { hits, best, .. } = &mut *self.scratch;
        hits.reserve(list.len());
        list.each(|posting| {
            let ordinal = posting.ordinal;
            let Some(look) = looks.get(ordinal as usize).filter(|_| ordinal != asked_in) else { return };
            let hit = weight * table.hit(posting.count, look.length);
            hits.push(OwnHit { ordinal, hit });
            let group = &mut best[(ordinal >> GROUP_BITS) as usize + BORDER];
            *group = higher(*group, hit);
            if look.marks & Statement::AWAITS_ANSWER != 0 {
                asked.push(OwnHit { ordinal, hit: rarity * hit });
            }
            if ordinal >= run.end {
                if run.count > 0 {
                    counts.push((run.sitting, run.count));
                }
                run.sitting = index.sitting_of[ordinal as usize];
                run.end = index.sittings[run.sitting as usize].end;
                run.count = 0;
                reached[run.sitting as usize] = true;
            }
            run.count += u32::from(posting.count);
        });
        if run.count > 0 {
            counts.push((run.sitting, run.count));
        }
        counts
    }

    /// Adds the hits of a stem that stands for one of the question.
    fn related(&mut self, list: List) {
        let mut end = 0;
        let (looks, weight, asked_in) = (self.index.looks.as_slice(), list.weight, self.asked_in);
        let (table, reached, index) = (&self.table, &mut self.reached, self.index);
        let Scratch { hits, best, .. } = &mut *self.scratch;
        hits.reserve(list.len());
        list.each(|posting| {
            let ordinal = posting.ordinal;
            let Some(look) = looks.get(ordinal as usize).filter(|_| ordinal != asked_in) else { return };
            let hit = weight * table.hit(posting.count, look.length);
            hits.push(OwnHit { ordinal, hit });
            let group = &mut best[(ordinal >> GROUP_BITS) as usize + BORDER];
            *group = higher(*group, hit);
            if ordinal >= end {
                let sitting = index.sitting_of[ordinal as usize] as usize;
                end = index.sittings[sitting].end;
                reached[sitting] = true;
            }
        });
    }

    /// Adds the stem's best hits to the bounds and clears them for the next stem. A hit in the next group is at least
    /// one step away, in the one after it at least five.
    fn settle(&mut self, rarity: f32, shares: [f32; 2]) {
        let Scratch { best, bounds, .. } = &mut *self.scratch;
        let inner = best.len() - 2 * BORDER;
        let part = |from: usize| &best[from..from + inner];
        let around = part(0).iter().zip(part(4)).zip(part(1).iter().zip(part(3)));
        let places = bounds[BORDER..BORDER + inner].iter_mut().zip(part(BORDER)).zip(around);
        for ((bound, own), ((far_a, far_b), (near_a, near_b))) in places {
            let near = higher(shares[0] * higher(*near_a, *near_b), shares[1] * higher(*far_a, *far_b));
            *bound += rarity * higher(*own, near);
        }
        best.fill(0.0);
    }

    /// What a question covers is carried to the next turn of the sitting; and the weight of a name goes to the named
    /// people.
    fn carried(&mut self, weights: &Weights, people: &OfPeople<'_>) -> Vec<OwnHit> {
        let weight = weights.answer;
        let mut asked = std::mem::take(&mut self.asked);
        asked.retain(|hit| self.index.looks[hit.ordinal as usize].reach >> 4 > 0);
        let after = asked.into_iter().map(|OwnHit { ordinal, hit }| OwnHit { ordinal: ordinal + 1, hit: weight * hit });
        let mut hits: Vec<OwnHit> = after.collect();
        let total = people.total.max(1e-6);
        for (documents, told) in [(people.mentions, weights.mention * total), (people.spoken, TOOK_PART * total)] {
            hits.extend(documents.iter().map(|ordinal| OwnHit { ordinal: *ordinal, hit: told }));
            documents.iter().for_each(|at| self.reached[self.index.sitting_of[*at as usize] as usize] = true);
        }
        // Stable, because the sum is in the order of the stems.
        hits.sort_by_key(|hit| hit.ordinal);
        let mut carried: Vec<OwnHit> = Vec::new();
        for OwnHit { ordinal, hit } in hits {
            match carried.last_mut() {
                Some(last) if last.ordinal == ordinal => last.hit += hit,
                _ => carried.push(OwnHit { ordinal, hit }),
            }
        }
        for OwnHit { ordinal, hit } in &carried {
            self.scratch.bounds[(ordinal >> GROUP_BITS) as usize + BORDER] += hit;
        }
        carried
    }
}

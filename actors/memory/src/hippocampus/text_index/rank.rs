//! Second pass: the best documents, from the groups that can contain them.

use super::TextIndex;
use super::dates::{DayRange, best_fit, fit};
use super::gather::{BORDER, GROUP_BITS, Gathered, OwnHit, Scratch, higher};
use super::query::{By, Hit, Weights};
use super::score::{MOST_STEPS, decay_window};
use super::statement::Statement;

/// Number of documents in a group.
const GROUP: usize = 1 << GROUP_BITS;
/// Groups that a hit reaches, including its own.
const REACHED: usize = 2 * BORDER + 1;
/// Groups that are examined, at most: those that can contain the best. In a larger store, one of several equally good
/// documents may be missed.
const MOST_GROUPS: usize = 256;
/// The steps before and after a document in the middle of its session.
const FULL_REACH: u8 = (MOST_STEPS as u8) << 4 | MOST_STEPS as u8;

/// The second pass.
pub struct Ranking<'a> {
    pub index: &'a TextIndex,
    pub weights: &'a Weights,
    pub gathered: Gathered,
    /// By group of people.
    pub others: Vec<f32>,
    /// Documents, ascending, that speak of a named person.
    pub mentions: Vec<u32>,
    pub dates: Vec<DayRange>,
    /// Marks of a statement that count for it.
    pub particulars: u8,
    /// 1 / Σ rarity of the question's stems.
    pub scale: f32,
}

/// A score above 0 and its document in one number: a better one is greater; of equals the newer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place(u64);

impl Place {
    fn new(score: f32, document: u32) -> Self {
        Self(u64::from(score.to_bits()) << 32 | u64::from(document))
    }

    fn score(self) -> f32 {
        f32::from_bits((self.0 >> 32) as u32)
    }

    fn document(self) -> u32 {
        self.0 as u32
    }
}

/// The best so far, and as many more that came since the last sorting.
struct Best {
    limit: usize,
    /// Also whether its own words count for it.
    kept: Vec<(Place, bool)>,
    floor: f32,
}

impl Best {
    fn new(limit: usize) -> Self {
        Self { limit, kept: Vec::with_capacity(2 * limit), floor: 0.0 }
    }

    /// A document must score more than this.
    fn floor(&self) -> f32 {
        self.floor
    }

    /// Adds the best documents that end with a question mark, in half of the places and the free ones. Otherwise a
    /// person who asks the same again and again would find nothing else.
    fn with_questions(self, questions: Self) -> Vec<(Place, bool)> {
        let limit = self.limit;
        let (mut kept, mut questions) = (self.into_sorted(), questions.into_sorted());
        questions.truncate((limit / 2).max(limit - kept.len()));
        kept.append(&mut questions);
        kept.sort_unstable_by(|a, b| b.cmp(a));
        kept.truncate(limit);
        kept
    }

    fn push(&mut self, score: f32, document: u32, has_words: bool) {
        self.kept.push((Place::new(score, document), has_words));
        if self.kept.len() >= 2 * self.limit {
            let (_, worst, _) = self.kept.select_nth_unstable_by(self.limit - 1, |a, b| b.cmp(a));
            self.floor = worst.0.score();
            self.kept.truncate(self.limit);
        }
    }

    fn into_sorted(mut self) -> Vec<(Place, bool)> {
        self.kept.sort_unstable_by(|a, b| b.cmp(a));
        self.kept.truncate(self.limit);
        self.kept
    }
}

/// The score of a session's documents apart from their own words.
#[derive(Clone, Copy)]
struct Base {
    words: f32,
    /// The most that one document gets for its day.
    date: f32,
    /// A stem of the question or a related one occurs in the sitting, or a named person took part.
    is_reached: bool,
}

impl Ranking<'_> {
    /// The `limit` best, from an ascending list of documents if one is given; best first, ties go to the newer.
    pub fn best(&self, limit: usize, within: Option<&[u32]>, scratch: &mut Scratch) -> Vec<Hit> {
        let mut best = [Best::new(limit), Best::new(limit)];
        let marks = self.mark_scores();
        let most = marks.iter().copied().fold(0.0, higher);
        let bases = self.sitting_scores();
        let mut groups = self.groups(&bases, most, &scratch.bounds);
        if let Some(documents) = within {
            let held = documents.iter().filter_map(|document| self.index.ordinal(*document)).map(|at| at >> GROUP_BITS);
            let mut held: Vec<u32> = held.collect();
            held.dedup();
            groups.retain(|(_, group)| held.binary_search(group).is_ok());
        }
        if groups.len() > MOST_GROUPS {
            let descending = |a: &(f32, u32), b: &(f32, u32)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
            groups.select_nth_unstable_by(MOST_GROUPS, descending);
            groups.truncate(MOST_GROUPS);
        }
        self.look_closely(groups, &bases, &marks, within, &mut best, scratch);
        let by = |has_words| if has_words { By::Words } else { By::Neighbours };
        let hit = |(at, words): (Place, bool)| Hit { document: at.document(), score: at.score(), by: by(words) };
        let [best, questions] = best;
        best.with_questions(questions).into_iter().map(hit).collect()
    }

    /// Groups of the sittings in question, each with the highest possible score of a document in it.
    fn groups(&self, bases: &[Option<Base>], most: f32, bounds: &[f32]) -> Vec<(f32, u32)> {
        let mut groups: Vec<(f32, u32)> = Vec::with_capacity(bounds.len());
        for (sitting, base) in self.index.sittings.iter().zip(bases) {
            let Some(base) = base else { continue };
            for group in sitting.start >> GROUP_BITS..=(sitting.end - 1) >> GROUP_BITS {
                let bound = bounds[group as usize + BORDER] * self.scale + base.words + base.date + most;
                match groups.last_mut() {
                    // It crosses the border of the previous sitting.
                    Some(last) if last.1 == group => last.0 = higher(last.0, bound),
                    _ => groups.push((bound, group)),
                }
            }
        }
        groups.retain(|(bound, _)| *bound > 0.0);
        groups
    }

    fn look_closely(
        &self,
        mut groups: Vec<(f32, u32)>,
        bases: &[Option<Base>],
        marks: &[f32; 256],
        within: Option<&[u32]>,
        [statements, questions]: &mut [Best; 2],
        scratch: &mut Scratch,
    ) {
        groups.sort_unstable_by_key(|(_, group)| *group);
        let (near, worded) = self.near(&groups, scratch);
        // The newest first: it wins a tie, so an older one needs more than the worst so far.
        let columns = near.chunks_exact(GROUP).zip(worded.chunks_exact(GROUP));
        for ((bound, group), (near, worded)) in groups.iter().zip(columns).rev() {
            if *bound <= statements.floor().min(questions.floor()) {
                continue;
            }
            let start = (*group as usize) << GROUP_BITS;
            for (ordinal, (near, worded)) in
                (start..self.index.len().min(start + GROUP)).zip(near.iter().zip(worded)).rev()
            {
                let sitting = self.index.sitting_of[ordinal] as usize;
                let Some(base) = bases[sitting] else { continue };
                let fits = if base.date > 0.0 { fit(&self.dates, self.index.days[ordinal]) } else { 0.0 };
                if !base.is_reached && fits == 0.0 {
                    continue;
                }
                let look = self.index.looks[ordinal].marks;
                let best = if Statement(look).has(Statement::ASKS) { &mut *questions } else { &mut *statements };
                let base = base.words + self.weights.date * fits;
                let score = near * self.scale + base + marks[usize::from(look)] - self.lost(ordinal as u32);
                if score <= best.floor() {
                    continue;
                }
                let document = self.index.documents[ordinal];
                let is_wanted = within.is_none_or(|documents| documents.binary_search(&document).is_ok());
                if is_wanted && self.index.dead.binary_search(&document).is_err() {
                    best.push(score, document, *worded || fits > 0.0);
                }
            }
        }
    }

    /// The penalty of a document because somebody else said it.
    pub fn lost(&self, ordinal: u32) -> f32 {
        let lost = self.others[self.index.groups[ordinal as usize] as usize];
        if lost > 0.0 && self.mentions.binary_search(&ordinal).is_ok() { 0.0 } else { lost }
    }

    /// Σ over the stems of rarity · best hit near, for each document of the groups (ascending); and whether a hit is
    /// its own, or was carried to it.
    fn near(&self, groups: &[(f32, u32)], scratch: &mut Scratch) -> (Vec<f32>, Vec<bool>) {
        let Scratch { hits, slots, bounds, .. } = scratch;
        slots.resize(bounds.len(), 0);
        let mut taken: Vec<u32> = Vec::with_capacity(groups.len() * REACHED);
        for (_, group) in groups {
            // With the border before it, a group and its reach begin at its own number.
            for place in *group..*group + REACHED as u32 {
                if slots[place as usize] == 0 {
                    taken.push(place);
                    slots[place as usize] = taken.len() as u32;
                }
            }
        }
        let mut own = vec![0.0f32; taken.len() * GROUP];
        let mut hit_at_all = vec![false; taken.len() * GROUP];
        let mut near = vec![0.0f32; groups.len() * GROUP];
        let talking = decay_window(self.weights.neighbour_decay, self.weights.neighbour_steps.min(MOST_STEPS));
        let mut silent = talking.map(|share| share * self.weights.silent);
        silent[MOST_STEPS] = talking[MOST_STEPS];
        let windows = [silent, talking];
        let mut from = 0;
        for (rarity, to) in &self.gathered.stems {
            for OwnHit { ordinal, hit } in &hits[from..*to] {
                let slot = slots[(ordinal >> GROUP_BITS) as usize + BORDER];
                if slot > 0 {
                    let place = (slot as usize - 1) * GROUP + (*ordinal as usize & (GROUP - 1));
                    own[place] = higher(own[place], *hit);
                    hit_at_all[place] = true;
                }
            }
            from = *to;
            for ((_, group), near) in groups.iter().zip(near.chunks_exact_mut(GROUP)) {
                let start = (slots[*group as usize] as usize - 1) * GROUP;
                if let Some(around) = own.get(start..).and_then(|rest| rest.first_chunk()) {
                    self.add_near(*group, *rarity, around, &windows, near);
                }
            }
            own.fill(0.0);
        }
        let mut worded = Vec::with_capacity(near.len());
        for (_, group) in groups {
            let start = (slots[*group as usize + BORDER] as usize - 1) * GROUP;
            worded.extend_from_slice(&hit_at_all[start..start + GROUP]);
        }
        for place in taken {
            slots[place as usize] = 0;
        }
        self.add_carried(groups, &mut near, &mut worded);
        (near, worded)
    }

    /// Adds a stem to the documents of a group: the best hit nearby, weighted by its distance, within the session.
    #[inline]
    fn add_near(
        &self,
        group: u32,
        rarity: f32,
        around: &[f32; REACHED * GROUP],
        windows: &[[f32; 2 * MOST_STEPS + 2]; 2],
        near: &mut [f32],
    ) {
        const FIRST: usize = BORDER * GROUP - MOST_STEPS;
        let start = (group as usize) << GROUP_BITS;
        let looks = &self.index.looks[start..self.index.len().min(start + GROUP)];
        let talks = |document: usize| self.talks(start + document);
        let same = (1..looks.len()).all(|document| talks(document) == talks(0));
        if same && looks.len() == GROUP && looks.iter().all(|look| look.reach == FULL_REACH) {
            let window = &windows[usize::from(talks(0))];
            let mut best = [0.0f32; GROUP];
            for (step, share) in window[..=2 * MOST_STEPS].iter().enumerate() {
                for (document, best) in best.iter_mut().enumerate() {
                    *best = higher(*best, share * around[FIRST + step + document]);
                }
            }
            near.iter_mut().zip(best).for_each(|(near, best)| *near += rarity * best);
            return;
        }
        for (document, (look, near)) in looks.iter().zip(near).enumerate() {
            let window = &windows[usize::from(talks(document))];
            let steps = MOST_STEPS - usize::from(look.reach & 15)..=MOST_STEPS + usize::from(look.reach >> 4);
            let best = steps.fold(0.0, |best, step| higher(best, window[step] * around[FIRST + step + document]));
            *near += rarity * best;
        }
    }

    /// True if a person is present, or something was asked nearby: a log asks nothing.
    fn talks(&self, ordinal: usize) -> bool {
        let sitting = self.index.sitting_of[ordinal] as usize;
        self.index.sittings[sitting].asks || self.index.people.talks(self.index.groups[ordinal])
    }

    fn add_carried(&self, groups: &[(f32, u32)], near: &mut [f32], worded: &mut [bool]) {
        let mut at = 0;
        for OwnHit { ordinal, hit } in &self.gathered.carried {
            let group = ordinal >> GROUP_BITS;
            while groups.get(at).is_some_and(|(_, other)| *other < group) {
                at += 1;
            }
            if groups.get(at).is_some_and(|(_, other)| *other == group) {
                let place = at * GROUP + (*ordinal as usize & (GROUP - 1));
                near[place] += hit;
                worded[place] = true;
            }
        }
    }

    /// Score of statements and questions by mark byte.
    fn mark_scores(&self) -> [f32; 256] {
        std::array::from_fn(|marks| {
            let marks = Statement(marks as u8);
            let asks = if marks.has(Statement::ASKS) { self.weights.question } else { 0.0 };
            let particulars = Statement(marks.0 & self.particulars).particulars();
            self.weights.particular * f32::from(particulars) - asks
        })
    }

    /// What documents of a sitting get if a stem occurs in it or one of its days is named.
    fn sitting_scores(&self) -> Vec<Option<Base>> {
        let scores = self.index.sittings.iter().zip(&self.gathered.sittings).map(|(sitting, coverage)| {
            let fit = if self.dates.is_empty() { 0.0 } else { best_fit(&self.dates, sitting.days) };
            let words = self.weights.sitting * coverage.unwrap_or(0.0);
            let base = Base { words, date: self.weights.date * fit, is_reached: coverage.is_some() };
            (base.is_reached || fit > 0.0).then_some(base)
        });
        scores.collect()
    }
}

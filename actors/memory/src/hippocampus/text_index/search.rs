//! Answers a question: its stems and those of near meaning, one pass over their postings (`gather`), the best documents
//! by words (`rank`), and of these the nearest by meaning.

use std::collections::BTreeSet;

use super::asked::{Asked, is_about_asker, is_event};
use super::dates::{DayRange, named_dates};
use super::gather::{OfPeople, Scratch};
use super::lately::named_lately;
use super::query::{By, Hit, Meant, Query, Weights};
use super::rank::Ranking;
use super::related::SoftTerm;
use super::score::{MOST_STEPS, decay_window, rarity};
use super::segment::PackedList;
use super::tail::Posting;
use super::{TextIndex, order};
use maxim_language::calendar::is_month;
use maxim_language::packed::PackedVector;
use maxim_language::{Word, function_words_of, pieces, words};

/// Best documents by words whose meaning is compared.
const LOOKED_AT: usize = 128;
/// Likenesses that are kept while the best are compared: more than the common neighbours of two documents.
const LOOKED_LAST: usize = 64;
/// Bytes of a question that are read: a whole document as a question is answered by its beginning.
const QUESTION_BYTES: usize = 4 << 10;
/// Stems of the question that are searched, the rarest.
const CUES: usize = 48;
/// How many of these get related stems, the rarest first: each is compared with all stems of the store once.
pub(super) const RELATED_CUES: usize = 16;
/// Postings of the question's own stems that are read, the rarest stems first; the rarest is always read completely. In
/// a large store the words of every other text tell little and would cost the most.
const OWN_POSTINGS: usize = 32_768;
/// A stem with more than `FEW_POSTINGS` postings is left out if it tells less than this share of the rarest stem of the
/// question. A store that says the same all day has stems that are nearly everywhere.
const TELLING: f32 = 1.0 / 32.0;
const FEW_POSTINGS: usize = 512;
/// Number of stems that stand for one of the question by their letters.
const ALIKE_FORMS: usize = 8;
/// Weight of near meanings in a language of which the embedded table knows little more than letters.
const FOREIGN: f32 = 0.4;
/// Postings of related stems that are read for one question, plus a quarter of the postings of its own stems.
const RELATED_POSTINGS: usize = 16_384;

/// The postings of one stem over all segments and the tail, in order.
#[derive(Clone)]
pub(super) struct List<'a> {
    sealed: Vec<(u32, PackedList<'a>)>,
    tail: &'a [Posting],
    pub(super) weight: f32,
}

impl List<'_> {
    pub(super) fn len(&self) -> usize {
        self.sealed.iter().map(|(_, list)| list.remaining()).sum::<usize>() + self.tail.len()
    }

    /// All postings in order.
    #[inline]
    pub(super) fn each(self, mut visit: impl FnMut(Posting)) {
        for (base, list) in self.sealed {
            for posting in list {
                visit(Posting { ordinal: base + posting.ordinal, ..posting });
            }
        }
        self.tail.iter().copied().for_each(visit);
    }
}

/// One distinct stem of the question.
pub(super) struct Cue<'a> {
    stem: String,
    /// The question's own word.
    form: String,
    /// The exact stem first, followed by related ones.
    pub(super) lists: Vec<List<'a>>,
    pub(super) rarity: f32,
}

/// Keeps the rarest stems of the question, if they tell something and their postings can be read; their order stays.
fn leave_common_ones(cues: &mut Vec<Cue>) {
    let known = cues.iter().filter(|cue| cue.lists[0].len() > 0);
    let telling = TELLING * known.map(|cue| cue.rarity).fold(0.0, f32::max);
    cues.retain(|cue| cue.lists[0].len() <= FEW_POSTINGS || cue.rarity >= telling);
    let mut counts: Vec<usize> = cues.iter().map(|cue| cue.lists[0].len()).filter(|count| *count > 0).collect();
    counts.sort_unstable();
    let Some(rarest) = counts.first().copied() else { return };
    let sums = counts.iter().scan(0, |sum, count| {
        *sum += count;
        Some((*count, *sum))
    });
    let most = sums.take_while(|(_, sum)| *sum <= OWN_POSTINGS).last().map_or(rarest, |(count, _)| count);
    cues.retain(|cue| cue.lists[0].len() <= most);
}

/// Which cues are among the first `most`: with `known`, those with postings come before those without; then the rarest.
fn chosen(most: usize, cues: &[Cue], known: bool) -> Vec<bool> {
    let mut places: Vec<usize> = (0..cues.len()).collect();
    if cues.len() > most {
        let has_none = |place: usize| known && cues[place].lists[0].len() == 0;
        places.sort_by(|a, b| has_none(*a).cmp(&has_none(*b)).then(cues[*b].rarity.total_cmp(&cues[*a].rarity)));
        places.truncate(most);
    }
    let mut chosen = vec![false; cues.len()];
    places.into_iter().for_each(|place| chosen[place] = true);
    chosen
}

impl TextIndex {
    /// The `limit` best documents, best first; ties go to the newer one.
    pub fn search(&self, query: &Query, limit: usize) -> Vec<Hit> {
        self.search_where(query, limit, None)
    }

    /// The best documents of an ascending list. Others still pass their words on to their neighbours.
    pub fn search_within(&self, query: &Query, documents: &[u32], limit: usize) -> Vec<Hit> {
        self.search_where(query, limit, Some(documents))
    }

    fn search_where(&self, query: &Query, limit: usize, within: Option<&[u32]>) -> Vec<Hit> {
        if limit == 0 || self.is_empty() {
            return Vec::new();
        }
        let words = words(&query.text[..query.text.floor_char_boundary(QUESTION_BYTES)]);
        let asked_in = query.asked_in.and_then(|document| self.ordinal(document));
        let mut named = self.people.named_in(&words);
        if named.people.is_empty() && !query.is_thought && is_about_asker(&words) {
            named.people.extend(asked_in.and_then(|own| self.only_one_in(own)));
        }
        let asked = Asked::of(&words, &named);
        let mut dates = self.date_ranges(&named.rest);
        // Without an episode in which it is asked, the day of the question is unknown.
        dates.extend(asked_in.into_iter().flat_map(|own| named_lately(&named.rest, self.days[own as usize])));
        let mut cues: Vec<Cue> = Vec::new();
        let joined = self.joined(&named.rest);
        let function_words = function_words_of(&words);
        let telling = named.rest.iter().filter(|word| !function_words.contains(&word.text.as_str()));
        // "What happened on 3 June?" asks for the day: "happened" is only searched if there is nothing else.
        let is_more = |word: &Word| !is_event(word) && self.stems.of(&word.text).is_some();
        let has_more = !dates.is_empty() || !named.people.is_empty() || telling.clone().any(is_more);
        let telling = telling.filter(|word| !has_more || !is_event(word));
        for piece in telling.flat_map(pieces).chain(joined.iter().map(String::as_str)) {
            if let Some(stem) = self.stems.of(piece).filter(|stem| cues.iter().all(|cue| cue.stem != *stem)) {
                let exact = self.list_of(&stem, 1.0);
                let rarity = rarity(self.len(), exact.len());
                cues.push(Cue { stem, form: piece.to_owned(), lists: vec![exact], rarity });
            }
        }
        leave_common_ones(&mut cues);
        let mut left = chosen(CUES, &cues, true).into_iter();
        cues.retain(|_| left.next() == Some(true));
        self.relate(&mut cues, &query.weights, !function_words.is_empty());
        let total: f32 = cues.iter().map(|cue| cue.rarity).sum();
        let mut scratch = self.scratch.lock().map(|mut kept| std::mem::take(&mut *kept)).unwrap_or_default();
        let looks_for_people = query.weights.other > 0.0;
        let mentions = if looks_for_people { self.mentions(&named, asked_in) } else { Vec::new() };
        let spoken = if looks_for_people { self.spoken(&named, asked_in) } else { Vec::new() };
        let of_people = OfPeople { mentions: &mentions, spoken: &spoken, total };
        let gathered = self.gather(cues, &query.weights, asked_in, &of_people, &mut scratch);
        let is_other = |at: usize| asked_in.is_none_or(|own| own as usize != at);
        let ranking = Ranking {
            index: self,
            weights: &query.weights,
            gathered,
            others: self.penalties(&named, &query.weights, total),
            mentions,
            dates,
            particulars: asked.particulars,
            scale: 1.0 / total.max(1e-6),
        };
        let meant = self.meaning.as_ref().filter(|_| query.weights.alike != 0.0 || query.weights.alike_near != 0.0);
        let mut hits = match (query.meant, meant) {
            (Some(meant), _) => {
                let mut hits = ranking.best(limit.max(LOOKED_AT), within, &mut scratch);
                self.add_near(meant, within, &ranking, &mut hits, &mut scratch);
                let like = |at: usize| self.documents.get(at).filter(|_| is_other(at)).map(|it| meant.of(*it));
                self.look_at(like, &query.weights, hits, limit)
            }
            (None, Some(meaning)) => {
                let hits = ranking.best(limit.max(LOOKED_AT), within, &mut scratch);
                let words: Vec<&str> = named.rest.iter().map(|word| word.text.as_str()).collect();
                let asked = PackedVector::of(&meaning.encoder.embed(&words.join(" ")));
                let like = |at: usize| is_other(at).then(|| meaning.vectors.cosine(at, &asked)).flatten();
                self.look_at(like, &query.weights, hits, limit)
            }
            (None, None) => ranking.best(limit, within, &mut scratch),
        };
        if let Ok(mut kept) = self.scratch.lock() {
            *kept = scratch;
        }
        if let Some(then) = asked.then.filter(|_| query.weights.follow > 0.0) {
            let is_wanted = |document: u32| {
                asked_in.is_none_or(|own| self.documents[own as usize] != document) && self.is_wanted(document, within)
            };
            self.follow(then, query.weights.follow, is_wanted, &mut hits);
            hits.truncate(limit);
        }
        hits
    }

    /// Letters before a number as one word, if the store knows it: "E-4021" is also "e4021".
    fn joined(&self, words: &[Word]) -> Vec<String> {
        let pairs = words.windows(2).map(|pair| (pair[0].text.as_str(), pair[1].text.as_str()));
        let is_code = |(letters, digits): &(&str, &str)| {
            letters.bytes().all(|c| c.is_ascii_alphabetic()) && digits.bytes().all(|c| c.is_ascii_digit())
        };
        let joined = pairs.filter(is_code).map(|(letters, digits)| format!("{letters}{digits}"));
        joined.filter(|word| self.list_of(word, 1.0).len() > 0).collect()
    }

    /// The only participant of a document, if there is exactly one.
    fn only_one_in(&self, ordinal: u32) -> Option<u32> {
        match self.people.groups().get(self.groups[ordinal as usize] as usize)?.as_slice() {
            [one] => Some(*one),
            _ => None,
        }
    }

    fn is_wanted(&self, document: u32, within: Option<&[u32]>) -> bool {
        self.dead.binary_search(&document).is_err()
            && within.is_none_or(|documents| documents.binary_search(&document).is_ok())
    }

    /// Stems of the store that stand for a cue: near in meaning and, in another language than English, alike by
    /// letters.
    fn standing_for(&self, cue: &Cue, weights: &Weights, is_foreign: bool) -> Vec<SoftTerm> {
        let mut found = Vec::new();
        // Names of months are similar, but each means a different month.
        if is_month(&cue.form) {
            return found;
        }
        if let Some(meaning) = self.meaning.as_ref().filter(|_| weights.related > 0)
            && let Ok(mut related) = meaning.related.lock()
        {
            found = related.of(&cue.stem, &cue.form, &self.vocabulary, &*meaning.encoder, weights.related);
        }
        if is_foreign
            && weights.forms > 0.0
            && let Ok(mut forms) = self.forms.lock()
        {
            found.iter_mut().for_each(|soft| soft.weight *= FOREIGN);
            let alike = forms.of(&cue.stem, &self.vocabulary, ALIKE_FORMS).into_iter();
            found.extend(alike.map(|soft| SoftTerm { weight: soft.weight * weights.forms, ..soft }));
        }
        found
    }

    /// Gives each cue the lists of stems that stand for it, the heaviest first, within the budget.
    fn relate<'a>(&'a self, cues: &mut [Cue<'a>], weights: &Weights, is_foreign: bool) {
        let mut found: Vec<(f32, usize, List<'a>)> = Vec::new();
        let wanting = chosen(RELATED_CUES, cues, false);
        for (at, cue) in cues.iter().enumerate().filter(|(at, _)| wanting[*at]) {
            for soft in self.standing_for(cue, weights, is_foreign) {
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

    pub(super) fn list_of(&self, stem: &str, weight: f32) -> List<'_> {
        let places = self.vocabulary.entry(stem).map_or(&[][..], |entry| &entry.places);
        let sealed = places.iter().map(|place| (self.bases[place.0 as usize], self.sealed_list(*place))).collect();
        List { sealed, tail: self.tail.list(stem), weight }
    }

    /// Adds documents near in meaning that aren't among the best by words.
    fn add_near(
        &self,
        meant: &Meant,
        within: Option<&[u32]>,
        ranking: &Ranking<'_>,
        hits: &mut Vec<Hit>,
        scratch: &mut Scratch,
    ) {
        let is_wanted = |document: &u32| self.ordinal(*document).is_some() && self.is_wanted(*document, within);
        let known: BTreeSet<u32> = hits.iter().map(|hit| hit.document).collect();
        let near = meant.near.iter().filter(|(document, like)| *like >= meant.floor && !known.contains(document));
        let wanted: Vec<u32> = near.map(|(document, _)| *document).filter(is_wanted).collect();
        let scored = ranking.best(wanted.len().max(1), Some(&wanted), scratch);
        let by_words: BTreeSet<u32> = scored.iter().map(|hit| hit.document).collect();
        hits.extend(scored);
        // The penalty of other speakers applies here too.
        let lost = |at: u32| ranking.lost(at);
        let rest = wanted.into_iter().filter(|document| !by_words.contains(document));
        let rest = rest.filter_map(|document| Some((document, lost(self.ordinal(document)?))));
        hits.extend(rest.map(|(document, lost)| Hit { document, score: -lost, by: By::Meaning }));
    }

    /// Adds the similarity of meaning of the documents, and of their neighbours in the session.
    fn look_at(
        &self,
        likeness: impl Fn(usize) -> Option<f32>,
        weights: &Weights,
        mut hits: Vec<Hit>,
        limit: usize,
    ) -> Vec<Hit> {
        let window = decay_window(weights.neighbour_decay, weights.neighbour_steps.min(MOST_STEPS));
        // The last compared ones, by ordinal: in order, the neighbours of one are those of the next.
        let mut looked = [(usize::MAX, None); LOOKED_LAST];
        let mut likeness = |at: usize| {
            let place = &mut looked[at % LOOKED_LAST];
            if place.0 != at {
                *place = (at, likeness(at));
            }
            place.1
        };
        hits.sort_unstable_by_key(|hit| hit.document);
        for hit in &mut hits {
            let Some(at) = self.ordinal(hit.document).map(|at| at as usize) else { continue };
            let reach = self.looks[at].reach;
            let (before, after) = (usize::from(reach & 15), usize::from(reach >> 4));
            let (mut sum, mut weight) = (0.0, 0.0);
            if weights.alike_near != 0.0 {
                for (near, share) in (at - before..=at + after).zip(&window[MOST_STEPS - before..]) {
                    if let Some(likeness) = likeness(near) {
                        sum += share * likeness;
                        weight += share;
                    }
                }
            }
            let own = likeness(at).unwrap_or(0.0);
            hit.score += weights.alike * own + weights.alike_near * sum / f32::max(weight, 1e-6);
        }
        hits.sort_by(order);
        hits.truncate(limit);
        hits
    }

    fn date_ranges(&self, words: &[maxim_language::Word]) -> Vec<DayRange> {
        let dates = named_dates(words);
        if dates.is_empty() {
            return Vec::new();
        }
        let year = |day: i32| i16::try_from(1970 + day.div_euclid(365)).unwrap_or(1970);
        let first = self.sittings.iter().map(|sitting| sitting.days.0).min();
        let last = self.sittings.iter().map(|sitting| sitting.days.1).max();
        let (from, to) = (year(first.unwrap_or(0)) - 1, year(last.unwrap_or(0)) + 1);
        dates.into_iter().flat_map(|date| date.ranges(from, to)).collect()
    }
}

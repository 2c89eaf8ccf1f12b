//! Which episodes belong together: associations at capture, causes when an outcome surprises, and the associations of
//! found episodes.
//!
//! A new episode is compared with those that share its goal, objects or rare words, newest first and a limited number
//! of each. So its edges cost about the same however much is remembered.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use maxim_bus::clock::Reckoned;
use maxim_bus::signals::concepts::{Layer, LayerEdge, LayerLinked};
use maxim_bus::signals::recall::PredictionErrorSensed;
use serde::{Deserialize, Serialize};

use super::edges::{BLOCK, Edge, EdgeKind, Edges, MOST_DEGREE, documents_of, merge_edges, read_row, row_record};
use super::events::HippocampusEvent;
use super::law::{AssociationParts, LinkLaw, choose_associations, overlap};
use super::model::EpisodicMemory;
use super::records::episode_key;
use super::region::{Hippocampus, Indexes};
use super::spreading::{Spreading, strongest};
use maxim_region::{Hears, Pulse, RecordView};

/// Newest documents examined for each key or stem.
const PER_CUE: usize = 16;
/// Rarest stems of a text that are looked up.
const STEMS: usize = 6;
/// The episodes just before are always looked at.
const JUST_BEFORE: u32 = 4;
/// Candidates whose similarity is computed in full.
const WEIGHED: usize = 48;
/// Episodes linked in one step.
const STEP: usize = 16;
/// Pause between steps while many wait, so that a percept gets a turn.
const PAUSE: SignedDuration = SignedDuration::from_millis(2);
/// The pause while a person waits for an answer and more than [`LATELY`] wait to be linked, as after an import: these
/// can wait longer.
const LONG_PAUSE: SignedDuration = SignedDuration::from_millis(10);
const LATELY: usize = 1024;
/// Earlier episodes among which causes are searched.
const LOOKED_BACK: u32 = 16;

/// New edges of a step: as they are stored, and as other layers are told of them.
#[derive(Default)]
struct Drawn {
    rows: Vec<(u32, Vec<Edge>)>,
    told: Vec<LayerEdge>,
}

/// What is linked, and what still waits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Linking {
    /// Episodes below this number were linked.
    upto: u32,
    /// Earlier ones that were observed again.
    again: BTreeSet<u32>,
    /// Stretches above that came with their edges, ascending; the second number is the first one after a stretch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    settled: Vec<(u32, u32)>,
    /// When the next ones are linked; `None` if none waits.
    pub(super) due: Option<Timestamp>,
    /// Sealed blocks of edges.
    pub(super) blocks: u32,
    /// Sealed blocks that have changed since.
    pub(super) untidy: BTreeSet<u32>,
}

impl Linking {
    /// From now on something waits to be linked.
    pub(super) fn expect(&mut self) {
        self.due.get_or_insert(Timestamp::UNIX_EPOCH);
    }

    /// An episode was observed again.
    pub(super) fn expect_again(&mut self, document: u32) {
        if document < self.upto {
            self.again.insert(document);
            self.expect();
        }
    }

    /// Edges of these episodes, linked up to a number, were stored.
    pub(super) fn linked(&mut self, upto: u32, rows: &[(u32, Vec<Edge>)], due: Option<Timestamp>) {
        self.upto = self.upto.max(upto);
        self.pass_settled();
        self.again.clear();
        self.due = due;
        self.touched(rows.iter().map(|(document, _)| *document));
    }

    /// These episodes came with their edges, so they aren't linked. `to` is the first one after them.
    pub(super) fn settle(&mut self, from: u32, to: u32) {
        match self.settled.last_mut() {
            Some((_, end)) if *end == from => *end = to,
            _ => self.settled.push((from, to)),
        }
        self.pass_settled();
    }

    fn pass_settled(&mut self) {
        for (from, to) in &self.settled {
            if *from <= self.upto {
                self.upto = self.upto.max(*to);
            }
        }
        self.settled.retain(|(_, to)| *to > self.upto);
    }

    /// How many episodes below this number still wait to be linked.
    pub(super) fn waiting(&self, next: u32) -> usize {
        let settled: u32 = self.settled.iter().map(|(from, to)| to - from.max(&self.upto)).sum();
        self.again.len() + next.saturating_sub(self.upto).saturating_sub(settled) as usize
    }

    fn is_settled(&self, document: u32) -> bool {
        self.settled.iter().any(|(from, to)| (*from..*to).contains(&document))
    }

    /// The blocks of these episodes must be rewritten, if they are sealed.
    pub(super) fn touched(&mut self, documents: impl Iterator<Item = u32>) {
        self.untidy.extend(documents.map(|document| document / BLOCK).filter(|block| *block < self.blocks));
    }
}

/// Edges of an episode that are not, or no longer, in a block.
pub(super) const EDGE: &[u8] = b"edge/";

pub(super) fn edge_key(document: u32) -> Vec<u8> {
    [EDGE, format!("{document:08x}").as_bytes()].concat()
}

pub(super) fn block_key(block: u32) -> Vec<u8> {
    format!("edges/{block:06x}").into_bytes()
}

/// Edges on disk: sealed blocks, replaced by newer records. Removed episodes have none.
pub(super) fn load_edges(linking: &mut Linking, gone: &[u32], records: &RecordView<'_>) -> Edges {
    let read = |block| (block, records.bytes(&block_key(block)).unwrap_or_default());
    let blocks: Vec<(u32, Vec<u8>)> = (0..linking.blocks).map(read).collect();
    let (mut edges, damaged) = Edges::load(&blocks);
    for block in damaged {
        tracing::warn!(block, "edges between episodes are damaged; these episodes are linked again");
        linking.again.extend(documents_of(block).filter(|document| *document < linking.upto));
        linking.expect();
    }
    for (key, record) in records.prefixed(EDGE, usize::MAX) {
        let number = std::str::from_utf8(&key[EDGE.len()..]).ok().and_then(|hex| u32::from_str_radix(hex, 16).ok());
        if let Some(document) = number {
            edges.set(document, &read_row(document, &record));
        }
    }
    gone.iter().for_each(|document| edges.remove(*document));
    edges
}

/// The associations for an episode, from those that share its keys or its rare words.
pub(super) fn associations(
    indexes: &Indexes,
    edges: &Edges,
    document: u32,
    episode: &EpisodicMemory,
    law: &LinkLaw,
) -> Vec<(u32, f64)> {
    let Some(mut compared) = indexes.keys.compared(document) else { return Vec::new() };
    let mut votes: BTreeMap<u32, f32> = BTreeMap::new();
    compared.candidates(document, PER_CUE, &mut votes);
    indexes.text.candidates(&episode.perception.text, document, STEMS, PER_CUE, &mut votes);
    for before in document.saturating_sub(JUST_BEFORE)..document {
        *votes.entry(before).or_default() += 0.15;
    }
    let mut ranked: Vec<(u32, f32)> = votes.into_iter().collect();
    ranked.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
    ranked.truncate(WEIGHED);
    // An episode without words of its own is not similar to others by words.
    let has_text = !episode.perception.text.trim().is_empty();
    let vector = indexes.text.vector_of(document).filter(|_| has_text);
    let weighed =
        ranked.into_iter().filter(|(other, _)| edges.degree(*other) < MOST_DEGREE).filter_map(|(other, _)| {
            let likeness = compared.with(other)?;
            let text = vector.as_ref().and_then(|vector| indexes.text.likeness(vector, other));
            let overlap = overlap(likeness.objects, likeness.people, text);
            let parts = AssociationParts { overlap, goal: likeness.goal, proximity: likeness.proximity };
            Some((other, parts.weight(law)))
        });
    choose_associations(weighed.collect::<Vec<_>>(), law)
}

/// A cause by the ids of its ends: the episode that stores it, and the earlier one. Associations are not told. There
/// are up to five per episode, both ends know each, and by their ids they would cost the graph more than everything
/// else in it. Recall spreads along them here.
fn told_edge(id: &str, earlier: &str, edge: &Edge) -> LayerEdge {
    let (id, earlier, weight) = (id.to_owned(), earlier.to_owned(), edge.weight());
    LayerEdge { kind: "CAUSES".into(), from: earlier, to: id, weight, back: 0.0 }
}

fn tell(edges: Vec<LayerEdge>, pulse: &mut Pulse<'_, Hippocampus>) {
    if !edges.is_empty() {
        pulse.emit(LayerLinked { layer: Layer::Hippocampus, edges });
    }
}

impl Hippocampus {
    /// Edges between episodes.
    pub fn edges(&self) -> &Edges {
        &self.edges
    }

    /// Links the next waiting episodes.
    pub(super) fn link_some(&self, pulse: &mut Pulse<'_, Self>) {
        let Some(indexes) = &self.indexes else { return };
        let new = (self.linking.upto..self.next).filter(|document| !self.linking.is_settled(*document));
        let waiting = self.linking.again.iter().copied().chain(new);
        let todo: Vec<u32> = waiting.take(STEP.max(self.linking.again.len())).collect();
        let mut drawn = Drawn::default();
        for document in &todo {
            let Some(episode) = pulse.record::<EpisodicMemory>(&episode_key(*document)) else { continue };
            let found = associations(indexes, &self.edges, *document, &episode, &pulse.settings().links);
            let found: Vec<Edge> =
                found.into_iter().map(|(to, weight)| Edge::new(to, EdgeKind::Associates, weight)).collect();
            self.put_edges((*document, &episode.id), &found, &mut drawn, pulse);
        }
        let Drawn { rows, told } = drawn;
        tell(told, pulse);
        let upto = todo.iter().map(|document| document + 1).max().unwrap_or(0).max(self.linking.upto);
        let is_long = !self.open.is_empty() && self.linking.waiting(self.next) > LATELY;
        let due = (upto < self.next).then(|| pulse.now().later(if is_long { LONG_PAUSE } else { PAUSE }));
        // A row that was just stored is not in the data from which a block would be packed.
        if rows.iter().all(|(document, _)| document / BLOCK > self.linking.blocks) {
            self.seal_edges(upto, pulse);
        }
        pulse.keep(HippocampusEvent::Linked { upto, rows, due });
    }

    fn put_edges(&self, (document, id): (u32, &str), found: &[Edge], drawn: &mut Drawn, pulse: &mut Pulse<'_, Self>) {
        if found.is_empty() {
            return;
        }
        let merged = merge_edges(&self.edges.own(document), found);
        if merged.len() > MOST_DEGREE {
            return;
        }
        let named = |edge: &Edge| {
            let far = pulse.record::<EpisodicMemory>(&episode_key(edge.to))?;
            Some(told_edge(id, &far.id, edge))
        };
        let causes = found.iter().filter(|edge| edge.kind == EdgeKind::Causes);
        drawn.told.extend(causes.filter_map(named));
        pulse.put_bytes(edge_key(document), row_record(document, &merged));
        drawn.rows.push((document, merged));
    }

    /// A block becomes one record when all its episodes are linked and no longer the newest.
    fn seal_edges(&self, upto: u32, pulse: &mut Pulse<'_, Self>) {
        let block = self.linking.blocks;
        if (block + 2) * BLOCK <= upto {
            pulse.put_bytes(block_key(block), self.edges.pack(block));
            let documents = documents_of(block);
            documents.filter(|document| !self.edges.own(*document).is_empty()).for_each(|document| {
                pulse.remove(edge_key(document));
            });
            pulse.keep(HippocampusEvent::EdgesSealed { blocks: block + 1 });
        }
    }

    /// Episodes that activation reaches from these, strongest first, without these.
    pub(super) fn associated(&self, seeds: &[u32], limit: usize, spreading: &Spreading) -> Vec<(u32, f64)> {
        let start = seeds.iter().map(|document| (*document, 1.0));
        let mut reached = spreading.from_seeds(start, |document, visit| self.edges.visit(document, visit));
        seeds.iter().for_each(|seed| {
            reached.remove(seed);
        });
        strongest(&reached, limit)
    }
}

impl Hears<PredictionErrorSensed> for Hippocampus {
    fn hear(&self, error: &PredictionErrorSensed, pulse: &mut Pulse<'_, Self>) {
        let surprise = error.rpe.get().abs();
        let turn = pulse.turn();
        if surprise <= pulse.settings().links.surprise {
            return;
        }
        let Some(document) = self.document_of(turn, pulse) else { return self.hold_surprise(turn, surprise, pulse) };
        if let Some(episode) = pulse.record::<EpisodicMemory>(&episode_key(document)) {
            self.find_causes(document, &episode, surprise, pulse);
        }
    }
}

impl Hippocampus {
    /// A surprising outcome was caused by earlier moments with the same goal; without a goal, by earlier acts in the
    /// same sitting. `surprise`: |RPE|.
    pub(super) fn find_causes(
        &self,
        document: u32,
        episode: &EpisodicMemory,
        surprise: f64,
        pulse: &mut Pulse<'_, Self>,
    ) {
        let before = match (episode.goal(), &self.indexes) {
            (Some(goal), Some(indexes)) => indexes.keys.same_goal(goal, document, pulse.settings().links.causes),
            _ => done_before(document, episode.sitting, pulse),
        };
        let found: Vec<Edge> =
            before.into_iter().map(|cause| Edge::new(cause, EdgeKind::Causes, surprise.min(1.0))).collect();
        if found.is_empty() {
            return;
        }
        let mut drawn = Drawn::default();
        self.put_edges((document, &episode.id), &found, &mut drawn, pulse);
        let Drawn { rows, told } = drawn;
        tell(told, pulse);
        if !rows.is_empty() {
            pulse.keep(HippocampusEvent::Caused { rows });
        }
    }
}

/// The nearest earlier episodes of the sitting in which something was done.
fn done_before(document: u32, sitting: u32, pulse: &Pulse<'_, Hippocampus>) -> Vec<u32> {
    let earlier = (document.saturating_sub(LOOKED_BACK)..document).rev();
    let known = earlier.filter_map(|at| Some((at, pulse.record::<EpisodicMemory>(&episode_key(at))?)));
    let near = known.take_while(|(_, episode)| episode.sitting == sitting);
    near.filter(|(_, episode)| episode.action.is_some()).map(|(at, _)| at).take(pulse.settings().links.causes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(stretches: &[(u32, u32)]) -> Linking {
        let mut linking = Linking::default();
        stretches.iter().for_each(|(from, to)| linking.settle(*from, *to));
        linking
    }

    #[test]
    fn what_came_with_its_edges_is_passed_over_and_the_rest_is_linked() {
        // From the beginning on: the cursor moves along.
        let linking = settled(&[(0, 1), (1, 2), (2, 5)]);
        assert_eq!((linking.upto, linking.settled.as_slice()), (5, &[][..]));
        // After a gap the ranges wait, and adjacent ones are merged.
        let mut linking = settled(&[(3, 4), (4, 6), (8, 9)]);
        assert_eq!((linking.upto, linking.settled.as_slice()), (0, &[(3, 6), (8, 9)][..]));
        let waiting: Vec<u32> = (0..10).filter(|document| !linking.is_settled(*document)).collect();
        assert_eq!(waiting, [0, 1, 2, 6, 7, 9]);
        // Linking up to a range skips it, and the next one only when the gap between is linked.
        linking.linked(3, &[], None);
        assert_eq!((linking.upto, linking.settled.as_slice()), (6, &[(8, 9)][..]));
        linking.linked(8, &[], None);
        assert_eq!((linking.upto, linking.settled.as_slice()), (9, &[][..]));
        // The past is not settled again.
        linking.settle(2, 3);
        assert_eq!((linking.upto, linking.settled.as_slice()), (9, &[][..]));
    }
}

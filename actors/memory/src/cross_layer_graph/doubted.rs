//! Edges to episodes that aren't confirmed yet. The room that reports an edge relies on its memory of a turn, but the
//! moment may never have been stored, or may be forgotten since. An edge is added only when the hippocampus has
//! confirmed the episode. Concepts are told which of their sources don't exist.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use maxim_bus::MessageId;
use maxim_bus::clock::Reckoned;
use maxim_bus::signals::associations::{AssociationsFollowed, FollowAssociations};
use maxim_bus::signals::concepts::{CrossEdge, CrossKind, Layer, MemoryRef, SourcesRemoved};
use serde::{Deserialize, Serialize};

use super::graph::{EdgeKind, ToldEdge};
use super::region::{CrossLayerGraph, GraphEvent};
use maxim_region::Pulse;

/// Maximum number of edges per question, each with up to two episodes: as many as the hippocampus answers at once.
const ASKED: usize = 256;
/// Delay before an unanswered question is repeated.
const AGAIN: SignedDuration = SignedDuration::from_secs(30);
/// Maximum number of waiting questions; further edges are left out.
const MOST: usize = 64;

/// Edges that wait for an answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Doubted {
    pub(super) due: Timestamp,
    edges: Vec<CrossEdge>,
}

fn episodes_of(edge: &CrossEdge) -> impl Iterator<Item = &MemoryRef> {
    [&edge.from, &edge.to].into_iter().filter(|end| end.layer == Layer::Hippocampus)
}

impl CrossLayerGraph {
    /// Adds reported edges: at once between confirmed records, else after confirmation.
    pub(super) fn take_told(&self, told: &[CrossEdge], pulse: &mut Pulse<'_, Self>) {
        let told = self.without_gone(told.to_vec(), &BTreeSet::new(), pulse);
        let is_known = |edge: &CrossEdge| episodes_of(edge).all(|end| self.graph().number(end).is_some());
        let (known, doubted): (Vec<CrossEdge>, Vec<CrossEdge>) = told.into_iter().partition(is_known);
        self.link_told(&known, pulse);
        for edges in doubted.chunks(ASKED) {
            if self.doubted.len() >= MOST {
                tracing::warn!(
                    edges = edges.len(),
                    "the hippocampus doesn't answer; edges to its episodes are left out"
                );
                continue;
            }
            self.ask_for(None, edges.to_vec(), pulse);
        }
    }

    fn ask_for(&self, before: Option<MessageId>, edges: Vec<CrossEdge>, pulse: &mut Pulse<'_, Self>) {
        let ids: BTreeSet<&String> = edges.iter().flat_map(episodes_of).map(|end| &end.id).collect();
        let ids = ids.into_iter().cloned().collect();
        let question = pulse.ask(FollowAssociations { ids });
        let doubted = Doubted { due: pulse.now().later(AGAIN), edges };
        pulse.keep(GraphEvent::Doubted { before, question, doubted });
    }

    /// Repeats unanswered questions: a question doesn't survive a crash, and the hippocampus may have been down.
    pub(super) fn ask_again(&self, pulse: &mut Pulse<'_, Self>) {
        let now = pulse.now();
        for (question, doubted) in self.doubted.iter().filter(|(_, doubted)| doubted.due <= now) {
            self.ask_for(Some(*question), doubted.edges.clone(), pulse);
        }
    }

    /// Handles the answer to a question about doubted edges; false if it isn't one.
    pub(super) fn settle_doubts(&self, found: &AssociationsFollowed, pulse: &mut Pulse<'_, Self>) -> bool {
        let question = pulse.cause().and_then(|cause| cause.cause);
        let Some((question, doubted)) = question.and_then(|asked| self.doubted.get_key_value(&asked)) else {
            return false;
        };
        let missing: BTreeSet<&str> = found.missing.iter().map(String::as_str).collect();
        let standing = self.without_gone(doubted.edges.clone(), &missing, pulse);
        self.link_told(&standing, pulse);
        pulse.keep(GraphEvent::Settled { question: *question });
        true
    }

    /// The edges whose ends still exist; concepts are told which sources they no longer have.
    fn without_gone(
        &self,
        told: Vec<CrossEdge>,
        missing: &BTreeSet<&str>,
        pulse: &mut Pulse<'_, Self>,
    ) -> Vec<CrossEdge> {
        let now = pulse.now();
        let is_gone = |end: &MemoryRef| {
            self.gone.holds(end, now) || end.layer == Layer::Hippocampus && missing.contains(end.id.as_str())
        };
        let (standing, late): (Vec<CrossEdge>, Vec<CrossEdge>) =
            told.into_iter().partition(|edge| !is_gone(&edge.from) && !is_gone(&edge.to));
        let rests_on = |edge: &CrossEdge| match (edge.from.layer, edge.to.layer) {
            (Layer::Atl, _) if !is_gone(&edge.from) => Some((edge.from.id.clone(), edge.to.clone())),
            (_, Layer::Atl) if !is_gone(&edge.to) => Some((edge.to.id.clone(), edge.from.clone())),
            _ => None,
        };
        let gone: BTreeSet<(String, MemoryRef)> = late.iter().filter_map(rests_on).collect();
        let is_forgotten = |(_, source): &(String, MemoryRef)| self.gone.holds_forgotten(source, now);
        let (by_person, by_itself): (Vec<_>, Vec<_>) = gone.into_iter().partition(is_forgotten);
        for (gone, forgotten) in [(by_person, true), (by_itself, false)] {
            if !gone.is_empty() {
                pulse.emit(SourcesRemoved { gone, forgotten });
            }
        }
        standing
    }

    fn link_told(&self, edges: &[CrossEdge], pulse: &mut Pulse<'_, Self>) {
        let told = edges.iter().map(|edge| ToldEdge {
            kind: EdgeKind::Cross(edge.kind),
            from: edge.from.clone(),
            to: edge.to.clone(),
            weight: edge.weight as f32,
            back: if edge.kind == CrossKind::TemporallyCorrelates { edge.weight as f32 } else { 0.0 },
        });
        let told: Vec<ToldEdge> = told.collect();
        self.change(|draft| told.iter().for_each(|edge| draft.link(edge)), pulse);
    }
}

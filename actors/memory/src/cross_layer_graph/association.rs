//! Associations of a question or of given records: finds the starting points of activation, spreads it, and fetches the
//! records that it reached. No step waits for other rooms longer than the deadline; what is missing then is named.

use jiff::Timestamp;
use maxim_bus::clock::Reckoned;
use maxim_bus::rooms;
use maxim_bus::signals::associations::{AssociationsFollowed, FollowAssociations};
use maxim_bus::signals::concepts::{
    AssociatedRecalled, ConceptShown, ConceptsFound, EpisodesFetched, FetchEpisodes, FindConcepts, KnowledgeEntry,
    KnowledgeRecalled, Layer, LayerActivation, MemoryRef, RecallAssociated, RecallKnowledge,
};
use maxim_bus::signals::recall::{EpisodeFilter, EpisodesRecalled, RecallEpisodes, RecalledEpisode, Via};
use maxim_bus::{MessageId, Name};
use serde::{Deserialize, Serialize};

use super::region::{CrossLayerGraph, GraphEvent};
use super::wave::Wave;
use maxim_region::{Gather, Hears, Pulse};

/// Results of a layer if no limit is given.
const DEFAULT_LIMIT: usize = 5;
/// Results of a layer, at most.
const MOST: usize = 100;
/// Records of each layer from which activation starts.
const SEEDS: usize = 5;
/// Episodes that are fetched if only those of some time are wanted: their times are in their records.
const FETCHED: usize = 256;
/// Maximum number of hops.
const DEEPEST: usize = 6;
/// Open questions, at most; more are refused, so that nobody can fill this room.
const MOST_OPEN: usize = 64;

/// An open question.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Open {
    asker: Name,
    turn: MessageId,
    #[serde(default)]
    pub(super) gather: Gather<Layer>,
    limit: usize,
    depth: usize,
    /// Wanted times of episodes.
    between: (Option<Timestamp>, Option<Timestamp>),
    /// Further conditions on episodes.
    only: Option<EpisodeFilter>,
    seeds: Vec<(MemoryRef, f64)>,
    /// The given concept, until an answer shows that it exists.
    unproven: Option<MessageId>,
    /// The activation while it spreads.
    wave: Option<Wave>,
    /// The records that were reached, after activation has spread.
    reached: Option<Vec<LayerActivation>>,
    answer: AssociatedRecalled,
}

impl Open {
    fn recall(&mut self, filter: EpisodeFilter, pulse: &mut Pulse<'_, CrossLayerGraph>) {
        let until = Some(self.gather.due);
        let recall = RecallEpisodes { filter, except: None, thought: false, waits: true, until };
        self.gather.ask_for(Layer::Hippocampus, recall, pulse);
    }

    fn is_wanted(&self, at: Timestamp) -> bool {
        let (earliest, latest) = self.between;
        earliest.is_none_or(|earliest| at >= earliest) && latest.is_none_or(|latest| at <= latest)
    }

    /// How many records of a layer are fetched.
    fn fetched(&self, layer: Layer) -> usize {
        let is_bounded = layer == Layer::Hippocampus && (self.between != (None, None) || self.only.is_some());
        if is_bounded { FETCHED } else { self.limit }
    }

    fn reached_of(&self, layer: Layer, id: &str) -> f64 {
        let layers = self.reached.iter().flatten().filter(|found| found.layer == layer);
        layers
            .flat_map(|found| &found.records)
            .find(|(found, _)| found == id)
            .map_or(0.0, |(_, activation)| *activation)
    }
}

/// The filter of episodes, without times: these limit what was fetched.
fn only_of(asked: &RecallAssociated) -> Option<EpisodeFilter> {
    let only = EpisodeFilter {
        goal: asked.goal.clone(),
        tool_name: asked.tool_name.clone(),
        success: asked.success,
        object: asked.object.clone(),
        person: asked.person.clone(),
        mode: asked.mode.clone(),
        ..EpisodeFilter::default()
    };
    (only != EpisodeFilter::default()).then_some(only)
}

fn silence(layer: Layer) -> String {
    format!("{layer} did not answer in time")
}

impl CrossLayerGraph {
    fn begin(&self, asked: &RecallAssociated, pulse: &mut Pulse<'_, Self>) {
        let Some(cause) = pulse.cause() else { return };
        let given = [
            asked.memory_id.as_deref().map(|id| MemoryRef::new(Layer::Hippocampus, id)),
            asked.concept_id.as_deref().map(|id| MemoryRef::new(Layer::Atl, id)),
        ];
        let seeds: Vec<(MemoryRef, f64)> = given.into_iter().flatten().map(|seed| (seed, 1.0)).collect();
        let limit = if asked.limit == 0 { DEFAULT_LIMIT } else { asked.limit.min(MOST) };
        let mut open = Open {
            asker: cause.sender.clone(),
            turn: cause.correlation,
            gather: Gather::until(pulse.now().later(pulse.settings().deadline)),
            limit,
            depth: asked.depth.unwrap_or(pulse.settings().spreading.hops).clamp(1, DEEPEST),
            between: (asked.time_after, asked.time_before),
            only: only_of(asked),
            seeds,
            unproven: None,
            wave: None,
            reached: None,
            answer: AssociatedRecalled::default(),
        };
        let query = asked.query.as_deref().map(str::trim).filter(|query| !query.is_empty());
        let has_no_start = query.is_none() && open.seeds.is_empty() && open.only.is_none();
        let refusal = match (has_no_start, self.open.len() >= MOST_OPEN) {
            (_, true) => Some("too many questions are under way; ask again"),
            (true, _) => Some("give query, memory_id, concept_id or a filter"),
            _ => None,
        };
        if let Some(why) = refusal {
            open.answer.missing.push(why.into());
            return self.end(None, open, pulse);
        }
        let id = cause.id;
        if let Some(concept) = &asked.concept_id {
            let find = FindConcepts { concept_id: Some(concept.clone()), limit: 1, ..FindConcepts::default() };
            open.unproven = Some(open.gather.ask_for(Layer::Atl, find, pulse));
        }
        match query {
            Some(text) => {
                let filter = EpisodeFilter { query: Some(text.into()), limit: SEEDS, ..EpisodeFilter::default() };
                open.recall(filter, pulse);
                let find = FindConcepts { query: Some(text.into()), limit: SEEDS, ..FindConcepts::default() };
                open.gather.ask_for(Layer::Atl, find, pulse);
                let measured = RecallKnowledge { text: text.into(), limit: SEEDS };
                open.gather.ask_room(Layer::AngularGyrus, rooms::ANGULAR_GYRUS, measured, pulse);
                pulse.keep(GraphEvent::Asked { id, open: Box::new(open) });
            }
            None if open.seeds.is_empty() => {
                let filter = EpisodeFilter { limit: SEEDS, ..open.only.clone().unwrap_or_default() };
                open.recall(filter, pulse);
                pulse.keep(GraphEvent::Asked { id, open: Box::new(open) });
            }
            None if !open.gather.is_whole() => pulse.keep(GraphEvent::Asked { id, open: Box::new(open) }),
            None => self.spread_on(id, open, pulse),
        }
    }

    /// Spreads from the seeds, one hop at a time.
    fn spread_on(&self, id: MessageId, mut open: Open, pulse: &mut Pulse<'_, Self>) {
        let wave = Wave::new(&open.seeds, open.depth);
        open.wave = Some(wave);
        self.next_hop(id, open, pulse);
    }

    /// Hops that need no other room are done at once. For the next hop with episodes, the hippocampus is asked.
    fn next_hop(&self, id: MessageId, mut open: Open, pulse: &mut Pulse<'_, Self>) {
        // A room that was silent once isn't waited for again at each hop.
        let is_silent = open.answer.missing.contains(&silence(Layer::Hippocampus));
        while let Some(wave) = open.wave.as_mut().filter(|wave| !wave.is_over()) {
            let episodes = wave.episodes();
            if !episodes.is_empty() && !is_silent {
                let follow = FollowAssociations { ids: episodes };
                open.gather.ask_for(Layer::Hippocampus, follow, pulse);
                open.gather.due = pulse.now().later(pulse.settings().deadline);
                return pulse.keep(GraphEvent::Asked { id, open: Box::new(open) });
            }
            let by_graph = self.hop(wave.front(), &pulse.settings().spreading);
            wave.hop(by_graph, &[], &pulse.settings().spreading);
        }
        self.fetch(id, open, pulse);
    }

    /// Asks for the records that were reached.
    fn fetch(&self, id: MessageId, mut open: Open, pulse: &mut Pulse<'_, Self>) {
        let wave = open.wave.take().unwrap_or_default();
        let reached = wave.by_layer(|layer| open.fetched(layer));
        let ids = |layer: Layer| -> Vec<String> {
            let found = reached.iter().filter(|found| found.layer == layer).flat_map(|found| &found.records);
            found.map(|(id, _)| id.clone()).collect()
        };
        let episodes = ids(Layer::Hippocampus);
        if !episodes.is_empty() {
            let fetch = FetchEpisodes { ids: episodes, only: open.only.clone() };
            open.gather.ask_for(Layer::Hippocampus, fetch, pulse);
        }
        for concept_id in ids(Layer::Atl) {
            let find = FindConcepts { concept_id: Some(concept_id), limit: 1, ..FindConcepts::default() };
            open.gather.ask_for(Layer::Atl, find, pulse);
        }
        let others = |found: &&LayerActivation| !matches!(found.layer, Layer::Hippocampus | Layer::Atl);
        open.answer.others = reached.iter().filter(others).cloned().collect();
        open.reached = Some(reached);
        if open.gather.is_whole() {
            return self.end(Some(id), open, pulse);
        }
        open.gather.due = pulse.now().later(pulse.settings().deadline);
        pulse.keep(GraphEvent::Asked { id, open: Box::new(open) });
    }

    fn end(&self, id: Option<MessageId>, mut open: Open, pulse: &mut Pulse<'_, Self>) {
        let AssociatedRecalled { episodes, concepts, .. } = &mut open.answer;
        episodes.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
        episodes.truncate(open.limit);
        concepts.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
        match id {
            Some(id) => {
                pulse.keep(GraphEvent::Answered { id });
                pulse.answer_to(open.asker, open.turn, id, open.answer);
            }
            None => {
                pulse.reply(open.answer);
            }
        }
    }

    /// The open question of this answer, removed from the question that it answers.
    fn answered(&self, pulse: &Pulse<'_, Self>) -> Option<(MessageId, Open)> {
        let (id, open) = self.open.iter().find(|(_, open)| open.gather.answered(pulse).is_some())?;
        let mut open = open.as_ref().clone();
        open.gather.take(pulse);
        Some((*id, open))
    }

    fn go_on(&self, id: MessageId, open: Open, pulse: &mut Pulse<'_, Self>) {
        match (open.gather.is_whole(), &open.wave, open.reached.is_some()) {
            (false, ..) => pulse.keep(GraphEvent::Asked { id, open: Box::new(open) }),
            (true, None, false) => self.spread_on(id, open, pulse),
            // The hippocampus didn't answer, so the hop is done without it.
            (true, Some(_), _) => self.end_hop(id, open, &[], pulse),
            (true, None, true) => self.end(Some(id), open, pulse),
        }
    }

    fn end_hop(&self, id: MessageId, mut open: Open, next: &[Vec<(String, f64)>], pulse: &mut Pulse<'_, Self>) {
        if let Some(wave) = &mut open.wave {
            let by_graph = self.hop(wave.front(), &pulse.settings().spreading);
            wave.hop(by_graph, next, &pulse.settings().spreading);
        }
        self.next_hop(id, open, pulse);
    }

    /// Continues after the deadline, without what is missing.
    pub(super) fn give_up(&self, id: MessageId, mut open: Open, pulse: &mut Pulse<'_, Self>) {
        for layer in open.gather.give_up() {
            let missing = silence(layer);
            if !open.answer.missing.contains(&missing) {
                open.answer.missing.push(missing);
            }
        }
        self.go_on(id, open, pulse);
    }
}

impl Hears<RecallAssociated> for CrossLayerGraph {
    fn hear(&self, asked: &RecallAssociated, pulse: &mut Pulse<'_, Self>) {
        self.begin(asked, pulse);
    }
}

impl Hears<EpisodesRecalled> for CrossLayerGraph {
    fn hear(&self, found: &EpisodesRecalled, pulse: &mut Pulse<'_, Self>) {
        let Some((id, mut open)) = self.answered(pulse) else { return };
        let best = found.episodes.first().map_or(1.0, |episode| episode.score.max(f64::MIN_POSITIVE));
        open.seeds.extend(found.episodes.iter().map(|episode| {
            let start = (episode.score / best).clamp(0.0, 1.0);
            (MemoryRef::new(Layer::Hippocampus, episode.id.clone()), start)
        }));
        self.go_on(id, open, pulse);
    }
}

impl Hears<AssociationsFollowed> for CrossLayerGraph {
    fn hear(&self, found: &AssociationsFollowed, pulse: &mut Pulse<'_, Self>) {
        if self.settle_doubts(found, pulse) {
            return;
        }
        let Some((id, mut open)) = self.answered(pulse) else { return };
        // Seeds from a recall exist, so a missing seed must be a given one.
        let is_given = |missing: &&String| open.seeds.iter().any(|(seed, _)| seed.id == **missing);
        if let Some(unknown) = found.missing.iter().find(is_given) {
            open.answer.problem = Some(format!("no memory has the id {unknown:?}; take an id that memory_recall gave"));
            return self.end(Some(id), open, pulse);
        }
        self.end_hop(id, open, &found.next, pulse);
    }
}

impl Hears<ConceptsFound> for CrossLayerGraph {
    fn hear(&self, found: &ConceptsFound, pulse: &mut Pulse<'_, Self>) {
        let Some((id, mut open)) = self.answered(pulse) else { return };
        if open.unproven.is_some_and(|question| pulse.cause().and_then(|meta| meta.cause) == Some(question)) {
            open.unproven = None;
            if found.error.is_some() {
                open.answer.problem.clone_from(&found.error);
                return self.end(Some(id), open, pulse);
            }
        } else if open.reached.is_none() {
            let seed = |concept: &ConceptShown| {
                (MemoryRef::new(Layer::Atl, concept.id.clone()), concept.score.clamp(0.0, 1.0))
            };
            open.seeds.extend(found.concepts.iter().map(seed));
        } else {
            for concept in &found.concepts {
                let score = open.reached_of(Layer::Atl, &concept.id);
                open.answer.concepts.push(ConceptShown { score, ..concept.clone() });
            }
        }
        self.go_on(id, open, pulse);
    }
}

impl Hears<KnowledgeRecalled> for CrossLayerGraph {
    fn hear(&self, found: &KnowledgeRecalled, pulse: &mut Pulse<'_, Self>) {
        let Some((id, mut open)) = self.answered(pulse) else { return };
        let seed =
            |entry: &KnowledgeEntry| (MemoryRef::new(entry.layer, entry.id.clone()), entry.score.clamp(0.0, 1.0));
        open.seeds.extend(found.entries.iter().map(seed));
        self.go_on(id, open, pulse);
    }
}

impl Hears<EpisodesFetched> for CrossLayerGraph {
    fn hear(&self, found: &EpisodesFetched, pulse: &mut Pulse<'_, Self>) {
        let Some((id, mut open)) = self.answered(pulse) else { return };
        for fetched in &found.episodes {
            if !open.is_wanted(fetched.episode.timestamp) {
                continue;
            }
            let score = open.reached_of(Layer::Hippocampus, &fetched.asked);
            open.answer.episodes.push(RecalledEpisode { score, via: Via::Association, ..fetched.episode.clone() });
        }
        self.go_on(id, open, pulse);
    }
}

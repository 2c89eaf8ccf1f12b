//! Episodes by their ids: as evidence, pinned, and forgotten.

use maxim_bus::signals::associations::{AssociationsFollowed, FollowAssociations};
use maxim_bus::signals::concepts::{
    EpisodesFetched, FetchEpisodes, FetchedEpisode, ForgetRecord, Layer, PinRecord, RecordChanged,
};
use maxim_bus::signals::recall::Via;

use super::edges::EdgeKind;
use super::law::is_experience;
use super::model::EpisodicMemory;
use super::recalling::recalled;
use super::records::{episode_key, id_key};
use super::region::Hippocampus;
use maxim_region::{Hears, Pulse};

/// Maximum number of episodes in one answer.
const MOST: usize = 512;
/// Characters by which a person recognises an episode.
const SHOWN: usize = 80;

impl Hippocampus {
    /// The episode of an id: its own id, or that of an observation that repeated it.
    pub(super) fn by_id(id: &str, pulse: &Pulse<'_, Self>) -> Option<(u32, EpisodicMemory)> {
        let document = pulse.record::<u32>(&id_key(id))?;
        Some((document, pulse.record(&episode_key(document))?))
    }
}

fn changed(id: &str, episode: Option<&EpisodicMemory>) -> RecordChanged {
    let what = episode.map(|episode| match (episode.perception.text.as_str(), episode.tool()) {
        ("", Some(tool)) => tool.to_owned(),
        (text, _) => text.chars().take(SHOWN).collect(),
    });
    RecordChanged {
        layer: Layer::Hippocampus,
        id: id.to_owned(),
        found: what.is_some(),
        what: what.unwrap_or_default(),
    }
}

impl Hears<FetchEpisodes> for Hippocampus {
    fn hear(&self, asked: &FetchEpisodes, pulse: &mut Pulse<'_, Self>) {
        let mut answer = EpisodesFetched { episodes: Vec::new(), missing: Vec::new() };
        let keys = self.indexes.as_ref().map(|indexes| &indexes.keys);
        let fitting = asked.only.as_ref().zip(keys).map(|(only, keys)| keys.matching(only));
        for id in asked.ids.iter().take(MOST) {
            let Some((document, episode)) = Self::by_id(id, pulse) else {
                answer.missing.push(id.clone());
                continue;
            };
            if fitting.as_ref().is_some_and(|fitting| fitting.binary_search(&document).is_err()) {
                continue;
            }
            answer.episodes.push(FetchedEpisode {
                asked: id.clone(),
                experienced: is_experience(&episode) && episode.provenance != super::model::Provenance::Document,
                sitting: episode.sitting,
                objects: episode.perception.objects.clone(),
                episode: recalled(episode, 1.0, Via::Index),
            });
        }
        answer.missing.extend(asked.ids.iter().skip(MOST).cloned());
        pulse.reply(answer);
    }
}

impl Hears<FollowAssociations> for Hippocampus {
    fn hear(&self, asked: &FollowAssociations, pulse: &mut Pulse<'_, Self>) {
        let id_of = |document: u32| Some(pulse.record::<EpisodicMemory>(&episode_key(document))?.id);
        let next = |id: &String| -> Vec<(String, f64)> {
            let Some(document) = pulse.record::<u32>(&id_key(id)) else { return Vec::new() };
            let edges = self.edges().of(document).filter(|edge| edge.kind == EdgeKind::Associates);
            edges.filter_map(|edge| Some((id_of(edge.to)?, edge.weight()))).collect()
        };
        let ids = || asked.ids.iter().take(MOST);
        let missing = ids().filter(|id| pulse.record::<u32>(&id_key(id)).is_none()).cloned().collect();
        let next = ids().map(next).collect();
        pulse.reply(AssociationsFollowed { next, missing });
    }
}

impl Hears<PinRecord> for Hippocampus {
    fn hear(&self, wish: &PinRecord, pulse: &mut Pulse<'_, Self>) {
        let found = Self::by_id(&wish.id, pulse);
        if let Some((document, episode)) = &found {
            let pinned = EpisodicMemory { long_term: wish.pinned, ..episode.clone() };
            pulse.put(episode_key(*document), &pinned);
        }
        pulse.reply(changed(&wish.id, found.as_ref().map(|(_, episode)| episode)));
    }
}

impl Hears<ForgetRecord> for Hippocampus {
    /// Removed as in sleep, with every index entry, edge and repetition; its turn may still be open.
    fn hear(&self, wish: &ForgetRecord, pulse: &mut Pulse<'_, Self>) {
        let found = Self::by_id(&wish.id, pulse);
        if let Some((document, episode)) = &found {
            self.remove_episodes(&[(*document, episode.id.clone())], true, pulse);
        }
        pulse.reply(changed(&wish.id, found.as_ref().map(|(_, episode)| episode)));
    }
}

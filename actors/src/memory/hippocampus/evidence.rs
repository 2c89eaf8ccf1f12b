//! Episodes by their ids: as evidence for others, pinned, and forgotten.

use maxim_bus::signals::concepts::{
    EpisodesFetched, FetchEpisodes, FetchedEpisode, ForgetRecord, Layer, PinRecord, RecordChanged, RecordsRemoved,
};
use maxim_bus::signals::recall::Via;
use maxim_bus::signals::similarity::{self, SituationsStored};

use super::law::is_experience;
use super::model::EpisodicMemory;
use super::region::{Hippocampus, HippocampusEvent, episode_key, id_key, recalled, vector_key};
use crate::region::{Hears, Pulse};

/// Episodes in one answer.
const MOST: usize = 512;
/// Characters by which a person knows an episode again.
const SHOWN: usize = 80;

impl Hippocampus {
    fn by_id(id: &str, pulse: &Pulse<'_, Self>) -> Option<(u32, EpisodicMemory)> {
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
        for id in asked.ids.iter().take(MOST) {
            let Some((_, episode)) = Self::by_id(id, pulse) else {
                answer.missing.push(id.clone());
                continue;
            };
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
    /// The record goes, and with it what any index could show of it. Its words stay in sealed postings until their
    /// segments are merged, where they lead to nothing.
    fn hear(&self, wish: &ForgetRecord, pulse: &mut Pulse<'_, Self>) {
        let found = Self::by_id(&wish.id, pulse);
        if let Some((document, episode)) = &found {
            pulse.remove(episode_key(*document));
            pulse.remove(id_key(&wish.id));
            pulse.keep(HippocampusEvent::Forgotten { document: *document });
            pulse.remove(vector_key(*document));
            let gone = vec![(similarity::EPISODES.to_owned(), episode.id.clone())];
            pulse.emit(SituationsStored { stored: Vec::new(), forgotten: gone });
            pulse.emit(RecordsRemoved { layer: Layer::Hippocampus, ids: vec![episode.id.clone()] });
        }
        pulse.reply(changed(&wish.id, found.as_ref().map(|(_, episode)| episode)));
    }
}

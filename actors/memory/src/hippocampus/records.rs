//! The keys of the hippocampus' records.

pub(super) fn episode_key(document: u32) -> Vec<u8> {
    format!("{EPISODES}{document:08x}").into_bytes()
}

/// The key of an episode's number by its id. A turn or line that repeated an observation has its own key.
pub(super) fn id_key(id: &str) -> Vec<u8> {
    format!("id/{id}").into_bytes()
}

/// Ids of turns and lines that repeated the observation of an episode.
pub(super) fn repeats_key(document: u32) -> Vec<u8> {
    format!("repeats/{document:08x}").into_bytes()
}

/// Prefix of episodes' records; they are in the order of experience.
pub const EPISODES: &str = "episode/";

/// Vectors of episodes that aren't sealed yet.
pub(super) fn vector_key(document: u32) -> Vec<u8> {
    format!("vector/{document:08x}").into_bytes()
}

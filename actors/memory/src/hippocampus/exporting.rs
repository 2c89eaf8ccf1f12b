//! Pages of episodes for an export, read outside the room from a frozen view: a page shows one moment, whatever changes
//! meanwhile.
//!
//! An episode's line contains its record byte for byte, what a small one is found by (`held.rs`), and its edges to
//! earlier ones, by id: numbers differ between brains.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use maxim_bus::signals::similarity::Situation;

use super::edges::{BLOCK, Edge, read_block, read_row};
use super::held::{Held, held_key};
use super::import::{Links, NamedEdge, WholeLine};
use super::linking::{block_key, edge_key};
use super::model::EpisodicMemory;
use super::records::{EPISODES, episode_key, repeats_key};
use super::text_index::stems_of;
use super::upkeep::{TEXT_SEGMENTS, TEXT_SPANS, segment_of_span};
use maxim_region::{RecordView, Unreadable, end_of, lines};

/// A page of an export.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EpisodePage {
    pub lines: Vec<String>,
    /// Where to continue; `None` at the end.
    pub next: Option<String>,
    /// Number of records that aren't text.
    pub unreadable: usize,
}

/// True if it is the place of an episode, in the form of a page.
pub fn is_place(after: &str) -> bool {
    after.strip_prefix(EPISODES).is_some_and(|number| u32::from_str_radix(number, 16).is_ok())
}

/// The known situation of an episode, by its id.
pub type Situations<'a> = &'a dyn Fn(&str) -> Option<Situation>;

/// Episodes after a place, in the order of experience; small ones with what the indexes hold of them.
///
/// # Errors
/// A record can't be read.
pub fn page(
    records: &RecordView<'_>,
    situations: Situations<'_>,
    after: Option<&str>,
    limit: usize,
) -> Result<EpisodePage, Unreadable> {
    let from = match after {
        Some(after) => Bound::Excluded(after.as_bytes().to_vec()),
        None => Bound::Included(EPISODES.as_bytes().to_vec()),
    };
    let kept = records.read_range((from, end_of(EPISODES.as_bytes())), limit)?;
    let is_last = kept.len() < limit;
    let next = kept.last().filter(|_| !is_last).map(|(key, _)| String::from_utf8_lossy(key).into_owned());
    let episodes: Vec<(u32, Vec<u8>)> =
        kept.into_iter().filter_map(|(key, record)| Some((number_of(&key)?, record))).collect();
    let (Some(first), Some(last)) = (episodes.first(), episodes.last()) else { return Ok(EpisodePage::default()) };
    let rows = rows(records, first.0, last.0)?;
    let mut ids: BTreeMap<u32, Option<String>> =
        episodes.iter().map(|(number, record)| (*number, id_of(record))).collect();
    let held = held(records, situations, &episodes)?;
    let mut page = EpisodePage { next, ..EpisodePage::default() };
    for (number, record) in &episodes {
        let mut links = Links { repeats: repeats(records, *number)?, ..Links::default() };
        for edge in rows.get(number).into_iter().flatten() {
            let id = match ids.get(&edge.to) {
                Some(id) => id.clone(),
                None => {
                    let id = records.read(&episode_key(edge.to))?.and_then(|record| id_of(&record));
                    ids.insert(edge.to, id.clone());
                    id
                }
            };
            // Removed episodes have no edges, though a block may still list them.
            links.edges.extend(id.map(|to| NamedEdge::of(edge, to)));
        }
        match WholeLine::write(record, &links, held.get(number)) {
            Some(line) => page.lines.push(line),
            None => page.unreadable += 1,
        }
    }
    Ok(page)
}

fn number_of(key: &[u8]) -> Option<u32> {
    u32::from_str_radix(std::str::from_utf8(key).ok()?.strip_prefix(EPISODES)?, 16).ok()
}

/// The id of an episode, whole or compressed. Its record begins with the id, unless its members came in another order.
fn id_of(record: &[u8]) -> Option<String> {
    match record.strip_prefix(b"{\"id\":").or_else(|| record.strip_prefix(b"[")) {
        Some(rest) => serde_json::Deserializer::from_slice(rest).into_iter::<String>().next()?.ok(),
        None => serde_json::from_str(lines::member(std::str::from_utf8(record).ok()?, "id")?.get()).ok(),
    }
}

/// What the small ones of these episodes are found by. Their words are read from their segments together, which takes
/// as long for one as for a page.
fn held(
    records: &RecordView<'_>,
    situations: Situations<'_>,
    episodes: &[(u32, Vec<u8>)],
) -> Result<BTreeMap<u32, Held>, Unreadable> {
    // The record of a whole episode is an object.
    let small = episodes.iter().filter(|(_, record)| record.first() == Some(&b'['));
    let small = small.filter_map(|(number, record)| Some((*number, serde_json::from_slice(record).ok()?)));
    let mut held = BTreeMap::new();
    let mut sealed: BTreeMap<u32, EpisodicMemory> = BTreeMap::new();
    for (number, episode) in small {
        match records.read(&held_key(number))?.and_then(|record| serde_json::from_slice(&record).ok()) {
            Some(beside) => drop(held.insert(number, beside)),
            None => drop(sealed.insert(number, episode)),
        }
    }
    if sealed.is_empty() {
        return Ok(held);
    }
    let numbers: BTreeSet<u32> = sealed.keys().copied().collect();
    let mut stems: BTreeMap<u32, BTreeSet<String>> = BTreeMap::new();
    for bytes in segments(records, &numbers)? {
        match stems_of(bytes.into(), &numbers) {
            Ok(found) => stems.extend(found),
            Err(error) => tracing::warn!(%error, "words of small episodes are damaged; they are left out"),
        }
    }
    for (number, episode) in sealed {
        let stems = stems.remove(&number).unwrap_or_default();
        held.insert(number, Held::new(&episode, situations(&episode.id), &stems));
    }
    Ok(held)
}

/// The word segments that may contain these documents. All segments, in a store that doesn't note which contain what.
pub(super) fn segments(records: &RecordView<'_>, documents: &BTreeSet<u32>) -> Result<Vec<Vec<u8>>, Unreadable> {
    let under = |prefix: &[u8]| (Bound::Included(prefix.to_vec()), end_of(prefix));
    let spans = records.read_range(under(TEXT_SPANS), usize::MAX)?;
    if spans.is_empty() {
        let all = records.read_range(under(TEXT_SEGMENTS), usize::MAX)?;
        return Ok(all.into_iter().map(|(_, bytes)| bytes).collect());
    }
    let mut found = Vec::new();
    for (key, span) in spans {
        let (first, last) = serde_json::from_slice(&span).unwrap_or((0, u32::MAX));
        if first <= last && documents.range(first..=last).next().is_some() {
            found.extend(records.read(&segment_of_span(&key))?);
        }
    }
    Ok(found)
}

/// The stored edges of episodes, from sealed blocks and later records.
fn rows(records: &RecordView<'_>, first: u32, last: u32) -> Result<BTreeMap<u32, Vec<Edge>>, Unreadable> {
    let mut rows = BTreeMap::new();
    for block in first / BLOCK..=last / BLOCK {
        match records.read(&block_key(block))?.map(|bytes| read_block(block, &bytes)) {
            Some(Ok(block)) => rows.extend(block),
            Some(Err(error)) => tracing::warn!(block, %error, "edges between episodes are damaged; they are left out"),
            None => {}
        }
    }
    let range = (Bound::Included(edge_key(first)), Bound::Included(edge_key(last)));
    for (key, record) in records.read_range(range, usize::MAX)? {
        let number = std::str::from_utf8(&key).ok().and_then(|key| key.rsplit_once('/'));
        if let Some(number) = number.and_then(|(_, hex)| u32::from_str_radix(hex, 16).ok()) {
            rows.insert(number, read_row(number, &record));
        }
    }
    Ok(rows)
}

fn repeats(records: &RecordView<'_>, number: u32) -> Result<Vec<String>, Unreadable> {
    let record = records.read(&repeats_key(number))?;
    Ok(record.and_then(|record| serde_json::from_slice(&record).ok()).unwrap_or_default())
}

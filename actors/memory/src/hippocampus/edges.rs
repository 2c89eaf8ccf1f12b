//! Edges between episodes: which belong together, and what led to what.
//!
//! An edge is stored with the later of its two episodes; in memory both ends have it. FOLLOWS needs no edge: episode
//! numbers are in the order of experience, and each episode carries its sitting.

use serde::{Deserialize, Serialize};

use crate::packing::{DamagedSegment, Packer, Unpacker, put_varint, take_varint};

/// Episodes whose edges share one record once they are sealed.
pub const BLOCK: u32 = 512;
/// Edges of one episode, at most: a hub gets no more, so that spreading stays bounded.
pub const MOST_DEGREE: usize = 64;

const KIND: [u8; 4] = *b"MXE1";
/// Steps of a packed weight from 0 to 1.
const STEPS: f64 = 65_535.0;

/// The kind of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum EdgeKind {
    /// The episodes are similar. The edge holds in both directions.
    Associates,
    /// The earlier one caused the later one.
    Causes,
}

/// An edge as its later episode stores it: the earlier episode, the weight, and how often it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edge {
    pub to: u32,
    pub kind: EdgeKind,
    /// In steps of 1/65 535.
    weight: u16,
    pub times: u16,
}

impl Edge {
    /// `weight` in [0, 1].
    pub fn new(to: u32, kind: EdgeKind, weight: f64) -> Self {
        Self { to, kind, weight: (weight.clamp(0.0, 1.0) * STEPS).round() as u16, times: 1 }
    }

    pub fn weight(&self) -> f64 {
        f64::from(self.weight) / STEPS
    }
}

/// Edges that were found again keep the greater weight and are counted; new ones are added. Sorted by target and kind.
pub fn merge_edges(known: &[Edge], found: &[Edge]) -> Vec<Edge> {
    let mut all = known.to_vec();
    for edge in found {
        match all.iter_mut().find(|old| old.to == edge.to && old.kind == edge.kind) {
            Some(old) => {
                old.weight = old.weight.max(edge.weight);
                old.times = old.times.saturating_add(edge.times);
            }
            None => all.push(*edge),
        }
    }
    all.sort_unstable_by_key(|edge| (edge.to, edge.kind));
    all
}

/// An edge in memory, in eight bytes: a million episodes have twenty million of them.
#[derive(Clone, Copy, Debug)]
struct Packed {
    to: u32,
    weight: u16,
    /// How often it was found, up to 32 767, and its kind in the low bit.
    found: u16,
}

impl Packed {
    fn kind(self) -> EdgeKind {
        if self.found & 1 == 1 { EdgeKind::Causes } else { EdgeKind::Associates }
    }

    fn weight(self) -> f64 {
        f64::from(self.weight) / STEPS
    }
}

impl From<Edge> for Packed {
    fn from(edge: Edge) -> Self {
        let found = edge.times.min(u16::MAX >> 1) << 1 | u16::from(edge.kind == EdgeKind::Causes);
        Self { to: edge.to, weight: edge.weight, found }
    }
}

impl From<Packed> for Edge {
    fn from(packed: Packed) -> Self {
        Self { to: packed.to, kind: packed.kind(), weight: packed.weight, times: packed.found >> 1 }
    }
}

/// The edges of one episode. Most have a handful, and are read far more often than changed.
type Row = Box<[Packed]>;

fn push(row: &mut Row, edge: Packed) {
    let mut grown = std::mem::take(row).into_vec();
    grown.reserve_exact(1);
    grown.push(edge);
    *row = grown.into_boxed_slice();
}

fn retain(row: &mut Row, keep: impl Fn(&Packed) -> bool) {
    if !row.iter().all(&keep) {
        *row = row.iter().filter(|edge| keep(edge)).copied().collect();
    }
}

/// All edges by episode, at both ends.
#[derive(Clone, Debug, Default)]
pub struct Edges {
    /// The rows of a start, one after another: a million separate rows would need most of the memory.
    found: Box<[Packed]>,
    /// The end of each of these rows.
    ends: Box<[u32]>,
    /// Rows that were added or changed since.
    rows: Vec<Option<Row>>,
    count: usize,
}

impl Edges {
    /// Number of edges.
    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    fn row(&self, document: u32) -> &[Packed] {
        match self.rows.get(document as usize) {
            Some(Some(row)) => row,
            _ => self.found_row(document as usize),
        }
    }

    fn found_row(&self, at: usize) -> &[Packed] {
        let Some(end) = self.ends.get(at) else { return &[] };
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.found[start as usize..*end as usize]
    }

    /// The row of an episode, for changing it.
    fn row_mut(&mut self, document: u32) -> &mut Row {
        let at = document as usize;
        if self.rows.len() <= at {
            self.rows.resize(at + 1, None);
        }
        let found = if self.rows[at].is_none() { Row::from(self.found_row(at)) } else { Row::default() };
        self.rows[at].get_or_insert(found)
    }

    /// The edges of an episode, in both directions.
    pub(super) fn of(&self, document: u32) -> impl Iterator<Item = Edge> {
        self.row(document).iter().map(|edge| Edge::from(*edge))
    }

    /// The edges that are stored with this episode: those to earlier ones.
    pub fn own(&self, document: u32) -> Vec<Edge> {
        self.of(document).filter(|edge| edge.to < document).collect()
    }

    pub fn degree(&self, document: u32) -> usize {
        self.row(document).len()
    }

    /// Sum of the weights of an episode's edges.
    pub fn weight(&self, document: u32) -> f64 {
        self.row(document).iter().map(|edge| edge.weight()).sum()
    }

    /// Later episodes that store an edge to this one.
    pub fn kept_by(&self, document: u32) -> Vec<u32> {
        let mut later: Vec<u32> =
            self.row(document).iter().filter(|edge| edge.to > document).map(|edge| edge.to).collect();
        later.dedup();
        later
    }

    /// Visits the episodes to which activation passes: similar ones, and effects of an episode.
    pub fn visit(&self, document: u32, visit: &mut dyn FnMut(u32, f64)) {
        for edge in self.row(document) {
            if edge.kind() == EdgeKind::Associates || edge.to > document {
                visit(edge.to, edge.weight());
            }
        }
    }

    /// Replaces the edges that are stored with an episode. Edges to itself or to later episodes are left out.
    pub fn set(&mut self, document: u32, own: &[Edge]) {
        for old in self.own(document) {
            retain(self.row_mut(old.to), |edge| !(edge.to == document && edge.kind() == old.kind));
            self.count -= 1;
        }
        let later = self.row(document).iter().filter(|edge| edge.to > document).copied();
        let own: Vec<Packed> = own.iter().filter(|edge| edge.to < document).map(|edge| (*edge).into()).collect();
        *self.row_mut(document) = later.chain(own.iter().copied()).collect();
        for edge in own {
            push(self.row_mut(edge.to), Packed { to: document, ..edge });
            self.count += 1;
        }
    }

    /// Removes an episode with all of its edges.
    pub fn remove(&mut self, document: u32) {
        if self.row(document).is_empty() {
            return;
        }
        let row = std::mem::take(self.row_mut(document));
        self.count -= row.len();
        for edge in row {
            retain(self.row_mut(edge.to), |back| back.to != document);
        }
    }

    /// The stored edges of a block of episodes, as bytes.
    pub fn pack(&self, block: u32) -> Vec<u8> {
        let mut out = Packer::new(KIND);
        let mut bytes = Vec::new();
        for document in documents_of(block) {
            pack_row(document, &self.own(document), &mut bytes);
        }
        out.count(bytes.len());
        out.raw(&bytes);
        out.finish()
    }

    /// All edges of blocks from [`Edges::pack`], and the numbers of damaged blocks.
    pub fn load(blocks: &[(u32, Vec<u8>)]) -> (Self, Vec<u32>) {
        let (mut sound, mut damaged) = (Vec::with_capacity(blocks.len()), Vec::new());
        for (block, bytes) in blocks {
            match rows_of(bytes) {
                Ok(rows) => sound.push((*block, rows)),
                Err(_) => damaged.push(*block),
            }
        }
        let documents = sound.iter().map(|(block, _)| documents_of(*block).end as usize).max().unwrap_or(0);
        // First the number of edges of each row, then the next place in it, which finally is its end.
        let mut ends = vec![0u32; documents];
        let mut count = 0;
        for (block, rows) in &sound {
            visit_rows(*block, rows, |document, edge| {
                ends[document as usize] += 1;
                ends[edge.to as usize] += 1;
                count += 1;
            });
        }
        let mut start = 0;
        for end in &mut ends {
            start += std::mem::replace(end, start);
        }
        let mut found = vec![Packed { to: 0, weight: 0, found: 0 }; 2 * count];
        let mut put = |row: u32, edge: Packed| {
            let at = &mut ends[row as usize];
            found[*at as usize] = edge;
            *at += 1;
        };
        for (block, rows) in &sound {
            visit_rows(*block, rows, |document, edge| {
                let packed = Packed::from(edge);
                put(document, packed);
                put(edge.to, Packed { to: document, ..packed });
            });
        }
        (Self { found: found.into(), ends: ends.into(), rows: Vec::new(), count }, damaged)
    }
}

/// Reads bytes of [`Edges::pack`]: the stored edges of each episode, without episodes that have none.
pub fn read_block(block: u32, bytes: &[u8]) -> Result<Vec<(u32, Vec<Edge>)>, DamagedSegment> {
    let mut read: Vec<(u32, Vec<Edge>)> = Vec::new();
    visit_rows(block, rows_of(bytes)?, |document, edge| match read.last_mut() {
        Some((last, own)) if *last == document => own.push(edge),
        _ => read.push((document, vec![edge])),
    });
    Ok(read)
}

/// The rows of a block, after checking its checksum.
fn rows_of(bytes: &[u8]) -> Result<&[u8], DamagedSegment> {
    let mut reader = Unpacker::open(bytes, KIND)?;
    let length = reader.u32("the length of the edges")? as usize;
    reader.take(length, "the edges")
}

fn visit_rows(block: u32, rows: &[u8], mut visit: impl FnMut(u32, Edge)) {
    let mut at = 0;
    for document in documents_of(block) {
        visit_row(document, rows, &mut at, |edge| visit(document, edge));
    }
}

/// Numbers of the episodes of a block.
pub fn documents_of(block: u32) -> std::ops::Range<u32> {
    block * BLOCK..(block + 1) * BLOCK
}

/// The edges of one episode as a record.
pub fn row_record(document: u32, own: &[Edge]) -> Vec<u8> {
    let mut bytes = Vec::new();
    pack_row(document, own, &mut bytes);
    bytes
}

/// Reads a record of [`row_record`].
pub fn read_row(document: u32, record: &[u8]) -> Vec<Edge> {
    let mut own = Vec::new();
    visit_row(document, record, &mut 0, |edge| own.push(edge));
    own
}

/// The count; then for each edge the distance back with the kind in its low bit, the weight, and how often it was
/// found.
fn pack_row(document: u32, own: &[Edge], into: &mut Vec<u8>) {
    put_varint(into, own.len() as u32);
    for edge in own {
        let back = document.saturating_sub(edge.to);
        put_varint(into, back << 1 | u32::from(edge.kind == EdgeKind::Causes));
        into.extend_from_slice(&edge.weight.to_le_bytes());
        put_varint(into, u32::from(edge.times));
    }
}

/// Visits the edges of a row to earlier episodes, and moves behind it.
fn visit_row(document: u32, bytes: &[u8], at: &mut usize, mut visit: impl FnMut(Edge)) {
    for _ in 0..take_varint(bytes, at).min(2 * MOST_DEGREE as u32) {
        let packed = take_varint(bytes, at);
        let weight = bytes.get(*at..).and_then(|rest| rest.first_chunk()).map_or(0, |two| u16::from_le_bytes(*two));
        *at += 2;
        let times = take_varint(bytes, at) as u16;
        let kind = if packed & 1 == 1 { EdgeKind::Causes } else { EdgeKind::Associates };
        if let Some(to) = document.checked_sub(packed >> 1).filter(|to| *to < document) {
            visit(Edge { to, kind, weight, times });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alike(to: u32, weight: f64) -> Edge {
        Edge::new(to, EdgeKind::Associates, weight)
    }

    fn reached(edges: &Edges, from: u32) -> Vec<u32> {
        let mut seen = Vec::new();
        edges.visit(from, &mut |to, _| seen.push(to));
        seen.sort_unstable();
        seen
    }

    #[test]
    fn likeness_goes_both_ways_and_causes_go_forward() {
        let mut edges = Edges::default();
        edges.set(5, &[alike(2, 0.75), Edge::new(3, EdgeKind::Causes, 0.5)]);
        assert_eq!((reached(&edges, 2), reached(&edges, 5)), (vec![5], vec![2]));
        assert_eq!(reached(&edges, 3), [5], "a cause leads to what it caused");
        assert_eq!((edges.len(), edges.degree(5), edges.degree(2)), (2, 2, 1));
        assert!((edges.weight(5) - 1.25).abs() < 1e-4);
        edges.set(5, &[alike(2, 0.6)]);
        assert_eq!((edges.len(), edges.degree(3)), (1, 0), "what was replaced is gone at both ends");
    }

    #[test]
    fn an_edge_found_again_keeps_its_maximum_and_is_counted() {
        let merged = merge_edges(&[alike(2, 0.75)], &[alike(2, 0.6), alike(1, 0.5)]);
        let seen: Vec<_> = merged.iter().map(|edge| (edge.to, (edge.weight() * 100.0).round(), edge.times)).collect();
        assert_eq!(seen, [(1, 50.0, 1), (2, 75.0, 2)]);
        let causes = merge_edges(&merged, &[Edge::new(2, EdgeKind::Causes, 0.4)]);
        assert_eq!(causes.len(), 3, "another kind is another edge");
    }

    #[test]
    fn removal_takes_both_ends() {
        let mut edges = Edges::default();
        edges.set(5, &[alike(2, 0.75), alike(3, 0.5)]);
        edges.set(9, &[alike(5, 0.6)]);
        assert_eq!(edges.kept_by(5), [9]);
        edges.remove(5);
        assert!(edges.is_empty() && [2, 3, 9].iter().all(|document| edges.degree(*document) == 0));
    }

    #[test]
    fn a_block_comes_back_from_its_bytes_and_damage_is_seen() {
        let mut edges = Edges::default();
        edges.set(700, &[alike(2, 0.75), alike(699, 1.0), Edge::new(650, EdgeKind::Causes, 0.31)]);
        edges.set(1023, &[alike(700, 0.5)]);
        let mut bytes = edges.pack(1);
        let (again, damaged) = Edges::load(&[(1, bytes.clone())]);
        assert!(damaged.is_empty());
        assert_eq!([2, 650, 699].map(|document| again.degree(document)), [1, 1, 1], "the other ends know them too");
        assert_eq!((again.own(700), again.own(1023), again.len()), (edges.own(700), edges.own(1023), 4));
        assert_eq!(read_row(700, &row_record(700, &edges.own(700))), edges.own(700));
        assert!(bytes.len() < BLOCK as usize + 64, "{} bytes", bytes.len());
        bytes[20] ^= 1;
        let (without, damaged) = Edges::load(&[(1, bytes)]);
        assert!(without.is_empty() && damaged == [1]);
    }
}

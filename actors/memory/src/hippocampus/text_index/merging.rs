//! Merges several sealed segments into one, a few stems at a time, so that nothing has to wait.

use std::ops::Range;
use std::sync::Arc;

use super::segment::{Draft, Row, Segment, Term};
use super::tail::Posting;
use super::{MERGE_FACTOR, SEGMENT_DOCUMENTS, TextIndex};
use crate::packing::DamagedSegment;

/// A merge in progress.
#[derive(Debug)]
pub struct Merging {
    /// Segment, number of its first document, and its next stem.
    opened: Vec<(Segment, u32, usize)>,
    merged: Draft,
    dead: Vec<u32>,
}

impl Merging {
    /// Merges consecutive segments. Postings of documents in `dead` are left out.
    pub fn new(segments: &[Arc<[u8]>], dead: &[u32]) -> Result<Self, DamagedSegment> {
        let mut merged = Draft::default();
        let mut opened = Vec::new();
        for bytes in segments {
            let (segment, columns) = Segment::open(bytes.clone())?;
            let base = merged.rows.len() as u32;
            let groups: Vec<u32> = columns.groups.into_iter().map(|group| place(&mut merged.groups, group)).collect();
            merged.rows.extend(columns.rows.into_iter().map(|row| {
                let group = groups.get(row.group as usize).copied().unwrap_or(0);
                Row { group, ..row }
            }));
            opened.push((segment, base, 0));
        }
        Ok(Self { opened, merged, dead: dead.to_vec() })
    }

    /// Merges at most this many stems. Returns false when none is left.
    pub fn step(&mut self, stems: usize) -> bool {
        for _ in 0..stems {
            let heads = self.opened.iter().filter(|(segment, _, at)| *at < segment.terms());
            let Some(stem) = heads.map(|(segment, _, at)| segment.stem(*at)).min().map(str::to_string) else {
                return false;
            };
            self.join(stem);
        }
        true
    }

    fn join(&mut self, stem: String) {
        let mut postings = Vec::new();
        let mut form = String::new();
        for (segment, base, at) in &mut self.opened {
            if *at < segment.terms() && segment.stem(*at) == stem {
                let other = segment.form(*at);
                if form.is_empty() || !other.is_empty() && (other.len(), other) < (form.len(), &form) {
                    form = other.to_string();
                }
                let moved = segment.list(*at).map(|p| Posting { ordinal: p.ordinal + *base, ..p });
                let rows = &self.merged.rows;
                postings.extend(moved.filter(|p| {
                    let document = rows.get(p.ordinal as usize).map_or(0, |row| row.document);
                    self.dead.binary_search(&document).is_err()
                }));
                *at += 1;
            }
        }
        if !postings.is_empty() {
            self.merged.terms.push(Term { stem, form, postings });
        }
    }

    /// The bytes of the merged segment.
    pub fn finish(mut self) -> Vec<u8> {
        while self.step(usize::MAX) {}
        self.merged.pack()
    }
}

fn place(groups: &mut Vec<Vec<String>>, group: Vec<String>) -> u32 {
    let known = groups.iter().position(|g| *g == group);
    known.unwrap_or_else(|| {
        groups.push(group);
        groups.len() - 1
    }) as u32
}

impl TextIndex {
    /// The first run of neighbouring segments of similar size that together have at most `most` documents.
    pub fn mergeable(&self, most: usize) -> Option<Range<usize>> {
        let level = |s: &Segment| (s.documents() / SEGMENT_DOCUMENTS).max(1).ilog(MERGE_FACTOR);
        let run = |w: &[Segment]| {
            w.iter().all(|s| level(s) == level(&w[0])) && w.iter().map(Segment::documents).sum::<usize>() <= most
        };
        let start = self.segments.windows(MERGE_FACTOR).position(run)?;
        Some(start..start + MERGE_FACTOR)
    }

    /// Begins to merge a run of segments; `None` if they are unreadable.
    pub fn begin_merge(&self, parts: Range<usize>) -> Option<Merging> {
        let bytes: Vec<Arc<[u8]>> = self.segments.get(parts)?.iter().map(|segment| segment.bytes().clone()).collect();
        Merging::new(&bytes, &self.dead).ok()
    }
}

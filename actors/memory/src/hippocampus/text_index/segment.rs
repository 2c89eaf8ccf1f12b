//! A sealed run of documents: sorted stems, delta-encoded postings with term frequencies, and a row of columns for each
//! document. It is written once, loads without reading any text again, and is searched in place.

use std::sync::Arc;

use super::tail::Posting;
use crate::packing::{DamagedSegment, Packer, Unpacker, put_varint, read_u32, take_varint};

const KIND: [u8; 4] = *b"MXT2";

/// Columns per stem in the directory.
const COLUMNS: usize = 4;

/// The stored data of one document beside its postings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row {
    pub document: u32,
    pub sitting: u32,
    /// Days since 1970-01-01, local calendar.
    pub day: i32,
    /// Number of stems in the text, capped at 65 535.
    pub length: u16,
    pub marks: u8,
    /// Index in the segment's list of groups of people.
    pub group: u32,
}

/// The parts of a segment before serialization.
#[derive(Debug, Default)]
pub struct Draft {
    pub rows: Vec<Row>,
    /// Names of each group of people.
    pub groups: Vec<Vec<String>>,
    /// Sorted by stem.
    pub terms: Vec<Term>,
}

/// A stem of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    pub stem: String,
    /// The word that represents it.
    pub form: String,
    /// `Posting::ordinal` counts from the segment's first document.
    pub postings: Vec<Posting>,
}

impl Draft {
    pub fn pack(&self) -> Vec<u8> {
        let mut out = Packer::new(KIND);
        out.count(self.rows.len());
        for row in &self.rows {
            out.u32(row.document);
            out.u32(row.sitting);
            out.u32(row.day.cast_unsigned());
            out.u32(u32::from(row.length) | u32::from(row.marks) << 16);
            out.u32(row.group);
        }
        out.count(self.groups.len());
        for group in &self.groups {
            out.count(group.len());
            group.iter().for_each(|name| out.text(name));
        }
        let (mut stems, mut forms, mut postings) = (Vec::new(), Vec::new(), Vec::new());
        out.count(self.terms.len());
        // Columns: end of stem, number of postings, end of postings, end of word.
        for term in &self.terms {
            stems.extend_from_slice(term.stem.as_bytes());
            forms.extend_from_slice(term.form.as_bytes());
            encode(&term.postings, &mut postings);
            out.count(stems.len());
            out.count(term.postings.len());
            out.count(postings.len());
            out.count(forms.len());
        }
        out.raw(&stems);
        out.raw(&forms);
        out.count(postings.len());
        out.raw(&postings);
        out.finish()
    }
}

/// Gap from the previous ordinal, shifted by one; the low bit says that a frequency above one follows.
fn encode(list: &[Posting], out: &mut Vec<u8>) {
    let mut next = 0;
    for posting in list {
        let gap = posting.ordinal - next;
        next = posting.ordinal + 1;
        put_varint(out, gap << 1 | u32::from(posting.count > 1));
        if posting.count > 1 {
            put_varint(out, u32::from(posting.count));
        }
    }
}

/// Bytes of a sealed segment, and the positions of its parts.
#[derive(Clone, Debug)]
pub struct Segment {
    bytes: Arc<[u8]>,
    documents: usize,
    terms: usize,
    directory: usize,
    stems: usize,
    forms: usize,
    postings: usize,
}

/// Rows and groups of a segment, read once when it is loaded.
#[derive(Debug)]
pub struct Columns {
    pub rows: Vec<Row>,
    pub groups: Vec<Vec<String>>,
}

impl Segment {
    /// Verifies the bytes and finds the parts.
    pub fn open(bytes: Arc<[u8]>) -> Result<(Self, Columns), DamagedSegment> {
        let mut reader = Unpacker::open(&bytes, KIND)?;
        let documents = reader.u32("the number of documents")? as usize;
        let columns = reader.take(documents.saturating_mul(20), "the document rows")?;
        let rows = (0..documents)
            .map(|i| {
                let at = |column: usize| read_u32(columns, i * 5 + column);
                let packed = at(3);
                Row {
                    document: at(0),
                    sitting: at(1),
                    day: at(2).cast_signed(),
                    length: (packed & 0xffff) as u16,
                    marks: (packed >> 16) as u8,
                    group: at(4),
                }
            })
            .collect();
        let groups = (0..reader.u32("the number of groups")?)
            .map(|_| {
                (0..reader.u32("the size of a group")?)
                    .map(|_| reader.text("a person's name").map(str::to_string))
                    .collect::<Result<Vec<_>, _>>()
            })
            .collect::<Result<Vec<_>, _>>()?;
        let terms = reader.u32("the number of stems")? as usize;
        let directory = reader.position();
        let entries = reader.take(terms.saturating_mul(4 * COLUMNS), "the directory of stems")?;
        let stems = reader.position();
        let end = |column| terms.checked_sub(1).map_or(0, |last| read_u32(entries, last * COLUMNS + column) as usize);
        let (stem_bytes, form_bytes) = (end(0), end(3));
        reader.take(stem_bytes, "the stems")?;
        let forms = reader.position();
        reader.take(form_bytes, "the words")?;
        let postings_length = reader.u32("the length of the postings")? as usize;
        let postings = reader.position();
        reader.take(postings_length, "the postings")?;
        let segment = Self { documents, terms, directory, stems, forms, postings, bytes: bytes.clone() };
        Ok((segment, Columns { rows, groups }))
    }

    pub fn bytes(&self) -> &Arc<[u8]> {
        &self.bytes
    }

    pub fn documents(&self) -> usize {
        self.documents
    }

    pub fn terms(&self) -> usize {
        self.terms
    }

    fn entry(&self, term: usize, column: usize) -> usize {
        read_u32(&self.bytes[self.directory..], term * COLUMNS + column) as usize
    }

    pub fn stem(&self, term: usize) -> &str {
        let start = term.checked_sub(1).map_or(0, |before| self.entry(before, 0));
        let bytes = self.bytes.get(self.stems + start..self.stems + self.entry(term, 0)).unwrap_or(&[]);
        std::str::from_utf8(bytes).unwrap_or("")
    }

    /// The word that represents a stem.
    pub fn form(&self, term: usize) -> &str {
        let start = term.checked_sub(1).map_or(0, |before| self.entry(before, 3));
        let bytes = self.bytes.get(self.forms + start..self.forms + self.entry(term, 3)).unwrap_or(&[]);
        std::str::from_utf8(bytes).unwrap_or("")
    }

    pub fn list(&self, term: usize) -> PackedList<'_> {
        let start = term.checked_sub(1).map_or(0, |before| self.entry(before, 2));
        let bytes = self.bytes.get(self.postings + start..self.postings + self.entry(term, 2)).unwrap_or(&[]);
        PackedList { bytes, at: 0, next: 0, left: self.entry(term, 1) as u32 }
    }
}

/// Reads the postings of one stem in one segment, front to back.
#[derive(Clone, Debug)]
pub struct PackedList<'a> {
    bytes: &'a [u8],
    at: usize,
    next: u32,
    left: u32,
}

impl PackedList<'_> {
    /// Remaining postings.
    pub fn remaining(&self) -> usize {
        self.left as usize
    }
}

impl Iterator for PackedList<'_> {
    type Item = Posting;

    #[inline]
    fn next(&mut self) -> Option<Posting> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        let packed = take_varint(self.bytes, &mut self.at);
        let ordinal = self.next + (packed >> 1);
        self.next = ordinal + 1;
        let count = if packed & 1 == 1 { take_varint(self.bytes, &mut self.at) as u16 } else { 1 };
        Some(Posting { ordinal, count })
    }
}

/// Merges consecutive segments into one. Postings of documents in `dead` are left out.
pub fn merge(segments: &[Arc<[u8]>], dead: &[u32]) -> Result<Vec<u8>, DamagedSegment> {
    Ok(super::merging::Merging::new(segments, dead)?.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(first: u32, group: &str) -> Draft {
        let rows = (0..3).map(|i| Row { document: first + i, sitting: 1, day: -2, length: 9, marks: 5, group: 0 });
        let posting = |ordinal, count| Posting { ordinal, count };
        Draft {
            rows: rows.collect(),
            groups: vec![vec![group.to_string()]],
            terms: vec![
                Term { stem: "cup".into(), form: "cups".into(), postings: vec![posting(0, 1), posting(2, 300)] },
                Term { stem: "tea".into(), form: "tea".into(), postings: vec![posting(1, 1)] },
            ],
        }
    }

    #[test]
    fn a_segment_comes_back_as_it_was() {
        let draft = draft(10, "Anna");
        let (segment, columns) = Segment::open(draft.pack().into()).expect("sound");
        assert_eq!(columns.rows, draft.rows);
        assert_eq!(columns.groups, draft.groups);
        assert_eq!(segment.list(0).collect::<Vec<_>>(), draft.terms[0].postings);
        assert_eq!([segment.form(0), segment.form(1)], ["cups", "tea"]);
    }

    #[test]
    fn merging_joins_lists_and_leaves_out_the_dead() {
        let parts = [draft(10, "Anna").pack().into(), draft(20, "Ben").pack().into()];
        let (merged, columns) = Segment::open(merge(&parts, &[12, 21]).expect("sound").into()).expect("sound");
        assert_eq!(columns.rows.len(), 6);
        assert_eq!(columns.rows[5].group, 1);
        let cups: Vec<_> = merged.list(0).map(|p| p.ordinal).collect();
        assert_eq!(cups, [0, 3, 5]);
        assert_eq!(merged.list(1).count(), 1);
    }
}

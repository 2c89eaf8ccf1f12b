//! Export and import of memory: one question each, answered by every room that owns a part of it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::concepts::MemoryRef;
use crate::Query;
use crate::signal;

/// Asks a room for a page of what it remembers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportRecords {
    /// An earlier answer's `next`.
    pub after: Option<String>,
    /// Records in the answer, at most.
    pub limit: usize,
}

/// Records, a line of JSON each: as texts, so that they come through to the byte.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordsExported {
    pub lines: Vec<String>,
    /// What to go on after; none at the end.
    pub next: Option<String>,
}

/// Takes in lines of an export of this room. Records keep their keys, their trust and what they rest on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportRecords {
    /// With their numbers in the file, from 1.
    pub lines: Vec<(u64, String)>,
    /// What other lines of the file brought, as far as these lines name it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<Named>,
}

/// A record that a file names, and what it is called here: ids are given one after the other in each brain, so one id means
/// different records in two of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    /// As the file calls it.
    pub record: MemoryRef,
    /// None: it isn't here, or its id is another record's here.
    pub here: Option<String>,
}

/// A line that names records of which some aren't known yet: all that it names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanting {
    pub line: u64,
    pub records: Vec<MemoryRef>,
}

/// What became of the lines of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordsImported {
    pub kept: u64,
    /// Known here already, from as much experience or more.
    pub merged: u64,
    /// Number of the line, and the reason against it.
    pub bad: Vec<(u64, String)>,
    /// What the lines' records are called here, where others may name them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<Named>,
    /// Lines that are to come again with names for these; they aren't counted yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wanting: Vec<Wanting>,
}

/// An imported memory says that this tool hurt: the gate is to ask experience about it. Or a person has forgotten all that
/// says so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HurtRecalled {
    pub tool: String,
    /// When it did so last.
    pub at: Timestamp,
    /// Nothing is left of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forgotten: bool,
}

signal! {
    ExportRecords: Anywhere, Transient;
    RecordsExported: Anywhere, Transient;
    ImportRecords: Anywhere, Transient;
    RecordsImported: Anywhere, Transient;
    HurtRecalled: Learning, Lossless;
}

impl Query for ExportRecords {
    type Answer = RecordsExported;
}
impl Query for ImportRecords {
    type Answer = RecordsImported;
}

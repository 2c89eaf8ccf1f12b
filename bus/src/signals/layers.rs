//! Export and import of memory: one query each. Every room that owns a part answers it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::concepts::MemoryRef;

use crate::{queries, signal};

/// Asks a room for a page of its records.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportRecords {
    /// An earlier answer's `next`.
    pub after: Option<String>,
    /// Maximum number of records in the answer.
    pub limit: usize,
}

/// Records, one line of JSON each. They are kept as text so that every byte survives.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordsExported {
    pub lines: Vec<String>,
    /// Where the next page starts; none at the end.
    pub next: Option<String>,
}

/// Takes in lines of an export of this room. Records keep their keys, their trust and their evidence.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportRecords {
    /// The lines with their numbers in the file, from 1.
    pub lines: Vec<(u64, String)>,
    /// The new names of records from other lines, if these lines refer to them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<Named>,
}

/// A record in a file, and its id here. Each brain numbers its records itself, so the same id means different records
/// in two brains.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    /// The record as the file names it.
    pub record: MemoryRef,
    /// None: the record isn't here, or another record here has its id.
    pub here: Option<String>,
}

/// A line that refers to records not known yet, with all records that it refers to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanting {
    pub line: u64,
    pub records: Vec<MemoryRef>,
}

/// The result of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordsImported {
    pub kept: u64,
    /// Known here already, from at least as much experience.
    pub merged: u64,
    /// The line's number, and why it was refused.
    pub bad: Vec<(u64, String)>,
    /// The ids of the lines' records here, if other lines may refer to them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<Named>,
    /// Lines to send again once these names are known; they aren't counted yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wanting: Vec<Wanting>,
}

/// An imported memory says that this tool hurt, so the gate must ask experience about it. Or a person has forgotten
/// all evidence of that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HurtRecalled {
    pub tool: String,
    /// When it hurt last.
    pub at: Timestamp,
    /// No evidence of it is left.
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

queries! {
    ExportRecords => RecordsExported;
    ImportRecords => RecordsImported;
}

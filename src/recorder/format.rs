//! What stands in a recording. All messages but the records are JSON.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use maxim_actors::action::tools::{OwnFiles, ToolSpec};
use maxim_actors::effectors::tool_servers::ToolList;
use maxim_actors::region::InputRecord;
use maxim_bus::{AgentId, Envelope, Epoch, Lsn, MessageId, Meta};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::config::Settings;

/// Version of what is written here.
pub const FORMAT: u32 = 3;
/// The oldest that is read. In format 2 an input also held what its channel and time say.
pub const OLDEST: u32 = 2;

pub const HEADER: &str = "/recorder/header";
pub const GAPS: &str = "/recorder/gaps";
pub const STARTS: &str = "/recorder/regions";
pub const RECORDS: &str = "/records/";
pub const SIGNALS: &str = "/signals/";
pub const INPUTS: &str = "/inputs/";

/// Which agent it is, and all that a replay needs besides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    pub format: u32,
    /// The program that recorded: its version, and its source when the build knew it.
    pub build: String,
    pub agent: AgentId,
    #[serde(with = "hex")]
    pub seed: u64,
    /// Number of the process since the store was made.
    pub boot: u64,
    /// The effective configuration without its secrets; the time zone is the one that was in force.
    pub settings: Settings,
    pub workdir: PathBuf,
    /// Where copies of overwritten files went.
    pub saved: PathBuf,
    /// The user's folder as the gate knew it; [`super::Recorder::start`] fills it in.
    pub home: PathBuf,
    /// What the gate kept every tool from; filled in likewise.
    #[serde(default)]
    pub own: OwnFiles,
    /// What the tool servers offered when the agent started; filled in likewise.
    #[serde(default)]
    pub tool_lists: Vec<ToolList>,
    /// What the tools that a person brought said of themselves; filled in likewise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub brought: Vec<ToolSpec>,
    /// How many regions' states the file begins with; filled in likewise.
    pub regions: usize,
}

impl Header {
    /// `saved` is where copies of overwritten files go.
    pub fn new(agent: AgentId, seed: u64, boot: u64, settings: &Settings, workdir: &Path, saved: &Path) -> Self {
        let mut settings = settings.clone();
        if let Some(zone) = settings.agent.zone().iana_name() {
            settings.agent.timezone = zone.into();
        }
        Self {
            format: FORMAT,
            build: build(),
            agent,
            seed,
            boot,
            settings,
            workdir: workdir.to_owned(),
            saved: saved.to_owned(),
            home: PathBuf::new(),
            own: OwnFiles::default(),
            tool_lists: Vec::new(),
            brought: Vec::new(),
            regions: 0,
        }
    }
}

/// This program. `MAXIM_BUILD`, e.g. the output of `git describe`, is taken in when it is compiled.
pub fn build() -> String {
    match option_env!("MAXIM_BUILD") {
        Some(source) => format!("{} {source}", env!("CARGO_PKG_VERSION")),
        None => env!("CARGO_PKG_VERSION").into(),
    }
}

/// An input of a region and what came of it. Its region is the topic's, and the message's log time is when it was taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Input {
    /// None for a tick.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
    pub lsn: Lsn,
    pub epoch: Epoch,
    #[serde(with = "hex")]
    pub state_hash: u64,
    #[serde(with = "hex")]
    pub decision_hash: u64,
}

impl From<&InputRecord> for Input {
    fn from(input: &InputRecord) -> Self {
        Self {
            message: input.message.as_ref().map(|envelope| envelope.meta.id),
            lsn: input.lsn,
            epoch: input.epoch,
            state_hash: input.state_hash,
            decision_hash: input.decision_hash,
        }
    }
}

/// An input as it was read, with what stands beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct InputLine {
    pub region: String,
    /// None for a tick.
    pub message: Option<MessageId>,
    pub signal: Option<String>,
    pub taken_at: Timestamp,
    pub lsn: Lsn,
    pub epoch: Epoch,
    pub state_hash: u64,
    pub decision_hash: u64,
}

/// A region's state when the file begins; its records stand before it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RegionStart {
    pub region: String,
    /// Inputs up to here are in the state.
    pub lsn: Lsn,
    #[serde(with = "hex")]
    pub state_hash: u64,
    /// A snapshot and the events after it, each a JSON document of its own.
    pub root: Option<String>,
    pub events: Vec<String>,
    pub records: u64,
    /// Why this file can't replay the region; none when it can.
    pub missing: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gap {
    /// Inputs and signals that were not written.
    pub lost: u64,
}

/// A signal as it is written: `{"lsn":1,"meta":{…},"body":{…}}`, with the very bytes of its encoding. Nothing is added when
/// that is cut off.
pub fn signal_line(line: &mut Vec<u8>, lsn: Lsn, envelope: &Envelope) {
    let encoded = envelope.encoded();
    let length = encoded.first_chunk::<4>().map_or(0, |length| u32::from_le_bytes(*length) as usize);
    let Some((meta, body)) = encoded.get(4..).and_then(|rest| rest.split_at_checked(length)) else { return };
    let number = lsn.0.to_string();
    for part in [b"{\"lsn\":", number.as_bytes(), b",\"meta\":", meta, b",\"body\":", body, b"}"] {
        line.extend_from_slice(part);
    }
}

/// The id and the encoding of a signal's line.
pub fn signal_of(line: &[u8]) -> Result<(MessageId, Vec<u8>), serde_json::Error> {
    #[derive(Deserialize)]
    struct Line<'a> {
        #[serde(borrow)]
        meta: &'a RawValue,
        #[serde(borrow)]
        body: &'a RawValue,
    }
    let line: Line = serde_json::from_slice(line)?;
    let meta: Meta = serde_json::from_str(line.meta.get())?;
    let (head, body) = (line.meta.get().as_bytes(), line.body.get().as_bytes());
    let mut encoded = Vec::with_capacity(4 + head.len() + body.len());
    encoded.extend_from_slice(&u32::try_from(head.len()).unwrap_or(u32::MAX).to_le_bytes());
    encoded.extend_from_slice(head);
    encoded.extend_from_slice(body);
    Ok((meta.id, encoded))
}

pub type Record = (Vec<u8>, Vec<u8>);

/// Keys and values one after the other, each after its length (u32, little endian).
pub fn pack(records: &[Record]) -> Vec<u8> {
    let mut packed = Vec::new();
    for part in records.iter().flat_map(|(key, value)| [key, value]) {
        packed.extend_from_slice(&u32::try_from(part.len()).unwrap_or(u32::MAX).to_le_bytes());
        packed.extend_from_slice(part);
    }
    packed
}

/// None when it is cut off.
pub fn unpack(mut packed: &[u8]) -> Option<Vec<Record>> {
    let mut part = || {
        let (length, rest) = packed.split_first_chunk::<4>()?;
        let (part, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        packed = rest;
        Some((part.to_vec(), rest.is_empty()))
    };
    let mut records = Vec::new();
    loop {
        let (key, _) = part()?;
        let (value, last) = part()?;
        records.push((key, value));
        if last {
            return Some(records);
        }
    }
}

/// 64 bits as text: viewers read JSON's numbers as floats, which have 53.
mod hex {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{number:016x}"))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let text = String::deserialize(deserializer)?;
        u64::from_str_radix(&text, 16).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_of_format_2_is_read_as_one_of_today() {
        let id = "01a2098d-e066-7cd7-8eda-2762b857f5ea";
        let older = format!(
            r#"{{"region":"goals","message":"{id}","signal":"Percept","taken_at":"2026-11-23T17:57:02.694834Z","lsn":300,"epoch":1000001,"state_hash":"9700e04a5419f558","decision_hash":"cbf29ce484222325"}}"#
        );
        let read: Input = serde_json::from_str(&older).expect("it is read");
        let written = serde_json::to_string(&read).expect("written");
        let rest = r#""lsn":300,"epoch":1000001,"state_hash":"9700e04a5419f558","decision_hash":"cbf29ce484222325"}"#;
        assert_eq!(written, format!(r#"{{"message":"{id}",{rest}"#));
        assert_eq!(serde_json::from_str::<Input>(&written).expect("read"), read);
    }

    #[test]
    fn packed_records_come_back_and_a_cut_is_seen() {
        let records = vec![(b"a".to_vec(), vec![]), (b"key".to_vec(), vec![0, 1, 2])];
        let packed = pack(&records);
        assert_eq!(unpack(&packed), Some(records));
        for cut in 0..packed.len() {
            let found = unpack(&packed[..cut]);
            assert!(found.is_none_or(|found| found.len() == 1), "cut at {cut}");
        }
    }
}

//! The content of a recording. Signals, and the description of the file, are JSON for viewers. Inputs and records,
//! which only a replay reads, are bytes.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use maxim_actors::action::tools::contained::Barriers;
use maxim_actors::action::tools::{OwnFiles, ToolSpec};
use maxim_actors::effectors::tool_servers::ToolList;
use maxim_actors::region::InputRecord;
use maxim_bus::ids::put_time_quoted;
use maxim_bus::{AgentId, Envelope, Epoch, Lsn, MessageId, Meta, Trust};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::config::Settings;

/// Version of the format. A file of another version is not replayed.
pub const FORMAT: u32 = 5;

pub const HEADER: &str = "/recorder/header";
pub const GAPS: &str = "/recorder/gaps";
pub const STARTS: &str = "/recorder/regions";
pub const RECORDS: &str = "/records/";
pub const SIGNALS: &str = "/signals/";
pub const INPUTS: &str = "/inputs";

/// The agent, and all that a replay needs besides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    pub format: u32,
    /// The program that recorded: its version, and its source if the build knew it.
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
    /// The user's folder, as the gate knew it; [`super::Recorder::start`] fills it in.
    pub home: PathBuf,
    /// The files that the gate kept from every tool; filled in likewise.
    pub own: OwnFiles,
    /// The walls of the sandbox that the gate knew; filled in likewise.
    #[serde(default)]
    pub barriers: Barriers,
    /// What the tool servers offered when the agent started; filled in likewise.
    pub tool_lists: Vec<ToolList>,
    /// The specifications of the tools that a person added; filled in likewise.
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
            barriers: Barriers::default(),
            tool_lists: Vec::new(),
            brought: Vec::new(),
            regions: 0,
        }
    }
}

/// This program. `MAXIM_BUILD`, e.g. the output of `git describe`, is read at compile time.
pub fn build() -> String {
    match option_env!("MAXIM_BUILD") {
        Some(source) => format!("{} {source}", env!("CARGO_PKG_VERSION")),
        None => env!("CARGO_PKG_VERSION").into(),
    }
}

/// An input of a region and its result, in the order of these fields as postcard. A message holds several, in the order
/// in which they were accepted: a message for each would double the cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Input<'a> {
    pub region: &'a str,
    #[serde(with = "jiff::fmt::serde::timestamp::nanosecond::required")]
    pub taken_at: Timestamp,
    /// `None` for a tick.
    pub message: Option<MessageId>,
    pub lsn: Lsn,
    pub epoch: Epoch,
    pub state_hash: u64,
    pub decision_hash: u64,
    pub incarnation: u32,
}

impl<'a> Input<'a> {
    /// The inputs of a message.
    pub fn read_all(mut written: &'a [u8]) -> postcard::Result<Vec<Self>> {
        let mut inputs = Vec::new();
        while !written.is_empty() {
            let (input, rest) = postcard::take_from_bytes(written)?;
            inputs.push(input);
            written = rest;
        }
        Ok(inputs)
    }
}

impl From<&InputRecord> for Input<'_> {
    fn from(input: &InputRecord) -> Self {
        Self {
            region: input.region,
            taken_at: input.taken_at,
            message: input.message.as_ref().map(|envelope| envelope.meta.id),
            lsn: input.lsn,
            epoch: input.epoch,
            state_hash: input.state_hash,
            decision_hash: input.decision_hash,
            incarnation: input.incarnation,
        }
    }
}

/// An input as it was read, and the data beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct InputLine {
    pub region: String,
    /// `None` for a tick.
    pub message: Option<MessageId>,
    pub signal: Option<String>,
    pub taken_at: Timestamp,
    pub lsn: Lsn,
    pub epoch: Epoch,
    /// 0 if the file doesn't say.
    pub incarnation: u32,
    pub state_hash: u64,
    pub decision_hash: u64,
}

/// A region's state at the beginning of the file. Its records stand before it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RegionStart {
    pub region: String,
    /// Inputs up to here are part of the state.
    pub lsn: Lsn,
    #[serde(with = "hex")]
    pub state_hash: u64,
    /// A snapshot and the events after it, each a separate JSON document.
    pub root: Option<String>,
    pub events: Vec<String>,
    pub records: u64,
    /// Why this file can't replay the region; `None` if it can.
    pub missing: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gap {
    /// Inputs and signals that were not written.
    pub lost: u64,
}

/// The metadata in a signal's line. Its name is the topic's, its agent the file's.
#[derive(Deserialize)]
struct Told<'a> {
    id: MessageId,
    cause: Option<MessageId>,
    correlation: MessageId,
    at: Timestamp,
    #[serde(borrow)]
    sender: Cow<'a, str>,
    trust: Trust,
    #[serde(borrow, default)]
    to: Option<Cow<'a, str>>,
}

/// A signal as it is written: `{"lsn":1,"meta":{…},"body":{…}}`, with its body byte for byte.
pub fn signal_line(line: &mut Vec<u8>, lsn: Lsn, envelope: &Envelope) -> serde_json::Result<()> {
    let Meta { id, agent: _, name: _, cause, correlation, at, sender, trust, to } = &envelope.meta;
    line.extend_from_slice(b"{\"lsn\":");
    serde_json::to_writer(&mut *line, &lsn)?;
    line.extend_from_slice(b",\"meta\":{\"id\":");
    id.put_quoted(line);
    if let Some(cause) = cause {
        line.extend_from_slice(b",\"cause\":");
        cause.put_quoted(line);
    }
    line.extend_from_slice(b",\"correlation\":");
    correlation.put_quoted(line);
    line.extend_from_slice(b",\"at\":");
    put_time_quoted(*at, line);
    line.extend_from_slice(b",\"sender\":");
    serde_json::to_writer(&mut *line, &**sender)?;
    line.extend_from_slice(b",\"trust\":");
    serde_json::to_writer(&mut *line, trust)?;
    if let Some(to) = to {
        line.extend_from_slice(b",\"to\":");
        serde_json::to_writer(&mut *line, &**to)?;
    }
    line.extend_from_slice(b"},\"body\":");
    line.extend_from_slice(Envelope::body_of(&envelope.encoded()));
    line.push(b'}');
    Ok(())
}

/// The id and the encoding of a signal, from its line.
pub fn signal_of(line: &[u8], name: &str, agent: &AgentId) -> serde_json::Result<(MessageId, Vec<u8>)> {
    #[derive(Deserialize)]
    struct Line<'a> {
        #[serde(borrow)]
        meta: Told<'a>,
        #[serde(borrow)]
        body: &'a RawValue,
    }
    let Line { meta: told, body } = serde_json::from_slice(line)?;
    let Told { id, cause, correlation, at, sender, trust, to } = told;
    let owned = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
    let (name, sender, to) = (Cow::Owned(name.to_owned()), owned(sender), to.map(owned));
    let meta = Meta { id, agent: agent.clone(), name, cause, correlation, at, sender, trust, to };
    let mut encoded = Vec::new();
    Envelope::join(&meta, |bytes| bytes.extend_from_slice(body.get().as_bytes()), &mut encoded);
    Ok((id, encoded))
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

/// `None` if the data is cut off.
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

/// 64 bits as text: viewers read JSON numbers as floats, which have 53 bits.
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
    use std::sync::Arc;

    use maxim_bus::signals::sleep::SessionStarted;

    use super::*;

    #[test]
    fn the_inputs_of_a_message_come_back_and_a_cut_is_seen() {
        let input = |region, lsn| Input {
            region,
            taken_at: Timestamp::from_nanosecond(1_700_000_000_123_456_789).expect("in range"),
            message: None,
            lsn: Lsn(lsn),
            epoch: Epoch(3),
            state_hash: u64::MAX,
            decision_hash: 1,
            incarnation: 300,
        };
        let inputs = [input("habit", 7), input("hippocampus", 8)];
        let written: Vec<Vec<u8>> = inputs.iter().map(|input| postcard::to_allocvec(input).expect("written")).collect();
        let first = written[0].len();
        let written = written.concat();
        assert_eq!(Input::read_all(&written), Ok(inputs.to_vec()));
        assert_eq!(Input::read_all(&[]), Ok(Vec::new()));
        for cut in (1..written.len()).filter(|cut| *cut != first) {
            assert!(Input::read_all(&written[..cut]).is_err(), "cut at {cut}");
        }
    }

    #[test]
    fn a_signals_line_is_json_and_holds_the_envelope() {
        let id = |number| MessageId::from_parts(1_700_000_000_000, number);
        let meta = Meta {
            id: id(1),
            agent: AgentId::new("one").expect("a name"),
            name: "SessionStarted".into(),
            cause: Some(id(2)),
            correlation: id(3),
            at: Timestamp::from_nanosecond(1_700_000_000_123_456_789).expect("in range"),
            sender: "a \"room\"\n".into(),
            trust: Trust::Owner,
            to: Some("another".into()),
        };
        for meta in [meta.clone(), Meta { cause: None, to: None, ..meta }] {
            let envelope = Envelope::new(meta, Arc::new(SessionStarted { session: id(1), at: Timestamp::UNIX_EPOCH }));
            let mut line = Vec::new();
            signal_line(&mut line, Lsn(7), &envelope).expect("plain data");
            let told: serde_json::Value = serde_json::from_slice(&line).expect("JSON");
            assert_eq!(told["lsn"], 7);
            let expected = serde_json::to_value(&envelope.meta).expect("JSON");
            for field in ["id", "cause", "correlation", "at", "sender", "trust", "to"] {
                assert_eq!(told["meta"][field], expected[field], "{field}");
            }
            let (id, encoded) = signal_of(&line, &envelope.meta.name, &envelope.meta.agent).expect("readable");
            assert_eq!((id, &*encoded), (envelope.meta.id, &*envelope.encoded()));
        }
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

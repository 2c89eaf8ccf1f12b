//! One MCAP file while it is written.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use maxim_actors::region::{InputRecord, key_hash};
use maxim_bus::{Envelope, Lsn};
use mcap::records::{MessageHeader, Metadata};
use mcap::write::NoSeek;
use mcap::{Compression, McapResult, WriteOptions, Writer};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use super::format::{GAPS, Gap, HEADER, Header, INPUTS, Input, RECORDS, Record, SIGNALS, STARTS, pack, signal_line};
use super::start::Portrait;
use super::{RecorderError, folder};

/// A chunk is ended after this many bytes of messages. A crash costs at most this and the flush interval.
const CHUNK: u64 = 256 << 10;
/// Bytes of inputs in one message, some sixty of them.
const INPUTS_PART: usize = 4 << 10;
/// Bytes of records in one message.
const RECORDS_PART: usize = 256 << 10;

pub struct RecordingFile {
    path: PathBuf,
    file: File,
    writer: Writer<NoSeek<BufWriter<File>>>,
    schema: u16,
    channels: FxHashMap<String, u16>,
    /// The same by type, because most messages go to these.
    signals: FxHashMap<String, u16>,
    /// Tells the files of one recorder apart: a signal notes the file that holds it, and each file carries the signals
    /// that its inputs need.
    number: u64,
    regions: FxHashMap<String, Told>,
    /// The buffer for the next line, so that it needs no fresh memory.
    line: Vec<u8>,
    /// Inputs that go into one message, and when the first one was taken.
    inputs: Vec<u8>,
    first_input: Timestamp,
    sequence: u32,
    /// Bytes since the last flush.
    waiting: u64,
    /// Bytes with which the file began.
    start_bytes: u64,
}

/// What a replay knows of a region at this place in the file.
struct Told {
    /// Inputs up to here are part of the state at the beginning of the file.
    contained: Lsn,
    /// Hashes of the keys of its records that were given, or that its own inputs wrote.
    known: FxHashSet<u64>,
}

impl RecordingFile {
    pub fn begin<'a>(
        (path, file): (PathBuf, File),
        number: u64,
        header: &Header,
        portraits: impl Iterator<Item = Portrait<'a>>,
        at: Timestamp,
    ) -> Result<Self, RecorderError> {
        let begun = Self::open(path.clone(), file, number).and_then(|mut begun| {
            begun.introduce(header, portraits, at)?;
            Ok(begun)
        });
        begun.map_err(|error| folder::told(&path, "written", &error))
    }

    fn open(path: PathBuf, file: File, number: u64) -> McapResult<Self> {
        let options = WriteOptions::new()
            .compression(Some(Compression::Lz4))
            .chunk_size(Some(CHUNK))
            // The writer asks for its position for each topic of a chunk, and a buffered file answers by writing out
            // its buffer. So a chunk is put together in memory, and written as a whole.
            .disable_seeking(true)
            .profile("maxim")
            .library(format!("maxim {}", env!("CARGO_PKG_VERSION")));
        let buffered = BufWriter::with_capacity(CHUNK as usize, file.try_clone()?);
        let mut writer = Writer::with_options(NoSeek::new(buffered), options)?;
        let schema = writer.add_schema("object", "jsonschema", br#"{"type":"object"}"#)?;
        Ok(Self {
            path,
            file,
            writer,
            schema,
            channels: FxHashMap::default(),
            signals: FxHashMap::default(),
            number,
            line: Vec::new(),
            inputs: Vec::new(),
            first_input: Timestamp::UNIX_EPOCH,
            regions: FxHashMap::default(),
            sequence: 0,
            waiting: 0,
            start_bytes: 0,
        })
    }

    fn introduce<'a>(
        &mut self,
        header: &Header,
        portraits: impl Iterator<Item = Portrait<'a>>,
        at: Timestamp,
    ) -> McapResult<()> {
        // For viewers. A replay reads the message, which needs no index.
        let facts = [
            ("build", header.build.clone()),
            ("agent", header.agent.to_string()),
            ("seed", format!("{:016x}", header.seed)),
            ("boot", header.boot.to_string()),
        ];
        let metadata = facts.into_iter().map(|(name, fact)| (name.to_owned(), fact)).collect::<BTreeMap<_, _>>();
        self.writer.write_metadata(&Metadata { name: "maxim".into(), metadata })?;
        self.json(HEADER, at, at, header)?;
        for mut portrait in portraits {
            let name = portrait.start.region.clone();
            self.records(&name, portrait.records(), at)?;
            self.json(STARTS, at, at, &portrait.start)?;
            let known = portrait.keys.iter().map(|key| key_hash(key)).collect();
            self.regions.insert(name, Told { contained: portrait.start.lsn, known });
        }
        self.flush()?;
        self.start_bytes = self.bytes();
        Ok(())
    }

    /// Written in parts, so that never many are in memory at once.
    fn records(&mut self, region: &str, records: impl Iterator<Item = Record>, at: Timestamp) -> McapResult<()> {
        let topic = format!("{RECORDS}{region}");
        let (mut part, mut bytes) = (Vec::new(), 0);
        for (key, value) in records {
            bytes += key.len() + value.len();
            part.push((key, value));
            if bytes >= RECORDS_PART {
                self.message(&topic, at, at, &pack(&part))?;
                part.clear();
                bytes = 0;
            }
        }
        if part.is_empty() { Ok(()) } else { self.message(&topic, at, at, &pack(&part)) }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes on disk, without those that wait to be flushed.
    pub fn bytes(&self) -> u64 {
        self.file.metadata().map_or(0, |metadata| metadata.len())
    }

    /// Bytes beyond those with which the file began.
    pub fn grown(&self) -> u64 {
        self.bytes().saturating_sub(self.start_bytes)
    }

    pub fn signal(&mut self, lsn: Lsn, envelope: &Arc<Envelope>) -> McapResult<()> {
        let meta = &envelope.meta;
        if !envelope.record_in(self.number) {
            return Ok(());
        }
        let mut line = std::mem::take(&mut self.line);
        line.clear();
        signal_line(&mut line, lsn, envelope).map_err(std::io::Error::other)?;
        let channel = match self.signals.get(&*meta.name) {
            Some(channel) => *channel,
            None => {
                let channel = self.channel(&format!("{SIGNALS}{}", meta.name))?;
                *self.signals.entry(meta.name.clone().into_owned()).or_insert(channel)
            }
        };
        let written = self.write(channel, meta.at, meta.at, &line);
        self.line = line;
        written
    }

    pub fn input(&mut self, input: &InputRecord) -> McapResult<()> {
        if let Some(envelope) = &input.message {
            // Messages that were on their way when the file began were emitted before it.
            self.signal(Lsn(0), envelope)?;
        }
        self.rested_on(input)?;
        if self.inputs.is_empty() {
            self.first_input = input.taken_at;
        }
        let before = self.inputs.len();
        postcard::to_io(&Input::from(input), &mut self.inputs).map_err(std::io::Error::other)?;
        self.waiting += (self.inputs.len() - before) as u64;
        if self.inputs.len() >= INPUTS_PART { self.put_inputs() } else { Ok(()) }
    }

    /// Writes the waiting inputs.
    fn put_inputs(&mut self) -> McapResult<()> {
        if self.inputs.is_empty() {
            return Ok(());
        }
        let inputs = std::mem::take(&mut self.inputs);
        let written = self.message(INPUTS, self.first_input, self.first_input, &inputs);
        // They were counted on arrival.
        self.waiting -= inputs.len() as u64;
        self.inputs = inputs;
        self.inputs.clear();
        written
    }

    /// Before an input, writes those records of the region that a replay can't have yet: the records that the input
    /// used, unless the file gave them already or the region wrote them in this file.
    fn rested_on(&mut self, input: &InputRecord) -> McapResult<()> {
        let Some(told) = self.regions.get_mut(input.region).filter(|told| input.lsn > told.contained) else {
            return Ok(());
        };
        let news = input.found.iter().filter(|(key, _)| told.known.insert(key_hash(key)));
        let news: Vec<Record> = news.cloned().collect();
        told.known.extend(&input.wrote);
        if news.is_empty() {
            return Ok(());
        }
        // The records belong to the region's next input in the file.
        self.put_inputs()?;
        self.records(input.region, news.into_iter(), input.taken_at)
    }

    pub fn gap(&mut self, lost: u64, at: Timestamp) -> McapResult<()> {
        self.put_inputs()?;
        self.json(GAPS, at, at, &Gap { lost })
    }

    fn json(&mut self, topic: &str, log: Timestamp, made: Timestamp, content: &impl Serialize) -> McapResult<()> {
        let bytes = serde_json::to_vec(content).map_err(std::io::Error::other)?;
        self.message(topic, log, made, &bytes)
    }

    fn message(&mut self, topic: &str, log: Timestamp, made: Timestamp, data: &[u8]) -> McapResult<()> {
        let channel = match self.channels.get(topic) {
            Some(channel) => *channel,
            None => self.channel(topic)?,
        };
        self.write(channel, log, made, data)
    }

    fn channel(&mut self, topic: &str) -> McapResult<u16> {
        let (schema, encoding) = match topic {
            _ if topic.starts_with(RECORDS) => (0, "octets"),
            INPUTS => (0, "postcard"),
            _ => (self.schema, "json"),
        };
        let channel = self.writer.add_channel(schema, topic, encoding, &BTreeMap::new())?;
        self.channels.insert(topic.to_owned(), channel);
        Ok(channel)
    }

    fn write(&mut self, channel_id: u16, log: Timestamp, made: Timestamp, data: &[u8]) -> McapResult<()> {
        self.sequence = self.sequence.wrapping_add(1);
        let (log_time, publish_time) = (nanoseconds(log), nanoseconds(made));
        let header = MessageHeader { channel_id, sequence: self.sequence, log_time, publish_time };
        self.writer.write_to_known_channel(&header, data)?;
        self.waiting += data.len() as u64;
        Ok(())
    }

    /// Ends the chunk, so that everything so far is readable whatever happens.
    pub fn flush(&mut self) -> McapResult<()> {
        if self.waiting > 0 {
            self.put_inputs()?;
            self.writer.flush()?;
            self.waiting = 0;
        }
        Ok(())
    }

    pub fn waiting(&self) -> u64 {
        self.waiting
    }

    /// Writes the index and the footer.
    pub fn finish(mut self) -> McapResult<()> {
        self.put_inputs()?;
        self.writer.finish()?;
        self.file.sync_data()?;
        Ok(())
    }
}

fn nanoseconds(time: Timestamp) -> u64 {
    u64::try_from(time.as_nanosecond()).unwrap_or(0)
}

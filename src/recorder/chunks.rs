//! Reads a file chunk by chunk. A chunk is only used when all of it is as written: its length, its kind, its checksum.

use std::collections::HashMap;
use std::fmt;
use std::io::Read;
use std::rc::Rc;

use mcap::MAGIC;
use mcap::read::parse_record;
use mcap::records::{Record, op};
use serde::Serialize;

/// Kind and length, before each record.
const FRAME: usize = 9;
/// The footer: where the summary begins, where its offsets begin, its checksum.
const FOOTER: usize = 8 + 8 + 4;

/// A place in a file that isn't as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Damage {
    /// The first damaged byte.
    pub byte: u64,
    pub why: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "from byte {} on: {}", self.byte, self.why)
    }
}

/// How the reading of a file ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Ending {
    Whole,
    /// The file is still being written, or was cut off.
    Early(String),
    /// What follows this place is not read.
    Damaged(Damage),
    /// All chunks are whole and were read. What surrounds them, which only viewers read, is damaged.
    Around(Damage),
    /// The file is as written, but this program can't read it further.
    Unread(String),
}

/// Passes on each message of the whole chunks, with its topic and log time, as far as they go.
pub fn read(bytes: &[u8], take: impl FnMut(&str, &[u8]) -> Result<(), String>) -> Ending {
    let mut walk = Walk { bytes, at: 0, chunks: 0, topics: HashMap::new() };
    let has_end = bytes.ends_with(MAGIC) || walk.footer().is_some();
    match walk.data(take) {
        Ok(()) => walk.after_data(),
        Err(Stop::Unread(why)) => Ending::Unread(why),
        // Without its proper end it may be cut off there.
        Err(Stop::Short(_)) if !has_end => {
            Ending::Early("it has no footer: it is still written, or was cut off".into())
        }
        Err(Stop::Short(why) | Stop::Other(why)) => {
            let why = if walk.chunks > 0 { format!("{why}, after {} whole chunks", walk.chunks) } else { why };
            Ending::Damaged(Damage { byte: walk.at as u64, why })
        }
    }
}

/// Topic and content.
type Message = (Rc<str>, Vec<u8>);

/// Why the reading ends.
enum Stop {
    /// A record goes beyond the end.
    Short(String),
    Other(String),
    Unread(String),
}

impl From<String> for Stop {
    fn from(why: String) -> Self {
        Self::Other(why)
    }
}

struct Walk<'a> {
    bytes: &'a [u8],
    /// Where the present record begins.
    at: usize,
    /// Whole chunks so far.
    chunks: usize,
    topics: HashMap<u16, Rc<str>>,
}

impl<'a> Walk<'a> {
    /// Where the footer begins, if there is one.
    fn footer(&self) -> Option<usize> {
        let at = self.bytes.len().checked_sub(MAGIC.len() + FOOTER + FRAME)?;
        let (kind, length) = frame(self.bytes.get(at..)?)?;
        (kind == op::FOOTER && length == FOOTER as u64).then_some(at)
    }

    /// Reads to the end of the data.
    fn data(&mut self, mut take: impl FnMut(&str, &[u8]) -> Result<(), String>) -> Result<(), Stop> {
        if !self.bytes.starts_with(MAGIC) {
            let why = "it doesn't begin as a recording does".to_owned();
            return Err(if MAGIC.starts_with(self.bytes) { Stop::Short(why) } else { Stop::Other(why) });
        }
        self.at = MAGIC.len();
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let (kind, length) = frame(rest).ok_or_else(|| Stop::Short("it ends within a record".into()))?;
            let body = usize::try_from(length).ok().and_then(|length| rest.get(FRAME..)?.get(..length));
            let body = body.ok_or_else(|| Stop::Short(format!("a record of {length} bytes goes beyond its end")))?;
            match kind {
                op::CHUNK => {
                    let messages = self.chunk(body)?;
                    for (topic, data) in messages {
                        take(&topic, &data)
                            .map_err(|why| Stop::Unread(format!("a message on {topic} can't be read: {why}")))?;
                    }
                    self.chunks += 1;
                }
                op::HEADER | op::METADATA | op::MESSAGE_INDEX if is_filled(kind, body) => {}
                op::DATA_END if body.len() == 4 => {
                    return Ok(());
                }
                _ => {
                    return Err(Stop::Other(format!(
                        "the recorder writes no record of kind {kind} and {length} bytes"
                    )));
                }
            }
            self.at += FRAME + body.len();
        }
    }

    /// The messages of a chunk, if all of it is as written.
    fn chunk(&mut self, body: &[u8]) -> Result<Vec<Message>, String> {
        let parsed = parse_record(op::CHUNK, body).map_err(|error| error.to_string())?;
        let Record::Chunk { header, data } = parsed else { return Err("it is no chunk".into()) };
        // Two times, the size, the checksum, the compression after its length, and the length of what follows.
        let before = 8 + 8 + 8 + 4 + 4 + header.compression.len() + 8;
        if before + data.len() != body.len() {
            return Err("its chunk is longer than what is in it".into());
        }
        let mut whole = Vec::new();
        let unpacked = match header.compression.as_str() {
            "" => data.as_ref().take(header.uncompressed_size).read_to_end(&mut whole),
            // No more than the stated size, whatever it unpacks to.
            "lz4" => lz4::Decoder::new(data.as_ref())
                .and_then(|decoder| decoder.take(header.uncompressed_size).read_to_end(&mut whole)),
            other => return Err(format!("its chunk is compressed by {other:?}, which the recorder doesn't do")),
        };
        unpacked.map_err(|error| format!("its chunk can't be unpacked: {error}"))?;
        let found = crc32fast::hash(&whole);
        if whole.len() as u64 != header.uncompressed_size || found != header.uncompressed_crc {
            let written = header.uncompressed_crc;
            return Err(format!("its chunk has the checksum {found:08x}, and was written with {written:08x}"));
        }
        self.messages(&whole)
    }

    fn messages(&mut self, mut whole: &[u8]) -> Result<Vec<Message>, String> {
        let mut messages = Vec::new();
        while !whole.is_empty() {
            let (kind, length) = frame(whole).ok_or("its chunk ends within a record")?;
            let end = usize::try_from(length).ok().and_then(|length| FRAME.checked_add(length));
            let parts = end.and_then(|end| whole.split_at_checked(end));
            let (record, rest) = parts.ok_or("a record goes beyond the end of its chunk")?;
            match parse_record(kind, &record[FRAME..]).map_err(|error| error.to_string())? {
                Record::Channel(channel) => drop(self.topics.insert(channel.id, channel.topic.into())),
                Record::Message { header, data } => {
                    let topic = self.topics.get(&header.channel_id).ok_or("a message has no channel")?;
                    messages.push((Rc::clone(topic), data.into_owned()));
                }
                _ => {}
            }
            whole = rest;
        }
        Ok(messages)
    }

    /// Reads what follows the data, and checks whether what lies between its chunks is as written.
    fn after_data(&self) -> Ending {
        let around = |byte: usize, why: &str| Ending::Around(Damage { byte: byte as u64, why: why.into() });
        let (data, rest) = self.bytes.split_at(self.at);
        let Some((end, summary)) = rest.split_at_checked(FRAME + 4) else {
            return Ending::Early("it has no footer: it was cut off".into());
        };
        let written = |four: &[u8]| four.first_chunk().map(|four| u32::from_le_bytes(*four));
        let is_cut = !self.bytes.ends_with(MAGIC);
        match self.footer() {
            None if is_cut => return Ending::Early("it has no footer: it was cut off".into()),
            None => return around(self.at, "its footer isn't what was written"),
            Some(at) if is_cut => return around(at, "its last bytes aren't what was written"),
            Some(_) => {}
        }
        if written(&end[FRAME..]) != Some(crc32fast::hash(data)) {
            return around(0, "the checksum over all chunks and what lies between them is another");
        }
        let (covered, last) = summary.split_at(summary.len().saturating_sub(4 + MAGIC.len()));
        if written(last) != Some(crc32fast::hash(covered)) {
            return around(self.at + end.len(), "the checksum of its index is another");
        }
        Ending::Whole
    }
}

/// The kind and the length of the record at the beginning.
fn frame(bytes: &[u8]) -> Option<(u8, u64)> {
    let (kind, rest) = bytes.split_first()?;
    Some((*kind, u64::from_le_bytes(*rest.first_chunk()?)))
}

/// Whether the record's parts fill all of it. A chunk with a wrong kind would otherwise be skipped.
fn is_filled(kind: u8, body: &[u8]) -> bool {
    let part = |bytes: &'_ [u8]| -> Option<usize> {
        let length = u32::from_le_bytes(*bytes.first_chunk()?);
        4usize.checked_add(length as usize).filter(|end| *end <= bytes.len())
    };
    // Two texts; or two bytes or a text, and then a list. Each has its length before it.
    let first = if kind == op::MESSAGE_INDEX { Some(2).filter(|two| *two <= body.len()) } else { part(body) };
    let second = first.and_then(|first| Some(first + part(&body[first..])?));
    second == Some(body.len())
}

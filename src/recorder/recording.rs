//! Reads a recording, as far as possible.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;
use std::rc::Rc;

use maxim_bus::MessageId;
use serde::de::DeserializeOwned;

use super::chunks::{self, Damage, Ending};
use super::format::{
    FORMAT, GAPS, Gap, HEADER, Header, INPUTS, Input, InputLine, RECORDS, Record, RegionStart, SIGNALS, STARTS,
    signal_of, unpack,
};
use super::{RecorderError, folder};

/// The content of a file, up to its end or to where it is damaged.
#[derive(Clone, Debug)]
pub struct Recording {
    pub header: Header,
    pub starts: Vec<RegionStart>,
    pub records: BTreeMap<String, Vec<Record>>,
    /// Encoded envelopes.
    pub signals: HashMap<MessageId, Vec<u8>>,
    /// In the order in which they were accepted.
    pub inputs: Vec<InputLine>,
    /// Records of a region that an input used and that the file didn't hold before, by the input's place in `inputs`.
    pub rested_on: HashMap<usize, Vec<Record>>,
    /// Inputs and signals that the recorder lost; the file ends with the gap.
    pub lost: u64,
    /// Why the file ends where it ends, if that isn't its proper end.
    pub cut: Option<String>,
    /// Data that isn't as it was written. Without a cut, the damage surrounds the file's content, and all content was
    /// read.
    pub damage: Option<Damage>,
    pub bytes: u64,
}

#[derive(Default)]
struct Reading {
    header: Option<Header>,
    starts: Vec<RegionStart>,
    records: BTreeMap<String, Vec<Record>>,
    signals: HashMap<MessageId, Vec<u8>>,
    inputs: Vec<InputLine>,
    rested_on: HashMap<usize, Vec<Record>>,
    /// Records that come before a region's next input.
    laid_out: HashMap<String, Vec<Record>>,
    lost: u64,
    /// The name of each signal.
    named: HashMap<MessageId, Rc<str>>,
    names: HashMap<String, Rc<str>>,
}

impl Recording {
    /// Reads a whole file, or up to where it is cut off or damaged.
    ///
    /// # Errors
    /// The file can't be read, is not such a recording, or ends before all regions' states.
    pub fn read(path: &Path) -> Result<Self, RecorderError> {
        let bytes = fs::read(path).map_err(|error| folder::told(path, "read", &error))?;
        let mut reading = Reading::default();
        let (cut, damage) = match chunks::read(&bytes, |topic, data| reading.take(topic, data)) {
            Ending::Whole => (None, None),
            Ending::Early(why) | Ending::Unread(why) => (Some(why), None),
            Ending::Damaged(damage) => (Some(format!("it is damaged {damage}")), Some(damage)),
            Ending::Around(damage) => (None, Some(damage)),
        };
        let is_damaged = cut.is_some() && damage.is_some();
        let read = reading.end(cut, bytes.len() as u64).map_err(|(why, read)| {
            let path = path.to_owned();
            RecorderError::Unreadable { path, why, read, is_damaged }
        });
        read.map(|recording| Self { damage, ..recording })
    }

    /// From the first input to the last, in recorded time.
    pub fn span(&self) -> jiff::SignedDuration {
        let times = || self.inputs.iter().map(|input| input.taken_at);
        match (times().min(), times().max()) {
            (Some(first), Some(last)) => last.duration_since(first),
            _ => jiff::SignedDuration::ZERO,
        }
    }
}

impl Reading {
    fn take(&mut self, topic: &str, data: &[u8]) -> Result<(), String> {
        if let Some(region) = topic.strip_prefix(RECORDS) {
            let records = unpack(data).ok_or("it is cut off")?;
            let begun = self.starts.iter().any(|start| start.region == region);
            if begun {
                self.laid_out.entry(region.into()).or_default().extend(records);
            } else {
                self.records.entry(region.into()).or_default().extend(records);
            }
        } else if let Some(name) = topic.strip_prefix(SIGNALS) {
            // No file begins without a header. Without one, nothing of the file is used.
            let Some(header) = &self.header else { return Ok(()) };
            let (id, encoded) = signal_of(data, name, &header.agent).map_err(|error| error.to_string())?;
            self.signals.insert(id, encoded);
            let name = self.names.entry(name.into()).or_insert_with(|| name.into());
            self.named.insert(id, Rc::clone(name));
        } else if topic == INPUTS {
            for input in Input::read_all(data).map_err(|error| error.to_string())? {
                self.take_input(&input);
            }
        } else {
            match topic {
                HEADER => self.header = Some(json(data)?),
                STARTS => self.starts.push(json(data)?),
                GAPS => self.lost += json::<Gap>(data)?.lost,
                // Another program may have added its own data.
                _ => {}
            }
        }
        Ok(())
    }

    fn take_input(&mut self, input: &Input<'_>) {
        let Input { region, taken_at, message, lsn, epoch, state_hash, decision_hash, incarnation } = *input;
        if let Some(records) = self.laid_out.remove(region) {
            self.rested_on.insert(self.inputs.len(), records);
        }
        self.inputs.push(InputLine {
            region: region.into(),
            message,
            signal: message.and_then(|id| self.named.get(&id)).map(|name| name.to_string()),
            taken_at,
            lsn,
            epoch,
            incarnation,
            state_hash,
            decision_hash,
        });
    }

    /// The reason and what could be read, if it can't be replayed.
    fn end(self, cut: Option<String>, bytes: u64) -> Result<Recording, (String, String)> {
        let Self { header, starts, records, signals, inputs, rested_on, lost, .. } = self;
        let read = |states: usize, of: usize| {
            format!("read of its {bytes} bytes: {states} of {of} regions' states, {} inputs", inputs.len())
        };
        let why = |otherwise: &str| cut.clone().unwrap_or_else(|| otherwise.into());
        let Some(header) = header else {
            return Err((why("it has no header of the recorder"), read(starts.len(), 0)));
        };
        if header.format != FORMAT {
            let why = format!(
                "it has format {}, and this program replays format {FORMAT}: replay it with the program that recorded it, {}",
                header.format, header.build
            );
            return Err((why, read(starts.len(), header.regions)));
        }
        if starts.len() < header.regions {
            return Err((why("regions' states are missing"), read(starts.len(), header.regions)));
        }
        Ok(Recording { header, starts, records, signals, inputs, rested_on, lost, cut, damage: None, bytes })
    }
}

fn json<T: DeserializeOwned>(data: &[u8]) -> Result<T, String> {
    serde_json::from_slice(data).map_err(|error| error.to_string())
}

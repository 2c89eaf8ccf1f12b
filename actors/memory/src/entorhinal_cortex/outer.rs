//! The external encoder: which of its vectors are here, and what is asked of it.
//!
//! Its vectors are stored beside those of the embedded table, which are always complete. Answers only use them when
//! they are complete too, so a change or loss of the encoder costs no answer. Places are encoded in order, one block at
//! a time. A cursor says how far, and a set names the places behind it that have changed since.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use maxim_bus::MessageId;
use maxim_bus::clock::Reckoned;
use maxim_bus::signals::encoding::{FindMeant, TextVector, TextsEncoded};
use maxim_bus::signals::similarity::FindSimilar;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::sight::Sight;
use maxim_language::EncoderId;
use maxim_language::packed::PackedVector;
use maxim_region::{Questions, RecordView, Waiting};

/// Places whose vectors share one record and one request.
pub const BLOCK: u32 = 32;
/// Delay after a failure; it doubles with each further one.
const PAUSE: SignedDuration = SignedDuration::from_secs(1);
const LONGEST_PAUSE: SignedDuration = SignedDuration::from_secs(60);
/// Records that may wait for their vectors while the external vectors answer: a twentieth, and at least this many.
const FEW: usize = 64;
const SHARE: usize = 20;
/// Records of blocks that are read together on waking share this many digits of their number.
const PAGE_DIGITS: usize = 4;

/// A request in progress.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Out {
    pub call: MessageId,
    pub due: Timestamp,
    /// Places of one block whose texts were sent; none for a mere probe.
    pub places: Vec<u32>,
    /// Places of the block without words.
    pub blank: Vec<u32>,
    /// The cursor after them.
    pub upto: u32,
}

/// A question whose text is at the encoder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Asked {
    Similar(Box<FindSimilar>),
    Meant(FindMeant),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum OuterEvent {
    /// Another encoder, or none: no vector of it is here yet.
    Begun {
        name: Option<String>,
    },
    Sent(Out),
    /// Vectors that came back, or needn't be sent; `None` for places without a vector.
    Came {
        encoder: Option<EncoderId>,
        vectors: Vec<(u32, Option<PackedVector>)>,
        upto: u32,
    },
    Failed {
        problem: String,
        retry_at: Timestamp,
    },
    /// The scarcest energy, while it is too low to pay for vectors.
    Rests {
        scarcest: Option<String>,
    },
    /// The texts of these places have changed since they were encoded.
    Changed {
        places: Vec<u32>,
    },
    Wondered {
        call: MessageId,
        question: Box<Waiting<Asked>>,
    },
    Answered {
        call: MessageId,
    },
}

#[derive(Default, Serialize, Deserialize)]
pub struct Outer {
    /// Its name in the configuration.
    name: Option<String>,
    /// Known after its first answer.
    encoder: Option<EncoderId>,
    /// Places below this are encoded, except those of `again`.
    upto: u32,
    again: BTreeSet<u32>,
    /// True once all places have been encoded.
    is_whole: bool,
    out: Option<Out>,
    failures: u32,
    problem: Option<String>,
    retry_at: Option<Timestamp>,
    questions: Questions<Asked>,
    rests: Option<String>,
    #[serde(skip)]
    sight: Option<Sight>,
}

/// A block on disk: its encoder, and the vectors of its places.
#[derive(Default, Serialize, Deserialize)]
struct Block {
    encoder: String,
    vectors: BTreeMap<u32, PackedVector>,
}

const BLOCKS: &str = "outer/";

pub fn block_key(block: u32) -> Vec<u8> {
    format!("{BLOCKS}{block:06x}").into_bytes()
}

/// A block with some vectors set or removed. A block of another encoder is emptied first. `None` if no vector is left.
pub fn changed_block(
    before: Option<&[u8]>,
    encoder: &EncoderId,
    vectors: &[(u32, Option<PackedVector>)],
) -> Option<Vec<u8>> {
    let mut block = before.and_then(|bytes| postcard::from_bytes::<Block>(bytes).ok()).unwrap_or_default();
    if block.encoder != encoder.as_str() {
        block = Block { encoder: encoder.as_str().to_owned(), vectors: BTreeMap::new() };
    }
    for (place, vector) in vectors {
        match vector {
            Some(vector) => block.vectors.insert(*place, vector.clone()),
            None => block.vectors.remove(place),
        };
    }
    // Numbers and a text: serialising them can't fail.
    (!block.vectors.is_empty()).then(|| postcard::to_stdvec(&block).unwrap_or_default())
}

impl Outer {
    pub fn apply(&mut self, event: OuterEvent, places: u32) {
        match event {
            OuterEvent::Begun { name } => {
                let (questions, rests) = (std::mem::take(&mut self.questions), self.rests.take());
                *self = Self { name, questions, rests, ..Self::default() }
            }
            OuterEvent::Sent(out) => {
                out.places.iter().chain(&out.blank).for_each(|place| {
                    self.again.remove(place);
                });
                self.out = Some(out);
            }
            OuterEvent::Came { encoder, vectors, upto } => {
                self.out = None;
                (self.failures, self.problem, self.retry_at) = (0, None, None);
                self.encoder = encoder.or(self.encoder.take());
                self.see(&vectors);
                self.upto = self.upto.max(upto);
                self.is_whole |= self.upto >= places;
            }
            OuterEvent::Failed { problem, retry_at } => {
                let sent = self.out.take().into_iter().flat_map(|out| out.places.into_iter().chain(out.blank));
                self.again.extend(sent.filter(|place| *place < self.upto));
                self.failures += 1;
                (self.problem, self.retry_at) = (Some(problem), Some(retry_at));
            }
            OuterEvent::Rests { scarcest } => self.rests = scarcest,
            OuterEvent::Changed { places } => self.again.extend(places),
            OuterEvent::Wondered { call, question } => {
                self.questions.insert(call, question);
            }
            OuterEvent::Answered { call } => {
                self.questions.remove(call);
            }
        }
    }

    fn see(&mut self, vectors: &[(u32, Option<PackedVector>)]) {
        let Some(encoder) = &self.encoder else { return };
        for (place, vector) in vectors {
            match (vector, &mut self.sight) {
                (Some(vector), sight) => {
                    let new = || Sight::new(encoder.clone(), vector.steps.len());
                    sight.get_or_insert_with(new).set(*place, vector, None);
                }
                (None, Some(sight)) => sight.clear(*place),
                (None, None) => {}
            }
        }
    }

    /// Reads the vectors of the present encoder.
    pub fn wake(&mut self, records: &RecordView<'_>) {
        self.sight = None;
        let Some(encoder) = self.encoder.clone() else { return };
        let pages = self.upto.div_ceil(BLOCK).div_ceil(1 << (4 * (6 - PAGE_DIGITS)));
        for page in 0..pages {
            for (_, bytes) in records.prefixed(format!("{BLOCKS}{page:04x}").as_bytes(), usize::MAX) {
                match postcard::from_bytes::<Block>(&bytes) {
                    Ok(block) if block.encoder == encoder.as_str() => {
                        let vectors = block.vectors.into_iter().map(|(place, vector)| (place, Some(vector)));
                        self.see(&vectors.collect::<Vec<_>>());
                    }
                    Ok(_) => {}
                    Err(error) => tracing::error!(%error, "vectors of situations can't be read; they are left out"),
                }
            }
        }
    }

    pub fn forget(&mut self, place: u32) {
        self.again.remove(&place);
        if let Some(sight) = &mut self.sight {
            sight.clear(place);
        }
    }

    /// True when the configuration names another encoder than before.
    pub fn is_other(&self, name: Option<&str>) -> bool {
        self.name.as_deref() != name
    }

    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    pub fn encoder(&self) -> Option<&EncoderId> {
        self.encoder.as_ref()
    }

    /// Possible block numbers on disk.
    pub fn blocks(&self) -> std::ops::Range<u32> {
        0..self.upto.div_ceil(BLOCK)
    }

    /// True if a change of this place's text makes its vector wrong.
    pub fn covers(&self, place: u32) -> bool {
        self.name.is_some() && (place < self.upto || self.out.as_ref().is_some_and(|out| out.places.contains(&place)))
    }

    pub fn has_vector(&self, place: u32) -> bool {
        self.sight.as_ref().is_some_and(|sight| sight.has(place))
    }

    fn waiting(&self, places: u32) -> usize {
        let out = self.out.as_ref().map_or(0, |out| out.places.iter().filter(|place| **place < self.upto).count());
        places.saturating_sub(self.upto) as usize + self.again.len() + out
    }

    /// The vectors by which answers are given; `None` while they are not complete.
    pub fn whole(&self, places: u32) -> Option<&Sight> {
        let few = FEW.max(places as usize / SHARE);
        self.sight.as_ref().filter(|_| self.is_whole && self.waiting(places) <= few)
    }

    /// Whether a question's text is sent: not while the encoder fails, and not if too little energy is left.
    pub fn may_ask(&self, places: u32, now: Timestamp) -> bool {
        self.rests.is_none() && self.whole(places).is_some() && self.retry_at.is_none_or(|at| at <= now)
    }

    /// Places of the next block that lack a vector, and the cursor after them.
    pub fn next_batch(&self, places: u32) -> Option<(Vec<u32>, u32)> {
        if self.upto < places {
            let end = ((self.upto / BLOCK + 1) * BLOCK).min(places);
            return Some(((self.upto..end).collect(), end));
        }
        let first = *self.again.first()?;
        Some((self.again.range(first..(first / BLOCK + 1) * BLOCK).copied().collect(), self.upto))
    }

    /// When the next step is due.
    pub fn due(&self, places: u32) -> Option<Timestamp> {
        let questions = self.questions.due();
        let work = match &self.out {
            Some(out) => Some(out.due),
            None if self.name.is_none() || self.rests.is_some() => None,
            None if self.next_batch(places).is_some() || self.failures > 0 => {
                Some(self.retry_at.unwrap_or(Timestamp::UNIX_EPOCH))
            }
            None => None,
        };
        questions.into_iter().chain(work).min()
    }

    /// The scarcest energy, while the encoder isn't asked because of it.
    pub fn rests(&self) -> Option<&str> {
        self.rests.as_deref()
    }

    pub fn out(&self) -> Option<&Out> {
        self.out.as_ref()
    }

    pub fn question(&self, call: MessageId) -> Option<&Waiting<Asked>> {
        self.questions.get(call)
    }

    pub fn overdue(&self, now: Timestamp) -> Vec<(MessageId, Waiting<Asked>)> {
        let known = |call: MessageId| Some((call, self.questions.get(call)?.clone()));
        self.questions.overdue(now).into_iter().filter_map(known).collect()
    }

    pub fn failed(&self, problem: impl Into<String>, now: Timestamp) -> OuterEvent {
        let pause = PAUSE * 2i32.pow(self.failures.min(6));
        OuterEvent::Failed { problem: problem.into(), retry_at: now.later(pause.min(LONGEST_PAUSE)) }
    }

    /// For the status: null if none is configured.
    pub fn report(&self, places: u32, of: usize) -> Json {
        let Some(name) = &self.name else { return Json::Null };
        let waiting = self.waiting(places).min(of);
        let rests =
            self.rests.as_ref().map(|scarcest| format!("too little is left of the scarcest resource: {scarcest}"));
        let state = match (&self.problem, self.whole(places)) {
            _ if rests.is_some() => "resting",
            (Some(_), _) => "failing",
            (None, Some(_)) => "in use",
            (None, None) => "encoding",
        };
        json!({
            "name": name,
            "encoder": self.encoder,
            "state": state,
            "encoded": of - waiting,
            "of": of,
            "problem": rests.as_ref().or(self.problem.as_ref()),
        })
    }
}

/// The vectors of an answer, if their number is right and all have one length.
pub fn read(encoded: &TextsEncoded, asked: usize) -> Result<Vec<Option<PackedVector>>, String> {
    let mut dims = encoded.vectors.iter().flatten().map(|vector| vector.steps.len());
    let first = dims.next();
    if encoded.vectors.len() != asked || dims.any(|dims| Some(dims) != first) {
        return Err(format!("{} vectors of unequal length came for {asked} texts", encoded.vectors.len()));
    }
    let packed = |vector: &TextVector| PackedVector { scale: vector.scale, steps: vector.steps.clone() };
    Ok(encoded.vectors.iter().map(|vector| vector.as_ref().map(packed)).collect())
}

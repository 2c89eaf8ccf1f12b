//! Messages on which a room failed twice: kept among its records, listed and explained.

use jiff::Timestamp;
use maxim_bus::{Delivery, Epoch, Inbox, Lane, Lsn, MessageId, RegionName};
use serde::{Deserialize, Serialize};

use super::super::post::Frame;
use super::super::records::RecordView;
use super::Step;
use super::change::{consumed, refusal};
use maxim_store::Commit;

/// A message on which a room failed twice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeadLetter {
    pub region: String,
    pub lsn: Lsn,
    pub signal: String,
    pub id: MessageId,
    pub turn: MessageId,
    pub why: String,
    pub at: Timestamp,
    /// Its content as text, up to 16 KiB.
    pub content: String,
}

/// Bytes of a dead letter's content that are stored.
pub(super) const LETTER_BYTES: usize = 16 << 10;
/// Dead letters stored per room; the newest stay.
pub(super) const LETTERS: usize = 256;

impl DeadLetter {
    /// Records with this prefix belong to the shell.
    pub const PREFIX: &'static str = "!dead/";
}

/// Writes the letter, and moves the room's cursor past the leased message.
pub fn bury(
    frame: &Frame,
    inbox: &Inbox,
    region: RegionName,
    epoch: Epoch,
    (lane, delivery): (Lane, &Delivery),
    why: &str,
) -> Step {
    let meta = &delivery.envelope.meta;
    let mut content = String::from_utf8_lossy(&delivery.envelope.body().encode()).into_owned();
    content.truncate(content.floor_char_boundary(LETTER_BYTES));
    let letter = DeadLetter {
        region: region.into(),
        lsn: delivery.lsn,
        signal: meta.name.clone().into_owned(),
        id: meta.id,
        turn: meta.correlation,
        why: why.into(),
        at: frame.clock.now(),
        content,
    };
    let key = format!("{}{}", DeadLetter::PREFIX, meta.id);
    // Ids are in the order of time, and so are the letters.
    let before = RecordView::new(&frame.store, region).prefixed(DeadLetter::PREFIX.as_bytes(), usize::MAX);
    let too_many = (before.len() + 1).saturating_sub(LETTERS);
    let mut records: Vec<_> = before.into_iter().take(too_many).map(|(key, _)| (key, None)).collect();
    records.push((key.into_bytes(), Some(serde_json::to_vec(&letter).unwrap_or_default().into())));
    let commit = Commit {
        consumed: consumed(lane, delivery),
        records,
        // The letter belongs to the shell and is not part of the region's state.
        state_hash: frame.store.recover(region).map_or(0, |recovered| recovered.state_hash),
        ..Commit::of(region, epoch)
    };
    frame.store.accept(commit, |_| inbox.done(epoch)).map_or_else(refusal, |_| Step::Done)
}

//! Recollection: what to ask memory for a question, which evidence counts, and the words of the answer.
//!
//! Pure: the room of turns asks memory, brings the find, and gets the next look-up ([`search::further`]) or the answer
//! ([`wording::worded`]). It sees no more of the room's state than a [`View`].

pub(crate) mod asked;
pub(crate) mod counting;
pub(crate) mod deeds;
pub(crate) mod events;
pub(crate) mod evidence;
pub(crate) mod grounds;
pub(crate) mod neighbours;
pub(crate) mod recent_deeds;
pub(crate) mod search;
pub(crate) mod wording;

use jiff::tz::TimeZone;
use maxim_speech::Grammar;

pub(crate) use asked::{Asked, StepWanted, narrow, within};

/// All that an answer depends on besides the find.
pub(crate) struct View<'a> {
    pub grammar: &'a Grammar,
    pub zone: &'a TimeZone,
    /// The person who asks.
    pub asker: &'a str,
}

//! Recollection: what to ask memory for a question, which evidence counts, and how the answer is worded.
//!
//! Pure: the turn's room asks memory, brings what was found, and gets the next look-up ([`search::further`]) or the answer
//! ([`wording::worded`]). Of the room's state it sees no more than a [`View`].

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

pub(crate) use asked::{Asked, StepWanted, within};

/// What an answer depends on besides what was found.
pub(crate) struct View<'a> {
    pub grammar: &'a Grammar,
    pub zone: &'a TimeZone,
    /// Who asks.
    pub asker: &'a str,
}

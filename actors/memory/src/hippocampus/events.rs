//! The events of the hippocampus, and how they change it.

use jiff::Timestamp;
use maxim_bus::MessageId;
use maxim_bus::mode::Mode;
use maxim_bus::signals::recall::RecallEpisodes;
use maxim_bus::signals::thought::TurnEnded;
use serde::{Deserialize, Serialize};

use super::cut::Cut;
use super::edges::Edge;
use super::held::{Held, Indexed};
use super::model::EpisodicMemory;
use super::outcomes::RESULTS;
use super::region::{Hippocampus, Indexes, RECENT, Recent};
use super::sleeping::{Access, Round, remember};
use super::surroundings::Around;
use super::text_index::Fields;
use super::upkeep::Sealed;
use maxim_language::packed::PackedVector;
use maxim_region::Waiting;

/// Turns that ended while one of their actions waited for a person, at most.
const ASKED: usize = 64;

/// Documents that are sealed in one step of a sleep, so that the step stays short.
const SEALED_ASLEEP: usize = 768;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum HippocampusEvent {
    Captured {
        document: u32,
        turn: Option<MessageId>,
        day: i32,
        episode: Box<EpisodicMemory>,
        /// The words and fields by which a small imported episode is found.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        held: Option<Box<Held>>,
    },
    /// A repeated observation: the turn shares the earlier episode.
    Merged {
        document: u32,
        turn: Option<MessageId>,
        episode: Box<EpisodicMemory>,
    },
    Completed {
        document: u32,
        turn: MessageId,
        episode: Box<EpisodicMemory>,
        /// Its earlier further words, if it was completed before.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        before: String,
    },
    /// A turn ended, and one of its actions waits for a person.
    LeftAsked(Box<TurnEnded>),
    /// A moment was not kept, and is held in this place.
    Passed {
        turn: MessageId,
        place: u32,
    },
    /// The result of a turn's action, in words.
    ResultCame {
        turn: MessageId,
        action: MessageId,
        words: String,
    },
    SealDue,
    /// Everything except the newest is sealed.
    SealAllDue,
    SealWritten(Sealed),
    MergeStepped {
        at: Timestamp,
    },
    SegmentsMerged {
        sealed: Sealed,
        at: Timestamp,
    },
    /// Edges of episodes up to a number were made; each row is complete.
    Linked {
        upto: u32,
        rows: Vec<(u32, Vec<Edge>)>,
        due: Option<Timestamp>,
    },
    Caused {
        rows: Vec<(u32, Vec<Edge>)>,
    },
    /// An episode was imported with its edges.
    LinksRecalled {
        document: u32,
        row: Vec<Edge>,
    },
    /// The present uses of episodes.
    UsesRecalled {
        uses: Vec<(u32, Access)>,
    },
    EdgesSealed {
        blocks: u32,
    },
    /// A block of edges was rewritten.
    Tidied {
        block: u32,
    },
    /// The surroundings have changed.
    Around(Around),
    GoalSet {
        goal: Option<String>,
    },
    /// Episodes were used in a turn.
    Accessed {
        documents: Vec<u32>,
        at: Timestamp,
    },
    /// Uses up to here are in the records.
    Remembered {
        documents: Vec<u32>,
    },
    /// Episodes are removed, and blocks of edges that had them.
    Removed {
        documents: Vec<u32>,
        blocks: Vec<u32>,
        /// The turns that a person had forgotten, by hashes of their ids.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        turns: Vec<u64>,
    },
    Slept(Box<Round>),
    ModeLowered {
        to: Option<Mode>,
    },
    /// Another run of the process handles what was open; `None`: it is settled.
    CutShort {
        run: String,
        cut: Option<Cut>,
    },
    Pondered {
        asked: MessageId,
        pondered: Box<Waiting<RecallEpisodes>>,
    },
    PonderingEnded {
        asked: MessageId,
    },
}

impl Hippocampus {
    pub(super) fn take_in(&mut self, event: HippocampusEvent) {
        match event {
            HippocampusEvent::Captured { document, turn, day, episode, held } => {
                self.capture(document, turn, day, &episode, held.as_deref());
            }
            HippocampusEvent::Merged { document, turn, .. } => {
                self.share(document, turn);
                self.linking.expect_again(document);
            }
            HippocampusEvent::Completed { document, turn, episode, before } => {
                self.open.remove(&turn);
                self.results.remove(&turn);
                self.asked.retain(|ended| ended.turn != turn);
                if let Some(indexes) = &mut self.indexes {
                    // A sealed episode keeps its earlier words: it is older than thousands of others by now.
                    let more = episode.further_words();
                    if !before.is_empty() {
                        let _ = indexes.text.take_back(document, &before, &episode.fields(&more, 0));
                    }
                    let _ = indexes.text.amend(document, &more);
                    let _ = indexes.keys.amend(document, &episode);
                }
            }
            HippocampusEvent::LeftAsked(ended) => {
                self.asked.push_back(*ended);
                if self.asked.len() > ASKED {
                    self.asked.pop_front();
                }
            }
            HippocampusEvent::Passed { turn, place } => {
                self.passed.retain(|(_, held)| *held != place);
                self.passed.push_back((turn, place));
            }
            HippocampusEvent::ResultCame { turn, action, words } => {
                self.results.insert(turn, (action, words));
                if self.results.len() > RESULTS {
                    self.results.pop_first();
                }
            }
            HippocampusEvent::SealDue => {
                if let Some(indexes) = &mut self.indexes {
                    indexes.text.seal();
                    indexes.keys.seal();
                }
            }
            HippocampusEvent::SealAllDue => {
                let held = self.held_open();
                if let Some(indexes) = &mut self.indexes {
                    indexes.text.seal_but(held, SEALED_ASLEEP);
                    indexes.keys.seal_but(held, SEALED_ASLEEP);
                }
            }
            HippocampusEvent::SealWritten(sealed) => self.sealed = sealed,
            HippocampusEvent::MergeStepped { at } => {
                self.merge_at = Some(at);
                if let Some(indexes) = &mut self.indexes {
                    indexes.step_merge();
                }
            }
            HippocampusEvent::SegmentsMerged { sealed, at } => {
                self.merge_at = Some(at);
                self.sealed = sealed;
                if let Some(indexes) = &mut self.indexes {
                    indexes.end_merge();
                }
            }
            HippocampusEvent::Linked { upto, rows, due } => {
                rows.iter().for_each(|(document, row)| self.edges.set(*document, row));
                self.linking.linked(upto, &rows, due);
            }
            HippocampusEvent::Caused { rows } => {
                rows.iter().for_each(|(document, row)| self.edges.set(*document, row));
                self.linking.touched(rows.iter().map(|(document, _)| *document));
            }
            HippocampusEvent::LinksRecalled { document, row } => {
                self.edges.set(document, &row);
                self.linking.touched(std::iter::once(document));
                self.linking.settle(document, document + 1);
            }
            HippocampusEvent::UsesRecalled { uses } => self.accesses.extend(uses),
            HippocampusEvent::EdgesSealed { blocks } => self.linking.blocks = blocks,
            HippocampusEvent::Tidied { block } => {
                self.linking.untidy.remove(&block);
            }
            HippocampusEvent::Around(around) => self.around = around,
            HippocampusEvent::GoalSet { goal } => self.goal = goal,
            HippocampusEvent::Accessed { documents, at } => remember(&mut self.accesses, &documents, at),
            HippocampusEvent::Remembered { documents } => {
                documents.iter().for_each(|document| {
                    self.accesses.remove(document);
                });
            }
            HippocampusEvent::Removed { documents, blocks, turns } => {
                self.forget(&documents, &blocks);
                self.forget_turns(turns);
            }
            HippocampusEvent::ModeLowered { to } => self.lowered = to,
            HippocampusEvent::CutShort { run, cut } => {
                (self.run, self.cut, self.is_cut) = (run, cut, false);
            }
            HippocampusEvent::Slept(round) => self.round = Some(round),
            HippocampusEvent::Pondered { asked, pondered } => {
                self.pondered.insert(asked, pondered);
            }
            HippocampusEvent::PonderingEnded { asked } => {
                self.pondered.remove(asked);
            }
        }
    }

    fn capture(
        &mut self,
        document: u32,
        turn: Option<MessageId>,
        day: i32,
        episode: &EpisodicMemory,
        held: Option<&Held>,
    ) {
        self.next = self.next.max(document + 1);
        if let Some(turn) = turn {
            self.open.insert(turn, document);
            self.passed.retain(|(held, _)| *held != turn);
            self.kept_goal.clone_from(&episode.context.goal);
            // Otherwise the earlier open turns are not handled yet.
            if !self.is_cut {
                self.run.clone_from(&episode.run);
            }
        }
        self.newest = Some((episode.sitting, episode.created, document));
        self.recent.push_back(Recent::of(document, episode));
        if self.recent.len() > RECENT {
            self.recent.pop_front();
        }
        if let Some(indexes) = &mut self.indexes {
            index(indexes, document, day, &Indexed::of(episode, held), None);
        }
        self.linking.expect();
    }

    fn share(&mut self, document: u32, turn: Option<MessageId>) {
        if let Some(turn) = turn {
            self.open.insert(turn, document);
            self.passed.retain(|(held, _)| *held != turn);
        }
    }
}

pub(super) fn index(indexes: &mut Indexes, document: u32, day: i32, indexed: &Indexed, vector: Option<&PackedVector>) {
    // Both only refuse numbers out of order, and all numbers come from one counter.
    let _ = indexes.text.add(document, &Fields { vector, ..indexed.fields(day) });
    let _ = indexes.keys.add(document, &indexed.episode);
}

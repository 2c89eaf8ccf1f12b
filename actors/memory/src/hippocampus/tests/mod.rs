//! The hippocampus on the bench.

mod asking;
mod forgetting;
mod importing;
mod links;
mod sleep;

use crate::hippocampus::law::LinkLaw;
use crate::hippocampus::retention::RetentionLaw;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use maxim_bus::MessageId;
use maxim_bus::signals::concepts::{LayerLinked, RecordChanged, RecordsRemoved};
use maxim_bus::signals::recall::{
    EpisodeFilter, EpisodeStored, EpisodesImported, EpisodesRecalled, ImportEpisodes, RecallEpisodes, RecalledEpisode,
};
use maxim_bus::signals::sleep::{CompressEpisodes, EpisodeTally, EpisodesCompressed, EpisodesScored, ScoreEpisodes};
use maxim_bus::signals::thought::SurveyTurns;
use serde_json::json;

use super::law::CaptureLaw;
use super::{Hippocampus, HippocampusSettings};
use maxim_language::TokenTable;
use maxim_region::rig::{Rig, ear, monday_morning};

pub struct Bench {
    pub rig: Rig<Hippocampus>,
    sleeps: u128,
}

pub fn settings(budget_bytes: Option<u64>) -> HippocampusSettings {
    HippocampusSettings {
        zone: TimeZone::UTC,
        mode: maxim_bus::mode::Mode::Active,
        run: "1".into(),
        encoder: Arc::new(TokenTable::embedded()),
        asks_meaning: false,
        budget_bytes,
        links: LinkLaw::default(),
        retention: RetentionLaw::default(),
        weights: crate::hippocampus::text_index::Weights::default(),
        capture: CaptureLaw::default(),
        hearsay: ["http_fetch".to_owned()].into(),
    }
}

impl Bench {
    pub fn new(budget_bytes: Option<u64>) -> Self {
        let rig = Rig::new(settings(budget_bytes), |bus, probe| {
            ear::<EpisodesImported>(bus, probe);
            ear::<EpisodesRecalled>(bus, probe);
            ear::<EpisodesScored>(bus, probe);
            ear::<EpisodesCompressed>(bus, probe);
            ear::<LayerLinked>(bus, probe);
            ear::<RecordsRemoved>(bus, probe);
            ear::<RecordChanged>(bus, probe);
            ear::<EpisodeStored>(bus, probe);
            ear::<SurveyTurns>(bus, probe);
        });
        Self { rig, sleeps: 0 }
    }

    /// Imports lines and waits until they are linked.
    pub fn import(&mut self, lines: impl IntoIterator<Item = serde_json::Value>) {
        let lines: Vec<(u64, String)> = (1..).zip(lines.into_iter().map(|line| line.to_string())).collect();
        let count = lines.len();
        self.rig.send(ImportEpisodes { lines, all: true, refused: Vec::new(), waits: false });
        let imported = self.rig.heard::<EpisodesImported>().pop().expect("an answer");
        assert_eq!((imported.kept as usize, imported.bad.len()), (count, 0), "{:?}", imported.bad);
        self.settle();
    }

    /// Lets the room do all that it does by itself.
    pub fn settle(&mut self) {
        while self.rig.next_deadline().is_some() {
            self.rig.pass(Duration::from_millis(2));
        }
    }

    pub fn recall(&mut self, filter: EpisodeFilter) -> Vec<RecalledEpisode> {
        self.rig.send(RecallEpisodes { filter, except: None, thought: false, waits: false, until: None });
        self.rig.heard::<EpisodesRecalled>().pop().expect("an answer").episodes
    }

    pub fn find(&mut self, query: &str, limit: usize) -> Vec<String> {
        let filter = EpisodeFilter { query: Some(query.into()), limit, ..EpisodeFilter::default() };
        self.recall(filter).into_iter().map(|episode| episode.id).collect()
    }

    pub fn begin_sleep(&mut self) -> MessageId {
        self.sleeps += 1;
        MessageId::from_parts(77, self.sleeps)
    }

    pub fn score(&mut self, sleep: MessageId) -> EpisodesScored {
        self.rig.send(ScoreEpisodes { sleep });
        self.rig.heard::<EpisodesScored>().pop().expect("an answer")
    }

    pub fn compress(&mut self, sleep: MessageId) -> EpisodesCompressed {
        self.rig.send(CompressEpisodes { sleep });
        self.rig.heard::<EpisodesCompressed>().pop().expect("an answer")
    }

    /// A whole sleep; runs `after` after each step.
    pub fn sleep_with(&mut self, mut after: impl FnMut(&mut Self)) -> EpisodeTally {
        let sleep = self.begin_sleep();
        while !self.score(sleep).done {
            after(self);
        }
        loop {
            let compressed = self.compress(sleep);
            after(self);
            if compressed.done {
                return compressed.tally;
            }
        }
    }

    pub fn sleep(&mut self) -> EpisodeTally {
        self.sleep_with(|_| ())
    }

    pub fn stats(&self) -> (u32, usize) {
        (self.rig.region().len(), self.rig.region().edges().len())
    }

    /// Bytes of all records of episodes.
    pub fn record_bytes(&self) -> usize {
        self.rig.records().prefixed(b"episode/", usize::MAX).iter().map(|(_, record)| record.len()).sum()
    }
}

/// Splitmix64 (Steele et al. 2014).
pub struct Chance(pub u64);

impl Chance {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % n as u64) as usize
    }

    pub fn one_of(&mut self, words: &[&'static str]) -> &'static str {
        words[self.below(words.len())]
    }
}

const THINGS: [&str; 16] = [
    "cup", "lamp", "torch", "ladder", "kettle", "blanket", "radio", "hammer", "bicycle", "basket", "mirror", "rope",
    "violin", "camera", "umbrella", "suitcase",
];
const LOOKS: [&str; 12] =
    ["red", "blue", "green", "broken", "heavy", "wooden", "striped", "rusty", "tiny", "painted", "folded", "spare"];
const ROOMS: [&str; 8] = ["kitchen", "office", "hallway", "garage", "cellar", "bedroom", "balcony", "workshop"];
const DEEDS: [&str; 6] = ["find", "clean", "move", "inspect", "repair", "count"];
const NAMES: [&str; 10] = ["Anna", "Bo", "Carla", "Dmitri", "Emre", "Fatima", "Greta", "Hugo", "Ines", "Jonas"];

/// A life of `count` moments that ended `days_ago` days before the bench's Monday, one every ten minutes.
pub fn life(count: usize, days_ago: i64, seed: u64) -> Vec<serde_json::Value> {
    let mut chance = Chance(seed);
    let end = monday_morning() - SignedDuration::from_hours(24 * days_ago);
    let at = |i: usize| -> Timestamp { end - SignedDuration::from_mins(10 * (count - i) as i64) };
    (0..count)
        .map(|i| {
            let thing = format!("{} {}", chance.one_of(&LOOKS), chance.one_of(&THINGS));
            let (room, deed) = (chance.one_of(&ROOMS), chance.one_of(&DEEDS));
            let who = chance.one_of(&NAMES);
            let with_person = chance.below(3) > 0;
            let people = if with_person { vec![who] } else { vec![] };
            let success = [Some(true), Some(true), Some(false), None][chance.below(4)];
            let text = format!(
                "{who} said that the {thing} with number {} stands in the {room} beside the {} {}, where it was put \
                 after the {} was taken to the {} by {}, so nobody has to look for it again",
                1000 + i,
                chance.one_of(&LOOKS),
                chance.one_of(&THINGS),
                chance.one_of(&THINGS),
                chance.one_of(&ROOMS),
                chance.one_of(&NAMES),
            );
            json!({
                "id": format!("life-{seed:02}-{i:06}-{:08x}", chance.below(1 << 30)),
                "timestamp": at(i).to_string(),
                "goal": format!("{deed} the {thing} in the {room}"),
                "mode": "active",
                "objects": [thing, chance.one_of(&THINGS)],
                "people": people,
                "text": text,
                "tool": chance.one_of(&["move_to", "look_at", "write_file"]),
                "params": {
                    "target": room, "speed": 0.25, "note": format!("moment {i} of a long day, written down in full"),
                    "path": format!("/home/robot/notes/{room}/{i}.txt"), "retries": 3, "careful": true,
                },
                "success": success,
                "result": format!("reached the {room} after {} seconds and saw what there was to see there", i % 60),
                "salience": 0.1 + 0.1 * chance.below(7) as f64,
                "novelty": 0.1 * chance.below(7) as f64,
            })
        })
        .collect()
}

//! A room of your own on a live agent: how politely is the agent asked?
//!
//! A room is a card (what it hears and says), a law (a pure function) with its section of the configuration, a state that
//! changes by events alone, and a test. Run it with `cargo run --example room`.

use std::sync::Arc;

use maxim::agent::{Agent, AgentSettings, AgentWorld};
use maxim::config::Settings;
use maxim_actors::effectors::channels::Submission;
use maxim_actors::effectors::tool_servers::ListFolder;
use maxim_actors::region::{Hears, Placement, Pulse, Region, Room};
use maxim_actors::store::StateStore;
use maxim_actors::wiring;
use maxim_bus::latch::StopLatch;
use maxim_bus::signals::percept::SalientPercept;
use maxim_bus::signals::recall::{ReportStats, StatsReported};
use maxim_bus::{AgentId, RegionName, Stage, SystemClock, Trust};
use maxim_config::{Shape, section, sections};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The state: small, serialisable, durable after each decision.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Politeness {
    requests: u64,
    polite: u64,
}

// The card. A signal that isn't on it can't be heard or said: that doesn't compile.
wiring!(Politeness { hears: [SalientPercept, ReportStats], back: [], emits: [StatsReported] });

/// What the room decides; the only thing that changes its state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum PolitenessEvent {
    Asked { politely: bool },
}

// The section: each key with meaning, type, default, unit and range. Sample file, `maxim config explain` and the guide are
// made from it.
section! {
    /// How politeness is counted.
    Manners = "politeness" {
        /// Words at the beginning of a text that are read.
        words_max: usize = "200", "words", Shape::Integer { low: 1, high: 10_000 };
    }
}

// These two stand in `lib.rs` of the room's stage. There is nothing else that lists rooms or sections.
sections! {
    /// The stage's part of the configuration.
    Sections { politeness: Manners }
}

/// The rooms of the stage, in the order of a percept.
pub fn rooms(sections: &Sections) -> Vec<Room> {
    vec![Politeness::room(Placement::Pool, sections.politeness.clone())]
}

/// The law: plain Rust without clock, store or actor.
fn is_polite(text: &str, law: &Manners) -> bool {
    let words = text.split(|letter: char| !letter.is_alphabetic()).filter(|word| !word.is_empty());
    let polite = |word: &str| ["please", "thanks", "kindly"].iter().any(|polite| word.eq_ignore_ascii_case(polite));
    words.take(law.words_max).any(polite)
}

impl Region for Politeness {
    const NAME: RegionName = "politeness";
    const STAGE: Stage = Stage::Memory;
    type Event = PolitenessEvent;
    type Settings = Manners;

    fn apply(&mut self, PolitenessEvent::Asked { politely }: PolitenessEvent) {
        self.requests += 1;
        self.polite += u64::from(politely);
    }
}

impl Hears<SalientPercept> for Politeness {
    fn hear(&self, heard: &SalientPercept, pulse: &mut Pulse<'_, Self>) {
        if heard.percept.is_said() {
            let politely = is_polite(&heard.percept.content, pulse.settings());
            pulse.keep(PolitenessEvent::Asked { politely });
        }
    }
}

/// A room that answers this question is counted in `system_stats`.
impl Hears<ReportStats> for Politeness {
    fn hear(&self, _: &ReportStats, pulse: &mut Pulse<'_, Self>) {
        let counts = json!({ "requests": self.requests, "polite": self.polite });
        pulse.reply(StatsReported { region: Self::NAME.into(), counts });
    }
}

/// Says three things to an agent that has the room, and asks the brain what the room counted.
pub fn run() -> anyhow::Result<String> {
    let folder = tempfile::tempdir()?;
    let saved = folder.path().join("saved");
    let settings = AgentSettings::new(&Settings::default(), 1, folder.path(), &saved, ListFolder::default())?
        .with_rooms(|| rooms(&Sections::default()));
    let (store, id) = (StateStore::in_memory(), AgentId::new("example")?);
    let (clock, latch) = (Arc::new(SystemClock), StopLatch::in_memory());
    let world = AgentWorld { store: store.agent(&id), id, clock, latch, seed: 7, tap: None };
    actix::System::new().block_on(async {
        let agent = Agent::live(world, &settings, 2)?;
        let desk = &agent.outside.console;
        let mut told = String::new();
        for words in ["please remember that the key is in the drawer", "where is the key?", "Thanks!"] {
            let (channel, sender) = ("console".to_owned(), "anna".to_owned());
            let said = Submission { channel, sender, body: words.into(), provider_id: None, trust: Trust::Owner };
            let accepted = desk.submit(said).await?.map_err(anyhow::Error::msg)?;
            let ended = desk.turn(accepted.percept).await?.map_err(anyhow::Error::msg)?;
            told += &format!("> {words}\n  {}\n", ended.reply.unwrap_or_default());
        }
        let stats = agent.outside.door.inquire("system_stats", json!({})).await?;
        agent.stop();
        Ok(told + &format!("politeness: {}\n", stats["regions"][Politeness::NAME]))
    })
}

fn main() -> anyhow::Result<()> {
    print!("{}", run()?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use maxim_actors::region::rig::{Rig, ear};
    use maxim_bus::signals::percept::{Disposition, Percept};
    use maxim_bus::units::{Novelty, Salience};

    use super::*;

    fn said(words: &str) -> SalientPercept {
        SalientPercept {
            percept: Percept::from_outside("console", "anna", words.into(), false, Trust::Owner),
            disposition: Disposition::Proceed,
            salience: Salience::clamped(0.9),
            novelty: Novelty::clamped(0.5),
        }
    }

    #[test]
    fn the_law_reads_words_and_not_letters() {
        let law = Manners::default();
        assert!(is_polite("Please, fetch the cup", &law));
        assert!(!is_polite("fetch the pleased cat", &law));
        assert!(!is_polite("fetch the cup, please", &Manners { words_max: 3 }));
    }

    /// The rig holds one room, its store and a clock. What the room says lands in its ear.
    #[test]
    fn what_it_counted_is_there_after_a_crash() {
        let mut rig: Rig<Politeness> = Rig::new(Manners::default(), ear::<StatsReported>);
        rig.send(said("please come"));
        rig.send(said("go"));
        let before = rig.state_hash();
        rig.crash();
        assert_eq!(rig.state_hash(), before);
        rig.send(ReportStats {});
        let told = rig.heard::<StatsReported>();
        assert_eq!(told.last().map(|stats| &stats.counts), Some(&json!({ "requests": 2, "polite": 1 })));
    }
}

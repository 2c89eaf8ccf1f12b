//! The compared brains: the brain as it is, and the same brain with one part switched off.

use maxim_actors::learning::nucleus_accumbens::NucleusAccumbens;
use maxim_actors::memory::enrichment::Enrichment;
use maxim_actors::region::Region;
use maxim_bus::Stage;

use crate::agent::Part;
use crate::config::{Settings, Span};

/// A brain that takes part.
pub struct Arm {
    pub name: &'static str,
    /// What is switched off, for people.
    pub what: &'static str,
    /// Rooms that are cut off.
    pub cuts: fn(&Part) -> bool,
    pub set: fn(&mut Settings),
}

fn none(_: &Part) -> bool {
    false
}

/// The room that gathers the answers of memory stays, and finds none.
fn is_memory(part: &Part) -> bool {
    part.stage == Stage::Memory && part.name != Enrichment::NAME
}

/// All brains; the whole one first.
pub const ARMS: [Arm; 7] = [
    Arm { name: "whole", what: "the brain as it is", cuts: none, set: |_| {} },
    Arm {
        name: "without memory",
        what: "the rooms of memory and of learning cut off, as with `maxim why --without memory`",
        cuts: |part| is_memory(part) || part.stage == Stage::Learning,
        set: |_| {},
    },
    Arm {
        name: "without values",
        what: "the nucleus accumbens cut off: no act is expected to be worth more than another",
        cuts: |part| part.name == NucleusAccumbens::NAME,
        set: |_| {},
    },
    Arm {
        name: "without episodes",
        what: "the rooms of memory cut off: no episodes, no concepts, no rhythms",
        cuts: is_memory,
        set: |_| {},
    },
    Arm {
        name: "without fear",
        what: "earlier hurts aren't feared, and the gate learns no veto; its rules stay",
        cuts: none,
        set: |settings| {
            (settings.deliberation.habit.act_fear, settings.gate.gate.veto_confidence, settings.gate.gate.veto_value) =
                (0.0, 0.99, 0.0);
            settings.gate.gate.bridge_gain = 0.0;
        },
    },
    Arm {
        name: "without curiosity",
        what: "new acts are worth no more than known ones",
        cuts: none,
        set: |settings| settings.deliberation.habit.act_novelty = 0.0,
    },
    Arm {
        name: "without sleep",
        what: "no sleep at night and none after a session",
        cuts: none,
        set: |settings| {
            settings.memory.memory.sleep_hour = 24;
            settings.memory.memory.session_idle = Span::new(std::time::Duration::from_secs(7 * 86_400));
        },
    },
];

//! The parts list: every room of the brain, stage by stage, in the order in which a percept passes them.
//!
//! Each stage lists its own rooms. A room's wiring card says what it hears and says; the bus refuses cards that don't
//! fit together. Rooms that may be slow or are on the safety path have their own threads; the rest share threads.

use maxim_actors::action::tools::program_files::ProgramFiles;
use maxim_actors::{action, deliberation, effectors, gate, learning, memory, perception, sleep};

use super::{AgentSettings, Kit};

/// Puts all rooms into the kit.
pub fn furnish(kit: &mut Kit, settings: &AgentSettings) {
    let programs = ProgramFiles::new(&settings.action.hands);
    let stages = [
        perception::rooms(&settings.perception),
        memory::rooms(&settings.memory),
        deliberation::rooms(&settings.deliberation),
        gate::rooms(&settings.gate),
        action::rooms(&settings.action),
        learning::rooms(&settings.learning),
        sleep::rooms(&settings.sleep),
        effectors::rooms(&settings.effectors, programs, &kit.outside),
        // Rooms that are not part of the anatomy.
        settings.own_rooms.iter().flat_map(|rooms| rooms()).collect(),
        vec![action::introspector(&settings.action, settings.acts)],
    ];
    kit.furnish(stages.into_iter().flatten().collect());
}

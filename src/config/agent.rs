//! Who the agent is and what it may do by itself.

use std::path::PathBuf;

use jiff::tz::TimeZone;

use super::{Shape, Span};
use maxim_bus::mode::{AutonomyLevel, Mode};
use maxim_config::section;

section! {
    /// Who the agent is and what it may do by itself.
    Agent = "agent" {
        /// The names it answers to and wakes at; the first is how it calls itself.
        names: Vec<String> = "maxim", "", Shape::Texts { required: true };
        /// What it may touch: passive writes only in its sandbox folder, active in the working folder, singularity
        /// everywhere; the hard rules hold in each.
        mode: Mode = "active", "", Shape::Choice(Mode::WORDS);
        /// How much it decides without a person: planning proposes, supervised asks when it isn't sure, autonomous acts.
        autonomy: AutonomyLevel = "autonomous", "", Shape::Choice(AutonomyLevel::WORDS);
        /// Whether it lives in a simulation: it is told so, has no body, and says, thinks and examines instead; its other
        /// tools are as real as ever.
        simulation: bool = "false", "", Shape::Flag;
        /// The folder it works in; not set is the folder that it was started in.
        workdir: Option<PathBuf> = "", "", Shape::Path;
        /// The zone by which it tells hours, weekdays and months; system is the machine's own.
        timezone: String = "system", "", Shape::Zone;
        /// A file with what the agent holds to, shown to the model; not set is the one that ships with the program.
        constitution_file: Option<PathBuf> = "", "", Shape::Path;
        /// Makes chance repeatable; not set is a new one at each start.
        seed: Option<u64> = "", "", Shape::Integer { low: 0, high: i64::MAX as u64 };
        /// How long running actions may take to end when the daemon is told to end; then they are cut off.
        drain_grace: Span = "10s", "time", Shape::Span { low: "0s", high: "10min" };
    }
}

impl Agent {
    /// The zone by name. Unknown names were refused when the configuration was read.
    pub fn zone(&self) -> TimeZone {
        match self.timezone.as_str() {
            "system" => TimeZone::system(),
            name => TimeZone::get(name).unwrap_or(TimeZone::UTC),
        }
    }
}

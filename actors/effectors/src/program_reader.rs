//! The program reader: reads files that a call would run, for the gate, which never reads the disk.
//!
//! It reads within bounds and never waits for a pipe or a device. Its findings are a signal, so a replay judges the
//! same contents. It decides nothing.

use std::sync::Arc;
use std::time::Duration;

use maxim_bus::rooms;
use maxim_bus::signals::program_files::{FixPrograms, Found, ProgramsFixed, ProgramsRead, ReadPrograms};
use maxim_bus::{RegionName, Stage};

use maxim_region::{Effector, EffectorCard, Operation, Performs, Placement, Room};
use maxim_tools::program_files::ProgramFiles;

/// A slower disk is given up; by then the gate has long asked a person.
const DEADLINE: Duration = Duration::from_secs(30);

/// Reads program files.
pub struct ProgramReader {
    pub programs: ProgramFiles,
}

impl ProgramReader {
    /// The room as a value, for the parts list.
    pub fn room(programs: ProgramFiles) -> Room {
        Room::acting(Placement::Pool, Box::new(move || Self { programs: programs.clone() }))
    }
}

impl Effector for ProgramReader {
    const NAME: RegionName = rooms::PROGRAM_READER;
    const STAGE: Stage = Stage::Gate;
    /// So that reading doesn't wait for a fingerprint.
    const CONCURRENT: usize = 4;

    fn card() -> EffectorCard<Self> {
        EffectorCard::new()
            .performs::<ReadPrograms>()
            .performs::<FixPrograms>()
            .says::<ProgramsRead>()
            .says::<ProgramsFixed>()
    }

    fn deadline(&self) -> Duration {
        DEADLINE
    }
}

impl Performs<ReadPrograms> for ProgramReader {
    async fn perform(self: Arc<Self>, asked: ReadPrograms, operation: Operation<Self>) {
        let (intent, programs, wanted) = (asked.intent, self.programs.clone(), asked.wanted.clone());
        let found = tokio::task::spawn_blocking(move || programs.read(&wanted)).await;
        let found = found.unwrap_or_else(|error| unread(&asked, &error.to_string()));
        operation.say(ProgramsRead { intent, found });
    }

    fn abandoned(asked: &ReadPrograms, why: &str, operation: &Operation<Self>) {
        operation.say(ProgramsRead { intent: asked.intent, found: unread(asked, why) });
    }
}

fn unread(asked: &ReadPrograms, why: &str) -> Vec<Found> {
    let found = |wanted: &_| Found { wanted: Clone::clone(wanted), files: Vec::new(), fault: Some(why.to_owned()) };
    asked.wanted.iter().map(found).collect()
}

impl Performs<FixPrograms> for ProgramReader {
    async fn perform(self: Arc<Self>, asked: FixPrograms, operation: Operation<Self>) {
        let (intent, programs) = (asked.intent, self.programs.clone());
        let fixed = tokio::task::spawn_blocking(move || programs.fix(&asked.scope)).await;
        let (fixed, fault) = match fixed {
            Ok(fixed) => (Some(fixed), None),
            Err(error) => (None, Some(error.to_string())),
        };
        operation.say(ProgramsFixed { intent, fixed, fault });
    }

    fn abandoned(asked: &FixPrograms, why: &str, operation: &Operation<Self>) {
        operation.say(ProgramsFixed { intent: asked.intent, fixed: None, fault: Some(why.to_owned()) });
    }
}

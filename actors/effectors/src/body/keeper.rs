//! Attends a movement: renews the body's lease while the brain still wants the movement, and reports how it went.
//!
//! It has its own thread, which isn't the motor's: if the brain hangs, panics or is gone, nobody renews the lease.

use std::sync::Arc;
use std::time::Duration;

use maxim_bus::rooms;
use maxim_bus::signals::body::MovementSensed;
use maxim_bus::signals::outcome::{ExecutionStarted, ToolResult};
use maxim_bus::signals::scene::{Observed, SceneNoticed};
use maxim_bus::signals::strain::BodyStrained;
use maxim_bus::{RegionName, Stage};

use super::{Body, DriverPlan, Hand};
use maxim_region::{Effector, EffectorCard, Operation, Performs, Placement, Room};
use maxim_tools::robot;

/// Renewals in the length of a lease. The loss of a few is tolerated, even if half of the lease is for the body to come
/// to rest.
const RENEWALS: u32 = 10;
/// Longer than any movement including its wait.
const LONGEST: Duration = Duration::from_secs(600);

/// Attends movements.
pub struct BodyKeeper {
    body: Body,
}

impl BodyKeeper {
    pub fn new(body: Body) -> Self {
        Self { body }
    }

    fn moves(&self, tool: &str) -> bool {
        self.body.plan().driver != DriverPlan::None && robot::moves(tool)
    }
}

impl BodyKeeper {
    /// The room as a value, for the parts list. A body's lease is renewed on a thread that waits for nothing else.
    pub fn room(body: Body) -> Room {
        let placement = if body.plan().driver == DriverPlan::None { Placement::Pool } else { Placement::Own };
        Room::acting(placement, Box::new(move || Self::new(body.clone())))
    }
}

impl Effector for BodyKeeper {
    const NAME: RegionName = rooms::BODY;
    const STAGE: Stage = Stage::Action;
    const CONCURRENT: usize = 64;

    fn card() -> EffectorCard<Self> {
        EffectorCard::new()
            .performs::<ExecutionStarted>()
            .performs::<ToolResult>()
            .performs::<Observed>()
            .performs::<SceneNoticed>()
            .says::<MovementSensed>()
            .says::<BodyStrained>()
    }

    fn deadline(&self) -> Duration {
        LONGEST
    }
}

impl Performs<ExecutionStarted> for BodyKeeper {
    async fn perform(self: Arc<Self>, started: ExecutionStarted, operation: Operation<Self>) {
        let is_live = matches!(&*self.body.0.hand.lock(), Hand::Live);
        if !is_live || !self.moves(&started.intent.tool) {
            return;
        }
        let pause = self.body.plan().lease / RENEWALS;
        while !self.body.0.shared.has_ended(started.action) && operation.hands.is_current() {
            self.body.renew_lease();
            tokio::time::sleep(pause).await;
        }
    }

    fn abandoned(_started: &ExecutionStarted, _why: &str, _operation: &Operation<Self>) {
        // Nobody renews any more, so the movement ends with its lease. The room that ordered it reports the end.
    }
}

impl Performs<ToolResult> for BodyKeeper {
    async fn perform(self: Arc<Self>, result: ToolResult, operation: Operation<Self>) {
        tell(&self.body, &result, &operation);
    }

    fn abandoned(result: &ToolResult, _why: &str, operation: &Operation<Self>) {
        tell(&operation.effector.body, result, operation);
    }
}

/// The eyes see: a tool that looks at something needs its present position.
impl Performs<Observed> for BodyKeeper {
    async fn perform(self: Arc<Self>, observed: Observed, operation: Operation<Self>) {
        self.body.0.sight.see(&observed, &operation.hands.frame.clock);
    }

    fn abandoned(_observed: &Observed, _why: &str, _operation: &Operation<Self>) {
        // The next picture comes soon.
    }
}

impl Performs<SceneNoticed> for BodyKeeper {
    async fn perform(self: Arc<Self>, noticed: SceneNoticed, _operation: Operation<Self>) {
        self.body.0.sight.rank(&noticed.things);
    }

    fn abandoned(_noticed: &SceneNoticed, _why: &str, _operation: &Operation<Self>) {
        // The same.
    }
}

/// The action is over: its movements are reported in its turn.
fn tell(body: &Body, result: &ToolResult, operation: &Operation<BodyKeeper>) {
    body.0.shared.end(result.action);
    for report in body.0.shared.take_reports(result.action) {
        for strain in report.strains {
            operation.say(strain);
        }
        if let Some(sensed) = report.sensed {
            operation.say(sensed);
        }
    }
}

//! The executor: the one hand that runs tools.
//!
//! Before anything shows outside it waits until the beginning is on disk; it reads the latch right before the effect, and
//! reports the end. Each call has a thread of its own, so a tool may block.

use std::sync::Arc;
use std::time::Duration;

use maxim_bus::clock::Stopwatch;
use maxim_bus::latch::{EffectKind, StopLatch};
use maxim_bus::signals::outcome::{ExecutionStarted, FailureKind, Outbound, ToolResult};
use maxim_bus::{RegionName, Stage};
use serde_json::{Value as Json, json};

use super::tools::{EffectClass, ErrorKind, Hands, Registered, Resolved, Runner, ToolOutcome, ToolRegistry};
use crate::region::{Effector, EffectorCard, Operation, Performs};

/// The tool that speaks.
pub const RESPOND: &str = "respond";

/// How much longer than a tool's own deadline an operation may take before it is given up.
const GRACE: Duration = Duration::from_secs(10);

/// Runs tools.
pub struct Executor {
    pub registry: Arc<ToolRegistry>,
    pub hands: Hands,
}

impl Effector for Executor {
    const NAME: RegionName = "executor";
    const STAGE: Stage = Stage::Action;
    const CONCURRENT: usize = 16;

    fn card() -> EffectorCard<Self> {
        EffectorCard::new().performs::<ExecutionStarted>().says::<ToolResult>().says::<Outbound>()
    }

    fn deadline(&self) -> Duration {
        self.hands.deadline + GRACE
    }
}

impl Performs<ExecutionStarted> for Executor {
    async fn perform(self: Arc<Self>, started: ExecutionStarted, operation: Operation<Self>) {
        if self.shows_outside(&started)
            && let Err(error) = operation.hands.durable(operation.lsn).await
        {
            let why = format!("not begun, because its beginning could not be written: {error}");
            operation.say(result(&started, Ending::failed(FailureKind::Exhausted, why), 0));
            return;
        }
        // The tracker asked an incarnation that has been replaced since: the new one reports it as abandoned.
        if !operation.hands.is_current() {
            return;
        }
        let watch = Stopwatch::start();
        let ending = if started.intent.tool == RESPOND {
            self.respond(&started, &operation)
        } else {
            self.run(&started, operation.hands.frame.latch.clone()).await
        };
        // In virtual time nothing takes any.
        let is_live = operation.hands.frame.clock.is_live();
        let took = if is_live { u64::try_from(watch.elapsed().as_micros()).unwrap_or(u64::MAX) } else { 0 };
        operation.say(result(&started, ending, took));
    }

    fn abandoned(started: &ExecutionStarted, why: &str, operation: &Operation<Self>) {
        let why = format!("{why}; whether it happened is not known");
        let ending = Ending { success: None, ..Ending::failed(FailureKind::Unknown, why) };
        operation.say(result(started, ending, 0));
    }
}

/// How a call ended.
struct Ending {
    success: Option<bool>,
    output: Json,
    error: Option<String>,
    failure: Option<FailureKind>,
    side_effects: Vec<String>,
}

impl Ending {
    fn failed(failure: FailureKind, error: String) -> Self {
        Self {
            success: Some(false),
            output: Json::Null,
            error: Some(error),
            failure: Some(failure),
            side_effects: vec![],
        }
    }
}

impl From<ToolOutcome> for Ending {
    fn from(outcome: ToolOutcome) -> Self {
        Self {
            success: Some(outcome.success),
            output: outcome.output,
            error: outcome.error,
            failure: outcome.error_kind.map(failure_of),
            side_effects: outcome
                .side_effects
                .iter()
                .map(|effect| format!("{:?}: {}", effect.kind, effect.target))
                .collect(),
        }
    }
}

fn failure_of(kind: ErrorKind) -> FailureKind {
    match kind {
        ErrorKind::InvalidParameters | ErrorKind::Ambiguous => FailureKind::BadParams,
        ErrorKind::NotFound => FailureKind::NotFound,
        ErrorKind::Refused => FailureKind::Denied,
        ErrorKind::TooLarge => FailureKind::Exhausted,
        ErrorKind::Timeout => FailureKind::Timeout,
        ErrorKind::Stopped => FailureKind::Stopped,
        ErrorKind::Failed | ErrorKind::Io | ErrorKind::Unavailable => FailureKind::Failed,
    }
}

impl Executor {
    /// False for what reads only, and for speaking: its words wait for the disk at the channel.
    fn shows_outside(&self, started: &ExecutionStarted) -> bool {
        match self.registry.resolve(&started.intent.tool) {
            Resolved::Tool(found) | Resolved::Redirected(found) => {
                started.intent.tool != RESPOND && found.spec.effect != EffectClass::ReadOnly
            }
            Resolved::Unknown { .. } => false,
        }
    }

    /// Speaking: the words go out on the channel that the turn came by.
    fn respond(&self, started: &ExecutionStarted, operation: &Operation<Self>) -> Ending {
        if let Err(stopped) = operation.hands.frame.latch.permit(EffectKind::Other) {
            return Ending::failed(FailureKind::Stopped, stopped.to_string());
        }
        let params = match self.registry.validate(RESPOND, &started.intent.params) {
            Ok(params) => params,
            Err(error) => return Ending::failed(FailureKind::BadParams, error.to_string()),
        };
        let text = params.get("message").and_then(Json::as_str).unwrap_or_default().to_owned();
        let outbound = Outbound {
            turn: started.intent.turn,
            channel: started.intent.channel.clone(),
            recipient: started.intent.recipient.clone(),
            text,
        };
        operation.say(outbound);
        let side_effects = vec![format!("said on {}", started.intent.channel)];
        Ending {
            success: Some(true),
            output: json!({"delivered_to": started.intent.channel}),
            error: None,
            failure: None,
            side_effects,
        }
    }

    async fn run(&self, started: &ExecutionStarted, latch: StopLatch) -> Ending {
        let found = match self.registry.resolve(&started.intent.tool) {
            Resolved::Tool(found) | Resolved::Redirected(found) => found.clone(),
            Resolved::Unknown { nearest } => {
                let why = format!("there is no tool {:?}; the nearest are {}", started.intent.tool, nearest.join(", "));
                return Ending::failed(FailureKind::UnknownTool, why);
            }
        };
        let params = match self.registry.validate(&found.spec.name, &started.intent.params) {
            Ok(params) => params,
            Err(error) => return Ending::failed(FailureKind::BadParams, error.to_string()),
        };
        let hands = self.hands.clone();
        let ran = tokio::task::spawn_blocking(move || call(&found, &params, &hands, &latch));
        match ran.await {
            Ok(ending) => ending,
            Err(error) => {
                let why = format!("the tool broke while it ran ({error}); whether it took effect is not known");
                Ending { success: None, ..Ending::failed(FailureKind::Unknown, why) }
            }
        }
    }
}

/// The latch is read here, after everything that takes time, right before the effect.
fn call(found: &Registered, params: &Json, hands: &Hands, latch: &StopLatch) -> Ending {
    let Runner::Here(tool) = &found.runner else {
        let why = format!("{} is answered by the brain itself and can't be executed", found.spec.name);
        return Ending::failed(FailureKind::BadParams, why);
    };
    if let Err(failure) = tool.prepare(params, hands) {
        return ToolOutcome::failed(failure).into();
    }
    match latch.permit(EffectKind::Other) {
        Ok(permit) => tool.run(params, &permit, hands).into(),
        Err(stopped) => Ending::failed(FailureKind::Stopped, stopped.to_string()),
    }
}

fn result(started: &ExecutionStarted, ending: Ending, duration_us: u64) -> ToolResult {
    ToolResult {
        action: started.action,
        intent: started.intent_id,
        turn: started.intent.turn,
        tool: started.intent.tool.clone(),
        params: started.intent.params.clone(),
        success: ending.success,
        output: ending.output,
        error: ending.error,
        failure: ending.failure,
        duration_us,
        side_effects: ending.side_effects,
    }
}

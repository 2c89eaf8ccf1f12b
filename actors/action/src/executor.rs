//! The executor: the only part that runs tools.
//!
//! Before an outside effect it waits until the beginning is on disk. It reads the latch right before the effect, and
//! reports the end. Each call has its own thread, so a tool may block.

use std::sync::Arc;
use std::time::Duration;

use maxim_bus::clock::Stopwatch;
use maxim_bus::latch::{EffectKind, StopLatch};
use maxim_bus::rooms::{self, RESPOND};
use maxim_bus::signals::cycle::DisplaySet;
use maxim_bus::signals::goal::{GoalWish, GoalWished};
use maxim_bus::signals::outbox::Medium;
use maxim_bus::signals::outcome::{
    CHANGED, ExecutionStarted, FailureKind, NOT_KNOWN, Outbound, ReversalPrepared, ToolResult,
};
use maxim_bus::signals::program_files::Fixed;
use maxim_bus::signals::scene::SceneNamed;
use maxim_bus::signals::sleep::RequestSleep;
use maxim_bus::{RegionName, Stage};
use serde_json::{Value as Json, json};

use maxim_region::{Effector, EffectorCard, Operation, Performs, Placement, Room};
use maxim_tools::messaging::{MaySend, Message};
use maxim_tools::own::OwnWish;
use maxim_tools::program_files::ProgramFiles;
use maxim_tools::{
    ErrorKind, Hands, Mode, Registered, Resolved, Reversal, Runner, Tool, ToolFailure, ToolOutcome, ToolRegistry, UNDO,
    undo,
};

/// Time beyond a tool's own deadline before an operation is given up.
const GRACE: Duration = Duration::from_secs(10);

/// Runs tools.
pub struct Executor {
    pub registry: Arc<ToolRegistry>,
    pub hands: Hands,
}

impl Executor {
    /// The room as a value, for the parts list.
    pub fn room(registry: Arc<ToolRegistry>, hands: Hands) -> Room {
        Room::acting(Placement::Own, Box::new(move || Self { registry: Arc::clone(&registry), hands: hands.clone() }))
    }
}

impl Effector for Executor {
    const NAME: RegionName = rooms::EXECUTOR;
    const STAGE: Stage = Stage::Action;
    const CONCURRENT: usize = 16;

    fn card() -> EffectorCard<Self> {
        EffectorCard::new()
            .performs::<ExecutionStarted>()
            .says::<ReversalPrepared>()
            .says::<ToolResult>()
            .says::<Outbound>()
            .says::<RequestSleep>()
            .says::<SceneNamed>()
            .says::<DisplaySet>()
            .says::<GoalWished>()
    }

    fn deadline(&self) -> Duration {
        self.hands.deadline + GRACE
    }
}

impl Performs<ExecutionStarted> for Executor {
    async fn perform(self: Arc<Self>, started: ExecutionStarted, operation: Operation<Self>) {
        // Words are made durable at their channel. Reading waits here, because a requested page is visible outside.
        if started.intent.tool != RESPOND
            && let Err(error) = operation.hands.durable(operation.lsn).await
        {
            let why = format!("not begun, because its beginning could not be written: {error}");
            operation.say(result(&started, Ending::failed(FailureKind::Unavailable, why), 0));
            return;
        }
        // The tracker asked an incarnation that has since been replaced. The new one reports the call as abandoned.
        if !operation.hands.is_current() {
            return;
        }
        let watch = Stopwatch::start();
        let ending = if started.intent.tool == RESPOND {
            self.respond(&started, &operation)
        } else {
            self.run(&started, &operation).await
        };
        // Virtual time takes no real time.
        let is_live = operation.hands.frame.clock.is_live();
        let took = if is_live { u64::try_from(watch.elapsed().as_micros()).unwrap_or(u64::MAX) } else { 0 };
        operation.say(result(&started, ending, took));
    }

    fn abandoned(started: &ExecutionStarted, why: &str, operation: &Operation<Self>) {
        let why = format!("{why}{NOT_KNOWN}");
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
    reward: Option<f64>,
}

impl Ending {
    fn failed(failure: FailureKind, error: String) -> Self {
        Self {
            success: Some(false),
            output: Json::Null,
            error: Some(error),
            failure: Some(failure),
            side_effects: vec![],
            reward: None,
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
            reward: outcome.reward,
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
        ErrorKind::Unavailable => FailureKind::Unavailable,
        ErrorKind::Failed | ErrorKind::Io => FailureKind::Failed,
    }
}

impl Executor {
    /// Speaking: the words go to the channel of the turn.
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
            action: Some(started.action),
            tool: Some(RESPOND.into()),
            medium: Medium::Text,
        };
        operation.say(outbound);
        let side_effects = vec![format!("said on {}", started.intent.channel)];
        Ending {
            success: Some(true),
            output: json!({"delivered_to": started.intent.channel}),
            error: None,
            failure: None,
            side_effects,
            reward: None,
        }
    }

    /// Words for another person go to the outbox, which writes them to disk before they are sent.
    fn post(&self, message: Message, started: &ExecutionStarted, operation: &Operation<Self>) -> Ending {
        let mode = started.powers.as_ref().map_or(self.hands.mode, |powers| powers.mode.min(self.hands.mode));
        if mode == Mode::Passive {
            let why = "in passive mode it answers the person in the conversation and writes to nobody else".to_owned();
            return Ending::failed(FailureKind::Denied, why);
        }
        if let Err(stopped) = operation.hands.frame.latch.permit(EffectKind::Other) {
            return Ending::failed(FailureKind::Stopped, stopped.to_string());
        }
        let channel = message.channel.clone();
        match self.hands.outbox.may_send(&message.channel, &message.recipient, message.medium) {
            MaySend::Yes => {}
            MaySend::Unavailable(reason) => {
                return ToolOutcome::unavailable(&reason).into();
            }
            MaySend::No(why) => return Ending::failed(FailureKind::Denied, why),
        }
        let Message { channel: to, recipient, text, medium } = message;
        let (turn, action) = (started.intent.turn, Some(started.action));
        let tool = Some(started.intent.tool.clone());
        operation.say(Outbound { turn, channel: to, recipient, text, action, tool, medium });
        Ending {
            success: Some(true),
            output: json!({"queued": true, "outbox": started.action, "channel": channel}),
            error: None,
            failure: None,
            side_effects: vec![format!("queued for {channel}; see `maxim outbox`")],
            reward: None,
        }
    }

    /// What changed since the call was allowed, in words. A changed call doesn't run.
    pub fn changed_since(sealed: &Fixed, hands: &Hands) -> Option<String> {
        sealed.changes(&ProgramFiles::new(hands).fix(&sealed.scope))
    }

    async fn run(&self, started: &ExecutionStarted, operation: &Operation<Self>) -> Ending {
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
        if let Some(message) = Message::of(&found.spec.name, &params) {
            return self.post(message, started, operation);
        }
        if let Some(wish) = OwnWish::of(&found.spec.name, &params) {
            return of_itself(wish, started, operation);
        }
        let mut hands = match &started.powers {
            Some(powers) => self.hands.bounded_by(powers),
            None => self.hands.clone(),
        };
        hands.action = Some(started.action);
        let tool = match runner(&found, &hands) {
            Ok(tool) => tool,
            Err(ending) => return *ending,
        };
        if let Some(reason) = &found.spec.unavailable {
            return ToolOutcome::unavailable(reason).into();
        }
        let latch = operation.hands.frame.latch.clone();
        if let Some(reversal) = started.reversal.clone().filter(|_| found.spec.name == UNDO) {
            return on_a_thread(move || take_back(reversal, &hands, &latch)).await;
        }
        let (preparing, its) = (Arc::clone(&tool), (params.clone(), hands.clone()));
        let prepared = tokio::task::spawn_blocking(move || preparing.prepare(&its.0, &its.1)).await;
        match prepared {
            Ok(Ok(None)) => {}
            Ok(Ok(Some(reversal))) => {
                if let Err(ending) = keep_way_back(started, &reversal, operation).await {
                    return *ending;
                }
            }
            Ok(Err(failure)) => return ToolOutcome::failed(failure).into(),
            Err(error) => {
                let why = format!("the tool crashed before it began: {error}");
                return Ending::failed(FailureKind::Failed, why);
            }
        }
        let sealed = started.sealed.clone();
        on_a_thread(move || match sealed.and_then(|sealed| Self::changed_since(&sealed, &hands)) {
            Some(changed) => not_begun(&changed),
            None => act(&*tool, &params, &hands, &latch),
        })
        .await
    }
}

/// An action on the agent itself. The room concerned hears of it.
fn of_itself(wish: OwnWish, started: &ExecutionStarted, operation: &Operation<Executor>) -> Ending {
    if let Err(stopped) = operation.hands.frame.latch.permit(EffectKind::Other) {
        return Ending::failed(FailureKind::Stopped, stopped.to_string());
    }
    let output = match wish {
        OwnWish::Sleep => {
            operation.say(RequestSleep { by: "itself".into() });
            json!({"sleeps": true})
        }
        OwnWish::Goal(title) => {
            let output = json!({"proposed": title});
            let (channel, sender) = (started.intent.channel.clone(), started.intent.recipient.clone());
            operation.say(GoalWished { wish: GoalWish::Adopt { title, channel, sender }, by: "itself".into() });
            output
        }
        OwnWish::Scene(scene) => {
            let output = json!({"scene": scene.title});
            operation.say(scene);
            output
        }
        OwnWish::Display(mode) => {
            operation.say(DisplaySet { mode });
            json!({"mode": mode})
        }
    };
    Ending { success: Some(true), output, error: None, failure: None, side_effects: Vec::new(), reward: None }
}

/// The tool's runner, or the ending of a call that can't run.
fn runner(found: &Registered, hands: &Hands) -> Result<Arc<dyn Tool>, Box<Ending>> {
    let name = &found.spec.name;
    let Runner::Here(tool) = &found.runner else {
        let why = format!("{name} is answered by the brain itself and can't be executed");
        return Err(Box::new(Ending::failed(FailureKind::BadParams, why)));
    };
    if hands.mode < found.spec.required_mode {
        let (needed, mode) = (found.spec.required_mode.as_str(), hands.mode.as_str());
        let why = format!("{name} needs {needed} mode; this is {mode} mode");
        return Err(Box::new(ToolOutcome::failed(ToolFailure::new(ErrorKind::Refused, why)).into()));
    }
    Ok(Arc::clone(tool))
}

/// The reversal is on disk before there is an effect.
async fn keep_way_back(
    started: &ExecutionStarted,
    reversal: &Reversal,
    operation: &Operation<Executor>,
) -> Result<(), Box<Ending>> {
    let failed = |why: String| Box::new(Ending::failed(FailureKind::Unavailable, why));
    let reversal = serde_json::to_value(reversal).map_err(|error| failed(format!("not begun: {error}")))?;
    let told = operation.say(ReversalPrepared { action: started.action, reversal });
    let lsn = told.ok_or_else(|| failed("not begun, because its reversal could not be stored".into()))?;
    let durable = operation.hands.durable(lsn).await;
    durable.map_err(|error| failed(format!("not begun, because its reversal could not be written: {error}")))
}

async fn on_a_thread(work: impl FnOnce() -> Ending + Send + 'static) -> Ending {
    match tokio::task::spawn_blocking(work).await {
        Ok(ending) => ending,
        Err(error) => {
            let why = format!("the tool crashed while it ran ({error}){NOT_KNOWN}");
            Ending { success: None, ..Ending::failed(FailureKind::Unknown, why) }
        }
    }
}

/// Nothing has begun, so nothing is learned from it. The gate asks again.
fn not_begun(changed: &str) -> Ending {
    let why = format!("not begun: {changed} changed since it was allowed; it is judged and asked about anew");
    Ending { output: json!({ CHANGED: changed }), ..Ending::failed(FailureKind::Unavailable, why) }
}

/// The latch is read here: after everything that takes time, right before the effect.
fn act(tool: &dyn Tool, params: &Json, hands: &Hands, latch: &StopLatch) -> Ending {
    let kind = if tool.is_motion() { EffectKind::Motion } else { EffectKind::Other };
    match latch.permit(kind) {
        Ok(permit) => tool.run(params, &permit, hands).into(),
        Err(stopped) => Ending::failed(FailureKind::Stopped, stopped.to_string()),
    }
}

fn take_back(reversal: Json, hands: &Hands, latch: &StopLatch) -> Ending {
    let reversal: Reversal = match serde_json::from_value(reversal) {
        Ok(reversal) => reversal,
        Err(error) => {
            return Ending::failed(FailureKind::Failed, format!("its reversal can't be read: {error}"));
        }
    };
    let kind = if reversal.is_motion() { EffectKind::Motion } else { EffectKind::Other };
    match latch.permit(kind) {
        Ok(permit) => undo(&reversal, &permit, hands).into(),
        Err(stopped) => Ending::failed(FailureKind::Stopped, stopped.to_string()),
    }
}

fn result(started: &ExecutionStarted, ending: Ending, duration_us: u64) -> ToolResult {
    ToolResult {
        action: started.action,
        intent: started.intent_id,
        turn: started.intent.turn,
        tool: started.called.clone().unwrap_or_else(|| started.intent.tool.clone()),
        params: started.intent.params.clone(),
        success: ending.success,
        output: ending.output,
        error: ending.error,
        failure: ending.failure,
        duration_us,
        side_effects: ending.side_effects,
        reward: ending.reward,
    }
}

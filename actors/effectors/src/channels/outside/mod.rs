//! Channels that reach outside: MQTT, Telegram, Slack, Twilio, Discord and e-mail.
//!
//! Each is an actor of the same kind around a [`Line`]: who may write, how it stands, and a [`Transport`], which is all
//! that differs. A line outlives its actor, and knows which attempts have left: what broke before is certainly not taken.
//! What comes in goes through the channel's desk, and is acknowledged to the outside
//! only when it is on disk; what goes out comes from the outbox, one attempt at a time. One thread keeps the connections.

mod address;
mod answers;
mod connected;
pub mod discord;
pub mod email;
mod hook;
mod inlet;
mod keys;
mod line;
pub mod mqtt;
mod signature;
pub mod slack;
pub mod telegram;
#[cfg(test)]
mod tests;
mod tls;
pub mod twilio;
mod twilio_form;

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use maxim_bus::latch::EffectKind;
use maxim_bus::signals::outbox::{Attempted, SendAttempted, SendMessage};
use maxim_bus::signals::percept::{Inbound, InboundAccepted};
use maxim_bus::{RegionName, Stage};

use super::{Channel, Desk};
use maxim_region::{Effector, EffectorCard, Operation, Performs};

pub use connected::{Connected, OutsideChannels};
pub use hook::{HookAnswer, HookRefused, HookRequest, Hooked};
pub use inlet::{Arrived, Inlet, Taken};
pub use keys::Channels;
pub use line::{Line, SenderPolicy};

/// What a channel does its own way.
pub trait Transport: Send + Sync {
    /// Where it leads, without anything secret.
    fn reached_by(&self) -> String;

    /// Sends once. What it tells decides whether it may be tried again, so "not now" is for what was certainly not taken.
    fn send<'a>(&'a self, message: &'a SendMessage) -> BoxFuture<'a, Attempted>;

    /// Brings in what comes, until it is dropped. For channels that fetch; the others are called at [`Transport::hook`].
    fn receive<'a>(&'a self, _inlet: &'a Inlet) -> Option<BoxFuture<'a, ()>> {
        None
    }

    /// Reads what the provider posted, after its signature was checked.
    ///
    /// # Errors
    /// It isn't the provider's, too old, or can't be read.
    fn hook(&self, _request: &HookRequest<'_>, _now: Timestamp) -> Result<Hooked, HookRefused> {
        Err(HookRefused::NotHere)
    }
}

/// The actor of a channel that reaches outside.
pub struct OutsideActor<C> {
    desk: Arc<Desk>,
    line: Arc<Line>,
    channel: PhantomData<C>,
}

impl<C: Channel> OutsideActor<C> {
    pub fn new(desk: Arc<Desk>, line: Arc<Line>) -> Self {
        Self { desk, line, channel: PhantomData }
    }
}

impl<C: Channel> Effector for OutsideActor<C> {
    const NAME: RegionName = C::ACTOR;
    const STAGE: Stage = Stage::Anywhere;
    const CONCURRENT: usize = 64;

    fn card() -> EffectorCard<Self> {
        EffectorCard::new()
            .performs::<InboundAccepted>()
            .performs::<SendMessage>()
            .says::<Inbound>()
            .says::<SendAttempted>()
    }

    fn deadline(&self) -> Duration {
        Duration::from_secs(90)
    }
}

impl<C: Channel> Performs<InboundAccepted> for OutsideActor<C> {
    async fn perform(self: Arc<Self>, accepted: InboundAccepted, operation: Operation<Self>) {
        self.desk.acknowledge(&accepted, &operation).await;
    }

    fn abandoned(accepted: &InboundAccepted, why: &str, operation: &Operation<Self>) {
        operation.effector.desk.acknowledgement_lost(accepted.inbound, why);
    }
}

impl<C: Channel> Performs<SendMessage> for OutsideActor<C> {
    async fn perform(self: Arc<Self>, message: SendMessage, operation: Operation<Self>) {
        if message.channel != C::CHANNEL {
            return;
        }
        let outcome = self.attempt(&message, &operation).await;
        self.line.attempted(&outcome);
        operation.say(told(&message, outcome));
    }

    fn abandoned(message: &SendMessage, why: &str, operation: &Operation<Self>) {
        if message.channel != C::CHANNEL {
            return;
        }
        let outcome = match operation.effector.line.has_left(message.entry, message.attempt) {
            true => Attempted::Unknown { why: format!("{why}; whether it was sent is not known") },
            false => Attempted::NotNow { why: format!("{why}, before it was sent"), retry_after_s: None },
        };
        operation.say(told(message, outcome));
    }
}

impl<C: Channel> OutsideActor<C> {
    async fn attempt(&self, message: &SendMessage, operation: &Operation<Self>) -> Attempted {
        let Some(transport) = self.line.transport() else {
            return Attempted::Refused { why: self.line.unconfigured() };
        };
        if let Err(error) = operation.hands.durable(operation.lsn).await {
            return Attempted::NotNow {
                why: format!("its beginning could not be written: {error}"),
                retry_after_s: None,
            };
        }
        // A newer incarnation reports it as abandoned.
        if !operation.hands.is_current() {
            return Attempted::NotNow {
                why: "its channel was restarted before it was sent".into(),
                retry_after_s: None,
            };
        }
        let permitted = operation.hands.frame.latch.permit(EffectKind::Other).map(|_permit| ());
        match permitted {
            // From here on it may have been taken.
            Ok(()) if self.line.leaves(message.entry, message.attempt) => transport.send(message).await,
            Ok(()) => Attempted::NotNow { why: "its channel had given it up".into(), retry_after_s: None },
            Err(stopped) => Attempted::Stopped { why: stopped.to_string() },
        }
    }
}

fn told(message: &SendMessage, outcome: Attempted) -> SendAttempted {
    SendAttempted { entry: message.entry, attempt: message.attempt, channel: message.channel.clone(), outcome }
}

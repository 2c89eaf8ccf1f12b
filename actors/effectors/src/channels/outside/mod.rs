//! Channels to the outside: MQTT, Telegram, Slack, Twilio, Discord and e-mail.
//!
//! Each is the same kind of actor around a [`Line`]: who may write, its state, and a [`Transport`], which contains all
//! differences. A line outlives its actor, and knows which attempts have left: an attempt that failed before leaving
//! was certainly not sent. Incoming messages go through the channel's desk, and are acknowledged to the outside only
//! when they are on disk. Outgoing messages come from the outbox, one attempt at a time. One thread keeps all
//! connections.

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

/// The part of a channel that differs from others.
pub trait Transport: Send + Sync {
    /// Where it leads, without secrets.
    fn reached_by(&self) -> String;

    /// Sends once. The result decides about a retry, so `NotNow` is only for messages that certainly weren't accepted.
    fn send<'a>(&'a self, message: &'a SendMessage) -> BoxFuture<'a, Attempted>;

    /// Brings in messages until it is dropped. For channels that fetch; the others are called at [`Transport::hook`].
    fn receive<'a>(&'a self, _inlet: &'a Inlet) -> Option<BoxFuture<'a, ()>> {
        None
    }

    /// Reads a provider's post, after checking its signature.
    ///
    /// # Errors
    /// It isn't from the provider, is too old, or can't be read.
    fn hook(&self, _request: &HookRequest<'_>, _now: Timestamp) -> Result<Hooked, HookRefused> {
        Err(HookRefused::NotHere)
    }
}

/// The actor of a channel to the outside.
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
            return Attempted::NotNow { why: format!("its start could not be stored: {error}"), retry_after_s: None };
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
            // From here on it may have been accepted.
            Ok(()) if self.line.leaves(message.entry, message.attempt) => transport.send(message).await,
            Ok(()) => Attempted::NotNow { why: "its channel had already given it up".into(), retry_after_s: None },
            Err(stopped) => Attempted::Stopped { why: stopped.to_string() },
        }
    }
}

fn told(message: &SendMessage, outcome: Attempted) -> SendAttempted {
    SendAttempted { entry: message.entry, attempt: message.attempt, channel: message.channel.clone(), outcome }
}

//! Channels: the ways in and out for words. Each is an actor of its own around a [`Desk`] that outlives it.

mod desk;
pub mod outside;
mod rooms;
#[cfg(test)]
mod tests;

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use maxim_bus::latch::EffectKind;
use maxim_bus::signals::outcome::Outbound;
use maxim_bus::signals::percept::{Inbound, InboundAccepted};
use maxim_bus::signals::thought::TurnEnded;
use maxim_bus::{RegionName, Stage};

pub use desk::{Accepted, Desk, Said, Submission};
pub use rooms::rooms;

use maxim_region::{Effector, EffectorCard, Operation, Performs};

/// One of the channels.
pub trait Channel: Send + Sync + 'static {
    /// The actor's name, e.g. `http_channel`.
    const ACTOR: RegionName;
    /// The channel's name in percepts, e.g. `http`.
    const CHANNEL: &'static str;
}

macro_rules! channels {
    ($($(#[$doc:meta])* $name:ident: $actor:literal, $channel:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl Channel for $name {
            const ACTOR: RegionName = $actor;
            const CHANNEL: &'static str = $channel;
        }
    )*};
}

channels! {
    /// The terminal on which the daemon runs.
    Console: "console_channel", "console";
    /// `POST /v1/percepts`.
    Http: "http_channel", "http";
    /// JSON over `GET /ws`.
    WebSocket: "websocket_channel", "websocket";
    /// A broker of messages.
    Mqtt: "mqtt_channel", "mqtt";
    /// A bot of Telegram.
    Telegram: "telegram_channel", "telegram";
    /// An app of Slack.
    Slack: "slack_channel", "slack";
    /// Text messages and calls.
    Twilio: "twilio_channel", "twilio";
    /// An application of Discord.
    Discord: "discord_channel", "discord";
    /// A mailbox.
    Email: "email_channel", "email";
}

/// The actor of a channel.
pub struct ChannelActor<C> {
    desk: Arc<Desk>,
    channel: PhantomData<C>,
}

impl<C: Channel> ChannelActor<C> {
    pub fn new(desk: Arc<Desk>) -> Self {
        Self { desk, channel: PhantomData }
    }
}

impl<C: Channel> Effector for ChannelActor<C> {
    const NAME: RegionName = C::ACTOR;
    const STAGE: Stage = Stage::Anywhere;
    const CONCURRENT: usize = 1024;

    fn card() -> EffectorCard<Self> {
        EffectorCard::new()
            .performs::<InboundAccepted>()
            .performs::<Outbound>()
            .performs::<TurnEnded>()
            .says::<Inbound>()
    }

    fn deadline(&self) -> Duration {
        Duration::from_secs(60)
    }
}

impl<C: Channel> Performs<InboundAccepted> for ChannelActor<C> {
    fn heeds(accepted: &InboundAccepted) -> bool {
        accepted.channel == C::CHANNEL
    }

    async fn perform(self: Arc<Self>, accepted: InboundAccepted, operation: Operation<Self>) {
        self.desk.acknowledge(&accepted, &operation).await;
    }

    fn abandoned(accepted: &InboundAccepted, why: &str, operation: &Operation<Self>) {
        operation.effector.desk.acknowledgement_lost(accepted.inbound, why);
    }
}

impl<C: Channel> Performs<Outbound> for ChannelActor<C> {
    fn heeds(outbound: &Outbound) -> bool {
        outbound.channel == C::CHANNEL
    }

    async fn perform(self: Arc<Self>, outbound: Outbound, operation: Operation<Self>) {
        if let Err(error) = operation.hands.durable(operation.lsn).await {
            tracing::warn!(%error, "words were not sent because they could not be made durable");
            return;
        }
        match operation.hands.frame.latch.permit(EffectKind::Other) {
            Ok(_permit) => self.desk.say(&outbound),
            Err(stopped) => tracing::info!(%stopped, "words were not sent"),
        }
    }

    fn abandoned(outbound: &Outbound, why: &str, _operation: &Operation<Self>) {
        tracing::warn!(turn = %outbound.turn, why, "words did not reach their channel; they are in the turn's why-record");
    }
}

impl<C: Channel> Performs<TurnEnded> for ChannelActor<C> {
    fn heeds(ended: &TurnEnded) -> bool {
        ended.channel == C::CHANNEL
    }

    async fn perform(self: Arc<Self>, ended: TurnEnded, operation: Operation<Self>) {
        match operation.hands.durable(operation.lsn).await {
            Ok(()) => self.desk.ended(ended),
            Err(error) => {
                tracing::warn!(%error, turn = %ended.turn, "a turn's end could not be made durable");
                self.desk.end_lost(ended.turn, &error.to_string());
            }
        }
    }

    fn abandoned(ended: &TurnEnded, why: &str, operation: &Operation<Self>) {
        operation.effector.desk.end_lost(ended.turn, why);
    }
}

//! The doors and desks of one agent, and how its effectors find them.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use maxim_language::stop_phrase::StopGrammar;
use maxim_region::Frame;

use crate::body::Body;
use crate::channels::{Channel, Console, Desk, Discord, Email, Http, Mqtt, Slack, Telegram, Twilio, WebSocket};
use crate::door::Door;

/// The doors and desks through which the outside reaches an agent.
#[derive(Clone)]
pub struct Outside {
    pub door: Arc<Door>,
    pub console: Arc<Desk>,
    pub http: Arc<Desk>,
    pub websocket: Arc<Desk>,
    /// The desks of the channels to the outside, by name.
    pub channels: Arc<BTreeMap<&'static str, Arc<Desk>>>,
}

impl Outside {
    pub fn new(frame: Frame, stop: StopGrammar, body: Body) -> Self {
        let door = Door::new(frame, stop, Box::new(move || body.moves()));
        let outside = [
            (Mqtt::CHANNEL, Mqtt::ACTOR),
            (Telegram::CHANNEL, Telegram::ACTOR),
            (Slack::CHANNEL, Slack::ACTOR),
            (Twilio::CHANNEL, Twilio::ACTOR),
            (Discord::CHANNEL, Discord::ACTOR),
            (Email::CHANNEL, Email::ACTOR),
        ];
        let channels = outside.map(|(name, actor)| (name, Desk::new(Arc::clone(&door), actor)));
        Self {
            console: Desk::new(Arc::clone(&door), Console::ACTOR),
            http: Desk::new(Arc::clone(&door), Http::ACTOR),
            websocket: Desk::new(Arc::clone(&door), WebSocket::ACTOR),
            channels: Arc::new(channels.into()),
            door,
        }
    }

    /// True if somebody outside waits for something from the agent.
    pub fn is_awaited(&self) -> bool {
        let mut desks = [&self.console, &self.http, &self.websocket].into_iter().chain(self.channels.values());
        self.door.is_awaited() || desks.any(|desk| desk.is_awaited())
    }

    /// The desk of a channel to the outside.
    pub fn desk(&self, channel: &str) -> Option<Arc<Desk>> {
        self.channels.get(channel).cloned()
    }
}

/// The doors and desks by which an agent's effectors reach the outside. They need the agent's bus, and the bus needs
/// the effectors' wires. So they are set after the effectors' places are known.
#[derive(Clone, Default)]
pub struct Doors(Arc<OnceLock<Outside>>);

impl Doors {
    pub fn open(&self, outside: &Outside) {
        // A kit is set only once.
        let _ = self.0.set(outside.clone());
    }

    /// Looked up whenever an effector is made.
    pub fn pick<T>(&self, which: impl Fn(&Outside) -> T + Send + Sync + 'static) -> Box<dyn Fn() -> T + Send + Sync> {
        let doors = Arc::clone(&self.0);
        Box::new(move || match doors.get() {
            Some(outside) => which(outside),
            None => unreachable!("effectors are made after their kit is seated"),
        })
    }
}

//! The parts of a room that outlive its incarnations.

use std::sync::Arc;

use maxim_bus::latch::StopLatch;
use maxim_bus::{AgentBus, AgentId, Inbox, SharedClock};
use parking_lot::Mutex;

use super::actor::RegionActor;
use super::{Card, Heart, Region, Supervision, Tap};
use maxim_store::AgentStore;

/// What all rooms of an agent share.
#[derive(Clone)]
pub struct Frame {
    pub agent: AgentId,
    pub bus: Arc<AgentBus>,
    pub store: AgentStore,
    pub clock: SharedClock,
    pub latch: StopLatch,
    /// The agent's seed for all random numbers, in every room.
    pub seed: u64,
    pub tap: Option<Arc<dyn Tap>>,
}

/// One region's card, mail, settings and heart.
pub struct Post<R: Region> {
    pub frame: Frame,
    pub inbox: Arc<Inbox>,
    pub card: Card<R>,
    pub settings: Arc<R::Settings>,
    pub heart: Arc<Heart>,
    pub supervision: Arc<Supervision>,
    /// Kept, because a supervised actor lives as long as its address exists.
    pub(super) address: Mutex<Option<actix::Addr<RegionActor<R>>>>,
}

impl<R: Region> Post<R> {
    pub fn new(
        frame: Frame,
        inbox: Arc<Inbox>,
        card: Card<R>,
        settings: impl Into<Arc<R::Settings>>,
        heart: Arc<Heart>,
        supervision: Arc<Supervision>,
    ) -> Arc<Self> {
        let settings = settings.into();
        Arc::new(Self { frame, inbox, card, settings, heart, supervision, address: Mutex::new(None) })
    }
}

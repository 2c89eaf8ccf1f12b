//! Wiring cards: what a room hears and emits, checked by the compiler and again by the bus.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::Arc;

use maxim_bus::{BusBuilder, Envelope, Inbox, Policy, RegionName, Signal, Stage};

use super::{Emits, Hears, Pulse, Region};

type Handler<R> = fn(&R, &Envelope, &mut Pulse<'_, R>);
type HearingWire = fn(&mut BusBuilder, &Arc<Inbox>, Stage, bool);
type EmittingWire = fn(&mut BusBuilder, RegionName, Stage);

/// One line of a card.
#[derive(Clone, Copy, Debug)]
pub struct Wire {
    pub signal: &'static str,
    pub stage: Stage,
    pub policy: Policy,
    /// Belongs to the next turn.
    pub back: bool,
}

/// What a room hears, with its handlers, and what it emits.
pub struct Card<R: Region> {
    handlers: BTreeMap<&'static str, Handler<R>>,
    hearing: Vec<(Wire, HearingWire)>,
    emitting: Vec<(Wire, EmittingWire)>,
    first: Vec<&'static str>,
    region: PhantomData<fn(R)>,
}

impl<R: Region> Default for Card<R> {
    fn default() -> Self {
        Self::new()
    }
}

impl<R: Region> Card<R> {
    pub fn new() -> Self {
        Self {
            handlers: BTreeMap::new(),
            hearing: Vec::new(),
            emitting: Vec::new(),
            first: Vec::new(),
            region: PhantomData,
        }
    }

    pub fn hears<S: Signal>(self) -> Self
    where
        R: Hears<S>,
    {
        self.hear_wire::<S>(false)
    }

    /// Hears `S` from a later stage. The message belongs to the next turn.
    pub fn hears_back<S: Signal>(self) -> Self
    where
        R: Hears<S>,
    {
        self.hear_wire::<S>(true)
    }

    /// Takes `S` before any data mail. For signals that free a resource that data mail fills.
    pub fn first<S: Signal>(mut self) -> Self
    where
        R: Hears<S>,
    {
        self.first.push(S::NAME);
        self
    }

    fn hear_wire<S: Signal>(mut self, back: bool) -> Self
    where
        R: Hears<S>,
    {
        self.handlers.insert(S::NAME, |region, envelope, pulse| {
            // Older recordings contain messages that are no longer delivered.
            if let Some(signal) = envelope.get::<S>().filter(|signal| R::heeds(signal)) {
                region.hear(signal, pulse);
            }
        });
        self.hearing.push((wire::<S>(back), |bus, inbox, stage, back| bus.heeds::<S>(inbox, stage, back, R::heeds)));
        self
    }

    pub fn emits<S: Signal>(mut self) -> Self
    where
        R: Emits<S>,
    {
        self.emitting.push((wire::<S>(false), |bus, emitter, stage| bus.emits::<S>(emitter, stage)));
        self
    }

    /// Registers the card with the bus and returns the room's inbox.
    pub fn enter(&self, bus: &mut BusBuilder) -> Arc<Inbox> {
        let inbox = bus.deciding_inbox(R::NAME, self.first.iter().copied());
        for (wire, hear) in &self.hearing {
            hear(bus, &inbox, R::STAGE, wire.back);
        }
        for (_, emit) in &self.emitting {
            emit(bus, R::NAME, R::STAGE);
        }
        inbox
    }

    pub fn heard(&self) -> impl Iterator<Item = Wire> + '_ {
        self.hearing.iter().map(|(wire, _)| *wire)
    }

    pub fn emitted(&self) -> impl Iterator<Item = Wire> + '_ {
        self.emitting.iter().map(|(wire, _)| *wire)
    }

    pub(super) fn handler(&self, signal: &str) -> Option<Handler<R>> {
        self.handlers.get(signal).copied()
    }
}

pub(super) fn wire<S: Signal>(back: bool) -> Wire {
    Wire { signal: S::NAME, stage: S::STAGE, policy: S::POLICY, back }
}

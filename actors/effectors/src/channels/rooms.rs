//! The rooms of all channels, as values.

use std::sync::Arc;

use maxim_region::{Placement, Room};

use super::outside::{OutsideActor, OutsideChannels};
use super::{Channel, ChannelActor, Console, Desk, Discord, Email, Http, Mqtt, Slack, Telegram, Twilio, WebSocket};
use crate::outside_doors::{Doors, Outside};

/// This machine's channels first, then those that reach outside.
pub fn rooms(doors: &Doors, channels: &Arc<OutsideChannels>) -> Vec<Room> {
    vec![
        here::<Console>(doors, |outside| &outside.console),
        here::<Http>(doors, |outside| &outside.http),
        here::<WebSocket>(doors, |outside| &outside.websocket),
        outside::<Mqtt>(doors, channels),
        outside::<Telegram>(doors, channels),
        outside::<Slack>(doors, channels),
        outside::<Twilio>(doors, channels),
        outside::<Discord>(doors, channels),
        outside::<Email>(doors, channels),
    ]
}

fn here<C: Channel>(doors: &Doors, desk: fn(&Outside) -> &Arc<Desk>) -> Room {
    let desk = doors.pick(move |outside| Arc::clone(desk(outside)));
    Room::acting(Placement::Pool, Box::new(move || ChannelActor::<C>::new(desk())))
}

fn outside<C: Channel>(doors: &Doors, channels: &Arc<OutsideChannels>) -> Room {
    let desk = doors.pick(|outside| outside.desk(C::CHANNEL));
    let line = channels.line(C::CHANNEL).cloned();
    let make = move || match (desk(), &line) {
        (Some(desk), Some(line)) => OutsideActor::<C>::new(desk, Arc::clone(line)),
        _ => unreachable!("every channel that reaches outside has a desk and a line"),
    };
    Room::acting(Placement::Pool, Box::new(make))
}

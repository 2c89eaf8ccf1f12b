//! Collects the rooms of an agent, wires them, and seats them.

use std::sync::Arc;
use std::time::Duration;

pub use maxim_actors::effectors::outside_doors::{Doors, Outside};
use maxim_actors::region::{Frame, Room, Seating, Supervision, Wired};
pub use maxim_actors::region::{Part, Seated, Waking};
use maxim_bus::{BusBuilder, RegionName};

/// The anatomy puts its rooms into this.
pub struct Kit {
    pub wires: BusBuilder,
    pub parts: Vec<Part>,
    /// Empty until the rooms are seated: effectors look here when they are made.
    pub outside: Doors,
    wakings: Vec<(RegionName, Waking)>,
    seatings: Vec<Seating>,
    /// How long a region may be busy with one message.
    deadline: Duration,
}

impl Kit {
    pub fn new(deadline: Duration) -> Self {
        let (wires, outside) = (BusBuilder::default(), Doors::default());
        Self { wires, parts: Vec::new(), outside, wakings: Vec::new(), seatings: Vec::new(), deadline }
    }

    /// Wires all rooms, in the order of the list. A room that stands behind a named room follows that room.
    pub fn furnish(&mut self, listed: Vec<Room>) {
        let rooms = placed(listed);
        self.parts = rooms.iter().map(|room| room.part.clone()).collect();
        for room in rooms {
            let name = room.part.name;
            let Wired { waking, seating } = room.wire(&mut self.wires, &self.parts, self.deadline);
            self.wakings.extend(waking.map(|waking| (name, waking)));
            self.seatings.push(seating);
        }
    }

    pub fn seat(self, frame: &Frame, supervision: &Arc<Supervision>, outside: &Outside) -> Vec<Seated> {
        self.outside.open(outside);
        self.seatings.into_iter().map(|seating| seating(frame, supervision)).collect()
    }

    /// How each region is woken, for recorders of its evidence.
    pub fn wakings(self) -> Vec<(RegionName, Waking)> {
        self.wakings
    }

    /// Takes the wires out, to build the bus that the frame needs.
    pub fn take_wires(&mut self) -> BusBuilder {
        std::mem::take(&mut self.wires)
    }
}

/// The rooms in their order. A room whose named neighbour is missing comes last.
fn placed(listed: Vec<Room>) -> Vec<Room> {
    let (named, mut rooms): (Vec<_>, Vec<_>) = listed.into_iter().partition(|room| room.behind.is_some());
    for room in named {
        let neighbour = rooms.iter().position(|other: &Room| Some(other.part.name) == room.behind);
        rooms.insert(neighbour.map_or(rooms.len(), |at| at + 1), room);
    }
    rooms
}

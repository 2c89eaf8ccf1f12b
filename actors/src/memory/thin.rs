//! Rooms of memory that run but aren't built out.

use crate::thin_room;

thin_room! {
    /// The layers of memory as one: sessions, sleep, knowledge.
    MemoryHub, "memory_hub", Memory
}

//! Where the brain keeps what it knows.

use std::path::PathBuf;

use super::{ByteCount, Shape, Span};
use maxim_config::{choice, section};

choice! {
    /// What keeps the store.
    StoreEngine {
        Sled = "sled",
        Redb = "redb",
        /// Nothing is on disk, so everything is gone with the process.
        Memory = "memory",
    }
}

section! {
    /// Where the brain keeps what it knows.
    Store = "store" {
        /// The data folder: store, recordings, backups, latch, lock. Not set is $XDG_STATE_HOME/maxim, else
        /// ~/.local/state/maxim.
        data: Option<PathBuf> = "", "", Shape::Path;
        /// The database: sled, redb, or memory, with which everything is forgotten when the process ends. A folder that
        /// another one made is refused; `maxim memory convert` copies it over.
        engine: StoreEngine = "sled", "", Shape::Choice(StoreEngine::WORDS);
        /// Memory for pages of the database.
        cache: ByteCount = "32 MiB", "bytes", Shape::Size { low: "1 MiB", high: "64 GiB" };
        /// A backup is made in the data folder when the newest is this old; 0s makes none by itself.
        backup_every: Span = "1day", "time", Shape::Span { low: "0s", high: "365days" };
        /// Backups that stay in the data folder; the oldest go first.
        backup_keep: u32 = "3", "backups", Shape::Integer { low: 1, high: 1000 };
    }
}

//! Where the brain keeps what it knows.

use std::path::PathBuf;

use super::field::section;
use super::{ByteCount, Shape};

section! {
    /// Where the brain keeps what it knows.
    Store = "store" {
        /// The data folder: store, recordings, backups, latch, lock. Not set is $XDG_STATE_HOME/maxim, else
        /// ~/.local/state/maxim.
        data: Option<PathBuf> = "", "", Shape::Path;
        /// Memory for pages of the database.
        cache: ByteCount = "16 MiB", "bytes", Shape::Size { low: "1 MiB", high: "64 GiB" };
    }
}

//! Files and folders that only this user can read, because they hold memories.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Creates a folder, and missing folders above it. An existing folder keeps its mode.
pub fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Options for a file that is read and written, and created if missing.
pub fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    options
}

/// Creates an empty file.
pub fn create(path: &Path) -> io::Result<File> {
    options().truncate(true).open(path)
}

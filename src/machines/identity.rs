//! Which machine this is: an id in the data folder, held by one process at a time.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::MetadataExt;

use uuid::Uuid;

use crate::cli::{CliError, Exit};
use crate::data_folder::{DataFolder, private_file};

/// The id, held as long as this process lives.
pub struct Identity {
    pub id: Uuid,
    /// For people.
    pub host: String,
    /// Where the id lies, and since which start of the machine: a copied folder is another machine.
    pub place: String,
    /// The lock proves that no other process is this machine.
    _file: File,
}

impl Identity {
    /// Takes the id; makes one in a new folder.
    ///
    /// # Errors
    /// Another process has it, or the folder can't be used.
    pub fn take(folder: &DataFolder) -> Result<Self, CliError> {
        let path = folder.machine();
        let unusable = |error: std::io::Error| {
            let found = format!("the machine's own file {} can't be used: {error}", path.display());
            CliError::new(
                Exit::TryAgain,
                found,
                "check its permissions and the disk, or name another folder with --data",
            )
        };
        folder.make().map_err(unusable)?;
        let mut file = private_file().read(true).truncate(false).open(&path).map_err(unusable)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let found = format!("another process runs or waits in the data folder {}", folder.path().display());
                return Err(CliError::new(Exit::TryAgain, found, "stop that process, or name another with --data"));
            }
            Err(TryLockError::Error(error)) => return Err(unusable(error)),
        }
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(unusable)?;
        let id = match Uuid::parse_str(text.trim()) {
            Ok(id) => id,
            // A machine with a new id waits until the lease of the old one ends. Nothing is lost.
            Err(_) => {
                let id = Uuid::now_v7();
                file.rewind().map_err(unusable)?;
                file.set_len(0).map_err(unusable)?;
                writeln!(file, "{id}").and_then(|()| file.sync_all()).map_err(unusable)?;
                id
            }
        };
        let there = file.metadata().map_err(unusable)?;
        let booted = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let place = format!("{}/{}/{}", booted.trim(), there.dev(), there.ino());
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned();
        Ok(Self { id, host: if host.is_empty() { "unknown".into() } else { host }, place, _file: file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stays_the_same_and_is_held_by_one() {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = DataFolder::new(dir.path().join("data"));
        let first = Identity::take(&folder).expect("taken");
        let second = Identity::take(&folder).map(|_| ()).expect_err("it is held");
        assert!(second.to_string().contains("another process"), "{second}");
        let (id, place) = (first.id, first.place.clone());
        drop(first);
        let again = Identity::take(&folder).expect("taken");
        assert_eq!((again.id, &again.place), (id, &place));
        let copied = DataFolder::new(dir.path().join("copied"));
        std::fs::create_dir(copied.path()).expect("made");
        std::fs::copy(folder.machine(), copied.machine()).expect("copied");
        let copied = Identity::take(&copied).expect("taken");
        assert!(copied.id == id && copied.place != place, "it lies elsewhere");
        drop(again);
        std::fs::write(folder.machine(), "nonsense").expect("written");
        assert_ne!(Identity::take(&folder).expect("taken").id, id);
    }
}

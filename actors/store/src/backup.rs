//! Backups: one file with all data of the engine, readable without it, and a copy of the pack's live blocks.

use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::codec::{Reader, Writer, sum, unseal};
use super::committer::SERIAL;
use super::engine::{Batch, Engine, EngineKind};
use super::error::{EngineError, NotDurable, StoreError};
use super::folder::Folder;
use super::keys;
use super::open::FORMAT_VERSION;
use super::pack::{Pack, Pointer};
use super::private;
use super::repair::live_extents;
use super::shared::Shared;

const MAGIC: &[u8; 8] = b"MXMDUMP1";
const DUMP: &str = "dump";
pub const PACK: &str = "pack";
/// Bytes of entries under one checksum.
const SECTION: usize = 256 << 10;
/// A longer section is damaged.
const SECTION_LIMIT: u32 = 4 << 20;
/// How long a backup or a compaction waits for the committer.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// The result of a backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupReport {
    pub place: PathBuf,
    pub keys: u64,
    pub bytes: u64,
    /// Unreadable blocks, which are missing in the copy.
    pub damaged_blocks: u64,
}

/// Copies the store's data on disk at one moment, while the store goes on.
pub fn backup(shared: &Arc<Shared>, to: &Path) -> Result<BackupReport, StoreError> {
    let Some(pack) = shared.pack() else { return Err(StoreError::InMemory("back up")) };
    if fs::read_dir(to).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(StoreError::NotEmpty(to.to_owned()));
    }
    if let Some(why) = shared.trouble.degraded() {
        return Err(NotDurable::Degraded(why).into());
    }
    let copied = copy_into(shared, &pack, to);
    if copied.is_err() {
        // An unfinished copy is useless, and must not be taken for a backup.
        let _ = [to.join("dump.part"), to.join(PACK)].map(fs::remove_file);
        let _ = fs::remove_dir(to);
    }
    copied
}

fn copy_into(shared: &Arc<Shared>, pack: &Pack, to: &Path) -> Result<BackupReport, StoreError> {
    let bad = |error: std::io::Error| StoreError::folder(to, &error);
    private::make_folder(to).map_err(bad)?;
    let busy = || StoreError::Engine(EngineError::Io("the store is busy with the disk; try again later".into()));
    // Locked to the end, so that no block is freed before it is copied.
    let packing = shared.packing.try_lock_for(PATIENCE).ok_or_else(busy)?;
    let (extents, keys) = {
        let _gate = shared.gate.try_lock_for(PATIENCE).ok_or_else(busy)?;
        let engine = shared.backing().ok_or(StoreError::Closed)?;
        let extents = live_extents(shared, &*engine, pack, &packing)?;
        (extents, dump(&*engine, &to.join("dump.part"))?)
    };
    let copy = private::create(&to.join(PACK)).map_err(bad)?;
    let (mut bytes, mut damaged_blocks) = (0, 0);
    for extent in extents {
        match pack.read_stored(extent) {
            Ok(block) => {
                bytes += block.len() as u64;
                copy.write_all_at(&block, extent.offset).map_err(bad)?;
            }
            Err(_) => damaged_blocks += 1,
        }
    }
    copy.sync_all().map_err(bad)?;
    fs::rename(to.join("dump.part"), to.join(DUMP)).map_err(bad)?;
    File::open(to).and_then(|folder| folder.sync_all()).map_err(bad)?;
    bytes += fs::metadata(to.join(DUMP)).map_or(0, |data| data.len());
    Ok(BackupReport { place: to.to_owned(), keys, bytes, damaged_blocks })
}

/// True if the backup was finished: an earlier process may have died during one.
pub fn is_finished(place: &Path) -> bool {
    place.join(DUMP).exists()
}

fn dump(engine: &dyn Engine, path: &Path) -> Result<u64, StoreError> {
    let bad = |error: std::io::Error| StoreError::folder(path, &error);
    let mut file = BufWriter::new(private::create(path).map_err(bad)?);
    file.write_all(MAGIC).map_err(bad)?;
    let (mut section, mut count, mut failed) = (Writer::default(), 0u64, None);
    engine.scan(&[], None, &mut |key, value| {
        section.u8(1);
        section.bytes(key);
        section.bytes(value);
        count += 1;
        if section.0.len() >= SECTION {
            failed = write_section(&mut file, &std::mem::take(&mut section.0)).err();
        }
        failed.is_none()
    })?;
    section.u8(0);
    section.varint(count);
    if let Some(error) = failed {
        return Err(bad(error));
    }
    write_section(&mut file, &section.0).map_err(bad)?;
    file.into_inner().map_err(|error| bad(error.into_error()))?.sync_all().map_err(bad)?;
    Ok(count)
}

fn write_section(file: &mut impl Write, body: &[u8]) -> std::io::Result<()> {
    let length = u32::try_from(body.len()).unwrap_or(u32::MAX).to_le_bytes();
    file.write_all(&length)?;
    file.write_all(&sum(&length, body).to_le_bytes())?;
    file.write_all(body)
}

/// Fills an empty engine from a backup. Fails if the backup has another format, or if any part of its dump isn't as it was
/// written.
pub fn import(from: &Path, engine: &dyn Engine) -> Result<(), StoreError> {
    read_dump(from, &mut |batch| Ok(engine.apply(&batch)?))?;
    let format = keys::get_number(engine, keys::FORMAT)?.unwrap_or(0);
    if format != u64::from(FORMAT_VERSION) {
        let why = format!("it has format {format}, this program reads format {FORMAT_VERSION} alone");
        return Err(StoreError::BadBackup { path: from.to_owned(), why });
    }
    Ok(engine.sync()?)
}

/// The last batch in a backup; `None` if the backup is unusable.
pub fn serial(from: &Path) -> Option<u64> {
    let sealed = value_in(from, SERIAL).ok()??;
    Reader(unseal(SERIAL, &sealed)?).u64()
}

/// The value of a key in a backup.
pub fn value_in(from: &Path, wanted: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
    let mut found = None;
    let visit = &mut |batch: Batch| {
        for (key, value) in batch.0 {
            if key == wanted {
                found = value;
            }
        }
        Ok(())
    };
    read_dump(from, visit)?;
    Ok(found)
}

/// Passes on a dump, section by section, each after its check.
fn read_dump(from: &Path, visit: &mut dyn FnMut(Batch) -> Result<(), StoreError>) -> Result<(), StoreError> {
    let bad = |why: &str| StoreError::BadBackup { path: from.to_owned(), why: why.to_owned() };
    // An error of the system says nothing about the backup.
    let unread = |error: std::io::Error, cut: &str| match EngineError::from(error) {
        EngineError::Damaged(_) => bad(cut),
        refused => refused.into(),
    };
    let mut file = BufReader::new(File::open(from.join(DUMP)).map_err(|error| unread(error, "it has no dump"))?);
    let mut magic = [0; MAGIC.len()];
    file.read_exact(&mut magic).map_err(|error| unread(error, "its dump has no head"))?;
    if &magic != MAGIC {
        return Err(bad("its dump has no head"));
    }
    let mut count = 0;
    loop {
        let cut = "its dump is cut off or changed";
        let body = read_section(&mut file).map_err(|error| unread(error, cut))?.ok_or_else(|| bad(cut))?;
        let mut reader = Reader(&body);
        let mut batch = Batch::default();
        while let Some(1) = reader.u8() {
            let entry = reader.bytes().zip(reader.bytes());
            let (key, value) = entry.ok_or_else(|| bad("its dump makes no sense"))?;
            batch.put(key.to_vec(), value.to_vec());
            count += 1;
        }
        visit(batch)?;
        // Only the last section has data after its entries.
        if let Some(expected) = reader.varint() {
            return if expected == count { Ok(()) } else { Err(bad("its dump is incomplete")) };
        }
    }
}

/// `None` for a section that isn't as it was written.
fn read_section(file: &mut impl Read) -> std::io::Result<Option<Vec<u8>>> {
    let mut head = [0; 8];
    file.read_exact(&mut head)?;
    let mut reader = Reader(&head);
    let Some((length, expected)) = reader.u32().zip(reader.u32()).filter(|(length, _)| *length <= SECTION_LIMIT) else {
        return Ok(None);
    };
    let mut body = vec![0; length as usize];
    file.read_exact(&mut body)?;
    Ok((sum(&length.to_le_bytes(), &body) == expected).then_some(body))
}

/// The packs of backups, newest first. A block that is damaged here may be intact there, at the same offset.
pub struct OtherPacks(Vec<Pack>);

impl OtherPacks {
    pub fn of(folder: Option<&Folder>) -> Self {
        let places = folder.map_or_else(Vec::new, |folder| folder.backups().unwrap_or_default());
        let open = |place: PathBuf| {
            let path = place.join(PACK);
            path.exists().then(|| Pack::read_only(&path).ok()).flatten()
        };
        Self(places.into_iter().filter_map(open).collect())
    }

    /// The block in its form in the file.
    pub fn find(&self, at: Pointer) -> Option<Vec<u8>> {
        self.0.iter().find_map(|pack| pack.read_stored(at).ok())
    }
}

/// A backup in a store's own folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupFound {
    pub number: u64,
    pub place: PathBuf,
    /// When it was finished, by the file system; `None` if it wasn't.
    pub made: Option<Timestamp>,
    pub bytes: u64,
}

/// When a backup was finished, by the file system; `None` if it wasn't.
pub fn made(place: &Path) -> Option<Timestamp> {
    Timestamp::try_from(fs::metadata(place.join(DUMP)).ok()?.modified().ok()?).ok()
}

/// The backups in a store's folder, newest first. Needs no lock, because a finished one never changes.
pub fn found(store: &Path) -> Vec<BackupFound> {
    let mut all: Vec<BackupFound> = super::folder::numbered(&store.join("backups"), "")
        .unwrap_or_default()
        .into_iter()
        .map(|(number, place)| BackupFound {
            number,
            made: made(&place),
            bytes: super::sled_engine::folder_size(&place),
            place,
        })
        .collect();
    all.reverse();
    all
}

/// The result of a restoration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoreReport {
    pub bytes: u64,
    /// Where the previous store is now, unchanged.
    pub set_aside: Option<PathBuf>,
}

/// Makes a store from a backup, in a folder without a store.
pub fn restore(from: &Path, to: &Path) -> Result<RestoreReport, StoreError> {
    let (folder, _) = Folder::lock(to)?;
    if !folder.generations()?.is_empty() || folder.has_pack()? {
        return Err(StoreError::NotEmpty(to.to_owned()));
    }
    put_in_place(from, &folder, EngineKind::default(), super::engine::PAGE_CACHE)
}

/// Replaces a folder's store with a backup. After a crash, one or the other is there.
pub fn replace(from: &Path, to: &Path, kind: EngineKind, page_cache: u64) -> Result<RestoreReport, StoreError> {
    if kind == EngineKind::Memory {
        return Err(StoreError::InMemory("restore"));
    }
    let (folder, _) = Folder::lock(to)?;
    put_in_place(from, &folder, kind, page_cache)
}

fn put_in_place(from: &Path, folder: &Folder, kind: EngineKind, page_cache: u64) -> Result<RestoreReport, StoreError> {
    let bad = |error: std::io::Error| StoreError::folder(&folder.path, &error);
    let before = folder.generations()?;
    let generation = before.first().map_or(0, |(newest, _)| *newest) + 1;
    let engine = folder.begin_generation(generation, kind, page_cache)?;
    let (beside, copied) = (folder.pack().with_extension("new"), from.join(PACK));
    let filled = import(from, &*engine)
        .and_then(|()| if copied.exists() { copy_sparse(&copied, &beside).map_err(bad) } else { Ok(()) });
    if let Err(error) = filled {
        drop(engine);
        folder.remove_generation(generation);
        let _ = fs::remove_file(&beside);
        return Err(error);
    }
    // The backup was made while a process ran; as the end of a run it counts as orderly.
    let serial = keys::get_number(&*engine, SERIAL)?.unwrap_or(0);
    let mut clean = Batch::default();
    keys::put_number(&mut clean, keys::CLEAN, serial);
    engine.apply(&clean)?;
    engine.sync()?;
    let bytes = engine.size_on_disk();
    drop(engine);
    // Otherwise the next start would believe that the newest part is lost.
    folder.mark(serial);
    let old: Vec<PathBuf> = before.iter().map(|(number, _)| folder.engine(*number)).chain([folder.pack()]).collect();
    let set_aside = match old.iter().any(|part| part.exists()) {
        true => Some(folder.quarantine(&old, false)?),
        false => None,
    };
    if beside.exists() {
        fs::rename(&beside, folder.pack()).map_err(bad)?;
    }
    folder.complete_generation(generation)?;
    let pack = fs::metadata(folder.pack()).map_or(0, |data| data.len());
    Ok(RestoreReport { bytes: bytes + pack, set_aside })
}

/// Skips pages of zeros, so that the pack's holes stay holes.
fn copy_sparse(from: &Path, to: &Path) -> std::io::Result<()> {
    let source = File::open(from)?;
    let target = private::create(to)?;
    let length = source.metadata()?.len();
    target.set_len(length)?;
    let mut page = vec![0; 64 << 10];
    let mut at = 0;
    while at < length {
        let size = source.read_at(&mut page, at)?;
        if size == 0 {
            break;
        }
        if page[..size].iter().any(|byte| *byte != 0) {
            target.write_all_at(&page[..size], at)?;
        }
        at += size as u64;
    }
    target.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory_engine::MemoryEngine;

    #[test]
    fn a_backup_of_another_format_is_refused() {
        let home = tempfile::tempdir().expect("a folder");
        let dumped = |format: u64| {
            let (engine, mut batch) = (MemoryEngine::default(), Batch::default());
            keys::put_number(&mut batch, keys::FORMAT, format);
            engine.apply(&batch).expect("applies");
            dump(&engine, &home.path().join(DUMP)).expect("written");
            import(home.path(), &MemoryEngine::default())
        };
        let own = u64::from(FORMAT_VERSION);
        dumped(own).expect("this program's own");
        for other in [own - 1, own + 1] {
            let refused = dumped(other).expect_err("another").to_string();
            assert!(refused.contains(&format!("has format {other}, this program reads format {own}")), "{refused}");
        }
    }
}

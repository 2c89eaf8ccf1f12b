//! Copies of the whole store beside its journal. A new machine starts from the newest copy. The journal keeps only what
//! comes after the older of two copies.
//!
//! A copy is two objects: the blocks of the pack, each stretch after its place and length, and then the database. A
//! copy without its database was never finished.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};

use async_nats::jetstream::object_store::{self, ObjectStore};
use futures_util::StreamExt;
use maxim_actors::store::{self, Position};
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};
use uuid::Uuid;

use super::connection::{Nats, in_full};
use crate::data_folder::{private_file, private_folder};

/// How many copies are kept.
const KEPT: usize = 2;
/// The files of a backup, see `StateStore::backup`.
const DUMP: &str = "dump";
const PACK: &str = "pack";

/// A complete copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Copied {
    /// The last entry of the journal that is in it.
    pub sequence: u64,
    pub bytes: u64,
}

fn name(history: Uuid, sequence: u64, part: &str) -> String {
    format!("{history}/{sequence:020}/{part}")
}

async fn bucket(nats: &Nats) -> Result<ObjectStore, String> {
    let name = nats.names.copies();
    if let Ok(bucket) = nats.jetstream.get_object_store(name.as_str()).await {
        return Ok(bucket);
    }
    let config = object_store::Config {
        bucket: name,
        description: Some("copies of an agent's store".into()),
        num_replicas: nats.replicas,
        ..object_store::Config::default()
    };
    nats.jetstream.create_object_store(config).await.map_err(|error| in_full(&error))
}

/// The copies of a history, oldest first.
///
/// # Errors
/// The server doesn't answer.
pub fn found(nats: &Nats, history: Uuid) -> Result<Vec<Copied>, String> {
    nats.wait(async {
        let bucket = bucket(nats).await?;
        let mut list = bucket.list().await.map_err(|error| in_full(&error))?;
        let (mut dumps, mut packs) = (Vec::new(), std::collections::HashMap::new());
        while let Some(info) = list.next().await {
            let info = info.map_err(|error| in_full(&error))?;
            let Some(rest) = info.name.strip_prefix(&format!("{history}/")) else { continue };
            let Some((Ok(sequence), part)) = rest.split_once('/').map(|(at, part)| (at.parse::<u64>(), part)) else {
                continue;
            };
            match part {
                DUMP => dumps.push((sequence, info.size as u64)),
                _ => drop(packs.insert(sequence, info.size as u64)),
            }
        }
        let whole =
            |(sequence, bytes): (u64, u64)| packs.get(&sequence).map(|pack| Copied { sequence, bytes: bytes + pack });
        let mut found: Vec<Copied> = dumps.into_iter().filter_map(whole).collect();
        found.sort_unstable();
        Ok(found)
    })
}

/// Puts a backup there and removes older copies, except one. Returns the new copy and the oldest that is kept.
///
/// # Errors
/// The backup has no history, or the server refuses it. Then the older copies stay.
pub fn put(nats: &Nats, backup: &Path) -> Result<(Copied, Copied), String> {
    let position = Position::of_backup(backup).map_err(|error| error.to_string())?;
    let Position { history, sequence } = position.ok_or("the copy is of no history")?;
    let unreadable = |error: io::Error| format!("the copy can't be read: {error}");
    nats.wait(async {
        let bucket = bucket(nats).await?;
        let mut send = Sending::pack(&backup.join(PACK)).map_err(unreadable)?;
        let pack = name(history, sequence, PACK);
        bucket.put(pack.as_str(), &mut send).await.map_err(|error| in_full(&error))?;
        let mut send = Sending::file(&backup.join(DUMP)).map_err(unreadable)?;
        let dump = name(history, sequence, DUMP);
        bucket.put(dump.as_str(), &mut send).await.map_err(|error| in_full(&error))?;
        Ok::<_, String>(())
    })?;
    let all = found(nats, history)?;
    let own = *all.iter().find(|copied| copied.sequence == sequence).ok_or("the copy was sent and isn't there")?;
    let older: Vec<Copied> = all.into_iter().filter(|copied| copied.sequence <= sequence).collect();
    let stay = older.len().saturating_sub(KEPT);
    nats.wait(async {
        let bucket = bucket(nats).await?;
        for gone in &older[..stay] {
            // The database first: without it the rest doesn't count.
            for part in [DUMP, PACK] {
                bucket.delete(name(history, gone.sequence, part)).await.map_err(|error| in_full(&error))?;
            }
        }
        Ok::<_, String>(())
    })?;
    Ok((own, older.get(stay).copied().unwrap_or(own)))
}

/// Fetches a copy into an empty folder, as a backup.
///
/// # Errors
/// The server doesn't give it, or the disk doesn't accept it.
pub fn fetch(nats: &Nats, history: Uuid, copied: Copied, into: &Path) -> Result<(), String> {
    let untaken = |error: io::Error| format!("{} can't be written: {error}", into.display());
    private_folder().create(into).map_err(untaken)?;
    nats.wait(async {
        let bucket = bucket(nats).await?;
        for part in [PACK, DUMP] {
            let object = bucket.get(name(history, copied.sequence, part)).await;
            let mut object = object.map_err(|error| in_full(&error))?;
            let file = private_file().truncate(true).open(into.join(part)).map_err(untaken)?;
            let mut receiving = Receiving::new(file, part == PACK);
            let mut chunk = vec![0; 256 << 10];
            loop {
                // The digest is checked when the last part arrives.
                let size = object.read(&mut chunk).await.map_err(|error| format!("the copy {part}: {error}"))?;
                if size == 0 {
                    break;
                }
                receiving.write_all(&chunk[..size]).map_err(untaken)?;
            }
            receiving.finish().map_err(untaken)?;
        }
        Ok(())
    })
}

/// A file that is being sent: all of it, or its non-empty stretches, each after place and length.
struct Sending {
    file: File,
    stretches: std::vec::IntoIter<(u64, u64)>,
    head: io::Cursor<Vec<u8>>,
    at: u64,
    to: u64,
}

impl Sending {
    fn file(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let to = file.metadata()?.len();
        Ok(Self { file, stretches: Vec::new().into_iter(), head: io::Cursor::default(), at: 0, to })
    }

    fn pack(path: &Path) -> io::Result<Self> {
        let stretches = store::extents(path)?.into_iter();
        Ok(Self { file: File::open(path)?, stretches, head: io::Cursor::default(), at: 0, to: 0 })
    }
}

impl Read for Sending {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let size = Read::read(&mut self.head, into)?;
        if size > 0 {
            return Ok(size);
        }
        if self.at == self.to {
            let Some((from, to)) = self.stretches.next() else { return Ok(0) };
            self.head = io::Cursor::new([from.to_le_bytes(), (to - from).to_le_bytes()].concat());
            (self.at, self.to) = (from, to);
            return Read::read(&mut self.head, into);
        }
        let left = usize::try_from(self.to - self.at).unwrap_or(usize::MAX).min(into.len());
        let size = self.file.read_at(&mut into[..left], self.at)?;
        if size == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.at += size as u64;
        Ok(size)
    }
}

impl AsyncRead for Sending {
    /// Blocks on the disk: this thread does nothing else.
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let size = Read::read(&mut *self, buffer.initialize_unfilled())?;
        buffer.advance(size);
        Poll::Ready(Ok(()))
    }
}

/// The other end of [`Sending`].
struct Receiving {
    file: File,
    has_stretches: bool,
    head: Vec<u8>,
    at: u64,
    left: u64,
}

const HEAD: usize = 16;

impl Receiving {
    fn new(file: File, has_stretches: bool) -> Self {
        Self { file, has_stretches, head: Vec::new(), at: 0, left: 0 }
    }

    fn finish(self) -> io::Result<()> {
        if self.has_stretches && (self.left > 0 || !self.head.is_empty()) {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the copy ends early"));
        }
        self.file.sync_all()
    }
}

impl Write for Receiving {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        if !self.has_stretches {
            return self.file.write(from);
        }
        if self.left == 0 {
            let taken = (HEAD - self.head.len()).min(from.len());
            self.head.extend_from_slice(&from[..taken]);
            if let Ok(head) = <[u8; HEAD]>::try_from(self.head.as_slice()) {
                let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| head[at + byte]));
                (self.at, self.left) = (number(0), number(8));
                self.head.clear();
            }
            return Ok(taken);
        }
        let size = usize::try_from(self.left).unwrap_or(usize::MAX).min(from.len());
        self.file.write_all_at(&from[..size], self.at)?;
        (self.at, self.left) = (self.at + size as u64, self.left - size as u64);
        Ok(size)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_pack_with_holes_arrives_as_it_was_in_whatever_pieces() {
        let dir = tempfile::tempdir().expect("a folder");
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        let file = File::create(&from).expect("a file");
        let noise: Vec<u8> = (0..70_000u32).map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()[3]).collect();
        for at in [0, 1 << 20, 9 << 20] {
            file.write_all_at(&noise, at).expect("written");
        }
        for piece in [1usize, 7, 16, 4096, 1 << 20] {
            let mut sending = Sending::pack(&from).expect("opens");
            let mut receiving = Receiving::new(File::create(&to).expect("a file"), true);
            let (mut chunk, mut sent) = (vec![0; piece], 0);
            loop {
                let size = Read::read(&mut sending, &mut chunk).expect("reads");
                if size == 0 {
                    break;
                }
                sent += size;
                receiving.write_all(&chunk[..size]).expect("writes");
            }
            receiving.finish().expect("whole");
            assert_eq!(fs::read(&to).expect("there"), fs::read(&from).expect("there"), "pieces of {piece}");
            assert!(sent < 1 << 20, "holes stay at home: {sent}");
        }
        let mut broken = Receiving::new(File::create(&to).expect("a file"), true);
        broken.write_all(&[0; 20]).expect("writes");
        broken.write_all(&[1; 12]).expect("writes");
        assert!(broken.finish().is_err(), "what ends early is no copy");
    }
}

//! Opens and replaces files by a path that was judged before. It doesn't follow a link that has appeared since.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, fchmod, fstat, fsync, mkdirat, openat, renameat, unlinkat};
use rustix::io::Errno;

use crate::{ErrorKind, ToolFailure};

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A file's place: its open folder, and its name in that folder.
#[derive(Debug)]
pub struct Place {
    folder: OwnedFd,
    name: std::ffi::OsString,
    path: PathBuf,
    /// Folders that were created on the way.
    pub made: Vec<PathBuf>,
}

fn failure(doing: &str, path: &Path, error: Errno) -> ToolFailure {
    // O_NOFOLLOW answers a link with ELOOP, together with O_DIRECTORY with ENOTDIR.
    if error == Errno::LOOP {
        let message = format!("{doing} {}: a link has taken its place since it was checked", path.display());
        return ToolFailure::new(ErrorKind::Refused, message);
    }
    ToolFailure::io(doing, path, &io::Error::from(error))
}

/// Opens the folder that holds `path`, step by step without following links. With `make` it creates missing folders.
pub fn place(path: &Path, make: bool) -> Result<Place, ToolFailure> {
    let name = path
        .file_name()
        .ok_or_else(|| ToolFailure::new(ErrorKind::InvalidParameters, format!("{} names no file", path.display())))?;
    let mut folder =
        openat(CWD, "/", FOLDER, Mode::empty()).map_err(|error| failure("can't open", Path::new("/"), error))?;
    let mut so_far = PathBuf::from("/");
    let mut made = Vec::new();
    for component in path.parent().unwrap_or(Path::new("/")).components() {
        let Component::Normal(step) = component else { continue };
        so_far.push(step);
        folder = match openat(&folder, step, FOLDER, Mode::empty()) {
            Err(Errno::NOENT) if make => {
                match mkdirat(&folder, step, Mode::from_raw_mode(0o777)) {
                    Ok(()) => made.push(so_far.clone()),
                    Err(Errno::EXIST) => {}
                    Err(error) => return Err(failure("can't make the folder", &so_far, error)),
                }
                openat(&folder, step, FOLDER, Mode::empty())
            }
            opened => opened,
        }
        .map_err(|error| failure("can't open the folder", &so_far, error))?;
    }
    Ok(Place { folder, name: name.to_owned(), path: path.to_owned(), made })
}

/// Opens a regular file for reading.
pub fn open(path: &Path) -> Result<File, ToolFailure> {
    place(path, false)?
        .open()?
        .ok_or_else(|| ToolFailure::new(ErrorKind::NotFound, format!("there is no file {}", path.display())))
}

impl Place {
    /// The present file; `None` if there is none. Only a regular file is opened: a pipe would block.
    pub fn open(&self) -> Result<Option<File>, ToolFailure> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match openat(&self.folder, &self.name, flags, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(failure("can't open", &self.path, error)),
        };
        let stat = fstat(&file).map_err(|error| failure("can't look at", &self.path, error))?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok(Some(file.into())),
            FileType::Directory => {
                let message = format!("{} is a folder; list it with glob", self.path.display());
                Err(ToolFailure::new(ErrorKind::Failed, message))
            }
            _ => {
                let message = format!("{} isn't a regular file (it is a pipe, socket or device)", self.path.display());
                Err(ToolFailure::new(ErrorKind::Refused, message))
            }
        }
    }

    /// Writes `bytes` durably, wholly or not at all: to a temporary file, synced, renamed, the folder synced. Keeps the
    /// permissions of the old file. True if there was no file before.
    pub fn replace(&self, bytes: &[u8]) -> Result<bool, ToolFailure> {
        let before = self.open()?;
        let mode = match &before {
            Some(file) => {
                let stat = fstat(file).map_err(|error| failure("can't look at", &self.path, error))?;
                Some(Mode::from_raw_mode(stat.st_mode))
            }
            None => None,
        };
        let (beside, file) = self.beside()?;
        let written = self.fill(file, bytes, mode).and_then(|()| {
            renameat(&self.folder, &beside, &self.folder, &self.name)
                .map_err(|error| failure("can't replace", &self.path, error))
        });
        if let Err(error) = written {
            // The write error is reported. At worst a temporary file is left.
            let _ = unlinkat(&self.folder, &beside, AtFlags::empty());
            return Err(error);
        }
        self.sync()?;
        Ok(before.is_none())
    }

    fn fill(&self, file: OwnedFd, bytes: &[u8], mode: Option<Mode>) -> Result<(), ToolFailure> {
        if let Some(mode) = mode {
            fchmod(file.as_fd(), mode).map_err(|error| failure("can't set the permissions of", &self.path, error))?;
        }
        let mut file = File::from(file);
        file.write_all(bytes)
            .and_then(|()| file.sync_all())
            .map_err(|error| ToolFailure::io("can't write", &self.path, &error))
    }

    /// A new file beside this one, under the first free name.
    fn beside(&self) -> Result<(std::ffi::OsString, OwnedFd), ToolFailure> {
        for attempt in 0..1000 {
            let mut name = std::ffi::OsString::from(".");
            name.push(&self.name);
            name.push(format!(".maxim-{attempt}"));
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            match openat(&self.folder, &name, flags, Mode::from_raw_mode(0o666)) {
                Ok(file) => return Ok((name, file)),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(failure("can't write beside", &self.path, error)),
            }
        }
        let message = format!("{} has 1000 temporary files beside it; remove .*.maxim-*", self.path.display());
        Err(ToolFailure::new(ErrorKind::Io, message))
    }

    /// Removes the file. False if there was none.
    pub fn remove(&self) -> Result<bool, ToolFailure> {
        match unlinkat(&self.folder, &self.name, AtFlags::empty()) {
            Ok(()) => self.sync().map(|()| true),
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(failure("can't remove", &self.path, error)),
        }
    }

    fn sync(&self) -> Result<(), ToolFailure> {
        fsync(&self.folder).map_err(|error| failure("can't sync the folder of", &self.path, error))
    }
}

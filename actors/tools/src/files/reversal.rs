//! Reverses an effect on a file.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use maxim_bus::latch::Permit;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{place, read_bytes};
use crate::robot::NO_LIMBS;
use crate::{ErrorKind, Hands, SideEffectKind, ToolFailure, ToolOutcome};

/// How an effect is reversed. Made before the effect and kept with the record of the action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Reversal {
    /// Restores a file.
    RestoreFile {
        /// The file, resolved.
        path: PathBuf,
        /// The copy of the old file; `None` if there was none.
        saved: Option<PathBuf>,
        /// There was no file: the reversal removes the file. Folders made for it stay.
        was_absent: bool,
    },
    /// Moves the body back to its earlier place, in the body's own format.
    MoveBack { place: Value },
}

/// Saves the present content of `path` durably.
pub(super) fn save(path: &Path, hands: &Hands) -> Result<Reversal, ToolFailure> {
    let before = match place::place(path, false) {
        Ok(place) => place.open()?,
        Err(failure) if failure.kind == ErrorKind::NotFound => None,
        Err(failure) => return Err(failure),
    };
    let Some(file) = before else {
        return Ok(Reversal::RestoreFile { path: path.to_owned(), saved: None, was_absent: true });
    };
    let bytes = read_bytes(file, path)?;
    let saved =
        keep(&bytes, &hands.saved).map_err(|error| ToolFailure::io("can't keep a copy in", &hands.saved, &error))?;
    Ok(Reversal::RestoreFile { path: path.to_owned(), saved: Some(saved), was_absent: false })
}

/// Writes a copy under the first free name made of its checksum and length. Only the owner can read it.
fn keep(bytes: &[u8], folder: &Path) -> io::Result<PathBuf> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    for attempt in 0..u32::MAX {
        let path = folder.join(format!("{:08x}-{}-{attempt}", crc32fast::hash(bytes), bytes.len()));
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Ok(mut file) => {
                file.write_all(bytes)?;
                file.sync_all()?;
                fs::File::open(folder)?.sync_all()?;
                return Ok(path);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("no free name"))
}

/// Reverses an effect. The present state is saved first, so this can be reversed too: the output's `reversal`. Refused
/// if the mode doesn't allow the path any more.
pub fn undo(reversal: &Reversal, permit: &Permit<'_>, hands: &Hands) -> ToolOutcome {
    match reversal {
        Reversal::RestoreFile { path, saved, was_absent } => {
            undo_file(path, saved.as_deref(), *was_absent, permit, hands).into()
        }
        Reversal::MoveBack { place } => match &hands.limbs {
            Some(limbs) => limbs.back_to(place, hands.action),
            None => ToolOutcome::failed(ToolFailure::new(ErrorKind::Unavailable, NO_LIMBS)),
        },
    }
}

impl Reversal {
    /// Whether the reversal moves the body.
    pub fn is_motion(&self) -> bool {
        matches!(self, Self::MoveBack { .. })
    }
}

fn undo_file(
    path: &Path,
    saved: Option<&Path>,
    was_absent: bool,
    _permit: &Permit<'_>,
    hands: &Hands,
) -> Result<ToolOutcome, ToolFailure> {
    let text = path.to_str().ok_or_else(|| {
        ToolFailure::new(ErrorKind::InvalidParameters, format!("{} is no UTF-8 path", path.display()))
    })?;
    let path = hands.resolve(text, crate::Access::Write)?;
    let back = save(&path, hands)?;
    let output = json!({"path": path, "reversal": back});
    let target = path.display().to_string();
    match (saved, was_absent) {
        (Some(saved), false) => {
            let bytes = fs::read(saved).map_err(|error| ToolFailure::io("can't read the saved copy", saved, &error))?;
            let created = place::place(&path, true)?.replace(&bytes)?;
            let kind = if created { SideEffectKind::FileCreated } else { SideEffectKind::FileChanged };
            Ok(ToolOutcome::done(output).with_effect(kind, target))
        }
        (None, true) => match back {
            Reversal::RestoreFile { was_absent: true, .. } => Ok(ToolOutcome::done(output)),
            _ => {
                place::place(&path, false)?.remove()?;
                Ok(ToolOutcome::done(output).with_effect(SideEffectKind::FileRemoved, target))
            }
        },
        _ => Err(ToolFailure::new(
            ErrorKind::InvalidParameters,
            format!(
                "the reversal of {} contradicts itself: a saved copy and \"absent\" exclude each other",
                path.display()
            ),
        )),
    }
}

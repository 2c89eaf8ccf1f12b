//! After a failed write the old handle isn't trusted. The database is reopened, checked, and written again.

use std::sync::atomic::Ordering;

use super::committer::SERIAL;
use super::engine::copy_all;
use super::error::EngineError;
use super::keys;
use super::shared::Shared;

/// `serial` is the batch whose write failed. It may exist or not; the batch before it must exist.
pub fn revive(shared: &Shared, serial: u64) -> Result<(), EngineError> {
    if !shared.switch.is_working() {
        return shared.switch.check();
    }
    let Some((kind, folder)) = shared.engine_folder(shared.generation.load(Ordering::Acquire)) else {
        return Ok(());
    };
    // Otherwise an empty database would be created there, while all data is still in this process.
    if let Some(home) = &shared.folder {
        home.check_in_place(shared.generation.load(Ordering::Acquire))?;
    }
    // The old handle must be dropped first: it holds the lock, and after a failure its memory differs from the disk.
    shared.set_engine(None);
    let engine = kind.open(&folder, shared.options.page_cache)?;
    let found = keys::get_number(&*engine, SERIAL)?.unwrap_or(0);
    if found + 1 < serial {
        let why =
            format!("the database came back at batch {found}, batch {} was on disk: restart to repair", serial - 1);
        return Err(EngineError::Damaged(why));
    }
    // The kernel may show data that it failed to write and will never write. So every page is written again
    // elsewhere.
    let generation = shared.generation.load(Ordering::Acquire) + 1;
    let Some(home) = &shared.folder else { return Ok(()) };
    let copy = || -> Result<_, EngineError> {
        let fresh = home.begin_generation(generation, kind, shared.options.page_cache)?;
        copy_all(&*engine, &*fresh)?;
        home.complete_generation(generation)?;
        Ok(fresh)
    };
    let fresh = copy().inspect_err(|_| {
        // On a full disk an incomplete copy would take space that others need, among them the latch.
        home.remove_generation(generation);
    })?;
    drop(engine);
    shared.set_engine(Some(fresh));
    shared.generation.store(generation, Ordering::Release);
    home.remove_generation(generation - 1);
    Ok(())
}

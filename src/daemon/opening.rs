//! Opening the store, as the configuration says. The daemon does it, and commands that work without one.

use maxim_actors::store::{EngineKind, OpenReport, StateStore, StoreError, StoreOptions};

use crate::cli::{CliError, Exit};
use crate::config::{self, StoreEngine};
use crate::data_folder::DataFolder;
use crate::machine_clock;

/// The one agent of a data folder.
pub const AGENT: &str = "maxim";

/// The store's options out of the configuration. A store of another engine is refused.
pub fn options(settings: &config::Store) -> StoreOptions {
    // The folder and the backups are handled elsewhere.
    let config::Store { data: _, engine, cache, backup_every: _, backup_keep: _ } = settings;
    let engine = match engine {
        StoreEngine::Sled => EngineKind::Sled,
        StoreEngine::Redb => EngineKind::Redb,
        StoreEngine::Memory => EngineKind::Memory,
    };
    StoreOptions { engine, converts: false, page_cache: cache.get(), ..StoreOptions::default() }
}

/// The same for a command that opens the store while there is no daemon.
pub fn visiting(settings: &config::Store) -> StoreOptions {
    StoreOptions { visits: true, ..options(settings) }
}

/// Opens the store of a data folder.
///
/// # Errors
/// Another process holds it, it has another format or another engine, or the folder can't be used.
pub fn open(folder: &DataFolder, options: StoreOptions) -> Result<(StateStore, OpenReport), CliError> {
    machine_clock::check()?;
    folder.make().map_err(|error| {
        let found = format!("the data folder {} can't be used: {error}", folder.path().display());
        CliError::new(Exit::TryAgain, found, "check its permissions and the disk, or name another with --data")
    })?;
    StateStore::open(&folder.store(), options).map_err(|error| failed(&error))
}

/// A store's error as a command tells it.
pub fn failed(error: &StoreError) -> CliError {
    let exit = match error {
        StoreError::Newer { .. }
        | StoreError::Older { .. }
        | StoreError::OtherEngine { .. }
        | StoreError::Replicated(_) => Exit::BadConfig,
        StoreError::BadBackup { .. } | StoreError::NotEmpty(_) => Exit::Usage,
        StoreError::InMemory(_) => Exit::NotHeld,
        _ => Exit::TryAgain,
    };
    let text = error.to_string();
    let (found, fix) = text.rsplit_once(": ").unwrap_or((&text, "see `maxim doctor`"));
    CliError::new(exit, found, fix)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;

    #[test]
    fn engine_and_cache_come_from_the_configuration() {
        let usual = options(&Settings::default().store);
        assert_eq!((usual.engine, usual.page_cache, usual.converts), (EngineKind::Sled, 32 << 20, false));
        let mut other = Settings::default().store;
        other.engine = StoreEngine::Redb;
        other.cache = "2 MiB".parse().expect("an amount");
        assert_eq!((options(&other).engine, options(&other).page_cache), (EngineKind::Redb, 2 << 20));
    }

    #[test]
    fn a_store_of_another_engine_is_a_matter_of_configuration() {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = DataFolder::new(dir.path().to_owned());
        let mut settings = Settings::default().store;
        settings.engine = StoreEngine::Redb;
        let (store, _) = open(&folder, options(&settings)).expect("opens");
        store.close().expect("closes");
        settings.engine = StoreEngine::Sled;
        let error = open(&folder, options(&settings)).err().expect("refused");
        assert_eq!(error.exit(), Exit::BadConfig);
        assert!(error.to_string().contains("set store.engine to redb"), "{error}");
    }
}

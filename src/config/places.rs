//! Where files are looked for. It is a value, so that a test or an embedding program can give its own.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};

use maxim_actors::action::tools::OwnFiles;

use super::Fault;

/// The files and variables from which a configuration is read.
#[derive(Clone, Debug)]
pub struct Places {
    /// The file of the whole machine.
    pub system: Option<PathBuf>,
    /// The person's file. `None` if neither XDG_CONFIG_HOME nor HOME is set.
    pub user: Option<PathBuf>,
    /// `./maxim.toml`.
    pub local: Option<PathBuf>,
    /// Replaces `local`; must exist.
    pub named: Option<PathBuf>,
    /// Variables that begin with `MAXIM__`.
    pub variables: BTreeMap<String, String>,
    /// Where state goes by default. `None` if neither XDG_STATE_HOME nor HOME is set.
    pub state_home: Option<PathBuf>,
}

impl Places {
    /// No file and no variable: the built-in values alone.
    pub fn nowhere() -> Self {
        Self { system: None, user: None, local: None, named: None, variables: BTreeMap::new(), state_home: None }
    }

    /// The places of this process; `named` is `--config FILE`.
    pub fn of_process(named: Option<&Path>) -> Self {
        Self {
            system: Some("/etc/maxim/maxim.toml".into()),
            user: xdg("XDG_CONFIG_HOME", ".config").map(|home| home.join("maxim/maxim.toml")),
            local: Some("maxim.toml".into()),
            named: named.map(Path::to_owned),
            variables: env::vars_os()
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
                .filter(|(name, _)| name.starts_with("MAXIM__"))
                .collect(),
            state_home: xdg("XDG_STATE_HOME", ".local/state"),
        }
    }

    /// The agent's own files: its data, a file with its door's token, and each configuration file. This includes files
    /// that would be a layer for a command without `--config`, or for a command in the working folder.
    pub fn own_files(&self, data: &Path, token: Option<&Path>, workdir: &Path) -> OwnFiles {
        let layers = [&self.system, &self.user, &self.local, &self.named].into_iter().flatten().cloned();
        let in_workdir = self.local.iter().map(|local| workdir.join(local));
        OwnFiles::new(layers.chain(in_workdir), [Some(data), token].into_iter().flatten().map(Path::to_owned))
    }

    /// The data folder: the configured one, else the one below the state home.
    ///
    /// # Errors
    /// Nothing is configured and the process has no home.
    pub fn data(&self, configured: Option<&Path>) -> Result<PathBuf, Fault> {
        match (configured, &self.state_home) {
            (Some(data), _) => Ok(data.to_owned()),
            (None, Some(home)) => Ok(home.join("maxim")),
            (None, None) => {
                let found = "store.data is not set, and neither is XDG_STATE_HOME or HOME";
                Err(Fault::new("store.data", found, "name the data folder with --data DIR"))
            }
        }
    }
}

/// As the XDG base directory specification says: a relative path counts as not set.
fn xdg(variable: &str, below_home: &str) -> Option<PathBuf> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute(variable).or_else(|| absolute("HOME").map(|home| home.join(below_home)))
}

//! Options of every command.

use std::path::PathBuf;

use clap::Args;

use super::{CliError, Client};
use crate::config::{Loaded, Override, Places, load};
use crate::data_folder::DataFolder;

#[derive(Args, Clone, Debug, Default)]
pub struct Global {
    /// Answer as JSON on standard output
    #[arg(long, global = true)]
    pub json: bool,
    /// The data folder [default: $XDG_STATE_HOME/maxim]
    #[arg(long, global = true, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// The daemon's address [default: what it wrote into the data folder]
    #[arg(long, global = true, value_name = "URL")]
    pub url: Option<String>,
    /// A configuration file in place of ./maxim.toml
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

impl Global {
    pub fn places(&self) -> Places {
        Places::of_process(self.config.as_deref())
    }

    /// The effective configuration; `overrides` are the command's own flags.
    pub fn load(&self, mut overrides: Vec<Override>) -> Result<Loaded, CliError> {
        if let Some(data) = &self.data {
            overrides.push(Override { key: "store.data", value: data.display().to_string(), flag: "--data" });
        }
        Ok(load(&self.places(), &overrides)?)
    }

    /// The data folder that the flags or the configuration name. With `--data` no configuration is read.
    pub fn data_folder(&self) -> Result<DataFolder, CliError> {
        let data = match &self.data {
            Some(data) => data.clone(),
            None => self.places().data(self.load(Vec::new())?.settings.store.data.as_deref())?,
        };
        Ok(DataFolder::new(data))
    }

    /// A way to the running daemon.
    pub fn client(&self) -> Result<Client, CliError> {
        Client::find(self)
    }
}

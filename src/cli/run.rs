//! `maxim run`: the daemon.

use std::io::IsTerminal;
use std::path::PathBuf;

use clap::Args;

use super::{CliError, Exit, Global, Out};
use crate::config::Override;
use crate::data_folder::DataFolder;
use crate::token::Exposure;
use crate::{daemon, standard_error, token};

/// Run the brain. On a terminal, typed lines are answered; the end of input never ends it.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  maxim run\n  maxim run --data /var/lib/maxim --workdir /srv/project --listen 127.0.0.1:7800"
)]
pub struct RunArgs {
    /// The folder it works in [default: the current one]
    #[arg(long, value_name = "DIR")]
    workdir: Option<PathBuf>,
    /// What it may touch: passive, active or singularity
    #[arg(long)]
    mode: Option<String>,
    /// How much it decides alone: planning, supervised or autonomous
    #[arg(long)]
    autonomy: Option<String>,
    /// What moves the limbs: none, sim or reachy-mini
    #[arg(long)]
    body: Option<String>,
    /// Where HTTP listens; port 0 picks a free one
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// Allow `maxim chaos` to break parts on purpose
    #[arg(long)]
    chaos: bool,
}

impl RunArgs {
    pub(super) fn run(self, global: &Global, _out: &Out) -> Result<Exit, CliError> {
        let flags = [
            ("agent.workdir", self.workdir.map(|dir| dir.display().to_string()), "--workdir"),
            ("agent.mode", self.mode, "--mode"),
            ("agent.autonomy", self.autonomy, "--autonomy"),
            ("body.driver", self.body, "--body"),
            ("http.listen", self.listen, "--listen"),
        ];
        let given = flags.into_iter().filter_map(|(key, value, flag)| Some(Override { key, value: value?, flag }));
        let loaded = global.load(given.collect())?;
        let settings = loaded.settings.clone();
        if std::env::var_os("MAXIM_LOG").is_none_or(|filter| filter.is_empty()) {
            crate::telemetry::init(&settings.telemetry, None)
                .map_err(|error| CliError::told(Exit::BadConfig, &error))?;
        }
        // A token from the environment takes precedence. Then the file isn't read.
        let file = settings.http.token_file.as_deref().filter(|_| settings.http.token.is_none());
        match file.and_then(token::exposure) {
            Some(Exposure::Everybody(error)) => return Err(error),
            Some(Exposure::Group(told)) => {
                tracing::warn!("{told}");
                standard_error::tell(told);
            }
            None => {}
        }
        let data = global.places().data(settings.store.data.as_deref())?;
        let here = || {
            std::env::current_dir().map_err(|error| {
                CliError::new(Exit::Usage, format!("the current folder can't be named: {error}"), "give --workdir DIR")
            })
        };
        let workdir = match &settings.agent.workdir {
            Some(dir) => std::path::absolute(dir).unwrap_or_else(|_| dir.clone()),
            None => here()?,
        };
        daemon::run(daemon::Plan {
            own: global.places().own_files(&data, settings.http.token_file.as_deref(), &workdir),
            settings,
            folder: DataFolder::new(data),
            workdir,
            chaos: self.chaos,
            console: std::io::stdin().is_terminal(),
        })
    }
}

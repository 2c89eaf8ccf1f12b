//! Logs, on standard error; standard output is for data alone.

use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::Telemetry;
use crate::standard_error;

/// Logging that could not begin.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    #[error("MAXIM_LOG={filter:?} is no filter ({why}); write a level, or targets such as info,maxim_memory=debug")]
    BadFilter { filter: String, why: String },
    #[error("logging has begun already; call this once a process")]
    Twice,
}

/// Begins logging. `filter` is the value of MAXIM_LOG; without it the configured level applies.
///
/// # Errors
/// A filter that can't be read, or a second call.
pub fn init(settings: &Telemetry, filter: Option<&str>) -> Result<(), TelemetryError> {
    let Telemetry { level, json } = settings;
    // The logs of the tool servers' library contain what servers say, which is outside text. Their state is reported by
    // their own room.
    let configured = format!("{},rmcp=off,async_nats=warn", level.word());
    let directives = filter.filter(|text| !text.is_empty()).unwrap_or(&configured);
    let filter = EnvFilter::try_new(directives)
        .map_err(|why| TelemetryError::BadFilter { filter: directives.to_owned(), why: why.to_string() })?;
    let logs = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(|| standard_error::Texts)
        // Otherwise a macro that panics would report a log that can't be written.
        .log_internal_errors(false)
        .with_ansi(crate::cli::is_colourful(io::stderr().is_terminal()));
    let begun = if *json { logs.json().finish().try_init() } else { logs.finish().try_init() };
    begun.map_err(|_| TelemetryError::Twice)
}

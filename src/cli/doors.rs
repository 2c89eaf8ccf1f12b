//! The batch doors: a part of the brain measured from outside, without a daemon, a configuration or a store.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use maxim_actors::action::tools::OwnFiles;
use maxim_actors::action::tools::program_files::ProgramFiles;
use maxim_actors::gate::fear_agent::{Setting, ToolCall, check};
use maxim_actors::language::stop_phrase::StopGrammar;
use maxim_actors::learning::nucleus_accumbens::door::LearnLine;
use maxim_actors::learning::nucleus_accumbens::model::LinkTable;
use maxim_actors::memory::suprachiasmatic_nucleus::law::{Phases, TimeSignature};
use maxim_actors::perception::inbound::InboundText;
use maxim_actors::region::lines;
use maxim_bus::mode::Mode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::batch::BatchInput;
use super::{CliError, Exit, Global};

/// Judge tool calls without doing anything, one JSON object a line: {"id", "tool", "params"}
///
/// Files that a call would run are read and judged with it; `unread` names those that aren't there. What the walls of this
/// machine's sandbox refuse in any case isn't looked at. A daemon also asks about what may change or read its own
/// configuration and data, such as an archive that is unpacked beside its configuration. With --data or --config this does
/// the same for the daemon that they name; without them, `own_files` says that it wasn't judged.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  maxim fear check --in calls.jsonl --mode active --workdir /srv/project")]
pub struct FearCheck {
    #[command(flatten)]
    input: BatchInput,
    /// passive, active or singularity
    #[arg(long, default_value = "active", value_parser = mode)]
    mode: Mode,
    /// The working folder [default: the current one]
    #[arg(long, value_name = "DIR")]
    workdir: Option<PathBuf>,
}

fn mode(word: &str) -> Result<Mode, String> {
    [Mode::Passive, Mode::Active, Mode::Singularity]
        .into_iter()
        .find(|mode| mode.as_str() == word)
        .ok_or_else(|| "give passive, active or singularity".to_owned())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    tool: String,
    #[serde(default)]
    params: Value,
}

impl FearCheck {
    pub(super) fn run(self, global: &Global) -> Result<Exit, CliError> {
        let Self { input, mode, workdir } = self;
        let here = workdir.map_or_else(std::env::current_dir, std::path::absolute).map_err(|error| {
            CliError::new(Exit::Usage, format!("the working folder can't be named: {error}"), "give --workdir DIR")
        })?;
        let home = std::env::var_os("HOME").map_or_else(|| PathBuf::from("/root"), PathBuf::from);
        // Whose own files they are is known only if a daemon's data or configuration is named.
        let knows_own = global.data.is_some() || global.config.is_some();
        let own = if knows_own { own_files(global, &here)? } else { OwnFiles::default() };
        let setting = Setting { mode, workdir: here, home, own: Arc::new(own) };
        let programs = ProgramFiles::default();
        input.answer(|line| {
            let call: Call = lines::object_of(line)?;
            let call = ToolCall { tool: &call.tool, params: &call.params };
            let checked = check(&call, &setting, |wanted| programs.read(wanted));
            let mut answer = json!(checked.judgement);
            if !checked.unread.is_empty() {
                answer["unread"] = json!(checked.unread);
            }
            if !knows_own {
                answer["own_files"] = json!("not judged: name a daemon's files by --data or --config");
            }
            Ok(answer)
        })
    }
}

/// The files that are a daemon's own, with the configuration that the flags name.
fn own_files(global: &Global, workdir: &Path) -> Result<OwnFiles, CliError> {
    let settings = global.load(Vec::new())?.settings;
    let data = global.places().data(settings.store.data.as_deref())?;
    Ok(global.places().own_files(&data, settings.http.token_file.as_deref(), workdir))
}

/// See what the gateway makes of messages from outside.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  maxim gateway inbound --in messages.jsonl")]
pub struct GatewayArgs {
    #[command(subcommand)]
    what: Gateway,
}

#[derive(Subcommand, Debug)]
enum Gateway {
    /// Make percepts of messages, one JSON object a line: {"id", "channel", "sender", "body", "fields"}
    #[command(after_help = "Example:\n  maxim gateway inbound --in messages.jsonl")]
    Inbound {
        #[command(flatten)]
        input: BatchInput,
    },
}

/// `fields` are the provider's; nothing reads them.
#[derive(Deserialize)]
struct Message {
    channel: String,
    #[serde(default)]
    sender: String,
    body: String,
    /// Judge as if a body were moving.
    #[serde(default)]
    moving: bool,
}

impl GatewayArgs {
    pub(super) fn run(self) -> Result<Exit, CliError> {
        let Gateway::Inbound { input } = self.what;
        let stop = StopGrammar::new::<_, &str>(&["maxim"], &[]);
        input.answer(|line| {
            let message: Message = lines::object_of(line)?;
            let percept = InboundText::new(&message.channel, &message.sender, &message.body, &stop, message.moving);
            let stops = percept.hard_override().is_some();
            Ok(json!({ "percept": percept, "stop": stops }))
        })
    }
}

/// See the time bins of a moment.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  maxim scn bins --in times.jsonl --zone Europe/Berlin")]
pub struct ScnArgs {
    #[command(subcommand)]
    what: Scn,
}

#[derive(Subcommand, Debug)]
enum Scn {
    /// Bin moments, one JSON object a line: {"id", "timestamp"}
    #[command(after_help = "Example:\n  maxim scn bins --in times.jsonl")]
    Bins {
        #[command(flatten)]
        input: BatchInput,
        /// The time zone for hours and days
        #[arg(long, default_value = "UTC", value_parser = TimeZone::get)]
        zone: TimeZone,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Moment {
    timestamp: Timestamp,
}

impl ScnArgs {
    pub(super) fn run(self) -> Result<Exit, CliError> {
        let Scn::Bins { input, zone } = self.what;
        input.answer(|line| {
            let moment: Moment = lines::object_of(line)?;
            let time = TimeSignature::of(moment.timestamp, &zone);
            let Phases { circadian, weekly, monthly, annual } = time.phases;
            let phases = json!({ "circadian": circadian, "weekly": weekly, "monthly": monthly, "annual": annual });
            Ok(json!({ "hour": time.hour, "day": time.day, "week": time.week, "month": time.month, "phases": phases }))
        })
    }
}

/// See what the nucleus accumbens learns from a sequence of events.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  maxim nac learn --in events.jsonl")]
pub struct NacArgs {
    #[command(subcommand)]
    what: Nac,
}

#[derive(Subcommand, Debug)]
enum Nac {
    /// Learn from events in order, one JSON object a line: {"event", "params", "context", "outcome", "cues"}
    #[command(after_help = "Example:\n  maxim nac learn --in events.jsonl --alpha 0.14")]
    Learn {
        #[command(flatten)]
        input: BatchInput,
        /// The learning rate, above 0 and at most 1
        #[arg(long, default_value_t = 0.14, value_parser = alpha)]
        alpha: f64,
    },
}

fn alpha(word: &str) -> Result<f64, String> {
    let value: f64 = word.parse().map_err(|_| "give a number above 0 and at most 1".to_owned())?;
    if value > 0.0 && value <= 1.0 { Ok(value) } else { Err("give a number above 0 and at most 1".into()) }
}

impl NacArgs {
    pub(super) fn run(self) -> Result<Exit, CliError> {
        let Nac::Learn { input, alpha } = self.what;
        let mut links = LinkTable::new(alpha);
        // Time only tells the age of experience. Within one sequence all of it is new.
        let at = Timestamp::UNIX_EPOCH;
        input.answer(|line| {
            let line: LearnLine = lines::object_of(line)?;
            let learned = links.learn_line(&line, at).map_err(|error| error.to_string())?;
            Ok(json!(learned))
        })
    }
}

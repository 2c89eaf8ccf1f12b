//! The command line: one file a command. Data goes to standard output, everything else to standard error.

mod approvals;
pub mod batch;
mod beginning;
mod causal;
mod chaos;
mod chat;
mod client;
mod concepts;
mod config;
mod doctor;
mod document;
mod doors;
mod exit;
mod export;
mod fear;
mod global;
mod goals;
mod housekeeping;
mod learning;
mod machines;
mod mcp;
mod memory;
mod offline;
mod open;
mod out;
mod outbox;
mod own_token;
mod powers;
mod preempt;
mod prompt;
mod queries;
mod recall;
#[cfg(test)]
mod reference;
mod replay;
mod restore;
mod rooms;
mod run;
mod scenario;
mod send;
mod sim;
mod similar;
mod status;
mod stop;
mod stop_ways;
mod table;
mod token;
mod told;
mod tool_list;
mod tools;
mod top;
mod tree;
mod undo;
mod why;
mod working;

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::Duration;

use clap::{CommandFactory, Parser, Subcommand};

use maxim_actors::action::tools::contained;

use crate::{machine_clock, standard_error};

pub use client::{Answer, Client};
pub use exit::{CliError, Exit};
pub use global::Global;
pub use out::{Out, Paint, is_colourful};
pub use table::{Cell, Table};
pub use tree::tree;

/// A brain for robots and LLM agents, in one daemon.
#[derive(Parser, Debug)]
#[command(
    name = "maxim",
    version,
    arg_required_else_help = true,
    after_help = "Example:\n  maxim send \"fetch the cup\" --wait\n\nExit codes: 0 ok, 1 did not hold, 2 usage or bad input, 70 a bug, 75 try again, 78 bad configuration."
)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    Run(run::RunArgs),
    Chat(chat::ChatArgs),
    Send(send::SendArgs),
    Stop(stop::StopArgs),
    Reset(preempt::ResetArgs),
    Resume(preempt::ResumeArgs),
    Hold(preempt::HoldArgs),
    Redirect(preempt::RedirectArgs),
    Status(status::StatusArgs),
    Top(top::TopArgs),
    Doctor(doctor::DoctorArgs),
    Memory(memory::MemoryArgs),
    Goals(goals::GoalsArgs),
    Approvals(approvals::ApprovalsArgs),
    Outbox(outbox::OutboxArgs),
    Powers(powers::PowersArgs),
    Undo(undo::UndoArgs),
    Why(why::WhyArgs),
    Replay(replay::ReplayArgs),
    Config(config::ConfigArgs),
    Chaos(chaos::ChaosArgs),
    Fear(fear::FearArgs),
    Gateway(doors::GatewayArgs),
    Scn(doors::ScnArgs),
    Sim(sim::SimArgs),
    Nac(doors::NacArgs),
    Prompt(prompt::PromptArgs),
    Rooms(rooms::RoomsArgs),
    Tools(tools::ToolsArgs),
    Machines(machines::MachinesArgs),
    Mcp(mcp::McpArgs),
    Open(open::OpenArgs),
    Token(token::TokenArgs),
    Completions(housekeeping::CompletionsArgs),
    Man(housekeeping::ManArgs),
}

impl Command {
    fn run(self, global: &Global, out: &Out) -> Result<Exit, CliError> {
        match self {
            Self::Run(args) => args.run(global, out),
            Self::Chat(args) => args.run(global, out),
            Self::Send(args) => args.run(global, out),
            Self::Stop(args) => args.run(global, out),
            Self::Reset(args) => args.run(global, out),
            Self::Resume(args) => args.run(global, out),
            Self::Hold(args) => args.run(global, out),
            Self::Redirect(args) => args.run(global, out),
            Self::Status(args) => args.run(global, out),
            Self::Top(args) => args.run(global, out),
            Self::Doctor(args) => args.run(global, out),
            Self::Memory(args) => args.run(global, out),
            Self::Goals(args) => args.run(global, out),
            Self::Approvals(args) => args.run(global, out),
            Self::Outbox(args) => args.run(global, out),
            Self::Powers(args) => args.run(global, out),
            Self::Undo(args) => args.run(global, out),
            Self::Why(args) => args.run(global, out),
            Self::Replay(args) => args.run(global, out),
            Self::Config(args) => args.run(global, out),
            Self::Chaos(args) => args.run(global, out),
            Self::Fear(args) => args.run(global, out),
            Self::Gateway(args) => args.run(),
            Self::Scn(args) => args.run(),
            Self::Sim(args) => args.run(out),
            Self::Nac(args) => args.run(),
            Self::Prompt(args) => args.run(global, out),
            Self::Rooms(args) => args.run(out),
            Self::Tools(args) => args.run(global, out),
            Self::Machines(args) => args.run(global, out),
            Self::Mcp(args) => args.run(global),
            Self::Open(args) => args.run(global, out),
            Self::Token(args) => args.run(global, out),
            Self::Completions(args) => args.run(out, Cli::command()),
            Self::Man(args) => args.run(out, Cli::command()),
        }
    }
}

/// How long the exit waits for a slow terminal to take the last lines.
const LAST_LINES: Duration = Duration::from_secs(1);

/// The whole program: reads the command line, does it, and ends with its exit code.
pub fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    if args.get(1).is_some_and(|first| first == contained::ENTRY) {
        return contained::enter(args.into_iter().skip(2));
    }
    // Read from the raw arguments: an invalid command line is also answered in the form it asked for.
    let json = args.iter().any(|arg| arg == "--json");
    let done = catch_unwind(AssertUnwindSafe(|| run(args)));
    let done = done.unwrap_or_else(|_| {
        Err(CliError::new(Exit::Bug, "the command ended in a panic", "report it with the lines above"))
    });
    standard_error::settle(LAST_LINES);
    done.unwrap_or_else(|error| exit::report(&error, json)).into()
}

fn run(args: Vec<OsString>) -> Result<Exit, CliError> {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => return exit::of_clap(&error),
    };
    if let Some(filter) = std::env::var("MAXIM_LOG").ok().filter(|filter| !filter.is_empty()) {
        crate::telemetry::init(&crate::config::Settings::default().telemetry, Some(&filter))
            .map_err(|error| CliError::told(Exit::BadConfig, &error))?;
    }
    // The doctor reports this among its findings, and a stop needs no date.
    if !matches!(cli.command, Command::Stop(_) | Command::Doctor(_)) {
        machine_clock::check()?;
    }
    let out = Out::of_process(cli.global.json);
    cli.command.run(&cli.global, &out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(command: &clap::Command, visit: &mut impl FnMut(&clap::Command)) {
        visit(command);
        command.get_subcommands().for_each(|sub| walk(sub, visit));
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_has_an_example_that_is_itself_valid() {
        let mut examples = 0;
        walk(&Cli::command(), &mut |command| {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let lines: Vec<&str> = help.lines().filter(|line| line.starts_with("  maxim ")).collect();
            assert!(!lines.is_empty(), "{} has no example", command.get_name());
            for line in lines {
                examples += 1;
                let line = line.split(" > ").next().unwrap_or(line).split(" | ").next().unwrap_or(line);
                let parsed = Cli::try_parse_from(words(line));
                assert!(parsed.is_ok(), "{line}: {}", parsed.expect_err("refused"));
            }
        });
        assert!(examples > 20);
    }

    /// Splits at blanks outside double quotes.
    pub(super) fn words(line: &str) -> Vec<String> {
        let quoted = line.split('"').enumerate();
        quoted
            .flat_map(|(place, part)| match place % 2 {
                0 => part.split_whitespace().map(str::to_owned).collect::<Vec<_>>(),
                _ => vec![part.to_owned()],
            })
            .collect()
    }
}

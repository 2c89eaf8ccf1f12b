//! The guide's page of the commands, made of the command line itself.

use std::fmt::Write;

use clap::error::ErrorKind;
use clap::{Arg, Command, CommandFactory, Parser};

use super::Cli;
use crate::guide::{cell, code, holds};

const HEAD: &str = "\
# Commands

This page is generated from the code, and a test compares them. `maxim COMMAND --help` says the same. `maxim man --dir DIR`
writes manual pages, and `maxim completions SHELL` a completion script.

Data goes to standard output, everything else to standard error.
";

fn page() -> String {
    let mut text = HEAD.to_owned();
    let mut program = Cli::command();
    program.build();
    text.push_str("\n## Options of every command\n\n");
    let globals: Vec<&Arg> = program.get_arguments().filter(|arg| arg.is_global_set()).collect();
    write_arguments(&mut text, &globals);
    if let Some(more) = program.get_after_help() {
        let _ = write!(text, "\n```text\n{}\n```\n", more.to_string().trim());
    }
    for command in shown(&program) {
        write_command(&mut text, command, 2);
    }
    text
}

fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|command| !command.is_hide_set() && command.get_name() != "help")
}

fn write_command(text: &mut String, command: &Command, depth: usize) {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let about = command.get_long_about().or_else(|| command.get_about()).map(ToString::to_string);
    let usage = command.clone().render_usage().to_string();
    let _ = write!(text, "\n{} `{name}`\n\n", "#".repeat(depth));
    let _ = write!(text, "{}\n\n```text\n{}\n```\n", escaped(&about.unwrap_or_default()), usage.trim());
    let own: Vec<&Arg> = command.get_arguments().filter(|arg| is_own(arg)).collect();
    if !own.is_empty() {
        text.push('\n');
        write_arguments(text, &own);
    }
    if let Some(more) = command.get_after_help() {
        let _ = write!(text, "\n```text\n{}\n```\n", more.to_string().trim());
    }
    for command in shown(command) {
        write_command(text, command, depth + 1);
    }
}

fn is_own(arg: &Arg) -> bool {
    !arg.is_global_set() && !arg.is_hide_set() && !["help", "version"].contains(&arg.get_id().as_str())
}

fn write_arguments(text: &mut String, arguments: &[&Arg]) {
    text.push_str("| argument | meaning |\n|---|---|\n");
    for arg in arguments {
        let help = arg.get_long_help().or_else(|| arg.get_help()).map(ToString::to_string).unwrap_or_default();
        let takes = arg.get_action().takes_values();
        let words = arg.get_possible_values().iter().map(|word| word.get_name().to_owned()).collect();
        let words = told("One of", words, takes);
        let defaults = arg.get_default_values().iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let default = told("Default:", defaults, takes);
        let _ = writeln!(text, "| `{}` | {}{words}{default} |", spelled(arg), cell(&help));
    }
}

fn told(what: &str, words: Vec<String>, takes_values: bool) -> String {
    if words.is_empty() || !takes_values { String::new() } else { format!(". {what} {}", words.join(", ")) }
}

/// The argument as it is typed.
fn spelled(arg: &Arg) -> String {
    let values = match arg.get_value_names().filter(|_| arg.get_action().takes_values()) {
        Some(names) => names.iter().map(|name| format!(" {name}")).collect::<String>(),
        None => String::new(),
    };
    let flag = match (arg.get_short(), arg.get_long()) {
        (Some(short), Some(long)) => format!("-{short}, --{long}"),
        (Some(short), None) => format!("-{short}"),
        (None, Some(long)) => format!("--{long}"),
        (None, None) => return values.trim().to_owned(),
    };
    format!("{flag}{values}")
}

fn escaped(text: &str) -> String {
    text.replace('<', "&lt;")
}

#[test]
fn the_guides_page_of_the_commands_is_what_the_program_takes() {
    holds("commands.md", &page());
}

#[test]
fn every_command_that_the_documents_show_is_valid() {
    let mut shown = 0;
    for (file, piece) in code() {
        let piece = piece.trim_start_matches("$ ").trim_start_matches("target/release/");
        // Shortened commands, and placeholders for any command, can't be parsed.
        let is_command = piece.starts_with("maxim ") && !piece.contains(['…', '|', ':']) && !piece.contains("COMMAND");
        let line = piece.split(" > ").next().unwrap_or(piece);
        if !is_command || file.ends_with("/commands.md") {
            continue;
        }
        let error = Cli::try_parse_from(super::tests::words(line)).err().map(|error| error.kind());
        let wrong = [ErrorKind::InvalidSubcommand, ErrorKind::UnknownArgument, ErrorKind::InvalidValue];
        assert!(error.is_none_or(|kind| !wrong.contains(&kind)), "{file} shows `{piece}`: {error:?}");
        shown += 1;
    }
    assert!(shown > 60, "{shown} commands were found in the documents");
}

//! `maxim rooms`: which rooms a brain has, and who says and hears what.

use std::path::Path;

use clap::Args;
use maxim_actors::action::tools::core_registry;
use maxim_actors::action::tools::params::nearest;
use maxim_actors::region::{WardKind, Wire};
use serde_json::{Value, json};

use super::table::{Cell, Table};
use super::{CliError, Exit, Out};
use crate::agent::wiring::{Line, keeps, parts, signals, stages, waits};
use crate::agent::{AgentSettings, Part};
use crate::config::Settings;

/// See the rooms of the brain, and who says and hears each signal.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  maxim rooms\n  maxim rooms hippocampus\n  maxim rooms --signal ToolResult\n\nNeeds no daemon."
)]
pub struct RoomsArgs {
    /// One room, with all that it hears and says
    room: Option<String>,
    /// One signal, with all rooms that say or hear it
    #[arg(long, value_name = "NAME", conflicts_with = "room")]
    signal: Option<String>,
}

impl RoomsArgs {
    pub(super) fn run(self, out: &Out) -> Result<Exit, CliError> {
        let parts = built_in()?;
        match (self.room, self.signal) {
            (Some(room), _) => one_room(&parts, &room, out)?,
            (None, Some(signal)) => one_signal(&parts, &signal, out)?,
            (None, None) => {
                let all: Vec<Value> = parts.iter().map(described).collect();
                out.answer(&json!({ "rooms": all }), || overview(&parts, out))?;
            }
        }
        Ok(Exit::Ok)
    }
}

/// Every agent has the same rooms, whatever its configuration.
fn built_in() -> Result<Vec<Part>, CliError> {
    let bug = |error: &dyn std::fmt::Display| CliError::new(Exit::Bug, error.to_string(), "report it");
    let tools = core_registry().map_err(|error| bug(&error))?;
    let here = Path::new(".");
    let settings =
        AgentSettings::with_tools(&Settings::default(), 1, here, here, tools).map_err(|error| bug(&error))?;
    Ok(parts(&settings))
}

fn overview(parts: &[Part], out: &Out) -> String {
    let mut table = Table::new(&["stage", "room", "does", "hears", "says", "keeps"]);
    for (title, _, rooms) in stages(parts) {
        for part in rooms {
            let (hears, says) = (Cell::number(part.hears.len()), Cell::number(part.says.len()));
            let words = [title, part.name, does(part)].map(Cell::text);
            table.row(words.into_iter().chain([hears, says, Cell::text(keeps(part))]).collect());
        }
    }
    table.show(out.paint)
}

fn does(part: &Part) -> &'static str {
    if part.kind == WardKind::Effector { "acts" } else { "decides" }
}

fn described(part: &Part) -> Value {
    let names = |wires: &[Wire]| wires.iter().map(|wire| wire.signal).collect::<Vec<_>>();
    json!({
        "room": part.name, "stage": part.stage, "does": does(part), "keeps": keeps(part),
        "hears": names(&part.hears), "says": names(&part.says),
    })
}

fn one_room(parts: &[Part], name: &str, out: &Out) -> Result<(), CliError> {
    let Some(part) = parts.iter().find(|part| part.name == name) else {
        return Err(unknown("room", name, parts.iter().map(|part| part.name), "see `maxim rooms`"));
    };
    let lines = signals(parts);
    let line = |wire: &Wire| lines.iter().find(|line| line.signal == wire.signal);
    out.answer(&described(part), || {
        let mut table = Table::new(&["", "signal", "waits", "from or to"]);
        for wire in &part.hears {
            let from = line(wire).map(|line| line.said_by.join(", ")).unwrap_or_default();
            table.row(vec![
                Cell::text("hears"),
                Cell::text(wire.signal),
                Cell::text(waits(wire.policy)),
                Cell::text(from),
            ]);
        }
        for wire in &part.says {
            let to = line(wire).map(hearers).unwrap_or_default();
            table.row(vec![
                Cell::text("says"),
                Cell::text(wire.signal),
                Cell::text(waits(wire.policy)),
                Cell::text(to),
            ]);
        }
        format!("{}: {}, keeps {}\n{}", part.name, does(part), keeps(part), table.show(out.paint))
    })
}

fn hearers(line: &Line) -> String {
    line.heard_by.iter().map(|(room, _)| *room).collect::<Vec<_>>().join(", ")
}

fn one_signal(parts: &[Part], name: &str, out: &Out) -> Result<(), CliError> {
    let lines = signals(parts);
    let Some(line) = lines.iter().find(|line| line.signal.eq_ignore_ascii_case(name)) else {
        return Err(unknown("signal", name, lines.iter().map(|line| line.signal), "see actors/WIRING.md"));
    };
    let heard_by: Vec<Value> =
        line.heard_by.iter().map(|(room, back)| json!({ "room": room, "next_turn": back })).collect();
    let answer =
        json!({ "signal": line.signal, "waits": waits(line.policy), "said_by": line.said_by, "heard_by": heard_by });
    out.answer(&answer, || {
        let mut text = format!("{} ({})\n", line.signal, waits(line.policy));
        for room in &line.said_by {
            text += &format!("  said by   {room}\n");
        }
        for (room, back) in &line.heard_by {
            text += &format!("  heard by  {room}{}\n", if *back { " (next turn)" } else { "" });
        }
        text
    })
}

fn unknown<'a>(kind: &str, name: &str, known: impl Iterator<Item = &'a str>, see: &str) -> CliError {
    let near = nearest(name, known, 1);
    let fix = near.first().map_or_else(|| see.to_owned(), |near| format!("did you mean {near}?"));
    CliError::new(Exit::Usage, format!("there is no {kind} {name:?}"), fix)
}

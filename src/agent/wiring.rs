//! The wiring of all rooms, drawn from their cards: `actors/WIRING.md` and the answers of `maxim rooms`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use maxim_actors::region::{WardKind, Wire};
use maxim_bus::signals::layers::ExportRecords;
use maxim_bus::{Policy, RegionName, Signal, Stage};

use super::{AgentSettings, Kit, Part, anatomy};

/// Widest cell of a list of names, in characters.
const CELL: usize = 50;

/// Stages in the order of a percept, each with its question.
const STAGES: [(Stage, &str, &str); 9] = [
    (Stage::Outside, "Outside", "Where words come in and go out."),
    (Stage::Perception, "Perception", "What is happening?"),
    (Stage::Memory, "Memory", "What does it remind of?"),
    (Stage::Deliberation, "Deliberation", "What to do?"),
    (Stage::Gate, "Gate", "Is it allowed, and is it safe?"),
    (Stage::Action, "Action", "Doing it, and writing down why."),
    (Stage::Learning, "Learning", "What did it teach?"),
    (Stage::Sleep, "Sleep", "What to keep?"),
    (Stage::Anywhere, "Anywhere", "Rooms that belong to no stage."),
];

/// The parts list of an agent with these settings. Nothing is built or started.
pub fn parts(settings: &AgentSettings) -> Vec<Part> {
    let mut kit = Kit::new(settings.deadline);
    anatomy::furnish(&mut kit, settings);
    kit.parts
}

/// A signal, with the rooms at its ends.
#[derive(Clone, Debug)]
pub struct Line {
    pub signal: &'static str,
    pub policy: Policy,
    /// Rooms that may say it, in the order of the anatomy.
    pub said_by: Vec<RegionName>,
    /// Rooms that hear it; true where it belongs to the next turn.
    pub heard_by: Vec<(RegionName, bool)>,
}

/// All signals by name.
pub fn signals(parts: &[Part]) -> Vec<Line> {
    let mut lines: BTreeMap<&'static str, Line> = BTreeMap::new();
    for part in parts {
        for wire in &part.says {
            line_of(&mut lines, wire).said_by.push(part.name);
        }
        for wire in &part.hears {
            line_of(&mut lines, wire).heard_by.push((part.name, wire.back));
        }
    }
    lines.into_values().collect()
}

fn line_of<'a>(lines: &'a mut BTreeMap<&'static str, Line>, wire: &Wire) -> &'a mut Line {
    lines.entry(wire.signal).or_insert_with(|| Line {
        signal: wire.signal,
        policy: wire.policy,
        said_by: Vec::new(),
        heard_by: Vec::new(),
    })
}

/// What a room keeps across a restart.
pub fn keeps(part: &Part) -> &'static str {
    match part.kind {
        WardKind::Effector => "nothing",
        _ if part.hears.iter().any(|wire| wire.signal == ExportRecords::NAME) => "state, exported memory",
        _ => "state",
    }
}

/// How a signal waits, in a word.
pub fn waits(policy: Policy) -> String {
    match policy {
        Policy::Lossless => "lossless".into(),
        Policy::Transient => "transient".into(),
        Policy::Latest => "latest".into(),
    }
}

/// Stages in the order of a percept, each with its own of these rooms.
pub fn stages(parts: &[Part]) -> impl Iterator<Item = (&'static str, &'static str, Vec<&Part>)> {
    STAGES.into_iter().filter_map(|(stage, title, asks)| {
        let rooms: Vec<&Part> = parts.iter().filter(|part| part.stage == stage).collect();
        (!rooms.is_empty()).then_some((title, asks, rooms))
    })
}

/// The page `actors/WIRING.md`.
pub fn page(parts: &[Part]) -> String {
    let lines = signals(parts);
    let mut page = format!(
        "# Wiring\n\n\
         Generated from the rooms' wiring cards; `UPDATE_WIRING=1 cargo test --test brain anatomy` writes it anew.\n\
         There are {} rooms and {} signals. `maxim rooms ROOM` and `maxim rooms --signal NAME` print the same.\n\n\
         - A room that *decides* is a region; one that *acts* is an effector.\n\
         - `↩` marks a signal that comes from a later stage and belongs to the next turn.\n\
         - *Keeps*: a region's state outlives a crash. *Exported memory* leaves with `maxim memory export` too.\n\
         - *Waits*: a *lossless* signal stays in the journal until each hearer has passed it. A *transient* one lives as\n  \
           long as the process. Of a *latest* one, each inbox keeps the newest of each key.\n",
        parts.len(),
        lines.len()
    );
    for (title, asks, rooms) in stages(parts) {
        let _ = write!(page, "\n## {title}\n\n{asks}\n\n");
        let mut table = Grid::new(&["room", "does", "hears", "says", "keeps"]);
        for part in rooms {
            let does = if part.kind == WardKind::Effector { "acts" } else { "decides" };
            let hears = part.hears.iter().map(|wire| marked(wire.signal, wire.back));
            let says = part.says.iter().map(|wire| marked(wire.signal, false));
            table.row(&[
                vec![format!("`{}`", part.name)],
                vec![does.into()],
                wrapped(hears),
                wrapped(says),
                vec![keeps(part).into()],
            ]);
        }
        page += &table.show();
    }
    page += "\n## Signals by name\n\nWho may say each, and who hears it.\n\n";
    let mut table = Grid::new(&["signal", "waits", "said by", "heard by"]);
    for line in lines {
        table.row(&[
            vec![format!("`{}`", line.signal)],
            vec![waits(line.policy)],
            wrapped(line.said_by.iter().map(|room| marked(room, false))),
            wrapped(line.heard_by.iter().map(|(room, back)| marked(room, *back))),
        ]);
    }
    page + &table.show()
}

fn marked(name: &str, back: bool) -> String {
    if back { format!("`{name}` ↩") } else { format!("`{name}`") }
}

/// Names with commas, in lines of a cell's width.
fn wrapped(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for name in names {
        match lines.last_mut() {
            Some(line) if line.chars().count() + name.chars().count() + 2 <= CELL => {
                line.push_str(", ");
                line.push_str(&name);
            }
            Some(line) => {
                line.push(',');
                lines.push(name);
            }
            None => lines.push(name),
        }
    }
    lines
}

/// A Markdown table in which a long cell continues in rows without a name. Columns are aligned in the source too,
/// except the last.
struct Grid {
    rows: Vec<Vec<String>>,
}

impl Grid {
    fn new(head: &[&str]) -> Self {
        Self { rows: vec![head.iter().map(|name| (*name).to_owned()).collect()] }
    }

    fn row(&mut self, cells: &[Vec<String>]) {
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        for at in 0..height {
            self.rows.push(cells.iter().map(|cell| cell.get(at).cloned().unwrap_or_default()).collect());
        }
    }

    fn show(&self) -> String {
        let columns = self.rows.first().map_or(0, Vec::len);
        let width = |column: usize| self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = String::new();
        for (at, row) in self.rows.iter().enumerate() {
            let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
                let gap = if column + 1 < columns { width - cell.chars().count() } else { 0 };
                format!(" {cell}{} ", " ".repeat(gap))
            });
            let _ = writeln!(text, "|{}|", cells.collect::<Vec<_>>().join("|"));
            if at == 0 {
                let rules = widths.iter().enumerate().map(|(column, width)| match column + 1 < columns {
                    true => "-".repeat(width + 2),
                    false => "---".into(),
                });
                let _ = writeln!(text, "|{}|", rules.collect::<Vec<_>>().join("|"));
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_is_wrapped_and_goes_on_below() {
        let names = ["a".repeat(30), "b".repeat(CELL - 32), "c".into()];
        let [a, b, c] = names.clone();
        assert_eq!(wrapped(names.into_iter()), [format!("{a}, {b},"), c]);
        let mut table = Grid::new(&["room", "hears"]);
        table.row(&[vec!["x".into()], vec!["one,".into(), "two".into()]]);
        assert_eq!(table.show(), "| room | hears |\n|------|---|\n| x    | one, |\n|      | two |\n");
    }
}

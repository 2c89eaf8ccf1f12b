//! `maxim sim learn`: the learning curve of whole brains in a small world.

use std::io::{IsTerminal, Write, stderr};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value;

use super::sim::{Scratch, threads};
use super::{Cell, CliError, Exit, Out, Table};
use crate::data_folder::{private_folder, write_private};
use crate::sim::learning::{self, Course, page, within};

/// Measure what a brain learns by experience alone, against chance and against brains that lack a part
///
/// Fire burns, food feeds, and berries are good until they turn poisonous. Nobody tells the brain, and nobody asks it
/// for anything. Each brain lives one episode a day, in virtual time, by what it sees and does. Some brains lack a
/// part: the difference is the worth of that part in this world.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  maxim sim learn\n  maxim sim learn --lives 50 --report learned")]
pub struct LearnArgs {
    /// Lives of each brain, each with its own chance
    #[arg(long, value_name = "N", default_value = "20")]
    lives: NonZeroUsize,
    /// Episodes of a life, eight opportunities each
    #[arg(long, value_name = "N", default_value = "16")]
    episodes: NonZeroUsize,
    /// After this many episodes some things change sides
    #[arg(long, value_name = "N", default_value_t = 8)]
    turns_after: usize,
    /// Seed of the first life; the same seed gives the same life
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Number of threads; results don't depend on it [default: the number of processors]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Folder for report.json, and for report.html with the curves
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
}

impl LearnArgs {
    pub(super) fn run(self, out: &Out) -> Result<Exit, CliError> {
        let Self { lives, episodes, turns_after, seed, threads: given, report } = self;
        if let Some(folder) = &report {
            private_folder().create(folder).map_err(|error| unwritable(folder, &error))?;
        }
        let course = Course { lives, first_seed: seed, episodes, turns_after, threads: threads(given) };
        let scratch = Scratch::new()?;
        let is_watched = stderr().is_terminal();
        let told = |share: f64| {
            if is_watched {
                let _ = write!(stderr(), "\r{:3.0} % lived", share * 100.0);
            }
        };
        let figures = learning::run(scratch.path(), course, told);
        if is_watched {
            let _ = writeln!(stderr());
        }
        let figures = figures.map_err(|error| {
            CliError::new(Exit::Bug, format!("the simulation failed: {error}"), "report it, with the command")
        })?;
        if let Some(folder) = &report {
            let json = serde_json::to_vec_pretty(&figures).unwrap_or_default(); // what was made of JSON is JSON
            let written = write_private(&folder.join("report.json"), &json);
            written
                .and_then(|()| write_private(&folder.join("report.html"), page(&figures).as_bytes()))
                .map_err(|error| unwritable(folder, &error))?;
        }
        out.answer(&figures, || shown(&figures, out))?;
        Ok(Exit::Ok)
    }
}

fn unwritable(folder: &Path, error: &std::io::Error) -> CliError {
    let found = format!("the report can't be written to {}: {error}", folder.display());
    CliError::new(Exit::TryAgain, found, "name another folder with --report")
}

fn shown(figures: &Value, out: &Out) -> String {
    let count = |of: &Value| usize::try_from(of.as_u64().unwrap_or_default()).unwrap_or(usize::MAX);
    let (last, turns) = (count(&figures["episodes"]), count(&figures["world"]["turns_after"]));
    let judged = count(&figures["learnt_after"]) + 1;
    let mut episodes = vec![1, judged, turns, turns.saturating_add(1), last];
    episodes.retain(|episode| (1..=last).contains(episode));
    episodes.sort_unstable();
    episodes.dedup();
    let heads: Vec<String> = episodes.iter().map(|episode| format!("ep. {episode}")).collect();
    let heads = heads.iter().map(String::as_str);
    let more = ["better than chance", "the part is worth", "and spares hurts"];
    let mut table = Table::new(&["brain"].into_iter().chain(heads).chain(more).collect::<Vec<_>>());
    let row = |name: &str, worth: &Value| {
        let means = episodes.iter().map(|episode| worth[episode - 1]["mean"].as_f64().unwrap_or_default());
        let means = means.map(|mean| Cell::number(format!("{mean:.2}")));
        [Cell::text(name)].into_iter().chain(means).collect::<Vec<_>>()
    };
    table.row(row("at random", &figures["random"]));
    table.row(row("the best possible", &figures["best"]));
    for brain in figures["brains"].as_array().into_iter().flatten() {
        let mut cells = row(brain["brain"].as_str().unwrap_or_default(), &brain["worth"]);
        let better = brain["better_than_chance"].as_f64();
        cells.extend([
            Cell::number(better.map_or("–".to_owned(), |share| format!("{:.0} %", share * 100.0))),
            Cell::number(within(&brain["part_is_worth"]).unwrap_or_default()),
            Cell::number(within(&brain["part_spares_hurts"]).unwrap_or_default()),
        ]);
        table.row(cells);
    }
    let change = match (1..last).contains(&turns) {
        true => format!("after episode {turns} some things change sides"),
        false => "nothing changes sides meanwhile".to_owned(),
    };
    format!(
        "{}\nworth of an opportunity, -1 to 1, on the mean over {} lives; {change};\n\
         better than chance: so many of the lives in episode {judged}; in brackets 95 % intervals\n",
        table.show(out.paint),
        figures["lives"],
    )
}

//! `maxim sim run`: agents live through scenario files, and what was expected is checked.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::sim::Scratch;
use super::table::Tone;
use super::{Cell, CliError, Exit, Out, Table};
use crate::data_folder::write_private;
use crate::sim::bench::Broken;
use crate::sim::scenario::{Checked, Scenario, check, junit, live};

/// Run agents through scenario files, and check the expectations
///
/// A whole agent without a model lives each scenario in virtual time, from its first day on. Its tools work in a folder
/// of their own. The exit code is 0 when all expectations hold, 1 when one doesn't, and 2 for an invalid scenario file.
#[derive(Args, Debug)]
#[command(after_help = "Example, lamp.yaml:
  name: remembers where the lamp is
  percepts:
    - content: remember that the lamp stands in the hall
    - at: 10s
      content: where is the lamp?
  expectations:
    - reply_contains: { text: hall }
    - memory_formed: { about: lamp }
    - response_latency: { at_most: 1s }

  maxim sim run lamp.yaml

Expectations: action_taken, action_blocked, memory_formed, concept_formed, causal_link_formed, prediction_valence,
tool_used, tool_success_rate, response_latency, memory_count_range, action_count_range, graph_density_above,
pain_signal_count, pipeline_continued, stopped_within, reply_contains. More examples are in deploy/scenarios.")]
pub struct RunArgs {
    /// Scenario files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// File for the results as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

/// The result of a scenario.
struct Told {
    file: String,
    name: String,
    took_s: f64,
    checked: Vec<Checked>,
}

impl RunArgs {
    pub(super) fn run(self, out: &Out) -> Result<Exit, CliError> {
        // All files are read first. If one is wrong, none is run.
        let (mut scenarios, mut faults) = (Vec::new(), Vec::new());
        for file in &self.files {
            match Scenario::read(file) {
                Ok(scenario) => scenarios.push((file, scenario)),
                Err(fault) => faults.push(fault),
            }
        }
        if !faults.is_empty() {
            return Err(CliError::Failed { exit: Exit::Usage, faults });
        }
        let mut all = Vec::new();
        for (file, scenario) in scenarios {
            let scratch = Scratch::new()?;
            let told = told(file.display().to_string(), &scenario, scratch.path());
            all.push(told.map_err(|error| {
                let found = format!("{} broke: {error}", file.display());
                CliError::new(Exit::Bug, found, "report it, with the file")
            })?);
        }
        let holds = all.iter().all(Told::holds);
        let document = json!({ "holds": holds, "scenarios": all.iter().map(Told::document).collect::<Vec<_>>() });
        out.answer(&document, || all.iter().map(|told| told.shown(out)).collect::<Vec<_>>().join("\n"))?;
        if let Some(file) = &self.junit {
            let suites: Vec<_> = all.iter().map(|told| (told.name.clone(), told.checked.clone())).collect();
            write_private(file, junit(&suites).as_bytes()).map_err(|error| {
                let found = format!("the results can't be written to {}: {error}", file.display());
                CliError::new(Exit::TryAgain, found, "name another file with --junit")
            })?;
        }
        Ok(if holds { Exit::Ok } else { Exit::NotHeld })
    }
}

fn told(file: String, scenario: &Scenario, folder: &Path) -> Result<Told, Broken> {
    let mut lived = live(scenario, folder)?;
    let mut checked = Vec::new();
    if let Some(over) = lived.over_budget.take() {
        checked.push(Checked { expectation: "budget".into(), holds: false, found: over });
    }
    for expectation in &scenario.expectations {
        checked.push(check(&mut lived, expectation)?);
    }
    Ok(Told { file, name: scenario.name.clone(), took_s: lived.took.as_secs_f64(), checked })
}

impl Told {
    fn holds(&self) -> bool {
        self.checked.iter().all(|checked| checked.holds)
    }

    fn document(&self) -> Value {
        json!({
            "file": self.file,
            "name": self.name,
            "holds": self.holds(),
            "took_s": self.took_s,
            "expectations": self.checked,
        })
    }

    fn shown(&self, out: &Out) -> String {
        let mut table = Table::bare();
        for Checked { expectation, holds, found } in &self.checked {
            let (word, tone) = if *holds { ("holds", Tone::Good) } else { ("FAILS", Tone::Bad) };
            let found = Cell::text(found).cut(100);
            table.row(vec![Cell::text(word).toned(tone), Cell::text(expectation), found.toned(Tone::Faint)]);
        }
        let held = self.checked.iter().filter(|checked| checked.holds).count();
        format!(
            "{} ({}): {held} of {} hold, in {:.1} s of virtual time\n{}",
            super::table::printable(&self.name),
            self.file,
            self.checked.len(),
            self.took_s,
            table.show(out.paint),
        )
    }
}

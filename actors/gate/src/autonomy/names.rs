//! The names by which tools are asked for. Small models invent some. A known wrong name leads to its tool. An unknown
//! name is answered with the nearest names; from the second unknown name in a row, with all names.

use maxim_bus::signals::powers::NameCounts;
use serde::{Deserialize, Serialize};

use maxim_tools::{Door, Resolved, ToolRegistry};

/// How a name was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Named {
    Rightly,
    /// A known wrong name.
    Redirected,
    /// No tool has this name.
    Unknown,
}

impl Named {
    pub(super) const fn of(resolved: &Resolved<'_>) -> Self {
        match resolved {
            Resolved::Tool(_) => Self::Rightly,
            Resolved::Redirected(_) => Self::Redirected,
            Resolved::Unknown { .. } => Self::Unknown,
        }
    }
}

/// How names were read so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NameTally {
    counts: NameCounts,
    /// Unknown names since the last known one, including that of the current call.
    in_a_row: u32,
}

impl NameTally {
    pub fn count(&mut self, named: Named) {
        self.counts.attempts += 1;
        match named {
            Named::Rightly => {}
            Named::Redirected => self.counts.redirected += 1,
            Named::Unknown => self.counts.unknown += 1,
        }
        self.in_a_row = if named == Named::Unknown { self.in_a_row + 1 } else { 0 };
    }

    pub fn counts(&self) -> &NameCounts {
        &self.counts
    }

    /// The tool that a name means and how the name was read; as an error, the answer when the name can't be called.
    pub(super) fn read(&self, name: &str, tools: &ToolRegistry) -> Result<(Named, String), (Named, String)> {
        match tools.resolve(name) {
            Resolved::Tool(found) => Ok((Named::Rightly, found.spec.name.clone())),
            Resolved::Redirected(found) if found.spec.door == Door::Introspection => {
                let own = &found.spec.name;
                Err((Named::Redirected, format!("{name} means {own}, which is a question: ask for {own}")))
            }
            Resolved::Redirected(found) => Ok((Named::Redirected, found.spec.name.clone())),
            Resolved::Unknown { nearest } => Err((Named::Unknown, self.answer(name, &nearest, tools))),
        }
    }

    fn answer(&self, name: &str, nearest: &[String], tools: &ToolRegistry) -> String {
        let name: String = name.chars().take(80).collect();
        let all = || tools.names().collect::<Vec<_>>().join(", ");
        match self.in_a_row {
            0 | 1 => format!("there is no tool {name:?}; the nearest are {}", nearest.join(", ")),
            _ => format!("there is no tool {name:?} either; these are all: {}", all()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use maxim_tools::core_registry;

    #[test]
    fn the_first_unknown_name_gets_the_nearest_and_the_second_in_a_row_all() {
        let tools = core_registry().expect("good specs");
        let mut tally = NameTally::default();
        // A name is counted when it is proposed, and read when it is called.
        let mut asked = |name: &str| {
            tally.count(Named::of(&tools.resolve(name)));
            tally.clone().read(name, &tools)
        };
        let (_, first) = asked("rite_file").expect_err("unknown");
        assert!(first.contains("nearest are write_file"), "{first}");
        assert!(!first.contains("similarity_search"), "{first}");
        let (_, second) = asked("telekinesis").expect_err("unknown");
        assert!(second.contains("these are all") && tools.names().all(|name| second.contains(name)), "{second}");
        assert!(asked("bash").is_ok());
        let (_, after) = asked("rite_file").expect_err("unknown");
        assert!(after.contains("nearest"), "a known name begins anew: {after}");
        assert_eq!(*tally.counts(), NameCounts { attempts: 4, redirected: 0, unknown: 3 });
    }

    #[test]
    fn a_known_wrong_name_leads_to_its_tool_and_a_question_is_no_call() {
        let tools = core_registry().expect("good specs");
        let tally = NameTally::default();
        assert_eq!(tally.read("run_command", &tools), Ok((Named::Redirected, "bash".into())));
        assert_eq!(tally.read("Write-File", &tools), Ok((Named::Redirected, "write_file".into())));
        let (named, why) = tally.read("remember", &tools).expect_err("a question");
        assert_eq!(named, Named::Redirected);
        assert!(why.contains("memory_recall"), "{why}");
    }
}

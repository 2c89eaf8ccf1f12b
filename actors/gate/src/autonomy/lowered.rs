//! The powers that the agent gave up itself. Lowerings add up; only a person gives powers back.

use std::path::PathBuf;

use maxim_bus::mode::{AutonomyLevel, Mode, Powers};
use maxim_bus::signals::outcome::ToolResult;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use maxim_tools::powers::{AUTONOMY_LEVEL, MODE_SWITCH, REQUEST_DIRECTORY_CHANGE, WEB_ACCESS};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Lowered {
    mode: Option<Mode>,
    autonomy: Option<AutonomyLevel>,
    web_off: bool,
    /// Not a lowering: the working folder that a person let it move to.
    workdir: Option<PathBuf>,
}

impl Lowered {
    /// What a tool's success changes; `None` if it changes nothing.
    pub fn by(tool: &str, result: &ToolResult) -> Option<Self> {
        if result.success != Some(true) {
            return None;
        }
        let mut change = Self::default();
        match tool {
            MODE_SWITCH => change.mode = Some(read(result, "mode")?),
            AUTONOMY_LEVEL => change.autonomy = Some(read(result, "autonomy")?),
            WEB_ACCESS => change.web_off = !read::<bool>(result, "web")?,
            REQUEST_DIRECTORY_CHANGE => change.workdir = Some(read(result, "workdir")?),
            _ => return None,
        }
        Some(change)
    }

    /// Adds a change: of each power the lower value stays.
    pub fn add(&mut self, change: &Self) {
        fn lower<T: Ord + Copy>(now: Option<T>, then: Option<T>) -> Option<T> {
            now.into_iter().chain(then).min()
        }
        self.mode = lower(self.mode, change.mode);
        self.autonomy = lower(self.autonomy, change.autonomy);
        self.web_off |= change.web_off;
        self.workdir = change.workdir.clone().or_else(|| self.workdir.take());
    }

    /// The mode it was lowered to, if any.
    pub fn mode(&self) -> Option<Mode> {
        self.mode
    }

    /// The powers that are left of `whole`.
    pub fn of(&self, whole: &Powers) -> Powers {
        Powers {
            mode: whole.mode.lowered_to(self.mode),
            autonomy: self.autonomy.map_or(whole.autonomy, |level| level.min(whole.autonomy)),
            web: whole.web && !self.web_off,
            workdir: self.workdir.clone().or_else(|| whole.workdir.clone()),
        }
    }

    /// Every power that differs from the configuration, in words.
    pub fn words(&self, whole: &Powers) -> Vec<String> {
        let now = self.of(whole);
        let mut words = Vec::new();
        if now.mode != whole.mode {
            words.push(format!("mode {} instead of {}", now.mode.as_str(), whole.mode.as_str()));
        }
        if now.autonomy != whole.autonomy {
            words.push(format!("autonomy {} instead of {}", now.autonomy.as_str(), whole.autonomy.as_str()));
        }
        if now.web != whole.web {
            words.push("reading the web is off".into());
        }
        if let Some(workdir) = &self.workdir {
            words.push(format!("working folder {}", workdir.display()));
        }
        words
    }
}

fn read<T: DeserializeOwned>(result: &ToolResult, field: &str) -> Option<T> {
    serde_json::from_value(result.output.get(field)?.clone()).ok()
}

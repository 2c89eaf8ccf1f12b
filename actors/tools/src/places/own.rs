//! The agent's own configuration and data, which no tool may change. Only a person writes the configuration, and the
//! data holds the stop latch.

use std::path::Path;

use super::Setting;
use super::globs::{is_glob, matches};
use super::paths::UNKNOWN;

/// A place's relation to the agent's own files. A later variant weighs more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Own {
    Apart,
    /// Only the running shell knows whether it is one of them.
    Perhaps,
    /// One of them lies below it.
    Above,
    Configuration,
    Data,
}

impl Own {
    /// True for the agent's own files, false for places near them.
    pub fn is_itself(self) -> bool {
        self >= Self::Configuration
    }
}

/// For any spelling of a path, which may hold globs and [`UNKNOWN`].
pub fn standing(setting: &Setting, spellings: [&str; 2]) -> Own {
    let own = &setting.own;
    let configuration = own.configuration.iter().map(|path| (path, Own::Configuration));
    let mut worst = Own::Apart;
    for (path, kind) in configuration.chain(own.data.iter().map(|path| (path, Own::Data))) {
        for spelling in spellings {
            worst = worst.max(standing_to(spelling, path, kind));
        }
    }
    worst
}

fn standing_to(spelling: &str, path: &Path, kind: Own) -> Own {
    let text = path.to_string_lossy();
    let mut own = text.split('/').filter(|part| !part.is_empty()).peekable();
    let mut has_glob = false;
    for part in spelling.split('/').filter(|part| !part.is_empty()) {
        let Some(name) = own.next() else { break };
        if part.contains(UNKNOWN) || part == "**" {
            let rest = spelling.rsplit([UNKNOWN, '*']).next().unwrap_or_default();
            let start = part.split([UNKNOWN, '*']).next().unwrap_or_default();
            let may_be = name.starts_with(start) && (kind == Own::Data || text.ends_with(rest));
            return if may_be { Own::Perhaps } else { Own::Apart };
        }
        has_glob |= is_glob(part);
        if !matches(part, name) {
            return Own::Apart;
        }
    }
    let is_above = own.peek().is_some();
    // A glob matches only what exists, and what doesn't exist is in no deleted folder.
    if (has_glob || is_above) && std::fs::symlink_metadata(path).is_err() {
        return Own::Apart;
    }
    if is_above { Own::Above } else { kind }
}

//! What a tool was used on, and how well the two go together.

use maxim_bus::signals::concepts::RecordsRemoved;
use maxim_bus::units::Confidence;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::program::SkillLaw;
use maxim_region::Sources;

/// Maximum number of pairs of tool and object; the one unused for longest is removed.
pub const MOST_PAIRS: usize = 192;
/// Successes at which a pair is first reported; then at each doubling.
const FIRST_SAID: u32 = 3;
/// Share of successes needed for "works with".
const WORKS: f64 = 0.7;
pub(super) const MOST_EPISODES: usize = 8;
const MOST_FAILED: usize = 4;
const NAME_CHARS: usize = 40;

/// The kind of object of a call: the kind of a file, a folder, a host, or the program of a command.
pub fn object_of(params: &Json) -> Option<String> {
    let text = |names: &[&str]| names.iter().find_map(|name| params.get(*name)?.as_str()).map(str::trim);
    let bounded = |name: &str| (!name.is_empty()).then(|| name.chars().take(NAME_CHARS).collect::<String>());
    if let Some(url) = text(&["url"]) {
        let host = url.split_once("://").map_or(url, |(_, rest)| rest);
        return bounded(host.split(['/', '?', '#', ':']).next()?);
    }
    if let Some(path) = text(&["path", "file", "pattern"]) {
        let name = path.rsplit('/').next().unwrap_or(path);
        return match name.rsplit_once('.') {
            Some((stem, kind)) if !stem.is_empty() && kind.chars().all(char::is_alphanumeric) => {
                bounded(&format!("{} file", kind.to_lowercase()))
            }
            _ if path.ends_with('/') || path == "." => Some("folder".into()),
            _ => Some("file".into()),
        };
    }
    let command = text(&["command"])?;
    let program = command.split_whitespace().find(|word| !word.contains('='))?;
    bounded(program.rsplit('/').next().unwrap_or(program))
}

/// How well a tool and a kind of object work together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pairing {
    pub successes: u32,
    pub failures: u32,
    /// Episodes in which it succeeded.
    #[serde(flatten)]
    pub sources: Sources,
    /// Episodes in which it failed.
    pub failed: Sources,
    /// The number of its last use, counted over all pairs.
    pub last: u64,
}

impl Pairing {
    pub fn used(&mut self, success: bool, episode: String, number: u64) {
        self.last = number;
        if !success {
            self.failures = self.failures.saturating_add(1);
            self.failed.note(&episode, MOST_FAILED);
            return;
        }
        self.successes = self.successes.saturating_add(1);
        self.sources.note(&episode, MOST_EPISODES);
    }

    pub fn rests_on(&self, removed: &RecordsRemoved) -> bool {
        self.sources.holds(removed) || self.failed.holds(removed)
    }

    /// False when a person had all of its evidence forgotten.
    pub fn let_go(&mut self, removed: &RecordsRemoved) -> bool {
        self.sources.let_go(removed);
        self.failed.let_go(removed);
        !(self.sources.is_spent() && self.failed.is_spent())
    }

    /// Whether to report it now: at three, six, twelve … successes, if most uses succeed.
    pub fn is_news(&self) -> bool {
        let doubled = self.successes.is_multiple_of(FIRST_SAID) && (self.successes / FIRST_SAID).is_power_of_two();
        self.successes >= FIRST_SAID && doubled && self.share() >= WORKS
    }

    fn share(&self) -> f64 {
        f64::from(self.successes) / f64::from((self.successes + self.failures).max(1))
    }

    /// min(0.99, 0.5 + 0.1 √n) for n uses, times the share that succeeded.
    pub fn confidence(&self, law: &SkillLaw) -> Confidence {
        let uses = f64::from(self.successes + self.failures);
        let sure = (law.confidence_first + law.confidence_growth * uses.sqrt()).min(law.confidence_max);
        Confidence::clamped(sure * self.share())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_are_kinds_and_not_names() {
        for (params, object) in [
            (json!({"path": "notes/a.TXT", "content": "x"}), Some("txt file")),
            (json!({"path": "src/"}), Some("folder")),
            (json!({"path": "Makefile"}), Some("file")),
            (json!({"path": ".bashrc"}), Some("file")),
            (json!({"pattern": "**/*.rs"}), Some("rs file")),
            (json!({"url": "https://example.org:8080/a?b"}), Some("example.org")),
            (json!({"command": "LANG=C /usr/bin/git status"}), Some("git")),
            (json!({"command": ""}), None),
            (json!({"message": "hi"}), None),
            (json!(null), None),
        ] {
            assert_eq!(object_of(&params).as_deref(), object, "{params}");
        }
    }

    #[test]
    fn it_is_news_at_three_successes_and_at_each_doubling() {
        let mut pairing = Pairing::default();
        let mut news = Vec::new();
        for number in 1..=24 {
            pairing.used(true, format!("t{number}"), number);
            if pairing.is_news() {
                news.push(number);
            }
        }
        assert_eq!(news, [3, 6, 12, 24]);
        assert_eq!(pairing.sources.episodes.len(), MOST_EPISODES);
        let mut bad = Pairing { failures: 5, ..Pairing::default() };
        (1..=3).for_each(|number| bad.used(true, format!("t{number}"), number));
        assert!(!bad.is_news() && bad.confidence(&SkillLaw::default()).get() < 0.3);
        let wary = SkillLaw { confidence_max: 0.1, ..SkillLaw::default() };
        assert!(bad.confidence(&wary).get() < bad.confidence(&SkillLaw::default()).get());
    }
}

//! What the tools taught, in an export and back.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::law::SAMPLE;
use super::region::{LEARNED, SAMPLED, ToolIndexEvent, ToolIndexRoom, sampled_key};
use super::{Learned, Sampled, ToolIndex};
use maxim_region::{Entry, Names, Pulse, RecordView, Remembers, Took};

const TOOLS: &str = "tools";
const GOALS: &str = "goals";
const SUCCESSES: &str = "successes";

/// What an import brought.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Recalled {
    pub(super) successes: u64,
    tools: Vec<(String, Learned)>,
    goals: Vec<(u64, Sampled)>,
    /// Goals that made room.
    leave: Vec<u64>,
}

impl Recalled {
    pub(super) fn put(self, index: &mut ToolIndex) {
        self.leave.into_iter().for_each(|key| index.forget_sampled(key));
        self.tools.into_iter().for_each(|(tool, learned)| index.restore(tool, learned));
        self.goals.into_iter().for_each(|(key, sampled)| index.restore_sampled(key, sampled));
    }
}

fn served(sampled: &Sampled) -> u32 {
    sampled.used.values().sum()
}

fn read<T: DeserializeOwned>(entry: &Entry) -> Result<T, String> {
    serde_json::from_value(entry.record.clone()).map_err(|error| format!("it is no record of {}: {error}", entry.part))
}

/// The sample as it is kept.
fn sample(records: &RecordView<'_>) -> BTreeMap<u64, Sampled> {
    let kept = records.prefixed(SAMPLED.as_bytes(), usize::MAX).into_iter();
    let read = kept.filter_map(|(key, bytes)| {
        let key = std::str::from_utf8(&key[SAMPLED.len()..]).ok()?;
        Some((u64::from_str_radix(key, 16).ok()?, serde_json::from_slice(&bytes).ok()?))
    });
    read.collect()
}

impl Remembers for ToolIndexRoom {
    fn parts() -> Vec<&'static str> {
        vec![TOOLS, GOALS, SUCCESSES]
    }

    fn recall(&self, part: &str, after: Option<&str>, limit: usize, records: &RecordView<'_>) -> Vec<(String, Json)> {
        let prefix = match part {
            TOOLS => LEARNED,
            GOALS => SAMPLED,
            _ if self.successes > 0 && after.is_none() => return vec![(String::new(), self.successes.into())],
            _ => return Vec::new(),
        };
        let kept = records.prefixed(prefix.as_bytes(), usize::MAX).into_iter();
        let lines = kept.filter_map(|(key, bytes)| {
            let key = std::str::from_utf8(&key[prefix.len()..]).ok()?;
            let is_next = after.is_none_or(|after| key > after);
            Some((key.to_owned(), serde_json::from_slice(&bytes).ok().filter(|_: &Json| is_next)?))
        });
        lines.take(limit).collect()
    }

    fn take_in(&self, entries: &[Entry], _names: &mut Names, pulse: &mut Pulse<'_, Self>) -> Vec<Result<Took, String>> {
        let mut recalled = Recalled::default();
        let mut goals = sample(pulse.records());
        let before = goals.clone();
        let mut took = Vec::new();
        for entry in entries {
            took.push(match entry.part.as_str() {
                TOOLS => read::<Learned>(entry).map(|learned| {
                    let known = pulse.record::<Learned>(format!("{LEARNED}{}", entry.key).as_bytes());
                    if known.is_some_and(|known| known.successes >= learned.successes) {
                        return Took::Merged;
                    }
                    pulse.put(format!("{LEARNED}{}", entry.key), &learned);
                    recalled.tools.push((entry.key.clone(), learned));
                    Took::Kept
                }),
                GOALS => read::<Sampled>(entry).and_then(|sampled| {
                    let key = u64::from_str_radix(&entry.key, 16).map_err(|_| format!("{:?} is no key", entry.key))?;
                    if goals.get(&key).is_some_and(|known| served(known) >= served(&sampled)) {
                        return Ok(Took::Merged);
                    }
                    goals.insert(key, sampled);
                    // Those with the smallest keys stand for all.
                    let left = if goals.len() > SAMPLE { goals.pop_last() } else { None };
                    Ok(if left.is_some_and(|(left, _)| left == key) { Took::Merged } else { Took::Kept })
                }),
                _ => entry.record.as_u64().ok_or_else(|| format!("{} is no count", entry.record)).map(|count| {
                    recalled.successes = recalled.successes.max(count);
                    if count > self.successes { Took::Kept } else { Took::Merged }
                }),
            });
        }
        for key in before.keys().filter(|key| !goals.contains_key(key)) {
            pulse.remove(sampled_key(*key));
            recalled.leave.push(*key);
        }
        for (key, sampled) in goals {
            if before.get(&key) != Some(&sampled) {
                pulse.put(sampled_key(key), &sampled);
                recalled.goals.push((key, sampled));
            }
        }
        if took.contains(&Ok(Took::Kept)) {
            pulse.keep(ToolIndexEvent::Recalled(Box::new(recalled)));
        }
        took
    }
}

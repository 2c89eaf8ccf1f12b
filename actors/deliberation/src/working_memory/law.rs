//! What is on the mind, how much it stands out, and how it is looked through.

use std::collections::VecDeque;

use maxim_bus::MessageId;
use maxim_bus::signals::recall::{RecalledEpisode, Via};
use maxim_bus::signals::thought::ActionSummary;
use maxim_bus::signals::working_memory::{
    EntryKind, SurveyOrder, SurveyWorkingMemory, WorkingEntry, WorkingMemorySurveyed,
};
use serde::{Deserialize, Serialize};

/// Entries at most.
pub const ENTRIES: usize = 64;
/// Characters of an entry.
pub const CLIP: usize = 300;
/// Salience of what an action led to, and of what failed or was refused.
pub const OUTCOME: [f64; 2] = [0.5, 0.7];
/// Salience of how a person takes it.
pub const REACTION: f64 = 0.6;
/// Salience of what memory found.
pub const RECALL: f64 = 0.4;
/// Salience of what came to mind by association: further off than what was looked for.
pub const ACTIVATION: f64 = 0.3;
/// Salience of the brain's own words.
pub const OWN_WORDS: f64 = 0.5;

/// The entries, the newest last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Entries(VecDeque<WorkingEntry>);

impl Entries {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn note(&mut self, entries: Vec<WorkingEntry>) {
        self.0.extend(entries);
        let over = self.0.len().saturating_sub(ENTRIES);
        self.0.drain(..over);
    }

    /// Nothing of these episodes stays: neither what was said in them, nor what was recalled of them, nor the brain's own
    /// words that rest on them.
    pub fn forget(&mut self, episodes: &[String]) {
        self.0.retain(|entry| !is_of(entry, episodes));
        self.0.iter_mut().for_each(|entry| entry.rests_on.retain(|id| !episodes.contains(id)));
    }

    pub fn holds(&self, episodes: &[String]) -> bool {
        self.0.iter().any(|entry| is_of(entry, episodes))
    }

    /// Episodes that a turn reminded of, as far as it got.
    pub fn reminded(&self, turn: MessageId) -> Vec<String> {
        self.0.iter().filter(|entry| entry.turn == turn).flat_map(|entry| entry.rests_on.iter().cloned()).collect()
    }

    /// Episodes that the thoughts of a turn rest on: what came of thinking rests on them too.
    pub fn thought_from(&self, turn: MessageId) -> Vec<String> {
        let thoughts = self.0.iter().filter(|entry| entry.turn == turn && entry.kind == EntryKind::Thought);
        thoughts.flat_map(|entry| entry.rests_on.iter().cloned()).collect()
    }

    /// With whom the turn is talked about.
    pub fn partner(&self, turn: MessageId) -> Option<&str> {
        let said = self.0.iter().rev().find(|entry| entry.turn == turn && entry.kind == EntryKind::Conversation);
        said.map(|entry| entry.of.as_str())
    }

    pub fn survey(&self, wanted: &SurveyWorkingMemory) -> WorkingMemorySurveyed {
        let fits = |entry: &&WorkingEntry| {
            (wanted.kinds.is_empty() || wanted.kinds.contains(&entry.kind))
                && wanted.since.is_none_or(|since| entry.at >= since)
                && wanted.turn.is_none_or(|turn| entry.turn != turn)
        };
        let limit = if wanted.limit == 0 { ENTRIES } else { wanted.limit };
        // The newest first.
        let mut found: Vec<&WorkingEntry> = self.0.iter().rev().filter(fits).collect();
        match wanted.order {
            SurveyOrder::Recent => {
                found.truncate(limit);
                found.reverse();
            }
            SurveyOrder::Salient => {
                found.sort_by(|a, b| b.salience.get().total_cmp(&a.salience.get()));
                found.truncate(limit);
            }
        }
        WorkingMemorySurveyed { entries: found.into_iter().cloned().collect(), head: self.head(wanted.turn).cloned() }
    }

    /// The most salient of a turn, of equals the newer; the newest of all where no turn asks.
    fn head(&self, turn: Option<MessageId>) -> Option<&WorkingEntry> {
        let Some(turn) = turn else { return self.0.back() };
        let of_turn = self.0.iter().filter(|entry| entry.turn == turn);
        of_turn.max_by(|a, b| a.salience.get().total_cmp(&b.salience.get()))
    }
}

fn is_of(entry: &WorkingEntry, episodes: &[String]) -> bool {
    let turn = entry.turn.to_string();
    // What somebody perceived or said stands by itself, whatever it reminded of.
    let rests_on = |episode: &String| entry.own && entry.rests_on.contains(episode);
    episodes.iter().any(|episode| *episode == turn || *episode == entry.of || rests_on(episode))
}

/// Each once, in order.
pub fn each_once(episodes: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut all: Vec<String> = episodes.into_iter().collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The first [`CLIP`] characters, in one line.
pub fn clipped(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(CLIP) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// What an action led to, in words.
pub fn outcome_of(action: &ActionSummary) -> String {
    let params = if action.params.is_null() { String::new() } else { format!(" {}", action.params) };
    let reason = action.reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
    // The end matters more than long parameters.
    let params = clipped(&params).chars().take(CLIP / 2).collect::<String>();
    clipped(&format!("{} {params} {}{reason}", action.tool, action.status))
}

/// Kind and salience of what memory found.
pub fn kind_of(recalled: &RecalledEpisode) -> (EntryKind, f64) {
    match recalled.via {
        Via::Association => (EntryKind::Activation, ACTIVATION),
        Via::Index | Via::Text | Via::Similarity => (EntryKind::Recall, RECALL),
    }
}

#[cfg(test)]
mod tests {
    use maxim_bus::Trust;
    use maxim_bus::units::Salience;

    use super::*;

    fn turn(n: u64) -> MessageId {
        MessageId::from_parts(n, 1)
    }

    fn entry(n: u64, kind: EntryKind, salience: f64) -> WorkingEntry {
        WorkingEntry {
            kind,
            at: jiff::Timestamp::from_second(i64::try_from(n).expect("small")).expect("a time"),
            turn: turn(n),
            salience: Salience::clamped(salience),
            novelty: None,
            heard: None,
            trust: Trust::Own,
            of: format!("of{n}"),
            own: false,
            text: format!("entry {n}"),
            rests_on: Vec::new(),
        }
    }

    fn texts(surveyed: &WorkingMemorySurveyed) -> Vec<&str> {
        surveyed.entries.iter().map(|entry| entry.text.as_str()).collect()
    }

    fn filled() -> Entries {
        let mut entries = Entries::default();
        entries.note(vec![
            entry(1, EntryKind::Conversation, 0.9),
            entry(2, EntryKind::Pain, 0.4),
            entry(3, EntryKind::Recall, 0.4),
            entry(4, EntryKind::Conversation, 0.5),
        ]);
        entries
    }

    #[test]
    fn it_is_looked_through_by_recency_kind_time_and_salience() {
        let entries = filled();
        let ask = |survey: SurveyWorkingMemory| entries.survey(&survey);
        let all = SurveyWorkingMemory::default();
        assert_eq!(texts(&ask(all.clone())), ["entry 1", "entry 2", "entry 3", "entry 4"]);
        assert_eq!(texts(&ask(SurveyWorkingMemory { limit: 2, ..all.clone() })), ["entry 3", "entry 4"]);
        let kinds = vec![EntryKind::Conversation];
        assert_eq!(texts(&ask(SurveyWorkingMemory { kinds, ..all.clone() })), ["entry 1", "entry 4"]);
        let since = Some(jiff::Timestamp::from_second(3).expect("a time"));
        assert_eq!(texts(&ask(SurveyWorkingMemory { since, ..all.clone() })), ["entry 3", "entry 4"]);
        let order = SurveyOrder::Salient;
        let top = ask(SurveyWorkingMemory { order, limit: 3, ..all.clone() });
        assert_eq!(texts(&top), ["entry 1", "entry 4", "entry 3"], "of equals the newer");
    }

    #[test]
    fn a_turn_sees_what_was_before_it_and_its_own_most_salient_entry_is_the_head() {
        let mut entries = filled();
        assert_eq!(entries.survey(&SurveyWorkingMemory::default()).head.map(|head| head.text), Some("entry 4".into()));
        entries.note(vec![WorkingEntry {
            turn: turn(4),
            salience: Salience::clamped(0.8),
            ..entry(5, EntryKind::Pain, 0.0)
        }]);
        let surveyed = entries.survey(&SurveyWorkingMemory { turn: Some(turn(4)), ..SurveyWorkingMemory::default() });
        assert_eq!(surveyed.head.as_ref().map(|head| head.text.as_str()), Some("entry 5"));
        assert_eq!(texts(&surveyed), ["entry 1", "entry 2", "entry 3"]);
        assert_eq!(
            entries.survey(&SurveyWorkingMemory { turn: Some(turn(9)), ..SurveyWorkingMemory::default() }).head,
            None
        );
    }

    #[test]
    fn the_oldest_goes_and_so_does_what_is_forgotten() {
        let mut entries = Entries::default();
        entries.note((0..70).map(|n| entry(n, EntryKind::Recall, 0.1)).collect());
        assert_eq!(entries.len(), ENTRIES);
        assert_eq!(entries.survey(&SurveyWorkingMemory::default()).entries[0].text, "entry 6");
        let gone = [turn(10).to_string(), "of12".into()];
        assert!(entries.holds(&gone) && !entries.holds(&["of1".into()]));
        entries.forget(&gone);
        assert_eq!((entries.len(), entries.holds(&gone)), (ENTRIES - 2, false));
    }

    #[test]
    fn own_words_go_with_what_they_rest_on_and_what_was_asked_stays() {
        let mut entries = Entries::default();
        let rests_on = vec!["pin".to_owned(), "door".to_owned()];
        let asked = WorkingEntry { rests_on: rests_on.clone(), ..entry(1, EntryKind::Conversation, 0.5) };
        let thought = WorkingEntry { own: true, rests_on, ..entry(1, EntryKind::Thought, 0.5) };
        let other = WorkingEntry { own: true, rests_on: vec!["door".into()], ..entry(2, EntryKind::Conversation, 0.5) };
        entries.note(vec![asked, WorkingEntry { text: "a thought".into(), ..thought }, other]);
        assert_eq!(entries.thought_from(turn(1)), ["pin", "door"]);
        let gone = ["pin".to_owned()];
        assert!(entries.holds(&gone) && !entries.holds(&["key".to_owned()]));
        entries.forget(&gone);
        assert_eq!(texts(&entries.survey(&SurveyWorkingMemory::default())), ["entry 1", "entry 2"]);
        assert_eq!(entries.reminded(turn(1)), ["door"], "nothing names it any more");
        assert!(!entries.holds(&gone));
    }

    #[test]
    fn long_texts_are_cut_and_an_outcome_keeps_its_end() {
        assert_eq!(clipped(" one\n two "), "one two");
        assert_eq!(clipped(&"ä".repeat(400)).chars().count(), CLIP + 1);
        let params = serde_json::json!({ "text": "x".repeat(500) });
        let (id, reason) = (turn(1), Some("the disk is full".into()));
        let action = ActionSummary { id, tool: "write_file".into(), params, status: "failed".into(), reason };
        let told = outcome_of(&action);
        assert!(told.starts_with("write_file") && told.ends_with("failed: the disk is full"), "{told}");
    }
}

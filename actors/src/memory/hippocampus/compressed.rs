//! The small form of an episode: what it takes to know it again, in about 200 bytes.
//!
//! It is the record's own fields as a list instead of named members, so whoever reads an episode reads this too. Words
//! that were left out are still in the indexes: it is found as before.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::model::EpisodicMemory;

/// Bytes of text that stay.
const GIST: usize = 96;
/// Bytes of a goal or result that stay.
const NOTE: usize = 40;
/// Objects, and people, that stay.
const NAMES: usize = 4;
/// What a compressed record is expected to take, in bytes.
pub const TYPICAL_BYTES: u64 = 240;

/// The record of an episode with so many live edges.
pub fn compressed_record(episode: &EpisodicMemory, live_edges: u32) -> Vec<u8> {
    let names = |names: &[String]| -> Vec<Value> {
        names.iter().take(NAMES).map(|name| json!(cut(name, NOTE))).collect()
    };
    let hundredths = |number: f64| json!((number * 100.0).round() / 100.0);
    let action = episode.tool().map(|tool| json!([tool]));
    let outcome =
        episode.outcome.as_ref().map(|outcome| json!([outcome.success, cut(&outcome.result, NOTE)]));
    let seconds = Timestamp::from_second(episode.last_accessed.as_second()).unwrap_or(episode.last_accessed);
    let fields = json!([
        episode.id,
        episode.created,
        seconds,
        episode.access_count,
        episode.long_term,
        episode.provenance,
        episode.trust,
        "",
        [cut(&episode.perception.text, GIST), names(&episode.perception.objects), names(&episode.perception.people)],
        [episode.goal().map(|goal| cut(goal, NOTE))],
        null,
        action,
        outcome,
        hundredths(episode.salience.get()),
        hundredths(episode.novelty.get()),
        hundredths(episode.pain.get()),
        episode.person_involved,
        [],
        episode.sitting,
        live_edges,
    ]);
    serde_json::to_vec(&fields).unwrap_or_default()
}

/// The beginning of a text, cut between words.
fn cut(text: &str, most: usize) -> &str {
    let text = text.trim();
    if text.len() <= most {
        return text;
    }
    let end = (0..=most).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    let whole_words = text[..end].rfind(char::is_whitespace).filter(|at| *at >= most / 2);
    text[..whole_words.unwrap_or(end)].trim_end()
}

#[cfg(test)]
mod tests {
    use super::super::model::{Action, Outcome, Provenance, Trust};
    use super::*;
    use maxim_bus::units::{Intensity, Novelty, Salience};

    fn episode() -> EpisodicMemory {
        let mut episode =
            EpisodicMemory::new("01KE6ZV7K0000000000000000A", "2026-01-05T09:00:00.123456Z".parse().expect("a time"));
        episode.perception.text = "Anna put the spare key of the garden shed into the blue drawer of the old desk in \
            the hallway, beside the torch, because the hook by the door had come off again last winter"
            .into();
        episode.perception.people = vec!["Anna".into()];
        episode.perception.objects = vec!["key".into(), "drawer".into()];
        episode.perception.source = "comms:http".into();
        (episode.provenance, episode.trust, episode.run) = (Provenance::Person, Trust::Owner, "0000000000000001".into());
        episode.context.goal = Some("tidy the hallway".into());
        episode.context.mode = Some("active".into());
        episode.decision = Some("it is worth knowing where things are".into());
        let params = serde_json::Map::from_iter([("path".to_string(), "notes/keys.txt".into())]);
        episode.action = Some(Action { tool: "write_file".into(), params });
        episode.outcome = Some(Outcome { success: Some(true), result: "written".into() });
        (episode.salience, episode.novelty) = (Salience::clamped(0.9), Novelty::clamped(0.4567));
        episode.pain = Intensity::clamped(0.0);
        (episode.person_involved, episode.sitting, episode.access_count) = (true, 12, 3);
        episode
    }

    #[test]
    fn a_compressed_episode_is_small_and_read_like_any_other() {
        let whole = episode();
        let record = compressed_record(&whole, 7);
        let bytes = serde_json::to_vec(&whole).expect("plain data").len();
        println!("{bytes} bytes become {}", record.len());
        assert!(record.len() <= 330 && record.len() * 2 < bytes, "{}", String::from_utf8_lossy(&record));
        let small: EpisodicMemory = serde_json::from_slice(&record).expect("an episode");
        assert_eq!((small.id.as_str(), small.created, small.sitting), (whole.id.as_str(), whole.created, 12));
        assert_eq!((small.live_edges, small.is_compressed(), whole.is_compressed()), (Some(7), true, false));
        assert_eq!((small.goal(), small.tool(), small.success()), (whole.goal(), whole.tool(), Some(true)));
        assert_eq!((small.trust, small.provenance, small.person_involved), (Trust::Owner, Provenance::Person, true));
        assert_eq!(small.perception.people, whole.perception.people);
        assert_eq!((small.access_count, small.salience.get(), small.novelty.get()), (3, 0.9, 0.46));
        assert!(whole.perception.text.starts_with(&small.perception.text), "{}", small.perception.text);
        assert!(!small.perception.text.ends_with(' ') && small.perception.text.len() <= GIST);
    }

    #[test]
    fn the_stored_form_stays_readable() {
        let stored = r#"["e1","2026-01-05T09:00:00Z","2026-01-06T09:00:00Z",2,false,"person","outside","",
            ["the cup fell",["cup"],["Anna"]],["fetch cup"],null,["move"],[false,"it broke"],0.9,0.1,0.5,true,[],3,5]"#;
        let read: EpisodicMemory = serde_json::from_str(stored).expect("the form of the first release");
        assert_eq!((read.perception.text.as_str(), read.tool(), read.success()), ("the cup fell", Some("move"), Some(false)));
        assert_eq!((read.trust, read.pain.get(), read.sitting, read.live_edges), (Trust::Outside, 0.5, 3, Some(5)));
    }

    #[test]
    fn text_is_cut_between_words_and_never_inside_a_letter() {
        assert_eq!(cut("  short ", 10), "short");
        assert_eq!(cut("one two three", 9), "one two");
        assert_eq!(cut("äöüäöüäöü", 5), "äö");
    }
}

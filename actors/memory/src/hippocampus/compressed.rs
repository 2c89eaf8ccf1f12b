//! The small form of an episode: what is needed to recognise it, in about 200 bytes.
//!
//! Its record is a list instead of named members, so that a reader of episodes can read this too. Words that were left
//! out are still in the indexes, so it is found as before.

use jiff::Timestamp;
use maxim_bus::units::{Intensity, Novelty, Salience};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::model::{Action, EpisodicMemory, Outcome, Perception, Provenance, Trust};

/// Bytes of text that are kept.
const GIST: usize = 80;
/// Bytes of a goal, or of a name, that are kept.
const NOTE: usize = 40;
/// Objects, and people, that are kept.
const NAMES: usize = 3;
/// Digits of a run's number.
const RUN_DIGITS: usize = 16;
/// Expected bytes of a compressed record.
pub const TYPICAL_BYTES: u64 = 220;

/// In the order of the stored form: id, creation in microseconds, last use in seconds after it, uses, bits, text,
/// objects, people, goal, tool, salience, novelty and pain in hundredths, session, edges, run. The bits say whether
/// an older program wrote the last use and the run in full. The oldest records end with the edges.
#[derive(Serialize, Deserialize)]
struct Small(
    String,
    i64,
    i64,
    u32,
    u16,
    String,
    Vec<String>,
    Vec<String>,
    String,
    String,
    u8,
    u8,
    u8,
    u32,
    u32,
    #[serde(default, skip_serializing_if = "String::is_empty")] String,
);

const PINNED: u16 = 1;
const PERSON: u16 = 2;
/// Two bits: no outcome, unknown, failure, success.
const OUTCOME_AT: u16 = 2;
/// Three bits.
const PROVENANCE_AT: u16 = 4;
/// Two bits.
const TRUST_AT: u16 = 7;
const UNATTRIBUTED: u16 = 1 << 9;
/// The last use is counted from the creation instead of from 1970.
const USED_AFTER: u16 = 1 << 10;
/// The run is a number of sixteen hexadecimal digits, stored without leading zeros.
const RUN_OF_DIGITS: u16 = 1 << 11;
/// A sense heard or saw it. Its two trust bits say "outside", because they have no free value.
const SENSED: u16 = 1 << 12;

/// By their numbers in the stored form.
const PROVENANCES: [Provenance; 5] = [
    Provenance::OwnExperience,
    Provenance::Person,
    Provenance::Document,
    Provenance::Inference,
    Provenance::Simulation,
];
const TRUSTS: [Trust; 4] = [Trust::Owner, Trust::Own, Trust::Trusted, Trust::Outside];

/// The episode without dispensable parts, with the number of its live edges.
pub fn compressed(episode: &EpisodicMemory, live_edges: u32) -> EpisodicMemory {
    let names = |names: &[String]| names.iter().take(NAMES).map(|name| cut(name, NOTE).to_owned()).collect();
    let mut small = EpisodicMemory::new(episode.id.clone(), episode.created);
    small.last_accessed = episode.last_accessed;
    small.access_count = episode.access_count;
    small.long_term = episode.long_term;
    small.provenance = episode.provenance;
    small.trust = episode.trust;
    small.run.clone_from(&episode.run);
    small.perception.text = cut(&episode.perception.text, GIST).to_owned();
    small.perception.objects = names(&episode.perception.objects);
    small.perception.people = names(&episode.perception.people);
    small.perception.unattributed = episode.perception.unattributed;
    small.context.goal = episode.goal().map(|goal| cut(goal, NOTE).to_owned());
    small.action = episode.tool().map(|tool| Action { tool: tool.to_owned(), ..Action::default() });
    small.outcome = episode.outcome.as_ref().map(|outcome| Outcome { success: outcome.success, result: String::new() });
    (small.salience, small.novelty, small.pain) = (episode.salience, episode.novelty, episode.pain);
    small.person_involved = episode.person_involved;
    small.sitting = episode.sitting;
    small.live_edges = Some(live_edges);
    small
}

impl From<&EpisodicMemory> for Small {
    fn from(episode: &EpisodicMemory) -> Self {
        let hundredths = |number: f64| (number * 100.0).round() as u8;
        let outcome: u16 = match (&episode.outcome, episode.success()) {
            (None, _) => 0,
            (_, None) => 1,
            (_, Some(false)) => 2,
            (_, Some(true)) => 3,
        };
        let provenance = PROVENANCES.iter().position(|known| *known == episode.provenance).unwrap_or(0) as u16;
        let trust = TRUSTS.iter().position(|known| *known == episode.trust).unwrap_or(TRUSTS.len() - 1) as u16;
        let bits = (u16::from(episode.long_term) * PINNED)
            | (u16::from(episode.person_involved) * PERSON)
            | outcome << OUTCOME_AT
            | provenance << PROVENANCE_AT
            | trust << TRUST_AT
            | (u16::from(episode.perception.unattributed) * UNATTRIBUTED)
            | USED_AFTER
            | (u16::from(is_of_digits(&episode.run)) * RUN_OF_DIGITS)
            | (u16::from(episode.trust == Trust::Sensor) * SENSED);
        let run = if is_of_digits(&episode.run) { episode.run.trim_start_matches('0') } else { &episode.run };
        let used = episode.last_accessed.as_second() - episode.created.as_second();
        let Perception { text, objects, people, .. } = episode.perception.clone();
        Self(
            episode.id.clone(),
            episode.created.as_microsecond(),
            used,
            episode.access_count,
            bits,
            text,
            objects,
            people,
            episode.goal().unwrap_or_default().to_owned(),
            episode.tool().unwrap_or_default().to_owned(),
            hundredths(episode.salience.get()),
            hundredths(episode.novelty.get()),
            hundredths(episode.pain.get()),
            episode.sitting,
            episode.live_edges.unwrap_or(0),
            run.to_owned(),
        )
    }
}

fn is_of_digits(run: &str) -> bool {
    run.len() == RUN_DIGITS && run.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

impl Small {
    fn into_episode(self) -> Result<EpisodicMemory, jiff::Error> {
        let Self(
            id,
            created,
            used,
            uses,
            bits,
            text,
            objects,
            people,
            goal,
            tool,
            salience,
            novelty,
            pain,
            sitting,
            edges,
            run,
        ) = self;
        let share = |hundredths: u8| f64::from(hundredths) / 100.0;
        let mut episode = EpisodicMemory::new(id, Timestamp::from_microsecond(created)?);
        let from = if bits & USED_AFTER == 0 { 0 } else { episode.created.as_second() };
        episode.last_accessed = Timestamp::from_second(from.saturating_add(used))?.max(episode.created);
        episode.access_count = uses;
        episode.long_term = bits & PINNED != 0;
        episode.person_involved = bits & PERSON != 0;
        let at = |shift: u16, mask: u16| usize::from(bits >> shift & mask);
        episode.provenance = PROVENANCES.get(at(PROVENANCE_AT, 7)).copied().unwrap_or_default();
        episode.trust = if bits & SENSED == 0 { TRUSTS[at(TRUST_AT, 3)] } else { Trust::Sensor };
        episode.perception =
            Perception { text, objects, people, unattributed: bits & UNATTRIBUTED != 0, ..Perception::default() };
        episode.context.goal = Some(goal).filter(|goal| !goal.is_empty());
        episode.action = Some(tool).filter(|tool| !tool.is_empty()).map(|tool| Action { tool, ..Action::default() });
        let success = [None, None, Some(false), Some(true)][at(OUTCOME_AT, 3)];
        let has_outcome = at(OUTCOME_AT, 3) > 0;
        episode.outcome = has_outcome.then(|| Outcome { success, result: String::new() });
        episode.salience = Salience::clamped(share(salience));
        episode.novelty = Novelty::clamped(share(novelty));
        episode.pain = Intensity::clamped(share(pain));
        episode.sitting = sitting;
        episode.live_edges = Some(edges);
        episode.run = if bits & RUN_OF_DIGITS == 0 { run } else { format!("{run:0>RUN_DIGITS$}") };
        Ok(episode)
    }
}

impl Serialize for EpisodicMemory {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.is_compressed() { Small::from(self).serialize(serializer) } else { Self::serialize(self, serializer) }
    }
}

impl<'de> Deserialize<'de> for EpisodicMemory {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EitherForm)
    }
}

struct EitherForm;

impl<'de> Visitor<'de> for EitherForm {
    type Value = EpisodicMemory;

    fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("an episode, whole or compressed")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<EpisodicMemory, A::Error> {
        EpisodicMemory::deserialize(MapAccessDeserializer::new(map))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<EpisodicMemory, A::Error> {
        let small = Small::deserialize(SeqAccessDeserializer::new(list))?;
        small.into_episode().map_err(A::Error::custom)
    }
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
    use super::*;

    fn episode() -> EpisodicMemory {
        let mut episode =
            EpisodicMemory::new("01KE6ZV7K0000000000000000A", "2026-01-05T09:00:00.123456Z".parse().expect("a time"));
        episode.perception.text = "Anna put the spare key of the garden shed into the blue drawer of the old desk in \
            the hallway, beside the torch, because the hook by the door had come off again last winter"
            .into();
        episode.perception.people = vec!["Anna".into()];
        episode.perception.unattributed = true;
        episode.perception.objects = vec!["key".into(), "drawer".into()];
        episode.perception.source = "comms:http".into();
        (episode.provenance, episode.trust, episode.run) =
            (Provenance::Person, Trust::Owner, "0000000000000001".into());
        episode.context.goal = Some("tidy the hallway".into());
        episode.context.mode = Some("active".into());
        episode.decision = Some("it is worth knowing where things are".into());
        let params = serde_json::Map::from_iter([("path".to_string(), "notes/keys.txt".into())]);
        episode.action = Some(Action { tool: "write_file".into(), params });
        episode.outcome = Some(Outcome { success: Some(true), result: "written".into() });
        (episode.salience, episode.novelty) = (Salience::clamped(0.9), Novelty::clamped(0.4567));
        episode.pain = Intensity::clamped(0.0);
        (episode.person_involved, episode.sitting, episode.access_count) = (true, 12, 3);
        episode.last_accessed += jiff::SignedDuration::from_hours(30);
        episode
    }

    #[test]
    fn a_compressed_episode_is_small_and_read_like_any_other() {
        let whole = episode();
        let bytes = |episode: &EpisodicMemory| serde_json::to_vec(episode).expect("plain data").len();
        let small = compressed(&whole, 7);
        println!("{} bytes become {}", bytes(&whole), bytes(&small));
        assert!(bytes(&small) <= 240 && bytes(&small) * 3 < bytes(&whole));
        let read: EpisodicMemory = serde_json::from_slice(&serde_json::to_vec(&small).expect("plain")).expect("it");
        assert_eq!((read.id.as_str(), read.created, read.sitting), (whole.id.as_str(), whole.created, 12));
        assert_eq!((&read.run, read.last_accessed.as_second()), (&whole.run, whole.last_accessed.as_second()));
        assert_eq!((read.live_edges, read.is_compressed(), whole.is_compressed()), (Some(7), true, false));
        assert_eq!((read.goal(), read.tool(), read.success()), (whole.goal(), whole.tool(), Some(true)));
        assert_eq!((read.trust, read.provenance, read.person_involved), (Trust::Owner, Provenance::Person, true));
        assert_eq!(read.perception.people, whole.perception.people);
        assert_eq!(read.perception.unattributed, whole.perception.unattributed);
        assert_eq!((read.access_count, read.salience.get(), read.novelty.get()), (3, 0.9, 0.46));
        assert!(whole.perception.text.starts_with(&read.perception.text), "{}", read.perception.text);
        assert!(!read.perception.text.ends_with(' ') && read.perception.text.len() <= GIST);
        assert_eq!(serde_json::to_string(&read).expect("plain"), serde_json::to_string(&small).expect("plain"));
    }

    #[test]
    fn every_outcome_provenance_and_trust_comes_back() {
        for outcome in [None, Some(None), Some(Some(false)), Some(Some(true))] {
            for (provenance, trust) in PROVENANCES.into_iter().zip(TRUSTS.into_iter().chain([Trust::Sensor])) {
                let mut whole = EpisodicMemory { provenance, trust, long_term: outcome.is_some(), ..episode() };
                whole.outcome = outcome.map(|success| Outcome { success, result: "words".into() });
                let bytes = serde_json::to_vec(&compressed(&whole, 0)).expect("plain data");
                let read: EpisodicMemory = serde_json::from_slice(&bytes).expect("an episode");
                assert_eq!(
                    (read.outcome.map(|o| o.success), read.provenance, read.trust),
                    (outcome, provenance, trust)
                );
                assert_eq!(read.long_term, outcome.is_some());
            }
        }
    }

    #[test]
    fn the_stored_form_stays_readable() {
        let stored = r#"["e1",1767603600000000,1767690000,2,410,"the cup fell",["cup"],["Anna"],"fetch cup","move",
            90,10,50,3,5]"#;
        let read: EpisodicMemory = serde_json::from_str(stored).expect("the form of the first release");
        assert_eq!(
            (read.perception.text.as_str(), read.tool(), read.success()),
            ("the cup fell", Some("move"), Some(false))
        );
        assert_eq!((read.trust, read.provenance, read.person_involved), (Trust::Outside, Provenance::Person, true));
        assert_eq!((read.pain.get(), read.sitting, read.live_edges), (0.5, 3, Some(5)));
        assert_eq!(read.created.to_string(), "2026-01-05T09:00:00Z");
        assert_eq!(read.last_accessed.to_string(), "2026-01-06T09:00:00Z");
        assert!(
            serde_json::from_str::<EpisodicMemory>("7").is_err()
                && serde_json::from_str::<EpisodicMemory>("[1]").is_err()
        );
    }

    #[test]
    fn a_run_comes_back_whatever_it_is_called() {
        for run in ["", "0000000000000000", "00000000000000ff", "ffffffffffffffff", "00000000000000FF", "ff", "a run"] {
            let small = compressed(&EpisodicMemory { run: run.into(), ..episode() }, 0);
            let read: EpisodicMemory = serde_json::from_slice(&serde_json::to_vec(&small).expect("plain")).expect("it");
            assert_eq!(read.run, run);
        }
    }

    #[test]
    fn text_is_cut_between_words_and_never_inside_a_letter() {
        assert_eq!(cut("  short ", 10), "short");
        assert_eq!(cut("one two three", 9), "one two");
        assert_eq!(cut("äöüäöüäöü", 5), "äö");
    }
}

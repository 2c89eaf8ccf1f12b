//! Episodes from JSON lines, written by other programs.

use jiff::Timestamp;
use maxim_bus::units::{Intensity, Novelty, Salience};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::edges::{Edge, EdgeKind};
use super::held::Held;
use super::model::{Action, EpisodicMemory, Outcome, Provenance, Trust};
use super::text_index::speaker_prefix;
use maxim_region::lines;

/// One line. All fields are optional, but `text` or `tool` must be given; null means absent.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ImportLine {
    pub id: Option<String>,
    pub timestamp: Option<Timestamp>,
    pub goal: Option<String>,
    pub mode: Option<String>,
    #[serde(deserialize_with = "null_is_empty")]
    pub objects: Vec<String>,
    #[serde(deserialize_with = "null_is_empty")]
    pub people: Vec<String>,
    pub text: Option<String>,
    pub tool: Option<String>,
    #[serde(deserialize_with = "null_is_empty")]
    pub params: Map<String, Value>,
    pub success: Option<bool>,
    pub result: Option<Value>,
    /// 0 to 1.
    pub salience: Option<Salience>,
    /// 0 to 1.
    pub novelty: Option<Novelty>,
    pub person_involved: Option<bool>,
}

fn null_is_empty<'de, D: serde::Deserializer<'de>, T: Default + Deserialize<'de>>(from: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

/// A line of an export: a whole record, which is restored byte for byte.
#[derive(Clone, Debug, PartialEq)]
pub struct WholeLine {
    pub episode: EpisodicMemory,
    /// The record as it was exported.
    pub record: String,
    /// The episode's links. `None` in an export without them; then the episode is linked again.
    pub links: Option<Links>,
    /// What a small episode is found by. `None` in an export without it; then it is found by the content of its record.
    pub held: Option<Held>,
}

/// The links of an episode.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Links {
    /// Edges to earlier episodes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub edges: Vec<NamedEdge>,
    /// Ids of turns and lines that repeated this observation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub repeats: Vec<String>,
}

/// An edge with its earlier end by id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedEdge {
    pub to: String,
    pub kind: EdgeKind,
    /// 0 to 1, in steps of 1/65 535.
    pub weight: f64,
    /// How often it was found.
    pub times: u16,
}

impl NamedEdge {
    pub(super) fn of(edge: &Edge, to: String) -> Self {
        Self { to, kind: edge.kind, weight: edge.weight(), times: edge.times }
    }

    pub(super) fn to_edge(&self, to: u32) -> Edge {
        let mut edge = Edge::new(to, self.kind, self.weight);
        edge.times = self.times;
        edge
    }
}

/// The member that only lines of an export have.
const EPISODE: &str = "episode";

impl WholeLine {
    /// The line for [`WholeLine::parse`]. `None` for a record that isn't text.
    pub fn write(record: &[u8], links: &Links, held: Option<&Held>) -> Option<String> {
        let links = serde_json::to_string(links).ok()?;
        let held = held.map(serde_json::to_string).transpose().ok()?;
        let held = held.map_or_else(String::new, |held| format!(",\"held\":{held}"));
        Some(format!("{{\"{EPISODE}\":{},\"links\":{links}{held}}}", std::str::from_utf8(record).ok()?))
    }

    /// `None` for a line of another kind.
    pub fn parse(line: &str) -> Option<Result<Self, BadLine>> {
        lines::member(line, EPISODE)?;
        Some(Self::read(line))
    }

    fn read(line: &str) -> Result<Self, BadLine> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Line<'a> {
            #[serde(borrow)]
            episode: &'a RawValue,
            #[serde(default)]
            links: Option<Links>,
            #[serde(default)]
            held: Option<Held>,
        }
        let unread = |error: serde_json::Error| BadLine::Unread(lines::told(&error));
        let Line { episode, links, held } = serde_json::from_str(line).map_err(unread)?;
        let record = episode.get();
        let episode: EpisodicMemory = serde_json::from_str(record).map_err(unread)?;
        if episode.id.is_empty() {
            return Err(BadLine::Nameless);
        }
        // A whole record itself says what it is found by.
        let held = held.filter(|_| episode.is_compressed());
        Ok(Self { episode, record: record.into(), links, held })
    }
}

/// A line that can't become an episode.
#[derive(Debug, thiserror::Error)]
pub enum BadLine {
    #[error("{0}")]
    Unread(String),
    #[error("neither \"text\" nor \"tool\" is given; a line needs at least one of them, not empty")]
    Nothing,
    #[error("\"id\" is empty; give one, or leave it out")]
    EmptyId,
    #[error("the exported episode has an empty \"id\"; it was changed since it was exported")]
    Nameless,
}

/// Defaults for a line.
#[derive(Clone, Debug)]
pub struct ImportDefaults<'a> {
    /// For a line without `id`.
    pub id: &'a str,
    /// For a line without `timestamp`.
    pub now: Timestamp,
    pub run: &'a str,
}

impl ImportLine {
    pub fn parse(line: &str) -> Result<Self, BadLine> {
        let line: Self = lines::object_in(line).map_err(BadLine::Unread)?;
        if line.id.as_deref() == Some("") {
            return Err(BadLine::EmptyId);
        }
        let given = |field: &Option<String>| field.as_deref().is_some_and(|text| !text.trim().is_empty());
        if given(&line.text) || given(&line.tool) { Ok(line) } else { Err(BadLine::Nothing) }
    }

    /// True if it has its own id.
    pub fn is_named(&self) -> bool {
        self.id.is_some()
    }

    /// A closed episode. A line with people counts as one with a person taking part, unless it says otherwise.
    pub fn into_episode(self, defaults: &ImportDefaults) -> EpisodicMemory {
        let id = self.id.unwrap_or_else(|| defaults.id.to_string());
        let mut episode = EpisodicMemory::new(id, self.timestamp.unwrap_or(defaults.now));
        episode.person_involved = self.person_involved.unwrap_or(!self.people.is_empty());
        episode.provenance = if episode.person_involved { Provenance::Person } else { Provenance::OwnExperience };
        episode.trust = Trust::Trusted;
        episode.run = defaults.run.to_string();
        episode.perception.text = self.text.unwrap_or_default();
        episode.perception.objects = self.objects;
        // A person who was present may not have said it. Only a text that begins with the first person's name is that
        // person's.
        let is_first = |name: &str| self.people.first().is_some_and(|first| first.trim().eq_ignore_ascii_case(name));
        let is_said = speaker_prefix(&episode.perception.text).is_some_and(|(name, _)| is_first(name));
        episode.perception.unattributed = !self.people.is_empty() && !is_said;
        episode.perception.people = self.people;
        episode.perception.source = "import".into();
        episode.context.goal = self.goal.filter(|goal| !goal.is_empty());
        episode.context.mode = self.mode.filter(|mode| !mode.is_empty());
        let tool = self.tool.filter(|tool| !tool.is_empty());
        episode.action = tool.map(|tool| Action { tool, params: self.params });
        let result = match self.result {
            None => String::new(),
            Some(Value::String(text)) => text,
            Some(other) => other.to_string(),
        };
        episode.outcome = Some(Outcome { success: self.success, result });
        episode.salience = self.salience.unwrap_or(Salience::clamped(0.0));
        episode.novelty = self.novelty.unwrap_or(Novelty::clamped(0.0));
        episode.pain = Intensity::clamped(0.0);
        episode
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn episode(line: &str) -> EpisodicMemory {
        let defaults = ImportDefaults { id: "line-7", now: "2026-02-01T00:00:00Z".parse().expect("a time"), run: "r" };
        ImportLine::parse(line).expect("a good line").into_episode(&defaults)
    }

    #[test]
    fn who_was_there_said_it_only_where_the_text_begins_with_the_name() {
        let speaker = |line: &str| episode(line).speaker().map(str::to_owned);
        assert_eq!(speaker(r#"{"text": "Ben: the key is in the drawer", "people": ["Ben"]}"#).as_deref(), Some("Ben"));
        assert_eq!(speaker(r#"{"text": "Ben cleaned the machine", "people": ["Ben"]}"#), None);
        assert_eq!(speaker(r#"{"text": "Ben: well", "people": ["Anna", "Ben"]}"#), None);
    }

    #[test]
    fn a_full_line_becomes_an_episode() {
        let made = episode(
            r#"{"id": "a", "timestamp": "2026-01-05T09:00:00Z", "goal": "fetch cup", "mode": "dreaming",
            "objects": ["cup", "table"], "people": ["Anna"], "text": "the cup fell", "tool": "move",
            "params": {"x": 1}, "success": false, "result": "broke", "salience": 0.6, "novelty": 0.4}"#,
        );
        assert_eq!((made.id.as_str(), made.goal(), made.tool()), ("a", Some("fetch cup"), Some("move")));
        assert_eq!((made.success(), made.salience.get(), made.person_involved), (Some(false), 0.6, true));
        assert_eq!(made.context.mode.as_deref(), Some("dreaming"));
        assert_eq!(made.created.to_string(), "2026-01-05T09:00:00Z");
    }

    #[test]
    fn a_line_of_an_export_keeps_its_record_to_the_byte() {
        let mut whole = EpisodicMemory::new("e1", "2026-01-05T09:00:00.123456789Z".parse().expect("a time"));
        whole.salience = Salience::clamped(0.1 + 0.2);
        let record = serde_json::to_string(&whole).expect("plain data");
        let parsed = |line: &str| WholeLine::parse(line).expect("a whole line").expect("readable");
        for step in [0, 1, 2, 12_345, 65_534, 65_535] {
            let edge = Edge::new(3, EdgeKind::Causes, f64::from(step) / 65_535.0);
            let links = Links { edges: vec![NamedEdge::of(&edge, "e0".into())], repeats: vec!["e2".into()] };
            let line = WholeLine::write(record.as_bytes(), &links, None).expect("text");
            let again = parsed(&format!("  {line}\r"));
            assert_eq!(again.links.as_ref().map(|links| links.edges[0].to_edge(3)), Some(edge));
            let links = Some(links);
            assert_eq!(
                again,
                WholeLine { episode: whole.clone(), record: record.clone(), links: links.clone(), held: None }
            );
            let told = serde_json::to_string(&links).expect("plain data");
            let sorted = parsed(&format!("{{\"links\": {told}, \"episode\": {record}}}"));
            assert_eq!(sorted, again, "in another order");
        }
        let before = parsed(&format!("{{\"episode\":{record}}}"));
        assert_eq!(
            before,
            WholeLine { episode: whole, record, links: None, held: None },
            "of an export that tells no links"
        );
        assert!(WholeLine::parse(r#"{"text": "episode"}"#).is_none());
        let bad = |line: &str| WholeLine::parse(line).expect("a whole line").expect_err("refused").to_string();
        assert!(bad(r#"{"episode": {"created": "2026-01-05T09:00:00Z"}}"#).contains("missing field `id`"));
        assert!(bad(r#"{"episode": {"id": "", "created": "2026-01-05T09:00:00Z"}}"#).contains("empty"));
        assert!(bad(r#"{"episode": {"id": "a", "created": "2026-01-05T09:00:00Z"}, "x": 1}"#).contains("`x`"));
    }

    #[test]
    fn null_is_absent_in_every_field() {
        let all = r#"{"id": null, "timestamp": null, "goal": null, "mode": null, "objects": null, "people": null,
            "text": "hello", "tool": null, "params": null, "success": null, "result": null, "salience": null,
            "novelty": null, "person_involved": null}"#;
        assert_eq!(episode(all), episode(r#"{"text": "hello"}"#));
        assert_eq!(episode(all).id, "line-7");
    }

    #[test]
    fn errors_name_the_field() {
        let message = |line: &str| ImportLine::parse(line).expect_err("a bad line").to_string();
        assert!(message(r#"{"text": "a", "txet": 1}"#).contains("unknown field `txet`"));
        assert!(message(r#"{"text": "a", "salience": 3}"#).contains("Salience must be between 0 and 1, got 3"));
        assert!(message(r#"{"goal": "a", "text": " "}"#).contains("at least one"));
        assert!(message(r#"{"text": "a", "salience": 3}"#).starts_with("the field \"salience\""));
        assert!(message(r#"{"text": "a", "timestamp": "2026-13-05"}"#).starts_with("the field \"timestamp\""));
        assert!(message(r#"["a", "2026-01-05T09:00:00Z"]"#).contains("not a JSON object"));
        assert!(message("{").contains("not JSON: EOF"));
    }
}

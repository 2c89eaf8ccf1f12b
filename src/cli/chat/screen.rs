//! The state of the screen, and how keys and news change it. It knows no terminal.

use std::collections::{BTreeSet, VecDeque};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use maxim_bus::signals::cycle::Display;
use maxim_bus::signals::percept::is_of_a_person;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::Value;

use crate::cli::table::printable;

/// Entries that each pane keeps.
const KEPT: usize = 500;
/// Share of the width that the conversation has, in percent: at first, at least, at most, and a step.
const SPLIT: u16 = 55;
const SPLIT_LEAST: u16 = 30;
const SPLIT_MOST: u16 = 80;
const SPLIT_STEP: u16 = 5;
/// Lines that a page of scrolling has.
const PAGE: usize = 10;

/// Who speaks in a line of the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Voice {
    Person(String),
    Brain,
    /// The screen itself.
    Note,
}

/// A thought and its heading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thinking {
    pub head: String,
    pub text: String,
}

/// A region as the status tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionLine {
    pub name: String,
    pub state: String,
    pub restarts: u64,
    pub inbox: u64,
}

/// The action of a key that the screen can't do itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    Say(String),
    Stop,
    Leave,
}

#[derive(Debug)]
pub struct Screen {
    pub conversation: VecDeque<(Voice, String)>,
    pub thinking: VecDeque<Thinking>,
    pub log: VecDeque<String>,
    pub regions: Vec<RegionLine>,
    pub input: String,
    /// The keys go to the thinking pane.
    pub in_thinking: bool,
    /// Lines that the thinking pane, or the conversation, is scrolled up from its end.
    pub thinking_back: usize,
    pub conversation_back: usize,
    /// Percent of the width.
    pub split: u16,
    pub shows_help: bool,
    /// The brain was started for this conversation, and ends with it.
    pub ends_with_it: bool,
    /// How much of its thinking the brain shows.
    display: Display,
    /// The latest turns that have ended. Later messages of these turns are shown separately.
    over: VecDeque<String>,
    /// Rooms that are held after too many failures.
    held: BTreeSet<String>,
    /// One line about the brain's state, or why nothing comes from it.
    pub state: String,
    pub gone: Option<String>,
    zone: TimeZone,
}

impl Screen {
    pub fn new(zone: TimeZone) -> Self {
        Self {
            conversation: VecDeque::new(),
            thinking: VecDeque::new(),
            log: VecDeque::new(),
            regions: Vec::new(),
            input: String::new(),
            in_thinking: false,
            thinking_back: 0,
            conversation_back: 0,
            split: SPLIT,
            shows_help: false,
            ends_with_it: false,
            display: Display::Full,
            over: VecDeque::new(),
            held: BTreeSet::new(),
            state: "…".into(),
            gone: None,
            zone,
        }
    }

    pub fn key(&mut self, key: KeyEvent) -> Option<Wish> {
        let (control, alt) = (key.modifiers.contains(KeyModifiers::CONTROL), key.modifiers.contains(KeyModifiers::ALT));
        match key.code {
            KeyCode::Char('c' | 'd') if control => return Some(Wish::Leave),
            KeyCode::Char('u') if control => self.input.clear(),
            KeyCode::Up if alt => self.split = (self.split + SPLIT_STEP).min(SPLIT_MOST),
            KeyCode::Down if alt => self.split = self.split.saturating_sub(SPLIT_STEP).max(SPLIT_LEAST),
            KeyCode::Esc => self.shows_help = false,
            KeyCode::Left => self.in_thinking = true,
            KeyCode::Right => (self.in_thinking, self.thinking_back) = (false, 0),
            KeyCode::Up => self.scroll(1, true),
            KeyCode::Down => self.scroll(1, false),
            KeyCode::PageUp => self.scroll(PAGE, true),
            KeyCode::PageDown => self.scroll(PAGE, false),
            KeyCode::Backspace => drop(self.input.pop()),
            KeyCode::Enter => return self.enter(),
            // The stop must need no second key, not even Enter.
            KeyCode::Char('!') if self.input.is_empty() => return Some(Wish::Stop),
            KeyCode::Char('?') if self.input.is_empty() => self.shows_help = !self.shows_help,
            KeyCode::Char(letter) if !control && !alt => self.input.push(letter),
            _ => {}
        }
        None
    }

    fn scroll(&mut self, lines: usize, up: bool) {
        let back = if self.in_thinking { &mut self.thinking_back } else { &mut self.conversation_back };
        *back = if up { *back + lines } else { back.saturating_sub(lines) };
    }

    fn enter(&mut self) -> Option<Wish> {
        let said = std::mem::take(&mut self.input).trim().to_owned();
        self.conversation_back = 0;
        (!said.is_empty()).then_some(Wish::Say(said))
    }

    /// Inserts pasted text. Line breaks become blanks, so nothing is sent before Enter.
    pub fn paste(&mut self, text: &str) {
        self.input.push_str(&printable(text));
    }

    pub fn note(&mut self, text: impl Into<String>) {
        keep(&mut self.conversation, (Voice::Note, text.into()));
    }

    /// An event of the bus, in the form of `GET /v1/events`.
    pub fn hear(&mut self, event: &Value) {
        let (body, by) = (&event["body"], word(&event["by"]));
        let text = |name: &str| word(&body[name]);
        match event["type"].as_str().unwrap_or_default() {
            "Percept" if is_of_a_person(&text("source")) => {
                let sender = word(&body["metadata"]["sender"]);
                keep(&mut self.conversation, (Voice::Person(sender), lines_of(&body["content"])));
            }
            "TurnEnded" => self.turn_ended(body),
            // Before the turn ends, this is part of the turn's answer.
            "Outbound" if self.over.contains(&text("turn")) => {
                keep(&mut self.conversation, (Voice::Brain, lines_of(&body["text"])));
            }
            // A model's choice repeats the thought of its last cycle, so it isn't shown twice.
            "Thought"
                if self.thinking.back().is_some_and(|last| !last.text.is_empty() && last.text == text("text")) => {}
            "Thought" => {
                let head = format!("{} · confidence {}", text("mind"), number(&body["confidence"]));
                self.think(head, text("text"));
            }
            "ThoughtGated" => {
                let passed = if body["refused"].is_null() { "worth a thought" } else { "not worth a thought" };
                self.think(passed.into(), text("reason"));
            }
            "CycleThought" => {
                self.show(&body["display"]);
                self.think(cycle(body), text("text"));
            }
            "DisplaySet" => self.show(&body["mode"]),
            "Intent" => self.log(event, &by, &format!("wants {} {}", text("tool"), body["params"])),
            "IntentRefused" => {
                self.log(event, &by, &format!("{} {}: {}", text("refusal"), text("tool"), text("reason")))
            }
            "ClearedIntent" => {
                self.log(event, &by, &format!("clears {}: {}", word(&body["intent"]["tool"]), text("reason")));
            }
            "ToolResult" => {
                let ending = match body["success"].as_bool() {
                    Some(true) => "worked".to_owned(),
                    Some(false) => format!("failed: {}", text("error")),
                    None => "has no known outcome".to_owned(),
                };
                self.log(event, &by, &format!("{} {ending}", text("tool")));
            }
            "PainSignal" => self.log(event, &by, &format!("pain {}: {}", number(&body["intensity"]), text("reason"))),
            "PreemptionChanged" => self.log(event, &by, &request(&body["request"])),
            "RegionChanged" => self.region_changed(body),
            "SleepEntered" | "SleepEnded" => self.log(event, &by, &word(&event["type"])),
            _ => {}
        }
    }

    fn turn_ended(&mut self, body: &Value) {
        let shown = body["actions"].as_array().into_iter().flatten();
        for action in shown.filter(|action| action["tool"] != "respond") {
            let reason =
                action["reason"].as_str().map_or_else(String::new, |reason| format!(": {}", printable(reason)));
            self.note(format!("{} {}{reason}", word(&action["tool"]), word(&action["status"])));
        }
        if body["reply"].is_string() {
            keep(&mut self.conversation, (Voice::Brain, lines_of(&body["reply"])));
        }
        keep(&mut self.over, word(&body["turn"]));
    }

    /// A start reports every room as up. Only rooms that were down get a note.
    fn region_changed(&mut self, body: &Value) {
        let region = word(&body["region"]);
        if body["is_held"] == true {
            self.note(format!(
                "{region} failed too often and is held: {}; `maxim resume` tries it at once",
                word(&body["why"])
            ));
            self.held.insert(region);
        } else if self.held.remove(&region) {
            self.note(format!("{region} is up again"));
        }
    }

    /// A brain that doesn't say how much thinking it shows counts as showing what it did.
    fn show(&mut self, mode: &Value) {
        self.display = serde_json::from_value(mode.clone()).unwrap_or(self.display);
    }

    fn think(&mut self, head: String, text: String) {
        let text = match self.display {
            Display::Full => text,
            Display::Brief => String::new(),
            Display::Off => return,
        };
        keep(&mut self.thinking, Thinking { head, text });
    }

    fn log(&mut self, event: &Value, by: &str, what: &str) {
        let at = event["at"].as_str().and_then(|at| at.parse::<Timestamp>().ok());
        let at = at.map_or_else(String::new, |at| at.to_zoned(self.zone.clone()).strftime("%H:%M:%S ").to_string());
        keep(&mut self.log, format!("{at}{by}: {}", printable(what)));
    }

    /// The answer of `GET /v1/status`.
    pub fn status(&mut self, status: &Value) {
        self.gone = None;
        let line = |region: &Value| RegionLine {
            name: word(&region["name"]),
            state: word(&region["state"]),
            restarts: region["restarts"].as_u64().unwrap_or(0),
            inbox: region["inbox_depth"].as_u64().unwrap_or(0),
        };
        self.regions = status["regions"].as_array().into_iter().flatten().map(line).collect();
        let stop = &status["stop"];
        let latched = format!("STOPPED by {}: {}; `maxim reset` clears it", word(&stop["by"]), word(&stop["reason"]));
        self.state = if stop["latched"] == true {
            latched
        } else {
            format!(
                "{} · model {} · disk {}",
                word(&status["state"]),
                word(&status["llm"]),
                word(&status["disk"]["status"])
            )
        };
    }

    pub fn is_stopped(&self) -> bool {
        self.state.starts_with("STOPPED")
    }
}

fn keep<T>(pane: &mut VecDeque<T>, entry: T) {
    pane.push_back(entry);
    if pane.len() > KEPT {
        pane.pop_front();
    }
}

/// "Cycle 1/3 · 8.2 s · enriched: hippocampus".
fn cycle(body: &Value) -> String {
    let names = |field: &str| -> Vec<String> { body[field].as_array().into_iter().flatten().map(word).collect() };
    let mut head =
        format!("Cycle {}/{} · {:.1} s", body["cycle"], body["cycles"], body["seconds"].as_f64().unwrap_or(0.0));
    for (what, names) in
        [("enriched", names("enriched")), ("missing", names("missing")), ("speaks to others", names("outward"))]
    {
        if !names.is_empty() {
            head += &format!(" · {what}: {}", names.join(", "));
        }
    }
    head + &format!(" · salience {}", number(&body["salience"]))
}

/// What was asked of the preemption circuit: "stop", "hold", "resume".
fn request(request: &Value) -> String {
    let name = request.as_object().and_then(|request| request.keys().next().cloned());
    name.unwrap_or_else(|| word(request))
}

fn number(value: &Value) -> String {
    value.as_f64().map_or_else(|| "-".into(), |number| format!("{number:.2}"))
}

fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| "-".into(), printable)
}

/// The text with its line breaks. Other control characters could steer the terminal.
fn lines_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().lines().map(printable).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn screen() -> Screen {
        Screen::new(TimeZone::UTC)
    }

    fn press(screen: &mut Screen, code: KeyCode) -> Option<Wish> {
        screen.key(KeyEvent::new(code, KeyModifiers::NONE))
    }

    #[test]
    fn what_is_typed_is_said_on_enter_and_an_empty_line_is_not() {
        let mut screen = screen();
        assert_eq!(press(&mut screen, KeyCode::Enter), None);
        for letter in "hi you!?".chars() {
            assert_eq!(press(&mut screen, KeyCode::Char(letter)), None);
        }
        press(&mut screen, KeyCode::Backspace);
        screen.paste(" and\nyou");
        assert_eq!(press(&mut screen, KeyCode::Enter), Some(Wish::Say("hi you! and you".into())));
        assert_eq!(screen.input, "");
    }

    #[test]
    fn an_exclamation_mark_at_the_beginning_stops_without_enter() {
        let mut screen = screen();
        assert_eq!(press(&mut screen, KeyCode::Char('!')), Some(Wish::Stop));
        screen.in_thinking = true;
        assert_eq!(press(&mut screen, KeyCode::Char('!')), Some(Wish::Stop));
        let leave = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(screen.key(leave), Some(Wish::Leave));
    }

    #[test]
    fn what_is_said_in_a_turn_that_has_ended_is_shown_and_a_reply_is_shown_once() {
        let mut screen = screen();
        let says = |text: &str| json!({ "type": "Outbound", "body": { "turn": "t1", "text": text } });
        screen.hear(&says("Shall I?"));
        screen.hear(&json!({ "type": "TurnEnded", "body": { "turn": "t1", "reply": "Shall I?", "actions": [] } }));
        screen.hear(&says("It isn't done: bo said no."));
        let shown: Vec<&str> = screen.conversation.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(shown, ["Shall I?", "It isn't done: bo said no."]);
    }

    #[test]
    fn left_enters_the_thinking_pane_and_right_follows_it_again() {
        let mut screen = screen();
        press(&mut screen, KeyCode::Up);
        assert_eq!((screen.conversation_back, screen.thinking_back), (1, 0));
        press(&mut screen, KeyCode::Left);
        press(&mut screen, KeyCode::PageUp);
        press(&mut screen, KeyCode::Down);
        assert!(screen.in_thinking);
        assert_eq!(screen.thinking_back, PAGE - 1);
        press(&mut screen, KeyCode::Right);
        assert!(!screen.in_thinking);
        assert_eq!(screen.thinking_back, 0);
    }

    #[test]
    fn alt_up_and_down_resize_within_bounds_and_a_question_mark_shows_help() {
        let mut screen = screen();
        for _ in 0..30 {
            screen.key(KeyEvent::new(KeyCode::Up, KeyModifiers::ALT));
        }
        assert_eq!(screen.split, SPLIT_MOST);
        for _ in 0..30 {
            screen.key(KeyEvent::new(KeyCode::Down, KeyModifiers::ALT));
        }
        assert_eq!(screen.split, SPLIT_LEAST);
        press(&mut screen, KeyCode::Char('?'));
        assert!(screen.shows_help);
        press(&mut screen, KeyCode::Esc);
        assert!(!screen.shows_help);
    }

    #[test]
    fn a_turn_is_a_conversation_with_what_was_done_and_thought() {
        let mut screen = screen();
        let at = "2026-01-05T09:00:00Z";
        let person =
            json!({ "source": "comms:console", "content": "write\u{1b}[2J it", "metadata": { "sender": "owner" } });
        screen.hear(&json!({ "type": "Percept", "body": person, "at": at }));
        screen.hear(&json!({ "type": "Percept", "body": { "source": "body", "content": "a bump" }, "at": at }));
        let cycle = json!({
            "cycle": 1, "cycles": 3, "seconds": 8.24, "enriched": ["hippocampus", "nac"], "missing": [], "outward": ["question"], "salience": 0.43,
            "text": "I write it.",
        });
        screen.hear(&json!({ "type": "CycleThought", "body": cycle, "at": at }));
        let thought = json!({ "mind": "model", "confidence": 0.7, "text": "I write it." });
        screen.hear(&json!({ "type": "Thought", "body": thought, "at": at }));
        let intent = json!({ "tool": "write_file", "params": { "path": "a" } });
        screen.hear(&json!({ "type": "Intent", "body": intent, "by": "habit", "at": at }));
        let actions = json!([{ "tool": "write_file", "status": "done", "reason": null }, { "tool": "respond", "status": "done" }]);
        screen.hear(
            &json!({ "type": "TurnEnded", "body": { "reply": "Written.\nAll of it.", "actions": actions }, "at": at }),
        );
        let said: Vec<_> = screen.conversation.iter().cloned().collect();
        let note = (Voice::Note, "write_file done".to_owned());
        let person = (Voice::Person("owner".into()), "write [2J it".to_owned());
        assert_eq!(said, [person, note, (Voice::Brain, "Written.\nAll of it.".to_owned())]);
        let head =
            "Cycle 1/3 · 8.2 s · enriched: hippocampus, nac · speaks to others: question · salience 0.43".to_owned();
        assert_eq!(screen.thinking, [Thinking { head, text: "I write it.".into() }]);
        for (mode, kept) in [("off", 1), ("brief", 2)] {
            screen.hear(&json!({ "type": "DisplaySet", "body": { "mode": mode }, "at": at }));
            screen.hear(&json!({ "type": "CycleThought", "body": cycle, "at": at }));
            assert_eq!(screen.thinking.len(), kept, "{mode}");
        }
        assert_eq!(screen.thinking[1].text, "");
        let stop = json!({ "request": { "stop": { "reason": "!" } }, "suspended": [] });
        screen.hear(&json!({ "type": "PreemptionChanged", "body": stop, "by": "preemption_circuit", "at": at }));
        let lines = ["09:00:00 habit: wants write_file {\"path\":\"a\"}", "09:00:00 preemption_circuit: stop"];
        assert_eq!(screen.log, lines);
    }

    #[test]
    fn a_room_that_is_held_is_told_in_the_conversation_and_so_is_its_return() {
        let mut screen = screen();
        let change = |screen: &mut Screen, is_held: bool, why: &str| {
            let body = json!({ "region": "hippocampus", "is_held": is_held, "why": why });
            screen.hear(&json!({ "type": "RegionChanged", "body": body }));
        };
        change(&mut screen, false, "");
        assert!(screen.conversation.is_empty(), "a start says nothing of what is as it should be");
        change(&mut screen, true, "it panicked");
        change(&mut screen, false, "");
        let said: Vec<&str> = screen.conversation.iter().map(|(_, text)| text.as_str()).collect();
        let held = "hippocampus failed too often and is held: it panicked; `maxim resume` tries it at once";
        assert_eq!(said, [held, "hippocampus is up again"]);
    }

    #[test]
    fn a_latched_stop_is_the_first_thing_that_the_state_says() {
        let mut screen = screen();
        screen.gone = Some("no daemon".into());
        let regions = json!([{ "name": "habit", "state": "running", "restarts": 2, "inbox_depth": 1 }]);
        screen.status(&json!({
            "state": "stopped", "regions": regions, "stop": { "latched": true, "by": "console", "reason": "!" },
        }));
        assert!(screen.is_stopped() && screen.state.contains("by console: !"), "{}", screen.state);
        assert_eq!(screen.gone, None);
        assert_eq!((screen.regions[0].restarts, screen.regions[0].inbox), (2, 1));
    }

    #[test]
    fn panes_are_bounded() {
        let mut screen = screen();
        for n in 0..KEPT + 7 {
            screen.note(n.to_string());
        }
        assert_eq!((screen.conversation.len(), screen.conversation[0].1.as_str()), (KEPT, "7"));
    }
}

//! From a match to a decision: act, or tell the reading and ask.

use maxim_bus::units::Confidence;
use serde_json::{Map, Value};

use crate::question::kinds::is_interrogative;
use crate::talk::courtesy::Lead;
use crate::understand::grammar::Tool;
use crate::understand::guard;
use crate::understand::matcher::{Capture, Match};
use crate::understand::pattern::{Kind, is_command};
use crate::understand::understanding::{Partial, Reading, Step, Understanding, Unsupported};
use crate::word::lexicon::{self, DETERMINERS, FILE_NOUNS};
use crate::word::tokens::{Utterance, strip_full_stop};

/// A tool's pattern that matches the words.
#[derive(Clone, Debug)]
pub(crate) struct Candidate<'g> {
    pub tool: &'g Tool,
    pub pattern: &'g str,
    pub found: Match,
    pub lo: usize,
}

/// Why a match isn't certain.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Doubt {
    /// A parameter without a clear meaning ("the thing").
    Vague {
        slot: String,
        value: String,
    },
    /// A plain word in place of a path.
    Bare {
        slot: String,
        value: String,
    },
    Typo {
        typed: String,
        meant: String,
    },
    /// A command with prose behind it.
    Prose {
        value: String,
    },
    /// A time or condition in a command.
    Delayed,
}

impl Doubt {
    /// The weight of a doubt. A candidate with smaller doubts is preferred.
    pub fn weight(&self) -> u8 {
        match self {
            Self::Bare { .. } => 1,
            Self::Typo { .. } => 2,
            Self::Prose { .. } | Self::Delayed => 3,
            Self::Vague { .. } => 4,
        }
    }
}

impl Doubt {
    fn words(&self) -> String {
        match self {
            Self::Vague { slot, value } => format!("“{value}” says little of the {}", slot.replace('_', " ")),
            Self::Bare { value, .. } => format!("“{value}” may be no file"),
            Self::Typo { typed, meant } => format!("“{typed}” would have to be “{meant}”"),
            Self::Prose { value } => format!("“{value}” reads like prose"),
            Self::Delayed => "it would be for later".into(),
        }
    }
}

impl<'g> Candidate<'g> {
    pub fn changes_something(&self) -> bool {
        self.tool.speech.effect.changes_something()
    }

    pub fn verb(&self) -> &str {
        let said = self.found.verb.as_deref();
        said.or(self.tool.speech.verbs.first().map(String::as_str)).unwrap_or(&self.tool.speech.tool)
    }

    /// Whether the last parameter is free content, which may hold any words.
    pub fn ends_in_content(&self) -> bool {
        self.found
            .captures
            .iter()
            .enumerate()
            .next_back()
            .is_some_and(|(at, last)| matches!(last.kind, Kind::Quoted) || (last.kind == Kind::Rest && at > 0))
    }

    /// Whether a parameter for a file looks like none. "The file" only leaves open which.
    pub fn names_no_file(&self, said: &Utterance) -> bool {
        if (self.lo..said.len()).any(|at| FILE_NOUNS.contains(&said.word(at))) {
            return false;
        }
        self.found.captures.iter().enumerate().any(|(at, capture)| {
            let is_other = capture.kind == Kind::Path && !lexicon::is_vague(said.word(capture.hi - 1));
            is_other && matches!(self.doubt(said, at, capture), Some(Doubt::Vague { .. } | Doubt::Bare { .. }))
        })
    }

    pub fn doubts(&self, said: &Utterance) -> Vec<Doubt> {
        let mut doubts = Vec::new();
        for (at, capture) in self.found.captures.iter().enumerate() {
            doubts.extend(self.doubt(said, at, capture));
        }
        if let Some((typed, meant)) = &self.found.typo {
            doubts.push(Doubt::Typo { typed: typed.clone(), meant: meant.clone() });
        }
        doubts
    }

    fn doubt(&self, said: &Utterance, at: usize, capture: &Capture) -> Option<Doubt> {
        if capture.hi - capture.lo == 1 && said.tokens[capture.lo].quoted.is_some() {
            return None;
        }
        let slot = capture.slot.clone();
        let word = said.word(capture.lo);
        let value = || said.value(capture.lo);
        let before =
            capture.lo.checked_sub(1).filter(|before| *before >= self.lo).map_or("", |before| said.word(before));
        match capture.kind {
            Kind::Number | Kind::OneOf(_) => None,
            Kind::Word => lexicon::is_vague(word).then(|| Doubt::Vague { slot, value: value() }),
            // "ls -la": an option of a shell command, no path.
            Kind::Path if value().starts_with('-') => Some(Doubt::Vague { slot, value: value() }),
            Kind::Path if slot == "url" && !value().contains(['.', ':']) => Some(Doubt::Vague { slot, value: value() }),
            Kind::Path if lexicon::looks_like_path(&value()) => None,
            Kind::Path if word == "here" && !self.changes_something() => None,
            Kind::Path if lexicon::is_vague(word) => Some(Doubt::Vague { slot, value: value() }),
            Kind::Path if FILE_NOUNS.contains(&before) || FILE_NOUNS.contains(&said.word(capture.hi)) => None,
            Kind::Path if DETERMINERS.contains(&before) => {
                Some(Doubt::Vague { slot, value: said.span(capture.lo - 1, capture.hi).to_owned() })
            }
            Kind::Path => Some(Doubt::Bare { slot, value: value() }),
            Kind::Rest if is_command(&capture.slot, at == 0) && self.changes_something() => {
                command_doubt(said, capture, before)
            }
            Kind::Rest | Kind::Quoted => {
                let alone = capture.hi - capture.lo == 1;
                let points = lexicon::is_pronoun(word) || (word == "nothing" && at == 0);
                (alone && points && self.changes_something()).then(|| Doubt::Vague { slot, value: value() })
            }
        }
    }

    /// The tool's defaults and the parameters in the words.
    pub fn params(&self, said: &Utterance, requested: bool) -> Value {
        let mut params = match &self.tool.speech.defaults {
            Value::Object(defaults) => defaults.clone(),
            _ => Map::new(),
        };
        for (at, capture) in self.found.captures.iter().enumerate() {
            // In "grep for 'x' in the sources" the quoted text is the pattern. Nothing can be harmed by that.
            let is_placed = ["in", "inside", "within", "across", "anywhere"].contains(&said.word(capture.lo + 1));
            let is_quoted = said.tokens[capture.lo].quoted.is_some() && capture.kind == Kind::Rest;
            let given = match is_quoted && is_placed && !self.changes_something() {
                true => Value::String(said.value(capture.lo)),
                false => value(said, capture, (at, self.lo), requested),
            };
            params.insert(capture.slot.clone(), given);
        }
        Value::Object(params)
    }

    /// This candidate as a reading that wasn't chosen.
    pub fn reading(&self, said: &Utterance) -> Reading {
        let doubts = self.doubts(said);
        let weaker = match doubts.iter().max_by_key(|doubt| doubt.weight()) {
            Some(doubt) => doubt.words(),
            None => "less of what was said is its own words".into(),
        };
        let why = format!("a weaker reading, “{}”: {weaker}", self.pattern);
        Reading { tool: self.tool.speech.tool.clone(), params: self.params(said, false), why }
    }

    fn partial(&self, said: &Utterance, unsure: &str) -> Partial {
        let mut params = self.params(said, false);
        if let Value::Object(map) = &mut params {
            map.remove(unsure);
        }
        let missing = if unsure.is_empty() { vec![] } else { vec![unsure.to_owned()] };
        Partial { tool: Some(self.tool.speech.tool.clone()), params, missing }
    }

    /// Acts, or asks: a request with side effects needs a match without any doubt.
    pub fn judge(&self, said: &Utterance, lead: Lead) -> Result<Step, Understanding> {
        let mut doubts = self.doubts(said);
        doubts.sort_by_key(|doubt| std::cmp::Reverse(doubt.weight()));
        let changes = self.changes_something();
        let serious = doubts.first().filter(|doubt| changes || matches!(doubt, Doubt::Vague { .. }));
        if let Some(doubt) = serious {
            return Err(self.ask(said, doubt));
        }
        let (lo, hi) = (self.lo, said.len());
        if changes && guard::retracted(said, lo, hi) {
            let question = format!(
                "You asked me to {} and then seemed to take it back, so I did nothing. Which is it?",
                self.verb()
            );
            return Err(Understanding::Ambiguous { understood: self.partial(said, ""), question });
        }
        let asked = said.tokens.last().and_then(|last| last.closes) == Some('?');
        let only_asked = asked && !lead.requested && !self.ends_in_content();
        if changes && (only_asked || lead.wished) {
            let words = said.span(lo, hi).trim_end_matches('?').to_owned();
            let question = format!("Shall I do that now? Then say “{words}”.");
            return Err(Understanding::Ambiguous { understood: self.partial(said, ""), question });
        }
        let certainty = match doubts.first() {
            None => 1.0,
            Some(Doubt::Typo { .. }) => 0.8,
            Some(_) => 0.7,
        };
        Ok(Step {
            tool: self.tool.speech.tool.clone(),
            params: self.params(said, lead.requested),
            certainty: Confidence::clamped(certainty),
            pattern: self.pattern.to_owned(),
            others: Vec::new(),
        })
    }

    fn ask(&self, said: &Utterance, doubt: &Doubt) -> Understanding {
        let verb = self.verb();
        let (slot, question) = match doubt {
            Doubt::Vague { slot, value } => {
                let noun = slot.replace('_', " ");
                let noun = if noun == "path" { "file".to_owned() } else { noun };
                (
                    slot.as_str(),
                    format!(
                        "I understood “{verb}”, but “{value}” doesn't tell me which {noun}. Which {noun} do you mean?"
                    ),
                )
            }
            Doubt::Bare { slot, value } => (
                slot.as_str(),
                format!(
                    "I understood “{verb}”. Do you mean a file that is named “{value}”? Then put the name in quotes."
                ),
            ),
            Doubt::Typo { typed, meant } => {
                ("", format!("Did you mean “{meant}”? You wrote “{typed}”. I do nothing until it is clear."))
            }
            Doubt::Prose { value } => {
                let slot = self.found.captures.first().map_or("", |capture| capture.slot.as_str());
                (
                    slot,
                    format!(
                        "I understood “{verb}”, but “{value}” isn't clearly a command. Put exactly what I should {verb} in quotes."
                    ),
                )
            }
            Doubt::Delayed => return later(said.span(self.lo, said.len())),
        };
        Understanding::Ambiguous { understood: self.partial(said, slot), question }
    }
}

/// The answer to a request for a later time.
pub(crate) fn later(topic: &str) -> Understanding {
    Understanding::Unsupported {
        what: Unsupported::Deferred,
        topic: topic.to_owned(),
        reply: format!(
            "I understood “{topic}”, but I can't wait for a time or a condition by myself, so I did nothing. Ask me again when it is due."
        ),
    }
}

fn command_doubt(said: &Utterance, capture: &Capture, before: &str) -> Option<Doubt> {
    let (lo, hi) = (capture.lo, capture.hi);
    let value = said.span(lo, hi).to_owned();
    let alone = hi - lo == 1;
    let first = said.word(lo);
    if alone && (lexicon::is_vague(first) || lexicon::is_function_word(first)) {
        return Some(Doubt::Vague { slot: capture.slot.clone(), value });
    }
    if guard::delayed_at(said, lo, hi).is_some()
        || (guard::delays(said, lo, hi) && first != "if" && first != "while" && first != "until")
    {
        return Some(Doubt::Delayed);
    }
    let described = DETERMINERS.contains(&before) || DETERMINERS.contains(&first);
    let refused = ["no", "not", "nothing", "never", "none", "any"].contains(&first);
    let shell_if = ["if", "for", "while", "until"].contains(&first);
    let prose = (lo..hi).any(|at| {
        let comma = at + 1 < hi && said.tokens[at].quoted.is_none() && said.tokens[at].closes == Some(',');
        comma
            || guard::is_prose(said.word(at))
            || (said.word(at) == "then" && !shell_if)
            || said.starts(at, hi, "and then").is_some()
    });
    (described || refused || prose).then_some(Doubt::Prose { value })
}

/// `at`: the place of the capture, and where the request begins.
fn value(said: &Utterance, capture: &Capture, (at, from): (usize, usize), requested: bool) -> Value {
    let (lo, hi) = (capture.lo, capture.hi);
    match capture.kind {
        Kind::Number => lexicon::number(&said.value(lo)).map_or(Value::Null, Value::Number),
        Kind::OneOf(_) => Value::String(said.word(lo).to_owned()),
        Kind::Path if said.word(lo) == "here" => Value::String(".".to_owned()),
        Kind::Path | Kind::Word => Value::String(said.value(lo)),
        Kind::Rest | Kind::Quoted if hi - lo == 1 && said.tokens[lo].quoted.is_some() => Value::String(said.value(lo)),
        Kind::Rest | Kind::Quoted => {
            let mut text = said.span(lo, hi);
            let asks = is_interrogative(said.word(from));
            if (requested || asks) && hi == said.len() {
                text = text.trim_end_matches('?');
            }
            if hi < said.len() {
                text = text.trim_end_matches(',');
            }
            if is_command(&capture.slot, at == 0) {
                text = strip_full_stop(text.trim_end_matches(['!', ',']));
            }
            Value::String(text.to_owned())
        }
    }
}

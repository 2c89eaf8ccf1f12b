//! Settings of the room of turns: a grammar made from the tools, and facts about the tools.

use std::sync::Arc;

use jiff::tz::TimeZone;
use serde_json::{Value as Json, json};

use crate::initiative::{ActingSettings, affordances};
use crate::recollection::View;
use maxim_bus::rooms::RESPOND;
use maxim_speech::{Effect, Grammar, GrammarError, ToolSpeech};
use maxim_tools::{Door, EffectClass, FollowUp, Resolved, SpeechPattern, ToolRegistry, ToolSpec};

/// Settings of the room of turns.
#[derive(Clone)]
pub struct TurnsSettings {
    pub grammar: Arc<Grammar>,
    /// The registered tools, with their names.
    pub tools: Arc<ToolRegistry>,
    pub zone: TimeZone,
    /// Whether a model may be asked.
    pub model: bool,
    /// Acts that a model may take in one turn.
    pub steps: u32,
    /// Tools whose success is confirmed with one word.
    pub confirmed: Arc<Vec<String>>,
    /// Tools that may be used unasked.
    pub affordances: Arc<Vec<ToolSpec>>,
    pub acting: ActingSettings,
}

impl TurnsSettings {
    /// The grammar is made from the tools' own speech patterns. `model`: the acts that a model may take in one turn, if there is
    /// a model.
    ///
    /// # Errors
    /// A tool's speech pattern can't be read.
    pub fn new(
        names: &[String],
        tools: &Arc<ToolRegistry>,
        zone: TimeZone,
        model: Option<u32>,
        acting: ActingSettings,
    ) -> Result<Self, GrammarError> {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let speeches: Vec<ToolSpeech> = tools
            .specs()
            .flat_map(|spec| spec.speech.iter().map(|pattern| speech(&spec.name, spec.effect, pattern)))
            .collect();
        let grammar = Arc::new(Grammar::new(&names, &speeches)?);
        let quiet = tools.specs().filter(|spec| spec.effect == EffectClass::Reversible).map(|spec| spec.name.clone());
        let confirmed = Arc::new(quiet.collect());
        let (model, steps) = (model.is_some(), model.unwrap_or(0));
        let affordances = Arc::new(affordances(tools));
        Ok(Self { grammar, tools: Arc::clone(tools), zone, model, steps, confirmed, affordances, acting })
    }

    /// The tool that a name means.
    pub(super) fn meant(&self, name: &str) -> Option<&ToolSpec> {
        match self.tools.resolve(name) {
            Resolved::Tool(found) | Resolved::Redirected(found) => Some(&found.spec),
            Resolved::Unknown { .. } => None,
        }
    }

    /// Whether it goes through the introspection door.
    pub(super) fn is_inward(&self, tool: &str) -> bool {
        self.tools.get(tool).is_some_and(|found| found.spec.door == Door::Introspection)
    }

    /// The view that recollection needs for a question of this person.
    pub(super) fn view<'a>(&'a self, asker: &'a str) -> View<'a> {
        View { grammar: &self.grammar, zone: &self.zone, asker }
    }

    /// The words of an answer, under any name of the parameter.
    pub(super) fn words<'a>(&self, params: &'a Json) -> Option<&'a str> {
        let spec = &self.tools.get(RESPOND)?.spec;
        let aliases = spec.parameter_aliases.iter().map(|(alias, _)| alias.as_str());
        let given = spec.parameter_names().chain(aliases).filter_map(|name| params.get(name)?.as_str());
        given.map(str::trim).find(|words| !words.is_empty())
    }

    pub(super) fn follow_up(&self, tool: &str) -> FollowUp {
        self.meant(tool).map_or(FollowUp::Process, |spec| spec.follow_up)
    }
}

fn speech(tool: &str, effect: EffectClass, pattern: &SpeechPattern) -> ToolSpeech {
    let effect = match effect {
        EffectClass::ReadOnly => Effect::ReadOnly,
        EffectClass::Reversible => Effect::Reversible,
        EffectClass::Irreversible => Effect::Irreversible,
    };
    let defaults = if pattern.fixed.is_empty() { Json::Null } else { json!(pattern.fixed) };
    ToolSpeech {
        tool: tool.into(),
        effect,
        verbs: pattern.verbs.clone(),
        patterns: vec![pattern.pattern.clone()],
        defaults,
    }
}

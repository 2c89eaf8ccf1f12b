//! The tools of one agent, as a value: two agents in one process have two registries.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jsonschema::Validator;
use serde_json::Value;

use super::params::{self, ParamError};
use super::spec::{EffectClass, ToolSpec};
use super::speech::{PatternError, SlotKind, slots};
use super::{ErrorKind, Tool, ToolFailure};

/// Names that small models invent, and the tools they mean. Used only if the name isn't a tool and the target is.
const NAME_ALIASES: &[(&str, &str)] = &[
    ("answer", "respond"),
    ("ask", "request_interaction"),
    ("ask_human", "request_interaction"),
    ("ask_memory", "memory_recall"),
    ("ask_user", "request_interaction"),
    ("bash_command", "bash"),
    ("browse", "http_fetch"),
    ("calculate", "math"),
    ("calculator", "math"),
    ("cargo_test", "run_tests"),
    ("cat", "read_file"),
    ("causal_graph", "causal_links"),
    ("causes", "causal_links"),
    ("cd", "request_directory_change"),
    ("change_directory", "request_directory_change"),
    ("change_mode", "mode_switch"),
    ("chdir", "request_directory_change"),
    ("clarify", "request_interaction"),
    ("code_search", "search_code"),
    ("commit", "git_commit"),
    ("concepts", "concept_query"),
    ("create_file", "write_file"),
    ("curl", "http_fetch"),
    ("define", "concept_query"),
    ("diff", "git_diff"),
    ("energy", "energy_status"),
    ("execute", "bash"),
    ("execute_command", "bash"),
    ("execute_script", "execute_file"),
    ("fear_check", "pain_history"),
    ("fetch", "http_fetch"),
    ("fetch_url", "http_fetch"),
    ("file_read", "read_file"),
    ("file_write", "write_file"),
    ("find_files", "glob"),
    ("find_in_files", "search_code"),
    ("find_tools", "discover_tools"),
    ("git", "git_diff"),
    ("grep", "search_code"),
    ("help", "discover_tools"),
    ("http_get", "http_fetch"),
    ("http_request", "http_fetch"),
    ("inspect", "examine"),
    ("list_files", "glob"),
    ("list_tools", "discover_tools"),
    ("look", "examine"),
    ("look_around", "scene_summary"),
    ("look_at", "examine"),
    ("ls", "glob"),
    ("memory", "memory_recall"),
    ("memory_search", "memory_recall"),
    ("modify_file", "edit_file"),
    ("nap", "sleep"),
    ("open_file", "read_file"),
    ("open_url", "http_fetch"),
    ("pain", "pain_history"),
    ("predict", "predict_outcome"),
    ("presence", "sense_presence"),
    ("pytest", "run_tests"),
    ("recall", "memory_recall"),
    ("reflect", "think"),
    ("reflection", "think"),
    ("remember", "memory_recall"),
    ("replace_in_file", "edit_file"),
    ("reply", "respond"),
    ("rest", "sleep"),
    ("revert", "undo"),
    ("rg", "search_code"),
    ("rhythms", "temporal_patterns"),
    ("ripgrep", "search_code"),
    ("rollback", "undo"),
    ("run_bash", "bash"),
    ("run_command", "bash"),
    ("run_file", "execute_file"),
    ("run_script", "execute_file"),
    ("run_test", "run_tests"),
    ("save_file", "write_file"),
    ("scene", "scene_summary"),
    ("search_files", "glob"),
    ("search_in_files", "search_code"),
    ("search_memory", "memory_recall"),
    ("set_autonomy", "autonomy_level"),
    ("set_mode", "mode_switch"),
    ("shell", "bash"),
    ("show_diff", "git_diff"),
    ("similar", "similarity_search"),
    ("speech", "say"),
    ("stats", "system_stats"),
    ("status", "system_stats"),
    ("str_replace", "edit_file"),
    ("switch_mode", "mode_switch"),
    ("take_back", "undo"),
    ("talk", "respond"),
    ("terminal", "bash"),
    ("test", "run_tests"),
    ("tests", "run_tests"),
    ("text_to_speech", "speak"),
    ("thought", "think"),
    ("tools", "discover_tools"),
    ("tts", "speak"),
    ("view_file", "read_file"),
    ("web_fetch", "http_fetch"),
];

/// Who runs it.
#[derive(Clone)]
pub enum Runner {
    /// The executor, on its own thread.
    Here(Arc<dyn Tool>),
    /// A region, asked by a signal.
    Brain,
}

impl std::fmt::Debug for Runner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Here(_) => "Here",
            Self::Brain => "Brain",
        })
    }
}

/// A tool in a registry.
#[derive(Clone, Debug)]
pub struct Registered {
    pub spec: Arc<ToolSpec>,
    pub runner: Runner,
    validator: Arc<Validator>,
}

/// A tool that can't be registered. Always a defect in the tool's description.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    #[error("tool \"{0}\": a name is lower-case letters, digits and '_', starting with a letter")]
    BadName(String),
    #[error("tool \"{0}\" is registered already")]
    Duplicate(String),
    #[error("tool \"{tool}\": its parameters are no JSON schema of an object: {why}")]
    BadSchema { tool: String, why: String },
    #[error("tool \"{tool}\": its example is invalid: {source}")]
    BadExample { tool: String, source: ParamError },
    #[error("tool \"{tool}\": {source}")]
    BadPattern { tool: String, source: PatternError },
}

/// What a name means.
#[derive(Debug)]
pub enum Resolved<'a> {
    /// It is a tool.
    Tool(&'a Registered),
    /// It is a known wrong name for this tool.
    Redirected(&'a Registered),
    /// Neither; the nearest names, best first.
    Unknown { nearest: Vec<String> },
}

/// Tools by name.
#[derive(Clone, Debug, Default)]
pub struct ToolRegistry {
    tools: BTreeMap<String, Registered>,
    left_out: Vec<String>,
}

impl ToolRegistry {
    /// Records in words why a tool could not be registered, for the list of tools.
    pub fn leave_out(&mut self, why: String) {
        self.left_out.push(why);
    }

    /// What could not be registered, and why.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// Adds a tool that runs in this process.
    pub fn register(&mut self, tool: Arc<dyn Tool>) -> Result<(), RegistryError> {
        self.insert(tool.spec().clone(), Runner::Here(tool))
    }

    /// Adds a tool that a region answers.
    pub fn register_brain(&mut self, spec: ToolSpec) -> Result<(), RegistryError> {
        self.insert(spec, Runner::Brain)
    }

    fn insert(&mut self, spec: ToolSpec, runner: Runner) -> Result<(), RegistryError> {
        let validator = checked(&spec)?;
        if self.tools.contains_key(&spec.name) {
            return Err(RegistryError::Duplicate(spec.name));
        }
        let name = spec.name.clone();
        self.tools.insert(name, Registered { spec: Arc::new(spec), runner, validator: Arc::new(validator) });
        Ok(())
    }

    /// Keeps a tool registered that can't be used here. A call answers why.
    pub fn switch_off(&mut self, name: &str, reason: &str) {
        if let Some(tool) = self.tools.get_mut(name) {
            let spec = (*tool.spec).clone();
            tool.spec = Arc::new(ToolSpec { unavailable: Some(reason.into()), effect: EffectClass::ReadOnly, ..spec });
        }
    }

    /// Removes a tool.
    pub(super) fn remove(&mut self, name: &str) {
        self.tools.remove(name);
    }

    /// Sets a parameter's default.
    pub(super) fn set_default(&mut self, name: &str, parameter: &str, default: Value) {
        if let Some(tool) = self.tools.get_mut(name) {
            Arc::make_mut(&mut tool.spec).parameters["properties"][parameter]["default"] = default;
        }
    }

    /// The tool of exactly this name.
    pub fn get(&self, name: &str) -> Option<&Registered> {
        self.tools.get(name)
    }

    /// All names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().map(String::as_str)
    }

    /// Tools whose results are another party's words.
    pub fn hearsay(&self) -> BTreeSet<String> {
        let outside = self.specs().filter(|spec| spec.is_foreign || spec.brings_outside_text);
        outside.map(|spec| spec.name.clone()).collect()
    }

    /// All descriptions, sorted by name.
    pub fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        self.tools.values().map(|tool| tool.spec.as_ref())
    }

    pub fn len(&self) -> usize {
        self.tools.len()
    }

    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// What `name` means: a tool, a redirect to one, or nothing. Case, surrounding space and `-` for `_` are forgiven
    /// as a redirect.
    pub fn resolve(&self, name: &str) -> Resolved<'_> {
        if let Some(tool) = self.get(name) {
            return Resolved::Tool(tool);
        }
        let plain = name.trim().to_lowercase().replace(['-', ' '], "_");
        let target = NAME_ALIASES.iter().find(|(alias, _)| *alias == plain).map(|(_, target)| *target);
        match self.get(&plain).or_else(|| target.and_then(|target| self.get(target))) {
            Some(tool) => Resolved::Redirected(tool),
            None => Resolved::Unknown { nearest: self.nearest(name, 3) },
        }
    }

    /// The `limit` names most similar to `name`, best first, at any similarity; equal ones in alphabetical order.
    pub fn nearest(&self, name: &str, limit: usize) -> Vec<String> {
        let near = params::by_likeness(name, self.names());
        near.into_iter().take(limit).map(|(_, candidate)| candidate.to_owned()).collect()
    }

    /// Applies aliases and defaults and checks the schema. Returns the parameters for the run. An error names each
    /// wrong field, what was expected and what was given.
    pub fn validate(&self, tool: &str, params: &Value) -> Result<Value, ParamError> {
        match self.get(tool) {
            Some(tool) => params::validate(&tool.spec, &tool.validator, params),
            None => Err(ParamError::unknown_tool(tool, &self.nearest(tool, 3))),
        }
    }

    /// The tool that the executor runs. An error if a region answers it or it doesn't exist.
    pub fn hands_on(&self, name: &str) -> Result<&Arc<dyn Tool>, ToolFailure> {
        match self.get(name).map(|tool| &tool.runner) {
            Some(Runner::Here(tool)) => Ok(tool),
            Some(Runner::Brain) => Err(ToolFailure::new(
                ErrorKind::Unavailable,
                format!("tool \"{name}\" is answered by a region: ask it by its signal"),
            )),
            None => {
                let nearest = self.nearest(name, 3).join(", ");
                let message = format!("there is no tool \"{name}\"; the nearest are: {nearest}");
                Err(ToolFailure::new(ErrorKind::NotFound, message))
            }
        }
    }
}

/// Refuses a contradictory description, so prompt, grammar and validation can trust it.
fn checked(spec: &ToolSpec) -> Result<Validator, RegistryError> {
    let mut letters = spec.name.chars();
    let starts_well = letters.next().is_some_and(|c| c.is_ascii_lowercase());
    if !starts_well || !letters.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_') {
        return Err(RegistryError::BadName(spec.name.clone()));
    }
    let bad_schema = |why: String| RegistryError::BadSchema { tool: spec.name.clone(), why };
    if !spec.parameters["properties"].is_object() {
        return Err(bad_schema("\"properties\" is missing".into()));
    }
    let validator = jsonschema::validator_for(&spec.parameters).map_err(|error| bad_schema(error.to_string()))?;
    for (alias, parameter) in &spec.parameter_aliases {
        if spec.parameter(alias).is_some() || spec.parameter(parameter).is_none() {
            return Err(bad_schema(format!(
                "parameter alias {alias} → {parameter}: it must lead from no parameter to one"
            )));
        }
    }
    if !spec.example.is_null() {
        params::validate(spec, &validator, &spec.example)
            .map_err(|source| RegistryError::BadExample { tool: spec.name.clone(), source })?;
    }
    for speech in &spec.speech {
        check_speech(spec, speech).map_err(|source| RegistryError::BadPattern { tool: spec.name.clone(), source })?;
    }
    Ok(validator)
}

fn check_speech(spec: &ToolSpec, speech: &super::SpeechPattern) -> Result<(), PatternError> {
    let wrong = |why: String| Err(PatternError { pattern: speech.pattern.clone(), why });
    let pieces = speech.pieces()?;
    for (name, kind) in slots(&pieces) {
        let Some(schema) = spec.parameter(name) else {
            return wrong(format!("slot \"{name}\" is no parameter of the tool"));
        };
        let is_number = matches!(schema["type"].as_str(), Some("number" | "integer"));
        if is_number != (kind == SlotKind::Number) {
            return wrong(format!("slot \"{name}\" must be of kind number exactly when the parameter is a number"));
        }
        if speech.fixed.contains_key(name) {
            return wrong(format!("\"{name}\" is both fixed and a slot"));
        }
    }
    match speech.fixed.keys().find(|name| spec.parameter(name).is_none()) {
        Some(name) => wrong(format!("fixed \"{name}\" is no parameter of the tool")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn registry(names: &[&str]) -> ToolRegistry {
        let mut registry = ToolRegistry::default();
        for name in names {
            registry.register_brain(ToolSpec::new(name, "a tool")).expect("a good spec");
        }
        registry
    }

    fn redirect(registry: &ToolRegistry, name: &str) -> Option<String> {
        match registry.resolve(name) {
            Resolved::Redirected(tool) => Some(tool.spec.name.clone()),
            _ => None,
        }
    }

    #[test]
    fn names_are_sorted_and_unique() {
        let mut registry = registry(&["think", "bash", "say"]);
        assert_eq!(registry.names().collect::<Vec<_>>(), ["bash", "say", "think"]);
        let again = registry.register_brain(ToolSpec::new("say", "again"));
        assert!(matches!(again, Err(RegistryError::Duplicate(name)) if name == "say"));
    }

    #[test]
    fn an_invented_name_is_redirected_only_to_a_tool_that_is_there() {
        let tools = registry(&["memory_recall", "say"]);
        assert_eq!(redirect(&tools, "remember").as_deref(), Some("memory_recall"));
        assert_eq!(redirect(&tools, "Memory-Recall").as_deref(), Some("memory_recall"));
        assert_eq!(redirect(&tools, "reflection"), None, "think isn't registered");
        let own = registry(&["memory_recall", "remember"]);
        assert!(matches!(own.resolve("remember"), Resolved::Tool(tool) if tool.spec.name == "remember"));
    }

    #[test]
    fn an_unknown_name_gets_the_three_nearest() {
        let tools = registry(&["read_file", "write_file", "bash", "glob", "edit_file"]);
        let Resolved::Unknown { nearest } = tools.resolve("rite_file") else { panic!("it is no tool") };
        assert_eq!(nearest[0], "write_file");
        assert_eq!(nearest.len(), 3);
        assert!(!nearest.contains(&"bash".to_owned()));
    }

    #[test]
    fn a_spec_that_contradicts_itself_is_refused() {
        let refuse = |spec: ToolSpec| ToolRegistry::default().register_brain(spec).expect_err("refused").to_string();
        assert!(refuse(ToolSpec::new("Bad Name", "x")).contains("lower-case"));
        let typed = || ToolSpec::new("t", "x").with_parameters(json!({"n": {"type": "integer"}}), &["n"]);
        assert!(refuse(typed()).contains("\"n\""), "the example lacks n");
        let typed = || typed().with_example(json!({"n": 1}));
        assert!(refuse(typed().with_speech(&["do"], &["{verb} {m:word}"])).contains("\"m\" is no parameter"));
        assert!(refuse(typed().with_speech(&["do"], &["{verb} {n:word}"])).contains("kind number"));
        assert!(refuse(typed().with_speech(&["do"], &["{verb} [x"])).contains("']' is missing"));
        assert!(refuse(typed().with_aliases(&[("m", "k")])).contains("m → k"));
        let broken = ToolSpec::new("t", "x").with_parameters(json!({"n": {"type": "whole number"}}), &[]);
        assert!(refuse(broken).contains("JSON schema"));
    }

    #[test]
    fn the_core_tools_register_and_each_can_be_asked_for_in_words() {
        let registry = super::super::core_registry().expect("good specs");
        let names: Vec<_> = registry.names().collect();
        let expected = [
            "autonomy_level",
            "bash",
            "call_user",
            "causal_links",
            "concept_query",
            "discover_tools",
            "display_mode",
            "edit_file",
            "energy_status",
            "execute_file",
            "focus_interests",
            "git_commit",
            "git_diff",
            "glob",
            "http_fetch",
            "math",
            "memory_recall",
            "mode_switch",
            "move",
            "novelty_track",
            "pain_history",
            "predict_outcome",
            "propose_goal",
            "read_file",
            "request_directory_change",
            "request_interaction",
            "respond",
            "run_tests",
            "scene_summary",
            "search_code",
            "send_message",
            "sense",
            "sense_presence",
            "set_scene",
            "similarity_search",
            "sleep",
            "speak",
            "system_stats",
            "temporal_patterns",
            "track_target",
            "undo",
            "web_access",
            "write_file",
        ];
        assert_eq!(names, expected);
        assert!(registry.specs().all(|spec| !spec.speech.is_empty()));
        assert!(registry.hands_on("bash").is_ok());
        assert_eq!(registry.hands_on("respond").err().map(|e| e.kind), Some(ErrorKind::Unavailable));
    }

    #[test]
    fn all_aliases_lead_somewhere_sensible() {
        for (alias, target) in NAME_ALIASES {
            assert!(!NAME_ALIASES.iter().any(|(other, _)| other == target), "{alias} → {target} needs a second step");
        }
    }
}

//! Tools as a prompt shows them: whole, or by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use maxim_bus::signals::prompt::Tier;
use maxim_bus::signals::thought::CallableTool;
use serde_json::Value as Json;

use super::{Part, Section};
use maxim_language::TokenCounter;
use maxim_tools::ToolSpec;

/// A tool's texts, made once.
#[derive(Clone, Debug)]
pub struct ShownTool {
    pub name: String,
    pub full: String,
    parameters: Json,
    full_tokens: usize,
    name_tokens: usize,
}

/// All tools, by name.
#[derive(Clone, Debug, Default)]
pub struct ToolShelf {
    tools: BTreeMap<String, ShownTool>,
    counter: TokenCounter,
}

/// Tools that can't be called at present, and why.
pub type Off = BTreeMap<String, String>;

/// Tools whose schemas a server is given; servers of tools may offer hundreds.
const WITH_SCHEMAS: usize = 64;
const HEADING: &str = "Tools, with what they take:";
const NAMES: &str = "Other tools, by name; they can be called too:";

impl ToolShelf {
    pub fn new<'a>(specs: impl IntoIterator<Item = &'a ToolSpec>, counter: &TokenCounter) -> Arc<Self> {
        let shown = |spec: &ToolSpec| {
            let properties = spec.parameters.get("properties").cloned().unwrap_or_default();
            let mut full = format!("- {}: {} params {properties}", spec.name, spec.description);
            if !spec.example.is_null() {
                full.push_str(&format!(" e.g. {}", spec.example));
            }
            let (full_tokens, name_tokens) = (counter.count(&full) + 1, counter.count(&spec.name) + 1);
            let (name, parameters) = (spec.name.clone(), spec.parameters.clone());
            (spec.name.clone(), ShownTool { name, full, parameters, full_tokens, name_tokens })
        };
        Arc::new(Self { tools: specs.into_iter().map(shown).collect(), counter: counter.clone() })
    }

    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// All, those that are shown whole first, with what they take as far as it is bounded: a model that is held to a schema
    /// and free in one place rambles there.
    pub fn callable(&self, shown: &[String], off: &Off) -> Vec<CallableTool> {
        let on = self.tools.values().filter(|tool| !off.contains_key(&tool.name));
        let (first, rest): (Vec<_>, Vec<_>) = on.partition(|tool| shown.contains(&tool.name));
        let all = first.into_iter().chain(rest).enumerate();
        let callable = |(at, tool): (usize, &ShownTool)| {
            let parameters = (at < WITH_SCHEMAS).then(|| tool.parameters.clone());
            CallableTool { name: tool.name.clone(), parameters }
        };
        all.map(callable).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// The first `shown` of a ranking with all they take, the others by name. Without a ranking, all with all they take.
    /// A tool that the ranking lacks is shown by its name; one that isn't here, or is off, is not shown.
    pub fn sections(&self, ranking: &[String], shown: usize, off: &Off) -> (Vec<Section>, Vec<String>) {
        let is_on = |tool: &&ShownTool| !off.contains_key(&tool.name);
        let ranked: Vec<&ShownTool> = match ranking {
            [] => self.tools.values().filter(is_on).collect(),
            names => names.iter().filter_map(|name| self.tools.get(name)).filter(is_on).take(shown).collect(),
        };
        let mut full =
            String::with_capacity(ranked.iter().map(|tool| tool.full.len() + 1).sum::<usize>() + HEADING.len());
        full.push_str(HEADING);
        let mut tokens = self.counter.count(HEADING) + 2;
        for tool in &ranked {
            full.push('\n');
            full.push_str(&tool.full);
            tokens += tool.full_tokens;
        }
        let mut sections = vec![Section::counted("tools", Tier::Critical, Part::System, full, tokens)];
        let rest = self.tools.values().filter(is_on).filter(|tool| !ranked.iter().any(|shown| shown.name == tool.name));
        let (mut names, mut name_tokens) = (String::new(), self.counter.count(NAMES) + 2);
        for tool in rest {
            names.push_str(if names.is_empty() { " " } else { ", " });
            names.push_str(&tool.name);
            name_tokens += tool.name_tokens;
        }
        if !names.is_empty() {
            let names = format!("{NAMES}{names}");
            sections.push(Section::counted("tool_names", Tier::NiceToHave, Part::System, names, name_tokens));
        }
        (sections, ranked.into_iter().map(|tool| tool.name.clone()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranked_tools_are_shown_whole_and_the_others_by_name() {
        let specs: Vec<ToolSpec> = ["a_tool", "b_tool", "c_tool"].map(|name| ToolSpec::new(name, "does it")).into();
        let shelf = ToolShelf::new(&specs, &TokenCounter::Estimated);
        let ranking = ["c_tool", "gone", "a_tool", "b_tool"].map(str::to_owned);
        let (sections, shown) = shelf.sections(&ranking, 2, &Off::new());
        assert_eq!(shown, ["c_tool", "a_tool"]);
        assert!(sections[0].text.contains("- c_tool: does it") && !sections[0].text.contains("b_tool"));
        assert!(sections[1].text.ends_with(" b_tool"));
        let (all, shown) = shelf.sections(&[], 0, &Off::new());
        assert_eq!((all.len(), shown.len()), (1, 3));
        let off = Off::from([("c_tool".to_owned(), "the lamp is gone".to_owned())]);
        let (sections, shown) = shelf.sections(&ranking, 2, &off);
        assert_eq!(shown, ["a_tool", "b_tool"]);
        assert!(sections.iter().all(|section| !section.text.contains("c_tool")));
        assert!(shelf.callable(&shown, &off).iter().all(|tool| tool.name != "c_tool"));
    }
}

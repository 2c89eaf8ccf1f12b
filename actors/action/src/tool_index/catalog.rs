//! What a tool says of itself, as words.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::law::{DESCRIPTION, NAME, PARAMETER, PARAMETER_DESCRIPTION};
use maxim_language::Stems;

/// A tool as the index sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolText {
    pub name: String,
    #[serde(default)]
    pub description: String,
    /// JSON schema, strict or loose.
    #[serde(default)]
    pub parameters: Json,
}

/// Words of a schema that say nothing of the tool.
const KEYWORDS: [&str; 18] = [
    "type",
    "description",
    "required",
    "title",
    "default",
    "enum",
    "items",
    "format",
    "additionalProperties",
    "$schema",
    "properties",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "pattern",
    "anyOf",
    "oneOf",
];
/// Levels of a schema that are looked at.
const LEVELS: usize = 6;
/// Longer runs of digits are names of things, not words.
const DIGITS: usize = 4;

impl ToolText {
    /// Name in words and description: what its vector is made of.
    pub(super) fn gist(&self) -> String {
        format!("{}: {}", words(&self.name).join(" "), self.description)
    }

    /// Weight of each stem in tenths, with the word it came of.
    pub(super) fn weights(&self, stems: &Stems) -> BTreeMap<String, (u32, String)> {
        let mut weights = BTreeMap::new();
        add(&mut weights, stems, &self.name, NAME);
        add(&mut weights, stems, &self.description, DESCRIPTION);
        let (mut names, mut descriptions) = (Vec::new(), Vec::new());
        parameters(&self.parameters, LEVELS, &mut names, &mut descriptions);
        names.iter().for_each(|name| add(&mut weights, stems, name, PARAMETER));
        descriptions.iter().for_each(|text| add(&mut weights, stems, text, PARAMETER_DESCRIPTION));
        weights
    }
}

fn add(weights: &mut BTreeMap<String, (u32, String)>, stems: &Stems, text: &str, weight: u32) {
    for word in words(text) {
        if let Some(stem) = stems.of(&word) {
            let entry = weights.entry(stem).or_insert_with(|| (0, word.clone()));
            entry.0 = entry.0.saturating_add(weight);
            if is_plainer(&word, &entry.1) {
                entry.1 = word;
            }
        }
    }
}

/// Of the words of one stem the shortest stands for it; the same whatever came first.
pub(super) fn is_plainer(word: &str, than: &str) -> bool {
    (word.len(), word) < (than.len(), than)
}

/// Names and descriptions of parameters, whatever way the schema gives them.
fn parameters(schema: &Json, levels: usize, names: &mut Vec<String>, descriptions: &mut Vec<String>) {
    let Some(levels) = levels.checked_sub(1) else { return };
    match schema {
        Json::Object(members) => {
            if let Some(properties) = members.get("properties").and_then(Json::as_object) {
                for (name, schema) in properties {
                    names.push(name.clone());
                    described(schema, levels, names, descriptions);
                }
                return;
            }
            for (name, value) in members.iter().filter(|(name, _)| !KEYWORDS.contains(&name.as_str())) {
                names.push(name.clone());
                match value {
                    Json::String(text) => descriptions.push(text.clone()),
                    value => described(value, levels, names, descriptions),
                }
            }
        }
        Json::Array(items) => {
            for item in items {
                names.extend(item.get("name").and_then(Json::as_str).map(str::to_owned));
                described(item, levels, names, descriptions);
            }
        }
        _ => {}
    }
}

fn described(schema: &Json, levels: usize, names: &mut Vec<String>, descriptions: &mut Vec<String>) {
    descriptions.extend(schema.get("description").and_then(Json::as_str).map(str::to_owned));
    let choices = schema.get("enum").and_then(Json::as_array).into_iter().flatten();
    descriptions.extend(choices.filter_map(Json::as_str).map(str::to_owned));
    for inner in [Some(schema), schema.get("items")].into_iter().flatten() {
        if inner.get("properties").is_some() {
            parameters(inner, levels, names, descriptions);
        }
    }
}

/// Lower-case words: split at what is no letter or digit, at changes of case, and between letters and digits.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut word = String::new();
    let mut last: Option<char> = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if matches!(c, '\'' | '’') && last.is_some() {
            // The s of a possessive is no word.
            if matches!(chars.peek(), Some('s' | 'S')) {
                chars.next();
            }
            flush(&mut word, &mut found);
            last = None;
            continue;
        }
        let next_lower = chars.peek().is_some_and(|next| next.is_lowercase());
        let breaks = last.is_some_and(|last| {
            last.is_lowercase() && c.is_uppercase()
                || last.is_uppercase() && c.is_uppercase() && next_lower
                || last.is_numeric() != c.is_numeric()
        });
        if !c.is_alphanumeric() || breaks {
            flush(&mut word, &mut found);
        }
        last = c.is_alphanumeric().then_some(c);
        if last.is_some() {
            word.extend(c.to_lowercase());
        }
    }
    flush(&mut word, &mut found);
    found
}

fn flush(word: &mut String, found: &mut Vec<String>) {
    let number = word.len() > DIGITS && word.chars().all(char::is_numeric);
    if !word.is_empty() && !number {
        found.push(std::mem::take(word));
    }
    word.clear();
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_are_split_into_their_words() {
        assert_eq!(words("getHTTPServer2.find_user's"), ["get", "http", "server", "2", "find", "user"]);
        assert_eq!(words("Order 123456 of 2026"), ["order", "of", "2026"]);
    }

    #[test]
    fn parameters_are_found_in_strict_and_loose_schemas() {
        let found = |schema: Json| {
            let (mut names, mut descriptions) = (Vec::new(), Vec::new());
            parameters(&schema, LEVELS, &mut names, &mut descriptions);
            (names, descriptions)
        };
        let strict = json!({"type": "dict", "properties": {"city": {"type": "string", "description": "the town"}}});
        let loose = json!({"city": {"type": "string", "description": "the town"}});
        let flat = json!({"city": "the town"});
        let listed = json!([{"name": "city", "description": "the town"}]);
        for schema in [strict, loose, flat, listed] {
            assert_eq!(found(schema), (vec!["city".to_owned()], vec!["the town".to_owned()]));
        }
        assert_eq!(found(json!({"type": "object"})), (vec![], vec![]));
    }
}

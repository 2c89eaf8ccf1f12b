//! The explanation of one key, and all effective values as a file.

use std::fmt::Write;

use maxim_actors::effectors::tool_servers::{self, MCP, fields_of};
use serde::Serialize;

use super::shape::{to_json, to_toml};
use super::{Field, Loaded, Shape, fields, sections};

/// One key: its value, the layer that won, and what it means.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    pub key: String,
    /// Null when it is not set; a secret is only said to be set.
    pub value: serde_json::Value,
    /// The value as a file would show it.
    #[serde(skip)]
    pub shown: String,
    pub layer: String,
    pub meaning: String,
    pub unit: &'static str,
    pub range: String,
    pub default: &'static str,
    pub variable: String,
}

/// The field of a key such as `gateway.credit`.
pub fn find(key: &str) -> Option<Field> {
    if key.starts_with("mcp.") {
        return tool_servers::find(key);
    }
    let (section, name) = key.rsplit_once('.')?;
    fields().find(|field| field.section == section && field.name == name).cloned()
}

/// Below this likeness a suggestion doesn't help.
const ALIKE: f64 = 0.75;

/// The known key that is most like `key`, whether its section or its name is wrong; `None` if none is like it.
pub fn nearest(key: &str) -> Option<Field> {
    if let Some((server, name)) = key.strip_prefix("mcp.").and_then(|rest| rest.split_once('.')) {
        let likeness = |field: &Field| strsim::jaro_winkler(name, field.name);
        let best = fields_of(server).max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
        return best.filter(|field| likeness(field) >= ALIKE);
    }
    let likeness = |field: &Field| match key.rsplit_once('.') {
        // A common section alone must not make two keys alike.
        Some((section, name)) => {
            0.2 * strsim::jaro_winkler(section, &field.section) + 0.8 * strsim::jaro_winkler(name, field.name)
        }
        None => strsim::jaro_winkler(key, &field.section).max(strsim::jaro_winkler(key, field.name)),
    };
    // Of equals the first wins, so that the order of the sample file decides.
    let best = fields().fold(None, |best: Option<(f64, &Field)>, field| match best {
        Some((score, _)) if score >= likeness(field) => best,
        _ => Some((likeness(field), field)),
    });
    best.filter(|(score, _)| *score >= ALIKE).map(|(_, field)| field.clone())
}

impl Loaded {
    /// Explains a key, or each key of a section. Empty when there is no such key.
    pub fn explain(&self, key: &str) -> Vec<Explanation> {
        let servers = self.server_fields();
        let described = if servers.is_empty() { fields_of("NAME").collect() } else { servers };
        let of_key = |field: &Field| field.key() == key || field.section == key;
        let of_server = |field: &Field| of_key(field) || key == MCP;
        let rest = described.iter().filter(|field| of_server(field));
        fields().filter(|field| of_key(field)).chain(rest).map(|field| self.explain_field(field)).collect()
    }

    /// The keys of the tool servers that are configured.
    fn server_fields(&self) -> Vec<Field> {
        self.settings.mcp.keys().flat_map(|server| fields_of(server)).collect()
    }

    /// Explains every key.
    pub fn explain_all(&self) -> Vec<Explanation> {
        let servers = self.server_fields();
        fields().chain(&servers).map(|field| self.explain_field(field)).collect()
    }

    fn explain_field(&self, field: &Field) -> Explanation {
        let winner = self.winners.get(&field.key()).cloned().unwrap_or_default();
        let is_set = winner.value != config::ValueKind::Nil;
        let (value, shown) = match field.shape {
            Shape::Secret if is_set => ("(set)".into(), "(set)".into()),
            Shape::Secret => ("(not set)".into(), "(not set)".into()),
            _ if is_set => (to_json(&winner.value), to_toml(&winner.value)),
            _ => (serde_json::Value::Null, "(not set)".into()),
        };
        Explanation {
            key: field.key(),
            value,
            shown,
            layer: winner.layer.clone(),
            meaning: field.meaning(),
            unit: field.unit,
            range: field.shape.takes(),
            default: field.default,
            variable: field.variable(),
        }
    }

    /// All effective values as TOML, each with the layer that it came from. Unset keys and secrets are comments.
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        let all = sections().map(|section| (section.name.to_owned(), section.fields.to_vec()));
        let servers = self.settings.mcp.keys().map(|name| (format!("{MCP}.{name}"), fields_of(name).collect()));
        for (section, fields) in all.chain(servers) {
            let rows: Vec<(String, String)> = fields
                .iter()
                .map(|field| {
                    let Explanation { shown, layer, .. } = self.explain_field(field);
                    let comment = if shown.starts_with('(') { "# " } else { "" };
                    (format!("{comment}{} = {shown}", field.name), layer)
                })
                .collect();
            let width = rows.iter().map(|(line, _)| line.chars().count()).max().unwrap_or(0);
            let gap = if text.is_empty() { "" } else { "\n" };
            let _ = writeln!(text, "{gap}[{section}]");
            for (line, layer) in rows {
                let _ = writeln!(text, "{line:width$}  # {layer}");
            }
        }
        text
    }
}

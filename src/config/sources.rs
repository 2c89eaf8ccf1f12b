//! Reads each layer, and checks every value at its place.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use config::{File, FileFormat, Map, Source, Value, ValueKind};
use maxim_actors::effectors::channels::outside::Channels;
use maxim_actors::effectors::tool_servers::{MCP, fields_of, is_server_name};

use super::shape::{Reads as _, to_toml};
use super::{Fault, Field, Override, Secret, Shape, explain, fields, sections};

/// The name of the layer of the defaults.
pub(super) const BUILT_IN: &str = "built-in";

/// One layer after its check: canonical values by key.
#[derive(Clone, Debug, Default)]
pub(super) struct Layer {
    pub values: BTreeMap<String, Value>,
}

impl Layer {
    fn set(&mut self, key: String, value: ValueKind, place: &str) {
        self.values.insert(key, Value::new(Some(&place.to_owned()), value));
    }

    /// Names of the tool servers that the layer mentions.
    pub(super) fn servers(&self) -> Vec<String> {
        let names = self.values.keys().filter_map(|key| key.strip_prefix("mcp.")?.split_once('.'));
        names.map(|(server, _)| server.to_owned()).collect()
    }
}

impl Source for Layer {
    fn clone_into_box(&self) -> Box<dyn Source + Send + Sync> {
        Box::new(self.clone())
    }

    fn collect(&self) -> Result<Map<String, Value>, config::ConfigError> {
        Ok(self.values.clone().into_iter().collect())
    }
}

pub(super) fn built_in(faults: &mut Vec<Fault>) -> Layer {
    let mut layer = Layer::default();
    for field in fields() {
        match field.read(field.default) {
            Some(value) => layer.set(field.key(), value, BUILT_IN),
            None => faults.push(wrong_value(field, &format!("{:?}", field.default), BUILT_IN)),
        }
    }
    layer
}

/// The defaults of a tool server that some layer mentions.
pub(super) fn built_in_of_server(layer: &mut Layer, server: &str, faults: &mut Vec<Fault>) {
    for field in fields_of(server) {
        match field.read(field.default) {
            Some(value) => layer.set(field.key(), value, BUILT_IN),
            None => faults.push(wrong_value(&field, &format!("{:?}", field.default), BUILT_IN)),
        }
    }
}

pub(super) fn file(path: &Path, required: bool, faults: &mut Vec<Fault>) -> Layer {
    let place = path.display().to_string();
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound && !required => return Layer::default(),
        Err(error) => {
            let found = format!("the configuration file {place} can't be read: {error}");
            faults.push(Fault::new(place, found, "name a file that exists and that this user may read"));
            return Layer::default();
        }
    };
    let tables = match File::from_str(&text, FileFormat::Toml).collect() {
        Ok(tables) => tables,
        Err(error) => {
            let found = format!("the configuration file {place} is not TOML: {}", error.to_string().trim_end());
            faults.push(Fault::new(place, found, "correct the line"));
            return Layer::default();
        }
    };
    // The map's order is random, so faults are reported in alphabetical order.
    let mut layer = Layer::default();
    for (section, value) in tables.into_iter().collect::<BTreeMap<_, _>>() {
        match value.kind {
            ValueKind::Table(table) if section == MCP => tool_servers(&mut layer, table, &place, faults),
            ValueKind::Table(table) if section == Channels::PREFIX => channels(&mut layer, table, &place, faults),
            ValueKind::Table(table) => {
                for (name, value) in table.into_iter().collect::<BTreeMap<_, _>>() {
                    take(&mut layer, &format!("{section}.{name}"), &value.kind, &place, faults);
                }
            }
            _ if sections().any(|known| known.name == section) => {
                let found = format!("{section} in {place} is a value, but it is a section");
                faults.push(Fault::new(&section, found, format!("write [{section}] and its keys below it")));
            }
            _ => faults.push(unknown(&section, &place)),
        }
    }
    layer
}

/// `[channels.NAME]`, one table per channel.
fn channels(layer: &mut Layer, table: Map<String, Value>, place: &str, faults: &mut Vec<Fault>) {
    for (channel, value) in table.into_iter().collect::<BTreeMap<_, _>>() {
        let section = format!("{}.{channel}", Channels::PREFIX);
        let is_known = sections().any(|known| known.name == section);
        match value.kind {
            ValueKind::Table(keys) if is_known => {
                for (name, value) in keys.into_iter().collect::<BTreeMap<_, _>>() {
                    take(layer, &format!("{section}.{name}"), &value.kind, place, faults);
                }
            }
            _ if is_known => {
                let found = format!("{section} in {place} is a value, but it is a section");
                faults.push(Fault::new(&section, found, format!("write [{section}] and its keys below it")));
            }
            _ => {
                let known: Vec<&str> = sections().filter_map(|known| known.name.strip_prefix("channels.")).collect();
                let found = format!("{section} in {place} is not a known channel");
                faults.push(Fault::new(&section, found, format!("there are {}", known.join(", "))));
            }
        }
    }
}

/// `[mcp.NAME]`, one table per server.
fn tool_servers(layer: &mut Layer, table: Map<String, Value>, place: &str, faults: &mut Vec<Fault>) {
    for (server, value) in table.into_iter().collect::<BTreeMap<_, _>>() {
        let key = format!("{MCP}.{server}");
        match value.kind {
            ValueKind::Table(keys) if is_server_name(&server) => {
                for (name, value) in keys.into_iter().collect::<BTreeMap<_, _>>() {
                    take(layer, &format!("{key}.{name}"), &value.kind, place, faults);
                }
            }
            ValueKind::Table(_) => {
                let found = format!("{key} in {place} is not a valid name for a tool server");
                let fix = "use up to 24 lower-case letters, digits and single '_', starting with a letter";
                faults.push(Fault::new(key, found, fix));
            }
            _ => {
                let found = format!("{key} in {place} is a value, but tool servers have a section each");
                faults.push(Fault::new(key, found, "write [mcp.NAME] and its keys below it"));
            }
        }
    }
}

fn take(layer: &mut Layer, key: &str, value: &ValueKind, place: &str, faults: &mut Vec<Fault>) {
    let Some(field) = explain::find(key) else {
        faults.push(unknown(key, place));
        return;
    };
    if matches!(field.shape, Shape::Secret) {
        let found = format!("{key} in {place} is a secret in a configuration file");
        let fix = format!("put it in its own file and name that file as {key}_file, or set {}", field.variable());
        faults.push(Fault::new(key, found, fix));
        return;
    }
    match field.check(value) {
        Some(value) => layer.set(field.key(), value, place),
        None => faults.push(wrong_value(&field, &to_toml(value), place)),
    }
}

pub(super) fn environment(variables: &BTreeMap<String, String>, faults: &mut Vec<Fault>) -> Layer {
    let mut layer = Layer::default();
    for (name, text) in variables {
        let Some(path) = name.strip_prefix("MAXIM__") else { continue };
        let path = path.to_lowercase();
        let parts = if path.starts_with("mcp__") || path.starts_with("channels__") { 2 } else { 1 };
        let key = path.replacen("__", ".", parts);
        match explain::find(&key) {
            Some(field) => read_text(&mut layer, &field, text, name, faults),
            None => {
                let fix = did_you_mean(explain::nearest(&key).map(|field| field.variable()));
                faults.push(Fault::new(key, format!("{name} in the environment names no key"), fix));
            }
        }
    }
    layer
}

pub(super) fn flags(overrides: &[Override], faults: &mut Vec<Fault>) -> Layer {
    let mut layer = Layer::default();
    for Override { key, value, flag } in overrides {
        match explain::find(key) {
            Some(field) => read_text(&mut layer, &field, value, flag, faults),
            None => faults.push(unknown(key, flag)),
        }
    }
    layer
}

fn read_text(layer: &mut Layer, field: &Field, text: &str, place: &str, faults: &mut Vec<Fault>) {
    match field.read(text) {
        Some(value) => layer.set(field.key(), value, place),
        None => faults.push(wrong_value(field, &format!("{text:?}"), place)),
    }
}

fn wrong_value(field: &Field, value: &str, place: &str) -> Fault {
    let shown = if matches!(field.shape, Shape::Secret) { Secret::shown(None) } else { value };
    let found = format!("{} = {shown} from {place} is not {}", field.key(), field.shape.takes());
    let fix = match field.default {
        "" => "correct it or remove it".to_owned(),
        default => format!("correct it or remove it (default {default})"),
    };
    Fault::new(field.key(), found, fix)
}

fn unknown(key: &str, place: &str) -> Fault {
    let nearest = explain::nearest(key);
    let (kind, nearest) = match key.contains('.') {
        true => ("key", nearest.map(|field| field.key())),
        false => ("section", nearest.map(|field| field.section.to_string())),
    };
    Fault::new(key, format!("{place} has an unknown {kind} {key}"), did_you_mean(nearest))
}

/// The fix for an unknown name.
fn did_you_mean(nearest: Option<String>) -> String {
    nearest.map_or_else(|| "remove it; `maxim config show` lists all".into(), |name| format!("did you mean {name}?"))
}

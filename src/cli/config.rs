//! `maxim config`: the effective values, their origin, and a sample file.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use super::table::{Cell, Table};
use super::{CliError, Exit, Global, Out};
use crate::config::{Explanation, nearest, sample};

/// Show, explain or begin the configuration.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  maxim config explain gateway.credit")]
pub struct ConfigArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    /// Print all effective values, each with the layer that it came from; secrets are hidden
    #[command(after_help = "Example:\n  maxim config show")]
    Show,
    /// Write the sample file; an existing file is never overwritten
    #[command(after_help = "Example:\n  maxim config init ./maxim.toml")]
    Init {
        /// The file to write [default: $XDG_CONFIG_HOME/maxim/maxim.toml]
        file: Option<PathBuf>,
    },
    /// Explain a key: its meaning, its value, and the layer that set it
    #[command(after_help = "Examples:\n  maxim config explain gateway.credit\n  maxim config explain llm")]
    Explain {
        /// A key such as gateway.credit, or a whole section
        key: String,
    },
}

impl ConfigArgs {
    pub(super) fn run(self, global: &Global, out: &Out) -> Result<Exit, CliError> {
        match self.what {
            What::Show => show(global, out),
            What::Init { file } => init(global, out, file),
            What::Explain { key } => explain(global, out, &key),
        }
    }
}

fn show(global: &Global, out: &Out) -> Result<Exit, CliError> {
    let loaded = global.load(Vec::new())?;
    let mut sections = Map::new();
    for Explanation { key, value, layer, .. } in loaded.explain_all() {
        let (section, name) = key.rsplit_once('.').unwrap_or((&key, ""));
        sections.entry(section).or_insert_with(|| json!({}))[name] = json!({"value": value, "layer": layer});
    }
    out.answer(&Value::Object(sections), || loaded.to_toml())?;
    Ok(Exit::Ok)
}

fn explain(global: &Global, out: &Out, key: &str) -> Result<Exit, CliError> {
    let explained = global.load(Vec::new())?.explain(key);
    match explained.as_slice() {
        [] => {
            let fix = match nearest(key) {
                Some(field) => format!("did you mean {}?", field.key()),
                None => "`maxim config show` lists all".to_owned(),
            };
            return Err(CliError::new(Exit::Usage, format!("there is no configuration key {key}"), fix));
        }
        [one] => out.answer(&json!(one), || explanation(one, out))?,
        all => {
            out.answer(&json!(all), || all.iter().map(|one| explanation(one, out)).collect::<Vec<_>>().join("\n"))?
        }
    }
    Ok(Exit::Ok)
}

fn explanation(one: &Explanation, out: &Out) -> String {
    let mut table = Table::bare();
    let default = if one.default.is_empty() { "(not set)" } else { one.default };
    let unit = if one.unit.is_empty() { "-" } else { one.unit };
    let rows = [
        ("value", one.shown.as_str()),
        ("from", &one.layer),
        ("meaning", &one.meaning),
        ("unit", unit),
        ("takes", &one.range),
        ("default", default),
        ("variable", &one.variable),
    ];
    for (name, text) in rows {
        table.row(vec![Cell::text(format!("  {name}")), Cell::text(text)]);
    }
    format!("{}\n{}", out.paint.strong(&one.key), table.show(out.paint))
}

fn init(global: &Global, out: &Out, file: Option<PathBuf>) -> Result<Exit, CliError> {
    let file = file.or_else(|| global.config.clone()).or_else(|| global.places().user).ok_or_else(|| {
        let found = "there is no default place for the file: neither XDG_CONFIG_HOME nor HOME is set";
        CliError::new(Exit::Usage, found, "name the file, e.g. `maxim config init ./maxim.toml`")
    })?;
    let shown = file.display().to_string();
    write_new(&file).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            CliError::new(Exit::NotHeld, format!("{shown} exists already"), "name another file, or move it away first")
        }
        _ => {
            let found = format!("{shown} can't be written: {error}");
            CliError::new(Exit::NotHeld, found, "name a file in a folder that this user may write")
        }
    })?;
    out.answer(&json!({"file": shown}), || format!("wrote {shown}"))?;
    Ok(Exit::Ok)
}

fn write_new(file: &Path) -> std::io::Result<()> {
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder)?;
    }
    OpenOptions::new().write(true).create_new(true).open(file)?.write_all(sample().as_bytes())
}

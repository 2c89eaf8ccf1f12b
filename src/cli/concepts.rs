//! `maxim memory concepts`, `associated`, `ingest`, `pin`, `forget` and `promote`.

use std::path::PathBuf;

use clap::Args;
use maxim_actors::store::StateStore;
use serde_json::{Map, Value, json};

use super::document::{Document, parts};
use super::table::{Cell, Table, printable};
use super::{CliError, Client, Exit, Global, Out, queries, told, tree};

/// Look up what is known in general.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  maxim memory concepts \"coffee mug\"\n  maxim memory concepts --category container --json\n  maxim memory concepts --name mug --relation IS_A"
)]
pub struct ConceptsArgs {
    /// Words to look for
    query: Option<String>,
    /// The concept's name, in any spelling
    #[arg(long)]
    name: Option<String>,
    /// Only concepts of this kind, over any number of steps
    #[arg(long)]
    category: Option<String>,
    /// The concept's id, like concept-12
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Only concepts with this relation; with --name, those that have it to the named concept
    #[arg(long, value_name = "TYPE")]
    relation: Option<String>,
    /// Only concepts with this property, and with the value after =, if one is given
    #[arg(long, value_name = "KEY[=VALUE]")]
    property: Option<String>,
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
}

/// Find what is associated with a question, an episode or a concept.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  maxim memory associated \"red cup\"\n  maxim memory associated --concept concept-3 --depth 2\n  maxim memory associated --queries questions.jsonl"
)]
pub struct AssociatedArgs {
    /// Words to start from
    query: Option<String>,
    /// Answer many questions, one JSON object a line; - reads standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["query", "memory", "concept", "depth", "after", "before"])]
    queries: Option<PathBuf>,
    /// An episode to start from
    #[arg(long, visible_alias = "id", value_name = "ID")]
    memory: Option<String>,
    /// A concept to start from
    #[arg(long, value_name = "ID")]
    concept: Option<String>,
    /// Hops
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=6))]
    depth: u32,
    /// Limit the episodes to this time and later, such as 2026-01-05T09:00:00Z; a date is the start of that day
    #[arg(long, value_name = "TIME")]
    after: Option<String>,
    /// Limit the episodes to this time and earlier; a date is the start of that day
    #[arg(long, value_name = "TIME")]
    before: Option<String>,
    /// At most this many of each layer
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    limit: u32,
}

/// Learn concepts from documents: text, Markdown or PDF; durable when it returns.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  maxim memory ingest handbook.pdf notes.md")]
pub struct IngestArgs {
    /// The documents
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// Keep a memory, a concept or a record of numbers for good: it is neither compressed nor pruned.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  maxim memory pin concept-3\n  maxim memory pin concept-3 --off")]
pub struct PinArgs {
    /// Its id, as recall, concepts or associated print it with --json
    id: String,
    /// Undo the pin
    #[arg(long)]
    off: bool,
}

/// Delete a memory, a concept, a record of numbers or a whole document for good, with its edges.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  maxim memory forget concept-3\n  maxim memory forget handbook.pdf")]
pub struct ForgetArgs {
    /// Its id, as recall, concepts or associated print it with --json; of a document, the name under which it was read
    id: String,
}

impl ConceptsArgs {
    pub(super) fn run(self, global: &Global, out: &Out) -> Result<Exit, CliError> {
        let (property, value) = match self.property.as_deref().map(|pair| pair.split_once('=').ok_or(pair)) {
            Some(Ok((key, value))) => (Some(key.to_owned()), Some(value.to_owned())),
            Some(Err(key)) => (Some(key.to_owned()), None),
            None => (None, None),
        };
        let given = [
            ("QUERY", "query", self.query),
            ("--name", "name", self.name),
            ("--category", "category", self.category),
            ("--id", "concept_id", self.id),
            ("--relation", "relationship_type", self.relation),
            ("--property", "property", property),
            ("--property", "value", value),
            ("--limit", "limit", Some(self.limit.to_string())),
        ];
        let answer = Client::of_memory(global, false)?.ask(&["v1", "memory", "concepts"], &given)?;
        let results = answer["results"].as_array().cloned().unwrap_or_default();
        out.results(&results, || shown(&results, out))?;
        Ok(Exit::Ok)
    }
}

fn shown(results: &[Value], out: &Out) -> String {
    let mut table = Table::new(&["id", "name", "category", "confidence", "relations", "definition"]);
    for line in results {
        let text = |name: &str| Cell::text(line[name].as_str().filter(|text| !text.is_empty()).unwrap_or("-"));
        let confidence = line["confidence"].as_f64().map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"));
        let relations = line["relations"].as_array().into_iter().flatten().map(|relation| {
            let arrow = if relation["incoming"] == true { "← " } else { "" };
            format!("{arrow}{} {}", relation["type"].as_str().unwrap_or("-"), relation["name"].as_str().unwrap_or("-"))
        });
        let relations = relations.collect::<Vec<_>>().join("; ");
        table.row(vec![
            text("id"),
            text("name").cut(32),
            text("category").cut(20),
            Cell::text(confidence),
            Cell::text(if relations.is_empty() { "-".into() } else { relations }).cut(40),
            text("definition").cut(60),
        ]);
    }
    table.show(out.paint)
}

impl AssociatedArgs {
    pub(super) fn run(self, global: &Global, out: &Out) -> Result<Exit, CliError> {
        if let Some(file) = &self.queries {
            return queries::answer(&queries::ASSOCIATIONS, &Client::of_memory(global, false)?, file, Some(self.limit));
        }
        if self.query.is_none() && self.memory.is_none() && self.concept.is_none() {
            return Err(CliError::new(
                Exit::Usage,
                "no starting point is given",
                "give words, --memory ID or --concept ID",
            ));
        }
        let given = [
            ("QUERY", "query", self.query),
            ("--memory", "memory_id", self.memory),
            ("--concept", "concept_id", self.concept),
            ("--depth", "depth", Some(self.depth.to_string())),
            ("--after", "time_after", self.after),
            ("--before", "time_before", self.before),
            ("--limit", "limit", Some(self.limit.to_string())),
        ];
        let answer = Client::of_memory(global, false)?.ask(&["v1", "memory", "associated"], &given)?;
        let lines = |name: &str| answer[name].as_array().cloned().unwrap_or_default();
        if out.json {
            lines("results").iter().try_for_each(|line| out.say(&line.to_string()))?;
            lines("concepts").iter().try_for_each(|line| out.say(&line.to_string()))?;
            return Ok(Exit::Ok);
        }
        let mut table = Table::new(&["activation", "layer", "id", "what"]);
        for (name, layer) in [("results", "episode"), ("concepts", "concept")] {
            for line in lines(name) {
                let what = line["name"].as_str().or_else(|| line["text"].as_str()).unwrap_or("-");
                let score = line["score"].as_f64().unwrap_or_default();
                table.row(vec![
                    Cell::text(format!("{score:.3}")),
                    Cell::text(layer),
                    Cell::text(line["id"].as_str().unwrap_or("-")),
                    Cell::text(what).cut(80),
                ]);
            }
        }
        let found = lines("results").len() + lines("concepts").len();
        out.say(&if found == 0 { "nothing found".to_owned() } else { table.show(out.paint) })?;
        lines("missing").iter().try_for_each(|line| out.say(&printable(line.as_str().unwrap_or_default())))?;
        Ok(Exit::Ok)
    }
}

impl IngestArgs {
    pub(super) fn run(self, global: &Global, out: &Out) -> Result<Exit, CliError> {
        let client = Client::of_memory(global, true)?;
        let mut all_read = true;
        for file in &self.files {
            let name = file.display().to_string();
            let report = match Document::read(file) {
                Ok(document) => ingest(&client, &name, &document)?,
                Err(error) => {
                    all_read = false;
                    json!({"document": name, "error": error.to_string()})
                }
            };
            if out.json {
                out.say(&report.to_string())?;
            } else {
                out.say(&told::ingested(&report))?;
            }
        }
        Ok(if all_read { Exit::Ok } else { Exit::Usage })
    }
}

/// Sends a document in parts and adds up the counts.
fn ingest(client: &Client, name: &str, document: &Document) -> Result<Value, CliError> {
    let (mut counts, mut passages) = (Map::new(), 0);
    let parts = parts(&document.text);
    for (at, text) in parts.iter().enumerate() {
        let more = at + 1 < parts.len();
        let body = json!({
            "document": name, "text": text, "markdown": document.markdown, "passages_before": passages, "more": more,
        });
        let done = client.post(&["v1", "memory", "ingest"], &body)?.body;
        passages += done["passages"].as_u64().unwrap_or_default();
        for count in ["passages", "created", "reinforced", "known", "changed", "dropped"] {
            let sum = counts.get(count).and_then(Value::as_u64).unwrap_or_default();
            counts.insert(count.into(), (sum + done[count].as_u64().unwrap_or_default()).into());
        }
    }
    counts.insert("document".into(), name.into());
    Ok(Value::Object(counts))
}

impl PinArgs {
    pub(super) fn run(self, global: &Global, out: &Out) -> Result<Exit, CliError> {
        let body = json!({"id": self.id, "pinned": !self.off});
        let done = Client::of_memory(global, false)?.post(&["v1", "memory", "pin"], &body)?.body;
        out.answer(&done, || tree(&done, 0))?;
        Ok(Exit::Ok)
    }
}

impl ForgetArgs {
    pub(super) fn run(self, global: &Global, out: &Out) -> Result<Exit, CliError> {
        let done = Client::of_memory(global, false)?.post(&["v1", "memory", "forget"], &json!({"id": self.id}))?.body;
        let held = still_held(global)?;
        out.answer(&done, || format!("{}{held}", tree(&done, 0)))?;
        Ok(Exit::Ok)
    }
}

/// Names where forgotten data remains until it is removed by age. Recordings and backups are not edited: a changed
/// recording would replay differently, and a backup stays as it was made.
fn still_held(global: &Global) -> Result<String, CliError> {
    let folder = global.data_folder()?;
    if !folder.holds_recordings() && StateStore::backups_in(&folder.store()).is_empty() {
        return Ok(String::new());
    }
    let settings = global.load(Vec::new())?.settings;
    Ok(format!(
        "older recordings and backups still contain it. Recordings are removed after {} (recorder.max_age), a backup \
        after {} newer backups (store.backup_keep). To remove it at once, delete them from {} and {}",
        settings.recorder.max_age,
        settings.store.backup_keep,
        folder.recordings().display(),
        folder.store().join("backups").display()
    ))
}

/// `maxim memory promote`.
pub(super) fn promote(global: &Global, out: &Out) -> Result<Exit, CliError> {
    let done = Client::of_memory(global, false)?.post(&["v1", "memory", "promote"], &json!({}))?.body;
    out.answer(&done, || tree(&done, 0))?;
    Ok(Exit::Ok)
}

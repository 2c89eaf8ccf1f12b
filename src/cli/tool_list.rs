//! `maxim tools list` and `maxim tools refresh`: what the agent can do, and what its servers offer.

use maxim_actors::action::tools::contained::SandboxPolicy;
use maxim_actors::action::tools::params::{describe, nearest};
use maxim_actors::effectors::tool_servers::{self, Change, ListFolder, ToolServers};
use maxim_bus::latch::StopLatch;
use serde_json::{Value, json};

use super::table::{Cell, Table, Tone, printable};
use super::{CliError, Exit, Global, Out, Paint};
use crate::agent::containment::Containment;
use crate::config::Settings;
use crate::data_folder::{DaemonNote, DataFolder};

/// What the running daemon's agent can do.
pub(super) fn list(global: &Global, out: &Out) -> Result<Exit, CliError> {
    let answer = global.client()?.get(&["v1", "tools"], &[])?.body;
    out.answer(&answer, || shown(&answer, out))?;
    Ok(Exit::Ok)
}

fn shown(answer: &Value, out: &Out) -> String {
    let mut table = Table::new(&["tool", "effect", "mode", "from", "state"]);
    for tool in answer["tools"].as_array().into_iter().flatten() {
        let word = |name: &str| tool[name].as_str().unwrap_or("?");
        let state = match (tool["available"].as_bool(), tool["reason"].as_str()) {
            (Some(false), why) => Cell::text(printable(why.unwrap_or("unavailable"))).cut(70).toned(Tone::Poor),
            _ => Cell::text("ready").toned(Tone::Good),
        };
        let effect = if tool["introspection"] == true { "question" } else { word("effect") };
        let cells = [word("name"), effect, word("required_mode"), word("from")];
        table.row(cells.iter().map(Cell::text).chain([state]).collect());
    }
    let left_out = answer["left_out"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let left_out: String = left_out.map(|why| format!("\nleft out: {}\n", printable(why))).collect();
    format!("{}{left_out}{}", table.show(out.paint), servers(&answer["servers"], out.paint))
}

/// One tool, from its own description.
pub(super) fn show(global: &Global, out: &Out, name: &str) -> Result<Exit, CliError> {
    let answer = global.client()?.get(&["v1", "tools"], &[])?.body;
    let tools = answer["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    let Some(tool) = tools.iter().find(|tool| tool["name"] == name) else {
        let near = nearest(name, tools.iter().filter_map(|tool| tool["name"].as_str()), 1);
        let fix =
            near.first().map_or_else(|| "see `maxim tools list`".to_owned(), |near| format!("did you mean {near}?"));
        return Err(CliError::new(Exit::Usage, format!("there is no tool {name:?}"), fix));
    };
    out.answer(tool, || page(tool))?;
    Ok(Exit::Ok)
}

fn page(tool: &Value) -> String {
    let word = |name: &str| tool[name].as_str().unwrap_or("-");
    let mut page = format!("{}: {}\n", printable(word("name")), printable(word("description")));
    let facts = [("effect", "effect"), ("mode", "required_mode"), ("result", "follow_up"), ("from", "from")];
    let facts: Vec<String> = facts.iter().map(|(shown, name)| format!("{shown} {}", word(name))).collect();
    page += &format!("  {}\n", facts.join(", "));
    page += &tool["reason"].as_str().map_or_else(String::new, |why| format!("  not available: {}\n", printable(why)));
    let required = tool["parameters"]["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    for (name, schema) in tool["parameters"]["properties"].as_object().into_iter().flatten() {
        let others = tool["aliases"].as_object().into_iter().flatten().filter(|(_, meant)| *meant == name);
        let others: Vec<&str> = others.map(|(alias, _)| alias.as_str()).collect();
        let also = if others.is_empty() { String::new() } else { format!("; also {}", others.join(", ")) };
        let default = schema.get("default").map_or_else(String::new, |default| format!("; default {default}"));
        let must = if required.iter().any(|one| one == name) { "; required" } else { "" };
        page += &format!("  {name}: {}{must}{default}{also}\n", printable(&describe(schema)));
    }
    if !tool["example"].is_null() {
        page += &format!("example: {}\n", tool["example"]);
    }
    let said = tool["said"].as_array().into_iter().flatten().filter_map(Value::as_str);
    said.fold(page, |page, said| page + &format!("said as: {}\n", printable(said)))
}

/// The tool servers, with a note for each.
pub(super) fn servers(servers: &Value, paint: Paint) -> String {
    let mut table = Table::new(&["tool server", "state", "tools", "restarts", "note"]);
    let all = servers.as_array().map(Vec::as_slice).unwrap_or_default();
    if all.is_empty() {
        return String::new();
    }
    for server in all {
        let state = server["state"].as_str().unwrap_or("?");
        let tone = match state {
            "up" => Tone::Good,
            "off" => Tone::Faint,
            _ => Tone::Poor,
        };
        let number = |name: &str| Cell::number(server[name].as_u64().unwrap_or(0));
        let name = Cell::text(server["name"].as_str().unwrap_or("?"));
        let note = Cell::text(printable(&note(server))).cut(100);
        table.row(vec![name, Cell::text(state).toned(tone), number("tools"), number("restarts"), note]);
    }
    format!("\n{}", table.show(paint))
}

/// Why it isn't up, how many changes wait for the next start, and how many tools are left out.
pub(super) fn note(server: &Value) -> String {
    let mut notes: Vec<String> = server["why"].as_str().map(str::to_owned).into_iter().collect();
    let count = |name: &str| server[name].as_array().map_or(0, Vec::len);
    if count("pending") > 0 {
        notes.push(format!("{} changes wait for the next start", count("pending")));
    }
    if let Some(first) = server["left_out"].get(0) {
        let word = |name: &str| first[name].as_str().unwrap_or("?");
        notes.push(format!("{} left out, such as {}: {}", count("left_out"), word("tool"), word("why")));
    }
    notes.join("; ")
}

/// Where the daemon of this folder listens: the one that runs, and one that would start now.
fn ports(settings: &Settings, folder: &DataFolder) -> Vec<u16> {
    let note = DaemonNote::read(folder).ok().flatten();
    let running = note.and_then(|note| note.url.rsplit(':').next()?.trim_end_matches('/').parse().ok());
    running.into_iter().chain([settings.http.listen.port()]).collect()
}

/// Asks the configured servers what they offer and remembers it for the next start. Works without a daemon.
pub(super) fn refresh(global: &Global, out: &Out, only: Option<&str>) -> Result<Exit, CliError> {
    let settings = global.load(Vec::new())?.settings;
    if let Some(unknown) = only.filter(|only| !settings.mcp.contains_key(*only)) {
        let known: Vec<&str> = settings.mcp.keys().map(String::as_str).collect();
        let found = format!("there is no tool server {unknown:?}; there are: {}", known.join(", "));
        return Err(CliError::new(Exit::Usage, found, format!("give it a section [mcp.{unknown}]")));
    }
    let plans = tool_servers::plans(&settings.mcp)
        .map_err(|fault| CliError::Failed { exit: Exit::BadConfig, faults: vec![fault] })?;
    let folder = ListFolder::new(global.data_folder()?.tool_lists());
    let remembered = folder.load(settings.mcp.keys().map(String::as_str));
    let servers = ToolServers::new(plans, &remembered, folder);
    let containment = Containment::find(&settings.tools)
        .map_err(|fault| CliError::Failed { exit: Exit::BadConfig, faults: vec![fault] })?;
    let folder = global.data_folder()?;
    let workdir = std::env::current_dir().unwrap_or_default();
    let sandbox = SandboxPolicy {
        namespaces: containment.namespaces(),
        own: global.places().own_files(folder.path(), settings.http.token_file.as_deref(), &workdir),
        expose_own_data: settings.tools.expose_own_data,
        own_ports: containment.own_ports(ports(&settings, &folder), &settings.tools),
        ..SandboxPolicy::default()
    };
    // A person asks, and nothing is acted on: the daemon's stop doesn't apply.
    let asked = servers.refresh(only, &StopLatch::in_memory(), &sandbox);
    let is_well = asked.iter().all(|(_, found)| found.is_ok());
    let document: Vec<Value> = asked
        .iter()
        .map(|(server, found)| match found {
            Ok(changes) => json!({"server": server, "ok": true, "changes": changes}),
            Err(failure) => json!({"server": server, "ok": false, "error": failure.message}),
        })
        .collect();
    out.answer(&json!(document), || {
        let told = asked.iter().map(|(server, found)| match found {
            Ok(changes) if changes.is_empty() => format!("{server}: nothing has changed"),
            Ok(changes) => format!("{server}: {} for the next start of the daemon\n{}", changes.len(), lines(changes)),
            Err(failure) => format!("{server}: {}", printable(&failure.message)),
        });
        match asked.is_empty() {
            true => "no tool server is configured; give one a section [mcp.NAME]".to_owned(),
            false => told.collect::<Vec<_>>().join("\n"),
        }
    })?;
    Ok(if is_well { Exit::Ok } else { Exit::NotHeld })
}

fn lines(changes: &[Change]) -> String {
    let line = |change: &Change| match change {
        Change::New(tool) => format!("  new      {}", printable(tool)),
        Change::Changed(tool) => format!("  changed  {}", printable(tool)),
        Change::Gone(tool) => format!("  gone     {}", printable(tool)),
    };
    changes.iter().map(line).collect::<Vec<_>>().join("\n")
}

//! `maxim doctor`: faults, each with its fix. Works without a daemon.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use clap::Args;
use maxim_actors::action::tools::user::register;
use maxim_actors::action::tools::{OwnFiles, core_registry};
use maxim_actors::effectors::text_encoder::StaticModel;
use maxim_actors::language::Tokenizer;
use serde::Serialize;
use serde_json::{Value, json};

use super::own_token::ANEW;
use super::table::{Cell, Table, Tone};
use super::{CliError, Exit, Global, Out, tool_list};
use crate::agent::containment::Containment;
use crate::config::{Explanation, Fault, Loaded, Settings, Shape, find, secret};
use crate::daemon::written_folder;
use crate::data_folder::TokenKind;
use crate::http::check_listen;
use crate::machine_clock;
use crate::stopping::hold_in_words;
use crate::token;

/// Look for faults, and say how to fix them.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  maxim doctor")]
pub struct DoctorArgs {}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Health {
    Ok,
    /// Works, but the user should know.
    Note,
    Fault,
}

/// One check and its result.
#[derive(Debug, Serialize)]
struct Finding {
    name: String,
    health: Health,
    found: String,
    /// Empty when all is well.
    fix: String,
}

impl Finding {
    fn new(name: &str, health: Health, found: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { name: name.into(), health, found: found.into(), fix: fix.into() }
    }

    fn ok(name: &str, found: impl Into<String>) -> Self {
        Self::new(name, Health::Ok, found, "")
    }

    fn of_error(name: &str, health: Health, error: &CliError) -> Vec<Self> {
        match error {
            CliError::Failed { faults, .. } => {
                faults.iter().map(|fault| Self::new(name, health, &fault.found, &fault.fix)).collect()
            }
            CliError::Unread => Vec::new(),
        }
    }
}

impl DoctorArgs {
    pub(super) fn run(self, global: &Global, out: &Out) -> Result<Exit, CliError> {
        let mut findings = Vec::new();
        if let Some(found) = machine_clock::fault(std::time::SystemTime::now()) {
            // With such a clock no other check makes sense.
            findings.push(Finding::new("clock", Health::Fault, found, machine_clock::FIX));
            return told(&findings, out);
        }
        match global.load(Vec::new()) {
            Ok(loaded) => {
                findings.push(Finding::ok("configuration", "valid"));
                findings.extend(secrets(&loaded));
                let (of_daemon, asks_for) = daemon(global);
                findings.extend(door(global, &loaded.settings, asks_for));
                findings.push(model(&loaded.settings));
                findings.extend(tokenizer(&loaded.settings));
                findings.extend(encoder(&loaded.settings));
                findings.extend(tools_of_yours(&loaded.settings));
                findings.extend(voice(&loaded.settings));
                findings.extend(sandbox(&loaded.settings, own_files(global, &loaded.settings)));
                findings.push(data(global));
                findings.extend(of_daemon);
            }
            Err(error) => {
                findings.extend(Finding::of_error("configuration", Health::Fault, &error));
                findings.extend(sandbox(&Settings::default(), None));
            }
        }
        told(&findings, out)
    }
}

fn told(findings: &[Finding], out: &Out) -> Result<Exit, CliError> {
    let is_well = findings.iter().all(|finding| finding.health != Health::Fault);
    out.answer(&json!({"ok": is_well, "findings": findings}), || shown(findings, out))?;
    Ok(if is_well { Exit::Ok } else { Exit::NotHeld })
}

fn shown(findings: &[Finding], out: &Out) -> String {
    let mut table = Table::bare();
    for finding in findings {
        let (mark, tone) = match finding.health {
            Health::Ok => ("ok", Tone::Good),
            Health::Note => ("note", Tone::Poor),
            Health::Fault => ("FAULT", Tone::Bad),
        };
        let fix = if finding.fix.is_empty() { String::new() } else { format!("; {}", finding.fix) };
        table.row(vec![
            Cell::text(mark).toned(tone),
            Cell::text(&finding.name),
            Cell::text(format!("{}{fix}", finding.found)),
        ]);
    }
    table.show(out.paint)
}

/// Which callers the HTTP door lets in. The answer of a running daemon counts, not the configuration of this command.
fn door(global: &Global, settings: &Settings, running: Option<TokenKind>) -> Option<Finding> {
    const NAME: &str = "http door";
    match running {
        // The daemon's own status reports this.
        Some(TokenKind::Nothing) => None,
        Some(TokenKind::Configured) => Some(Finding::ok(NAME, "the daemon asks for the token of its configuration")),
        Some(TokenKind::Own) => Some(own_door(global, true)),
        None => Some(configured_door(global, settings)),
    }
}

/// What a start with this configuration would do.
fn configured_door(global: &Global, settings: &Settings) -> Finding {
    const NAME: &str = "http door";
    let http = &settings.http;
    let token = match http.bearer() {
        Ok(token) => token,
        Err(fault) => return Finding::new(NAME, Health::Fault, fault.found, fault.fix),
    };
    if let Err(error) = check_listen(http.listen, token.as_ref(), http.open) {
        let text = error.to_string();
        let (found, fix) = text.split_once("; ").unwrap_or((&text, ""));
        return Finding::new(NAME, Health::Fault, found, fix);
    }
    if http.open {
        let found = "OPEN: every program and every account of this machine can command the agent without a token";
        return Finding::new(NAME, Health::Note, found, "remove http.open");
    }
    if token.is_some() {
        return Finding::ok(NAME, "asks for the token of the configuration");
    }
    own_door(global, false)
}

/// A door that asks for the token of the data folder.
fn own_door(global: &Global, is_running: bool) -> Finding {
    const NAME: &str = "http door";
    let Ok(folder) = global.data_folder() else { return Finding::ok(NAME, "asks for a token") };
    let path = folder.token();
    let shown = path.display();
    let fix = if is_running { ANEW } else { "the next start makes a new one" };
    match fs::metadata(&path).map(|about| about.permissions().mode() & 0o077) {
        Ok(0) => match token::of_command(&folder) {
            Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
                Finding::new(NAME, Health::Fault, format!("the token in {shown} is unusable: {error}"), fix)
            }
            _ => Finding::ok(NAME, format!("asks for the token in {shown}")),
        },
        Ok(_) => Finding::new(NAME, Health::Fault, format!("the token in {shown} may be read by others"), fix),
        Err(_) if is_running => Finding::new(NAME, Health::Fault, format!("the token isn't in {shown} any more"), fix),
        Err(_) => Finding::ok(NAME, "asks for a token, which the daemon makes at its first start"),
    }
}

/// Each key that names a secret's file, wherever it is declared.
fn secrets(loaded: &Loaded) -> Vec<Finding> {
    const TOKEN_FILE: &str = "http.token_file";
    let told = |key: &str, fault: Fault| Finding::new(key, Health::Fault, fault.found, fault.fix);
    let door = loaded.settings.http.bearer().err().map(|fault| told(TOKEN_FILE, fault));
    let files = loaded.explain_all().into_iter().filter_map(|Explanation { key, value, .. }| {
        let is_secret = matches!(find(key.strip_suffix("_file")?)?.shape, Shape::Secret);
        let file = Path::new(value.as_str().filter(|_| is_secret)?);
        Some(match secret::resolve(&key, None, Some(file)) {
            Err(_) if key == TOKEN_FILE && door.is_some() => return None,
            Err(fault) => told(&key, fault),
            // Any account that can read this file can command the agent.
            Ok(_) => privacy(&key, file, if key == TOKEN_FILE { Health::Fault } else { Health::Note }),
        })
    });
    let files: Vec<Finding> = files.collect();
    door.into_iter().chain(files).collect()
}

fn privacy(key: &str, file: &Path, if_open: Health) -> Finding {
    let shown = file.display();
    match fs::metadata(file).map(|meta| meta.permissions().mode() & 0o077) {
        Ok(0) => Finding::ok(key, format!("{shown} is private")),
        Ok(_) => Finding::new(key, if_open, format!("others may read {shown}"), format!("chmod 600 {shown}")),
        Err(error) => Finding::new(key, Health::Fault, format!("{shown}: {error}"), "make it readable for this user"),
    }
}

fn model(settings: &Settings) -> Finding {
    match &settings.effectors.llm.base_url {
        Some(url) => {
            Finding::ok("model", format!("{} at {url}", settings.effectors.llm.model.as_deref().unwrap_or("?")))
        }
        None => Finding::new(
            "model",
            Health::Note,
            "none is configured: the agent acts by habit",
            "set llm.base_url for one",
        ),
    }
}

/// How prompt tokens are counted, if a model is configured.
fn tokenizer(settings: &Settings) -> Option<Finding> {
    let fix = "name another file in llm.tokenizer_file, or leave it out";
    match &settings.effectors.llm.tokenizer_file {
        Some(file) => Some(match Tokenizer::open(file) {
            Ok(tokenizer) => Finding::ok("tokenizer", tokenizer.name()),
            Err(error) => Finding::new("tokenizer", Health::Fault, error.to_string(), fix),
        }),
        None => settings.effectors.llm.base_url.as_ref().map(|_| {
            let fix = "name the model's tokenizer.json in llm.tokenizer_file to have them counted";
            Finding::new(
                "tokenizer",
                Health::Note,
                "tokens of prompts are estimated and scaled by the server's counts",
                fix,
            )
        }),
    }
}

/// The configured second encoder, as far as it can be checked without a daemon.
fn encoder(settings: &Settings) -> Option<Finding> {
    let encoder = &settings.effectors.encoder;
    if let Some(folder) = &encoder.folder {
        let fix = "name another folder in encoder.folder, or leave it out: the embedded encoder answers";
        return Some(match StaticModel::open(folder) {
            Ok(model) => Finding::ok("encoder", model.id().to_owned()),
            Err(error) => Finding::new("encoder", Health::Fault, error.to_string(), fix),
        });
    }
    let url = encoder.base_url.as_ref()?;
    Some(Finding::ok("encoder", format!("{} at {url}", encoder.model.as_deref().unwrap_or("?"))))
}

/// The encoder's state, as the daemon reports it.
fn encoder_inside(encoder: &Value) -> Option<Finding> {
    let state = encoder["state"].as_str()?;
    let far = format!("{state}, {} of {} encoded", encoder["encoded"], encoder["of"]);
    Some(match encoder["problem"].as_str() {
        None => Finding::ok("encoder.daemon", far),
        Some(problem) => {
            let fix = "start or correct it; it is retried automatically, and the embedded encoder answers meanwhile";
            Finding::new("encoder.daemon", Health::Fault, format!("{far}: {problem}"), fix)
        }
    })
}

/// The manifests of the person's own tools, as a start would read them.
fn tools_of_yours(settings: &Settings) -> Vec<Finding> {
    let Some(folder) = &settings.tools.folder else { return Vec::new() };
    let workdir = settings.agent.workdir.clone().or_else(|| std::env::current_dir().ok()).unwrap_or_default();
    let mut registry = match core_registry() {
        Ok(registry) => registry,
        Err(error) => return vec![Finding::new("tools.folder", Health::Fault, error.to_string(), "report it")],
    };
    let before = registry.len();
    let faults = register(&mut registry, folder, &workdir);
    let mut findings: Vec<Finding> = faults
        .iter()
        .map(|fault| {
            Finding::new("tools.folder", Health::Fault, fault.to_string(), "correct the manifest or move it away")
        })
        .collect();
    findings.push(Finding::ok("tools.folder", format!("{} tools of yours", registry.len() - before)));
    findings
}

/// The voice to speak with, where one is configured.
fn voice(settings: &Settings) -> Option<Finding> {
    let voice = settings.tools.piper_voice.as_ref()?;
    let shown = voice.display();
    Some(match (voice.is_file(), voice.with_added_extension("json").is_file()) {
        (true, true) => Finding::ok("tools.piper_voice", shown.to_string()),
        (true, false) => {
            let found = format!("{shown} exists, but {shown}.json, which describes it, doesn't");
            Finding::new("tools.piper_voice", Health::Fault, found, "put both files of the voice into one folder")
        }
        (false, _) => {
            let fix = "name the .onnx file of a voice, or remove the key";
            Finding::new("tools.piper_voice", Health::Fault, format!("{shown} isn't there"), fix)
        }
    })
}

fn data(global: &Global) -> Finding {
    let folder = match global.data_folder() {
        Ok(folder) => folder,
        Err(error) => return Finding::new("data folder", Health::Fault, error.to_string(), "name it with --data DIR"),
    };
    let shown = folder.path().display();
    match tempfile_in(folder.path()) {
        Ok(()) => match fs::metadata(folder.path()).map(|meta| meta.permissions().mode() & 0o077) {
            Ok(0) | Err(_) => Finding::ok("data folder", shown.to_string()),
            Ok(_) => {
                let found = format!("{shown} holds the agent's memory, and other accounts can look into it");
                Finding::new("data folder", Health::Note, found, format!("chmod -R go= {shown}"))
            }
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Finding::new("data folder", Health::Note, format!("{shown} isn't there yet"), "`maxim run` makes it")
        }
        Err(error) => Finding::new(
            "data folder",
            Health::Fault,
            format!("{shown} can't be written: {error}"),
            "make room on the disk, or run as the user who owns it",
        ),
    }
}

/// Writes and removes a small file: permissions alone don't show a full or read-only disk.
fn tempfile_in(folder: &Path) -> std::io::Result<()> {
    let file = folder.join(format!(".doctor-{}", std::process::id()));
    fs::write(&file, b"maxim doctor\n")?;
    fs::remove_file(file)
}

/// Findings about the daemon, and which token it asks for, if one answers.
fn daemon(global: &Global) -> (Vec<Finding>, Option<TokenKind>) {
    let mut asks_for = None;
    let findings = match global.client() {
        Ok(client) => match client.get(&["v1", "status"], &[]) {
            Ok(answer) => {
                let mut findings = vec![Finding::ok(
                    "daemon",
                    format!("answers{}", client.base().map_or_else(String::new, |base| format!(" at {base}"))),
                )];
                findings.extend(inside(&answer.body));
                asks_for = serde_json::from_value(answer.body["asks_for"].clone()).ok();
                findings
            }
            Err(error) => Finding::of_error("daemon", Health::Fault, &error),
        },
        // A daemon that isn't running is no fault. A note that leads nowhere (above) is one.
        Err(error) => Finding::of_error("daemon", Health::Note, &error),
    };
    (findings, asks_for)
}

/// Findings from the daemon's own status.
fn inside(status: &Value) -> Vec<Finding> {
    let mut findings = Vec::new();
    if status["asks_for"] == "nothing" {
        let found = "the daemon's door is OPEN: every program and every account of this machine can command the agent";
        findings.push(Finding::new("http door", Health::Note, found, "remove http.open and restart the daemon"));
    }
    if status["stop"]["latched"].as_bool() == Some(true) {
        let reason = status["stop"]["reason"].as_str().unwrap_or("?");
        findings.push(Finding::new(
            "stop latch",
            Health::Note,
            format!("stopped: {reason}"),
            "clear it with `maxim reset`",
        ));
    } else if status["stop"]["motion"] == "motion_held" {
        let fix = "resume with `maxim resume`";
        let why = status["stop"]["motion_reason"].as_str().unwrap_or("after a stop, or since a room failed too often");
        findings.push(Finding::new("motion", Health::Note, format!("held: {why}"), fix));
    }
    if let Some(hold) = hold_in_words(&status["hold"]) {
        let (found, fix) = hold.split_once("; ").unwrap_or((&hold, ""));
        findings.push(Finding::new("hold", Health::Note, found, fix));
    }
    for way in status["stop"]["dead_ways"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        let found = format!("stops by {way} no longer arrive: its thread is dead");
        findings.push(Finding::new("stop", Health::Fault, found, "restart the daemon"));
    }
    let regions = status["regions"].as_array().map(Vec::as_slice).unwrap_or_default();
    for region in regions {
        let (name, state) = (region["name"].as_str().unwrap_or("?"), region["state"].as_str().unwrap_or("?"));
        if !matches!(state, "running" | "off") {
            let fix = "see its lines in the log; `maxim status` shows its restarts";
            findings.push(Finding::new(name, Health::Fault, state, fix));
        }
    }
    let running = regions.iter().filter(|region| region["state"] == "running").count();
    findings.push(Finding::ok("regions", format!("{running} of {} run", regions.len())));
    for server in status["tool_servers"].as_array().into_iter().flatten() {
        let name = format!("mcp.{}", server["name"].as_str().unwrap_or("?"));
        let (state, note) = (server["state"].as_str().unwrap_or("?"), tool_list::note(server));
        findings.push(match (state, note.is_empty()) {
            ("up", true) => Finding::ok(&name, format!("up, {} tools", server["tools"])),
            ("up", false) => Finding::new(&name, Health::Note, note, "see `maxim tools list`"),
            _ => {
                let fix = "correct its section of the configuration; it is retried automatically";
                Finding::new(&name, Health::Fault, format!("{state}: {note}"), fix)
            }
        });
    }
    findings.extend(encoder_inside(&status["encoder"]));
    findings.extend(status["channels"].as_array().into_iter().flatten().filter_map(channel));
    if let Some(fault) = status["body"]["fault"].as_str() {
        findings.push(Finding::new("body", Health::Fault, fault, "see deploy/guide/src/body-and-senses.md"));
    }
    findings.extend(disk(&status["disk"]));
    if status["machines"].is_object() {
        findings.extend(machines(&status["machines"]));
    }
    findings
}

/// The NATS server between several machines, where one is configured.
fn machines(machines: &Value) -> Vec<Finding> {
    let server = machines["server"].as_str().unwrap_or("?");
    let mut findings = vec![match machines["connected"] == true {
        true => Finding::ok("nats", format!("{server}, fencing token {}", machines["token"])),
        false => {
            let found = format!("{server} isn't connected; the lease lasts for {} ms more", machines["lease_left_ms"]);
            Finding::new(
                "nats",
                Health::Fault,
                found,
                "repair the server: without it this machine ends when the lease ends",
            )
        }
    }];
    if let Some(why) = machines["copy_failed"].as_str() {
        let fix = "make room on the server; the journal grows until a copy is there";
        findings.push(Finding::new("copies", Health::Fault, why, fix));
    }
    findings
}

/// The daemon's disk: whether accepted writes reach it, and whether reads found damage.
fn disk(disk: &Value) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.push(match (disk["status"].as_str(), disk["reason"].as_str()) {
        (Some("ok"), _) => Finding::ok("disk", format!("{} commits", disk["commits"])),
        (status, reason) => {
            let found = format!("{}: {}", status.unwrap_or("unknown"), reason.unwrap_or("no reason is given"));
            let fix = "free or replace the disk; until then, accepted data is kept in memory only";
            Finding::new("disk", Health::Fault, found, fix)
        }
    });
    if disk["damage_seen"] == true {
        let fix = "look with `maxim memory verify`, and put a backup back with `maxim memory restore`";
        findings.push(Finding::new("store", Health::Fault, "damaged records were read", fix));
    }
    if let Some(why) = disk["backups"]["failed"].as_str() {
        let fix = "free the disk, or back up elsewhere with `maxim memory backup DIR`";
        findings.push(Finding::new("backups", Health::Fault, why, fix));
    }
    if let Some(why) = disk["compaction_failed"].as_str() {
        findings.push(Finding::new("compaction", Health::Fault, why, "free the disk; it is retried automatically"));
    }
    findings
}

/// A channel to the outside. Channels that are not set up are left out.
fn channel(channel: &Value) -> Option<Finding> {
    let word = |name: &str| channel[name].as_str().unwrap_or("?");
    let name = format!("channels.{}", word("name"));
    let fix = "correct its section of the configuration; deploy/guide/src/channels.md says what errors mean";
    match (word("state"), channel["why"].as_str()) {
        ("unconfigured", _) => None,
        ("up", None) => Some(Finding::ok(&name, format!("up, {}", word("reached_by")))),
        ("up", Some(why)) => Some(Finding::new(&name, Health::Note, why, "see `maxim outbox list`")),
        (state, why) => Some(Finding::new(&name, Health::Fault, format!("{state}: {}", why.unwrap_or("?")), fix)),
    }
}

/// The agent's own files, and the folder that a daemon's programs would write in.
fn own_files(global: &Global, settings: &Settings) -> Option<(OwnFiles, PathBuf)> {
    let workdir = settings.agent.workdir.clone().or_else(|| std::env::current_dir().ok())?;
    let data = global.places().data(settings.store.data.as_deref()).ok()?;
    let own = global.places().own_files(&data, settings.http.token_file.as_deref(), &workdir);
    Some((own, written_folder(settings.agent.mode, &workdir)))
}

/// What confines child processes on this machine. It is tried out, not read from a description.
fn sandbox(settings: &Settings, own: Option<(OwnFiles, PathBuf)>) -> Vec<Finding> {
    let containment = match Containment::find(&settings.tools) {
        Ok(containment) => containment,
        Err(fault) => return vec![Finding::new("sandbox", Health::Fault, fault.found, fault.fix)],
    };
    let of_own = own.map(|(own, folder)| containment.own_files(&own, &folder, settings.tools.expose_own_data));
    let of_own = of_own.unwrap_or_default();
    let facts = containment.lines().into_iter().chain(of_own);
    facts
        .map(|(is_well, found)| match is_well {
            true => Finding::ok("sandbox", found),
            false => Finding::new(
                "sandbox",
                Health::Note,
                found,
                "every program that a tool starts runs without this protection",
            ),
        })
        .collect()
}

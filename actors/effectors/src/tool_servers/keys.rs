//! The keys of the tool servers.
//!
//! Each server has its own section, `[mcp.NAME]`, with the keys of [`ServerKeys`]. The person chooses the name, and the
//! names of its tools begin with it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;

use maxim_bus::mode::Mode;
use maxim_config::{Fault, Field, Secret, Shape, Span, secret, section};
use maxim_tools::EffectClass;

use super::{HttpPlan, ListFolder, ProgramPlan, Reach, ServerPlan, Terms, ToolList, ToolServers};
use crate::http_client::Roots;

/// The first part of these keys.
pub const MCP: &str = "mcp";

section! {
    /// A server of tools that speaks the Model Context Protocol, by the name that you give it. Its tools are called NAME_TOOL,
    /// pass the same gate as all others, and are asked about unless you say here that they only read.
    ServerKeys = "mcp.NAME" {
        /// A program with its arguments, which runs contained and is spoken to by its standard input and output. Either this
        /// or url.
        command: Vec<String> = "", "", Shape::Texts { required: false };
        /// Names of environment variables that the program gets; it gets no others.
        env: Vec<String> = "", "", Shape::Texts { required: false };
        /// Folders and files that the program may read, beside programs and libraries.
        read: Vec<String> = "", "", Shape::Texts { required: false };
        /// Folders that the program may read and write.
        write: Vec<String> = "", "", Shape::Texts { required: false };
        /// Whether the program may use the network.
        network: bool = "false", "", Shape::Flag;
        /// The address of a server that is reached by streamable HTTP. Either this or command.
        url: Option<String> = "", "", Shape::Url;
        /// The bearer token for the address; only from the environment.
        token: Option<Secret> = "", "", Shape::Secret;
        /// A file that holds the token alone; the token itself wins when both are set.
        token_file: Option<PathBuf> = "", "", Shape::Path;
        /// Certificates (PEM) of the authorities that an `https` address is checked against; not set is those of this machine.
        ca_file: Option<PathBuf> = "", "", Shape::Path;
        /// What its tools leave behind where the lists below say nothing. What the server says of its tools can only make
        /// this stricter.
        effect: EffectClass = "irreversible", "", Shape::Choice(EffectClass::WORDS);
        /// Tools that only read, by the server's own names. These are not asked about.
        read_only: Vec<String> = "", "", Shape::Texts { required: false };
        /// Tools whose effect a person can put right.
        reversible: Vec<String> = "", "", Shape::Texts { required: false };
        /// Tools whose effect can't be taken back.
        irreversible: Vec<String> = "", "", Shape::Texts { required: false };
        /// The lowest mode in which its tools may be called.
        required_mode: Mode = "active", "", Shape::Choice(Mode::WORDS);
        /// Tools that may be called in passive mode as well.
        passive: Vec<String> = "", "", Shape::Texts { required: false };
        /// Tools that may be called in singularity mode alone.
        singularity: Vec<String> = "", "", Shape::Texts { required: false };
        /// Tools that are left out.
        disabled: Vec<String> = "", "", Shape::Texts { required: false };
        /// How long one call may take, within tools.deadline; then it is cancelled.
        deadline: Span = "1min", "time", Shape::Span { low: "1s", high: "1day" };
    }
}

/// Tool names begin with the server's name, so it follows the same rule, and is short.
const LONGEST_NAME: usize = 24;

/// Whether a server may have this name.
pub fn is_server_name(name: &str) -> bool {
    let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.len() <= LONGEST_NAME
        && name.chars().all(good)
        && !name.contains("__")
        && !name.ends_with('_')
}

/// The fields of one server.
pub fn fields_of(server: &str) -> impl Iterator<Item = Field> {
    let section = format!("{MCP}.{server}");
    ServerKeys::SECTION.fields.iter().map(move |field| Field { section: Cow::Owned(section.clone()), ..field.clone() })
}

/// The field of a key such as `mcp.files.command`.
pub fn find(key: &str) -> Option<Field> {
    let (server, name) = key.strip_prefix("mcp.")?.split_once('.')?;
    if server != "NAME" && !is_server_name(server) {
        return None;
    }
    fields_of(server).find(|field| field.name == name)
}

/// Faults that only show when several keys of a server are compared.
pub fn contradictions(servers: &BTreeMap<String, ServerKeys>) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (name, server) in servers {
        let mut fault = |key: &str, found: String, fix: &str| {
            faults.push(Fault::new(format!("{MCP}.{name}.{key}"), found, fix));
        };
        match (server.command.is_empty(), &server.url) {
            (true, None) => fault("command", format!("mcp.{name} has neither a command nor a url"), "set one of them"),
            (false, Some(_)) => fault("url", format!("mcp.{name} has a command and a url"), "leave one of them out"),
            _ => {}
        }
        if server.url.is_none() && (server.token.is_some() || server.token_file.is_some() || server.ca_file.is_some()) {
            fault(
                "token",
                format!("mcp.{name} has a token or a ca_file, but no url"),
                "set the url, or leave them out",
            );
        }
        let for_programs = !(server.env.is_empty() && server.read.is_empty() && server.write.is_empty());
        if server.url.is_some() && (for_programs || server.network) {
            let found = format!("mcp.{name} has a url, so that env, read, write and network mean nothing");
            fault("url", found, "leave them out");
        }
        for place in server.read.iter().chain(&server.write).filter(|place| !place.starts_with('/')) {
            fault("read", format!("mcp.{name} names the folder {place:?}, which is no full path"), "give it from / on");
        }
    }
    faults
}

/// The plans of all configured servers.
///
/// # Errors
/// A secret or a certificate can't be read.
pub fn plans(servers: &BTreeMap<String, ServerKeys>) -> Result<Vec<ServerPlan>, Fault> {
    servers.iter().map(|(name, server)| plan(name, server)).collect()
}

/// The servers of a recorded life, with the tools they offered then. They can't be called.
pub fn recorded(servers: &BTreeMap<String, ServerKeys>, lists: &[ToolList]) -> ToolServers {
    let plans = servers.iter().map(|(name, server)| ServerPlan {
        name: name.clone(),
        reach: Reach::Program(ProgramPlan::default()),
        terms: terms(server),
        deadline: server.deadline.get(),
    });
    ToolServers::new(plans.collect(), lists, ListFolder::default())
}

/// The plan of one server, with what it needs from this machine.
///
/// # Errors
/// As [`plans`].
fn plan(name: &str, server: &ServerKeys) -> Result<ServerPlan, Fault> {
    let reach = match &server.url {
        Some(url) => Reach::Http(HttpPlan {
            url: url.clone(),
            token: token(name, server)?,
            roots: Roots::of(url, server.ca_file.as_deref()).map_err(|error| {
                let fix = "name a file with the authority's certificate in PEM form";
                Fault::new(format!("mcp.{name}.ca_file"), error.to_string(), fix)
            })?,
        }),
        None => Reach::Program(ProgramPlan {
            command: server.command.clone(),
            // A variable that isn't set here isn't set for the program either.
            environment: server.env.iter().filter_map(|name| Some((name.clone(), std::env::var(name).ok()?))).collect(),
            readable: server.read.iter().map(PathBuf::from).collect(),
            writable: server.write.iter().map(PathBuf::from).collect(),
            network: server.network,
        }),
    };
    Ok(ServerPlan { name: name.to_owned(), reach, terms: terms(server), deadline: server.deadline.get() })
}

/// How its tools are treated. If two lists name a tool, the stricter one applies.
fn terms(server: &ServerKeys) -> Terms {
    let mut effects = BTreeMap::new();
    for (list, effect) in [
        (&server.read_only, EffectClass::ReadOnly),
        (&server.reversible, EffectClass::Reversible),
        (&server.irreversible, EffectClass::Irreversible),
    ] {
        effects.extend(list.iter().map(|tool| (tool.clone(), effect)));
    }
    let mut modes = BTreeMap::new();
    for (list, mode) in [(&server.passive, Mode::Passive), (&server.singularity, Mode::Singularity)] {
        modes.extend(list.iter().map(|tool| (tool.clone(), mode)));
    }
    Terms {
        effect: Some(server.effect),
        effects,
        required_mode: Some(server.required_mode),
        modes,
        disabled: server.disabled.iter().cloned().collect(),
    }
}

/// The bearer token, from its key or else from its file.
fn token(name: &str, server: &ServerKeys) -> Result<Option<String>, Fault> {
    let key = format!("{MCP}.{name}.token_file");
    let token = secret::resolve(&key, server.token.as_ref(), server.token_file.as_deref())?;
    Ok(token.map(|token| token.expose().to_owned()))
}

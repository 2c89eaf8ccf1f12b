//! Tool servers: programs and addresses that speak the Model Context Protocol.
//!
//! Each has a section of its own, `[mcp.NAME]`, with the keys of [`ToolServer`]. The name is the person's choice and
//! begins the names of its tools.

use std::borrow::Cow;
use std::path::PathBuf;

use super::{Fault, Field, Mode, Secret, Section, Settings, Shape, Span, secret};
use maxim_config::{choice, section};

/// The first part of these keys.
pub const MCP: &str = "mcp";

choice! {
    /// What a tool leaves behind.
    Effect {
        /// Nothing.
        ReadOnly = "read_only",
        /// Something that a person can put right.
        Reversible = "reversible",
        /// Something that can't be taken back.
        Irreversible = "irreversible",
    }
}

section! {
    /// A server of tools that speaks the Model Context Protocol, by the name that you give it. Its tools are called NAME_TOOL,
    /// pass the same gate as all others, and are asked about unless you say here that they only read.
    ToolServer = "mcp.NAME" {
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
        effect: Effect = "irreversible", "", Shape::Choice(Effect::WORDS);
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

/// The keys of every tool server.
pub const TOOL_SERVER: Section = ToolServer::SECTION;

/// Names begin the names of tools, so they follow the same rule, and are short.
const LONGEST_NAME: usize = 24;

/// Whether a server may be called so.
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
    TOOL_SERVER.fields.iter().map(move |field| Field { section: Cow::Owned(section.clone()), ..field.clone() })
}

/// The field of a key such as `mcp.files.command`.
pub(super) fn find(key: &str) -> Option<Field> {
    let (server, name) = key.strip_prefix("mcp.")?.split_once('.')?;
    if server != "NAME" && !is_server_name(server) {
        return None;
    }
    fields_of(server).find(|field| field.name == name)
}

impl ToolServer {
    /// The bearer token, read from its file if need be.
    ///
    /// # Errors
    /// The file can't be read or doesn't hold one line.
    pub fn bearer(&self, name: &str) -> Result<Option<Secret>, Fault> {
        secret::resolve(&format!("{MCP}.{name}.token_file"), self.token.as_ref(), self.token_file.as_deref())
    }
}

/// What no single value of a server shows.
pub(super) fn contradictions(settings: &Settings) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (name, server) in &settings.mcp {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::fixtures::loaded;

    fn faults(toml: &str) -> String {
        loaded(toml, &[]).expect_err("refused").to_string()
    }

    #[test]
    fn a_server_has_its_own_section_with_defaults_and_layers() {
        let toml =
            "[mcp.files]\ncommand = [\"serve\", \"/srv\"]\nread = [\"/srv\"]\n[mcp.web]\nurl = \"http://h:1/mcp\"\n";
        let loaded = loaded(toml, &[("MAXIM__MCP__WEB__TOKEN", "t0p"), ("MAXIM__MCP__FILES__DEADLINE", "5s")]);
        let loaded = loaded.expect("loads");
        let servers = &loaded.settings.mcp;
        assert_eq!(servers.keys().collect::<Vec<_>>(), ["files", "web"]);
        assert_eq!(servers["files"].command, ["serve", "/srv"]);
        assert_eq!((servers["files"].effect, servers["files"].required_mode), (Effect::Irreversible, Mode::Active));
        assert_eq!(servers["web"].bearer("web").expect("no file").expect("set").expose(), "t0p");
        let deadline = &loaded.explain("mcp.files.deadline")[0];
        assert_eq!((deadline.shown.as_str(), deadline.layer.as_str()), ("\"5s\"", "MAXIM__MCP__FILES__DEADLINE"));
        assert_eq!(loaded.explain("mcp.web").len(), TOOL_SERVER.fields.len());
        assert_eq!(loaded.explain("mcp").len(), 2 * TOOL_SERVER.fields.len());
        let shown = loaded.to_toml();
        assert!(shown.contains("[mcp.files]") && shown.contains("command = [\"serve\", \"/srv\"]"), "{shown}");
        assert!(!shown.contains("t0p") && !format!("{loaded:?}").contains("t0p"));
    }

    #[test]
    fn without_servers_the_keys_are_explained_all_the_same() {
        let loaded = loaded("", &[]).expect("loads");
        assert!(loaded.settings.mcp.is_empty());
        assert_eq!(loaded.explain("mcp").len(), TOOL_SERVER.fields.len());
        assert_eq!(loaded.explain("mcp.NAME.effect")[0].default, "irreversible");
    }

    #[test]
    fn what_is_wrong_is_told_with_the_key_and_the_fix() {
        assert!(faults("[mcp.files]\nread = [\"/srv\"]").contains("neither a command nor a url"));
        assert!(faults("[mcp.f]\ncommand = [\"x\"]\nurl = \"http://h:1\"").contains("leave one of them out"));
        assert!(faults("[mcp.f]\ncommand = [\"x\"]\nread = [\"srv\"]").contains("give it from / on"));
        assert!(faults("[mcp.f]\nurl = \"http://h:1\"\nnetwork = true").contains("mean nothing"));
        assert!(faults("[mcp.f]\ncommand = [\"x\"]\neffekt = \"x\"").contains("did you mean mcp.f.effect?"));
        assert!(faults("[mcp.f]\ncommand = [\"x\"]\neffect = \"x\"").contains("is not one of read_only"));
        assert!(faults("[mcp.Big-Name]\ncommand = [\"x\"]").contains("lower-case letters"));
        assert!(faults("[mcp]\ncommand = [\"x\"]").contains("[mcp.NAME]"));
        assert!(faults("[mcp.f]\nurl = \"http://h:1\"\ntoken = \"t0p\"").contains("secret in a configuration file"));
    }
}

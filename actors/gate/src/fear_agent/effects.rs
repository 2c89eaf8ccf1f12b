//! The effects that all programs share: a path is read, written or deleted, a URL is fetched, a file is run.

use super::Mode;
use super::asks::Touch;
use super::kinds;
use super::paths::{self, Kind, Place, UNKNOWN, Zone};
use super::shell::Walker;
use super::urls::{self, Reach};
use super::verdict::rules;

/// Parameters that name the folder in which something runs.
const WORKPLACES: [&str; 3] = ["cwd", "workdir", "working_directory"];

/// Who named a path. The agent's own file tools are held to the working folder more strictly than a shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    Shell,
    FileTool,
}

impl Walker<'_> {
    pub(super) fn place(&self, raw: &str) -> Place {
        paths::place(self.setting, &self.cwd, raw)
    }

    /// Returns whether it would read a secret.
    pub(super) fn read(&mut self, raw: &str, by: By) -> bool {
        if raw.is_empty() || raw == "-" || self.network_device(raw) {
            return false;
        }
        self.notes_read(raw);
        let place = self.place(raw);
        if self.guards_reading(&place.path, place.own) {
            return true;
        }
        let is_inside = place.zone == Zone::Inside;
        match place.kind {
            Kind::Secret | Kind::MaybeSecret if is_inside => {
                self.findings.ask(rules::SECRET_READ, format!("{} may hold a credential", place.path));
                true
            }
            Kind::Secret | Kind::MaybeSecret => {
                self.findings.block(rules::SECRET_READ, format!("{} holds a credential", place.path));
                true
            }
            Kind::Device => {
                self.findings.ask(rules::DEVICE, format!("{} is a raw device", place.path));
                false
            }
            // One rule for a path, for every reader. If the mode's walls refuse it, nobody is asked.
            Kind::Startup | Kind::Accounts
                if place.path != "/etc/hosts" && (place.kind == Kind::Accounts || !is_system(&place.path)) =>
            {
                let reason = format!("{} tells about accounts or settings of this machine", place.path);
                let reach = Touch::Read { path: place.path, is_free: false };
                self.findings.ask_of_path(rules::READ_OUTSIDE, reason, reach);
                false
            }
            _ => {
                let outside = matches!(place.zone, Zone::Outside | Zone::Temporary | Zone::Unknown);
                if outside && self.setting.mode == Mode::Passive {
                    self.findings.block(rules::PASSIVE, format!("{} is outside of the passive sandbox", place.path));
                } else if outside && by == By::FileTool && place.zone != Zone::Unknown {
                    let reason = format!("{} is outside of the working folder", place.path);
                    // A working folder must be writable.
                    let is_workplace = self.findings.parameter().is_some_and(|key| WORKPLACES.contains(&key));
                    let reach = match is_workplace {
                        true => Touch::Write { path: place.path },
                        false => Touch::Read { path: place.path, is_free: true },
                    };
                    self.findings.ask_of_path(rules::READ_OUTSIDE, reason, reach);
                }
                false
            }
        }
    }

    pub(super) fn write(&mut self, raw: &str) {
        if raw.is_empty() || raw == "-" || self.network_device(raw) {
            return;
        }
        let place = self.place(raw);
        let path = &place.path;
        if place.zone != Zone::Sink {
            self.notes_write(path);
            if let Some(named) = self.absolute(raw) {
                self.notes_write(&named);
            }
        }
        if place.zone == Zone::Sink || self.guards_change(path, place.own) {
            return;
        }
        match (place.kind, place.zone) {
            (Kind::Device, _) => self.findings.block(rules::DEVICE, format!("{path} is a raw device")),
            (Kind::Startup, _) => self.findings.block(rules::STARTUP, format!("{path} runs by itself later")),
            (Kind::ProjectHook, _) if path.contains("/.git/") => {
                self.findings.block(rules::PROJECT_HOOK, format!("{path} runs with every use of git"));
            }
            (Kind::ProjectHook, _) => {
                self.findings.ask(rules::PROJECT_HOOK, format!("{path} runs when others use the project"))
            }
            (Kind::Secret | Kind::MaybeSecret, zone) if zone != Zone::Inside => {
                self.findings.block(rules::STARTUP, format!("{path} holds or guards credentials"));
            }
            (Kind::System | Kind::Accounts, Zone::Outside) => {
                self.findings.block(rules::SYSTEM_WRITE, format!("{path} belongs to the system"));
            }
            (_, Zone::Inside | Zone::Sink) => {}
            (_, Zone::Temporary) => {
                let reason = format!("{path} is outside of the working folder, in a temporary one");
                self.findings.ask_of_path(rules::TEMPORARY, reason, Touch::Write { path: path.clone() });
            }
            (_, Zone::Unknown) => {
                self.findings.ask(rules::UNKNOWN_PATH, format!("where {path} leads is known only when it runs"))
            }
            (_, Zone::Above) if path == &paths::root_of(self.setting).to_string_lossy() => {}
            (_, Zone::Outside | Zone::Above) => {
                self.findings.block(rules::WRITE_OUTSIDE, format!("{path} is outside of the working folder"));
            }
        }
    }

    pub(super) fn delete(&mut self, raw: &str, recursive: bool) {
        if raw.is_empty() {
            return;
        }
        let place = self.place(raw);
        let path = place.path.clone();
        let root = paths::root_of(self.setting);
        if place.vital && place.zone != Zone::Inside && path != root.to_string_lossy() {
            self.findings.block(rules::DELETE_ROOT, format!("{path} is a vital folder"));
            return;
        }
        if self.guards_removal(&path, place.own) {
            return;
        }
        match place.zone {
            Zone::Above if path == root.to_string_lossy() => {
                self.findings.ask(rules::DELETE_WORK, format!("{path} is the whole working folder"));
            }
            Zone::Above => self.findings.block(rules::DELETE_ROOT, format!("{path} holds the working folder")),
            Zone::Outside | Zone::Sink => {
                self.findings.block(rules::DELETE_OUTSIDE, format!("{path} is outside of the working folder"))
            }
            Zone::Temporary => {
                let reason = format!("{path} is outside of the working folder, in a temporary one");
                self.findings.ask_of_path(rules::TEMPORARY, reason, Touch::Write { path: path.clone() });
            }
            Zone::Unknown => {
                self.findings.ask(rules::UNKNOWN_PATH, format!("where {path} leads is known only when it runs"))
            }
            Zone::Inside => self.delete_inside(&path, raw, recursive, place.kind),
        }
    }

    fn delete_inside(&mut self, path: &str, raw: &str, recursive: bool, kind: Kind) {
        let below = path.strip_prefix(&*paths::root_of(self.setting).to_string_lossy()).unwrap_or(path);
        if below == "/.git" || below.starts_with("/.git/") || below.contains("/.git/") || below.ends_with("/.git") {
            self.findings.ask(rules::VCS, format!("{path} holds the project's history"));
        } else if kind == Kind::Secret || kind == Kind::MaybeSecret {
            self.findings.ask(rules::DELETE_WORK, format!("{path} may hold a credential that exists nowhere else"));
        } else if kinds::is_regenerable(below) {
            // A build can make it again.
        } else if below.contains(['*', '?', '[']) || raw.contains(UNKNOWN) {
            self.findings.ask(rules::DELETE_WORK, format!("{path} stands for files that may hold uncommitted work"));
        } else if recursive {
            self.findings.ask(rules::DELETE_WORK, format!("{path} may hold uncommitted work"));
        }
    }

    /// A file that is executed or sourced.
    pub(super) fn run_file(&mut self, raw: &str) {
        self.read(raw, By::Shell);
        let place = self.place(raw);
        self.findings.ask(rules::RUN_FILE, format!("{} would be executed", place.path));
    }

    /// A program loads code or settings from a file and runs them.
    pub(super) fn loads(&mut self, program: &str, raw: &str) {
        if matches!(raw, "" | "/dev/null" | "NONE" | "NORC" | "DEFAULTS") {
            return;
        }
        self.read(raw, By::Shell);
        self.findings.ask(rules::RUN_FILE, format!("{program} would run {}", raw.replace(UNKNOWN, "…")));
    }

    /// A file that is written, or a command that receives what would be written.
    pub(super) fn tape(&mut self, raw: &str) {
        let raw = raw.trim();
        match raw.strip_prefix(['|', '!']).or_else(|| raw.strip_prefix("%pipe%")) {
            Some(source) => {
                self.findings.ask(rules::RUN_CODE, "what is written would be given to a command");
                self.apart(|walker| walker.script(source, &super::shell::Stream::unknown()));
            }
            None => self.write(raw.trim_matches(['\'', '"'])),
        }
    }

    /// A URL that a shell program reads.
    pub(super) fn fetch(&mut self, raw: &str) {
        match urls::reach(&raw.replace(UNKNOWN, "x")) {
            Reach::Metadata(host) => {
                self.findings.block(rules::SSRF, format!("{host} gives out credentials of this machine"))
            }
            Reach::Odd(why) => {
                if raw.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:")) {
                    let path = raw[5..].trim_start_matches('/');
                    self.read(&format!("/{path}"), By::Shell);
                } else if ["gopher:", "dict:", "ldap:", "tftp:", "smb:"]
                    .iter()
                    .any(|scheme| raw.to_lowercase().starts_with(scheme))
                {
                    self.findings.block(rules::ODD_URL, format!("{raw}: {why}"));
                }
            }
            Reach::Public | Reach::Internal(_) => {}
        }
        if super::content::holds_credential(raw) {
            self.findings.block(rules::EXFILTRATE, "a credential is part of the address");
        }
    }

    /// The agent's own HTTP tool: public hosts only.
    pub(super) fn fetch_by_tool(&mut self, raw: &str) {
        match urls::reach(raw) {
            Reach::Metadata(host) | Reach::Internal(host) => {
                self.findings.block(rules::SSRF, format!("{host} is not a public host"));
            }
            Reach::Odd(why) => self.findings.block(rules::SSRF, format!("{raw}: {why}")),
            Reach::Public => {}
        }
        if let Some(host) = urls::hides_internal(raw) {
            self.findings.ask(rules::SSRF, format!("the address passes {host} on, which is not a public host"));
        }
        if super::content::holds_credential(raw) {
            self.findings.block(rules::EXFILTRATE, "a credential is part of the address");
        }
    }

    fn network_device(&mut self, raw: &str) -> bool {
        let is_network = raw.starts_with("/dev/tcp/") || raw.starts_with("/dev/udp/");
        if is_network {
            self.findings
                .block(rules::BACKDOOR, format!("{} is a connection to another machine", raw.replace(UNKNOWN, "…")));
        }
        is_network
    }
}

/// The system's start-up files are the same everywhere; a person's tell about the person.
fn is_system(path: &str) -> bool {
    ["/etc/", "/usr/", "/lib/"].iter().any(|folder| path.starts_with(folder))
}

//! What a person has configured for a server.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use maxim_bus::mode::Mode;
use url::{Host, Url};

use super::offered::Hints;
use crate::http_client::Roots;
use maxim_tools::EffectClass;

/// A server of tools.
#[derive(Clone, Debug)]
pub struct ServerPlan {
    /// The prefix of its tools' names: lower-case letters, digits and `_`.
    pub name: String,
    pub reach: Reach,
    pub terms: Terms,
    /// Time limit of one call.
    pub deadline: Duration,
}

/// How it is reached.
#[derive(Clone, Debug)]
pub enum Reach {
    Program(ProgramPlan),
    Http(HttpPlan),
}

/// A program that is reached by its pipes.
#[derive(Clone, Debug, Default)]
pub struct ProgramPlan {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Its environment variables with their values; never logged.
    pub environment: BTreeMap<String, String>,
    pub readable: Vec<PathBuf>,
    pub writable: Vec<PathBuf>,
    pub network: bool,
}

/// An address that speaks streamable HTTP.
#[derive(Clone, Debug)]
pub struct HttpPlan {
    pub url: String,
    /// Sent as a bearer token; never logged.
    pub token: Option<String>,
    pub roots: Roots,
}

/// How its tools are classified, by the server's own names.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    /// Irreversible by default.
    pub effect: Option<EffectClass>,
    pub effects: BTreeMap<String, EffectClass>,
    /// Active by default.
    pub required_mode: Option<Mode>,
    pub modes: BTreeMap<String, Mode>,
    pub disabled: BTreeSet<String>,
}

impl Terms {
    /// A hint can only make it stricter, because the author of a tool's hints isn't trusted.
    pub fn effect(&self, tool: &str, hints: &Hints) -> EffectClass {
        let said = self.effects.get(tool).copied().or(self.effect).unwrap_or(EffectClass::Irreversible);
        let changes = hints.read_only == Some(false);
        let destroys = hints.destructive == Some(true) && hints.read_only != Some(true);
        if (changes && said == EffectClass::ReadOnly) || destroys { EffectClass::Irreversible } else { said }
    }

    pub fn required_mode(&self, tool: &str) -> Mode {
        self.modes.get(tool).copied().or(self.required_mode).unwrap_or(Mode::Active)
    }

    /// The names that are mentioned, to find those that the server doesn't have.
    pub fn named(&self) -> BTreeSet<&str> {
        self.effects.keys().chain(self.modes.keys()).chain(&self.disabled).map(String::as_str).collect()
    }
}

impl Reach {
    /// True if a call may leave this machine.
    pub fn leaves(&self) -> bool {
        match self {
            Self::Program(program) => program.network,
            Self::Http(http) => match Url::parse(&http.url).ok().and_then(|url| url.host().map(|host| host.to_owned()))
            {
                Some(Host::Ipv4(address)) => !address.is_loopback(),
                Some(Host::Ipv6(address)) => !address.is_loopback(),
                Some(Host::Domain(name)) => name != "localhost",
                None => true,
            },
        }
    }

    /// For a person; without any token or value of a variable.
    pub fn shown(&self) -> String {
        match self {
            Self::Program(program) => program.command.join(" "),
            Self::Http(http) => http.url.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_tighten_and_never_loosen() {
        let terms = Terms { effects: [("look".into(), EffectClass::ReadOnly)].into(), ..Terms::default() };
        let hints = |read_only, destructive| Hints { read_only, destructive, ..Hints::default() };
        assert_eq!(terms.effect("other", &hints(Some(true), Some(false))), EffectClass::Irreversible);
        assert_eq!(terms.effect("look", &hints(None, None)), EffectClass::ReadOnly);
        assert_eq!(terms.effect("look", &hints(Some(true), None)), EffectClass::ReadOnly);
        assert_eq!(terms.effect("look", &hints(Some(false), Some(false))), EffectClass::Irreversible);
        assert_eq!(terms.effect("look", &hints(None, Some(true))), EffectClass::Irreversible);
        let mild = Terms { effect: Some(EffectClass::Reversible), ..Terms::default() };
        assert_eq!(mild.effect("x", &hints(Some(true), None)), EffectClass::Reversible);
        assert_eq!(mild.effect("x", &hints(Some(false), Some(true))), EffectClass::Irreversible);
    }

    #[test]
    fn only_loopback_and_programs_without_the_network_stay_on_this_machine() {
        let http = |url: &str| Reach::Http(HttpPlan { url: url.into(), token: None, roots: Roots::Nobody }).leaves();
        assert!(!http("http://127.0.0.1:3001/mcp") && !http("http://[::1]/") && !http("http://localhost:1/"));
        assert!(http("http://10.0.0.1/") && http("https://tools.example/") && http("http://localhost.example/"));
        assert!(!Reach::Program(ProgramPlan::default()).leaves());
        assert!(Reach::Program(ProgramPlan { network: true, ..ProgramPlan::default() }).leaves());
    }
}

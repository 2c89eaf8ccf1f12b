//! Tool servers out of the configuration.

use std::collections::BTreeMap;
use std::path::PathBuf;

use maxim_actors::action::tools::EffectClass;
use maxim_actors::effectors::http_client::Roots;
use maxim_actors::effectors::tool_servers::{
    HttpPlan, ListFolder, ProgramPlan, Reach, ServerPlan, Terms, ToolList, ToolServers,
};
use maxim_bus::mode::Mode;

use super::settings::mode_of;
use crate::config::{Effect, Fault, ToolServer};

/// The plans of all that are configured.
///
/// # Errors
/// A secret or a certificate can't be read.
pub fn plans(servers: &BTreeMap<String, ToolServer>) -> Result<Vec<ServerPlan>, Fault> {
    servers.iter().map(|(name, server)| plan(name, server)).collect()
}

/// The servers of a recorded life, with what they offered then. Nobody can be reached by them.
pub fn recorded(servers: &BTreeMap<String, ToolServer>, lists: &[ToolList]) -> ToolServers {
    let plans = servers.iter().map(|(name, server)| ServerPlan {
        name: name.clone(),
        reach: Reach::Program(ProgramPlan::default()),
        terms: terms(server),
        deadline: server.deadline.get(),
    });
    ToolServers::new(plans.collect(), lists, ListFolder::default())
}

/// The plan of one, with what it needs from this machine.
///
/// # Errors
/// As [`plans`].
fn plan(name: &str, server: &ToolServer) -> Result<ServerPlan, Fault> {
    let reach = match &server.url {
        Some(url) => Reach::Http(HttpPlan {
            url: url.clone(),
            token: server.bearer(name)?.map(|token| token.expose().to_owned()),
            roots: Roots::of(url, server.ca_file.as_deref()).map_err(|error| {
                let fix = "name a file with the authority's certificate in PEM form";
                Fault::new(format!("mcp.{name}.ca_file"), error.to_string(), fix)
            })?,
        }),
        None => Reach::Program(ProgramPlan {
            command: server.command.clone(),
            // One that isn't set here isn't set there either.
            environment: server.env.iter().filter_map(|name| Some((name.clone(), std::env::var(name).ok()?))).collect(),
            readable: server.read.iter().map(PathBuf::from).collect(),
            writable: server.write.iter().map(PathBuf::from).collect(),
            network: server.network,
        }),
    };
    Ok(ServerPlan { name: name.to_owned(), reach, terms: terms(server), deadline: server.deadline.get() })
}

/// What its tools are taken for. Of two lists that name a tool the stricter one holds.
fn terms(server: &ToolServer) -> Terms {
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
        effect: Some(effect_of(server.effect)),
        effects,
        required_mode: Some(mode_of(server.required_mode)),
        modes,
        disabled: server.disabled.iter().cloned().collect(),
    }
}

fn effect_of(effect: Effect) -> EffectClass {
    match effect {
        Effect::ReadOnly => EffectClass::ReadOnly,
        Effect::Reversible => EffectClass::Reversible,
        Effect::Irreversible => EffectClass::Irreversible,
    }
}

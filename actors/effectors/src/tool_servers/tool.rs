//! A server's tool as a tool of the agent. It is foreign: only its server says what it does.

use std::sync::Arc;

use maxim_bus::latch::Permit;
use serde_json::{Value as Json, json};

use super::LeftOut;
use super::naming::{name_of, spoken};
use super::offered::OfferedTool;
use super::server::Server;
use maxim_tools::{
    EffectClass, ErrorKind, FollowUp, Hands, OfferedBy, SideEffectKind, Tool, ToolFailure, ToolOutcome, ToolRegistry,
    ToolSpec,
};

/// Registers a server's remembered tools, in the order of their names. Returns how many, and which could not be
/// registered.
pub(super) fn register(server: &Arc<Server>, registry: &mut ToolRegistry) -> (usize, Vec<LeftOut>) {
    let left_out = |tool: &str, why: String| LeftOut { server: server.plan.name.clone(), tool: tool.into(), why };
    let Some(list) = &server.remembered else { return (0, Vec::new()) };
    let mut all: Vec<LeftOut> = list.left_out.iter().map(|(tool, why)| left_out(tool, why.clone())).collect();
    let known = list.tools.iter().filter(|tool| !server.plan.terms.disabled.contains(&tool.name));
    let before = registry.len();
    for offered in known {
        let tool = ServerTool::new(server, offered);
        if let Err(error) = registry.register(Arc::new(tool)) {
            all.push(left_out(&offered.name, error.to_string()));
        }
    }
    let registered = registry.len() - before;
    for named in server.plan.terms.named() {
        if !list.tools.iter().any(|tool| tool.name == named) {
            all.push(left_out(named, "the configuration names it, but the server doesn't offer it".into()));
        }
    }
    (registered, all)
}

struct ServerTool {
    spec: ToolSpec,
    /// The server's own name for it.
    name: String,
    server: Arc<Server>,
}

impl ServerTool {
    fn new(server: &Arc<Server>, offered: &OfferedTool) -> Self {
        let terms = &server.plan.terms;
        let mut spec = ToolSpec::new(&name_of(&server.plan.name, &offered.name), &offered.shown(&server.plan.name));
        spec.parameters = offered.schema();
        spec.example = Json::Null;
        spec.effect = terms.effect(&offered.name, &offered.hints);
        // Only a tool that changes nothing may be repeated after a crash, and not even that if the server says it
        // isn't idempotent.
        spec.idempotent = spec.effect == EffectClass::ReadOnly && offered.hints.idempotent != Some(false);
        spec.required_mode = terms.required_mode(&offered.name);
        spec.follow_up = FollowUp::Process;
        spec.is_foreign = true;
        spec.offered_by = Some(OfferedBy { server: server.plan.name.clone(), digest: offered.digest() });
        if let Some(pattern) = pattern_of(&spec) {
            spec = spec.with_speech(&["use", "call"], &[&pattern]);
        }
        Self { spec, name: offered.name.clone(), server: Arc::clone(server) }
    }
}

/// How a person asks for it in words: by its name, and its one parameter, if it needs no more.
fn pattern_of(spec: &ToolSpec) -> Option<String> {
    let name = spoken(&spec.name);
    let mut required = spec.parameter_names().filter(|name| spec.requires(name));
    let (first, second) = (required.next(), required.next());
    match (first, second) {
        (None, _) => Some(format!("{{verb}} [the] [tool] {name}")),
        (Some(one), None) if one.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') => {
            let kind = match spec.parameter(one)?["type"].as_str()? {
                "string" => "rest",
                "number" | "integer" => "number",
                _ => return None,
            };
            Some(format!("{{verb}} [the] [tool] {name} [on|with|for] {{{one}:{kind}}}"))
        }
        _ => None,
    }
}

impl Tool for ServerTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run(&self, params: &Json, _permit: &Permit<'_>, hands: &Hands) -> ToolOutcome {
        if self.server.plan.reach.leaves() && !hands.web {
            let message = format!("{} leaves this machine, and that is switched off (tools.web)", self.spec.name);
            return ToolOutcome::failed(ToolFailure::new(ErrorKind::Refused, message));
        }
        let digest = self.spec.offered_by.as_ref().map(|offer| offer.digest.as_str()).unwrap_or_default();
        let deadline = self.server.plan.deadline.min(hands.deadline);
        let outcome = self.server.call(&self.name, digest, params, deadline, hands.output_cap);
        match (self.spec.effect, outcome) {
            (_, Err(failure)) => ToolOutcome::failed(failure),
            (EffectClass::ReadOnly, Ok(outcome)) => outcome,
            (_, Ok(outcome)) => {
                let did = json!({"server": self.server.plan.name, "tool": self.name});
                outcome.with_effect(SideEffectKind::ServerActed, did.to_string())
            }
        }
    }
}

//! The agent's own powers, which it can lower and never raise: mode, autonomy, the web, and its working folder. The
//! gate hears the result and follows it from then on. A person gives powers back with `maxim powers restore`.

use maxim_bus::latch::Permit;
use maxim_bus::mode::{AutonomyLevel, Mode};
use serde_json::{Value, json};

use super::{Access, EffectClass, ErrorKind, FollowUp, Hands, Tool, ToolFailure, ToolOutcome, ToolSpec};

pub const MODE_SWITCH: &str = "mode_switch";
pub const AUTONOMY_LEVEL: &str = "autonomy_level";
pub const WEB_ACCESS: &str = "web_access";
pub const REQUEST_DIRECTORY_CHANGE: &str = "request_directory_change";

const FIX: &str = "a person gives it back with `maxim powers restore`, or allows more in the configuration";

fn lowering(spec: ToolSpec) -> ToolSpec {
    ToolSpec { effect: EffectClass::Irreversible, idempotent: true, follow_up: FollowUp::Respond, ..spec }
}

fn only_lower(what: &str, now: &str, asked: &str) -> ToolFailure {
    let message = format!("{what} is {now} and can't be raised to {asked} by the agent; {FIX}");
    ToolFailure::new(ErrorKind::Refused, message)
}

/// Sets a lower mode. Output: `mode`, `was`.
pub struct ModeSwitch(ToolSpec);

impl ModeSwitch {
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        let spec = ToolSpec::new(
            MODE_SWITCH,
            "Lowers what you may touch: singularity (everything), active (the working folder), passive (your sandbox folder). It can't be raised again by you.",
        )
        .with_parameters(
            json!({"mode": {"enum": ["passive", "active", "singularity"], "description": "the mode from now on"}}),
            &["mode"],
        )
        .with_aliases(&[("level", "mode"), ("to", "mode")])
        .with_example(json!({"mode": "passive"}));
        let speak = |spec: ToolSpec, mode: &str| {
            spec.with_phrase(
                &["switch to", "go into", "go to", "change to", "enter"],
                &format!("{{verb}} [the] {mode} mode"),
                &[("mode", json!(mode))],
            )
        };
        Self(lowering(["passive", "active", "singularity"].into_iter().fold(spec, speak)))
    }
}

impl Tool for ModeSwitch {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run(&self, params: &Value, _permit: &Permit<'_>, hands: &Hands) -> ToolOutcome {
        let asked = serde_json::from_value::<Mode>(params["mode"].clone()).unwrap_or(Mode::Passive);
        if asked > hands.mode {
            return ToolOutcome::failed(only_lower("the mode", hands.mode.as_str(), asked.as_str()));
        }
        ToolOutcome::done(json!({"mode": asked.as_str(), "was": hands.mode.as_str()}))
    }
}

/// Sets a lower level of autonomy. Output: `autonomy`, `was`.
pub struct LowerAutonomy(ToolSpec);

impl LowerAutonomy {
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        let spec = ToolSpec::new(
            AUTONOMY_LEVEL,
            "Lowers how much you do without a person: autonomous (act), supervised (ask where unsure), planning (propose only). It can't be raised again by you.",
        )
        .with_parameters(
            json!({"level": {"enum": ["planning", "supervised", "autonomous"], "description": "the level from now on"}}),
            &["level"],
        )
        .with_aliases(&[("autonomy", "level"), ("to", "level")])
        .with_example(json!({"level": "supervised"}))
        .with_phrase(&[], "only (plan|propose|make plans) [from now on]", &[("level", json!("planning"))])
        .with_phrase(&[], "(lower|set|reduce) (your|the) autonomy [level] to planning", &[("level", json!("planning"))])
        .with_phrase(&[], "(lower|set|reduce) (your|the) autonomy [level] to supervised", &[("level", json!("supervised"))])
        .with_phrase(&[], "(set|raise) (your|the) autonomy [level] to autonomous", &[("level", json!("autonomous"))]);
        Self(lowering(spec))
    }
}

impl Tool for LowerAutonomy {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run(&self, params: &Value, _permit: &Permit<'_>, hands: &Hands) -> ToolOutcome {
        let asked = serde_json::from_value::<AutonomyLevel>(params["level"].clone()).unwrap_or(AutonomyLevel::Planning);
        if asked > hands.autonomy {
            return ToolOutcome::failed(only_lower("autonomy", hands.autonomy.as_str(), asked.as_str()));
        }
        ToolOutcome::done(json!({"autonomy": asked.as_str(), "was": hands.autonomy.as_str()}))
    }
}

/// Turns reading the web off. Output: `web`, `was`.
pub struct WebAccess(ToolSpec);

impl WebAccess {
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        let spec = ToolSpec::new(WEB_ACCESS, "Turns your reading of the web off. It can't be turned on again by you.")
            .with_parameters(json!({"on": {"type": "boolean", "description": "false turns it off"}}), &["on"])
            .with_aliases(&[("enabled", "on"), ("allow", "on")])
            .with_example(json!({"on": false}))
            .with_phrase(
                &[],
                "(turn|switch) (web access|the web|internet access|the internet) off",
                &[("on", json!(false))],
            )
            .with_phrase(
                &[],
                "(turn|switch) off (web access|the web|internet access|the internet)",
                &[("on", json!(false))],
            )
            .with_phrase(&[], "stay offline", &[("on", json!(false))]);
        Self(lowering(spec))
    }
}

impl Tool for WebAccess {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run(&self, params: &Value, _permit: &Permit<'_>, hands: &Hands) -> ToolOutcome {
        let asked = params["on"].as_bool().unwrap_or(false);
        if asked && !hands.web {
            return ToolOutcome::failed(only_lower("reading the web", "off", "on"));
        }
        ToolOutcome::done(json!({"web": asked, "was": hands.web}))
    }
}

/// Asks for another working folder. A person allows it at the gate. Output: `workdir`, `was`.
pub struct RequestDirectoryChange(ToolSpec);

impl RequestDirectoryChange {
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        let spec = ToolSpec::new(
            REQUEST_DIRECTORY_CHANGE,
            "Asks a person for another working folder. Once allowed, files are read and written there instead.",
        )
        .with_parameters(
            json!({
                "path": {"type": "string", "minLength": 1, "maxLength": 4096, "description": "the folder, absolute or relative to the present one"},
                "reason": {"type": "string", "minLength": 1, "maxLength": 1000, "description": "what for; the person reads it"},
            }),
            &["path"],
        )
        .with_aliases(&[("directory", "path"), ("folder", "path"), ("dir", "path"), ("why", "reason")])
        .with_example(json!({"path": "../other-project", "reason": "the failing test lies there"}))
        .with_speech(
            &["change", "switch", "move", "go"],
            &["{verb} [(your|the)] [working] (directory|folder) to {path:path}", "{verb} (to|into) [the] (directory|folder) {path:path}"],
        )
        .with_speech(&["work in"], &["{verb} [the] (directory|folder) {path:path} [from now on|instead]"])
        .with_speech(&["cd", "chdir"], &["{verb} {path:path}"]);
        Self(ToolSpec {
            effect: EffectClass::Irreversible,
            idempotent: true,
            required_mode: Mode::Active,
            follow_up: FollowUp::Respond,
            ..spec
        })
    }
}

impl Tool for RequestDirectoryChange {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run(&self, params: &Value, _permit: &Permit<'_>, hands: &Hands) -> ToolOutcome {
        change(params, hands).into()
    }
}

fn change(params: &Value, hands: &Hands) -> Result<ToolOutcome, ToolFailure> {
    if hands.mode < Mode::Active {
        return Err(ToolFailure::new(ErrorKind::Refused, "in passive mode the working folder can't be changed"));
    }
    // A person has been asked at the gate, so the bounds of the present folder don't apply.
    let free = Hands { mode: Mode::Singularity, ..hands.clone() };
    let folder = free.resolve(params["path"].as_str().unwrap_or_default(), Access::Write)?;
    if !folder.is_dir() {
        let message = format!("{} isn't a folder; create it first, or name an existing folder", folder.display());
        return Err(ToolFailure::new(ErrorKind::NotFound, message));
    }
    if hands.saved.starts_with(&folder) || folder.starts_with(&hands.saved) {
        let message = format!("{} holds the agent's own state; name another folder", folder.display());
        return Err(ToolFailure::new(ErrorKind::Refused, message));
    }
    Ok(ToolOutcome::done(json!({"workdir": folder, "was": hands.workdir})))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use maxim_bus::latch::{EffectKind, StopLatch};

    use super::*;
    use crate::core_registry;

    fn call(hands: &Hands, tool: &str, params: Value) -> ToolOutcome {
        let registry = core_registry().expect("good specs");
        let params = registry.validate(tool, &params).expect("valid");
        let latch = StopLatch::in_memory();
        let permit = latch.permit(EffectKind::Other).expect("not stopped");
        registry.hands_on(tool).expect("a tool").run(&params, &permit, hands)
    }

    #[test]
    fn powers_are_lowered_and_never_raised() {
        let mut hands = Hands::new("/", Mode::Active, "/saved");
        let down = call(&hands, MODE_SWITCH, json!({"mode": "passive"}));
        assert_eq!(down.output, json!({"mode": "passive", "was": "active"}));
        let up = call(&hands, MODE_SWITCH, json!({"mode": "singularity"}));
        assert_eq!(up.error_kind, Some(ErrorKind::Refused));
        assert!(up.error.is_some_and(|error| error.contains("maxim powers restore")));
        hands.autonomy = AutonomyLevel::Supervised;
        assert!(call(&hands, AUTONOMY_LEVEL, json!({"level": "planning"})).success);
        assert_eq!(call(&hands, AUTONOMY_LEVEL, json!({"level": "autonomous"})).error_kind, Some(ErrorKind::Refused));
        assert_eq!(call(&hands, WEB_ACCESS, json!({"on": false})).output["web"], false);
        hands.web = false;
        assert_eq!(call(&hands, WEB_ACCESS, json!({"on": true})).error_kind, Some(ErrorKind::Refused));
    }

    #[test]
    fn a_folder_that_is_not_there_or_holds_the_agents_state_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let base = fs::canonicalize(folder.path()).expect("real");
        for name in ["work", "other", "state/saved"] {
            fs::create_dir_all(base.join(name)).expect("made");
        }
        let mut hands = Hands::new(base.join("work"), Mode::Active, base.join("state/saved"));
        let tool = REQUEST_DIRECTORY_CHANGE;
        assert_eq!(call(&hands, tool, json!({"path": "../other"})).output["workdir"], json!(base.join("other")));
        assert_eq!(call(&hands, tool, json!({"path": "../no"})).error_kind, Some(ErrorKind::NotFound));
        assert_eq!(call(&hands, tool, json!({"path": "../state"})).error_kind, Some(ErrorKind::Refused));
        hands.mode = Mode::Passive;
        assert_eq!(call(&hands, tool, json!({"path": "../other"})).error_kind, Some(ErrorKind::Refused));
    }
}

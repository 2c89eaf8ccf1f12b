//! Tools that a person brings: any program, described by a manifest in a folder.
//!
//! A manifest is a JSON file:
//!
//! ```json
//! {
//!   "name": "tides", "description": "Tells the next high tide of a harbour.",
//!   "command": ["./tides.py", "--json"],
//!   "parameters": {"type": "object", "properties": {"harbour": {"type": "string"}}, "required": ["harbour"]},
//!   "example": {"harbour": "Whitby"}, "effect": "read_only", "network": false, "timeout_seconds": 30,
//!   "speech": {"verbs": ["tell", "show"], "patterns": ["{verb} [me] the tide at {harbour:word}"]},
//!   "scene": ["tide table"]
//! }
//! ```
//!
//! With `"unasked": true` it may be called without a person's request while one of the things in `scene` is around, and
//! no person is asked about it. A number from -1 to 1 under `reward` in its JSON then says how good the outcome was.
//! `"serves"` names a need (`energy`, or a reading of the pose) that makes it worth more.
//!
//! The program gets its parameters on standard input as one JSON object, and gives its result on standard output: JSON
//! or plain text. Exit code 0 is success. It runs in the sandbox like every program of the agent, and is killed with
//! its process group.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use maxim_bus::latch::Permit;
use maxim_bus::signals::scene::plain_name;
use serde::Deserialize;
use serde_json::{Value, json};

use super::contained::{ChildOutcome, ChildSpec, Ending, Network, run};
use super::{
    EffectClass, ErrorKind, FollowUp, Hands, Mode, SideEffectKind, Tool, ToolFailure, ToolOutcome, ToolRegistry,
    ToolSpec,
};

/// The biggest manifest, in bytes.
const MANIFEST: u64 = 256 * 1024;
/// Bytes kept from the end of a program's standard error.
const SAID: usize = 2_000;

/// The content of a manifest.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    name: String,
    description: String,
    /// The program and its fixed arguments. A program with a `/` is searched beside the manifest.
    command: Vec<String>,
    parameters: Option<Value>,
    example: Option<Value>,
    effect: EffectClass,
    /// Whether doing it twice has the same effect as once.
    #[serde(default)]
    idempotent: bool,
    /// The lowest mode. Default: passive for a tool that only reads, else active.
    required_mode: Option<Mode>,
    #[serde(default)]
    network: bool,
    timeout_seconds: Option<u64>,
    /// Other names of parameters.
    #[serde(default)]
    aliases: BTreeMap<String, String>,
    speech: Option<Speech>,
    /// Things of the scene by the senses' names, one of which must be around. Without them the tool is always
    /// available.
    #[serde(default)]
    scene: Vec<String>,
    /// Whether it may be called unasked, and without a question.
    #[serde(default)]
    unasked: bool,
    serves: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Speech {
    #[serde(default)]
    verbs: Vec<String>,
    patterns: Vec<String>,
}

/// A manifest that can't be used. Other manifests still are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {why}", path.display())]
pub struct ManifestFault {
    pub path: PathBuf,
    pub why: String,
}

/// Registers the tools of a folder, in the order of the manifests' names. A faulty manifest's tool is left out.
/// `workdir` is where the agent writes; the folder must not be in it, or the agent could make itself tools.
pub fn register(registry: &mut ToolRegistry, folder: &Path, workdir: &Path) -> Vec<ManifestFault> {
    let faults = registered(registry, folder, workdir);
    faults.iter().for_each(|fault| registry.leave_out(fault.to_string()));
    faults
}

fn registered(registry: &mut ToolRegistry, folder: &Path, workdir: &Path) -> Vec<ManifestFault> {
    let fault = |path: &Path, why: String| ManifestFault { path: path.to_owned(), why };
    let entries = match fs::canonicalize(folder).and_then(fs::read_dir) {
        Ok(entries) => entries,
        Err(error) => {
            return vec![fault(
                folder,
                format!("the folder of tools can't be read: {error}; create it, or unset tools.folder"),
            )];
        }
    };
    let real = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let work = fs::canonicalize(workdir).unwrap_or_else(|_| workdir.to_owned());
    if real.starts_with(&work) && work != Path::new("/") {
        let why = format!(
            "the folder of tools lies in the working folder {}, where the agent could write tools for itself; move it out",
            work.display()
        );
        return vec![fault(folder, why)];
    }
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
    paths.sort();
    let mut faults = Vec::new();
    for path in paths {
        let done = read(&path).and_then(|tool| registry.register(Arc::new(tool)).map_err(|error| error.to_string()));
        faults.extend(done.err().map(|why| fault(&path, why)));
    }
    faults
}

fn read(path: &Path) -> Result<UserTool, String> {
    let meta = fs::metadata(path).map_err(|error| format!("can't be read: {error}"))?;
    if meta.mode() & 0o022 != 0 {
        return Err(format!("users other than its owner may write it (mode {:o}); chmod go-w it", meta.mode() & 0o777));
    }
    if meta.len() > MANIFEST {
        return Err(format!("is bigger than {MANIFEST} bytes"));
    }
    let text = fs::read_to_string(path).map_err(|error| format!("can't be read: {error}"))?;
    let manifest: Manifest = serde_json::from_str(&text).map_err(|error| format!("isn't a manifest: {error}"))?;
    if manifest.command.first().is_none_or(|program| program.is_empty()) {
        return Err("\"command\" is empty; give the program and its arguments".into());
    }
    let (folder, spec) = (path.parent().unwrap_or(Path::new("/")).to_owned(), spec_of(&manifest));
    if spec.unasked && spec.scene.is_empty() {
        return Err("\"unasked\" needs \"scene\": name the things with which it may be done".into());
    }
    if spec.unasked && spec.call_with("").is_none() {
        return Err("\"unasked\" needs a default for each required parameter but a text called \"thing\"".into());
    }
    Ok(UserTool { spec, manifest, folder })
}

fn spec_of(manifest: &Manifest) -> ToolSpec {
    let mut spec = ToolSpec::new(&manifest.name, &manifest.description);
    if let Some(parameters) = &manifest.parameters {
        spec.parameters = parameters.clone();
        if let Value::Object(schema) = &mut spec.parameters {
            schema.entry("additionalProperties").or_insert(Value::Bool(false));
        }
    }
    spec.example = manifest.example.clone().unwrap_or_else(|| example_of(&spec.parameters));
    spec.parameter_aliases = manifest.aliases.clone().into_iter().collect();
    if let Some(speech) = &manifest.speech {
        let verbs: Vec<&str> = speech.verbs.iter().map(String::as_str).collect();
        let patterns: Vec<&str> = speech.patterns.iter().map(String::as_str).collect();
        spec = spec.with_speech(&verbs, &patterns);
    }
    let reads = manifest.effect == EffectClass::ReadOnly;
    spec.effect = manifest.effect;
    spec.idempotent = manifest.idempotent || reads;
    spec.required_mode = manifest.required_mode.unwrap_or(if reads { Mode::Passive } else { Mode::Active });
    spec.follow_up = FollowUp::Process;
    spec.is_foreign = true;
    spec.scene = manifest.scene.iter().map(|name| plain_name(name)).collect();
    (spec.unasked, spec.serves) = (manifest.unasked, manifest.serves.clone());
    spec
}

/// Parameters that a simple schema allows: the required ones, each with its first named value, else its least.
fn example_of(schema: &Value) -> Value {
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let value = |name: &str| {
        let one = &schema["properties"][name];
        let named = [&one["default"], &one["const"], &one["enum"][0], &one["examples"][0]];
        match (named.into_iter().find(|value| !value.is_null()), one["type"].as_str()) {
            (Some(value), _) => value.clone(),
            (None, Some("integer" | "number")) => match &one["minimum"] {
                Value::Null => json!(1),
                least => least.clone(),
            },
            (None, Some("boolean")) => json!(true),
            (None, Some("array")) => json!([]),
            (None, Some("object")) => example_of(one),
            (None, _) => json!(name),
        }
    };
    Value::Object(required.map(|name| (name.to_owned(), value(name))).collect())
}

/// A recorded tool with its description only. Nothing runs in a replay.
pub struct Absent(ToolSpec);

impl Absent {
    pub fn new(spec: ToolSpec) -> Self {
        Self(spec)
    }
}

impl Tool for Absent {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run(&self, _params: &Value, _permit: &Permit<'_>, _hands: &Hands) -> ToolOutcome {
        ToolOutcome::unavailable("it was recorded and can't run here")
    }
}

/// A program as a tool. Output: its JSON, or its text as `text`.
pub struct UserTool {
    spec: ToolSpec,
    manifest: Manifest,
    folder: PathBuf,
}

impl Tool for UserTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run(&self, params: &Value, permit: &Permit<'_>, hands: &Hands) -> ToolOutcome {
        self.call(params, permit, hands).into()
    }
}

impl UserTool {
    fn call(&self, params: &Value, permit: &Permit<'_>, hands: &Hands) -> Result<ToolOutcome, ToolFailure> {
        let name = &self.spec.name;
        if hands.mode < self.spec.required_mode {
            let (needed, mode) = (self.spec.required_mode.as_str(), hands.mode.as_str());
            let message = format!("{name} needs {needed} mode; this is {mode} mode");
            return Err(ToolFailure::new(ErrorKind::Refused, message));
        }
        if self.manifest.network && !hands.web {
            let message = format!("{name} needs the network, and that is switched off (tools.web)");
            return Err(ToolFailure::new(ErrorKind::Refused, message));
        }
        let mut policy = hands.sandbox.clone();
        policy.readable.push(self.folder.clone());
        policy.network = if self.manifest.network { Network::On } else { Network::Off };
        let asked = self.manifest.timeout_seconds.map_or(hands.deadline, Duration::from_secs);
        let reads = self.spec.effect == EffectClass::ReadOnly;
        let writable = if reads { Vec::new() } else { vec![hands.root()?.unwrap_or_else(|| PathBuf::from("/"))] };
        if reads {
            policy.readable.push(hands.workdir.clone());
        }
        let spec = ChildSpec {
            program: self.program(hands)?.display().to_string(),
            args: self.manifest.command.get(1..).unwrap_or_default().to_vec(),
            cwd: hands.workdir.clone(),
            writable,
            stdin: format!("{params}\n").into_bytes(),
            deadline: asked.min(hands.deadline),
            output_cap: hands.output_cap,
        };
        let outcome = run(&spec, &policy, permit)?;
        Ok(self.told(&outcome, spec.deadline))
    }

    fn program(&self, hands: &Hands) -> Result<PathBuf, ToolFailure> {
        let named = self.manifest.command.first().map(String::as_str).unwrap_or_default();
        let found = if named.contains('/') {
            Some(self.folder.join(named)).filter(|path| path.is_file())
        } else {
            hands.sandbox.find(named)
        };
        found.ok_or_else(|| {
            let message =
                format!("{}: its program {named} isn't there; correct \"command\" in its manifest", self.spec.name);
            ToolFailure::new(ErrorKind::Unavailable, message)
        })
    }

    fn told(&self, outcome: &ChildOutcome, deadline: Duration) -> ToolOutcome {
        let name = &self.spec.name;
        let mut output = match serde_json::from_str::<Value>(outcome.stdout.text.trim()) {
            Ok(value) if outcome.stdout.cut == 0 => value,
            _ => json!({ "text": outcome.stdout.text.trim_end() }),
        };
        if let (Value::Object(fields), true) = (&mut output, outcome.stdout.cut > 0) {
            fields.insert("cut".into(), format!("{} bytes of output are left out", outcome.stdout.cut).into());
        }
        let said = outcome.stderr.text.trim();
        let said = &said[said.ceil_char_boundary(said.len().saturating_sub(SAID))..];
        let failure = match outcome.ending {
            Ending::Exited(0) => None,
            Ending::Exited(code) => Some((ErrorKind::Failed, format!("{name} ended with exit code {code}: {said}"))),
            Ending::Killed(signal) => Some((ErrorKind::Failed, format!("{name} was ended by signal {signal}: {said}"))),
            Ending::DeadlinePassed => {
                let message = format!(
                    "{name} took longer than {} s and was ended with all it had started",
                    deadline.as_secs_f64()
                );
                Some((ErrorKind::Timeout, message))
            }
            Ending::Stopped => Some((ErrorKind::Stopped, format!("{name} was ended by the stop"))),
            Ending::DiskFilled => Some((ErrorKind::TooLarge, format!("{name} {}", outcome.filled_in_words()))),
        };
        let reward = output["reward"].as_f64().filter(|_| self.spec.unasked);
        let outcome = match failure {
            None => reward.into_iter().fold(ToolOutcome::done(output), ToolOutcome::with_reward),
            Some((kind, message)) => ToolOutcome::failed(ToolFailure::new(kind, message)).with_output(output),
        };
        match self.spec.effect {
            EffectClass::ReadOnly => outcome,
            EffectClass::Reversible | EffectClass::Irreversible => {
                outcome.with_effect(SideEffectKind::ProcessRan, self.manifest.command.join(" "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use jiff::Timestamp;
    use maxim_bus::latch::{EffectKind, StopDetail, StopLatch};

    use super::*;
    use crate::core_registry;

    struct Bench {
        folder: tempfile::TempDir,
        latch: StopLatch,
        hands: Hands,
    }

    fn bench() -> Bench {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["work", "tools"] {
            fs::create_dir(folder.path().join(name)).expect("made");
        }
        let hands = Hands::new(folder.path().join("work"), Mode::Active, folder.path().join("saved"));
        Bench { folder, latch: StopLatch::in_memory(), hands }
    }

    impl Bench {
        fn put(&self, name: &str, text: &str, mode: u32) {
            let path = self.folder.path().join("tools").join(name);
            fs::write(&path, text).expect("written");
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("set");
        }

        fn manifest(&self, name: &str, change: impl FnOnce(&mut Value)) {
            let mut manifest = json!({
                "name": name, "description": "a tool", "command": [format!("./{name}.sh")], "effect": "irreversible",
                "parameters": {"type": "object", "properties": {"harbour": {"type": "string"}}},
            });
            change(&mut manifest);
            self.put(&format!("{name}.json"), &manifest.to_string(), 0o644);
        }

        fn tools(&self) -> (ToolRegistry, Vec<ManifestFault>) {
            let mut registry = core_registry().expect("good specs");
            let faults = register(&mut registry, &self.folder.path().join("tools"), &self.hands.workdir);
            (registry, faults)
        }

        fn call(&self, tool: &str, params: &Value) -> ToolOutcome {
            let (registry, faults) = self.tools();
            assert_eq!(faults, []);
            let params = registry.validate(tool, params).expect("valid");
            let permit = self.latch.permit(EffectKind::Other).expect("not stopped");
            registry.hands_on(tool).expect("a tool").run(&params, &permit, &self.hands)
        }
    }

    #[test]
    fn a_program_gets_its_parameters_as_json_and_gives_its_result() {
        let bench = bench();
        bench.put(
            "tides.sh",
            "#!/bin/sh\nread -r params\necho \"{\\\"asked\\\": $params, \\\"high\\\": 12}\"\n",
            0o755,
        );
        bench.manifest("tides", |manifest| manifest["aliases"] = json!({"port": "harbour"}));
        let outcome = bench.call("tides", &json!({"port": "Whitby"}));
        assert!(outcome.success, "{outcome:?}");
        assert_eq!(outcome.output, json!({"asked": {"harbour": "Whitby"}, "high": 12}));
        assert_eq!(outcome.side_effects[0].kind, SideEffectKind::ProcessRan);
    }

    #[test]
    fn plain_text_and_failures_are_told_as_they_are() {
        let bench = bench();
        bench.put("plain.sh", "#!/bin/sh\necho high at noon\n", 0o755);
        bench.manifest("plain", |_| {});
        assert_eq!(bench.call("plain", &json!({})).output, json!({"text": "high at noon"}));
        bench.put("broken.sh", "#!/bin/sh\necho no table >&2\nexit 4\n", 0o755);
        bench.manifest("broken", |_| {});
        let outcome = bench.call("broken", &json!({}));
        assert_eq!(outcome.error_kind, Some(ErrorKind::Failed));
        assert!(outcome.error.is_some_and(|error| error.contains("exit code 4: no table")));
        bench.put("slow.sh", "#!/bin/sh\nsleep 600\n", 0o755);
        bench.manifest("slow", |manifest| manifest["timeout_seconds"] = json!(1));
        assert_eq!(bench.call("slow", &json!({})).error_kind, Some(ErrorKind::Timeout));
    }

    #[test]
    fn what_only_reads_can_not_write_where_the_kernel_can_hold_it() {
        let bench = bench();
        bench.put("sneaky.sh", "#!/bin/sh\necho x > note\n", 0o755);
        bench.manifest("sneaky", |manifest| manifest["effect"] = json!("read_only"));
        let outcome = bench.call("sneaky", &json!({}));
        let support = crate::contained::KernelSupport::probe();
        let is_held = matches!(support.landlock, crate::contained::LandlockSupport::Available { .. });
        assert_eq!(bench.hands.workdir.join("note").exists(), !is_held, "{outcome:?}");
        assert!(outcome.side_effects.is_empty());
    }

    #[test]
    fn a_stop_ends_it_with_all_it_has_started() {
        let bench = bench();
        bench.put("long.sh", "#!/bin/sh\necho ready > ready\nsleep 600 & sleep 600\n", 0o755);
        bench.manifest("long", |_| {});
        let fifo = bench.hands.workdir.join("ready");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("a pipe");
        let outcome = std::thread::scope(|scope| {
            scope.spawn(|| {
                assert_eq!(fs::read_to_string(&fifo).expect("read"), "ready\n");
                let detail = StopDetail { reason: "test".into(), by: "test".into(), at: Some(Timestamp::UNIX_EPOCH) };
                assert!(bench.latch.raise(detail).0.children_killed >= 1);
            });
            bench.call("long", &json!({}))
        });
        assert_eq!(outcome.error_kind, Some(ErrorKind::Stopped), "{outcome:?}");
    }

    #[test]
    fn a_bad_manifest_is_named_with_its_fault_and_the_others_serve() {
        let bench = bench();
        bench.put("good.sh", "#!/bin/sh\necho fine\n", 0o755);
        bench.manifest("good", |_| {});
        bench.manifest("bash", |_| {});
        bench.manifest("odd", |manifest| manifest["colour"] = json!("red"));
        bench.manifest("empty", |manifest| manifest["command"] = json!([]));
        bench.put("open.json", "{}", 0o666);
        let (registry, faults) = bench.tools();
        assert!(registry.get("good").is_some());
        let whys: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert_eq!(whys.len(), 4, "{whys:?}");
        assert_eq!(registry.left_out(), whys, "who asks what there is hears of them");
        let expected = ["\"bash\" is registered already", "\"command\" is empty", "`colour`", "chmod go-w"];
        for (why, expected) in whys.iter().zip(expected) {
            assert!(why.contains(expected), "{why}");
        }
    }

    #[test]
    fn a_manifest_without_an_example_gets_one_from_what_it_requires() {
        let bench = bench();
        bench.put("feed.sh", "#!/bin/sh\necho fed\n", 0o755);
        bench.manifest("feed", |manifest| {
            let grams = json!({"type": "integer", "minimum": 5, "maximum": 100});
            let bowl = json!({"enum": ["blue", "red"]});
            manifest["parameters"] = json!({
                "type": "object", "required": ["grams", "bowl", "cat"],
                "properties": {"grams": grams, "bowl": bowl, "cat": {"type": "string"}, "note": {"type": "string"}},
            });
        });
        let (registry, faults) = bench.tools();
        assert_eq!(faults, []);
        let example = &registry.get("feed").expect("registered").spec.example;
        assert_eq!(*example, json!({"grams": 5, "bowl": "blue", "cat": "cat"}));
    }

    #[test]
    fn what_may_be_done_unasked_names_its_things_and_says_how_good_it_was() {
        let bench = bench();
        bench.put("warm.sh", "#!/bin/sh\necho '{\"reward\": 0.7}'\n", 0o755);
        bench.manifest("warm", |manifest| {
            (manifest["unasked"], manifest["scene"], manifest["serves"]) =
                (json!(true), json!(["Fire "]), json!("warmth"));
        });
        let (registry, _) = bench.tools();
        let spec = &registry.get("warm").expect("registered").spec;
        assert_eq!(
            (spec.unasked, spec.serves.as_deref(), &*spec.scene),
            (true, Some("warmth"), &["fire".to_owned()][..])
        );
        assert_eq!(bench.call("warm", &json!({})).reward, Some(0.7));
        bench.manifest("warm", |_| {});
        assert_eq!(bench.call("warm", &json!({})).reward, None, "a field of any other result is no reward");
        bench.manifest("alone", |manifest| manifest["unasked"] = json!(true));
        bench.manifest("picky", |manifest| {
            (manifest["unasked"], manifest["scene"]) = (json!(true), json!(["fire"]));
            manifest["parameters"]["required"] = json!(["harbour"]);
        });
        let whys: Vec<String> = bench.tools().1.iter().map(ToString::to_string).collect();
        assert_eq!(whys.len(), 2, "{whys:?}");
        assert!(whys[0].contains("\"scene\"") && whys[1].contains("default"), "{whys:?}");
    }

    #[test]
    fn the_agent_can_not_bring_itself_tools() {
        let bench = bench();
        let mut registry = core_registry().expect("good specs");
        let inside = bench.hands.workdir.join("tools");
        fs::create_dir(&inside).expect("made");
        let faults = register(&mut registry, &inside, &bench.hands.workdir);
        assert!(faults[0].why.contains("write tools for itself"), "{faults:?}");
    }

    #[test]
    fn the_network_switch_and_the_mode_hold_for_it_too() {
        let mut bench = bench();
        bench.put("net.sh", "#!/bin/sh\necho x\n", 0o755);
        bench.manifest("net", |manifest| manifest["network"] = json!(true));
        bench.hands.web = false;
        assert_eq!(bench.call("net", &json!({})).error_kind, Some(ErrorKind::Refused));
        bench.hands.web = true;
        bench.hands.mode = Mode::Passive;
        assert_eq!(bench.call("net", &json!({})).error_kind, Some(ErrorKind::Refused));
    }
}

//! execute_file: runs a script or program of the working folder in the sandbox.

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use maxim_bus::latch::Permit;
use serde_json::{Value, json};

use super::toolchains::with_toolchains;
use super::{deadline, folder, needs_active, program, writable};
use crate::bash::told;
use crate::blame::blamed;
use crate::contained::{ChildSpec, SandboxPolicy, run};
use crate::{Access, EffectClass, ErrorKind, FollowUp, Hands, Mode, Tool, ToolFailure, ToolOutcome, ToolSpec};

/// The interpreter for a file of this extension, if the file isn't executable.
const INTERPRETERS: &[(&str, &str)] = &[
    ("bash", "bash"),
    ("cjs", "node"),
    ("js", "node"),
    ("lua", "lua"),
    ("mjs", "node"),
    ("php", "php"),
    ("pl", "perl"),
    ("py", "python3"),
    ("r", "Rscript"),
    ("rb", "ruby"),
    ("sh", "sh"),
];

/// Runs a file. Output as for bash.
pub struct ExecuteFile(ToolSpec);

impl ExecuteFile {
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        let spec = ToolSpec::new(
            "execute_file",
            "Runs a script or program of the working folder in the sandbox: no network, no files outside the working folder. An executable file runs by itself, another by the interpreter of its ending (py, sh, js, rb, pl, …).",
        )
        .with_parameters(
            json!({
                "path": {"type": "string", "minLength": 1, "description": "the file, relative to the working folder"},
                "args": {"type": "array", "items": {"type": "string"}, "maxItems": 100, "default": [], "description": "its arguments"},
                "stdin": {"type": "string", "default": "", "description": "text for its standard input"},
                "cwd": {"type": "string", "minLength": 1, "default": ".", "description": "the folder to run it in, in the working folder"},
                "timeout_seconds": {"type": "integer", "minimum": 1, "maximum": 3600, "description": "ended after this; never longer than the agent's own bound"},
            }),
            &["path"],
        )
        .with_aliases(&[("file", "path"), ("script", "path"), ("arguments", "args"), ("input", "stdin"), ("timeout", "timeout_seconds")])
        .with_example(json!({"path": "scripts/report.py", "args": ["--short"]}))
        .with_speech(
            &["run", "execute", "start", "launch"],
            &["{verb} [the|this] (script|program|file|python script|shell script|node script) [called|named] {path:path}"],
        );
        Self(ToolSpec {
            effect: EffectClass::Irreversible,
            idempotent: false,
            required_mode: Mode::Active,
            follow_up: FollowUp::Process,
            ..spec
        })
    }
}

impl Tool for ExecuteFile {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run(&self, params: &Value, permit: &Permit<'_>, hands: &Hands) -> ToolOutcome {
        execute(params, permit, hands).into()
    }
}

fn execute(params: &Value, permit: &Permit<'_>, hands: &Hands) -> Result<ToolOutcome, ToolFailure> {
    needs_active("execute_file", hands)?;
    let path = hands.resolve(params["path"].as_str().unwrap_or_default(), Access::Read)?;
    let policy = with_toolchains(&hands.sandbox, &hands.home);
    let mut words = command(&path, &policy)?;
    let args = params["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
    words.extend(args.map(str::to_owned));
    if words.iter().any(|word| word.contains('\0')) {
        return Err(ToolFailure::new(ErrorKind::InvalidParameters, "args can't hold a NUL character"));
    }
    let deadline = deadline(params, hands);
    let shown = words.join(" ");
    let spec = ChildSpec {
        program: words.remove(0),
        args: words,
        cwd: folder(params["cwd"].as_str().unwrap_or("."), hands)?,
        writable: writable(hands)?,
        stdin: params["stdin"].as_str().unwrap_or_default().as_bytes().to_vec(),
        deadline,
        output_cap: hands.output_cap / 2,
    };
    let outcome = run(&spec, &policy, permit)?;
    Ok(blamed(told(&outcome, &shown, deadline), &spec.cwd, hands))
}

/// The words of the command that runs it.
fn command(path: &Path, policy: &SandboxPolicy) -> Result<Vec<String>, ToolFailure> {
    let meta = fs::metadata(path).map_err(|error| ToolFailure::io("can't run", path, &error))?;
    if !meta.is_file() {
        let message = format!("{} is no file; name a script or program", path.display());
        return Err(ToolFailure::new(ErrorKind::NotFound, message));
    }
    let own = path.display().to_string();
    if meta.permissions().mode() & 0o111 != 0 && starts_by_itself(path) {
        return Ok(vec![own]);
    }
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase()).unwrap_or_default();
    let Some((_, interpreter)) = INTERPRETERS.iter().find(|(known, _)| *known == ending) else {
        let message = format!(
            "{own} isn't executable and its ending names no interpreter; make it executable (chmod +x) with a first line such as #!/bin/sh, or run it by bash"
        );
        return Err(ToolFailure::new(ErrorKind::Failed, message));
    };
    let interpreter = program(policy, interpreter, &format!("install it to run {own}"))?;
    Ok(vec![interpreter.display().to_string(), own])
}

/// A first line that names its interpreter, or a program in the system's own form.
fn starts_by_itself(path: &Path) -> bool {
    let mut head = [0; 4];
    let read = fs::File::open(path).and_then(|mut file| file.read(&mut head));
    read.is_ok_and(|count| head[..count].starts_with(b"#!") || head[..count] == *b"\x7fELF")
}

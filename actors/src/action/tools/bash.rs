//! bash: a shell command, contained.

use std::path::{Path, PathBuf};
use std::time::Duration;

use maxim_bus::latch::Permit;
use serde_json::{Value, json};

use super::contained::{ChildOutcome, ChildSpec, Ending, run};
use super::{
    Access, EffectClass, ErrorKind, FollowUp, Hands, Mode, SideEffectKind, Tool, ToolFailure, ToolOutcome, ToolSpec,
};

/// Runs a command by bash. Output: `exit_code` or `signal`, `stdout`, `stderr`, and `sandbox`: what was enforced. It
/// succeeds when the exit code is 0.
pub struct Bash(ToolSpec);

impl Bash {
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        let spec = ToolSpec::new(
            "bash",
            "Runs a shell command in the working folder, in a sandbox: no network, no files outside the working folder, no input. Processes that it leaves in the background are ended.",
        )
        .with_parameters(
            json!({
                "command": {"type": "string", "minLength": 1, "description": "the command, as typed into bash"},
                "timeout_seconds": {"type": "integer", "minimum": 1, "maximum": 3600, "description": "ended after this; never longer than the agent's own bound"},
                "cwd": {"type": "string", "minLength": 1, "default": ".", "description": "the folder to run it in, in the working folder"},
            }),
            &["command"],
        )
        .with_aliases(&[("cmd", "command"), ("script", "command"), ("timeout", "timeout_seconds")])
        .with_example(json!({"command": "wc -l *.md", "timeout_seconds": 10}))
        .with_speech(
            &["run", "execute", "exec", "bash", "shell", "invoke", "perform"],
            &[
                "{verb} [the] [shell|bash|terminal] command {command:rest}",
                "{verb} {command:quoted} (in|inside) [the] [folder|directory] {cwd:path} [folder|directory]",
                "{verb} [(in|with) (bash|the shell|the terminal)] {command:rest}",
            ],
        )
        .with_speech(&[], &["(in|using|with) (bash|the shell|the terminal) [run|execute] {command:rest}"]);
        Self(ToolSpec {
            effect: EffectClass::Irreversible,
            idempotent: false,
            required_mode: Mode::Active,
            follow_up: FollowUp::Process,
            ..spec
        })
    }
}

impl Tool for Bash {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run(&self, params: &Value, permit: &Permit<'_>, hands: &Hands) -> ToolOutcome {
        execute(params, permit, hands).into()
    }
}

fn execute(params: &Value, permit: &Permit<'_>, hands: &Hands) -> Result<ToolOutcome, ToolFailure> {
    if hands.mode < Mode::Active {
        let message = format!("bash needs active mode; this is {} mode", hands.mode.as_str());
        return Err(ToolFailure::new(ErrorKind::Refused, message));
    }
    let command = params["command"].as_str().unwrap_or_default();
    if command.contains('\0') {
        return Err(ToolFailure::new(ErrorKind::InvalidParameters, "a command can't hold a NUL character"));
    }
    let cwd = hands.resolve(params["cwd"].as_str().unwrap_or("."), Access::Write)?;
    if !cwd.is_dir() {
        return Err(ToolFailure::new(ErrorKind::NotFound, format!("cwd {} is no folder", cwd.display())));
    }
    let asked = params["timeout_seconds"].as_u64().map(Duration::from_secs);
    let deadline = asked.map_or(hands.deadline, |asked| asked.min(hands.deadline));
    let spec = ChildSpec {
        program: bash()?.into(),
        args: ["--noprofile", "--norc", "-c", command].map(String::from).to_vec(),
        cwd,
        writable: vec![hands.root()?.unwrap_or_else(|| PathBuf::from("/"))],
        stdin: Vec::new(),
        deadline,
        output_cap: hands.output_cap / 2,
    };
    let outcome = run(&spec, &hands.sandbox, permit)?;
    Ok(told(&outcome, command, deadline))
}

fn bash() -> Result<&'static str, ToolFailure> {
    ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"]
        .into_iter()
        .find(|path| Path::new(path).is_file())
        .ok_or_else(|| ToolFailure::new(ErrorKind::Unavailable, "bash isn't on this machine; install it at /bin/bash"))
}

fn told(outcome: &ChildOutcome, command: &str, deadline: Duration) -> ToolOutcome {
    let mut output = json!({
        "stdout": outcome.stdout.text,
        "stderr": outcome.stderr.text,
        "sandbox": {"complete": outcome.report.is_complete(), "gaps": outcome.report.gaps()},
    });
    let cut = outcome.stdout.cut + outcome.stderr.cut;
    if cut > 0 {
        output["cut"] = format!("{cut} bytes of output are left out").into();
    }
    let failure = match outcome.ending {
        Ending::Exited(code) => {
            output["exit_code"] = code.into();
            (code != 0).then(|| (ErrorKind::Failed, format!("the command ended with exit code {code}")))
        }
        Ending::Killed(signal) => {
            output["signal"] = signal.into();
            Some((ErrorKind::Failed, format!("the command was ended by signal {signal}")))
        }
        Ending::DeadlinePassed => {
            let message = format!(
                "the command took longer than {} s and was ended with all it had started",
                deadline.as_secs_f64()
            );
            Some((ErrorKind::Timeout, message))
        }
        Ending::Stopped => Some((ErrorKind::Stopped, "the command was ended by the stop".to_owned())),
    };
    let outcome = match failure {
        None => ToolOutcome::done(output),
        Some((kind, message)) => ToolOutcome::failed(ToolFailure::new(kind, message)).with_output(output),
    };
    outcome.with_effect(SideEffectKind::ProcessRan, command)
}

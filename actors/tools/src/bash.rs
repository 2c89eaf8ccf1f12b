//! bash: a shell command, contained.

use std::path::Path;
use std::time::Duration;

use maxim_bus::latch::Permit;
use serde_json::{Value, json};

use super::blame::blamed;
use super::code::{deadline, needs_active, writable};
use super::contained::{ChildOutcome, ChildSpec, Ending, run};
use super::{
    Access, EffectClass, ErrorKind, FollowUp, Hands, Mode, SideEffectKind, Tool, ToolFailure, ToolOutcome, ToolSpec,
};

/// Runs a command with bash. Output: `exit_code` or `signal`, `stdout`, `stderr`, `cut` in words if output was left
/// out, and the fields that [`ChildOutcome::tell`] adds. Background processes that are left are ended. It succeeds if
/// the exit code is 0.
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
            &["run", "execute", "exec", "invoke", "perform"],
            &[
                "{verb} [the|this] [shell|bash|terminal] command {command:rest}",
                "{verb} {command:quoted} (in|inside) [the] [folder|directory] {cwd:path} [folder|directory]",
                "{verb} (in|with) (bash|the shell|the terminal) {command:rest}",
                "{verb} {command:quoted} [(in|with) (bash|the shell|the terminal)]",
            ],
        )
        .with_speech(&["run", "execute", "exec", "bash"], &["{verb} {command:rest}"])
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
    needs_active("bash", hands)?;
    let command = params["command"].as_str().unwrap_or_default();
    if command.contains('\0') {
        return Err(ToolFailure::new(ErrorKind::InvalidParameters, "a command can't hold a NUL character"));
    }
    let cwd = hands.resolve(params["cwd"].as_str().unwrap_or("."), Access::Write)?;
    if !cwd.is_dir() {
        return Err(ToolFailure::new(ErrorKind::NotFound, format!("cwd {} isn't a folder", cwd.display())));
    }
    let deadline = deadline(params, hands);
    let spec = ChildSpec {
        program: bash()?.into(),
        args: ["--noprofile", "--norc", "-c", command].map(String::from).to_vec(),
        cwd,
        writable: writable(hands)?,
        stdin: Vec::new(),
        deadline,
        output_cap: hands.output_cap / 2,
    };
    let outcome = run(&spec, &hands.sandbox, permit)?;
    Ok(blamed(told(&outcome, command, deadline), &spec.cwd, hands))
}

fn bash() -> Result<&'static str, ToolFailure> {
    ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"]
        .into_iter()
        .find(|path| Path::new(path).is_file())
        .ok_or_else(|| ToolFailure::new(ErrorKind::Unavailable, "bash isn't on this machine; install it at /bin/bash"))
}

/// The result of a command as bash and similar tools report it.
pub(super) fn told(outcome: &ChildOutcome, command: &str, deadline: Duration) -> ToolOutcome {
    let mut output = json!({"stdout": outcome.stdout.text, "stderr": outcome.stderr.text});
    outcome.tell(&mut output);
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
        Ending::DiskFilled => Some((ErrorKind::TooLarge, format!("the command {}", outcome.filled_in_words()))),
    };
    let outcome = match failure {
        None => ToolOutcome::done(output),
        Some((kind, message)) => ToolOutcome::failed(ToolFailure::new(kind, message)).with_output(output),
    };
    outcome.with_effect(SideEffectKind::ProcessRan, command)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use jiff::Timestamp;
    use maxim_bus::latch::{EffectKind, StopDetail, StopLatch};

    use super::*;

    struct Shell {
        folder: tempfile::TempDir,
        latch: StopLatch,
        hands: Hands,
    }

    fn shell() -> Shell {
        let folder = tempfile::tempdir().expect("a folder");
        let work = folder.path().join("work");
        fs::create_dir(&work).expect("made");
        let hands = Hands::new(work, Mode::Active, folder.path().join("saved"));
        Shell { folder, latch: StopLatch::in_memory(), hands }
    }

    impl Shell {
        fn call(&self, params: Value) -> ToolOutcome {
            let permit = self.latch.permit(EffectKind::Other).expect("not stopped");
            let registry = super::super::core_registry().expect("good specs");
            let params = registry.validate("bash", &params).expect("valid");
            registry.hands_on("bash").expect("bash").run(&params, &permit, &self.hands)
        }
    }

    #[test]
    fn a_command_that_succeeds_tells_its_output_and_that_a_process_ran() {
        let outcome = shell().call(json!({"cmd": "echo out; echo err >&2"}));
        assert!(outcome.success, "{outcome:?}");
        assert_eq!((&outcome.output["stdout"], &outcome.output["stderr"]), (&json!("out\n"), &json!("err\n")));
        assert_eq!(outcome.output["exit_code"], 0);
        assert_eq!(outcome.side_effects[0].kind, SideEffectKind::ProcessRan);
    }

    #[test]
    fn a_command_that_fails_is_told_with_its_code_and_its_output() {
        let outcome = shell().call(json!({"command": "echo so far; exit 3"}));
        assert_eq!(outcome.error_kind, Some(ErrorKind::Failed));
        assert!(outcome.error.as_deref().is_some_and(|error| error.contains("exit code 3")));
        assert_eq!(outcome.output["stdout"], "so far\n");
    }

    #[test]
    fn it_runs_in_the_working_folder_or_below_and_not_outside() {
        let shell = shell();
        fs::create_dir(shell.hands.workdir.join("sub")).expect("made");
        let outcome = shell.call(json!({"command": "pwd", "cwd": "sub"}));
        assert!(
            outcome.output["stdout"].as_str().is_some_and(|out| out.trim_end().ends_with("work/sub")),
            "{outcome:?}"
        );
        let outcome = shell.call(json!({"command": "pwd", "cwd": ".."}));
        assert_eq!(outcome.error_kind, Some(ErrorKind::Refused));
    }

    #[test]
    fn passive_mode_runs_nothing() {
        let mut shell = shell();
        shell.hands.mode = Mode::Passive;
        assert_eq!(shell.call(json!({"command": "touch x"})).error_kind, Some(ErrorKind::Refused));
    }

    #[test]
    fn the_deadline_is_the_shorter_of_what_is_asked_and_what_is_allowed() {
        let mut shell = shell();
        assert_eq!(shell.call(json!({"command": "sleep 600", "timeout": 1})).error_kind, Some(ErrorKind::Timeout));
        shell.hands.deadline = Duration::from_millis(50);
        let outcome = shell.call(json!({"command": "sleep 600", "timeout": 500}));
        assert_eq!(outcome.error_kind, Some(ErrorKind::Timeout));
        assert!(outcome.error.as_deref().is_some_and(|error| error.contains("0.05 s")), "{outcome:?}");
    }

    #[test]
    fn output_is_bounded_and_what_is_cut_is_said() {
        let mut shell = shell();
        shell.hands.output_cap = 2000;
        let outcome = shell.call(json!({"command": "head -c 5000000 /dev/zero | tr '\\0' x; echo end"}));
        let stdout = outcome.output["stdout"].as_str().expect("text");
        assert!(stdout.len() < 1100 && stdout.ends_with("end\n"), "{}", stdout.len());
        assert_eq!(outcome.output["cut"], "4999004 bytes of output are left out");
    }

    #[test]
    fn what_is_left_in_the_background_is_named() {
        // Until it is another program, the child has the name of the shell.
        let command =
            "sleep 600 >/dev/null 2>&1 & pid=$!; until [ \"$(cat /proc/$pid/comm)\" = sleep ]; do :; done; echo $pid";
        let outcome = shell().call(json!({"command": command}));
        let left = outcome.output["left_running"].as_str().unwrap_or_default();
        let pid = outcome.output["stdout"].as_str().unwrap_or_default().trim();
        assert_eq!(left, format!("1 process was left and was ended: sleep ({pid})"));
        assert_eq!(shell().call(json!({"command": "true"})).output.get("left_running"), None);
    }

    #[test]
    fn why_a_bit_of_a_folder_is_refused_is_told() {
        if super::super::contained::KernelSupport::probe().seccomp_missing.is_some() {
            return println!("SKIPPED: no seccomp here, so nothing is refused");
        }
        let shell = shell();
        for (command, is_told) in [
            ("mkdir d && chmod g+s d", true),
            ("mkdir -p e && chmod 2775 e", true),
            ("install -d -m 2775 f", true),
            ("git init -q --shared g", true),
            ("(unshare -U true; true)", true),
            ("chmod 0775 d && mkdir -m 775 h && git init -q i", false),
        ] {
            let outcome = shell.call(json!({"command": command}));
            let notes = outcome.output["sandbox_notes"].to_string();
            assert_eq!(notes.contains("setuid and setgid bits (on folders too"), is_told, "{command}: {outcome:?}");
        }
    }

    #[test]
    fn a_command_that_fills_the_disk_is_ended_and_that_is_told() {
        let mut shell = shell();
        shell.hands.sandbox.limits.disk_bytes = 8 << 20;
        let fill = "i=0; while :; do i=$((i+1)); head -c 1000000 /dev/zero > f$i; done";
        let outcome = shell.call(json!({"command": fill}));
        assert_eq!(outcome.error_kind, Some(ErrorKind::TooLarge), "{outcome:?}");
        let error = outcome.error.unwrap_or_default();
        assert!(error.contains("tools.disk_max = 8388608 bytes"), "{error}");
    }

    #[test]
    fn what_the_sandbox_lacks_is_in_the_output() {
        let outcome = shell().call(json!({"command": "true"}));
        let support = super::super::contained::KernelSupport::probe();
        let gaps = outcome.output["sandbox_gaps"].as_array().cloned().unwrap_or_default();
        let about = |what: &str| gaps.iter().any(|gap| gap.as_str().is_some_and(|gap| gap.starts_with(what)));
        assert_eq!(
            support.is_complete(),
            !(about("files") || about("signals") || about("network") || about("process group"))
        );
        assert_eq!(about("network"), support.seccomp_missing.is_some());
    }

    #[test]
    fn a_stop_ends_a_running_command() {
        let shell = shell();
        let fifo = shell.folder.path().join("work/ready");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("a pipe");
        let outcome = std::thread::scope(|scope| {
            // Reading the pipe waits until the command has come so far as to open it.
            scope.spawn(|| {
                assert_eq!(fs::read_to_string(&fifo).expect("read"), "ready\n");
                let detail = StopDetail { reason: "test".into(), by: "test".into(), at: Some(Timestamp::UNIX_EPOCH) };
                assert!(shell.latch.raise(detail).0.children_killed >= 1);
            });
            shell.call(json!({"command": "echo ready > ready; sleep 600 & sleep 600"}))
        });
        assert_eq!(outcome.error_kind, Some(ErrorKind::Stopped), "{outcome:?}");
        assert!(shell.latch.permit(EffectKind::Other).is_err());
    }
}

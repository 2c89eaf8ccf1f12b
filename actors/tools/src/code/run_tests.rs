//! run_tests: a project's own tests, counted.

use std::fs;
use std::path::Path;

use maxim_bus::latch::Permit;
use serde_json::{Value, json};

use super::readings::{self, Reading};
use super::toolchains::with_toolchains;
use super::{deadline, folder, needs_active, program, tail, writable};
use crate::contained::{ChildOutcome, ChildSpec, Ending, SandboxPolicy, run};
use crate::{EffectClass, ErrorKind, FollowUp, Hands, Mode, SideEffectKind, Tool, ToolFailure, ToolOutcome, ToolSpec};

/// Failures told one by one, at most.
const LISTED: usize = 20;
/// Bytes of output kept for reading the counts. In a big suite the totals are at the end.
const READ: usize = 8 * 1024 * 1024;
/// Bytes from the end of the output that are shown after a failure.
const SHOWN: usize = 6_000;

/// Runs the tests. Output: `framework`, `command`, `passed`, `failed`, `skipped` (null if the runner doesn't tell),
/// `failures` (`name`, `message`), `exit_code`, the fields that [`ChildOutcome::tell`] adds, and after a failure
/// `output`, the end of the output. It succeeds if tests ran and all passed.
pub struct RunTests(ToolSpec);

impl RunTests {
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        let spec = ToolSpec::new(
            "run_tests",
            "Runs the project's tests (cargo, pytest or unittest, npm, go) in the sandbox and counts what passed and failed. The framework is told by the files that are there.",
        )
        .with_parameters(
            json!({
                "framework": {"enum": ["auto", "cargo", "pytest", "unittest", "npm", "go"], "default": "auto", "description": "what runs them; auto looks which project files are there"},
                "path": {"type": "string", "minLength": 1, "default": ".", "description": "the project's folder"},
                "filter": {"type": "string", "minLength": 1, "maxLength": 300, "pattern": "^[^-]", "description": "only tests whose name holds this"},
                "timeout_seconds": {"type": "integer", "minimum": 1, "maximum": 3600, "description": "ended after this; never longer than the agent's own bound"},
            }),
            &[],
        )
        .with_aliases(&[("folder", "path"), ("directory", "path"), ("test", "filter"), ("name", "filter"), ("runner", "framework"), ("timeout", "timeout_seconds")])
        .with_example(json!({"framework": "cargo", "filter": "parser"}))
        .with_speech(
            &["run", "execute", "start", "launch", "do"],
            &[
                "{verb} [all] [the|our|my|your] [unit|project] (tests|test suite|tests of (the|this) project) [again|now]",
                "{verb} [all] [the|our|my|your] [unit] (tests|test suite) in [the] [folder|directory] {path:path}",
                "{verb} [all] [the] tests (matching|named|called) {filter:word}",
            ],
        )
        .with_speech(&[], &["test (the|this|my|our) (project|code)", "do [all] (the|our|my) tests [still] pass", "check (whether|if|that) [all] the tests [still] pass"])
        .with_phrase(&["run"], "{verb} (cargo test|the cargo tests|the rust tests)", &[("framework", json!("cargo"))])
        .with_phrase(&["run"], "{verb} (pytest|the pytest tests|the python tests)", &[("framework", json!("pytest"))])
        .with_phrase(&["run"], "{verb} (npm test|the npm tests|the node tests)", &[("framework", json!("npm"))])
        .with_phrase(&["run"], "{verb} (go test|the go tests)", &[("framework", json!("go"))]);
        Self(ToolSpec {
            effect: EffectClass::Irreversible,
            idempotent: false,
            required_mode: Mode::Active,
            follow_up: FollowUp::Process,
            ..spec
        })
    }
}

impl Tool for RunTests {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run(&self, params: &Value, permit: &Permit<'_>, hands: &Hands) -> ToolOutcome {
        test(params, permit, hands).into()
    }
}

/// One way of running tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framework {
    Cargo,
    Go,
    Npm,
    Pytest,
    Unittest,
}

impl Framework {
    const ALL: [(Self, &'static str); 5] = [
        (Self::Cargo, "cargo"),
        (Self::Go, "go"),
        (Self::Npm, "npm"),
        (Self::Pytest, "pytest"),
        (Self::Unittest, "unittest"),
    ];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(framework, _)| *framework == self).map_or("", |(_, name)| name)
    }

    /// By the project files of a folder, in the order of [`Self::ALL`].
    pub(super) fn found_in(folder: &Path) -> Option<Self> {
        let has = |name: &str| folder.join(name).exists();
        let python = ["pyproject.toml", "pytest.ini", "setup.py", "setup.cfg", "tox.ini", "conftest.py"];
        if has("Cargo.toml") {
            Some(Self::Cargo)
        } else if has("go.mod") {
            Some(Self::Go)
        } else if has("package.json") {
            Some(Self::Npm)
        } else if python.iter().any(|name| has(name)) || has_python_tests(folder) {
            Some(Self::Pytest)
        } else {
            None
        }
    }

    fn read(self, said: &str, errors: &str) -> Reading {
        match self {
            Self::Cargo => readings::cargo(said, errors),
            Self::Go => readings::go(said),
            Self::Npm => readings::npm(&format!("{said}\n{errors}")),
            Self::Pytest => readings::pytest(said),
            Self::Unittest => readings::unittest(errors),
        }
    }
}

fn has_python_tests(folder: &Path) -> bool {
    let in_folder = |folder: &Path| {
        fs::read_dir(folder).into_iter().flatten().flatten().any(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            name.ends_with(".py") && (name.starts_with("test_") || name.ends_with("_test.py"))
        })
    };
    in_folder(folder) || in_folder(&folder.join("tests"))
}

fn test(params: &Value, permit: &Permit<'_>, hands: &Hands) -> Result<ToolOutcome, ToolFailure> {
    needs_active("run_tests", hands)?;
    let folder = folder(params["path"].as_str().unwrap_or("."), hands)?;
    let asked = params["framework"].as_str().unwrap_or("auto");
    let asked = Framework::ALL.iter().find(|(_, name)| *name == asked).map(|(framework, _)| *framework);
    let framework = asked.or_else(|| Framework::found_in(&folder)).ok_or_else(|| {
        let message = format!(
            "{} holds no Cargo.toml, go.mod, package.json or Python tests; give the project's folder as path, or the framework",
            folder.display()
        );
        ToolFailure::new(ErrorKind::NotFound, message)
    })?;
    let policy = with_toolchains(&hands.sandbox, &hands.home);
    let call = Call { folder: &folder, policy: &policy, hands, permit };
    let (framework, words) = words(framework, asked.is_some(), params["filter"].as_str(), &call)?;
    let deadline = deadline(params, hands);
    let outcome = call.run(&words, deadline)?;
    let reading = framework.read(&outcome.stdout.text, &outcome.stderr.text);
    Ok(told(framework, &words, &reading, &outcome, deadline))
}

struct Call<'a> {
    folder: &'a Path,
    policy: &'a SandboxPolicy,
    hands: &'a Hands,
    permit: &'a Permit<'a>,
}

impl Call<'_> {
    fn run(&self, words: &[String], deadline: std::time::Duration) -> Result<ChildOutcome, ToolFailure> {
        let spec = ChildSpec {
            program: words.first().cloned().unwrap_or_default(),
            args: words.get(1..).unwrap_or_default().to_vec(),
            cwd: self.folder.to_owned(),
            writable: writable(self.hands)?,
            stdin: Vec::new(),
            deadline,
            output_cap: READ,
        };
        run(&spec, self.policy, self.permit)
    }

    fn program(&self, name: &str, fix: &str) -> Result<String, ToolFailure> {
        program(self.policy, name, fix).map(|path| path.display().to_string())
    }

    /// A Python of the project's own environment, else the machine's.
    fn python(&self) -> Result<String, ToolFailure> {
        let own = [".venv/bin/python", "venv/bin/python"].map(|place| self.folder.join(place));
        match own.into_iter().find(|path| path.exists()) {
            Some(path) => Ok(path.display().to_string()),
            None => self.program("python3", "install Python 3"),
        }
    }
}

/// The command, and what it really runs: unittest where pytest isn't there and nobody asked for it by name.
fn words(
    framework: Framework,
    was_named: bool,
    filter: Option<&str>,
    call: &Call<'_>,
) -> Result<(Framework, Vec<String>), ToolFailure> {
    let list = |first: String, rest: &[&str]| -> Vec<String> {
        std::iter::once(first).chain(rest.iter().map(|word| (*word).to_owned())).collect()
    };
    let filter: Vec<&str> = filter.into_iter().collect();
    let with = |words: &[&'static str], flag: &[&'static str], filter: &[&str]| -> Vec<String> {
        let flag = if filter.is_empty() { &[] } else { flag };
        words.iter().chain(flag).map(|word| (*word).to_owned()).chain(filter.iter().map(|f| (*f).to_owned())).collect()
    };
    match framework {
        Framework::Cargo => {
            let cargo = call.program("cargo", "install Rust by rustup")?;
            let rest = with(&["test", "--offline", "--no-fail-fast"], &["--"], &filter);
            Ok((framework, std::iter::once(cargo).chain(rest).collect()))
        }
        Framework::Go => {
            let go = call.program("go", "install Go, or give another framework")?;
            let rest = with(&["test", "-json", "./..."], &["-run"], &filter);
            Ok((framework, std::iter::once(go).chain(rest).collect()))
        }
        Framework::Npm => {
            let npm = call.program("npm", "install Node.js with npm")?;
            let rest = with(&["test", "--silent"], &["--"], &filter);
            Ok((framework, std::iter::once(npm).chain(rest).collect()))
        }
        Framework::Pytest | Framework::Unittest => {
            let python = call.python()?;
            let has_pytest = framework == Framework::Pytest && {
                let looked = call.run(&list(python.clone(), &["-c", "import pytest"]), call.hands.deadline)?;
                looked.ending == Ending::Exited(0)
            };
            if framework == Framework::Pytest && was_named && !has_pytest {
                let message = format!(
                    "pytest isn't installed for {python}; install it (pip install pytest), or give the framework unittest"
                );
                return Err(ToolFailure::new(ErrorKind::Unavailable, message));
            }
            if has_pytest {
                let fixed = ["-m", "pytest", "-q", "-rfE", "--tb=short", "-p", "no:cacheprovider"];
                let rest = with(&fixed, &["-k"], &filter);
                return Ok((Framework::Pytest, std::iter::once(python).chain(rest).collect()));
            }
            let rest = with(&["-m", "unittest", "discover", "-v"], &["-k"], &filter);
            Ok((Framework::Unittest, std::iter::once(python).chain(rest).collect()))
        }
    }
}

fn told(
    framework: Framework,
    words: &[String],
    reading: &Reading,
    outcome: &ChildOutcome,
    deadline: std::time::Duration,
) -> ToolOutcome {
    let command = words.join(" ");
    let shown: Vec<Value> = reading
        .failures
        .iter()
        .take(LISTED)
        .map(|failure| json!({"name": failure.name, "message": tail_of(&failure.message)}))
        .collect();
    let mut output = json!({
        "framework": framework.name(),
        "command": command,
        "passed": reading.passed,
        "failed": reading.failed,
        "skipped": reading.skipped,
        "failures": shown,
    });
    if reading.failures.len() > LISTED {
        output["cut"] = format!("{} more failures are left out", reading.failures.len() - LISTED).into();
    }
    outcome.tell(&mut output);
    if let Ending::Exited(code) = outcome.ending {
        output["exit_code"] = code.into();
    }
    let failure = match outcome.ending {
        Ending::Exited(0) if reading.passed != Some(0) || reading.failed.unwrap_or(0) > 0 => None,
        Ending::Exited(_) => Some((ErrorKind::Failed, why(reading))),
        Ending::Killed(signal) => Some((ErrorKind::Failed, format!("the test run was ended by signal {signal}"))),
        Ending::DeadlinePassed => {
            let message = format!("the tests took longer than {} s and were ended", deadline.as_secs_f64());
            Some((ErrorKind::Timeout, message))
        }
        Ending::Stopped => Some((ErrorKind::Stopped, "the tests were ended by the stop".to_owned())),
        Ending::DiskFilled => Some((ErrorKind::TooLarge, format!("the test run {}", outcome.filled_in_words()))),
    };
    let outcome = match failure {
        None => ToolOutcome::done(output),
        Some((kind, message)) => {
            let said = format!("{}\n{}", outcome.stdout.text.trim_end(), outcome.stderr.text.trim_end());
            output["output"] = tail(said.trim(), SHOWN).into();
            ToolOutcome::failed(ToolFailure::new(kind, message)).with_output(output)
        }
    };
    outcome.with_effect(SideEffectKind::ProcessRan, command)
}

fn tail_of(message: &str) -> &str {
    tail(message, 1_000)
}

fn why(reading: &Reading) -> String {
    match (reading.passed, reading.failed) {
        (Some(0) | None, Some(0)) | (Some(0), None) => match &reading.broken {
            Some(broken) => format!("no test ran: {broken}"),
            None => "no test ran; check the folder and the filter".into(),
        },
        (passed, Some(failed)) => {
            let names: Vec<&str> = reading.failures.iter().take(5).map(|failure| failure.name.as_str()).collect();
            let all = passed.unwrap_or(0) + failed;
            let more = if reading.failures.len() > names.len() { ", …" } else { "" };
            format!("{failed} of {all} tests failed: {}{more}", names.join(", "))
        }
        (_, None) => match &reading.broken {
            Some(broken) => format!("the test run failed: {broken}"),
            None => "the test run failed; see the output".into(),
        },
    }
}

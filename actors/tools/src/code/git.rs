//! Runs git in the sandbox.

use std::path::{Path, PathBuf};

use maxim_bus::latch::Permit;

use super::{program, tail, writable};
use crate::contained::{ChildOutcome, ChildSpec, Ending, run};
use crate::{ErrorKind, Hands, ToolFailure};

/// No setting of the repository may start a program, and git uses no pager and no colours.
const PLAIN: &[&str] = &["-c", "core.fsmonitor=false", "-c", "core.pager=cat", "-c", "color.ui=never", "--no-pager"];

/// One repository, and how git is called for it.
pub(super) struct Git<'a> {
    program: PathBuf,
    folder: &'a Path,
    hands: &'a Hands,
    permit: &'a Permit<'a>,
}

impl<'a> Git<'a> {
    /// An error names the fix if git is missing or the folder is in no repository.
    pub(super) fn open(folder: &'a Path, hands: &'a Hands, permit: &'a Permit<'a>) -> Result<Self, ToolFailure> {
        let fix = "install it, e.g. apt install git, dnf install git or apk add git";
        let git = Self { program: program(&hands.sandbox, "git", fix)?, folder, hands, permit };
        let inside = git.ask(&["rev-parse", "--is-inside-work-tree"])?;
        if inside.stdout.text.trim() != "true" {
            let said = inside.stderr.text.lines().next().unwrap_or_default();
            let message = format!(
                "{} is in no git repository that can be reached ({said}); make one with `git init`",
                folder.display()
            );
            return Err(ToolFailure::new(ErrorKind::NotFound, message));
        }
        Ok(git)
    }

    /// Runs a git command. The caller judges its exit.
    pub(super) fn ask(&self, args: &[&str]) -> Result<ChildOutcome, ToolFailure> {
        self.ask_with(args, "")
    }

    pub(super) fn ask_with(&self, args: &[&str], input: &str) -> Result<ChildOutcome, ToolFailure> {
        let mut policy = self.hands.sandbox.clone();
        let settled = [("GIT_TERMINAL_PROMPT", "0"), ("GIT_EDITOR", "true"), ("GIT_LITERAL_PATHSPECS", "1")];
        policy.environment.extend(settled.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let spec = ChildSpec {
            program: self.program.display().to_string(),
            args: PLAIN.iter().chain(args).map(|arg| (*arg).to_owned()).collect(),
            cwd: self.folder.to_owned(),
            writable: writable(self.hands)?,
            stdin: input.as_bytes().to_vec(),
            deadline: self.hands.deadline,
            output_cap: self.hands.output_cap,
        };
        let outcome = run(&spec, &policy, self.permit)?;
        match outcome.ending {
            Ending::Exited(_) => Ok(outcome),
            Ending::Stopped => Err(ToolFailure::new(ErrorKind::Stopped, "git was ended by the stop")),
            Ending::DeadlinePassed => {
                let message = format!("git took longer than {} s and was ended", self.hands.deadline.as_secs_f64());
                Err(ToolFailure::new(ErrorKind::Timeout, message))
            }
            Ending::Killed(signal) => {
                Err(ToolFailure::new(ErrorKind::Failed, format!("git was ended by signal {signal}")))
            }
            Ending::DiskFilled => {
                Err(ToolFailure::new(ErrorKind::TooLarge, format!("git {}", outcome.filled_in_words())))
            }
        }
    }

    /// The output of a command; an error if it fails.
    pub(super) fn told(&self, args: &[&str]) -> Result<String, ToolFailure> {
        self.told_with(args, "")
    }

    pub(super) fn told_with(&self, args: &[&str], input: &str) -> Result<String, ToolFailure> {
        let outcome = self.ask_with(args, input)?;
        match outcome.ending {
            Ending::Exited(0) => Ok(outcome.stdout.text),
            _ => {
                let said = [outcome.stderr.text.trim(), outcome.stdout.text.trim()];
                let said = said.into_iter().find(|said| !said.is_empty()).unwrap_or("it said nothing");
                let what = args.first().copied().unwrap_or_default();
                Err(ToolFailure::new(ErrorKind::Failed, format!("git {what} failed: {}", tail(said, 2000))))
            }
        }
    }

    /// Paths in a command's output, separated by NUL.
    pub(super) fn paths(&self, args: &[&str]) -> Result<Vec<String>, ToolFailure> {
        let told = self.told(args)?;
        Ok(told.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect())
    }
}

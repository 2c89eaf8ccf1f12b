//! The gate: a shell, restricted and in the run's group, that waits until it becomes the command.

use std::ffi::OsString;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, WaitOptions, waitpid};
use seccompiler::BpfProgram;

use super::clone_into::{self, Program};
use super::policy::SandboxPolicy;
use super::{ChildSpec, seccomp_layer};

const SHELL: &str = "/bin/sh";
/// Reads one line byte by byte (POSIX requires that of `read`), then becomes the program. The program gets the rest of
/// the input.
const SCRIPT: &str = "read -r _ && exec \"$@\"";

/// A started gate.
#[derive(Debug)]
pub(super) struct Gate {
    pub(super) stdin: Option<ChildStdin>,
    pub(super) stdout: Option<ChildStdout>,
    pub(super) stderr: Option<ChildStderr>,
    pid: u32,
    /// The child, if the standard library started it.
    child: Option<Child>,
    /// It was in the control group from the start.
    pub(super) is_in_cgroup: bool,
}

/// How it is started.
pub(super) struct Start<'run> {
    pub(super) spec: &'run ChildSpec,
    pub(super) policy: &'run SandboxPolicy,
    pub(super) scratch: &'run Path,
    pub(super) group: u32,
    /// Precedes the command.
    pub(super) wrapper: &'run [OsString],
    /// The filter that this thread doesn't have yet, because it refuses the call that starts a child in a control
    /// group.
    pub(super) last: Option<&'run BpfProgram>,
}

impl Gate {
    /// Starts in the control group if the kernel can do that; otherwise it is moved in later.
    pub(super) fn start(start: &Start<'_>, cgroup: Option<BorrowedFd<'_>>) -> io::Result<Self> {
        if let Some(cgroup) = cgroup {
            match start.begin_in_cgroup(cgroup) {
                Ok(gate) => return Ok(gate),
                Err(why) => tracing::debug!(%why, "a child is moved into its control group, which takes longer"),
            }
        }
        if let Some(last) = start.last {
            seccomp_layer::install(last).map_err(io::Error::other)?;
        }
        start.by_standard_library()
    }

    pub(super) fn id(&self) -> u32 {
        self.pid
    }

    pub(super) fn wait(&mut self) -> io::Result<ExitStatus> {
        if let Some(child) = &mut self.child {
            return child.wait();
        }
        // As the standard library does: close the input before waiting for the program's end.
        drop(self.stdin.take());
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        loop {
            match waitpid(pid, WaitOptions::empty()) {
                Ok(Some((_, status))) => return Ok(ExitStatus::from_raw(status.as_raw())),
                Ok(None) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Start<'_> {
    fn words(&self) -> impl Iterator<Item = OsString> {
        let shell = ["-c", SCRIPT, "gate"].map(OsString::from);
        let command = [&self.spec.program].into_iter().chain(&self.spec.args).map(OsString::from);
        shell.into_iter().chain(self.wrapper.iter().cloned()).chain(command)
    }

    fn begin_in_cgroup(&self, cgroup: BorrowedFd<'_>) -> io::Result<Gate> {
        let pipe = || pipe_with(PipeFlags::CLOEXEC);
        let ((stdin, to_stdin), (from_stdout, stdout), (from_stderr, stderr)) = (pipe()?, pipe()?, pipe()?);
        let program = Program {
            words: [SHELL.into()].into_iter().chain(self.words()).collect(),
            environment: self.policy.environment(self.scratch).into_iter().collect(),
            cwd: &self.spec.cwd,
            group: self.group,
            streams: [&stdin, &stdout, &stderr],
            filter: self.last,
        };
        let pid = clone_into::start(&program, cgroup)?;
        let (stdin, stdout, stderr): (OwnedFd, OwnedFd, OwnedFd) = (to_stdin, from_stdout, from_stderr);
        let (stdin, stdout, stderr) = (Some(stdin.into()), Some(stdout.into()), Some(stderr.into()));
        Ok(Gate { stdin, stdout, stderr, pid, child: None, is_in_cgroup: true })
    }

    fn by_standard_library(&self) -> io::Result<Gate> {
        let mut command = Command::new(SHELL);
        command.args(self.words()).current_dir(&self.spec.cwd);
        command.env_clear().envs(self.policy.environment(self.scratch));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(i32::try_from(self.group).unwrap_or(i32::MAX));
        let mut child = command.spawn()?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        Ok(Gate { stdin, stdout, stderr, pid: child.id(), child: Some(child), is_in_cgroup: false })
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::fd::AsFd;
    use std::time::Duration;

    use maxim_bus::latch::{EffectKind, StopLatch};

    use super::super::group::Group;
    use super::super::policy::Limits;
    use super::*;

    fn spec(script: &str) -> ChildSpec {
        ChildSpec {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), script.into()],
            cwd: "/usr".into(),
            writable: Vec::new(),
            stdin: Vec::new(),
            deadline: Duration::from_secs(20),
            output_cap: 4096,
        }
    }

    /// Both ways of starting give the same child: streams, folder, environment, group, signals; and in its control group.
    #[test]
    fn a_gate_is_the_same_whichever_way_it_is_started() {
        let latch = StopLatch::in_memory();
        let permit = latch.permit(EffectKind::Other).expect("not stopped");
        let group = Group::lead(&permit, &Limits::default()).expect("a group");
        let script = "read -r line; echo \"$line $PWD $TMPDIR $(cut -d' ' -f5 /proc/$$/stat)\"; \
                      grep -E '^(SigBlk|SigIgn|SigCgt|NoNewPrivs)' /proc/self/status; ls /proc/$$/fd; \
                      cat /proc/$$/cgroup >&2; exit 7";
        let (spec, policy) = (spec(script), SandboxPolicy::default());
        let start = Start {
            spec: &spec,
            policy: &policy,
            scratch: Path::new("/scratch"),
            group: group.id(),
            wrapper: &[],
            last: None,
        };
        let told = |mut gate: Gate| {
            gate.stdin.take().expect("its input").write_all(b"\nhello\n").expect("written");
            let (mut out, mut err) = (String::new(), String::new());
            gate.stdout.take().expect("its output").read_to_string(&mut out).expect("read");
            gate.stderr.take().expect("its errors").read_to_string(&mut err).expect("read");
            (out, err, gate.wait().expect("ended").code())
        };
        let usual = told(Gate::start(&start, None).expect("started"));
        assert!(usual.0.starts_with(&format!("hello /usr /scratch {}\n", group.id())), "{usual:?}");
        assert_eq!(usual.2, Some(7));
        let cgroup = match group.cgroup() {
            Ok(cgroup) => cgroup,
            Err(why) => return println!("SKIPPED: no control group of its own here: {why}"),
        };
        let gate = Gate::start(&start, Some(cgroup.handle().as_fd())).expect("started");
        assert_eq!(gate.is_in_cgroup, cfg!(target_arch = "x86_64"));
        if gate.is_in_cgroup {
            assert_eq!(cgroup.members(), [gate.id()]);
            let within = told(gate);
            // The C library keeps the signals above 31 to itself.
            let plain = |said: &str| {
                let ignored = said.lines().find_map(|line| line.strip_prefix("SigIgn:\t")).expect("told");
                let bits = u64::from_str_radix(ignored, 16).expect("hexadecimal") & 0x7fff_ffff;
                said.replace(&format!("SigIgn:\t{ignored}"), &format!("SigIgn:\t{bits:x}"))
            };
            assert_eq!((plain(&within.0), within.2), (plain(&usual.0), usual.2));
            assert!(within.1.contains("maxim-call-") && !usual.1.contains("maxim-call-"), "{} {}", within.1, usual.1);
        }
    }

    #[test]
    fn what_cannot_be_started_in_a_control_group_is_told_and_leaves_nothing() {
        let latch = StopLatch::in_memory();
        let permit = latch.permit(EffectKind::Other).expect("not stopped");
        let group = Group::lead(&permit, &Limits::default()).expect("a group");
        let Ok(cgroup) = group.cgroup() else { return println!("SKIPPED: no control group of its own here") };
        let spec = ChildSpec { cwd: "/nowhere".into(), ..spec("true") };
        let policy = SandboxPolicy::default();
        let (scratch, wrapper) = (Path::new("/scratch"), &[][..]);
        let start = Start { spec: &spec, policy: &policy, scratch, group: group.id(), wrapper, last: None };
        let failed = start.begin_in_cgroup(cgroup.handle().as_fd()).expect_err("no such folder");
        let expected = if cfg!(target_arch = "x86_64") { io::ErrorKind::NotFound } else { io::ErrorKind::Unsupported };
        assert_eq!(failed.kind(), expected);
        assert_eq!(cgroup.members(), Vec::<u32>::new());
        let failed = Gate::start(&start, Some(cgroup.handle().as_fd())).expect_err("nor by the other way");
        assert_eq!(failed.kind(), io::ErrorKind::NotFound);
    }
}

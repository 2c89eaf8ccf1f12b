//! Attempts to escape, and what ordinary commands can still do: with only the kernel's restrictions, and with
//! bubblewrap's namespaces too. If the kernel lacks a layer, the report must say so.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use jiff::Timestamp;
use maxim_actors::action::tools::contained::{
    Bubblewrap, ChildOutcome, ChildSpec, Ending, KernelSupport, LandlockSupport, Layer, LeftProcess, Network,
    OnMissing, SandboxPolicy, run,
};
use maxim_actors::action::tools::{ErrorKind, OwnFiles, ToolFailure};
use maxim_bus::latch::{EffectKind, StopDetail, StopLatch};

use crate::harness;

/// Each attempt twice.
macro_rules! attempts {
    ($($attempt:ident,)+) => {
        mod by_the_kernel {
            $(#[test] fn $attempt() { super::$attempt(super::place()); })+
        }
        mod in_namespaces {
            $(#[test] fn $attempt() { if let Some(place) = super::place_in_namespaces() { super::$attempt(place); } })+
        }
    };
}
pub(crate) use attempts;

attempts! {
    each_layer_of_a_run_is_enforced_or_reported_as_missing,
    a_sandbox_that_must_be_whole_runs_nothing_when_it_is_not,
    only_the_named_folders_can_be_reached,
    what_is_the_agents_own_in_a_writable_folder_is_kept_from_it,
    nothing_of_the_parents_environment_arrives,
    the_network_is_off_unless_the_policy_turns_it_on,
    local_sockets_are_refused_with_the_network_on_or_off,
    the_deadline_kills_children_and_grandchildren,
    what_is_left_in_the_background_is_killed_and_named_when_the_command_ends,
    the_group_cannot_be_left,
    what_a_call_writes_is_bounded,
    timeout_ends_its_command_and_not_the_shell_around_it,
    nobody_signals_everyone,
    processes_outside_cannot_be_signalled,
    the_command_gets_its_input_and_then_the_end_of_it,
    codes_and_signals_are_told_apart,
    limits_hold,
    ordinary_work_still_works,
    temporary_files_are_gone_afterwards,
    a_program_that_is_not_there_or_a_folder_that_is_not_there_is_told,
    a_child_of_root_has_power_over_files_alone,
    a_stop_ends_everything_at_once,
}

pub(crate) struct Place {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) policy: SandboxPolicy,
    pub(crate) latch: StopLatch,
    pub(crate) deadline: Duration,
    pub(crate) stdin: Vec<u8>,
}

pub(crate) fn place() -> Place {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("work")).expect("made");
    fs::create_dir(folder.path().join("outside")).expect("made");
    fs::write(folder.path().join("outside/secret"), "the secret").expect("written");
    let (policy, latch) = (SandboxPolicy::default(), StopLatch::in_memory());
    Place { folder, policy, latch, deadline: Duration::from_secs(120), stdin: Vec::new() }
}

/// The same with bubblewrap, if it works on this machine.
pub(crate) fn place_in_namespaces() -> Option<Place> {
    match Bubblewrap::find(&harness::program()) {
        Ok(bubblewrap) => {
            let mut place = place();
            place.policy.namespaces = Some(bubblewrap);
            Some(place)
        }
        Err(why) => {
            assert!(std::env::var_os("MAXIM_REQUIRE_COMPONENTS").is_none(), "bubblewrap: {why}");
            println!("SKIPPED: bubblewrap: {why}");
            None
        }
    }
}

impl Place {
    pub(crate) fn try_bash(&self, command: &str) -> Result<ChildOutcome, ToolFailure> {
        let permit = self.latch.permit(EffectKind::Other).expect("not stopped");
        let work = self.folder.path().join("work");
        let spec = ChildSpec {
            program: "bash".into(),
            args: ["--noprofile", "--norc", "-c", command].map(String::from).to_vec(),
            cwd: work.clone(),
            writable: vec![work],
            stdin: self.stdin.clone(),
            deadline: self.deadline,
            output_cap: 64 * 1024,
        };
        let outcome = run(&spec, &self.policy, &permit);
        assert_eq!(permit.groups(), 0, "nothing stays registered");
        outcome
    }

    pub(crate) fn bash(&self, command: &str) -> ChildOutcome {
        self.try_bash(command).expect("it runs")
    }

    pub(crate) fn is_in_namespaces(&self) -> bool {
        self.policy.namespaces.is_some()
    }

    /// Number of processes whose working folder is in this place.
    pub(crate) fn living(&self) -> usize {
        let processes = fs::read_dir("/proc").expect("proc").flatten();
        let is_here = |cwd: std::path::PathBuf| cwd.starts_with(self.folder.path());
        processes.filter(|entry| fs::read_link(entry.path().join("cwd")).is_ok_and(is_here)).count()
    }
}

pub(crate) fn landlock_abi() -> i32 {
    match KernelSupport::probe().landlock {
        LandlockSupport::Available { abi } => abi,
        LandlockSupport::Missing { .. } => 0,
    }
}

pub(crate) fn has_seccomp() -> bool {
    KernelSupport::probe().seccomp_missing.is_none()
}

fn each_layer_of_a_run_is_enforced_or_reported_as_missing(place: Place) {
    let report = place.bash("true").report;
    let abi = landlock_abi();
    assert_eq!(matches!(report.files, Layer::Enforced { .. }), abi >= 5, "{report:?}");
    assert_eq!(matches!(report.files, Layer::Missing { .. }), abi == 0, "{report:?}");
    assert_eq!(matches!(report.signals, Layer::Enforced { .. }), abi >= 6, "{report:?}");
    assert_eq!(matches!(report.network, Layer::Enforced { .. }), has_seccomp(), "{report:?}");
    assert_eq!(matches!(report.group, Layer::Enforced { .. }), has_seccomp(), "{report:?}");
    // For root, only a control group limits the number of processes.
    let is_counted = KernelSupport::probe().cgroup_controllers.iter().any(|controller| controller == "pids");
    let is_uncounted = rustix::process::geteuid().is_root() && !is_counted;
    assert_eq!(matches!(report.limits, Layer::Partial { .. }), is_uncounted, "{report:?}");
    let has_privileges = matches!(report.privileges, Layer::Missing { .. });
    assert_eq!(matches!(report.namespaces, Layer::Enforced { .. }), place.is_in_namespaces(), "{report:?}");
    assert_eq!(report.is_complete(), abi >= 6 && has_seccomp() && !is_uncounted && !has_privileges);
    assert_eq!(report.gaps().is_empty(), report.is_complete());
}

fn a_sandbox_that_must_be_whole_runs_nothing_when_it_is_not(place: Place) {
    let mut place = place;
    place.policy.on_missing = OnMissing::Refuse;
    let is_whole = place_is_whole(&place);
    match place.try_bash("echo ran > ran") {
        Ok(outcome) => assert!(is_whole && outcome.report.is_complete()),
        Err(failure) => {
            assert!(!is_whole);
            assert_eq!(failure.kind, ErrorKind::Refused);
            assert!(!place.folder.path().join("work/ran").exists(), "it waited at the gate and never ran");
        }
    }
}

fn place_is_whole(place: &Place) -> bool {
    let reporting = SandboxPolicy { on_missing: OnMissing::Report, ..place.policy.clone() };
    let other = Place { policy: reporting, ..self::place() };
    other.bash("true").report.is_complete()
}

fn only_the_named_folders_can_be_reached(place: Place) {
    if landlock_abi() == 0 {
        println!("SKIPPED: no Landlock here; the test of the report asserts that this is told");
        return;
    }
    let outcome =
        place.bash("echo mine > a && cat a && echo tmp > $TMPDIR/b && cat $TMPDIR/b; echo x > /dev/null && echo null");
    assert_eq!(outcome.stdout.text, "mine\ntmp\nnull\n", "{outcome:?}");
    let secret = place.folder.path().join("outside/secret");
    let secret = secret.display();
    let ways = [
        format!("cat {secret}"),
        format!("ln -s {secret} link && cat link"),
        format!("ln {secret} hard && cat hard"),
        "cat ../outside/secret".to_owned(),
        "cd ../outside && cat secret".to_owned(),
        format!("cat /proc/self/root{secret}"),
        format!("cat < {secret}"),
        "ls ../outside".to_owned(),
        format!("echo x > {secret}"),
        format!("mv a {secret}"),
        format!("rm {secret}"),
        "cat /etc/shadow".to_owned(),
        "echo x > /tmp/maxim-was-here".to_owned(),
        "echo x > /dev/tty".to_owned(),
        format!("mount --bind {} .", place.folder.path().join("outside").display()),
        // This process's environment, which might reveal a secret.
        format!("cat /proc/{}/environ", std::process::id()),
    ];
    for way in ways {
        let outcome = place.bash(&way);
        assert!(matches!(outcome.ending, Ending::Exited(1..)), "{way}: {outcome:?}");
        assert!(!outcome.stdout.text.contains("secret"), "{way}: {outcome:?}");
    }
    assert_eq!(fs::read_to_string(place.folder.path().join("outside/secret")).expect("still there"), "the secret");
}

fn nothing_of_the_parents_environment_arrives(place: Place) {
    let common = ["HOME", "LANG", "OLDPWD", "PATH", "PWD", "PYTHONDONTWRITEBYTECODE", "SHLVL", "TERM", "TMPDIR", "_"];
    let is_ours = |name: &str| common.contains(&name) || place.policy.environment.contains_key(name);
    let outcome = place.bash("env");
    let mut given = outcome.stdout.text.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name);
    assert!(given.clone().any(|name| name == "HOME"), "{outcome:?}");
    assert_eq!(given.find(|name| !is_ours(name)), None);
    assert!(std::env::vars().any(|(name, _)| !is_ours(&name)), "the parent has more, else this shows nothing");
}

fn the_network_is_off_unless_the_policy_turns_it_on(place: Place) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("set");
    let port = listener.local_addr().expect("bound").port();
    let connect = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected");
    let mut place = place;
    let outcome = place.bash(&connect);
    if has_seccomp() || landlock_abi() >= 4 {
        assert!(!outcome.stdout.text.contains("connected"), "{outcome:?}");
        assert!(listener.accept().is_err());
    }
    if !has_seccomp() {
        assert!(matches!(outcome.report.network, Layer::Missing { .. }));
    }
    place.policy.network = Network::On;
    let outcome = place.bash(&connect);
    assert_eq!(outcome.stdout.text, "connected\n", "{outcome:?}");
    assert_eq!(outcome.report.network, Layer::NotAsked);
    assert!(listener.accept().is_ok());
}

fn local_sockets_are_refused_with_the_network_on_or_off(place: Place) {
    if !has_seccomp() || !Path::new("/usr/bin/perl").exists() {
        println!("SKIPPED: needs seccomp and perl");
        return;
    }
    let mut place = place;
    let make = "perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0) or die $!; print qq(made)'";
    let pair = "perl -MSocket -e 'socketpair(A, B, AF_UNIX, SOCK_STREAM, 0) or die $!; print qq(made)'";
    for network in [Network::Off, Network::On] {
        place.policy.network = network;
        assert_eq!(place.bash(make).stdout.text, "", "{network:?}");
        assert_eq!(place.bash(pair).stdout.text, "made", "{network:?}");
    }
}

fn the_deadline_kills_children_and_grandchildren(place: Place) {
    let mut place = place;
    place.deadline = Duration::from_secs(2);
    let outcome = place
        .bash("sleep 600 & echo $!; (sleep 600 & echo $!; bash -c 'sleep 600 & echo $!; wait'; true) & echo $!; wait");
    assert_eq!(outcome.ending, Ending::DeadlinePassed);
    assert_eq!(outcome.stdout.text.lines().count(), 4, "{outcome:?}");
    assert_eq!(place.living(), 0, "{outcome:?}");
}

fn what_is_left_in_the_background_is_killed_and_named_when_the_command_ends(place: Place) {
    let outcome = place.bash("sleep 600 & echo $!; nohup sleep 600 >/dev/null 2>&1 & echo $!; (sleep 600 & echo $!)");
    assert_eq!(outcome.ending, Ending::Exited(0));
    assert_eq!(outcome.stdout.text.lines().count(), 3, "{outcome:?}");
    assert_eq!(place.living(), 0, "{outcome:?}");
    // A namespace ends all processes in it, so none may be left. A process that has just started still has its
    // parent's name.
    let is_sleep = |left: &LeftProcess| ["sleep", "bash", "nohup"].contains(&&*left.name);
    assert!(outcome.left.iter().all(is_sleep), "{:?}", outcome.left);
    assert!(outcome.left.len() == 3 || place.is_in_namespaces(), "{:?}", outcome.left);
    // A process that has closed everything that could reveal it.
    let quiet = place.bash("(setsid -f sleep 600; (sleep 600 &)) <&- >&- 2>&-");
    // A refused `setsid -f` has already forked, and its child may still run.
    let sleeping = quiet.left.iter().filter(|left| &*left.name != "setsid").count();
    assert!(sleeping == 1 || place.is_in_namespaces(), "{:?}", quiet.left);
    assert_eq!(place.living(), 0, "{quiet:?}");
    assert_eq!(place.bash("true").left, []);
}

fn the_group_cannot_be_left(place: Place) {
    if !has_seccomp() {
        println!("SKIPPED: no seccomp here; the test of the report asserts that this is told");
        return;
    }
    // Job control needs a process group for each job; setsid a session.
    let outcome =
        place.bash("set -m 2>/dev/null; sleep 600 2>/dev/null & echo $!; setsid -f sleep 600; setsid true; echo $?");
    let pids: Vec<&str> = outcome.stdout.text.lines().collect();
    assert_ne!(pids[1], "0", "setsid was refused: {outcome:?}");
    assert_eq!(place.living(), 0, "a process lives on in the working folder");
}

fn timeout_ends_its_command_and_not_the_shell_around_it(place: Place) {
    let outcome = place.bash("timeout 0.1 sleep 600; echo $?; echo after");
    assert_eq!((outcome.ending, outcome.stdout.text.as_str()), (Ending::Exited(0), "124\nafter\n"), "{outcome:?}");
}

fn nobody_signals_everyone(place: Place) {
    if !has_seccomp() {
        println!("SKIPPED: no seccomp here; the test of the report asserts that this is told");
        return;
    }
    // Signal 0 only tests whether a signal could be sent.
    let outcome = place.bash("kill -0 -- -1 2>/dev/null || echo refused");
    assert_eq!(outcome.stdout.text, "refused\n", "{outcome:?}");
}

fn processes_outside_cannot_be_signalled(place: Place) {
    if landlock_abi() < 6 {
        println!("SKIPPED: Landlock here doesn't know signals; the test of the report asserts that this is told");
        return;
    }
    let mut outside = Command::new("/bin/cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("cat");
    let outcome = place.bash(&format!("kill -9 {}", outside.id()));
    assert_eq!(outcome.ending, Ending::Exited(1), "{outcome:?}");
    drop(outside.stdin.take());
    assert_eq!(outside.wait().expect("ended").code(), Some(0), "it ended by itself, at the end of its input");
}

fn the_command_gets_its_input_and_then_the_end_of_it(place: Place) {
    let mut place = place;
    assert_eq!(place.bash("cat; echo end").stdout.text, "end\n");
    place.stdin = b"{\"a\":\n 1}".to_vec();
    assert_eq!(place.bash("cat").stdout.text, "{\"a\":\n 1}");
    place.stdin = vec![b'x'; 1 << 20];
    assert_eq!(place.bash("true").ending, Ending::Exited(0), "input that nobody reads holds nothing up");
}

fn codes_and_signals_are_told_apart(place: Place) {
    assert_eq!(place.bash("exit 7").ending, Ending::Exited(7));
    assert_eq!(place.bash("kill -TERM $$").ending, Ending::Killed(15));
    assert_eq!(place.bash("no_such_program_at_all").ending, Ending::Exited(127));
}

fn limits_hold(place: Place) {
    let mut place = place;
    place.policy.limits.file_bytes = 1 << 20;
    place.policy.limits.open_files = 64;
    place.policy.limits.memory_bytes = 256 << 20;
    let outcome = place.bash(
        "head -c 3000000 /dev/zero > big; ulimit -n; ulimit -d; ulimit -c; ulimit -n 100 2>/dev/null || echo low",
    );
    assert_eq!(outcome.stdout.text, "64\n262144\n0\nlow\n", "{outcome:?}");
    let big = fs::metadata(place.folder.path().join("work/big")).expect("begun").len();
    assert_eq!(big, 1 << 20);
    let hungry = "x=$(head -c 400000000 /dev/zero | tr '\\0' x); echo ${#x}";
    assert!(!place.bash(hungry).stdout.text.contains("400000000"));
}

fn what_a_call_writes_is_bounded(mut place: Place) {
    place.policy.limits.disk_bytes = 8 << 20;
    // In the working folder and among temporary files; by many short-lived processes; into an unnamed file; by the
    // number of files.
    let ways = [
        "i=0; while :; do i=$((i+1)); head -c 200000 /dev/zero > f$i; done",
        "i=0; while :; do i=$((i+1)); head -c 200000 /dev/zero > $TMPDIR/f$i; done",
        "exec 3<> gone; rm gone; while :; do head -c 200000 /dev/zero >&3; done",
    ];
    for way in ways {
        let outcome = place.bash(way);
        assert_eq!(outcome.ending, Ending::DiskFilled, "{way}: {outcome:?}");
        assert!(outcome.filled_in_words().contains("tools.disk_max = 8388608 bytes"), "{outcome:?}");
        place.bash("rm -f f*");
    }
    let outcome = place.bash("head -c 4000000 /dev/zero > f; sleep 0.3; rm f; yes | head -c 50000000 > /dev/null");
    assert_eq!((outcome.ending, outcome.filled), (Ending::Exited(0), None), "less than the bound, and pipes");
    // Only the growth of an existing file counts, whoever else writes.
    let old = place.folder.path().join("work/old");
    fs::write(&old, vec![1; 24 << 20]).expect("written");
    let Ok(born) = fs::metadata(&old).expect("there").created() else {
        println!("SKIPPED: this file system keeps no times of birth");
        return;
    };
    let second =
        |time: std::time::SystemTime| time.duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_secs();
    while second(std::time::SystemTime::now()) <= second(born) {
        std::thread::yield_now();
    }
    std::thread::scope(|scope| {
        let (begun, written) = (place.folder.path().join("work/appended"), place.folder.path().join("work/go-on"));
        let outside = place.folder.path().join("outside/other");
        scope.spawn(move || {
            while !begun.exists() {
                std::thread::yield_now();
            }
            fs::write(outside, vec![1; 32 << 20]).expect("written");
            fs::write(written, "").expect("written");
        });
        let outcome = place
            .bash("echo x >> old; touch appended; until test -e go-on; do sleep 0.05; done; echo y >> old; sleep 0.3");
        assert_eq!((outcome.ending, outcome.filled), (Ending::Exited(0), None), "four bytes more");
    });
    let outcome = place.bash("while :; do head -c 200000 /dev/zero >> old; done");
    assert_eq!(outcome.ending, Ending::DiskFilled, "{outcome:?}");
    let grown = fs::metadata(&old).expect("there").len().saturating_sub(24 << 20);
    println!("a file that was there grew by {grown} bytes of a bound of {}", 8 << 20);
    // Other processes may write without limit.
    let begun = place.folder.path().join("work/begun");
    std::thread::scope(|scope| {
        let outside = place.folder.path().join("outside/big");
        scope.spawn(move || {
            while !begun.exists() {
                std::thread::yield_now();
            }
            fs::write(outside, vec![1; 32 << 20]).expect("written");
        });
        let outcome =
            place.bash("touch begun; until test -s ../outside/big 2>/dev/null; do sleep 0.3; break; done; sleep 0.5");
        assert_eq!((outcome.ending, outcome.filled), (Ending::Exited(0), None));
    });
}

fn ordinary_work_still_works(place: Place) {
    let script = "mkdir -p a/b && printf 'b\\na\\n' > a/b/f && sort a/b/f | tr a-z A-Z && mv a/b/f a/g && chmod +x a/g \
                  && x=$(cat <(echo sub)) && echo $x && tar cf a.tar a && tar tf a.tar | wc -l && nproc > /dev/null && id -u > /dev/null && mktemp > /dev/null && rm -r a && ls";
    let outcome = place.bash(script);
    assert_eq!(outcome.stdout.text, "A\nB\nsub\n3\na.tar\n", "{outcome:?}");
    if Path::new("/usr/bin/git").exists() {
        let outcome = place.bash("git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m first && git log --format=%s");
        assert_eq!((outcome.stdout.text.as_str(), outcome.stderr.text.as_str()), ("first\n", ""), "{outcome:?}");
    }
    let own = "nice -n 5 true && timeout 5 true && taskset -c 0 true && chmod 1777 . && mkdir -m 700 d && ulimit -n 64 && \
               (sleep 0 & wait $!) && (trap 'echo trapped' TERM; kill -TERM $BASHPID) && set -m && (true) && echo fine";
    let outcome = place.bash(own);
    assert_eq!(outcome.stdout.text, "trapped\nfine\n", "{outcome:?}");
}

fn temporary_files_are_gone_afterwards(place: Place) {
    let outcome = place.bash("mkdir $TMPDIR/d && echo x > $TMPDIR/d/f && echo $TMPDIR");
    let scratch = outcome.stdout.text.trim_end();
    assert!(scratch.contains("maxim-"), "{outcome:?}");
    assert!(!Path::new(scratch).exists());
}

fn a_program_that_is_not_there_or_a_folder_that_is_not_there_is_told(place: Place) {
    let mut place = place;
    place.policy.path = "/nowhere".into();
    let outcome = place.bash("true");
    assert_eq!(outcome.ending, Ending::Exited(127));
    assert!(outcome.stderr.text.contains("bash"), "{outcome:?}");
    fs::remove_dir(place.folder.path().join("work")).expect("removed");
    let failure = place.try_bash("true").expect_err("no folder");
    assert!(failure.message.contains("work"), "{failure}");
}

fn a_child_of_root_has_power_over_files_alone(place: Place) {
    let outcome = place.bash("grep CapEff /proc/self/status");
    match outcome.report.privileges {
        Layer::Enforced { .. } => {
            let bits = outcome.stdout.text.split_ascii_whitespace().nth(1).expect("capabilities");
            let bits = u64::from_str_radix(bits, 16).expect("hexadecimal");
            // CAP_CHOWN 0, CAP_DAC_OVERRIDE 1, CAP_FOWNER 3: owners and modes only where mounts limit them.
            let most = if place.is_in_namespaces() { 0b1011 } else { 0b10 };
            assert_eq!(bits & !most, 0, "{outcome:?}");
        }
        Layer::Missing { ref why } => assert!(why.contains("setpriv"), "{outcome:?}"),
        _ => panic!("{outcome:?}"),
    }
}

fn a_stop_ends_everything_at_once(place: Place) {
    let fifo = place.folder.path().join("work/ready");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("a pipe");
    let outcome = std::thread::scope(|scope| {
        // Reading the pipe waits until the command has opened it.
        scope.spawn(|| {
            assert_eq!(fs::read_to_string(&fifo).expect("read"), "ready\n");
            assert!(place.living() >= 3, "it sees those that run");
            let detail = StopDetail { reason: "test".into(), by: "test".into(), at: Some(Timestamp::UNIX_EPOCH) };
            let killed = place.latch.raise(detail).0.children_killed;
            assert!(killed >= 4, "bash and what it has started: {killed}");
        });
        place.bash("sleep 600 & (sleep 600 & sleep 600) & (setsid -f sleep 600; true); echo ready > ready; sleep 600")
    });
    assert_eq!((outcome.ending, place.living()), (Ending::Stopped, 0), "{outcome:?}");
}

/// Landlock still reveals metadata of files that it refuses to open: their existence, size and modification time. It
/// also hides no processes.
#[test]
fn in_namespaces_nothing_else_is_even_there() {
    let Some(place) = place_in_namespaces() else { return };
    let secret = place.folder.path().join("outside/secret").display().to_string();
    let mut other = Command::new("/bin/cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("cat");
    let of_other = format!("/proc/{}", other.id());
    let alone = self::place();
    for (look, is_open) in [
        (
            format!("stat -c %s {secret}"),
            format!("stat -c %s {}", alone.folder.path().join("outside/secret").display()),
        ),
        ("test -e /etc/shadow && echo there".into(), "test -e /etc/shadow && echo there".into()),
        (format!("test -d {of_other} && echo there"), format!("test -d {of_other} && echo there")),
        ("test -d /root -o -d /home && echo there".into(), "test -d /root -o -d /home && echo there".into()),
    ] {
        let without = alone.bash(&is_open);
        assert!(!without.stdout.text.is_empty(), "without namespaces it is seen, else this shows nothing: {without:?}");
        let within = place.bash(&look);
        assert!(within.stdout.text.is_empty() && within.ending != Ending::Exited(0), "{look}: {within:?}");
    }
    let mine = place.bash("for p in /proc/[0-9]*; do echo $p; done | wc -l").stdout.text;
    assert!(mine.trim().parse::<usize>().is_ok_and(|count| count < 12), "{mine}");
    assert_eq!(place.bash("wc -l < /proc/net/dev").stdout.text.trim(), "3", "a loopback of its own and nothing else");
    assert_eq!(place.bash("ls /proc/sysvipc >/dev/null; ipcs -m 2>/dev/null | grep -c 0x").stdout.text.trim(), "0");
    drop(other.stdin.take());
    assert!(other.wait().expect("ended").success());
}

#[test]
fn in_namespaces_the_working_folder_may_be_anything_or_everything() {
    let Some(mut place) = place_in_namespaces() else { return };
    place.policy.network = Network::On;
    assert_eq!(place.bash("test $(wc -l < /proc/net/dev) -ge 3 && echo > /dev/null && pwd").ending, Ending::Exited(0));
    let permit = place.latch.permit(EffectKind::Other).expect("not stopped");
    let outside = place.folder.path().join("outside");
    let spec = ChildSpec {
        program: "sh".into(),
        args: vec!["-c".into(), "cat secret && echo more > more && echo > /dev/null && ls /etc/shadow".into()],
        cwd: outside.clone(),
        writable: vec!["/".into()],
        stdin: Vec::new(),
        deadline: place.deadline,
        output_cap: 4096,
    };
    let outcome = run(&spec, &place.policy, &permit).expect("it runs");
    assert_eq!(outcome.ending, Ending::Exited(0), "{outcome:?}");
    assert_eq!(fs::read_to_string(outside.join("more")).expect("written"), "more\n");
}

fn what_is_the_agents_own_in_a_writable_folder_is_kept_from_it(mut place: Place) {
    let work = place.folder.path().join("work");
    let (configuration, data) = (work.join("maxim.toml"), work.join(".data"));
    fs::create_dir(&data).expect("made");
    fs::write(data.join("latch.json"), "a latch").expect("written");
    fs::write(&configuration, "a mode").expect("written");
    fs::write(work.join("free"), "").expect("written");
    place.policy.own = OwnFiles::new([configuration.clone()], [data.clone()]);
    let ways = "cat maxim.toml .data/latch.json; echo more >> maxim.toml; mv maxim.toml y; rm -f maxim.toml; \
                echo x > .data/new; rm -rf .data; echo free > free";
    if landlock_abi() == 0 && !place.is_in_namespaces() {
        let refused = place.try_bash(ways).expect_err("nothing would keep it");
        assert!(refused.message.contains("tools.expose_own_data = true"), "{refused}");
        return;
    }
    let outcome = place.bash(ways);
    assert_eq!(fs::read_to_string(work.join("free")).expect("written"), "free\n");
    assert!(outcome.stdout.text.contains("a mode"), "it may be read: {outcome:?}");
    assert_eq!(fs::read_to_string(&configuration).expect("there"), "a mode");
    assert_eq!(fs::read_to_string(data.join("latch.json")).expect("there"), "a latch");
    assert!(!data.join("new").exists() && !outcome.stdout.text.contains("a latch"), "{outcome:?}");
    let notes = outcome.report.notes.join("; ");
    assert_eq!(notes.contains("nothing new can be made"), !place.is_in_namespaces(), "{notes}");
}

#[test]
fn the_daemon_runs_its_tools_in_namespaces_where_it_can_and_says_so() {
    let usable = place_in_namespaces().is_some();
    let place = harness::Place::new();
    let look = "run the command stat -c found-%n /root";
    let daemon = place.start();
    let state = daemon.get("/v1/status").1["sandbox"]["bubblewrap"]["state"].clone();
    assert_eq!(state, if usable { "used" } else { "unusable" });
    daemon.until("it has told", || daemon.heard().contains("sandbox: bubblewrap: "));
    assert_eq!(daemon.say(look)["reply"].to_string().contains("found-/root"), !usable);
    assert_eq!(daemon.end(), 0);
    fs::write(place.work().join("maxim.toml"), "[tools]\nbubblewrap = \"off\"\n").expect("written");
    let daemon = place.start();
    assert_eq!(daemon.get("/v1/status").1["sandbox"]["bubblewrap"]["state"], "off");
    let answer = daemon.say(look);
    assert!(answer["reply"].to_string().contains("found-/root"), "{answer}");
}

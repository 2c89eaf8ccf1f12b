//! Attempts to get out, and what ordinary commands still can do. Where the kernel lacks a layer the report must say so.

use std::fs;
use std::net::TcpListener;
use std::process::Stdio;

use maxim_bus::latch::{EffectKind, StopLatch};

use super::*;

struct Place {
    folder: tempfile::TempDir,
    policy: SandboxPolicy,
    deadline: Duration,
    stdin: Vec<u8>,
}

fn place() -> Place {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("work")).expect("made");
    fs::create_dir(folder.path().join("outside")).expect("made");
    fs::write(folder.path().join("outside/secret"), "the secret").expect("written");
    Place { folder, policy: SandboxPolicy::default(), deadline: Duration::from_secs(120), stdin: Vec::new() }
}

impl Place {
    fn try_bash(&self, command: &str) -> Result<ChildOutcome, ToolFailure> {
        let latch = StopLatch::in_memory();
        let permit = latch.permit(EffectKind::Other).expect("not stopped");
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

    fn bash(&self, command: &str) -> ChildOutcome {
        self.try_bash(command).expect("it runs")
    }
}

/// Each process id that the command has printed, a line each.
fn pids(outcome: &ChildOutcome) -> Vec<u32> {
    outcome.stdout.text.lines().map(|line| line.parse().expect("a process id")).collect()
}

/// Gone, or dead and waiting for its parent to notice.
fn is_dead(pid: u32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return true };
    stat.rsplit(')').next().is_some_and(|rest| matches!(rest.trim_start().chars().next(), Some('Z' | 'X')))
}

fn landlock_abi() -> i32 {
    match KernelSupport::probe().landlock {
        LandlockSupport::Available { abi } => abi,
        LandlockSupport::Missing { .. } => 0,
    }
}

fn has_seccomp() -> bool {
    KernelSupport::probe().seccomp_missing.is_none()
}

#[test]
fn each_layer_of_a_run_is_enforced_or_reported_as_missing() {
    let report = place().bash("true").report;
    let abi = landlock_abi();
    assert_eq!(matches!(report.files, Layer::Enforced { .. }), abi >= 5, "{report:?}");
    assert_eq!(matches!(report.files, Layer::Missing { .. }), abi == 0, "{report:?}");
    assert_eq!(matches!(report.signals, Layer::Enforced { .. }), abi >= 6, "{report:?}");
    assert_eq!(matches!(report.network, Layer::Enforced { .. }), has_seccomp(), "{report:?}");
    assert_eq!(matches!(report.group, Layer::Enforced { .. }), has_seccomp(), "{report:?}");
    let is_root = rustix::process::geteuid().is_root();
    assert_eq!(matches!(report.limits, Layer::Partial { .. }), is_root, "{report:?}");
    let has_privileges = matches!(report.privileges, Layer::Missing { .. });
    assert_eq!(report.is_complete(), abi >= 6 && has_seccomp() && !is_root && !has_privileges);
    assert_eq!(report.gaps().is_empty(), report.is_complete());
}

#[test]
fn what_the_kernel_lacks_is_told_in_words() {
    let whole = KernelSupport {
        landlock: LandlockSupport::Available { abi: 6 },
        seccomp_missing: None,
        user_namespaces: false,
    };
    assert!(whole.is_complete() && whole.lines().iter().all(|(well, _)| *well));
    let none = KernelSupport {
        landlock: LandlockSupport::Missing { why: "not in the kernel".into() },
        seccomp_missing: Some("the kernel refused the filter".into()),
        user_namespaces: false,
    };
    let bad: Vec<String> = none.lines().into_iter().filter(|(well, _)| !well).map(|(_, line)| line).collect();
    assert_eq!(bad.len(), 2);
    assert!(bad[0].contains("not in the kernel") && bad[0].contains("REACH ALL FILES"));
    assert!(bad[1].contains("HAVE THE NETWORK"));
}

#[test]
fn a_sandbox_that_must_be_whole_runs_nothing_when_it_is_not() {
    let mut place = place();
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

#[test]
fn only_the_named_folders_can_be_reached() {
    if landlock_abi() == 0 {
        println!("SKIPPED: no Landlock here; the test of the report asserts that this is told");
        return;
    }
    let place = place();
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
        format!("rm -f {secret}"),
        "cat /etc/shadow".to_owned(),
        "echo x > /tmp/maxim-was-here".to_owned(),
        "echo x > /dev/tty".to_owned(),
        format!("mount --bind {} .", place.folder.path().join("outside").display()),
        // The environment of this process, through which a secret could come.
        format!("cat /proc/{}/environ", std::process::id()),
    ];
    for way in ways {
        let outcome = place.bash(&way);
        assert!(matches!(outcome.ending, Ending::Exited(1..)), "{way}: {outcome:?}");
        assert!(!outcome.stdout.text.contains("secret"), "{way}: {outcome:?}");
    }
    assert_eq!(fs::read_to_string(place.folder.path().join("outside/secret")).expect("still there"), "the secret");
}

#[test]
fn nothing_of_the_parents_environment_arrives() {
    let place = place();
    let common = ["HOME", "LANG", "OLDPWD", "PATH", "PWD", "SHLVL", "TERM", "TMPDIR", "_"];
    let is_ours = |name: &str| common.contains(&name) || place.policy.environment.contains_key(name);
    let outcome = place.bash("env");
    let mut given = outcome.stdout.text.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name);
    assert!(given.clone().any(|name| name == "HOME"), "{outcome:?}");
    assert_eq!(given.find(|name| !is_ours(name)), None);
    assert!(std::env::vars().any(|(name, _)| !is_ours(&name)), "the parent has more, else this shows nothing");
}

#[test]
fn the_network_is_off_unless_the_policy_turns_it_on() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("set");
    let port = listener.local_addr().expect("bound").port();
    let connect = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected");
    let mut place = place();
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

#[test]
fn local_sockets_are_refused_with_the_network_on_or_off() {
    if !has_seccomp() || !Path::new("/usr/bin/perl").exists() {
        println!("SKIPPED: needs seccomp and perl");
        return;
    }
    let mut place = place();
    let make = "perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0) or die $!; print qq(made)'";
    let pair = "perl -MSocket -e 'socketpair(A, B, AF_UNIX, SOCK_STREAM, 0) or die $!; print qq(made)'";
    for network in [Network::Off, Network::On] {
        place.policy.network = network;
        assert_eq!(place.bash(make).stdout.text, "", "{network:?}");
        assert_eq!(place.bash(pair).stdout.text, "made", "{network:?}");
    }
}

#[test]
fn the_deadline_kills_children_and_grandchildren() {
    let mut place = place();
    place.deadline = Duration::from_secs(2);
    let outcome = place
        .bash("sleep 600 & echo $!; (sleep 600 & echo $!; bash -c 'sleep 600 & echo $!; wait'; true) & echo $!; wait");
    assert_eq!(outcome.ending, Ending::DeadlinePassed);
    let pids = pids(&outcome);
    assert_eq!(pids.len(), 4, "{outcome:?}");
    assert!(pids.iter().all(|pid| is_dead(*pid)), "{pids:?}");
}

#[test]
fn what_is_left_in_the_background_is_killed_when_the_command_ends() {
    let outcome = place().bash("sleep 600 & echo $!; nohup sleep 600 >/dev/null 2>&1 & echo $!; (sleep 600 & echo $!)");
    assert_eq!(outcome.ending, Ending::Exited(0));
    let pids = pids(&outcome);
    assert_eq!(pids.len(), 3, "{outcome:?}");
    assert!(pids.iter().all(|pid| is_dead(*pid)), "{pids:?}");
}

#[test]
fn the_group_cannot_be_left() {
    if !has_seccomp() {
        println!("SKIPPED: no seccomp here; the test of the report asserts that this is told");
        return;
    }
    let place = place();
    // Job control asks for a group of its own for each job; setsid for a session.
    let outcome =
        place.bash("set -m 2>/dev/null; sleep 600 2>/dev/null & echo $!; setsid -f sleep 600; setsid true; echo $?");
    let pids: Vec<&str> = outcome.stdout.text.lines().collect();
    assert!(is_dead(pids[0].parse().expect("a process id")), "{outcome:?}");
    assert_ne!(pids[1], "0", "setsid was refused: {outcome:?}");
    let still = fs::read_dir("/proc")
        .expect("proc")
        .flatten()
        .any(|entry| fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(place.folder.path())));
    assert!(!still, "a process lives on in the working folder");
}

#[test]
fn timeout_ends_its_command_and_not_the_shell_around_it() {
    let outcome = place().bash("timeout 0.1 sleep 600; echo $?; echo after");
    assert_eq!((outcome.ending, outcome.stdout.text.as_str()), (Ending::Exited(0), "124\nafter\n"), "{outcome:?}");
}

#[test]
fn nobody_signals_everyone() {
    if !has_seccomp() {
        println!("SKIPPED: no seccomp here; the test of the report asserts that this is told");
        return;
    }
    // Signal 0 asks whether one could be sent.
    let outcome = place().bash("kill -0 -- -1 2>/dev/null || echo refused");
    assert_eq!(outcome.stdout.text, "refused\n", "{outcome:?}");
}

#[test]
fn processes_outside_cannot_be_signalled() {
    if landlock_abi() < 6 {
        println!("SKIPPED: Landlock here doesn't know signals; the test of the report asserts that this is told");
        return;
    }
    let mut outside = Command::new("/bin/cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("cat");
    let outcome = place().bash(&format!("kill -9 {}", outside.id()));
    assert_eq!(outcome.ending, Ending::Exited(1), "{outcome:?}");
    drop(outside.stdin.take());
    assert_eq!(outside.wait().expect("ended").code(), Some(0), "it ended by itself, at the end of its input");
}

#[test]
fn the_command_gets_its_input_and_then_the_end_of_it() {
    let mut place = place();
    assert_eq!(place.bash("cat; echo end").stdout.text, "end\n");
    place.stdin = b"{\"a\":\n 1}".to_vec();
    assert_eq!(place.bash("cat").stdout.text, "{\"a\":\n 1}");
    place.stdin = vec![b'x'; 1 << 20];
    assert_eq!(place.bash("true").ending, Ending::Exited(0), "input that nobody reads holds nothing up");
}

#[test]
fn codes_and_signals_are_told_apart() {
    let place = place();
    assert_eq!(place.bash("exit 7").ending, Ending::Exited(7));
    assert_eq!(place.bash("kill -TERM $$").ending, Ending::Killed(15));
    assert_eq!(place.bash("no_such_program_at_all").ending, Ending::Exited(127));
}

#[test]
fn limits_hold() {
    let mut place = place();
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

#[test]
fn ordinary_work_still_works() {
    let place = place();
    let script = "mkdir -p a/b && printf 'b\\na\\n' > a/b/f && sort a/b/f | tr a-z A-Z && mv a/b/f a/g && chmod +x a/g \
                  && x=$(cat <(echo sub)) && echo $x && tar cf a.tar a && tar tf a.tar | wc -l && nproc > /dev/null && id -u > /dev/null && mktemp > /dev/null && rm -r a && ls";
    let outcome = place.bash(script);
    assert_eq!(outcome.stdout.text, "A\nB\nsub\n3\na.tar\n", "{outcome:?}");
    if Path::new("/usr/bin/git").exists() {
        let outcome = place.bash("git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m first && git log --format=%s");
        assert_eq!((outcome.stdout.text.as_str(), outcome.stderr.text.as_str()), ("first\n", ""), "{outcome:?}");
    }
}

#[test]
fn temporary_files_are_gone_afterwards() {
    let outcome = place().bash("mkdir $TMPDIR/d && echo x > $TMPDIR/d/f && echo $TMPDIR");
    let scratch = outcome.stdout.text.trim_end();
    assert!(scratch.contains("maxim-"), "{outcome:?}");
    assert!(!Path::new(scratch).exists());
}

#[test]
fn a_program_that_is_not_there_or_a_folder_that_is_not_there_is_told() {
    let mut place = place();
    place.policy.path = "/nowhere".into();
    let outcome = place.bash("true");
    assert_eq!(outcome.ending, Ending::Exited(127));
    assert!(outcome.stderr.text.contains("bash"), "{outcome:?}");
    fs::remove_dir(place.folder.path().join("work")).expect("removed");
    let failure = place.try_bash("true").expect_err("no folder");
    assert!(failure.message.contains("work"), "{failure}");
}

#[test]
fn a_child_of_root_has_power_over_files_alone() {
    let outcome = place().bash("grep CapEff /proc/self/status");
    match outcome.report.privileges {
        Layer::Enforced { .. } => {
            let bits = outcome.stdout.text.split_ascii_whitespace().nth(1).expect("capabilities");
            let bits = u64::from_str_radix(bits, 16).expect("hexadecimal");
            // CAP_CHOWN 0, CAP_DAC_OVERRIDE 1, CAP_FOWNER 3, CAP_FSETID 4.
            assert_eq!(bits & !0b1_1011, 0, "{outcome:?}");
        }
        Layer::Missing { ref why } => assert!(why.contains("setpriv"), "{outcome:?}"),
        _ => panic!("{outcome:?}"),
    }
}

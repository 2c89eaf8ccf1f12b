//! System calls that the sandbox refuses, for this user and for a user other than root.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use maxim_actors::action::tools::ErrorKind;
use maxim_actors::action::tools::contained::{ChildOutcome, ChildSpec, Ending, Network, run};
use maxim_bus::latch::EffectKind;
use rustix::process::geteuid;

use crate::escapes::{Place, attempts, has_seccomp, landlock_abi, place, place_in_namespaces};
use crate::harness;
use crate::raw_calls::{ANSWER, ORDER};

attempts! {
    each_call_is_answered_as_it_must_be,
    nothing_of_the_daemon_is_reached_by_proc,
    local_and_abstract_sockets_are_not_reached_with_the_network_on,
    no_file_that_runs_as_its_owner_is_left,
    owners_and_modes_of_what_was_not_granted_stay,
    a_root_daemons_programs_work_in_another_users_folder,
    limits_priorities_and_cores_of_others_are_not_touched_by_the_usual_programs,
}

/// The arguments that start this test binary as a program in the sandbox.
fn program() -> (PathBuf, Vec<String>) {
    let words = ["--exact", "raw_calls::a_program_in_the_sandbox", "--nocapture", "--test-threads=1", "-q"];
    (std::env::current_exe().expect("this program"), words.map(String::from).to_vec())
}

impl Place {
    /// Runs this test binary in the sandbox.
    fn order(&self, order: &str) -> ChildOutcome {
        self.order_or_stopped(order).expect("not stopped")
    }

    /// None if the stop comes before it begins.
    pub(crate) fn order_or_stopped(&self, order: &str) -> Option<ChildOutcome> {
        let permit = self.latch.permit(EffectKind::Other).ok()?;
        let work = self.folder.path().join("work");
        let (program, args) = program();
        let mut policy = self.policy.clone();
        policy.readable.push(program.clone());
        policy.environment.insert(ORDER.into(), order.into());
        let spec = ChildSpec {
            program: program.display().to_string(),
            args,
            cwd: work.clone(),
            writable: vec![work],
            stdin: Vec::new(),
            deadline: self.deadline,
            output_cap: 64 * 1024,
        };
        match run(&spec, &policy, &permit) {
            Ok(outcome) => Some(outcome),
            Err(failure) if failure.kind == ErrorKind::Stopped => None,
            Err(failure) => panic!("{failure}"),
        }
    }
}

fn each_call_is_answered_as_it_must_be(place: Place) {
    if !has_seccomp() || landlock_abi() < 6 {
        println!("SKIPPED: needs seccomp and Landlock 6; the test of the report asserts that this is told");
        return;
    }
    let mut outside = Command::new("/bin/cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("cat");
    let outcome = place.order(&format!("try {} {}", outside.id(), place.is_in_namespaces()));
    let answers: Vec<&str> = outcome.stdout.text.lines().filter_map(|line| Some(line.split_once(ANSWER)?.1)).collect();
    drop(outside.stdin.take());
    assert!(outside.wait().expect("ended").success(), "nothing was done to it");
    assert!(answers.len() > 80 && answers.last() == Some(&"all"), "{outcome:?}");
    let wrong: Vec<&&str> = answers.iter().filter(|answer| answer.starts_with("wrong")).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn nothing_of_the_daemon_is_reached_by_proc(place: Place) {
    if landlock_abi() == 0 {
        println!("SKIPPED: no Landlock here; the test of the report asserts that this is told");
        return;
    }
    let own = std::process::id();
    for file in ["mem", "environ", "maps", "cwd/Cargo.toml", "root/etc/shadow", "fd/0", "exe"] {
        let outcome = place.bash(&format!("head -c 1 /proc/{own}/{file}"));
        assert!(matches!(outcome.ending, Ending::Exited(1..)) && outcome.stdout.text.is_empty(), "{file}: {outcome:?}");
    }
    for file in ["oom_score_adj", "coredump_filter", "clear_refs", "comm"] {
        let outcome = place.bash(&format!("echo 0 > /proc/{own}/{file}"));
        assert!(matches!(outcome.ending, Ending::Exited(1..)), "{file}: {outcome:?}");
    }
    // Only its three streams and bash's own files are open, whatever this process was started with.
    let inherited = fs::File::open("/etc/passwd").expect("open");
    rustix::io::fcntl_setfd(&inherited, rustix::io::FdFlags::empty()).expect("set");
    let outcome = place.bash("ls /proc/$$/fd; true");
    assert!(outcome.stdout.text.lines().all(|number| matches!(number, "0" | "1" | "2" | "255")), "{outcome:?}");
    // Leaves its control group, if it has one.
    let outcome = place
        .bash("for f in /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/*/cgroup.procs; do echo $$ > $f && echo out; done");
    assert!(!outcome.stdout.text.contains("out"), "{outcome:?}");
}

fn local_and_abstract_sockets_are_not_reached_with_the_network_on(mut place: Place) {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixListener};
    if !has_seccomp() {
        println!("SKIPPED: no seccomp here; the test of the report asserts that this is told");
        return;
    }
    let name = format!("maxim-test-{}-{}", std::process::id(), place.is_in_namespaces());
    let address = SocketAddr::from_abstract_name(&name).expect("a name");
    let hidden = UnixListener::bind_addr(&address).expect("bound");
    let path = place.folder.path().join("work/socket");
    let open = UnixListener::bind(&path).expect("bound");
    for network in [Network::Off, Network::On] {
        place.policy.network = network;
        let outcome = place.order(&format!("connect {name} {}", path.display()));
        assert!(outcome.stdout.text.contains(&format!("{ANSWER}refused refused")), "{network:?}: {outcome:?}");
    }
    for listener in [&hidden, &open] {
        listener.set_nonblocking(true).expect("set");
        assert!(listener.accept().is_err());
    }
}

fn no_file_that_runs_as_its_owner_is_left(place: Place) {
    if !has_seccomp() {
        println!("SKIPPED: no seccomp here; the test of the report asserts that this is told");
        return;
    }
    // A file existed there: data written into it doesn't run as its owner.
    let there = place.folder.path().join("work/there");
    fs::write(&there, "old").expect("written");
    fs::set_permissions(&there, fs::Permissions::from_mode(0o6755)).expect("set");
    let ways = "cp /bin/sh a; chmod u+s a; chmod 6755 a; chmod g+s a; install -m 4755 /bin/sh b; cp -p there c; \
                mkdir d; cp /bin/sh d/sh; chmod -R u+s d; tar cf t.tar there; (mkdir e; cd e; tar xpf ../t.tar); \
                echo new > there; mv there f";
    let outcome = place.bash(ways);
    let mut pending = vec![place.folder.path().join("work")];
    let mut seen = 0;
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            let meta = entry.metadata().expect("there");
            if meta.is_dir() {
                pending.push(entry.path());
                continue;
            }
            seen += 1;
            let mode = meta.permissions().mode();
            assert_eq!(mode & 0o6000, 0, "{} has {mode:o}: {outcome:?}", entry.path().display());
        }
    }
    assert!(seen >= 4, "{seen}: {outcome:?}");
}

/// SECURITY.md names what remains possible: changing modes and times of files of the program's own user.
fn owners_and_modes_of_what_was_not_granted_stay(place: Place) {
    let outside = place.folder.path().join("outside");
    let (secret, theirs) = (outside.join("secret"), outside.join("theirs"));
    fs::write(&theirs, "theirs").expect("written");
    fs::set_permissions(&theirs, fs::Permissions::from_mode(0o600)).expect("set");
    if geteuid().is_root() {
        std::os::unix::fs::chown(&theirs, Some(1234), Some(1234)).expect("given");
    }
    let told = |path: &Path| {
        use std::os::unix::fs::MetadataExt;
        let meta = fs::metadata(path).expect("there");
        (meta.uid(), meta.gid(), meta.mode())
    };
    let before = (told(&outside).0, told(&secret).0, told(&secret).1, told(&theirs).0, told(&theirs).1);
    let mode = told(&theirs).2;
    let (shown, of_theirs) = (outside.display(), theirs.display());
    let ways = format!(
        "chown 1234 {shown} {shown}/*; chgrp 1234 {shown}/*; chown -R 1234:1234 {shown}; chown -h 1234 {shown}/secret; \
         cd {shown} && chown 1234 secret; perl -e 'chown 1234, 1234, qw({shown} {shown}/secret)'; \
         setfacl -m u:1234:rwx {of_theirs}"
    );
    let outcome = place.bash(&ways);
    let after = (told(&outside).0, told(&secret).0, told(&secret).1, told(&theirs).0, told(&theirs).1);
    assert_eq!(after, before, "{outcome:?}");
    if geteuid().is_root() {
        let outcome = place
            .bash(&format!("chmod 777 {of_theirs}; chmod -R a+rwx {shown}/theirs; touch -d 2001-01-01 {of_theirs}"));
        assert_eq!(told(&theirs).2, mode, "{outcome:?}");
    }
}

fn a_root_daemons_programs_work_in_another_users_folder(place: Place) {
    if !geteuid().is_root() {
        println!("SKIPPED: needs root");
        return;
    }
    let work = place.folder.path().join("work");
    for (path, text) in [("mine", "mine"), ("tree/deep", "deep")] {
        let file = work.join(path);
        fs::create_dir_all(file.parent().expect("a folder")).expect("made");
        fs::write(&file, text).expect("written");
        std::os::unix::fs::chown(&file, Some(1234), Some(1234)).expect("given");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("set");
    }
    for folder in [work.join("tree"), work.clone()] {
        std::os::unix::fs::chown(&folder, Some(1234), Some(1234)).expect("given");
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).expect("set");
    }
    let ways = "cat mine && echo more >> mine && sed -i s/mine/ours/ mine && mv mine moved && cp moved copied && mkdir new && \
                echo x > new/x && chmod +x new/x && tar cf t.tar tree && mkdir u && tar xf t.tar -C u && rm -r tree && cat u/tree/deep";
    let outcome = place.bash(ways);
    assert_eq!((outcome.ending, outcome.stdout.text.as_str()), (Ending::Exited(0), "minedeep"), "{outcome:?}");
}

fn limits_priorities_and_cores_of_others_are_not_touched_by_the_usual_programs(place: Place) {
    if !has_seccomp() {
        println!("SKIPPED: no seccomp here; the test of the report asserts that this is told");
        return;
    }
    let mut outside = Command::new("/bin/cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("cat");
    let pid = outside.id();
    let told = |file: &str| fs::read_to_string(format!("/proc/{pid}/{file}")).expect("told");
    let nice = || told("stat").rsplit(')').next().and_then(|rest| rest.split(' ').nth(17).map(str::to_owned));
    let cores = || told("status").lines().find(|line| line.starts_with("Cpus_allowed:")).map(str::to_owned);
    let before = (told("limits"), nice(), cores());
    let ways = format!(
        "prlimit --pid {pid} --fsize=1:1; prlimit --pid {pid} --nofile=8:8; chrt -i -p 0 {pid}; chrt -b -p 0 {pid}; \
         taskset -pc 0 {pid}; renice 19 {pid}; renice 19 -g $PPID; ionice -c 3 -p {pid}"
    );
    let outcome = place.bash(&ways);
    assert_eq!((told("limits"), nice(), cores()), before, "{outcome:?}");
    drop(outside.stdin.take());
    assert!(outside.wait().expect("ended").success());
}

/// If the tests run as root, all of them run once more as another user.
#[test]
fn all_of_it_holds_for_another_user_than_root() {
    const OTHER: &str = "1234";
    let setpriv = ["/usr/bin/setpriv", "/bin/setpriv"].into_iter().find(|path| Path::new(path).exists());
    let (true, Some(setpriv)) = (geteuid().is_root(), setpriv) else {
        println!("SKIPPED: needs root and setpriv; as this user they have run");
        return;
    };
    // The build folder may be closed to other users.
    let folder = tempfile::tempdir().expect("a folder");
    let own = folder.path().join("own");
    fs::create_dir(&own).expect("made");
    std::os::unix::fs::chown(&own, Some(1234), Some(1234)).expect("given");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("set");
    let copy = |from: &Path, name: &str| {
        let to = folder.path().join(name);
        harness::copy_program(from, &to);
        fs::set_permissions(&to, fs::Permissions::from_mode(0o755)).expect("set");
        to
    };
    let tests = copy(&std::env::current_exe().expect("this program"), "tests");
    let maxim = copy(&harness::program(), "maxim");
    let output = Command::new(setpriv)
        .args(["--reuid", OTHER, "--regid", OTHER, "--clear-groups", "--"])
        .arg(tests)
        .args(["escapes::by_the_kernel", "escapes::in_namespaces", "held::by_the_kernel", "held::in_namespaces"])
        .args(["hostile::", "--test-threads", "4"])
        .env("TMPDIR", &own)
        .env("HOME", &own)
        .env("MAXIM_TEST_PROGRAM", maxim)
        .env("MAXIM_HOSTILE", "100")
        .env_remove("MAXIM_REQUIRE_COMPONENTS")
        .current_dir(&own)
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let passed = said.lines().find_map(|line| line.strip_prefix("test result: ok. ")?.split(' ').next()?.parse().ok());
    assert!(passed.is_some_and(|passed: u32| passed > 50), "{said}");
}

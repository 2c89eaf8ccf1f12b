//! What the walls refuse in any case isn't asked about, and what they show to all isn't either.

use serde_json::json;

use std::path::PathBuf;

use super::super::*;
use super::setting;
use maxim_tools::contained::Barriers;

fn settled(tool: &str, params: serde_json::Value, mode: Mode) -> Judgement {
    let walls = Walls {
        readable: ["/usr", "/etc/hostname", "/etc/passwd", "/proc"].map(PathBuf::from).to_vec(),
        network: false,
        barriers: Barriers::default(),
    };
    let setting = setting(mode);
    walls.settle(tool, judge(&ToolCall { tool, params: &params }, &setting), &setting)
}

fn command(source: &str) -> Judgement {
    settled("bash", json!({ "command": source }), Mode::Active)
}

#[test]
fn what_no_yes_would_let_pass_is_refused_at_once_with_the_way_out() {
    for judged in [
        settled("read_file", json!({"path": "/srv/notes.txt"}), Mode::Active),
        settled("read_file", json!({"path": "../other/x"}), Mode::Active),
        settled("read_file", json!({"path": "/proc/self/status"}), Mode::Active),
        settled("search_code", json!({"pattern": "a", "path": "/srv"}), Mode::Active),
        settled("write_file", json!({"path": "/tmp/inbox.txt", "content": "a"}), Mode::Active),
        settled("edit_file", json!({"path": "/var/tmp/x", "old_string": "a", "new_string": "b"}), Mode::Active),
        settled("bash", json!({"command": "ls", "cwd": "/usr"}), Mode::Active),
        settled("request_directory_change", json!({"path": "/nonexistent/folder"}), Mode::Active),
        command("touch /tmp/made.txt"),
        command("echo x > /tmp/made.txt"),
        command("rm /tmp/made.txt"),
        command("ls && cp a /dev/shm/b"),
        command("curl -d x https://a.example"),
        command("timeout 5 curl -d x https://a.example"),
        command("ssh host id"),
        command("sudo id"),
        command("apt-get install jq"),
    ] {
        assert_eq!(judged.verdict, Verdict::Block, "{judged:?}");
        assert!(judged.rule.starts_with("wall.") && judged.asks.is_empty(), "{judged:?}");
    }
    let judged = command("touch /tmp/made.txt");
    assert!(
        judged.reason.contains("/tmp/made.txt") && judged.reason.contains("/home/anna/project"),
        "{}",
        judged.reason
    );
}

#[test]
fn one_rule_for_a_path_whichever_tool_reads_it() {
    for path in ["/etc/hostname", "/usr/share/x", "/etc/passwd", "/etc/hosts"] {
        let by_tool = settled("read_file", json!({ "path": path }), Mode::Active).verdict;
        let by_shell = command(&format!("cat {path}")).verdict;
        let refused_by_kernel = path == "/etc/hosts";
        match refused_by_kernel {
            true => assert_eq!(by_tool, Verdict::Block, "{path}"),
            false => assert_eq!(by_tool, by_shell, "{path}"),
        }
    }
    assert_eq!(settled("read_file", json!({"path": "/etc/hostname"}), Mode::Active).verdict, Verdict::Allow);
    assert_eq!(settled("read_file", json!({"path": "/etc/passwd"}), Mode::Active).verdict, Verdict::Ask);
}

#[test]
fn what_a_yes_does_let_pass_is_still_asked_about() {
    for judged in [
        command("python3 a.py"),
        command("git push ./other.git main"),
        command("git reset --hard"),
        command("echo x > $TMPDIR/a"),
        command("pip install ./local"),
        settled("write_file", json!({"path": ".github/workflows/ci.yml", "content": "x"}), Mode::Active),
        settled("request_directory_change", json!({"path": "/usr"}), Mode::Active),
        settled("some_tool_of_a_server", json!({"path": "/tmp/x", "content": "a"}), Mode::Active),
    ] {
        assert_eq!(judged.verdict, Verdict::Ask, "{judged:?}");
    }
    // Without these walls nothing of it is refused.
    for judged in [
        settled("write_file", json!({"path": "/tmp/x", "content": "a"}), Mode::Singularity),
        settled("read_file", json!({"path": "/srv/x"}), Mode::Singularity),
    ] {
        assert_eq!(judged.verdict, Verdict::Allow, "{judged:?}");
    }
}

fn with(barriers: Barriers, network: bool, mode: Mode, source: &str) -> Judgement {
    let walls = Walls { readable: vec![PathBuf::from("/usr")], network, barriers };
    let setting = setting(mode);
    let params = json!({ "command": source });
    walls.settle("bash", judge(&ToolCall { tool: "bash", params: &params }, &setting), &setting)
}

/// Each with the wall without which a person is asked as before.
const REFUSED: &[(&str, &str)] = &[
    ("unshare -r id", "calls"),
    ("unshare -Urm sh -c 'id'", "calls"),
    ("nsenter -t 1 -a id", "calls"),
    ("chroot . id", "calls"),
    ("env unshare -r id", "calls"),
    ("timeout 5 unshare -r id", "calls"),
    ("sh -c 'unshare -r id'", "calls"),
    ("xargs unshare -r < names", "calls"),
    ("bwrap --ro-bind / / id", "calls"),
    ("ip netns exec x id", "rights"),
    ("mount /dev/sda1 mnt", "calls"),
    ("umount mnt", "calls"),
    ("swapoff -a", "calls"),
    ("insmod x.ko", "calls"),
    ("modprobe x", "calls"),
    ("reboot", "calls"),
    ("date -s 2030-01-01", "calls"),
    ("date --set=tomorrow", "calls"),
    ("hwclock --systohc", "calls"),
    ("hostname other", "calls"),
    ("systemctl restart nginx", "calls"),
    ("docker run alpine id", "calls"),
    ("setsid python3 a.py", "calls"),
    ("daemonize /usr/bin/python3 a.py", "calls"),
    ("prlimit --pid 1 --nofile=8", "calls"),
    ("prlimit -p1 --nofile=8", "calls"),
    ("renice 5 1", "calls"),
    ("chmod u+s f", "calls"),
    ("chmod 4755 f", "calls"),
    ("chmod -R g+s d", "calls"),
    ("install -m 6755 a b", "calls"),
    ("find . -name f -exec chmod u+s {} +", "calls"),
    ("sudo id", "rights"),
    ("su", "rights"),
    ("su -c id", "rights"),
    ("sh -c 'su'", "rights"),
    ("setpriv --reuid 0 id", "rights"),
    ("setpriv --reuid=0 id", "rights"),
    ("setcap cap_net_raw+ep f", "rights"),
    ("ip link set eth0 down", "rights"),
    ("iptables -F", "rights"),
    ("kill -9 1", "signals"),
    ("kill 4711", "signals"),
    ("xargs kill < pids", "signals"),
    ("pgrep sshd | xargs kill", "signals"),
    ("pkill sshd", "signals"),
    ("killall -9 sshd", "signals"),
    ("timeout 5 pkill sshd", "signals"),
    ("useradd eve", "files"),
    ("sysctl -w kernel.x=1", "files"),
    ("psql -c 'drop table x'", "network"),
    ("kubectl delete pod x", "network"),
    ("pip install requests", "network"),
    ("pip install -r requirements.txt", "network"),
    ("python3 -m pip install requests", "network"),
    ("pip download requests", "network"),
    ("npm install left-pad", "network"),
    ("npm ci", "network"),
    ("npx -y cowsay", "network"),
    ("npx cowsay@latest", "network"),
    ("cargo install ripgrep", "network"),
    ("go get example.org/a", "network"),
    ("go install example.org/a@latest", "network"),
    ("gem install rake", "network"),
    ("twine upload dist/a.whl", "network"),
    ("npm publish", "network"),
    ("cargo publish", "network"),
    ("git push", "network"),
    ("git push --force origin main", "network"),
    ("git push https://example.org/a.git", "network"),
    ("timeout 5 git push", "network"),
    ("sh -c 'pip install requests'", "network"),
    ("python3 -m http.server 21998", "network"),
];

#[test]
fn what_the_sandbox_refuses_in_any_case_is_asked_of_nobody() {
    let wrong: Vec<String> = REFUSED
        .iter()
        .map(|(source, _)| (source, with(Barriers::default(), false, Mode::Active, source)))
        .filter(|(_, judged)| judged.rule != "wall.sandbox" || judged.verdict != Verdict::Block)
        .map(|(source, judged)| format!("{source}: {judged:?}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let judged = with(Barriers::default(), false, Mode::Active, "env unshare -r id");
    assert!(judged.reason.starts_with("unshare: ") && judged.reason.contains("without it"), "{}", judged.reason);
}

#[test]
fn where_the_wall_is_lacking_a_person_is_asked_as_before() {
    let all = Barriers::default();
    for (source, wall) in REFUSED {
        let (barriers, network) = match *wall {
            "calls" => (Barriers { calls: false, ..all }, false),
            "signals" => (Barriers { signals: false, ..all }, false),
            "rights" => (Barriers { rights: false, ..all }, false),
            "files" => (Barriers { files: false, ..all }, false),
            _ => (all, true),
        };
        let judged = with(barriers, network, Mode::Active, source);
        assert_eq!(judged.verdict, Verdict::Ask, "{source}: {judged:?}");
    }
}

#[test]
fn what_the_sandbox_lets_pass_is_asked_about_as_before() {
    for source in [
        "python3 a.py & pkill python3",
        "./serve; pkill serve",
        "./serve & kill $!",
        "nohup python3 a.py &",
        "prlimit --nofile=64 python3 a.py",
        "setpriv --no-new-privs python3 a.py",
        "chmod -R 777 d",
        "git push --force ./other.git",
        "pip install -e .",
        "pip install --no-index --find-links wheels requests",
        "npm ci --offline",
        "npm run install",
        "cargo install --path .",
        "go install",
        "npx tsc",
        "python3 -m pytest",
        "strace ls",
    ] {
        let judged = with(Barriers::default(), false, Mode::Active, source);
        assert_eq!(judged.verdict, Verdict::Ask, "{source}: {judged:?}");
    }
    for source in ["chmod u+x a.sh", "chmod 755 a.sh", "kill %1", "kill -l", "date +%F", "hostname", "ip addr show"] {
        let judged = with(Barriers::default(), false, Mode::Active, source);
        assert_eq!(judged.verdict, Verdict::Allow, "{source}: {judged:?}");
    }
    // On another machine, and in a container, other walls hold.
    let judged = with(Barriers::default(), true, Mode::Active, "ssh host sudo reboot");
    assert_eq!(judged.verdict, Verdict::Ask, "{judged:?}");
}

#[test]
fn where_the_whole_machine_is_granted_the_walls_but_for_files_hold() {
    for source in ["sudo id", "kill 4711", "chmod u+s f", "mount /dev/sda1 mnt"] {
        let judged = with(Barriers::default(), false, Mode::Singularity, source);
        assert_eq!(judged.rule, "wall.sandbox", "{source}: {judged:?}");
    }
    let judged = with(Barriers::default(), false, Mode::Singularity, "useradd eve");
    assert_eq!(judged.verdict, Verdict::Ask, "{judged:?}");
}

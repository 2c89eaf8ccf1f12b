//! What the walls refuse in any case isn't asked about, and what they show to all isn't either.

use serde_json::json;

use std::path::PathBuf;

use super::super::*;
use super::setting;

fn settled(tool: &str, params: serde_json::Value, mode: Mode) -> Judgement {
    let walls = Walls {
        readable: ["/usr", "/etc/hostname", "/etc/passwd", "/proc"].map(PathBuf::from).to_vec(),
        network: false,
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
        command("git push"),
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

//! `maxim memory sleep` on the store itself: compressed episodes leave the disk.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::json;

use crate::home::Home;

/// Number of imported episodes: far more bytes than may be replaced without a rewrite.
const EPISODES: usize = 3_000;
/// Begins the incompressible part of each episode.
const MARK: &[u8] = b"%%noise%%";
/// Maximum number of whole episodes on disk after a sleep: the newest.
const WHOLE: usize = 400;

/// Incompressible letters, different for each number.
fn noise(number: usize) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-";
    let mut state = number as u64 + 0x9E37_79B9_7F4A_7C15;
    let mut letter = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(LETTERS[(state >> 32) as usize % 64])
    };
    let letters: String = (0..5_200).map(|_| letter()).collect();
    format!("{}{letters}", String::from_utf8_lossy(MARK))
}

/// A home with years-old episodes, none of which was useful.
fn lived() -> Home {
    let line = |number: usize| {
        let (day, hour, minute) = (1 + number / 144 % 28, number / 6 % 24, number % 6 * 10);
        let at = format!("2020-01-{day:02}T{hour:02}:{minute:02}:00Z");
        let (tool, params) = (format!("probe_{number}"), json!({"blob": noise(number)}));
        let episode = json!({"id": format!("e{number}"), "timestamp": at, "text": format!("probe {number} was tried"),
            "tool": tool, "params": params, "success": false, "salience": 0.1});
        format!("{episode}\n")
    };
    let home = Home::new();
    home.write("work/episodes.jsonl", &(0..EPISODES).map(line).collect::<String>());
    let done = home.run(&["memory", "import", "episodes.jsonl", "--all", "--json"]);
    assert_eq!(done.json()["imported"], EPISODES, "{done:?}");
    assert!(held(&home) > EPISODES * 9 / 10);
    home
}

/// Whole episodes in the file of records, live or dead.
fn held(home: &Home) -> usize {
    let pack = std::fs::read(home.path(".local/state/maxim/store/pack")).expect("read");
    pack.windows(MARK.len()).filter(|part| *part == MARK).count()
}

#[test]
fn what_sleep_made_small_has_left_the_disk_when_the_command_has_ended() {
    let home = lived();
    let report = home.run(&["memory", "sleep", "--json"]).json();
    assert!(report["compressed"].as_u64() > Some(2_500), "{report}");
    let held = held(&home);
    assert!(held < WHOLE, "{held}");
}

#[test]
fn what_the_end_came_before_leaves_the_disk_with_the_next_command() {
    let home = lived();
    let copy = |from: &str, to: &str| {
        let _ = std::fs::remove_dir_all(home.path(to));
        let copied = Command::new("cp").arg("-r").args([home.path(from), home.path(to)]).status().expect("runs");
        assert!(copied.success());
    };
    copy(".local", "saved");
    let mut at_its_end = 0;
    let is_cut_off = (0..20).any(|_| {
        copy("saved", ".local");
        let mut sleeping = home.command(&["memory", "sleep", "--json"]).stdout(Stdio::piped()).spawn().expect("runs");
        let mut report = String::new();
        BufReader::new(sleeping.stdout.take().expect("piped")).read_line(&mut report).expect("a report");
        sleeping.kill().expect("killed");
        sleeping.wait().expect("ended");
        assert!(report.contains("compressed"), "{report}");
        at_its_end = held(&home);
        at_its_end > EPISODES * 9 / 10
    });
    assert!(is_cut_off, "killed right after its report, some command has not rewritten yet");
    assert_eq!(home.run(&["memory", "stats"]).code, Some(0));
    // Data whose rewrite the kill interrupted exists twice, until that room is rewritten.
    let held = held(&home);
    assert!(held + EPISODES * 4 / 5 < at_its_end, "{held} of {at_its_end}");
}

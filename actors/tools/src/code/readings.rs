//! What test runners say, read into counts and failures.

use serde_json::Value;

/// A test that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub name: String,
    /// What the runner said of it; may be empty.
    pub message: String,
}

/// A run. Counts are missing where the runner doesn't tell them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reading {
    pub passed: Option<u64>,
    pub failed: Option<u64>,
    pub skipped: Option<u64>,
    pub failures: Vec<Failure>,
    /// Why no test could run: the first error of a build.
    pub broken: Option<String>,
}

/// The number before a word: `2 passed`, `1 failed`.
fn before(line: &str, word: &str) -> Option<u64> {
    let words: Vec<&str> = line.split(|c: char| c.is_whitespace() || c == ',' || c == ';').collect();
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    words.windows(2).find(|pair| pair[1] == word).and_then(|pair| pair[0].trim_start_matches('(').parse().ok())
}

/// `cargo test`: one `test result:` line for each test program, failures in blocks of their own.
pub(super) fn cargo(said: &str, errors: &str) -> Reading {
    let mut reading = Reading { passed: Some(0), failed: Some(0), skipped: Some(0), ..Reading::default() };
    let add = |sum: &mut Option<u64>, more: Option<u64>| *sum = Some(sum.unwrap_or(0) + more.unwrap_or(0));
    for line in said.lines() {
        if let Some(result) = line.strip_prefix("test result: ") {
            let counts = result.split_once(". ").map_or(result, |(_, counts)| counts);
            add(&mut reading.passed, before(counts, "passed"));
            add(&mut reading.failed, before(counts, "failed"));
            add(&mut reading.skipped, before(counts, "ignored"));
        } else if let Some(name) = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED")) {
            let message = cargo_block(said, name);
            reading.failures.push(Failure { name: name.into(), message });
        }
    }
    reading.broken = errors.lines().find(|line| line.starts_with("error")).map(str::to_owned);
    reading
}

fn cargo_block(said: &str, name: &str) -> String {
    let head = format!("---- {name} stdout ----\n");
    let Some((_, after)) = said.split_once(&head) else { return String::new() };
    let end = ["\n---- ", "\nfailures:"].iter().filter_map(|end| after.find(end)).min().unwrap_or(after.len());
    after[..end].trim().to_owned()
}

/// `pytest -q -rfE`: lines `FAILED name - message` and a last line with the sums.
pub(super) fn pytest(said: &str) -> Reading {
    let mut reading = Reading::default();
    let is_sum = |line: &&str| line.contains(" in ") && line.trim_end_matches([' ', '=']).ends_with('s');
    let sum = said.lines().rev().find(|line| {
        is_sum(line) && ["passed", "failed", "error", "errors", "skipped"].iter().any(|w| before(line, w).is_some())
    });
    let sum = sum.or_else(|| said.lines().rev().find(|line| line.contains("no tests ran")));
    if let Some(sum) = sum {
        let count = |word: &str| before(sum, word).unwrap_or(0);
        reading.passed = Some(count("passed"));
        reading.failed = Some(count("failed") + count("error") + count("errors"));
        reading.skipped = Some(count("skipped") + count("xfailed") + count("deselected"));
    }
    for line in said.lines() {
        let found = line.strip_prefix("FAILED ").or_else(|| line.strip_prefix("ERROR "));
        if let Some(found) = found {
            let (name, message) = found.split_once(" - ").unwrap_or((found, ""));
            reading.failures.push(Failure { name: name.trim().into(), message: message.trim().into() });
        }
    }
    reading
}

/// `unittest -v`: blocks `FAIL: name (place)`, `Ran 3 tests in 0.1s`, and `FAILED (failures=1, errors=1)` or `OK (skipped=1)`.
pub(super) fn unittest(said: &str) -> Reading {
    let mut reading = Reading::default();
    let ran = said.lines().rev().find_map(|line| line.strip_prefix("Ran ")?.split(' ').next()?.parse::<u64>().ok());
    let last = said.lines().rev().find(|line| line.starts_with("OK") || line.starts_with("FAILED"));
    if let (Some(ran), Some(last)) = (ran, last) {
        let count = |name: &str| {
            let (_, after) = last.split_once(&format!("{name}="))?;
            after.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u64>().ok()
        };
        let failed = count("(failures").or_else(|| count("failures")).unwrap_or(0) + count("errors").unwrap_or(0);
        let skipped = count("skipped").unwrap_or(0);
        reading.failed = Some(failed);
        reading.skipped = Some(skipped);
        reading.passed = Some(ran.saturating_sub(failed + skipped));
    }
    let blocks = said.split("======================================================================\n").skip(1);
    for block in blocks {
        let mut lines = block.lines();
        let head = lines.next().unwrap_or_default();
        if let Some(name) = head.strip_prefix("FAIL: ").or_else(|| head.strip_prefix("ERROR: ")) {
            let rest: Vec<&str> = lines.filter(|line| !line.starts_with("-----")).collect();
            let message = rest.join("\n");
            let message = message.split("\nRan ").next().unwrap_or_default().trim().to_owned();
            reading.failures.push(Failure { name: name.into(), message });
        }
    }
    reading
}

/// `go test -json`: an event a line.
pub(super) fn go(said: &str) -> Reading {
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    let mut reading = Reading::default();
    let events: Vec<Value> = said.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let text = |event: &Value, field: &str| event[field].as_str().unwrap_or_default().to_owned();
    for event in &events {
        let (test, package) = (text(event, "Test"), text(event, "Package"));
        if test.is_empty() {
            let build_failed = text(event, "Action") == "fail"
                && !events.iter().any(|other| text(other, "Package") == package && !text(other, "Test").is_empty());
            if build_failed && reading.broken.is_none() {
                reading.broken = Some(format!("{package} doesn't build"));
            }
            continue;
        }
        match text(event, "Action").as_str() {
            "pass" => passed += 1,
            "skip" => skipped += 1,
            "fail" => {
                failed += 1;
                let own = |other: &&Value| {
                    text(other, "Test") == test
                        && text(other, "Package") == package
                        && text(other, "Action") == "output"
                };
                let said: String = events.iter().filter(own).map(|event| text(event, "Output")).collect();
                let kept: Vec<&str> = said.lines().filter(|line| !line.starts_with("=== ")).collect();
                let message = kept.join("\n").trim().to_owned();
                reading.failures.push(Failure { name: format!("{package}.{test}"), message });
            }
            _ => {}
        }
    }
    (reading.passed, reading.failed, reading.skipped) = (Some(passed), Some(failed), Some(skipped));
    reading
}

/// What `npm test` starts is the project's choice: the runner of Node, TAP, jest, vitest and mocha are read; of others
/// only the exit code is known.
pub(super) fn npm(said: &str) -> Reading {
    let mut reading = Reading::default();
    for line in said.lines() {
        let plain = line.trim().trim_start_matches(['#', 'ℹ']).trim();
        // `# pass 3` (Node, TAP)
        let mut words = plain.split_whitespace();
        if let (Some(word), Some(Ok(count)), None) = (words.next(), words.next().map(str::parse::<u64>), words.next()) {
            match word {
                "pass" => reading.passed = Some(count),
                "fail" => reading.failed = Some(count),
                "skipped" | "skip" => reading.skipped = Some(count),
                _ => {}
            }
        }
        // `Tests: 1 failed, 2 passed, 3 total` (jest), `Tests  1 failed | 2 passed (3)` (vitest)
        if plain.starts_with("Tests:") || plain.starts_with("Tests ") {
            let sums = plain.replace(['|', ':'], " ");
            reading.passed = Some(before(&sums, "passed").unwrap_or(0));
            reading.failed = Some(before(&sums, "failed").unwrap_or(0));
            reading.skipped = before(&sums, "skipped");
        }
        // `3 passing (5ms)` (mocha)
        if let Some(count) = before(plain, "passing") {
            reading.passed = Some(count);
            reading.failed = reading.failed.or(Some(0));
        }
        if let Some(count) = before(plain, "failing") {
            reading.failed = Some(count);
        }
        if let Some(name) = failed_name(line.trim()) {
            let failure = Failure { name, message: String::new() };
            if !reading.failures.contains(&failure) {
                reading.failures.push(failure);
            }
        }
    }
    reading
}

fn failed_name(line: &str) -> Option<String> {
    if let Some(rest) = line.strip_prefix("not ok ") {
        return Some(rest.split_once(" - ").map_or(rest, |(_, name)| name).to_owned());
    }
    let named = ["✖ ", "✕ ", "● ", "× "].iter().find_map(|mark| line.strip_prefix(mark))?;
    let named = named.rsplit_once(" (").map_or(named, |(name, time)| if time.ends_with("ms)") { name } else { named });
    (named != "failing tests:").then(|| named.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(reading: &Reading) -> (Option<u64>, Option<u64>, Option<u64>) {
        (reading.passed, reading.failed, reading.skipped)
    }

    fn names(reading: &Reading) -> Vec<&str> {
        reading.failures.iter().map(|failure| failure.name.as_str()).collect()
    }

    #[test]
    fn cargos_programs_are_summed_and_each_failure_has_its_words() {
        let said = "running 2 tests\ntest a ... ok\ntest b::c ... FAILED\n\nfailures:\n\n---- b::c stdout ----\n\
            thread 'b::c' panicked at src/lib.rs:3:5:\nleft: 1\n\n\nfailures:\n    b::c\n\n\
            test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n\
            test result: ok. 2 passed; 0 failed; 3 ignored; 0 measured; 0 filtered out\n";
        let reading = cargo(said, "");
        assert_eq!(counts(&reading), (Some(3), Some(1), Some(3)));
        assert_eq!(names(&reading), ["b::c"]);
        assert!(reading.failures[0].message.ends_with("left: 1"), "{reading:?}");
        let broken = cargo("", "   Compiling x\nerror[E0425]: cannot find value `y`\n --> src/lib.rs:1:1\n");
        assert_eq!(counts(&broken), (Some(0), Some(0), Some(0)));
        assert_eq!(broken.broken.as_deref(), Some("error[E0425]: cannot find value `y`"));
    }

    #[test]
    fn pytests_sums_and_failures_are_read() {
        let said = "..Fs                                              [100%]\n\
            =========================== short test summary info ============================\n\
            FAILED tests/test_a.py::test_x - assert 1 == 2\nERROR tests/test_b.py - ImportError: no z\n\
            1 failed, 2 passed, 1 skipped, 1 error in 0.12s\n";
        let reading = pytest(said);
        assert_eq!(counts(&reading), (Some(2), Some(2), Some(1)));
        assert_eq!(names(&reading), ["tests/test_a.py::test_x", "tests/test_b.py"]);
        assert_eq!(reading.failures[0].message, "assert 1 == 2");
        assert_eq!(counts(&pytest("no tests ran in 0.01s\n")).0, Some(0));
    }

    #[test]
    fn go_events_are_counted_by_test() {
        let said = r#"{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestB","Output":"    b_test.go:5: wrong\n"}
{"Action":"fail","Package":"p","Test":"TestB"}
{"Action":"skip","Package":"p","Test":"TestC"}
{"Action":"fail","Package":"p"}
{"Action":"fail","Package":"q"}"#;
        let reading = go(said);
        assert_eq!(counts(&reading), (Some(1), Some(1), Some(1)));
        assert_eq!(names(&reading), ["p.TestB"]);
        assert_eq!(reading.failures[0].message, "b_test.go:5: wrong");
        assert_eq!(reading.broken.as_deref(), Some("q doesn't build"));
    }

    #[test]
    fn the_runners_behind_npm_are_told_apart_by_their_words() {
        let node = npm("✖ adds badly (1.2ms)\nℹ tests 3\nℹ pass 2\nℹ fail 1\nℹ skipped 0\n✖ failing tests:\n");
        assert_eq!((counts(&node), names(&node)), ((Some(2), Some(1), Some(0)), vec!["adds badly"]));
        let tap = npm("ok 1 - a\nnot ok 2 - b\n# pass 1\n# fail 1\n");
        assert_eq!((counts(&tap), names(&tap)), ((Some(1), Some(1), None), vec!["b"]));
        let jest = npm("● sums › adds\nTests:       1 failed, 2 passed, 3 total\n");
        assert_eq!((counts(&jest), names(&jest)), ((Some(2), Some(1), None), vec!["sums › adds"]));
        let vitest = npm(" Tests  1 failed | 2 passed (3)\n");
        assert_eq!(counts(&vitest), (Some(2), Some(1), None));
        let mocha = npm("  3 passing (5ms)\n  1 failing\n");
        assert_eq!(counts(&mocha), (Some(3), Some(1), None));
        assert_eq!(counts(&npm("all fine\n")), (None, None, None));
    }

    #[test]
    fn unittests_blocks_are_read() {
        let said = "test_a (t.T.test_a) ... ok\ntest_b (t.T.test_b) ... FAIL\n\n\
            ======================================================================\nFAIL: test_b (t.T.test_b)\n\
            ----------------------------------------------------------------------\nTraceback:\nAssertionError: 1 != 2\n\n\
            ----------------------------------------------------------------------\nRan 3 tests in 0.000s\n\nFAILED (failures=1, skipped=1)\n";
        let reading = unittest(said);
        assert_eq!(counts(&reading), (Some(1), Some(1), Some(1)));
        assert_eq!(names(&reading), ["test_b (t.T.test_b)"]);
        assert!(reading.failures[0].message.ends_with("1 != 2"), "{reading:?}");
    }
}

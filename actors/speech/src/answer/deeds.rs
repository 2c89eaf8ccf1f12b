//! Words for the results of tools that work on code, read the web, or change the agent's own powers and goals.

use serde_json::Value;

use super::{SHOWN_CHARS, bounded};

/// Lines of a list.
const LINES: usize = 20;
/// Where lowered powers are given back.
const RESTORE: &str = "Only a person gives it back, with `maxim powers restore`.";

/// The result of a tool, in plain English. `None`: another module words this tool. The caller says what was cut.
pub(crate) fn told(tool: &str, output: &Value) -> Option<String> {
    let word = |name: &str| output[name].as_str().unwrap_or_default();
    Some(match tool {
        "search_code" => matches(output),
        "git_diff" => changes(output),
        "git_commit" => {
            let id: String = word("commit").chars().take(7).collect();
            let files = output["files"].as_array().map_or(0, Vec::len);
            format!("I committed {} as {id} on {}: {}.", counted(files, "file"), word("branch"), word("summary"))
        }
        "run_tests" => tests(output),
        "http_fetch" => {
            let title = output["title"].as_str().map(|title| format!("{title}\n")).unwrap_or_default();
            bounded(&format!("{title}{}", word("text")), SHOWN_CHARS)
        }
        "mode_switch" => format!("I am in {} mode now; it was {}. {RESTORE}", word("mode"), word("was")),
        "autonomy_level" => format!("My autonomy is {} now; it was {}. {RESTORE}", word("autonomy"), word("was")),
        "web_access" if output["web"] == false => format!("I don't read the web any more. {RESTORE}"),
        "web_access" => "I may read the web.".to_owned(),
        "request_directory_change" => format!("I work in {} now; it was {}.", word("workdir"), word("was")),
        "propose_goal" => {
            format!("I give myself the goal “{}”, for when no other is open.", word("proposed"))
        }
        _ => return None,
    })
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

fn list(output: &Value, name: &str, line: impl Fn(&Value) -> String) -> String {
    let items = output[name].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut lines: Vec<String> = items.iter().take(LINES).map(line).collect();
    let more = items.len().saturating_sub(LINES);
    lines.extend((more > 0).then(|| format!("… ({more} more)")));
    lines.join("\n")
}

fn matches(output: &Value) -> String {
    let count = |name: &str| output[name].as_u64().and_then(|count| usize::try_from(count).ok()).unwrap_or(0);
    match count("found") {
        0 => format!("I found it nowhere in {}.", counted(count("searched"), "file")),
        found => {
            let line = |one: &Value| {
                let text = one["text"].as_str().unwrap_or_default();
                format!("{}:{}: {}", one["path"].as_str().unwrap_or_default(), one["line"], text.trim())
            };
            let places = if found == 1 { "1 place".to_owned() } else { format!("{found} places") };
            let head = format!("I found it in {places} of {}:", counted(count("files"), "file"));
            bounded(&format!("{head}\n{}", list(output, "matches", line)), SHOWN_CHARS)
        }
    }
}

fn changes(output: &Value) -> String {
    let changed = list(output, "files", |one| {
        let path = one["path"].as_str().unwrap_or_default();
        match (one["added"].as_u64(), one["removed"].as_u64()) {
            (Some(added), Some(removed)) => format!("- {path} (+{added} −{removed})"),
            _ => format!("- {path} (binary)"),
        }
    });
    let new = list(output, "untracked", |path| format!("- {}", path.as_str().unwrap_or_default()));
    let parts = [("Changed", changed), ("New, and not tracked", new)];
    let told: Vec<String> =
        parts.into_iter().filter(|(_, list)| !list.is_empty()).map(|(head, list)| format!("{head}:\n{list}")).collect();
    let told = if told.is_empty() { "Nothing has changed.".to_owned() } else { told.join("\n") };
    let patch = output["diff"].as_str().map(str::trim_end).filter(|patch| !patch.is_empty());
    bounded(&patch.map_or(told.clone(), |patch| format!("{told}\n{patch}")), SHOWN_CHARS)
}

fn tests(output: &Value) -> String {
    let count = |name: &str| output[name].as_u64().filter(|count| *count > 0);
    let by = output["framework"].as_str().unwrap_or_default();
    let skipped = count("skipped").map(|skipped| format!(", {skipped} skipped")).unwrap_or_default();
    match count("passed") {
        Some(1) => format!("The test passed ({by}{skipped})."),
        Some(passed) => format!("All {passed} tests passed ({by}{skipped})."),
        None => format!("The test run went well; {by} tells no counts."),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::told;

    #[test]
    fn what_was_found_changed_committed_and_tested_is_told_in_words() {
        let one = json!({"path": "src/a.rs", "line": 2, "text": "  // TODO x"});
        let found = told("search_code", &json!({"found": 1, "files": 1, "searched": 9, "matches": [one]}));
        assert_eq!(found.as_deref(), Some("I found it in 1 place of 1 file:\nsrc/a.rs:2: // TODO x"));
        let none = told("search_code", &json!({"found": 0, "files": 0, "searched": 9, "matches": []}));
        assert_eq!(none.as_deref(), Some("I found it nowhere in 9 files."));
        let files = json!([{"path": "a", "added": 2, "removed": 1}, {"path": "b", "added": null, "removed": null}]);
        let changed = told("git_diff", &json!({"files": files, "untracked": ["c"], "diff": "+x\n"})).expect("worded");
        assert_eq!(changed, "Changed:\n- a (+2 −1)\n- b (binary)\nNew, and not tracked:\n- c\n+x");
        let nothing = told("git_diff", &json!({"files": [], "untracked": [], "diff": ""}));
        assert_eq!(nothing.as_deref(), Some("Nothing has changed."));
        let commit = json!({"commit": "0123456789", "branch": "main", "summary": "The lamp", "files": ["a"]});
        assert_eq!(told("git_commit", &commit).as_deref(), Some("I committed 1 file as 0123456 on main: The lamp."));
        let run = json!({"framework": "cargo", "passed": 3, "failed": 0, "skipped": 1});
        assert_eq!(told("run_tests", &run).as_deref(), Some("All 3 tests passed (cargo, 1 skipped)."));
        assert_eq!(told("glob", &json!({})), None);
    }
}

//! Words for the results of tools. A result is `{success, output, error, error_kind}`; the output is a text or an object.

use maxim_bus::signals::outcome::ToolResult;
use serde_json::{Value, json};

use super::{SHOWN_CHARS, bounded, deeds, inward};

/// Most names listed in a reply.
const LISTED: usize = 30;

/// The result of an action in plain English, also where it isn't known.
pub fn of_result(result: &ToolResult) -> String {
    match result.success {
        None => format!(
            "I don't know whether {} took effect: {}. I won't repeat it unless you ask.",
            result.tool,
            result.error.as_deref().unwrap_or("its outcome was lost")
        ),
        Some(success) => {
            let told = json!({ "success": success, "output": result.output, "error": result.error });
            outcome(&result.tool, &result.params, &told)
        }
    }
}

/// One tool result in plain English. `params` are those of the call.
pub fn outcome(tool: &str, params: &Value, result: &Value) -> String {
    let output = result.get("output").unwrap_or(&Value::Null);
    if output["available"] == Value::Bool(false) {
        let reason = output["reason"].as_str().unwrap_or("it is switched off or not connected");
        return format!("{tool} isn't available here: {reason}.");
    }
    if result["success"] == Value::Bool(false) {
        return failed(tool, params, result, output);
    }
    let path = text(params, &["path", "file"]).or_else(|| text(output, &["path"])).unwrap_or_default();
    let said = match tool {
        "respond" | "speak" => text(params, &["text", "message"]).unwrap_or_default(),
        "read_file" => content(&path, output),
        "write_file" => match number(output, &["bytes", "bytes_written", "written", "size"]) {
            Some(bytes) if output["appended"] == Value::Bool(true) => {
                format!("I added {} to the end of {path}. “undo that” takes them away.", bytes_in_words(bytes))
            }
            Some(bytes) if output["created"] == Value::Bool(false) => {
                format!(
                    "I wrote {} to {path}, in place of what it held. “undo that” brings that back.",
                    bytes_in_words(bytes)
                )
            }
            Some(bytes) => format!("I wrote {} to {path}.", bytes_in_words(bytes)),
            None => format!("I wrote {path}."),
        },
        "edit_file" => match number(output, &["replacements", "replaced", "count"]) {
            Some(1) => format!("I changed one place in {path}."),
            Some(count) => format!("I changed {count} places in {path}."),
            None => format!("I changed {path}."),
        },
        "glob" => listed(params, output),
        "bash" | "execute_file" => ran(output),
        "memory_recall" | "similarity_search" => memories(output),
        "math" => numbers(params, output),
        "send_message" | "call_user" => queued(tool, params, output),
        "undo" if path.is_empty() => {
            format!("I took that back. {} “undo that” takes this back too.", at_pose(output)).replace("  ", " ")
        }
        "undo" => format!("I took that back: {path} is as it was before. “undo that” takes this back too."),
        "move" => format!("I moved. {}", at_pose(output)),
        "track_target" | "focus_interests" | "novelty_track" => looked(output),
        "scene_summary" => around(output),
        "sense" if output["entity"].is_object() => {
            let gazed = if output["is_gazed_at"] == Value::Bool(true) { " I look at it." } else { "" };
            format!("{}.{gazed}", thing(&output["entity"]))
        }
        "sense" if output["entity"].is_null() && output["reason"].is_string() => {
            format!("{}.", text(output, &["reason"]).unwrap_or_default())
        }
        "think" => thought(output),
        "examine" => examined(output),
        "sleep" => "I go to sleep now. Speak to me, and I answer.".into(),
        "set_scene" => format!("The scene is {} now.", text(params, &["title"]).unwrap_or_default()),
        "display_mode" => match output["mode"].as_str() {
            Some("off") => "I don't show my thinking any more.".into(),
            Some("brief") => "I show my thinking in a line now.".into(),
            _ => "I show all of my thinking now.".into(),
        },
        _ => match deeds::told(tool, output) {
            Some(said) => said,
            None => return inward::told(tool, params, output).unwrap_or_else(|| plain(tool, output)),
        },
    };
    // Tools say in words what they left out.
    match output["cut"].as_str() {
        Some(cut) => format!("{said}\n({cut})"),
        None => said,
    }
}

/// The body's posture: joints off their middle, in degrees and millimetres, and limits that were reached.
fn at_pose(output: &Value) -> String {
    let Some(pose) = output["pose"].as_object() else { return String::new() };
    let away = pose.iter().filter_map(|(joint, at)| {
        let at = at.as_f64().filter(|at| at.abs() >= 0.5)?;
        let unit = if matches!(joint.as_str(), "x" | "y" | "z") { " mm" } else { "°" };
        Some(format!("{} {at:.0}{unit}", joint.replace('_', " ")))
    });
    let away: Vec<String> = away.collect();
    let stands =
        if away.is_empty() { "I look straight ahead.".into() } else { format!("I am at {}.", away.join(", ")) };
    let told = |words: &Value| words.as_str().map(str::to_owned);
    let limits = output["at_limit"].as_array().into_iter().flatten().filter_map(told);
    limits.chain(told(&output["slowed"])).fold(stands, |said, more| format!("{said} ({more})"))
}

/// A thing of the scene: its kind, confidence, and number of sightings.
fn thing(one: &Value) -> String {
    let name = text(one, &["name"]).unwrap_or_default();
    let kind =
        text(one, &["kind"]).filter(|kind| kind != "object").map(|kind| format!(", a {kind}")).unwrap_or_default();
    let sure = one["confidence"].as_f64().map(|sure| format!(", {:.0} % sure", sure * 100.0)).unwrap_or_default();
    let seen = match one["sightings"].as_u64() {
        Some(1) => ", seen once".to_owned(),
        Some(times) => format!(", seen {times} times"),
        None => String::new(),
    };
    let at = text(one, &["last_seen"]).and_then(|at| at.get(11..19).map(|time| format!(", last at {time} UTC")));
    format!("{name}{kind}{sure}{seen}{}", at.unwrap_or_default())
}

/// What a thought reminded of.
fn thought(output: &Value) -> String {
    match texts(output, "reminds_of").as_slice() {
        [] => "I thought about it; it reminds me of nothing.".to_owned(),
        told => format!("I thought about it. It reminds me of:\n{}", told.join("\n")),
    }
}

/// The findings of a close look.
fn examined(output: &Value) -> String {
    if let Some(nothing) = text(output, &["notable"]) {
        return format!("I looked closely: {nothing}.");
    }
    let mut told: Vec<String> = Vec::new();
    told.extend(output["seen"].is_object().then(|| format!("- {}", thing(&output["seen"]))));
    told.extend(text(output, &["scene"]).map(|scene| format!("- the scene: {scene}")));
    for field in ["lately", "remembered"] {
        told.extend(texts(output, field).into_iter().filter(|line| !told.contains(line)).collect::<Vec<_>>());
    }
    format!("I looked closely:\n{}", told.join("\n"))
}

/// The texts of a list, each a line.
fn texts(output: &Value, field: &str) -> Vec<String> {
    let items = output[field].as_array().into_iter().flatten();
    items.filter_map(|item| Some(format!("- {}", bounded(item["text"].as_str()?, 200)))).collect()
}

/// The things around, the most salient first.
fn around(output: &Value) -> String {
    let things = array(output, &["objects"]).unwrap_or_default();
    let scene = output["scene"]["title"].as_str().map(|title| {
        format!("The scene is {title}: {}.\n", output["scene"]["description"].as_str().unwrap_or_default())
    });
    let seen = match things.as_slice() {
        [] => "I see nothing now.".to_owned(),
        things => {
            let lines: Vec<String> = things.iter().map(|one| format!("- {}", thing(one))).collect();
            format!("Around me:\n{}", lines.join("\n"))
        }
    };
    let gaze = text(output, &["gaze"]).map(|gaze| format!("\nI look at the {gaze}.")).unwrap_or_default();
    format!("{}{seen}{gaze}", scene.unwrap_or_default())
}

/// The object of a look, its length, and whether it disappeared.
fn looked(output: &Value) -> String {
    let target = text(output, &["target"]).unwrap_or_else(|| "it".into());
    let kept = output["seconds"].as_f64().filter(|seconds| *seconds >= 1.0);
    let kept = kept.map_or_else(String::new, |seconds| format!(" for {seconds:.0} s"));
    match text(output, &["lost"]) {
        Some(lost) => format!("I looked at the {target}{kept}, but {lost}."),
        None => format!("I looked at the {target}{kept}. {}", at_pose(output)).trim_end().to_owned(),
    }
}

fn failed(tool: &str, params: &Value, result: &Value, output: &Value) -> String {
    let code = number(output, &["exit_code", "code", "status"]);
    if let (Some(code), true) = (code, matches!(tool, "bash" | "execute_file")) {
        let said = streams(output);
        let said = if said.is_empty() { text(result, &["error"]).unwrap_or_default() } else { said };
        return format!("The command failed with exit code {code}.{}", block(&said));
    }
    let error = match result.get("error") {
        Some(Value::String(error)) if !error.is_empty() => error.clone(),
        Some(Value::Object(_)) => {
            text(&result["error"], &["message", "cause"]).unwrap_or_else(|| result["error"].to_string())
        }
        _ => "no reason was given".to_owned(),
    };
    let kind = text(result, &["error_kind", "kind"]).unwrap_or_default();
    let fix =
        text(result, &["fix"]).or_else(|| fix(&kind, &error, params)).map(|fix| format!(" {fix}")).unwrap_or_default();
    format!("{tool} failed: {}.{fix}", bounded(error.trim().trim_end_matches('.'), SHOWN_CHARS))
}

/// The usual help against a kind of error.
fn fix(kind: &str, error: &str, params: &Value) -> Option<String> {
    let said = format!("{kind} {error}").to_lowercase();
    let path = text(params, &["path", "file"]).unwrap_or_else(|| "the file".to_owned());
    let has = |words: &[&str]| words.iter().any(|word| said.contains(word));
    if has(&["not_found", "not found", "no such file", "does not exist", "doesn't exist"]) {
        Some(format!("Check the name {path}; “list files” shows what is here."))
    } else if has(&["permission", "denied", "forbidden"]) {
        Some(
            "It is outside of what I may touch; move it into the working folder, or change its permissions.".to_owned(),
        )
    } else if has(&["timeout", "timed out"]) {
        Some("Try it with less to do, or allow it more time.".to_owned())
    } else if has(&["is a directory"]) {
        Some(format!("{path} is a folder; name a file in it."))
    } else if has(&["invalid", "expected"]) {
        Some("Say it again with that corrected.".to_owned())
    } else {
        None
    }
}

/// A message on its way out.
fn queued(tool: &str, params: &Value, output: &Value) -> String {
    let to = text(params, &["recipient"]).unwrap_or_default();
    let by = text(output, &["channel"]).unwrap_or_default();
    let what = if tool == "call_user" { "call" } else { "message" };
    format!("Your {what} to {to} is queued for {by}; `maxim outbox` shows what becomes of it.")
}

fn content(path: &str, output: &Value) -> String {
    let body = output
        .as_str()
        .map(str::to_owned)
        .or_else(|| text(output, &["content", "text", "contents"]))
        .unwrap_or_default();
    if body.trim().is_empty() {
        return format!("{path} is empty.");
    }
    let cut =
        if output["truncated"] == Value::Bool(true) { "\n(The tool itself gave only a part of the file.)" } else { "" };
    format!("{path}:\n{}{cut}", bounded(body.trim_end(), SHOWN_CHARS))
}

fn listed(params: &Value, output: &Value) -> String {
    let names: Vec<String> = match array(output, &["entries", "paths", "files", "matches", "results"]) {
        Some(items) => items
            .iter()
            .filter_map(|item| item.as_str().map(str::to_owned).or_else(|| text(item, &["path", "name"])))
            .collect(),
        None => output.as_str().unwrap_or_default().lines().map(str::to_owned).collect(),
    };
    let pattern = text(params, &["pattern"]).unwrap_or_else(|| "*".to_owned());
    if names.is_empty() {
        return format!("No files match {pattern}.");
    }
    let more = names.len().saturating_sub(LISTED);
    let shown = names.iter().take(LISTED).map(String::as_str).collect::<Vec<_>>().join("\n");
    let count = if names.len() == 1 { "1 file".to_owned() } else { format!("{} files", names.len()) };
    let rest = if more > 0 { format!("\n… ({more} more)") } else { String::new() };
    format!("{count}:\n{shown}{rest}")
}

fn ran(output: &Value) -> String {
    let said = output.as_str().map(str::to_owned).unwrap_or_else(|| streams(output));
    match number(output, &["exit_code", "code", "status"]) {
        Some(code) if code != 0 => format!("The command ended with exit code {code}.{}", block(&said)),
        _ if said.trim().is_empty() => "Done: the command ended with exit code 0 and said nothing.".to_owned(),
        _ => bounded(said.trim_end(), SHOWN_CHARS),
    }
}

fn streams(output: &Value) -> String {
    let [out, err] = ["stdout", "stderr"].map(|name| text(output, &[name]).unwrap_or_default());
    [out.trim_end(), err.trim_end()].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

fn block(said: &str) -> String {
    if said.trim().is_empty() { String::new() } else { format!("\n{}", bounded(said.trim_end(), SHOWN_CHARS)) }
}

fn memories(output: &Value) -> String {
    let found = array(output, &["results", "episodes", "memories"]).unwrap_or_default();
    if found.is_empty() {
        return "I remember nothing about that.".to_owned();
    }
    let line = |one: &Value| {
        let date = text(one, &["timestamp", "at"]).map(|at| at.chars().take(10).collect::<String>());
        let said = text(one, &["text", "result", "summary"]).or_else(|| text(one, &["tool"])).unwrap_or_default();
        match date {
            Some(date) => format!("{date}: {}", bounded(&said, 200)),
            None => bounded(&said, 200),
        }
    };
    let lines: Vec<String> = found.iter().take(5).map(line).collect();
    format!("I remember:\n{}", lines.join("\n"))
}

/// A computation, or known numbers with their confidence.
fn numbers(params: &Value, output: &Value) -> String {
    if let (Some(expression), Some(result)) = (text(output, &["expression"]), text(output, &["result"])) {
        let sign = if output["exact"] == Value::Bool(true) { "=" } else { "≈" };
        return format!("{expression} {sign} {}", bounded(&result, 200));
    }
    let Some(found) = array(output, &["results"]) else { return plain("math", output) };
    let line = |one: &Value| {
        let sure = one["confidence"].as_f64().map(|sure| format!(" (confidence {sure:.2})")).unwrap_or_default();
        Some(format!("{}{sure}", text(one, &["text"])?))
    };
    let lines: Vec<String> = found.iter().take(5).filter_map(line).collect();
    let topic = text(params, &["topic"]).map(|topic| format!(" about {topic}")).unwrap_or_default();
    match lines.as_slice() {
        [] => format!("I have found no pattern{topic} yet."),
        [one] => format!("{one}."),
        many => many.join("\n"),
    }
}

/// A result of an unknown tool: texts as they are, objects as one "name: value" a line.
fn plain(tool: &str, output: &Value) -> String {
    match output {
        Value::Null => format!("Done ({tool})."),
        Value::String(said) if said.trim().is_empty() => format!("Done ({tool})."),
        Value::String(said) => bounded(said.trim_end(), SHOWN_CHARS),
        Value::Object(fields) => {
            let line = |(name, value): (&String, &Value)| match value {
                Value::String(said) => format!("{}: {said}", name.replace('_', " ")),
                other => format!("{}: {other}", name.replace('_', " ")),
            };
            bounded(&fields.iter().map(line).collect::<Vec<_>>().join("\n"), SHOWN_CHARS)
        }
        other => bounded(&other.to_string(), SHOWN_CHARS),
    }
}

fn text(object: &Value, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| object.get(name)?.as_str().map(str::to_owned))
}

fn number(object: &Value, names: &[&str]) -> Option<i64> {
    names.iter().find_map(|name| object.get(name)?.as_i64())
}

fn bytes_in_words(bytes: i64) -> String {
    if bytes == 1 { "1 byte".into() } else { format!("{bytes} bytes") }
}

fn array(object: &Value, names: &[&str]) -> Option<Vec<Value>> {
    object.as_array().cloned().or_else(|| names.iter().find_map(|name| object.get(name)?.as_array().cloned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tool_has_its_words() {
        let undone =
            json!({ "success": true, "output": { "path": "/w/a.txt", "reversal": { "kind": "restore_file" } } });
        assert_eq!(
            outcome("undo", &json!({}), &undone),
            "I took that back: /w/a.txt is as it was before. “undo that” takes this back too."
        );
        let turned = json!({ "success": true, "output": { "pose": { "yaw": 20.0, "z": 0.0, "body_yaw": -30.2 } } });
        assert_eq!(outcome("move", &json!({}), &turned), "I moved. I am at body yaw -30°, yaw 20°.");
        let ahead = json!({ "success": true, "output": { "pose": { "yaw": 0.1 } } });
        assert_eq!(
            outcome("undo", &json!({}), &ahead),
            "I took that back. I look straight ahead. “undo that” takes this back too."
        );
        let cases = [
            (
                "read_file",
                json!({"path": "a.txt"}),
                json!({"success": true, "output": {"content": "hi\n"}}),
                "a.txt:\nhi",
            ),
            ("read_file", json!({"path": "a.txt"}), json!({"success": true, "output": ""}), "a.txt is empty."),
            (
                "write_file",
                json!({"path": "a.txt"}),
                json!({"success": true, "output": {"bytes": 5}}),
                "I wrote 5 bytes to a.txt.",
            ),
            (
                "edit_file",
                json!({"path": "a.txt"}),
                json!({"success": true, "output": {"replacements": 1}}),
                "I changed one place in a.txt.",
            ),
            (
                "glob",
                json!({"pattern": "*.rs"}),
                json!({"success": true, "output": {"paths": []}}),
                "No files match *.rs.",
            ),
            ("glob", json!({}), json!({"success": true, "output": ["a", "b"]}), "2 files:\na\nb"),
            (
                "scene_summary",
                json!({}),
                json!({"success": true, "output": {"available": true, "gaze": "cup",
                    "scene": {"title": "the quay", "description": "wet"},
                    "objects": [{"name": "cup", "kind": "object", "confidence": 0.9, "sightings": 1,
                        "last_seen": "2026-01-05T09:00:01Z"}]}}),
                "The scene is the quay: wet.\nAround me:\n- cup, 90 % sure, seen once, last at 09:00:01 UTC\nI look at the cup.",
            ),
            (
                "sense",
                json!({"entity": "anna"}),
                json!({"success": true, "output": {"entity": {"name": "anna", "kind": "person"}, "is_gazed_at": false}}),
                "anna, a person.",
            ),
            (
                "sense",
                json!({"entity": "lamp"}),
                json!({"success": true, "output": {"entity": null, "reason": "\"lamp\" is not around now"}}),
                "\"lamp\" is not around now.",
            ),
            ("bash", json!({}), json!({"success": true, "output": {"exit_code": 0, "stdout": "x\n"}}), "x"),
            (
                "bash",
                json!({}),
                json!({"success": false, "output": {"exit_code": 2, "stderr": "no"}}),
                "The command failed with exit code 2.\nno",
            ),
            (
                "memory_recall",
                json!({}),
                json!({"success": true, "output": {"results": []}}),
                "I remember nothing about that.",
            ),
            (
                "move",
                json!({}),
                json!({"success": false, "error": "none", "output": {"available": false}}),
                "move isn't available here: it is switched off or not connected.",
            ),
            (
                "math",
                json!({"expression": "1/3"}),
                json!({"success": true, "output": {"expression": "1/3", "result": "1/3", "exact": true}}),
                "1/3 = 1/3",
            ),
            (
                "math",
                json!({"operation": "recall", "topic": "bash"}),
                json!({"success": true, "output": {"results": []}}),
                "I have found no pattern about bash yet.",
            ),
            (
                "math",
                json!({"operation": "recall"}),
                json!({"success": true, "output": {"results": [{"text": "bash succeeds", "confidence": 0.8}]}}),
                "bash succeeds (confidence 0.80).",
            ),
            (
                "send_message",
                json!({"channel": "twilio", "recipient": "+15550100", "body": "hello"}),
                json!({"success": true, "output": {"queued": true, "channel": "twilio"}}),
                "Your message to +15550100 is queued for twilio; `maxim outbox` shows what becomes of it.",
            ),
            ("turn_lamp", json!({}), json!({"success": true, "output": null}), "Done (turn_lamp)."),
        ];
        for (tool, params, result, words) in cases {
            assert_eq!(outcome(tool, &params, &result), words, "{tool}");
        }
    }

    #[test]
    fn an_error_has_its_cause_and_its_fix() {
        let result = json!({"success": false, "error": "no such file: a.txt", "error_kind": "not_found"});
        let said = outcome("read_file", &json!({"path": "a.txt"}), &result);
        assert_eq!(
            said,
            "read_file failed: no such file: a.txt. Check the name a.txt; “list files” shows what is here."
        );
    }

    #[test]
    fn what_the_tool_left_out_is_said() {
        let result =
            json!({"success": true, "output": {"entries": ["a", "src/"], "cut": "7 more entries are left out"}});
        assert_eq!(outcome("glob", &json!({}), &result), "2 files:\na\nsrc/\n(7 more entries are left out)");
    }

    #[test]
    fn long_content_is_cut_and_the_cut_is_said() {
        let result = json!({"success": true, "output": "é".repeat(SHOWN_CHARS + 7)});
        let said = outcome("read_file", &json!({"path": "a"}), &result);
        assert!(said.ends_with("… (7 more characters)"), "{said}");
    }
}

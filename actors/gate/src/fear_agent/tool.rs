//! Takes a tool call apart by its parameters. A parameter's name tells what happens to its value. The tool's own name
//! only tells whether a file is read or written; a name alone never blocks.

use serde_json::Value;

use super::asks::Touch;
use super::code::{self, Language};
use super::content;
use super::effects::By;
use super::shell::{Stream, Walker};
use super::verdict::rules;
use super::{Setting, ToolCall};

const COMMAND_KEYS: &[&str] = &[
    "command",
    "cmd",
    "commands",
    "shell",
    "shell_command",
    "bash",
    "commandline",
    "command_line",
    "script",
    "args_line",
    "cmdline",
    "run",
    "exec",
];
const CODE_KEYS: &[&str] =
    &["code", "source", "source_code", "python", "python_code", "javascript", "program", "snippet", "cell"];
const URL_KEYS: &[&str] = &[
    "url",
    "uri",
    "endpoint",
    "href",
    "link",
    "address",
    "base_url",
    "webhook",
    "webhook_url",
    "target_url",
    "callback_url",
    "image_url",
];
const PATH_KEYS: &[&str] = &[
    "path",
    "file",
    "filename",
    "file_path",
    "filepath",
    "file_name",
    "directory",
    "dir",
    "folder",
    "source_path",
    "src",
    "input_path",
    "input_file",
    "root",
    "cwd",
    "workdir",
    "paths",
    "files",
    "notebook_path",
    "location",
    "working_directory",
];
const TARGET_KEYS: &[&str] = &[
    "destination",
    "dest",
    "dst",
    "target",
    "target_path",
    "output",
    "output_path",
    "output_file",
    "new_path",
    "to_path",
    "destination_path",
    "out",
    "save_as",
    "save_path",
];
const CONTENT_KEYS: &[&str] = &[
    "content",
    "contents",
    "text",
    "data",
    "body",
    "new_str",
    "new_string",
    "file_text",
    "new_content",
    "patch",
    "diff",
    "payload",
    "insert_text",
];
const SQL_KEYS: &[&str] = &["sql", "query", "statement", "queries"];

const SHELL_TOOLS: &[&str] = &[
    "bash",
    "shell",
    "sh",
    "terminal",
    "exec",
    "command",
    "cmd",
    "console",
    "powershell",
    "zsh",
    "subprocess",
    "system",
];
const WRITE_WORDS: &[&str] = &[
    "write",
    "edit",
    "create",
    "append",
    "save",
    "patch",
    "replace",
    "update",
    "mkdir",
    "touch",
    "insert",
    "modify",
    "put",
    "overwrite",
    "upload",
    "set",
    "make",
    "generate",
    "export",
    "truncate",
    "chmod",
    "str",
];
const DELETE_WORDS: &[&str] = &["delete", "remove", "rm", "unlink", "rmdir", "erase", "trash", "wipe"];
const MOVE_WORDS: &[&str] = &["move", "rename", "mv"];
const RUN_WORDS: &[&str] = &["execute", "run", "launch", "eval", "tests", "pytest"];

/// `writeFile`, `write_file` and `fs.write-file` give the same words.
fn words(tool: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut word = String::new();
    let mut lower = false;
    for c in tool.chars() {
        if (!c.is_alphanumeric() || (c.is_uppercase() && lower)) && !word.is_empty() {
            out.push(std::mem::take(&mut word));
        }
        lower = c.is_lowercase();
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
    }
    if !word.is_empty() {
        out.push(word);
    }
    out
}

struct Tool<'a> {
    words: Vec<String>,
    params: &'a Value,
}

impl Tool<'_> {
    fn is(&self, list: &[&str]) -> bool {
        self.words.iter().any(|word| list.contains(&word.as_str()))
    }
}

pub(super) fn judge(walker: &mut Walker, call: &ToolCall) {
    let tool = Tool { words: words(call.tool), params: call.params };
    // What the tool does for any parameters.
    if call.tool == "run_tests" {
        walker.findings.ask(rules::BUILD, "the project's tests are code that would be executed");
    }
    if call.tool == "request_directory_change" {
        let path = call.params.get("path").and_then(Value::as_str).unwrap_or_default();
        let place = walker.place(path);
        let reason = format!("{} would be the working folder from now on", place.path);
        let outer = walker.findings.about_parameter(Some("path".into()));
        walker.findings.ask_of_path(rules::DIRECTORY_CHANGE, reason, Touch::Enter { path: place.path });
        walker.findings.about_parameter(outer);
    }
    object(walker, &tool, call.params, 0);
}

/// Parameters may be nested (`{"arguments": {"command": …}}`).
fn object(walker: &mut Walker, tool: &Tool, value: &Value, depth: usize) {
    if depth > 6 {
        walker.findings.ask(rules::TOO_COMPLEX, "the parameters are nested too deeply");
        return;
    }
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                // A nested value belongs to the top-level parameter that holds it.
                let outer = (depth == 0).then(|| walker.findings.about_parameter(Some(key.clone())));
                parameter(walker, tool, &key.to_lowercase().replace('-', "_"), value, depth);
                if let Some(outer) = outer {
                    walker.findings.about_parameter(outer);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| object(walker, tool, item, depth + 1)),
        _ => {}
    }
}

fn parameter(walker: &mut Walker, tool: &Tool, key: &str, value: &Value, depth: usize) {
    let known = |keys: &[&str]| keys.contains(&key);
    let strings = strings(value);
    if value.is_object() || (value.is_array() && strings.is_empty()) {
        object(walker, tool, value, depth + 1);
        return;
    }
    let by_shell = tool.is(SHELL_TOOLS)
        && matches!(
            key,
            "input"
                | "text"
                | "line"
                | "keystrokes"
                | "stdin"
                | "arguments"
                | "args"
                | "param"
                | "value"
                | "body"
                | "content"
        );
    if known(COMMAND_KEYS) || by_shell {
        // A command runs in the folder that the call names.
        let folder = tool.params.get("cwd").and_then(Value::as_str).and_then(|folder| walker.absolute(folder));
        walker.apart(|walker| {
            walker.cwd = folder.unwrap_or_else(|| walker.cwd.clone());
            command(walker, value, &strings);
        });
    } else if known(CODE_KEYS) {
        let language = language(tool);
        for source in &strings {
            if language == Language::Other && tool.is(SHELL_TOOLS) {
                walker.apart(|walker| walker.script(source, &Stream::default()));
            } else {
                code::judge(walker, language, source);
            }
        }
    } else if known(URL_KEYS) || (key.ends_with("url") && !strings.is_empty()) {
        strings.iter().for_each(|url| url_of_tool(walker, tool, url));
    } else if known(TARGET_KEYS) && strings.iter().all(|path| !path.contains(char::is_whitespace) || path.contains('/'))
    {
        strings.iter().for_each(|path| spelled(path, |path| walker.write(path)));
    } else if known(PATH_KEYS) || (key.ends_with("_path") || key.ends_with("_file") || key.ends_with("_dir")) {
        strings.iter().for_each(|path| path_of_tool(walker, tool, key, path));
    } else if known(SQL_KEYS) {
        for text in &strings {
            let upper = text.trim_start().to_uppercase();
            if ["DROP ", "DELETE ", "TRUNCATE ", "UPDATE ", "ALTER ", "GRANT ", "INSERT ", "CREATE "].iter().any(
                |word| {
                    upper.starts_with(word)
                        || upper.contains(&format!("; {word}"))
                        || upper.contains(&format!(";{word}"))
                },
            ) {
                content::judge_sql(walker.findings, text);
            }
        }
    } else if known(CONTENT_KEYS) {
        strings.iter().for_each(|text| content_of_tool(walker, tool, text));
    } else {
        other(walker, &strings);
    }
}

/// A parameter of any other name is checked only for what is certain from the text itself.
fn other(walker: &mut Walker, strings: &[String]) {
    for text in strings {
        if !text.contains(char::is_whitespace) && text.contains("://") {
            match super::urls::reach(text) {
                super::urls::Reach::Metadata(host) => {
                    walker.findings.block(rules::SSRF, format!("{host} gives out credentials of this machine"))
                }
                _ if text.starts_with("file://") => {
                    walker.read(&text["file://".len()..], By::FileTool);
                }
                _ => {}
            }
        } else if !text.contains(char::is_whitespace)
            && (text.starts_with('/') || text.starts_with('~') || text.starts_with("../"))
        {
            walker.read(text, By::Shell);
        }
    }
}

fn strings(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect(),
        _ => Vec::new(),
    }
}

fn command(walker: &mut Walker, value: &Value, strings: &[String]) {
    if value.is_array() && strings.len() > 1 && !strings[0].contains(' ') {
        walker.apart(|walker| walker.words(strings.to_vec(), Stream::default()));
        return;
    }
    for source in strings {
        walker.apart(|walker| walker.script(source, &Stream::default()));
    }
}

fn language(tool: &Tool) -> Language {
    let told = tool
        .params
        .get("language")
        .or_else(|| tool.params.get("lang"))
        .and_then(Value::as_str)
        .unwrap_or("")
        .to_lowercase();
    let named = |words: &[&str]| words.contains(&told.as_str()) || (told.is_empty() && tool.is(words));
    if named(&["javascript", "js", "node", "typescript", "ts", "deno"]) {
        Language::JavaScript
    } else if named(&["perl"]) {
        Language::Perl
    } else if named(&["ruby"]) {
        Language::Ruby
    } else if named(&[
        "bash", "sh", "shell", "zsh", "lua", "php", "r", "julia", "go", "rust", "java", "c", "cpp", "c++",
    ]) {
        Language::Other
    } else {
        Language::Python
    }
}

fn url_of_tool(walker: &mut Walker, tool: &Tool, url: &str) {
    let method = tool
        .params
        .get("method")
        .or_else(|| tool.params.get("verb"))
        .and_then(Value::as_str)
        .unwrap_or("")
        .to_uppercase();
    walker.fetch_by_tool(url);
    let body = ["body", "data", "json", "payload", "form", "files"]
        .iter()
        .any(|key| tool.params.get(key).is_some_and(|value| !value.is_null()));
    if !matches!(method.as_str(), "" | "GET" | "HEAD" | "OPTIONS")
        || (method.is_empty() && (body || tool.is(&["post", "upload", "put", "send"])))
    {
        walker.findings.ask(
            rules::REMOTE_CHANGE,
            format!("{} sends data", if method.is_empty() { "the request" } else { &method }),
        );
    }
}

/// Calls `act` with each spelling of a path that a careless reader might open.
fn spelled(path: &str, mut act: impl FnMut(&str)) {
    content::path_spellings(path).iter().for_each(|path| act(path));
}

fn path_of_tool(walker: &mut Walker, tool: &Tool, key: &str, path: &str) {
    let path = path.strip_prefix("file://").unwrap_or(path);
    let has_content = CONTENT_KEYS.iter().any(|key| tool.params.get(key).is_some());
    if path.contains('\0') || path.len() > 4096 {
        walker.findings.ask(rules::TRAVERSAL, "the path is not valid for a file system");
    }
    let climbs = |text: &str| text.contains("../") || text.contains("..\\");
    if !climbs(path) && climbs(&content::path_spellings(path).join("\n")) {
        walker.findings.ask(rules::TRAVERSAL, "the path leaves its folder in a disguised spelling");
    }
    let from_moved = tool.is(MOVE_WORDS);
    if tool.is(DELETE_WORDS) {
        let recursive = tool.params.get("recursive").and_then(Value::as_bool).unwrap_or(tool.is(&[
            "directory",
            "dir",
            "folder",
            "tree",
        ]));
        spelled(path, |path| walker.delete(path, recursive));
    } else if tool.is(RUN_WORDS) && !matches!(key, "cwd" | "workdir" | "working_directory") {
        walker.run_file(path);
        super::reading::run_directly(walker, path, &[]);
    } else if (tool.is(WRITE_WORDS) || has_content) && !tool.is(&["read", "list", "search", "get", "view"]) {
        spelled(path, |path| walker.write(path));
    } else {
        spelled(path, |path| {
            walker.read(path, By::FileTool);
        });
        if from_moved {
            spelled(path, |path| walker.write(path));
        }
    }
}

/// Written text is only data until it is run. So what would be blocked in it is asked about.
fn content_of_tool(walker: &mut Walker, tool: &Tool, text: &str) {
    let sends = URL_KEYS.iter().any(|key| tool.params.get(key).is_some())
        || tool.is(&["send", "post", "email", "message", "upload", "publish"]);
    if content::holds_credential(text) {
        if sends {
            walker.findings.block(rules::EXFILTRATE, "a credential would be sent");
        } else {
            walker.findings.ask(rules::SECRET_CONTENT, "the content holds a credential");
        }
    }
    let is_script = text.starts_with("#!") && text.lines().next().is_some_and(|line| line.trim_end().ends_with("sh"));
    if is_script && script_is_harmful(walker.setting, text) {
        walker.findings.ask(rules::RUN_FILE, "the script that would be written does what would be blocked");
    }
}

fn script_is_harmful(setting: &Setting, text: &str) -> bool {
    let mut findings = super::verdict::Findings::new(setting.mode);
    Walker::new(setting, &mut findings).script(text, &Stream::default());
    findings.verdict() == super::Verdict::Block
}

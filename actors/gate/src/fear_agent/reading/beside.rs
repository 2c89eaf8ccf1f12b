//! What a read-only program would run from the folder that it works in, by a table.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use maxim_bus::signals::program_files::ProgramFile;

use super::super::code::{self, Language};
use super::super::options::Parsed;
use super::super::shell::{Call, Stream, Walker};
use super::super::verdict::{Findings, Verdict, rules};
use super::makefile;

struct Row {
    programs: Vec<&'static str>,
    here: Vec<&'static str>,
    above: Vec<&'static str>,
    judged: &'static str,
}

static TABLE: LazyLock<Vec<Row>> = LazyLock::new(|| rows(include_str!("beside.tsv")));

fn rows(table: &'static str) -> Vec<Row> {
    let lines = table.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines
        .filter_map(|line| {
            let mut columns = line.split('\t');
            let (programs, files, judged) = (columns.next()?, columns.next()?, columns.next()?);
            let (above, here): (Vec<_>, Vec<_>) = files.split(' ').partition(|name| name.starts_with('^'));
            let above = above.into_iter().map(|name| &name[1..]).collect();
            Some(Row { programs: programs.split(' ').collect(), here, above, judged })
        })
        .collect()
}

/// Options that name the folder in which a program works.
const FOLDERS: &[&str] = &["C", "directory", "prefix", "cwd", "dir", "chdir", "working-dir", "project-directory"];

pub(super) fn judge(walker: &mut Walker, call: &Call, parsed: &Parsed) {
    for row in TABLE.iter().filter(|row| row.programs.contains(&call.name.as_str())) {
        if row.judged == "python-names" && !looks_beside(call, parsed) {
            continue;
        }
        let folders = std::iter::once(".").chain(parsed.values(FOLDERS)).map(str::to_owned).collect::<Vec<_>>();
        for folder in folders {
            let folder = if folder == "." { Some(walker.cwd.clone()) } else { walker.absolute(&folder) };
            let Some(folder) = folder.filter(|folder| folder.starts_with('/')) else { continue };
            for (names, upwards) in [(&row.here, false), (&row.above, true)] {
                if names.is_empty() {
                    continue;
                }
                let Some(found) = walker.beside(&folder, names, upwards) else { continue };
                if let Some(why) = &found.fault {
                    walker.findings.ask(
                        rules::RUN_FILE,
                        format!("what {} would run out of {folder} can't be told: {why}", call.name),
                    );
                }
                // `make -C dir` takes its includes and runs its recipes in that folder.
                let before = match row.judged {
                    "makefile" => std::mem::replace(&mut walker.cwd, folder.clone()),
                    _ => walker.cwd.clone(),
                };
                judge_found(walker, call, row.judged, &found.files);
                walker.cwd = before;
            }
        }
    }
}

fn judge_found(walker: &mut Walker, call: &Call, judged: &'static str, files: &[ProgramFile]) {
    let files: &[ProgramFile] = if judged == "makefile" { files.get(..1).unwrap_or_default() } else { files };
    let (kind, keys) = judged.split_once(' ').unwrap_or((judged, ""));
    for file in files {
        let name = &call.name;
        let ask = |walker: &mut Walker, why: String| walker.findings.ask(rules::RUN_FILE, why);
        if kind == "any" {
            ask(walker, format!("{name} would run {}", file.path));
            continue;
        }
        if kind == "python-names" {
            if let Some(module) = shadowed(&file.path, &imported(call)) {
                ask(walker, format!("{} would be run in place of Python's own {module}", file.path));
            }
            continue;
        }
        let Some(text) = &file.text else {
            let why = file.fault.as_deref().unwrap_or("it is no text");
            ask(walker, format!("{name} goes by {}, which can't be judged: {why}", file.path));
            continue;
        };
        match kind {
            "keys" | "paths" => {
                if let Some(key) = keys.split(' ').find(|key| sets(text, key, kind == "paths")) {
                    ask(walker, format!("{} sets {key}, so {name} would run something else", file.path));
                }
            }
            "makefile" => makefile::judge(walker, text, &call.args),
            "shell" => {
                ask(walker, format!("{name} would run {}", file.path));
                walker.apart(|walker| walker.script(text, &Stream::default()));
            }
            _ => {
                let language = if kind == "ruby" { Language::Ruby } else { Language::JavaScript };
                let (text, imported) = without_packages(text);
                if acts(walker, language, &text, &imported) {
                    ask(walker, format!("{name} would run {}, which does more than set something", file.path));
                }
            }
        }
    }
}

/// Whether Python looks for modules in the folder: with `-c`, `-m`, or a program on standard input.
fn looks_beside(call: &Call, parsed: &Parsed) -> bool {
    let is_safe = parsed.has(&["I", "P"]) || call.args.iter().any(|arg| arg == "-I" || arg == "-P");
    !is_safe
        && (parsed.has(&["c", "m"]) || parsed.operands.first().is_none_or(|path| path == "-") && call.stdin.present)
}

/// The module for which Python would take a file beside the program.
fn shadowed<'a>(path: &'a str, imported: &[String]) -> Option<&'a str> {
    static MODULES: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
        let lines = include_str!("python_modules.txt").lines().filter(|line| !line.starts_with('#'));
        lines.flat_map(str::split_ascii_whitespace).collect()
    });
    let path = path.strip_suffix("/__init__.py").unwrap_or(path);
    let name = path.rsplit('/').next()?.split('.').next()?;
    (MODULES.contains(&name) || imported.iter().any(|module| module == name)).then_some(name)
}

/// The modules that a call names: the module of `-m`, and imports of code on the command line or on standard input. A
/// file that is only checked (`-m py_compile d.py`) isn't a module.
fn imported(call: &Call) -> Vec<String> {
    let words = |text: &str| -> Vec<String> {
        text.split(|c: char| !c.is_alphanumeric() && c != '_')
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let mut modules = Vec::new();
    let mut code: Vec<&str> = call.stdin.text.as_deref().into_iter().collect();
    let mut args = call.args.iter();
    while let Some(arg) = args.next() {
        let letters = arg.strip_prefix('-').filter(|letters| !letters.starts_with('-')).unwrap_or_default();
        let Some(at) = letters.find(['m', 'c']) else { continue };
        let attached = &letters[at + 1..];
        let value = if attached.is_empty() { args.next().map_or("", String::as_str) } else { attached };
        match &letters[at..=at] {
            "m" => modules.extend(words(value).into_iter().next()),
            _ => code.push(value),
        }
        break;
    }
    for text in code {
        // `import a, b as c`: each following word may be a module.
        for statement in text.split([';', '\n']) {
            let words = words(statement);
            let from = words
                .iter()
                .position(|word| matches!(word.as_str(), "import" | "from" | "__import__" | "import_module"));
            modules.extend(from.into_iter().flat_map(|at| words[at + 1..].to_vec()));
        }
    }
    modules
}

/// Whether a line of a configuration file sets this key; with `only_paths`, only to a path.
fn sets(text: &str, key: &str, only_paths: bool) -> bool {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';']));
    lines.into_iter().any(|line| {
        line.match_indices(key).any(|(at, _)| {
            let is_part = line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            let rest = line[at + key.len()..].trim_start_matches(['"', '\'', ']', ' ', '\t']);
            let value = match rest.strip_prefix(['=', ':']) {
                Some(value) => value,
                // `yarn-path "./x"`, and a section of that name.
                None if rest.is_empty() && line.starts_with('[') && line.ends_with(']') => "/",
                None if line[at + key.len()..].starts_with([' ', '\t']) && at == 0 => rest,
                None => return false,
            };
            !is_part && (!only_paths || value.contains('/'))
        })
    })
}

/// Removes imports of installed packages, which every configuration has, and lists the names that they declare. Imports of
/// project files and of modules that act stay.
fn without_packages(text: &str) -> (String, BTreeSet<String>) {
    let is_package = |line: &&str| {
        let is_import =
            ["import ", "const ", "let ", "var ", "source ", "gem ", "gemspec", "export default ", "module.exports"]
                .iter()
                .any(|word| line.trim_start().starts_with(word));
        let imports = line.contains(" from ") || line.contains("require(") || line.trim_start().starts_with("import ");
        let is_local = ["\"./", "'./", "\"../", "'../", "\"/", "'/", "child_process", "node:", "\"fs\"", "'fs'"]
            .iter()
            .any(|word| line.contains(word));
        let module = line.rsplit(['"', '\'']).nth(1).unwrap_or_default();
        is_import && imports && !is_local && !code::is_acting_module(module)
    };
    let (packages, rest): (Vec<&str>, Vec<&str>) = text.lines().partition(is_package);
    let declared = packages.iter().filter_map(|line| {
        let line = line.trim_start();
        match line.strip_prefix("import ") {
            Some(rest) => rest.split(" from ").next(),
            None => line.split_once('=').map(|(before, _)| before),
        }
    });
    let names = declared.flat_map(|names| names.split(|c: char| !c.is_alphanumeric() && !"_$".contains(c)));
    let names = names.filter(|name| !name.is_empty()).map(str::to_owned).collect();
    (rest.join("\n"), names)
}

/// Whether the code does more than compute, by the law for code on a command line.
fn acts(walker: &mut Walker, language: Language, text: &str, imported: &BTreeSet<String>) -> bool {
    let mut findings = Findings::new(walker.setting.mode);
    let verdict = {
        let mut inner = Walker::new(walker.setting, &mut findings);
        inner.cwd.clone_from(&walker.cwd);
        code::judge_with(&mut inner, language, text, imported);
        findings.verdict()
    };
    if verdict == Verdict::Block {
        code::judge_with(walker, language, text, imported);
    }
    verdict > Verdict::Allow
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_makefile_under_another_folder_takes_its_includes_and_scripts_there() {
        use super::super::super::{Mode, Setting, ToolCall, judge_seen};
        use maxim_bus::signals::program_files::{Found, Wanted};

        let setting = Setting { mode: Mode::Active, workdir: "/w".into(), home: "/h".into(), own: Default::default() };
        for command in ["make -C q", "make -Cq", "make -s --directory=q", "make --directory q all", "cd q && make"] {
            let params = serde_json::json!({ "command": command });
            let mut seen = super::super::Seen::default();
            for _ in 0..4 {
                let judged = judge_seen(&ToolCall { tool: "bash", params: &params }, &setting, Some(&seen));
                for wanted in judged.wanted {
                    let path = match &wanted {
                        Wanted::Beside { folder, names, .. }
                            if folder == "/w/q" && names.contains(&"Makefile".into()) =>
                        {
                            Some("/w/q/Makefile".to_owned())
                        }
                        _ => None,
                    };
                    let text = Some("include steps\nall:\n\tsh lk/x.txt\n".to_owned());
                    let file = path.map(|path| ProgramFile { path, digest: "1".into(), text, fault: None });
                    seen.found.push(Found { wanted, files: file.into_iter().collect(), fault: None });
                }
            }
            for path in ["/w/q/steps", "/w/q/lk/x.txt"] {
                let wanted = Wanted::Text { path: path.into() };
                assert!(seen.found.iter().any(|found| found.wanted == wanted), "{command}: {path}: {:?}", seen.found);
            }
        }
    }

    #[test]
    fn a_key_is_seen_where_it_is_set() {
        for (text, key) in [
            ("script-shell=/x", "script-shell"),
            ("[MASTER]\ninit-hook = 'import os'", "init-hook"),
            ("yarnPath: .yarn/x.cjs", "yarnPath"),
            ("yarn-path \"./x\"", "yarn-path"),
            ("build --run_under=./x", "run_under"),
            ("{\"config\": {\"allow-plugins\": true}}", "plugins"),
            ("[flake8:local-plugins]", "local-plugins"),
        ] {
            assert!(sets(text, key, false), "{text}");
        }
        for (text, key) in
            [("# script-shell=/x", "script-shell"), ("registry=https://x/git", "git"), ("testpaths = x", "paths")]
        {
            assert!(!sets(text, key, false), "{text}");
        }
        assert!(sets("[build]\nrustc-wrapper = \"./w\"", "rustc-wrapper", true));
        assert!(!sets("[build]\nrustc-wrapper = \"sccache\"", "rustc-wrapper", true));
    }

    #[test]
    fn a_file_of_a_modules_name_is_run_in_its_place() {
        let call = |args: &[&str]| Call {
            name: "python".into(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            stdin: Stream::default(),
        };
        let json_tool = call(&["-m", "json.tool", "x.json"]);
        let shadows = |path, call: &Call| shadowed(path, &imported(call)).map(str::to_owned);
        assert_eq!(shadows("/w/json.py", &json_tool).as_deref(), Some("json"));
        assert_eq!(shadows("/w/argparse/__init__.py", &json_tool).as_deref(), Some("argparse"));
        assert_eq!(shadows("/w/re.cpython-312.so", &json_tool).as_deref(), Some("re"));
        assert_eq!(shadows("/w/main.py", &json_tool), None);
        assert_eq!(shadows("/w/numpy.py", &call(&["-c", "import numpy as np"])).as_deref(), Some("numpy"));
        assert_eq!(shadows("/w/mine.py", &call(&["-c", "import sys, mine"])).as_deref(), Some("mine"));
        assert_eq!(shadows("/w/mine.py", &call(&["-Bc", "import mine"])).as_deref(), Some("mine"));
        assert_eq!(shadows("/w/mine.py", &call(&["-m", "mine.sub"])).as_deref(), Some("mine"));
        // What is only looked at is run by nobody.
        for looked in [["-m", "py_compile", "d.py"], ["-m", "tokenize", "d.py"], ["-m", "json.tool", "d.json"]] {
            assert_eq!(shadows("/w/d.py", &call(&looked)), None, "{looked:?}");
        }
    }

    #[test]
    fn each_line_of_the_table_is_read() {
        let lines =
            include_str!("beside.tsv").lines().filter(|line| !line.starts_with('#') && !line.is_empty()).count();
        assert_eq!(TABLE.len(), lines);
    }
}

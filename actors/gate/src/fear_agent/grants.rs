//! Grants: what a person allowed for good, and exactly what each covers.
//!
//! Law: a grant names one tool, one folder, one call or one form of a simple command, and the reasons for asking that
//! it answers. A call passes by grants only if each reason for asking is answered by a grant that fits the whole call.
//! A sender who commands on one channel only gives grants for that channel only. Nothing wider is derived from a grant.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use jiff::Timestamp;
use maxim_bus::signals::grants::{GrantReach, GrantShown};
use maxim_bus::signals::program_files::Fixed;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use sha2::{Digest, Sha256};

use super::shape::{Shape, What, has_form, lies_in, pattern_words, program_of};
use super::tables::{self, Reach};

/// Grants at the same time, at most. A further one is refused until one is revoked.
pub(super) const MOST: usize = 1024;
/// Characters of a text that a grant's description shows.
const SHOWN: usize = 400;

/// No grant can answer these reasons: the words of the call don't say what runs.
const NOT_NAMED: &[&str] = &[
    "obfuscate.computed-command",
    "obfuscate.decoded-code",
    "obfuscate.unparsable",
    "obfuscate.too-complex",
    "exec.download",
    "fs.unknown-path",
    "outcome.unknown",
];

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Grant {
    pub(super) given: Timestamp,
    pub(super) by: String,
    /// Holds only for calls asked for on this channel; `None`: for calls from any channel (the owner's grant).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) channel: Option<String>,
    /// The tool. A server's tool carries the digest of its description: `tool@digest`.
    pub(super) tool: String,
    pub(super) folder: PathBuf,
    /// The reasons for asking that it answers.
    pub(super) rules: BTreeSet<String>,
    pub(super) scope: Scope,
    #[serde(default)]
    pub(super) used: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) last_used: Option<Timestamp>,
    /// Fingerprint of what would run, taken when it was given. A change is asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) files: Option<Fixed>,
}

/// What a grant covers of a tool in a folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// One simple command, word by word.
    Command { words: Vec<String> },
    /// A text for the shell, letter by letter: its SHA-256 and the part that is shown.
    Text { digest: String, shown: String },
    /// Parameters: the SHA-256 of the fixed ones with their values, and the names of those that may differ.
    Parameters { names: BTreeSet<String>, free: BTreeSet<String>, digest: String, shown: String },
    /// A simple command of one program with any arguments.
    Program { program: String },
    /// A simple command of this form.
    Pattern { words: Vec<String> },
    /// Any parameters.
    Tool,
}

fn digest(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// JSON with members sorted by name, so equal values give equal texts.
fn canonical(value: &Json) -> String {
    match value {
        Json::Object(fields) => {
            let sorted: BTreeMap<&String, &Json> = fields.iter().collect();
            let members: Vec<String> = sorted
                .iter()
                .map(|(name, value)| format!("{}:{}", Json::from(name.as_str()), canonical(value)))
                .collect();
            format!("{{{}}}", members.join(","))
        }
        Json::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        other => other.to_string(),
    }
}

fn of_names(fields: &Map<String, Json>, names: &BTreeSet<String>) -> Json {
    Json::Object(fields.iter().filter(|(name, _)| names.contains(*name)).map(|(n, v)| (n.clone(), v.clone())).collect())
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}… ({} bytes in all)", &text[..end], text.len()),
        None => text.to_owned(),
    }
}

/// Why no grant can answer these reasons; `None` if one can.
pub(super) fn objection(shape: &Shape, rules: &BTreeSet<String>) -> Option<String> {
    let unnamed = rules.iter().find(|rule| NOT_NAMED.contains(&rule.as_str()));
    if unnamed.is_some() {
        return Some("what it would run or touch isn't in its words".into());
    }
    shape.objection().map(str::to_owned)
}

/// The reasons for asking and the parameters concerned; `None` if a reason concerns the whole call.
pub(super) struct Reasons {
    pub rules: BTreeSet<String>,
    pub parameters: Option<BTreeSet<String>>,
}

impl Scope {
    /// What a grant of this reach would cover.
    ///
    /// # Errors
    /// No such grant is possible.
    pub(super) fn of(reach: &GrantReach, shape: &Shape, reasons: &Reasons) -> Result<Self, String> {
        if let Some(why) = objection(shape, &reasons.rules) {
            return Err(why);
        }
        match (reach, &shape.what) {
            (GrantReach::Call, What::Simple(words)) => Ok(Self::Command { words: words.clone() }),
            (GrantReach::Call, What::Text(text)) => Ok(Self::Text { digest: digest(text), shown: cut(text) }),
            (GrantReach::Call, What::Parameters(fields)) => Ok(Self::of_parameters(fields, reasons)),
            (GrantReach::AnyArguments, What::Simple(words)) => Self::of_program(words, shape, reasons),
            (GrantReach::AnyArguments, What::Parameters(_)) => {
                let is_the_tool = reasons.rules.iter().all(|rule| rule == "exec.foreign-tool");
                is_the_tool.then_some(Self::Tool).ok_or_else(|| {
                    "it is asked about for its parameters, so there is no yes for any parameters".to_owned()
                })
            }
            (GrantReach::Pattern(pattern), What::Simple(words)) => Self::of_pattern(pattern, words),
            (GrantReach::AnyArguments | GrantReach::Pattern(_), What::Text(_)) => {
                Err("it isn't one simple command; such a yes covers only one".into())
            }
            (GrantReach::Pattern(_), What::Parameters(_)) => {
                Err(format!("{} takes no command, so there is no pattern for it", shape.tool))
            }
        }
    }

    fn of_parameters(fields: &Map<String, Json>, reasons: &Reasons) -> Self {
        // All other parameters are a fixed part of the call.
        let is_bound = |name: &String| match &reasons.parameters {
            Some(about) => about.contains(name) || !FREE.contains(&name.as_str()),
            None => true,
        };
        let (names, free): (BTreeSet<String>, BTreeSet<String>) = fields.keys().cloned().partition(is_bound);
        let text = canonical(&of_names(fields, &names));
        Self::Parameters { digest: digest(&text), shown: cut(&text), names, free }
    }

    fn of_program(words: &[String], shape: &Shape, reasons: &Reasons) -> Result<Self, String> {
        let program = program_of(&words[0]);
        if matches!(tables::reach(words), Reach::Anything | Reach::First) {
            return Err(format!(
                "{program} runs whatever its arguments say, so any arguments would be anything at all"
            ));
        }
        let is_own = lies_in(&shape.folder, &words[0]);
        let is_narrow =
            |rule: &String| rule.starts_with("destroy.") || rule.starts_with("fs.") || (is_own && rule == "exec.file");
        match reasons.rules.iter().find(|rule| !is_narrow(rule)) {
            None => Ok(Self::Program { program: words[0].clone() }),
            Some(rule) => Err(format!("with any arguments {:?} could do anything ({rule})", words[0])),
        }
    }

    fn of_pattern(pattern: &str, words: &[String]) -> Result<Self, String> {
        let form = pattern_words(pattern)?;
        if !has_form(words, &form) {
            return Err(format!("the pattern {pattern:?} doesn't fit what is asked: {}", words.join(" ")));
        }
        let program = program_of(&form[0]);
        let is_open = form.iter().any(|word| word.contains('*'));
        if is_open && tables::reach(&form) == Reach::Anything {
            return Err(format!(
                "{program} runs whatever its arguments say, so a pattern with * would be anything at all"
            ));
        }
        let names_first = form.get(1).is_some_and(|first| !first.contains('*') && !first.starts_with('-'));
        if is_open && tables::reach(&form) != Reach::Words && !names_first {
            return Err(format!(
                "{program} runs what its first argument says; name it in the pattern: {} {} *",
                words[0],
                words.get(1).filter(|first| !first.starts_with('-')).map_or("NAME", String::as_str)
            ));
        }
        Ok(Self::Pattern { words: form })
    }

    fn covers(&self, shape: &Shape) -> bool {
        match (self, &shape.what) {
            (Self::Command { words }, What::Simple(called)) => words == called,
            (Self::Text { digest: known, .. }, What::Text(text)) => {
                *known == digest(text) && shape.objection().is_none()
            }
            (Self::Program { program }, What::Simple(called)) => called.first() == Some(program),
            (Self::Pattern { words }, What::Simple(called)) => has_form(called, words),
            (Self::Parameters { names, free, digest: known, .. }, What::Parameters(fields)) => {
                // A parameter that the grant doesn't know makes it another call.
                let is_known = |name: &String| names.contains(name) || free.contains(name);
                fields.keys().all(is_known) && *known == digest(&canonical(&of_names(fields, names)))
            }
            (Self::Tool, What::Parameters(_)) => true,
            _ => false,
        }
    }
}

/// Parameters that may differ if no reason concerns them.
const FREE: [&str; 6] = ["content", "contents", "text", "new_string", "old_string", "message"];

impl Grant {
    /// Whether it fits a call asked for on this channel.
    pub(super) fn fits(&self, shape: &Shape, channel: &str) -> bool {
        self.tool == shape.tool
            && self.folder == shape.folder
            && self.channel.as_deref().is_none_or(|own| own == channel)
            && self.scope.covers(shape)
    }

    /// What it covers, in words.
    pub(super) fn words(&self) -> String {
        let rules: Vec<&str> = self.rules.iter().map(String::as_str).collect();
        let channel = self.channel.as_ref().map_or_else(String::new, |channel| format!(", asked for on {channel}"));
        format!("{} (asked because of {}){channel}", covered(&self.scope, &self.tool, &self.folder), rules.join(", "))
    }

    pub(super) fn shown(&self, id: &str) -> GrantShown {
        GrantShown {
            id: id.into(),
            given: self.given,
            by: self.by.clone(),
            covers: self.words(),
            tool: self.tool.clone(),
            rules: self.rules.iter().cloned().collect(),
            used: self.used,
            last_used: self.last_used,
        }
    }
}

/// What a scope covers, in words.
pub(super) fn covered(scope: &Scope, tool: &str, folder: &std::path::Path) -> String {
    let folder = folder.display();
    let (tool, offer) = tool.split_once('@').map_or((tool, ""), |(tool, _)| (tool, ", as its server describes it now"));
    match scope {
        Scope::Command { words } => {
            format!(
                "exactly the command “{}” in {folder}",
                cut(&words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "))
            )
        }
        Scope::Text { shown, .. } => format!("exactly the command line “{shown}”, letter by letter, in {folder}"),
        Scope::Parameters { shown, names, .. } if names.is_empty() => {
            format!("{tool} without parameters ({shown}){offer}, in {folder}")
        }
        Scope::Parameters { shown, free, .. } if free.is_empty() => {
            format!("{tool} with exactly {shown}{offer}, in {folder}")
        }
        Scope::Parameters { shown, free, .. } => {
            let free: Vec<&str> = free.iter().map(String::as_str).collect();
            format!("{tool} with exactly {shown} and ANY {}{offer}, in {folder}", free.join(", "))
        }
        Scope::Program { program } => {
            format!("the program {program} with ANY arguments, as one simple command, in {folder}")
        }
        Scope::Pattern { words } => format!("any one simple command of the form “{}” in {folder}", words.join(" ")),
        Scope::Tool => format!("{tool} with ANY parameters{offer}, in {folder}"),
    }
}

/// A word as one would type it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%^".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::super::{Mode, Setting};
    use super::*;

    fn setting(folder: &Path) -> Setting {
        Setting {
            mode: Mode::Active,
            workdir: folder.to_owned(),
            home: PathBuf::from("/home/anna"),
            own: std::sync::Arc::default(),
        }
    }

    fn shape(text: &str) -> Shape {
        Shape::of("bash", &json!({ "command": text }), &setting(Path::new("/nonexistent/work")))
    }

    fn reasons(rules: &[&str]) -> Reasons {
        Reasons { rules: rules.iter().map(|rule| (*rule).to_owned()).collect(), parameters: None }
    }

    fn scope(text: &str, reach: &GrantReach, rules: &[&str]) -> Result<Scope, String> {
        Scope::of(reach, &shape(text), &reasons(rules))
    }

    #[test]
    fn a_grant_for_a_command_covers_no_other() {
        let scope = scope("python3 count.py", &GrantReach::Call, &["exec.file"]).expect("one");
        assert!(scope.covers(&shape("python3 count.py")) && scope.covers(&shape(" python3  'count.py' ")));
        for other in [
            "python3 other.py",
            "./run.sh",
            "python3 count.py x",
            "python3 count.py $(touch made2)",
            "python3 count.py `touch made2`",
            "python3 count.py && git reset --hard",
            "python3 count.py; sudo id",
            "python3 count.py | sh",
            "python3 count.py > out",
            "python3 count.py &",
            "PYTHONPATH=x python3 count.py",
            "git reset --hard && python3 count.py",
            "python3 count.py <(rm x)",
            "python3 count.py\nrm -rf x",
            "if true; then python3 count.py; fi",
            "timeout 5 python3 count.py",
        ] {
            assert!(!scope.covers(&shape(other)), "{other}");
        }
        let elsewhere = Shape::of(
            "bash",
            &json!({"command": "python3 count.py", "cwd": "sub"}),
            &setting(Path::new("/nonexistent/work")),
        );
        let grant = Grant {
            given: Timestamp::UNIX_EPOCH,
            by: "anna".into(),
            channel: Some("twilio".into()),
            tool: "bash".into(),
            folder: PathBuf::from("/nonexistent/work"),
            rules: BTreeSet::from(["exec.file".to_owned()]),
            scope,
            used: 0,
            last_used: None,
            files: None,
        };
        assert!(grant.fits(&shape("python3 count.py"), "twilio"));
        assert!(!grant.fits(&shape("python3 count.py"), "telegram"), "another channel");
        assert!(!grant.fits(&elsewhere, "twilio"), "another folder");
    }

    #[test]
    fn a_chain_is_granted_letter_by_letter_and_what_varies_never() {
        let chain = scope("git init && git reset --hard", &GrantReach::Call, &["destroy.vcs"]).expect("one");
        assert!(chain.covers(&shape("git init && git reset --hard")));
        assert!(!chain.covers(&shape("git init && git reset --hard HEAD~1")));
        for varies in ["python3 $F", "python3 a.py $(cat b)", "python3 `cat b`", "python3 *.py", "cat <(make)"] {
            assert!(scope(varies, &GrantReach::Call, &["exec.file"]).is_err(), "{varies}");
        }
        assert!(scope("sh run.sh", &GrantReach::Call, &["obfuscate.computed-command"]).is_err());
    }

    #[test]
    fn any_arguments_are_granted_for_no_interpreter_shell_or_wrapper() {
        let any = GrantReach::AnyArguments;
        assert!(scope("git reset --hard", &any, &["destroy.vcs"]).is_ok());
        for (text, rule) in [
            ("python3 a.py", "exec.file"),
            ("/usr/bin/python3.12 a.py", "exec.file"),
            ("sh a.sh", "exec.file"),
            ("env git reset --hard", "destroy.vcs"),
            ("timeout 5 git reset --hard", "destroy.vcs"),
            ("make clean", "exec.build"),
            ("frobnicate x", "exec.unknown-program"),
            ("./elsewhere/../../run.sh", "exec.file"),
            ("curl -d x http://a.example", "network.change"),
            ("find . -delete", "destroy.work"),
        ] {
            assert!(scope(text, &any, &[rule]).is_err(), "{text}");
        }
        assert!(scope("git reset --hard && id", &any, &["destroy.vcs"]).is_err());
    }

    #[test]
    fn a_pattern_fits_what_is_asked_and_is_no_blank_cheque() {
        let give = |text: &str, pattern: &str| scope(text, &GrantReach::Pattern(pattern.into()), &["exec.build"]);
        let cargo = give("cargo test --lib", "cargo test *").expect("one");
        assert!(cargo.covers(&shape("cargo test")) && cargo.covers(&shape("cargo test -p a")));
        for other in [
            "cargo run",
            "cargo test && rm x",
            "cargo test > x",
            "cargo test $(id)",
            "A=1 cargo test",
            "cargo test | sh",
        ] {
            assert!(!cargo.covers(&shape(other)), "{other}");
        }
        for (text, pattern) in [
            ("cargo test", "cargo run *"),
            ("cargo test", "cargo *t"),
            ("cargo test", "* test"),
            ("python3 a.py", "python3 *"),
            ("python3 -c x", "python3 -c *"),
            ("sh -c x", "sh -c *"),
            ("env make", "env *"),
            ("timeout 5 make", "timeout 5 *"),
            ("make a", "make *"),
            ("git push", "git *"),
            ("cargo test && make", "cargo test *"),
        ] {
            assert!(give(text, pattern).is_err(), "{text}: {pattern}");
        }
    }

    #[test]
    fn parameters_are_granted_with_their_values() {
        let of = |params: Json| Shape::of("write_file", &params, &setting(Path::new("/nonexistent/work")));
        let asked = of(json!({"path": ".github/workflows/ci.yml", "content": "a"}));
        let about = Reasons {
            rules: BTreeSet::from(["persist.project-hook".to_owned()]),
            parameters: Some(BTreeSet::from(["path".to_owned()])),
        };
        let scope = Scope::of(&GrantReach::Call, &asked, &about).expect("one");
        assert!(scope.covers(&of(json!({"content": "b", "path": ".github/workflows/ci.yml"}))));
        assert!(!scope.covers(&of(json!({"path": ".github/workflows/cd.yml", "content": "a"}))));
        assert!(!scope.covers(&of(json!({"path": ".github/workflows/ci.yml", "content": "a", "mode": "append"}))));
        assert!(Scope::of(&GrantReach::AnyArguments, &asked, &about).is_err());
        // About its content, or as a whole: nothing of it may differ.
        let whole = Scope::of(&GrantReach::Call, &asked, &reasons(&["secret.content"])).expect("one");
        assert!(
            whole.covers(&asked) && !whole.covers(&of(json!({"path": ".github/workflows/ci.yml", "content": "b"})))
        );
        let tool = Scope::of(&GrantReach::AnyArguments, &asked, &reasons(&["exec.foreign-tool"])).expect("one");
        assert!(tool.covers(&of(json!({"path": "x"}))));
    }
}

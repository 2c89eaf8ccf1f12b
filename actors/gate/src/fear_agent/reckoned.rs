//! Words that bash evaluates again after expansion: numbers, names with a subscript, prompts.
//!
//! `x='a[$(reboot)]'; echo $((x))` runs `reboot`. A number may be a name, a name stands for its value, the value is a
//! number again, and the subscript of an array is expanded. So a command can run at a place where it isn't written.

use std::collections::BTreeSet;

use super::programs;
use super::shell::Walker;
use super::verdict::rules;

/// Variables that are integers without a declaration.
const EVALUATED: &[&str] = &["RANDOM", "OPTIND", "SECONDS", "SRANDOM"];
/// Variables that map names to programs.
const COMMAND_TABLES: &[&str] = &["BASH_CMDS", "BASH_ALIASES"];

/// Whether expanding the text could run something.
pub(super) fn substitutes(text: &str) -> bool {
    text.contains("$(") || text.contains('`') || text.contains("${") || text.contains("$[")
}

/// Possible names of variables in an expression.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
}

impl Walker<'_> {
    /// An expression as written: `((…))`, `$((…))`, `a[…]`.
    pub(super) fn arithmetic(&mut self, raw: &str) {
        let text = self.expand_document(raw);
        self.evaluate(&text);
    }

    /// An expanded word that is used as a number.
    pub(super) fn evaluate(&mut self, text: &str) {
        let mut todo = vec![text.to_owned()];
        let mut seen = BTreeSet::new();
        while let Some(text) = todo.pop() {
            if !seen.insert(text.clone()) {
                continue;
            }
            todo.extend(names(&text).filter_map(|name| self.variables.get(name).cloned()));
            if substitutes(&text) {
                self.once_more(&text);
            }
        }
    }

    /// An expanded word that names a variable. Its subscript is a number.
    pub(super) fn evaluate_name(&mut self, name: &str) {
        if let Some((_, subscript)) = name.split_once('[') {
            self.evaluate(subscript);
        }
    }

    /// An expanded text that is expanded again on use: a prompt, a list of completions.
    pub(super) fn once_more(&mut self, text: &str) {
        // A value that names itself would recurse without end.
        let within = self.deeper(|walker| walker.apart(|walker| walker.expand_document(text)));
        if within.is_none() {
            self.findings.ask(rules::TOO_COMPLEX, "values are evaluated inside of values too deeply");
        }
    }

    /// Sets a variable of this shell, by any means.
    pub(super) fn assign(&mut self, name: &str, value: String) {
        self.evaluate_name(name);
        let plain = name.split('[').next().unwrap_or(name);
        if self.has_integers || EVALUATED.contains(&plain) {
            self.evaluate(&value);
        }
        if COMMAND_TABLES.contains(&plain) {
            self.findings.ask(rules::RUN_CODE, format!("{plain} makes a name run another program"));
        }
        if self.exports_all {
            programs::judge_environment(self, &[(plain.to_owned(), value.clone())]);
        } else {
            programs::judge_own_environment(self, plain, &value);
        }
        self.variables.insert(plain.to_owned(), value);
    }

    /// Runs with variables that are removed afterwards: `X=1 command`.
    pub(super) fn with_variables<T>(&mut self, assigned: &[(String, String)], run: impl FnOnce(&mut Self) -> T) -> T {
        let before: Vec<(String, Option<String>)> = assigned
            .iter()
            .map(|(name, value)| (name.clone(), self.variables.insert(name.clone(), value.clone())))
            .collect();
        let out = run(self);
        for (name, value) in before.into_iter().rev() {
            match value {
                Some(value) => self.variables.insert(name, value),
                None => self.variables.remove(&name),
            };
        }
        out
    }
}

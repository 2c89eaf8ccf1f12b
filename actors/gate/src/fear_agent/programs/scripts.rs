//! What the options of language interpreters put into a program: imported modules, filters, and operands that are opened
//! as a shell would open them.

use std::collections::BTreeSet;

use super::super::code::{self, Language};
use super::super::effects::By;
use super::super::shell::{Stream, Walker};
use super::super::verdict::rules;
use super::Parsed;

/// The names that modules on the command line declare: `perl -MList::Util=sum`, `ruby -rjson`. A module that isn't known
/// to be harmless is asked about.
pub(super) fn imported(walker: &mut Walker, language: Language, parsed: &Parsed) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let options: &[&str] = match language {
        Language::Perl => &["M", "m"],
        Language::Ruby => &["r"],
        _ => return names,
    };
    for module in parsed.values(options) {
        let (name, list) = module.split_once('=').unwrap_or((module, ""));
        let name = name.trim_start_matches('-');
        let list: Vec<&str> = list.split(',').filter(|name| !name.is_empty()).collect();
        let is_list = list.iter().all(|name| {
            name.trim_start_matches([':', '$', '-']).chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.')
        });
        match code::module(language, name) {
            Some(known) if is_list => {
                let known = list.iter().filter(|name| known.is_empty() || known.contains(*name));
                names.extend(known.map(|name| (*name).to_owned()));
            }
            _ => {
                walker.findings.ask(rules::RUN_CODE, format!("the module {name} isn't known to be harmless"));
                // The text after the name is code.
                if language == Language::Perl
                    && !module.chars().all(|c| c.is_ascii_alphanumeric() || ":_=,-.".contains(c))
                {
                    code::judge(walker, language, module);
                }
            }
        }
    }
    names
}

/// `<>` opens its arguments as the shell would: `cmd |` runs, `> file` writes.
pub(super) fn two_argument_open(walker: &mut Walker, operand: &str) {
    let operand = operand.trim();
    if operand.starts_with('|') || operand.ends_with('|') {
        walker.findings.ask(rules::RUN_CODE, "perl would run the command that a file's name is");
        let source = operand.trim_matches(['|', ' ']).to_owned();
        walker.apart(|walker| walker.script(&source, &Stream::unknown()));
    } else if let Some(path) = operand.strip_prefix(['>', '+']) {
        walker.write(path.trim_start_matches(['>', '<', ' ']));
    } else if let Some(path) = operand.strip_prefix('<') {
        walker.read(path.trim_start(), By::Shell);
    }
}

/// The code of `perl -ne` and `ruby -ne`, which is run for each line of its input.
pub(super) fn filter(walker: &mut Walker, language: Language, source: &str, imported: &BTreeSet<String>) {
    for computed in walker.computed_text("the filter", source) {
        filter(walker, language, &computed, imported);
    }
    if !code::only_computes(language, source, imported) || source.contains("ARGV") {
        code::judge(walker, language, source);
        walker.findings.ask(rules::RUN_CODE, "the filter's code does more than work on text");
        super::named_places::judge_text(walker, source);
    }
}

/// The expression of `rename`.
pub(super) fn rename(walker: &mut Walker, source: &str) {
    filter(walker, Language::Perl, source, &BTreeSet::new());
}

/// Lines that IPython gives to a shell (`!ls`, `x = !ls`) or to its own commands (`%run x.py`).
pub(super) fn ipython(walker: &mut Walker, source: &str) {
    for line in source.lines().map(str::trim_start) {
        let command = match line.split_once('!') {
            Some((before, command)) if !command.starts_with('=') => {
                let is_plain = before.trim().is_empty() || before.trim_end().ends_with('=');
                is_plain.then_some(command)
            }
            _ => None,
        };
        if let Some(command) = command {
            walker.findings.ask(rules::RUN_CODE, "ipython would run a command");
            let command = command.trim_start_matches('!').to_owned();
            walker.apart(|walker| walker.script(&command, &Stream::unknown()));
        } else if let Some(magic) = line.strip_prefix('%').or_else(|| line.split_once("= %").map(|(_, magic)| magic)) {
            walker.findings.ask(rules::RUN_CODE, "ipython would run one of its own commands");
            let words = magic.trim_start_matches('%');
            if let Some((_, command)) =
                words.split_once(' ').filter(|(name, _)| matches!(*name, "system" | "sx" | "sc"))
            {
                walker.apart(|walker| walker.script(command, &Stream::unknown()));
            }
        }
    }
}

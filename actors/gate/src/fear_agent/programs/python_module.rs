//! `python -m MODULE`, by the table of modules. A module that isn't in it is asked about.

use super::super::code::Language;
use super::super::effects::By;
use super::super::shell::{Call, Stream, Walker};
use super::super::tables::{self, Module};
use super::super::verdict::rules;
use super::Parsed;
use super::interpreters::code_stream;

pub(super) fn judge(walker: &mut Walker, call: &Call, parsed: &Parsed, module: &str) -> Stream {
    // What follows the module's name is the module's own.
    let args = &parsed.operands;
    let operands = || args.iter().filter(|arg| !arg.starts_with('-'));
    match tables::python_module(module) {
        Some(Module::Program(name)) => {
            let mut words = vec![name.to_owned()];
            words.extend(args.iter().cloned());
            return walker.words(words, call.stdin.clone());
        }
        Some(Module::Looks { only_with, output }) => {
            let is_asked = !only_with.is_empty() && !args.first().is_some_and(|arg| only_with.contains(&arg.as_str()));
            if is_asked {
                walker.findings.ask(rules::RUN_CODE, format!("the module {module} does more than look"));
            }
            for (at, path) in operands().enumerate() {
                if output && at > 0 {
                    walker.write(path);
                } else {
                    walker.read(path, By::Shell);
                }
            }
        }
        Some(Module::Interpreter) => code_stream(walker, Language::Python, &call.stdin),
        Some(Module::Asks(rule)) => walker.findings.ask(rule, format!("the module {module} does more than look")),
        None => {
            walker.findings.ask(rules::RUN_CODE, format!("runs the module {module}, which isn't known"));
            super::loose_arguments(walker, args);
        }
    }
    Stream::unknown()
}

//! Modules that `python -m` runs, out of the data file.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::super::verdict::Rule;
use super::{names_of, rows, rule};

/// What a module does when it is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Module {
    /// It reads its operands. If `only_with` isn't empty, it does so only if its first argument is one of these. With
    /// `output` it writes its second operand.
    Looks {
        only_with: &'static [&'static str],
        output: bool,
    },
    /// It is the program of this name.
    Program(&'static str),
    /// It runs what it reads from standard input.
    Interpreter,
    Asks(Rule),
}

static MODULES: LazyLock<BTreeMap<&'static str, Module>> = LazyLock::new(|| {
    let mut modules = BTreeMap::new();
    for row in rows(include_str!("modules.tsv")) {
        let [names, takes, effect] = row[..] else { continue };
        for name in names_of(names) {
            let module = match (takes, effect.split_once(' ')) {
                ("program", _) if effect == "same" => Module::Program(name),
                ("program", _) => Module::Program(effect),
                ("code", _) => Module::Interpreter,
                (_, Some(("asks", word))) => Module::Asks(rule(word)),
                (takes, _) => {
                    let only_with: Vec<&'static str> = match effect {
                        "looks" => Vec::new(),
                        options => options.split(' ').collect(),
                    };
                    Module::Looks { only_with: only_with.leak(), output: takes == "input-output" }
                }
            };
            modules.insert(name, module);
        }
    }
    modules
});

/// What the table says of a module of Python.
pub(in super::super) fn python_module(name: &str) -> Option<Module> {
    MODULES.get(name).copied()
}

/// Whether it runs what it reads from standard input.
pub(in super::super) fn is_python_interpreter(name: &str) -> bool {
    python_module(name) == Some(Module::Interpreter)
}

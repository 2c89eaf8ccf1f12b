//! Walks a parsed shell program and follows what would run: pipelines with their data, functions where they are called,
//! loops with their words, and the folder after `cd`.

mod bounds;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use brush_parser::ast::{
    AssignmentName, AssignmentValue, BinaryPredicate as Binary, Command, CommandPrefixOrSuffixItem as Item,
    CompoundCommand, CompoundList, ExtendedTestExpr, FunctionDefinition, Pipeline, Program, SeparatorOperator,
    SimpleCommand, UnaryPredicate as Unary, Word,
};

use super::Setting;
use super::computed::{Computed, Origins};
use super::endless;
use super::paths::UNKNOWN;
use super::programs;
use super::verdict::{Findings, rules};
use super::words::BETWEEN;
use bounds::{bounded, is_arithmetic, nesting};

/// Longest program that is parsed, in bytes. A longer one is asked about.
const SOURCE_LIMIT: usize = 48 * 1024;
/// Deepest nesting of brackets and compound commands that is parsed. The parser is recursive.
const NESTING_LIMIT: usize = 40;
/// Deepest chain of shells within shells.
const DEPTH_LIMIT: usize = 16;
/// Most simple commands judged for one tool call. It bounds nested loops and functions.
const COMMAND_LIMIT: usize = 3000;

/// Characters of a simple command shown with a question.
const COMMAND_SHOWN: usize = 300;

/// The data in a pipe, as far as it is known.
#[derive(Debug, Clone, Default)]
pub(super) struct Stream {
    pub text: Option<String>,
    /// Something is connected; its content may be unknown.
    pub present: bool,
    pub from_network: bool,
    pub decoded: bool,
    /// It would fill any file that receives it.
    pub endless: bool,
    /// It is the whole content of this file. The text is read only if it matters.
    pub file: Option<String>,
    /// Its unknown part is only digits, letters and harmless marks.
    pub is_plain: bool,
}

impl Stream {
    pub(super) fn of(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), present: true, ..Self::default() }
    }

    pub(super) fn unknown() -> Self {
        Self { present: true, ..Self::default() }
    }

    /// A filter's output: unknown text of the same origin.
    pub(super) fn filtered(&self) -> Self {
        Self { text: None, present: true, endless: false, file: None, is_plain: false, ..*self }
    }

    fn join(&mut self, other: Self) {
        // The file counts only if nothing else precedes or follows it.
        let is_first = self.text.as_deref() == Some("");
        self.file = if is_first { other.file } else { self.file.take().filter(|_| other.text.as_deref() == Some("")) };
        self.is_plain = match (self.text.as_deref(), other.text.as_deref()) {
            (Some(""), _) => other.is_plain,
            (_, Some("")) => self.is_plain,
            _ => self.is_plain && other.is_plain,
        };
        self.text = match (self.text.take(), other.text) {
            (Some(a), Some(b)) if a.len() + b.len() <= SOURCE_LIMIT => Some(a + &b),
            _ => None,
        };
        self.present |= other.present;
        self.from_network |= other.from_network;
        self.decoded |= other.decoded;
        self.endless |= other.endless;
    }
}

/// One command with its words expanded.
pub(super) struct Call {
    /// As it was typed.
    pub name: String,
    pub args: Vec<String>,
    pub stdin: Stream,
}

pub(super) struct Walker<'a> {
    pub setting: &'a Setting,
    pub findings: &'a mut Findings,
    /// Absolute, or starting with [`UNKNOWN`].
    pub cwd: String,
    pub variables: BTreeMap<String, String>,
    /// `$1`…; `None` if they aren't known.
    pub positional: Option<Vec<String>>,
    /// Some variable is an integer, so an assignment may be evaluated.
    pub has_integers: bool,
    /// All assigned variables are passed to the programs that run.
    pub exports_all: bool,
    /// A part of this call may go on while the next commands run.
    pub starts_others: bool,
    /// Origin of the unknown part of the word that is being expanded.
    pub(super) origins: Origins,
    /// Words of the current command with an unknown part.
    pub(super) computed: Vec<Computed>,
    /// The same, by variable.
    pub(super) computed_variables: BTreeMap<String, Origins>,
    /// The walk is in a function that nothing here calls, so its arguments aren't known.
    pub(super) is_uncalled: bool,
    functions: BTreeMap<String, Rc<FunctionDefinition>>,
    called: Vec<String>,
    /// Outputs of the current command's process substitutions.
    pub substituted: Vec<Stream>,
    depth: usize,
    commands: usize,
    /// What it reads of the files that would be run.
    pub reading: super::reading::Reading<'a>,
}

impl<'a> Walker<'a> {
    pub(super) fn new(setting: &'a Setting, findings: &'a mut Findings) -> Self {
        let cwd = super::paths::root_of(setting).to_string_lossy().into_owned();
        Self {
            setting,
            findings,
            cwd,
            variables: BTreeMap::new(),
            positional: None,
            has_integers: false,
            exports_all: false,
            starts_others: false,
            origins: Origins::default(),
            computed: Vec::new(),
            computed_variables: BTreeMap::new(),
            is_uncalled: false,
            functions: BTreeMap::new(),
            called: Vec::new(),
            substituted: Vec::new(),
            depth: 0,
            commands: 0,
            reading: super::reading::Reading::default(),
        }
    }

    /// Judges a program text in this shell. Returns its standard output.
    pub(super) fn script(&mut self, source: &str, stdin: &Stream) -> Stream {
        if self.depth >= DEPTH_LIMIT {
            self.findings.ask(rules::TOO_COMPLEX, format!("shells are nested more than {DEPTH_LIMIT} deep"));
            return Stream::unknown();
        }
        let Some(program) = self.parse(source) else { return Stream::unknown() };
        self.depth += 1;
        let mut out = Stream::of("");
        for list in &program.complete_commands {
            out.join(self.list(list, stdin));
        }
        self.depth -= 1;
        if self.depth == 0 {
            self.uncalled_functions();
        }
        out
    }

    /// A program text in its own shell: what it sets is dropped afterwards.
    pub(super) fn subshell(&mut self, source: &str) -> Stream {
        self.apart(|walker| walker.script(source, &Stream::default()))
    }

    pub(super) fn apart<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> T {
        let (cwd, variables, positional) = (self.cwd.clone(), self.variables.clone(), self.positional.clone());
        let computed = self.computed_variables.clone();
        let out = run(self);
        (self.cwd, self.variables, self.positional) = (cwd, variables, positional);
        self.computed_variables = computed;
        out
    }

    /// One level deeper; `None` if that is too deep or too much.
    pub(super) fn deeper<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.commands += 1;
        if self.depth >= DEPTH_LIMIT || self.commands > COMMAND_LIMIT {
            return None;
        }
        self.depth += 1;
        let out = run(self);
        self.depth -= 1;
        Some(out)
    }

    fn parse(&mut self, source: &str) -> Option<Program> {
        let source = source.replace("\r\n", "\n");
        // Commands copied from documentation keep the prompt.
        let source = source.trim_start().strip_prefix("$ ").unwrap_or(&source);
        if source.contains(UNKNOWN) {
            self.findings.ask(rules::COMPUTED_COMMAND, "the command is put together while it runs");
            self.fixes_named();
            // The known part is still judged, with a plain variable in place of the rest.
            return self.parse(&source.replace(UNKNOWN, "${_unknown}"));
        }
        if source.len() > SOURCE_LIMIT || nesting(source) > NESTING_LIMIT {
            self.findings.ask(rules::TOO_COMPLEX, "the command is too long or too deeply nested to be read");
            return None;
        }
        let options = brush_parser::ParserOptions::default();
        // The parser is third-party code. A panic in it must not count as a verdict.
        let parsed =
            catch_unwind(AssertUnwindSafe(|| brush_parser::Parser::new(source.as_bytes(), &options).parse_program()));
        match parsed {
            Ok(Ok(program)) => Some(program),
            Ok(Err(_)) | Err(_) => {
                self.findings.ask(rules::UNPARSABLE, "the command is not well-formed shell");
                None
            }
        }
    }

    /// Functions that this program defines and doesn't call may be called by what it starts.
    fn uncalled_functions(&mut self) {
        let todo: Vec<Rc<FunctionDefinition>> = self
            .functions
            .iter()
            .filter(|(name, _)| !self.called.contains(name))
            .map(|(_, function)| Rc::clone(function))
            .collect();
        self.depth += 1;
        for function in todo {
            self.apart(|walker| {
                walker.positional = None;
                walker.is_uncalled = true;
                walker.compound(&function.body.0, &Stream::default());
                walker.is_uncalled = false;
            });
        }
        self.depth -= 1;
    }

    pub(super) fn list(&mut self, list: &CompoundList, stdin: &Stream) -> Stream {
        let mut out = Stream::of("");
        for item in &list.0 {
            let run = |walker: &mut Self| {
                let mut out = Stream::of("");
                for (_, pipeline) in &item.0 {
                    out.join(walker.pipeline(pipeline, stdin));
                }
                out
            };
            let is_apart = matches!(item.1, SeparatorOperator::Async);
            out.join(if is_apart { self.apart(run) } else { run(self) });
            self.starts_others |= is_apart;
        }
        out
    }

    fn pipeline(&mut self, pipeline: &Pipeline, stdin: &Stream) -> Stream {
        if let [command] = pipeline.seq.as_slice() {
            return self.command(command, stdin);
        }
        let mut flow = stdin.clone();
        for command in &pipeline.seq {
            flow = self.apart(|walker| walker.command(command, &flow));
        }
        flow
    }

    fn command(&mut self, command: &Command, stdin: &Stream) -> Stream {
        match command {
            Command::Simple(simple) => self.simple(simple, stdin),
            Command::Compound(compound, redirects) => {
                let stdin = self.redirected(redirects.as_ref(), stdin);
                let out = self.compound(compound, &stdin);
                if out.endless && endless::into_file(redirects.iter().flat_map(|list| &list.0)) {
                    self.fills_the_disk();
                }
                out
            }
            Command::Function(function) => {
                self.define(function);
                Stream::of("")
            }
            Command::ExtendedTest(test, redirects) => {
                self.redirected(redirects.as_ref(), stdin);
                self.test(&test.expr);
                Stream::of("")
            }
        }
    }

    fn define(&mut self, function: &FunctionDefinition) {
        let name = function.fname.value.clone();
        let body =
            function.body.to_string().replace("&&", " ").replace("||", " ").replace(">&", " ").replace("&>", " ");
        let words: Vec<&str> = body.split_whitespace().collect();
        let recursive = words.windows(2).any(|pair| pair[0] == name && pair[1].starts_with(['|', '&']))
            || words
                .iter()
                .any(|word| word.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with(['|', '&'])));
        if recursive {
            self.findings.block(rules::FORK_BOMB, format!("{name} starts itself again and again"));
        }
        self.functions.insert(name, Rc::new(function.clone()));
    }

    fn compound(&mut self, compound: &CompoundCommand, stdin: &Stream) -> Stream {
        match compound {
            CompoundCommand::BraceGroup(group) => self.list(&group.list, stdin),
            CompoundCommand::Subshell(subshell) => self.apart(|walker| walker.list(&subshell.list, stdin)),
            CompoundCommand::Arithmetic(arithmetic) => {
                self.arithmetic(&arithmetic.expr.value);
                self.doubtful_arithmetic(&arithmetic.expr.value);
                Stream::of("")
            }
            CompoundCommand::ArithmeticForClause(clause) => {
                for expression in [&clause.initializer, &clause.condition, &clause.updater].into_iter().flatten() {
                    self.arithmetic(&expression.value);
                }
                self.list(&clause.body.list, stdin);
                Stream::unknown()
            }
            CompoundCommand::ForClause(clause) => {
                let (values, origins) = self.tracing(|walker| -> Vec<String> {
                    match &clause.values {
                        Some(words) => words.iter().flat_map(|word| walker.expand(&word.value)).collect(),
                        None => walker.words_of("@"),
                    }
                });
                // The first values are followed one by one. Further ones are taken to be like them.
                for value in values.into_iter().take(24) {
                    self.traces_assignment(&clause.variable_name, &value, origins.clone());
                    self.assign(&clause.variable_name, value);
                    self.list(&clause.body.list, stdin);
                }
                Stream::unknown()
            }
            CompoundCommand::CaseClause(clause) => {
                self.expand_single(&clause.value.value);
                for list in clause.cases.iter().filter_map(|case| case.cmd.as_ref()) {
                    self.list(list, stdin);
                }
                Stream::unknown()
            }
            CompoundCommand::IfClause(clause) => {
                self.list(&clause.condition, stdin);
                self.list(&clause.then, stdin);
                for part in clause.elses.iter().flatten() {
                    if let Some(condition) = &part.condition {
                        self.list(condition, stdin);
                    }
                    self.list(&part.body, stdin);
                }
                Stream::unknown()
            }
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                // `while [ $# -gt 0 ]; do …; shift; done` goes over all arguments.
                for _ in 0..24 {
                    let before = self.positional.clone();
                    self.list(&clause.0, stdin);
                    self.list(&clause.1.list, stdin);
                    if self.positional == before || self.positional.as_ref().is_none_or(Vec::is_empty) {
                        break;
                    }
                }
                let endless = matches!(clause.0.to_string().trim(), "true" | ":" | "[ 1 ]" | "((1))");
                if endless && clause.1.list.0.iter().any(|item| matches!(item.1, SeparatorOperator::Async)) {
                    self.findings.ask(rules::EXHAUST, "an endless loop starts processes without waiting for them");
                }
                Stream::unknown()
            }
            CompoundCommand::Coprocess(coprocess) => {
                self.starts_others = true;
                self.apart(|walker| walker.command(&coprocess.body, stdin))
            }
        }
    }

    /// `( ( rm x ) )` may be read as `(( rm x ))`. Two adjacent words aren't arithmetic, so they are judged as a
    /// command.
    pub(super) fn doubtful_arithmetic(&mut self, expression: &str) {
        let words: Vec<&str> = expression.split_whitespace().collect();
        let is_word = |word: &str| {
            word.starts_with(|c: char| {
                c.is_alphabetic() || matches!(c, '_' | '/' | '.' | '~' | '\\' | '\'' | '"' | '$')
            })
        };
        let is_argument = |word: &str| {
            is_word(word)
                || (word.len() > 1
                    && word.starts_with(['-', '<', '>'])
                    && word[1..].starts_with(|c: char| !c.is_ascii_digit() && c != '='))
        };
        if words.windows(2).any(|pair| is_word(pair[0]) && is_argument(pair[1])) {
            self.apart(|walker| walker.script(expression, &Stream::default()));
        }
    }

    fn test(&mut self, expression: &ExtendedTestExpr) {
        match expression {
            ExtendedTestExpr::And(a, b) | ExtendedTestExpr::Or(a, b) => {
                self.test(a);
                self.test(b);
            }
            ExtendedTestExpr::Not(inner) | ExtendedTestExpr::Parenthesized(inner) => self.test(inner),
            ExtendedTestExpr::UnaryTest(predicate, word) => {
                let name = self.expand_single(&word.value);
                if matches!(predicate, Unary::ShellVariableIsSetAndAssigned | Unary::ShellVariableIsSetAndNameRef) {
                    self.evaluate_name(&name);
                }
            }
            ExtendedTestExpr::BinaryTest(predicate, a, b) => {
                for word in [a, b] {
                    let value = self.expand_single(&word.value);
                    if is_arithmetic(predicate) {
                        self.evaluate(&value);
                    }
                }
            }
        }
    }

    fn simple(&mut self, command: &SimpleCommand, stdin: &Stream) -> Stream {
        self.commands += 1;
        if self.commands > COMMAND_LIMIT {
            self.findings.ask(rules::TOO_COMPLEX, format!("more than {COMMAND_LIMIT} commands would run"));
            return Stream::unknown();
        }
        let outer = std::mem::take(&mut self.substituted);
        let outer_computed = std::mem::take(&mut self.computed);
        let around = self.findings.about_command(Some(bounded(command)));
        let mut stdin = stdin.clone();
        let mut words = Vec::new();
        let mut assigned = Vec::new();
        let prefix = command.prefix.iter().flat_map(|prefix| &prefix.0);
        let suffix = command.suffix.iter().flat_map(|suffix| &suffix.0);
        for item in prefix {
            self.item(item, &mut stdin, &mut words, Some(&mut assigned));
        }
        words.extend(command.word_or_name.iter().flat_map(|word| self.expand(&word.value)));
        for item in suffix {
            self.item(item, &mut stdin, &mut words, None);
        }
        let is_fed_plainly = self.is_fed_plainly(&stdin);
        let mut out = if words.is_empty() {
            for (name, value) in assigned {
                self.assign(&name, value);
            }
            // `$(<file)` outputs the file.
            match command.prefix.is_some() && stdin.present {
                true => Stream { file: stdin.file.clone(), ..stdin.filtered() },
                false => Stream::of(""),
            }
        } else {
            programs::judge_environment(self, &assigned);
            self.with_variables(&assigned, |walker| walker.words(words, stdin))
        };
        let redirects = command.suffix.iter().flat_map(|suffix| &suffix.0).filter_map(|item| match item {
            Item::IoRedirect(redirect) => Some(redirect),
            _ => None,
        });
        if out.endless && endless::into_file(redirects) {
            self.fills_the_disk();
        }
        if out.text.as_ref().is_some_and(|text| text.contains(UNKNOWN)) {
            out.is_plain = is_fed_plainly && self.computed.is_empty();
        }
        self.substituted = outer;
        self.computed = outer_computed;
        self.findings.about_command(around);
        out
    }

    fn item(
        &mut self,
        item: &Item,
        stdin: &mut Stream,
        words: &mut Vec<String>,
        assigned: Option<&mut Vec<(String, String)>>,
    ) {
        match item {
            Item::IoRedirect(redirect) => self.redirect(redirect, stdin),
            Item::Word(word) => words.extend(self.expand(&word.value)),
            Item::ProcessSubstitution(_, subshell) => {
                let out = self.apart(|walker| walker.list(&subshell.list, &Stream::unknown()));
                words.push(format!("/dev/fd/{}", 63 + self.substituted.len()));
                self.substituted.push(out);
            }
            Item::AssignmentWord(assignment, word) => match assigned {
                None => match &assignment.value {
                    // `local a=("$@")`.
                    AssignmentValue::Array(items) => {
                        let name = word.value.split('=').next().unwrap_or_default().to_owned();
                        words.push(format!("{name}={}", self.array(items)));
                    }
                    AssignmentValue::Scalar(_) => words.extend(self.expand_assignment(word)),
                },
                Some(assigned) => {
                    let name = match &assignment.name {
                        AssignmentName::VariableName(name) => name.clone(),
                        AssignmentName::ArrayElementName(name, subscript) => {
                            self.arithmetic(subscript);
                            name.clone()
                        }
                    };
                    let (mut value, origins) = self.tracing(|walker| match &assignment.value {
                        AssignmentValue::Scalar(word) => walker.expand_single(&word.value),
                        AssignmentValue::Array(items) => walker.array(items),
                    });
                    if !assignment.append || value.contains(UNKNOWN) {
                        self.traces_assignment(&name, &value, origins);
                    }
                    if assignment.append {
                        let before = self.words_of(&name).join(BETWEEN.encode_utf8(&mut [0; 4]));
                        value = match &assignment.value {
                            AssignmentValue::Array(_) => format!("{before}{BETWEEN}{value}"),
                            AssignmentValue::Scalar(_) => format!("{before}{value}"),
                        };
                    }
                    assigned.push((name, value));
                }
            },
        }
    }

    /// The words of an array.
    fn array(&mut self, items: &[(Option<Word>, Word)]) -> String {
        for subscript in items.iter().filter_map(|(subscript, _)| subscript.as_ref()) {
            self.arithmetic(&subscript.value);
        }
        let words: Vec<String> = items.iter().flat_map(|(_, word)| self.expand(&word.value)).collect();
        words.join(BETWEEN.encode_utf8(&mut [0; 4]))
    }

    /// `local x=$1`, `dd if=/x`: one word whose value isn't split.
    fn expand_assignment(&mut self, word: &Word) -> Vec<String> {
        let (word, origins) = self.tracing(|walker| walker.expand_single(&word.value));
        let words = vec![word];
        self.notes_computed(&words, &origins);
        words
    }

    /// Runs a command given as words, as `sudo`, `env`, `xargs` and `find -exec` do.
    pub(super) fn words(&mut self, mut words: Vec<String>, stdin: Stream) -> Stream {
        if words.is_empty() {
            return stdin;
        }
        self.commands += 1;
        if self.depth >= DEPTH_LIMIT || self.commands > COMMAND_LIMIT {
            self.findings.ask(rules::TOO_COMPLEX, "commands are wrapped too deeply");
            return Stream::unknown();
        }
        let name = words.remove(0);
        self.depth += 1;
        let out = match self.functions.get(&name).cloned() {
            Some(function) => self.call(&name, &function, words, &stdin),
            None => programs::judge(self, &Call { name, args: words, stdin }),
        };
        self.depth -= 1;
        out
    }

    fn call(&mut self, name: &str, function: &FunctionDefinition, args: Vec<String>, stdin: &Stream) -> Stream {
        if !self.called.iter().any(|called| called == name) {
            self.called.push(name.to_owned());
        }
        let outer = self.positional.replace(args);
        let stdin = self.redirected(function.body.1.as_ref(), stdin);
        let out = self.compound(&function.body.0, &stdin);
        self.positional = outer;
        out
    }

    /// After `unset f` or `alias f=…` the name means something else, so the function is forgotten.
    pub(super) fn forget_function(&mut self, name: &str) {
        self.functions.remove(name);
    }
}

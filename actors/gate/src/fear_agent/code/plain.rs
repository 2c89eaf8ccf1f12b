//! Whether a program only computes, read the safe way round: each of its names must be known to reach nothing outside
//! the program. What isn't known is asked about.
//!
//! Names are known from a table (`harmless.tsv`), or the program declares them itself. A name that reaches outside
//! stays unknown even if the program declares it too: `sub system {}` doesn't change what `system` does.

mod declared;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use super::Language;
use super::lexer::{Lexeme, lexemes};

use Lexeme::{Line, Member, Name, Number, Sign, Template, Text, Variable};
use declared::{Declared, closing, declared, opening};

/// What is known of a language.
#[derive(Default)]
struct Table {
    /// Names that may be used and called.
    words: BTreeSet<&'static str>,
    /// Members that may be called.
    members: BTreeSet<&'static str>,
    /// Names and members that are never plain.
    never: BTreeSet<&'static str>,
    /// Members that write a file if they are given one argument.
    empty: BTreeSet<&'static str>,
    /// Names, not members, that are never plain.
    never_names: BTreeSet<&'static str>,
    /// Names of which only these members may be used.
    roots: BTreeMap<&'static str, BTreeSet<&'static str>>,
    modules: BTreeMap<&'static str, BTreeSet<&'static str>>,
    /// Members that call what they are given.
    callers: BTreeSet<&'static str>,
}

static TABLES: LazyLock<BTreeMap<&'static str, Table>> = LazyLock::new(|| {
    let mut tables: BTreeMap<&'static str, Table> = BTreeMap::new();
    let lines = include_str!("harmless.tsv").lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    for line in lines {
        let mut cells = line.split('\t');
        let (Some(language), Some(kind), Some(names)) = (cells.next(), cells.next(), cells.next()) else { continue };
        let table = tables.entry(language).or_default();
        let names = names.split(' ');
        match kind.split_once(' ') {
            Some(("of", root)) => table.roots.entry(root).or_default().extend(names),
            Some(("module", module)) => table.modules.entry(module).or_default().extend(names),
            _ => match kind {
                "word" => table.words.extend(names),
                "member" => table.members.extend(names),
                "empty" => table.empty.extend(names),
                "never-name" => table.never_names.extend(names),
                "caller" => table.callers.extend(names),
                "module" => table.modules.extend(names.map(|name| (name, BTreeSet::new()))),
                _ => table.never.extend(names),
            },
        }
    }
    tables
});

fn table(language: Language) -> Option<&'static Table> {
    TABLES.get(match language {
        Language::Python => "python",
        Language::JavaScript => "javascript",
        Language::Perl => "perl",
        Language::Ruby => "ruby",
        Language::Other => return None,
    })
}

/// The names by which a harmless module of the language may be used; `None` if the module isn't known to be harmless.
/// An empty list stands for all that it has.
pub(in super::super) fn module(language: Language, name: &str) -> Option<&'static BTreeSet<&'static str>> {
    table(language)?.modules.get(name)
}

/// Whether a module of Node.js itself reaches outside the program.
pub(in super::super) fn is_acting_module(name: &str) -> bool {
    let name = name.trim_start_matches("node:").split('/').next().unwrap_or_default();
    matches!(name, "module" | "process" | "bun")
        || table(Language::JavaScript).is_some_and(|table| table.never_names.contains(name))
}

/// Whether a program is known to only compute. `imported`: names that options of its interpreter declare.
pub(in super::super) fn only_computes(language: Language, source: &str, imported: &BTreeSet<String>) -> bool {
    let (Some(table), Some(lexemes)) = (table(language), lexemes(source, language)) else { return false };
    let mut declared = declared(&lexemes, language);
    declared.all.extend(imported.iter().cloned());
    declared.functions.extend(imported.iter().cloned());
    // `<>` opens the files that it is given as a shell would.
    let has = |name: &str| lexemes.iter().any(|lexeme| matches!(lexeme, Variable(known) if known == name));
    if language == Language::Perl && has("ARGV") && (has("<>") || has("<ARGV>")) {
        return false;
    }
    let reader = Reader { table, lexemes: &lexemes, language, declared: &declared, imported };
    (0..lexemes.len()).all(|at| reader.is_plain(at))
}

struct Reader<'a> {
    table: &'static Table,
    lexemes: &'a [Lexeme],
    language: Language,
    declared: &'a Declared,
    imported: &'a BTreeSet<String>,
}

impl Reader<'_> {
    fn get(&self, at: usize) -> Option<&Lexeme> {
        self.lexemes.get(at)
    }

    fn before(&self, at: usize) -> Option<&Lexeme> {
        at.checked_sub(1).and_then(|at| self.lexemes.get(at))
    }

    fn is_sign(&self, at: usize, sign: char) -> bool {
        self.get(at) == Some(&Sign(sign))
    }

    fn is_plain(&self, at: usize) -> bool {
        match &self.lexemes[at] {
            Name(name) => self.is_plain_name(at, name),
            Member(name) => self.is_plain_member(at, name),
            Variable(name) => self.is_plain_variable(at, name),
            Text(_) => !self.is_sign(at + 1, '('),
            Template => {
                let is_tagged = matches!(self.before(at), Some(Name(_) | Member(_) | Text(_) | Sign(']' | '}')));
                let tag = matches!(self.before(at), Some(Name(word)) if self.table.words.contains(word.as_str()));
                !is_tagged || tag
            }
            Sign(')') if self.language == Language::JavaScript && self.is_sign(at + 1, '(') => self.ends_function(at),
            Sign(')' | ']' | '}') => !self.is_sign(at + 1, '(') || self.language == Language::Ruby,
            Sign('[') if self.language == Language::JavaScript => self.is_plain_index(at),
            Sign('>') if self.language == Language::Perl && self.before(at) == Some(&Sign('-')) => {
                !matches!(self.get(at + 1), Some(Sign('(') | Variable(_) | Text(_)))
            }
            // `&:name` and `inject(:name)` call by name.
            Sign(_) | Number | Line => true,
        }
    }

    /// A name that is only the key of a value: `{name: 1}`, `name => 1`, `{name}` in Perl, `:name` in Ruby.
    fn is_key(&self, at: usize) -> bool {
        let before = self.lexemes[..at].iter().rev().find(|lexeme| **lexeme != Line);
        let is_first = matches!(before, Some(Sign('{' | ',' | '(')));
        match self.language {
            Language::JavaScript => is_first && self.is_sign(at + 1, ':'),
            Language::Ruby => is_first && self.is_sign(at + 1, ':') && !self.is_sign(at + 2, ':'),
            Language::Perl => {
                (self.is_sign(at + 1, '=') && self.is_sign(at + 2, '>'))
                    || (self.before(at) == Some(&Sign('{')) && self.is_sign(at + 1, '}') && self.is_subscript(at - 1))
            }
            _ => false,
        }
    }

    fn is_subscript(&self, brace: usize) -> bool {
        matches!(self.before(brace), Some(Variable(_) | Sign(']' | '}' | '>')))
    }

    fn is_plain_name(&self, at: usize, name: &str) -> bool {
        let table = self.table;
        if self.is_key(at) {
            // `{constructor: c} = x` takes a member.
            return !matches!(name, "constructor" | "prototype" | "__proto__");
        }
        let behind_dot = self.before(at) == Some(&Sign('.')) && self.get(at.wrapping_sub(2)) != Some(&Sign('.'));
        if behind_dot && self.language != Language::Perl {
            return false;
        }
        if let Some(is_plain) = self.as_import(at, name) {
            return is_plain;
        }
        let is_inner = self.language == Language::Python && name.starts_with("__") && !table.words.contains(name);
        if is_inner || table.never.contains(name) || table.never_names.contains(name) {
            return false;
        }
        let is_called = matches!(self.get(at + 1), Some(Sign('(') | Template));
        if let Some(members) = table.roots.get(name) {
            return match (self.language, self.get(at + 1)) {
                (_, Some(Member(member))) => {
                    let is_set = self.is_sign(at + 2, '=') && !self.is_sign(at + 3, '=');
                    let is_list = member == "path" && !matches!(self.get(at + 2), Some(Sign(')' | ',' | ']')) | None);
                    !is_set && !is_list && (members.contains(member.as_str()) || members.contains("*"))
                }
                // `import sys, json`.
                (Language::Python, next) => {
                    let is_import = self.is_within_import(at);
                    is_import && matches!(next, None | Some(Line | Sign(';' | ',')))
                }
                _ => false,
            };
        }
        if table.words.contains(name) {
            return self.is_plain_word(at, name);
        }
        if let Some((package, function)) = name.rsplit_once("::") {
            return match table.modules.get(package) {
                Some(_) if table.never.contains(function) => false,
                Some(functions) => functions.is_empty() || functions.contains(function) || functions.contains("*"),
                None => {
                    let of_class = self.language == Language::Ruby && table.words.contains(package);
                    table.modules.contains_key(name) || (of_class && table.members.contains(function))
                }
            };
        }
        // The name of a package: `JSON::PP->new`.
        if self.language == Language::Perl && table.modules.contains_key(name) {
            return true;
        }
        if self.imported.contains(name) {
            return true;
        }
        let is_function = self.declared.functions.contains(name) && !self.declared.values.contains(name);
        let must_be_function = is_called && self.language == Language::JavaScript;
        let is_whole = matches!(self.before(at), Some(Sign('(' | ','))) && self.ends_argument(at);
        if self.language == Language::JavaScript && is_whole && !is_function && self.is_given_to_a_caller(at) {
            return false;
        }
        is_function || (self.declared.all.contains(name) && !must_be_function)
    }

    /// Words with a second meaning.
    fn is_plain_word(&self, at: usize, name: &str) -> bool {
        let next = self.get(at + 1);
        match (self.language, name) {
            (Language::JavaScript, "new") => match next {
                Some(Name(class)) => {
                    self.table.words.contains(class.as_str()) || self.table.roots.contains_key(class.as_str())
                }
                _ => false,
            },
            (Language::JavaScript, "require") => match (next, self.get(at + 2), self.get(at + 3)) {
                (Some(Sign('(')), Some(Text(module)), Some(Sign(')'))) => {
                    self.table.modules.contains_key(module.trim_start_matches("node:"))
                }
                _ => false,
            },
            (Language::Perl, "do" | "eval") => next == Some(&Sign('{')),
            (Language::Perl, "use" | "no" | "require") => match next {
                Some(Name(module)) => self.table.modules.contains_key(module.as_str()),
                Some(Number) => true,
                _ => false,
            },
            (Language::Perl, "sort") => {
                !matches!(next, Some(Variable(_))) || !matches!(self.get(at + 2), Some(Variable(_)))
            }
            (Language::Ruby, "require") => match (next, self.get(at + 2)) {
                (Some(Text(module)), _) | (Some(Sign('(')), Some(Text(module))) => {
                    self.table.modules.contains_key(module.as_str())
                }
                _ => false,
            },
            (Language::Python, "getattr") => {
                let text = (2..8).find_map(|ahead| match self.get(at + ahead) {
                    Some(Text(text)) => Some(text),
                    _ => None,
                });
                next == Some(&Sign('('))
                    && text.is_some_and(|text| !text.starts_with('_') && !self.table.never.contains(text.as_str()))
            }
            // Only as it is judged: with a literal name of a file.
            (Language::Python, "open") => {
                matches!((next, self.get(at + 2)), (Some(Sign('(')), Some(Text(_))))
            }
            _ => true,
        }
    }

    /// What the place of a name in `from sys import argv` says of it; `None` if it says nothing.
    fn as_import(&self, at: usize, name: &str) -> Option<bool> {
        if self.language != Language::Python || matches!(name, "from" | "import" | "as") || !self.is_within_import(at) {
            return None;
        }
        let line = self.statement(at);
        match &self.lexemes[line..] {
            [Name(from), Name(module), ..] if from == "from" => {
                if at == line + 1 {
                    // The module itself is judged where it is imported.
                    return Some(true);
                }
                let of_root = self.table.roots.get(module.as_str());
                match of_root {
                    Some(members) => Some(name != "path" && members.contains(name)),
                    None => name.starts_with('_').then_some(false),
                }
            }
            _ => None,
        }
    }

    /// Where the statement of Python begins.
    fn statement(&self, at: usize) -> usize {
        self.lexemes[..at].iter().rposition(|lexeme| matches!(lexeme, Line | Sign(';'))).map_or(0, |at| at + 1)
    }

    /// Whether a name stands in an `import` statement of Python.
    fn is_within_import(&self, at: usize) -> bool {
        matches!(self.get(self.statement(at)), Some(Name(word)) if word == "import" || word == "from")
    }

    fn is_plain_member(&self, at: usize, name: &str) -> bool {
        let table = self.table;
        if table.never.contains(name) {
            return false;
        }
        let root = match self.before(at) {
            Some(Name(root)) => table.roots.get(root.as_str()),
            _ => None,
        };
        if root.is_some() || matches!(self.before(at), Some(Name(name)) if self.imported.contains(name)) {
            return true;
        }
        let is_called = matches!(self.get(at + 1), Some(Sign('(') | Template));
        match self.language {
            Language::Python => {
                let is_inner = name.starts_with('_') && !matches!(name, "__name__" | "__version__" | "__doc__");
                let is_file = table.empty.contains(name) && self.is_sign(at + 1, '(') && !self.has_no_file(at + 1);
                !is_inner && !is_file && (!super::is_python_module(name) || super::acts::is_pure(name))
            }
            Language::JavaScript => !name.starts_with('_') && (!is_called || table.members.contains(name)),
            Language::Perl => self.is_plain_method(at, name),
            Language::Ruby => table.members.contains(name),
            Language::Other => false,
        }
    }

    /// A method of Perl. A class must be named as it is: any other may have been loaded, and its `new` may act.
    fn is_plain_method(&self, at: usize, name: &str) -> bool {
        let of = at.checked_sub(3).and_then(|of| self.get(of));
        let is_class =
            matches!(of, Some(Name(class)) if self.table.modules.contains_key(class.as_str()) || class.contains("::"));
        let is_value = matches!(of, Some(Variable(_) | Member(_) | Sign(')' | ']' | '}')));
        self.table.members.contains(name) && (is_class || (is_value && name != "new"))
    }

    /// Whether a call that writes a file if it is given one argument has none, or more.
    fn has_no_file(&self, open: usize) -> bool {
        let end = closing(self.lexemes, open).min(self.lexemes.len());
        let mut depth = 0;
        let has_more = self.lexemes[open + 1..end].iter().any(|lexeme| {
            match lexeme {
                Sign('(' | '[' | '{') => depth += 1,
                Sign(')' | ']' | '}') => depth -= 1,
                _ => {}
            }
            depth == 0 && *lexeme == Sign(',')
        });
        // `json.dump(value, sys.stdout)`.
        let is_dump = matches!(self.before(open), Some(Member(name)) if name == "dump");
        end == open + 1 || (is_dump && has_more)
    }

    /// `(async () => { … })()`: whether the bracket that closes here holds a function and nothing else.
    fn ends_function(&self, at: usize) -> bool {
        let mut from = opening(self.lexemes, at) + 1;
        from += usize::from(self.get(from) == Some(&Name("async".into())));
        let is_function = self.get(from) == Some(&Name("function".into()));
        from += usize::from(is_function);
        if !self.is_sign(from, '(') {
            return false;
        }
        from = closing(self.lexemes, from) + 1;
        if !is_function {
            if !(self.is_sign(from, '=') && self.is_sign(from + 1, '>')) {
                return false;
            }
            from += 2;
        }
        self.is_sign(from, '{') && closing(self.lexemes, from) + 1 == at
    }

    fn is_plain_variable(&self, at: usize, name: &str) -> bool {
        match self.language {
            Language::Perl => {
                let is_deref =
                    name.len() == 1 && !name.chars().all(|c| c.is_alphanumeric()) && self.is_sign(at + 1, '{');
                let bare = name.trim_matches(['<', '>']);
                match name.rsplit_once("::") {
                    Some((package, name)) => {
                        self.table.modules.contains_key(package) && !self.table.never.contains(name)
                    }
                    None => {
                        !self.table.never.contains(bare)
                            && (!is_deref || !matches!(self.get(at + 2), Some(Text(_) | Sign('\\'))))
                    }
                }
            }
            // A symbol that is given to a member may be called by it.
            _ => match name.strip_prefix(':') {
                Some(symbol) => {
                    let is_given = matches!(self.before(at), Some(Sign('&' | '(' | ',') | Name(_) | Member(_)));
                    let is_key = self.is_sign(at + 1, '=') && self.is_sign(at + 2, '>');
                    !is_given || is_key || self.table.members.contains(symbol)
                }
                None => !self.table.never.contains(name),
            },
        }
    }

    /// `x[i]` of JavaScript: a member by its name, which must not be put together.
    fn is_plain_index(&self, at: usize) -> bool {
        let is_index = match self.before(at) {
            Some(Name(word)) => {
                !matches!(word.as_str(), "return" | "of" | "in" | "typeof" | "case" | "yield" | "await")
            }
            Some(Member(_) | Text(_) | Template | Sign(')' | ']' | '}' | '.')) => true,
            _ => false,
        };
        if !is_index {
            return true;
        }
        let end = closing(self.lexemes, at).min(self.lexemes.len());
        if self.ends_argument(end) && self.is_given_to_a_caller(at) {
            return false;
        }
        let inner = &self.lexemes[at + 1..end];
        match inner {
            [Text(name)] => !self.table.never.contains(name.as_str()),
            _ => inner.iter().all(|lexeme| match lexeme {
                Number | Name(_) | Sign('+' | '-' | '*' | '/' | '%' | '(' | ')' | '.') => true,
                Member(name) => matches!(
                    name.as_str(),
                    "length" | "floor" | "random" | "argv" | "min" | "max" | "ceil" | "abs" | "round"
                ),
                _ => false,
            }),
        }
    }

    /// Whether an expression that begins here is an argument of a member that calls it: `list.map(name)`.
    fn is_given_to_a_caller(&self, at: usize) -> bool {
        let mut start = at;
        let mut depth = 0;
        while start > 0 {
            start -= 1;
            match &self.lexemes[start] {
                Sign(')' | ']' | '}') => depth += 1,
                Sign('[' | '{') if depth == 0 => return false,
                Sign('(') if depth == 0 => break,
                Sign('(' | '[' | '{') => depth -= 1,
                Sign(';') | Line if depth == 0 => return false,
                // The body of a function that is written here.
                Sign('>') if depth == 0 && self.before(start) == Some(&Sign('=')) => return false,
                _ => {}
            }
        }
        matches!(self.before(start), Some(Member(name) | Name(name)) if self.table.callers.contains(name.as_str()))
    }

    /// Whether what ends here is a whole argument.
    fn ends_argument(&self, at: usize) -> bool {
        matches!(self.get(at + 1), Some(Sign(')' | ',')))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_of_the_table_is_of_a_known_kind() {
        let lines = include_str!("harmless.tsv").lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        for line in lines {
            let cells: Vec<&str> = line.split('\t').collect();
            assert_eq!(cells.len(), 3, "{line}");
            assert!(["python", "javascript", "perl", "ruby"].contains(&cells[0]), "{line}");
            let kind = cells[1].split(' ').next().unwrap_or_default();
            assert!(
                ["word", "member", "never", "never-name", "empty", "of", "module", "caller"].contains(&kind),
                "{line}"
            );
            assert!(!cells[2].is_empty() && !cells[2].contains("  "), "{line}");
        }
    }

    #[test]
    fn no_name_is_both_harmless_and_never_so() {
        for (language, table) in TABLES.iter() {
            let both: Vec<_> = table.words.union(&table.members).filter(|name| table.never.contains(*name)).collect();
            assert!(both.is_empty(), "{language}: {both:?}");
        }
    }
}

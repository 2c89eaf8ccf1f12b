//! Command-line options in a compact table. The effect of an option's value matters more than its name.
//!
//! A table is words separated by spaces: `o,output=W k,key=V f,force`. The names of one option are joined by commas.
//! After `=` stands the role of its value: `V` text, `R` a file that is read, `W` a file or folder that is written, `X`
//! a command line that is run, `U` a URL, `P` the file of a pattern or program, `L` a file of code or settings that
//! run, `l` the same if it is a path, `T` a file or a command after `|`, `C` a file unless it holds `=`, `M` a module to which
//! all that follows belongs. Other letters
//! are for the program's own judge. Two letters are two values. Without `=` the option takes no value. A table that
//! starts with `!` has long names after a single dash (`-name x`), as in find, gcc and terraform. A table that starts
//! with `^` ends options at the first operand, as wrappers do.

/// Options and operands of one call.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    /// Name (the table's first spelling if known, else as written), value, role of the value.
    pub options: Vec<(String, Option<String>, char)>,
    pub operands: Vec<String>,
}

impl Parsed {
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|(name, _, _)| names.contains(&name.as_str()))
    }

    pub(super) fn value(&self, names: &[&str]) -> Option<&str> {
        self.options
            .iter()
            .find(|(name, value, _)| names.contains(&name.as_str()) && value.is_some())
            .and_then(|(_, value, _)| value.as_deref())
    }

    pub(super) fn values<'a>(&'a self, names: &'a [&str]) -> impl Iterator<Item = &'a str> {
        self.options
            .iter()
            .filter(|(name, _, _)| names.contains(&name.as_str()))
            .filter_map(|(_, value, _)| value.as_deref())
    }
}

/// An entry of a table: its first spelling and the roles of its values. Most options have at most one value.
type Entry<'a> = (&'a str, Option<&'a str>);

/// The entry of the table for `name`: its first spelling and the role of its value.
fn entry<'a>(table: &'a str, name: &str, abbreviated: bool) -> Option<Entry<'a>> {
    let entries = || {
        table
            .split_ascii_whitespace()
            .map(|entry| entry.split_once('=').map_or((entry, None), |(names, roles)| (names, Some(roles))))
    };
    let exact = entries().find(|(names, _)| names.split(',').any(|n| n == name));
    let found = exact.or_else(|| {
        (abbreviated && !name.is_empty())
            .then(|| entries().find(|(names, _)| names.split(',').any(|n| n.len() > 2 && n.starts_with(name))))?
    });
    found.map(|(names, role)| (names.split(',').next().unwrap_or(names), role))
}

/// A program's own table and the data file's additions. For an option in both, the first gives the name and the second
/// the values. The program is judged by the first's name.
#[derive(Clone, Copy)]
struct Tables<'a> {
    own: &'a str,
    added: &'a str,
}

impl<'a> Tables<'a> {
    fn entry(self, name: &str, abbreviated: bool) -> Option<Entry<'a>> {
        let own = entry(self.own, name, false);
        match entry(self.added, name, false) {
            Some((canonical, roles)) => Some((own.map_or(canonical, |(own, _)| own), roles)),
            None => own.or_else(|| entry(self.own, name, abbreviated)).or_else(|| entry(self.added, name, abbreviated)),
        }
    }

    /// A long name after one dash.
    fn dashed(self, name: &str) -> Option<Entry<'a>> {
        let (canonical, roles) = entry(self.added, &format!("-{name}"), false)?;
        Some((canonical.trim_start_matches('-'), roles))
    }
}

pub(super) fn parse(table: &str, args: &[String]) -> Parsed {
    parse_with(table, "", args)
}

/// `added`: the data file's entries for the program, in the same form.
pub(super) fn parse_with(table: &str, added: &str, args: &[String]) -> Parsed {
    let prefix = table.len() - table.trim_start_matches(['!', '^']).len();
    let (prefix, own) = table.split_at(prefix);
    let (single_dash, stop_at_operand) = (prefix.contains('!'), prefix.contains('^'));
    let tables = Tables { own, added };
    let mut parsed = Parsed::default();
    let mut at = 0;
    while at < args.len() {
        let arg = &args[at];
        at += 1;
        if arg == "--" {
            parsed.operands.extend(args[at..].iter().cloned());
            break;
        }
        let long = arg.strip_prefix("--").filter(|rest| !rest.is_empty());
        let short = arg.strip_prefix('-').filter(|rest| !rest.is_empty() && long.is_none());
        let body = long.or(short);
        let (name, attached) =
            body.map_or(("", None), |body| body.split_once('=').map_or((body, None), |(n, v)| (n, Some(v.to_owned()))));
        let dashed = if name.chars().count() > 1 { tables.dashed(name) } else { None };
        if let Some((canonical, roles)) = dashed {
            at = take(canonical, roles, attached, args, at, &mut parsed);
        } else if let Some(body) = long.or(if single_dash { short } else { None }) {
            match tables.entry(name, long.is_some()) {
                Some((canonical, roles)) => at = take(canonical, roles, attached, args, at, &mut parsed),
                None => match single_dash.then(|| glued(tables, body)).flatten() {
                    Some((canonical, value, role)) if long.is_none() => {
                        parsed.options.push((canonical.to_owned(), Some(value), role))
                    }
                    _ => parsed.options.push((name.to_owned(), attached, ' ')),
                },
            }
        } else if let Some(letters) = short {
            at = cluster(tables, letters, args, at, &mut parsed);
        } else if stop_at_operand {
            parsed.operands.push(arg.clone());
            parsed.operands.extend(args[at..].iter().cloned());
            break;
        } else {
            parsed.operands.push(arg.clone());
        }
        // What follows a module is the module's own.
        if parsed.options.last().is_some_and(|(_, _, role)| *role == 'M') {
            parsed.operands.extend(args[at.min(args.len())..].iter().cloned());
            break;
        }
    }
    parsed
}

/// Records an option with one value for each role; the first value may be attached. Returns the index of the next
/// argument.
fn take(
    canonical: &str,
    roles: Option<&str>,
    attached: Option<String>,
    args: &[String],
    mut at: usize,
    parsed: &mut Parsed,
) -> usize {
    let Some(roles) = roles else {
        parsed.options.push((canonical.to_owned(), attached, ' '));
        return at;
    };
    let mut attached = attached;
    for role in roles.chars() {
        let value = attached.take().or_else(|| {
            at += 1;
            args.get(at - 1).cloned()
        });
        parsed.options.push((canonical.to_owned(), value, role));
    }
    at
}

/// `-ofile` in a single-dash table: the first letter takes the rest.
fn glued<'a>(tables: Tables<'a>, body: &str) -> Option<(&'a str, String, char)> {
    let first = body.chars().next()?;
    match tables.entry(first.encode_utf8(&mut [0; 4]), false) {
        Some((canonical, Some(roles))) => {
            Some((canonical, body[first.len_utf8()..].to_owned(), roles.chars().next().unwrap_or('V')))
        }
        _ => None,
    }
}

/// `-rf`, `-ofile`, `-o file`. Returns the index of the next argument.
fn cluster(tables: Tables<'_>, letters: &str, args: &[String], at: usize, parsed: &mut Parsed) -> usize {
    for (index, letter) in letters.char_indices() {
        match tables.entry(letter.encode_utf8(&mut [0; 4]), false) {
            Some((canonical, Some(roles))) => {
                let rest = &letters[index + letter.len_utf8()..];
                return take(canonical, Some(roles), (!rest.is_empty()).then(|| rest.to_owned()), args, at, parsed);
            }
            Some((canonical, None)) => parsed.options.push((canonical.to_owned(), None, ' ')),
            None => parsed.options.push((letter.to_string(), None, ' ')),
        }
    }
    at
}

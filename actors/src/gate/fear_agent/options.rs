//! Command-line options by a compact table, because what an option's value does matters more than its name.
//!
//! A table is words separated by spaces: `o,output=W k,key=V f,force`. The names of one option are joined by commas; after
//! `=` stands what its value is: `V` text, `R` a file that is read, `W` a file or folder that is written, `X` a command line that
//! is run, `U` a URL, `P` the file of a pattern or program. Without `=` the option takes no value. A table that begins
//! with `!` has long names after a single dash (`-name x`), as find, gcc and terraform do; one that begins with `^` ends options
//! at the first operand, as wrappers do.

/// Options and operands of one call.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    /// Name as in the table's first spelling when known, else as written; value; role of the value.
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

/// The entry of the table for `name`: its first spelling and the role of its value.
fn entry<'a>(table: &'a str, name: &str, abbreviated: bool) -> Option<(&'a str, Option<char>)> {
    let entries = || {
        table.split_ascii_whitespace().map(|entry| {
            let (names, role) =
                entry.split_once('=').map_or((entry, None), |(names, role)| (names, role.chars().next()));
            (names, role)
        })
    };
    let exact = entries().find(|(names, _)| names.split(',').any(|n| n == name));
    let found = exact.or_else(|| {
        (abbreviated && name.len() > 2)
            .then(|| entries().find(|(names, _)| names.split(',').any(|n| n.len() > 2 && n.starts_with(name))))?
    });
    found.map(|(names, role)| (names.split(',').next().unwrap_or(names), role))
}

pub(super) fn parse(table: &str, args: &[String]) -> Parsed {
    let single_dash = table.starts_with('!');
    let stop_at_operand = table.starts_with('^');
    let table = table.trim_start_matches(['!', '^']);
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
        if let Some(body) = long.or(if single_dash { short } else { None }) {
            let (name, attached) = body.split_once('=').map_or((body, None), |(n, v)| (n, Some(v.to_owned())));
            match entry(table, name, long.is_some()) {
                Some((canonical, Some(role))) => {
                    let value = attached.or_else(|| {
                        at += 1;
                        args.get(at - 1).cloned()
                    });
                    parsed.options.push((canonical.to_owned(), value, role));
                }
                Some((canonical, None)) => parsed.options.push((canonical.to_owned(), attached, ' ')),
                None => match single_dash.then(|| glued(table, body)).flatten() {
                    Some((canonical, value, role)) if long.is_none() => {
                        parsed.options.push((canonical.to_owned(), Some(value), role))
                    }
                    _ => parsed.options.push((name.to_owned(), attached, ' ')),
                },
            }
        } else if let Some(letters) = short {
            at = cluster(table, letters, args, at, &mut parsed);
        } else if stop_at_operand {
            parsed.operands.push(arg.clone());
            parsed.operands.extend(args[at..].iter().cloned());
            break;
        } else {
            parsed.operands.push(arg.clone());
        }
    }
    parsed
}

/// `-ofile` in a single-dash table: the first letter takes the rest.
fn glued<'a>(table: &'a str, body: &str) -> Option<(&'a str, String, char)> {
    let first = body.chars().next()?;
    match entry(table, first.encode_utf8(&mut [0; 4]), false) {
        Some((canonical, Some(role))) => Some((canonical, body[first.len_utf8()..].to_owned(), role)),
        _ => None,
    }
}

/// `-rf`, `-ofile`, `-o file`. Returns the index of the next argument.
fn cluster(table: &str, letters: &str, args: &[String], mut at: usize, parsed: &mut Parsed) -> usize {
    for (index, letter) in letters.char_indices() {
        let name = letter.to_string();
        match entry(table, &name, false) {
            Some((canonical, Some(role))) => {
                let rest = &letters[index + letter.len_utf8()..];
                let value = if rest.is_empty() {
                    at += 1;
                    args.get(at - 1).cloned()
                } else {
                    Some(rest.to_owned())
                };
                parsed.options.push((canonical.to_owned(), value, role));
                return at;
            }
            Some((canonical, None)) => parsed.options.push((canonical.to_owned(), None, ' ')),
            None => parsed.options.push((name, None, ' ')),
        }
    }
    at
}

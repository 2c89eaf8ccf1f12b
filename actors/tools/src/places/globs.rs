//! What a path with wildcards may match: `cat .en*` reads `.env`.
//!
//! By name, even if no such file exists, because the folder may be another at run time. A part of the path counts as a
//! listed name if it could match it and gives half of it: `id_r*` counts as `id_rsa`, `*` as nothing in particular. A
//! part that starts with a dot asks for hidden files. Files on the disk count too, unless the part is only stars.

use std::path::{Path, PathBuf};

use super::Setting;
use super::kinds::{self, Kind, kind_of};
use super::paths;

/// Alternatives of one path that are written out, at most.
const ALTERNATIVE_LIMIT: usize = 32;
/// Files on the disk that one path with wildcards is followed to, at most; and entries of folders visited, at most.
const FOUND_LIMIT: usize = 256;
const ENTRY_LIMIT: usize = 4096;

pub fn is_glob(part: &str) -> bool {
    part.contains(['*', '?', '['])
}

/// `@(.env|x)` written out, as a shell with extended patterns reads it: the paths that it may match.
pub fn alternatives(path: &str) -> Vec<String> {
    let mut todo = vec![path.to_owned()];
    let mut done = Vec::new();
    while let Some(path) = todo.pop() {
        let open = path.find("(").filter(|at| path[..*at].ends_with(['@', '?', '*', '+', '!']));
        let close = open.and_then(|open| Some(open + path[open..].find(')')?));
        let (Some(open), Some(close)) = (open, close) else {
            done.push(path);
            continue;
        };
        let (before, inside, after) = (&path[..open - 1], &path[open + 1..close], &path[close + 1..]);
        // A negated pattern could match anything.
        let inside = if path[..open].ends_with('!') { "*" } else { inside };
        for part in inside.split('|').take(ALTERNATIVE_LIMIT.saturating_sub(todo.len() + done.len())) {
            todo.push(format!("{before}{part}{after}"));
        }
    }
    done
}

/// Matches everything in the folder.
fn is_bare(part: &str) -> bool {
    !part.is_empty() && part.chars().all(|c| c == '*')
}

/// For an absolute path with wildcards: the most serious kind of file that it may match; `None` if it is nothing in
/// particular.
pub fn gravest(setting: &Setting, path: &str, inside: bool) -> Option<Kind> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let by_name = kinds::NAMED
        .iter()
        .filter(|(names, place, _)| names.split_ascii_whitespace().any(|listed| place.holds(&parts, listed)));
    let by_name = by_name.map(|(_, _, kind)| if inside || *kind != Kind::MaybeSecret { *kind } else { Kind::Secret });
    let on_disk = on_disk(&parts).into_iter().map(|found| {
        let real = paths::resolve(&found);
        kind_of(setting, &real.to_string_lossy(), inside)
    });
    let tells = |kind: &Kind| matches!(kind, Kind::Secret | Kind::MaybeSecret | Kind::ProjectHook | Kind::Accounts);
    by_name.chain(on_disk).filter(tells).max_by_key(|kind| kind.gravity())
}

/// Where in a path the parts of a listed name are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stands {
    Anywhere,
    AtEnd,
    /// From the root; the path may be longer.
    AtRoot,
    /// The whole path.
    Whole,
}

impl Stands {
    fn holds(self, parts: &[&str], listed: &str) -> bool {
        let names: Vec<&str> = listed.split('/').collect();
        let fits = |parts: &[&str]| {
            parts.len() == names.len()
                && parts.iter().any(|part| is_glob(part))
                && parts.iter().zip(&names).all(|(part, name)| means(part, name))
        };
        match self {
            Self::Anywhere => parts.windows(names.len()).any(fits),
            Self::AtEnd => parts.len() >= names.len() && fits(&parts[parts.len() - names.len()..]),
            Self::AtRoot => parts.get(..names.len()).is_some_and(fits),
            Self::Whole => fits(parts),
        }
    }
}

/// Whether a part of a path may mean this name. The name `*` is any name.
fn means(part: &str, name: &str) -> bool {
    if name == "*" || part == name {
        return true;
    }
    is_glob(part) && matches(part, name) && (name.starts_with('.') || says_half(part, name))
}

/// The extension tells the sort of file, not which file.
fn says_half(part: &str, name: &str) -> bool {
    let shared = name.rfind('.').map(|at| &name[at..]).filter(|ending| part.ends_with(ending));
    let (part, name) =
        shared.map_or((part, name), |ending| (&part[..part.len() - ending.len()], &name[..name.len() - ending.len()]));
    let (mut said, mut within) = (0, false);
    for c in part.chars() {
        match c {
            '[' => within = true,
            ']' => within = false,
            '*' | '?' => {}
            _ => said += usize::from(!within),
        }
    }
    said * 2 >= name.chars().count()
}

/// Existing files that match. Trailing `*` are dropped: everything in a folder is judged by the folder.
fn on_disk(parts: &[&str]) -> Vec<PathBuf> {
    let told = parts.iter().rposition(|part| !is_bare(part)).map_or(&[][..], |last| &parts[..=last]);
    if !told.iter().any(|part| is_glob(part)) {
        return Vec::new();
    }
    let mut found = vec![PathBuf::from("/")];
    let mut entries = 0;
    for part in told {
        if !is_glob(part) {
            found.iter_mut().for_each(|path| path.push(part));
            continue;
        }
        let mut next = Vec::new();
        for folder in &found {
            let Ok(listing) = std::fs::read_dir(folder) else { continue };
            for entry in listing.filter_map(Result::ok) {
                entries += 1;
                if entries > ENTRY_LIMIT || next.len() >= FOUND_LIMIT {
                    break;
                }
                if matches(part, &entry.file_name().to_string_lossy()) {
                    next.push(entry.path());
                }
            }
        }
        found = next;
    }
    found.retain(|path| Path::new(path).symlink_metadata().is_ok());
    found
}

/// Matches one part of a path against a name, as a shell does. A bracket set matches any character.
pub fn matches(part: &str, name: &str) -> bool {
    if part.starts_with(['*', '?', '[']) && name.starts_with('.') {
        return false;
    }
    let mut pattern = Vec::new();
    let mut chars = part.chars();
    while let Some(c) = chars.next() {
        pattern.push(match c {
            '*' => None,
            '[' => match bracket(chars.as_str()) {
                Some(length) => {
                    chars = chars.as_str()[length..].chars();
                    Some(None)
                }
                None => Some(Some('[')),
            },
            '?' => Some(None),
            c => Some(Some(c)),
        });
    }
    let name: Vec<char> = name.chars().collect();
    // Back to the newest star, which takes one more character each time.
    let (mut at, mut seen, mut star) = (0, 0, None);
    while seen < name.len() {
        match pattern.get(at) {
            Some(None) => {
                star = Some((at, seen));
                at += 1;
            }
            Some(Some(wanted)) if wanted.is_none_or(|wanted| wanted == name[seen]) => {
                at += 1;
                seen += 1;
            }
            _ => {
                let Some((star_at, taken)) = star else { return false };
                star = Some((star_at, taken + 1));
                (at, seen) = (star_at + 1, taken + 1);
            }
        }
    }
    pattern[at..].iter().all(Option::is_none)
}

/// Length from after an opening bracket to its closing one. `]e]`, `!a]` and `[:alpha:]]` are sets too.
fn bracket(rest: &str) -> Option<usize> {
    let mut at = rest.len() - rest.trim_start_matches(['!', '^']).len();
    at += usize::from(rest[at..].starts_with(']'));
    loop {
        match rest[at..].chars().next()? {
            ']' => return Some(at + 1),
            '[' if rest[at..].starts_with("[:") && rest[at..].contains(":]") => at += rest[at..].find(":]")? + 2,
            c => at += c.len_utf8(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{matches, means};

    #[test]
    fn a_part_of_a_path_matches_as_a_shell_does_it() {
        for (part, name, expected) in [
            ("maxim.toml", "maxim.toml", true),
            ("*.toml", "maxim.toml", true),
            ("m*m.t?ml", "maxim.toml", true),
            ("[lm]axim.*", "maxim.toml", true),
            ("*a*x*", "maxim.toml", true),
            ("*.tom", "maxim.toml", false),
            ("maxim", "maxim.toml", false),
            ("maxim.toml?", "maxim.toml", false),
            ("*", ".local", false),
            (".*", ".local", true),
            ("[", "[", true),
            (".[]e]nv", ".env", true),
            (".[!x]nv", ".env", true),
            (".[[:alpha:]]nv", ".env", true),
            ("[.]env", ".env", false),
        ] {
            assert_eq!(matches(part, name), expected, "{part} {name}");
        }
    }

    #[test]
    fn a_part_is_meant_for_a_name_when_it_says_half_of_it() {
        for (part, name, expected) in [
            (".e*", ".env", true),
            (".*", ".env", true),
            ("*", ".env", false),
            ("id_*", "id_rsa", true),
            ("i*", "id_rsa", false),
            ("sh?dow", "shadow", true),
            ("s*", "shadow", false),
            ("*.json", "token.json", false),
            ("tok*.json", "token.json", true),
            ("[a-z]*", "shadow", false),
            ("*", "*", true),
        ] {
            assert_eq!(means(part, name), expected, "{part} {name}");
        }
    }
}

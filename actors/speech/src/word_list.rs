//! Word lists: text files in `en/`, built into the program and read once.
//!
//! A file begins with a comment (`# …`). Each section is a blank line, `[name]`, and one entry a line, sorted, none twice.

use std::cmp::Reverse;
use std::ops::Deref;
use std::sync::OnceLock;

/// One section of a file. Its entries come longest first: a phrase is tried before any phrase that it begins with.
pub(crate) struct WordList {
    text: &'static str,
    section: &'static str,
    entries: OnceLock<Vec<&'static str>>,
}

impl WordList {
    pub(crate) const fn new(text: &'static str, section: &'static str) -> Self {
        Self { text, section, entries: OnceLock::new() }
    }
}

impl Deref for WordList {
    type Target = [&'static str];

    fn deref(&self) -> &Self::Target {
        self.entries.get_or_init(|| {
            let found = read(self.text).sections.into_iter().find(|(name, _)| *name == self.section);
            let mut entries = found.map(|(_, entries)| entries).unwrap_or_default();
            entries.sort_by_key(|entry| Reverse(entry.len()));
            entries
        })
    }
}

/// A file taken apart.
#[derive(Default)]
struct File {
    sections: Vec<(&'static str, Vec<&'static str>)>,
    /// What is wrong with it, by line. A test holds that every file has none.
    faults: Vec<String>,
}

fn read(text: &'static str) -> File {
    let mut file = File::default();
    let mut last = "";
    for (number, line) in (1..).zip(text.lines()) {
        let mut fault = |what: &str| file.faults.push(format!("line {number}, {line:?}: {what}"));
        let name = line.strip_prefix('[').and_then(|line| line.strip_suffix(']'));
        if last.is_empty() && number > 1 && name.is_none() {
            fault("a blank line stands before a section, nowhere else");
        }
        if let Some(name) = name {
            if !last.is_empty() {
                fault("a section needs a blank line before it");
            }
            if file.sections.iter().any(|(known, _)| *known == name) {
                fault("this section is there twice");
            }
            file.sections.push((name, Vec::new()));
        } else if line.starts_with('#') {
            if number > 1 {
                fault("the comment is the first line");
            }
        } else if !line.is_empty() {
            if line.trim() != line || line.to_lowercase() != line {
                fault("an entry is in lower case, without spaces around it");
            }
            match file.sections.last_mut() {
                None => fault("an entry stands in a section"),
                Some((_, entries)) => {
                    if entries.last().is_some_and(|before| *before >= line) {
                        fault("entries are sorted, none twice");
                    }
                    entries.push(line);
                }
            }
        }
        last = line;
    }
    file
}

/// Names sections of a file of `en/` as statics, and tests that the file has these sections and no others.
macro_rules! word_lists {
    ($file:literal; $($(#[$doc:meta])* $vis:vis $name:ident = $section:literal;)+) => {
        $(
            $(#[$doc])*
            $vis static $name: crate::word_list::WordList = crate::word_list::WordList::new(
                include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/en/", $file)),
                $section,
            );
        )+

        #[cfg(test)]
        mod sections {
            #[test]
            fn the_file_has_these_sections_and_no_others() {
                let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/en/", $file));
                crate::word_list::tests::has_sections($file, text, &[$($section),+]);
            }
        }
    };
}
pub(crate) use word_lists;

#[cfg(test)]
pub(crate) mod tests {
    use std::path::Path;

    use super::*;

    pub(crate) fn has_sections(file: &str, text: &'static str, named: &[&str]) {
        let sections = read(text).sections;
        assert!(sections.iter().all(|(_, entries)| !entries.is_empty()), "en/{file} has an empty section");
        let mut found: Vec<&str> = sections.into_iter().map(|(name, _)| name).collect();
        let mut named = named.to_vec();
        found.sort_unstable();
        named.sort_unstable();
        assert_eq!(found, named, "en/{file}");
    }

    #[test]
    fn every_file_is_in_order() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("en");
        let files = std::fs::read_dir(folder).expect("the folder of word lists");
        let mut looked_at = 0;
        for path in files.map(|file| file.expect("an entry").path()) {
            let text = std::fs::read_to_string(&path).expect("a readable file");
            assert!(text.starts_with("# "), "{}: the first line says what the words are for", path.display());
            let faults = read(text.leak()).faults;
            assert!(faults.is_empty(), "{}:\n{}", path.display(), faults.join("\n"));
            looked_at += 1;
        }
        assert!(looked_at > 10, "only {looked_at} files were looked at");
    }

    #[test]
    fn what_is_out_of_order_is_found() {
        let faults = |text: &'static str| read(text).faults.len();
        assert_eq!(faults("# words\n\n[a]\nate\neat\n\n[b]\nbe\n"), 0);
        for (text, why) in [
            ("# words\n\n[a]\neat\nate\n", "not sorted"),
            ("# words\n\n[a]\neat\neat\n", "twice"),
            ("# words\n\n[a]\nate\n\neat\n", "a blank line between entries"),
            ("# words\n[a]\nate\n", "no blank line before a section"),
            ("# words\n\n[a]\nate \n", "a space behind"),
            ("# words\n\n[a]\nAte\n", "a capital"),
            ("# words\n\n[a]\nate\n\n[a]\nbe\n", "a section twice"),
            ("# words\n\n[a]\n# more\nate\n", "a second comment"),
            ("ate\n", "no section"),
        ] {
            assert!(faults(text) > 0, "{why}");
        }
    }

    #[test]
    fn the_longest_phrase_comes_first() {
        let list = WordList::new("# words\n\n[thanks]\nthank you\nthank you very much\nthanks\n", "thanks");
        assert_eq!(*list, ["thank you very much", "thank you", "thanks"]);
    }
}

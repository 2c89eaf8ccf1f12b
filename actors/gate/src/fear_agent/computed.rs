//! Where the unknown part of a word comes from.
//!
//! Law: a program text isn't known if it holds the result of a substitution, `read`, an argument or a file name. Then a
//! person is asked. A variable that nothing has set is empty at the start of a command. Some programs output only
//! digits and letters (`date`, `wc`). The output of a whole file can be read.

use super::paths::UNKNOWN;
use super::reading::Text;
use super::shell::{Call, Stream, Walker};

/// Words of one command that are recorded, at most.
const NOTED: usize = 128;

/// Origin of the unknown part of a word or a variable.
#[derive(Clone, Debug, Default)]
pub(super) struct Origins {
    /// Known only at run time.
    is_computed: bool,
    /// Whole files.
    files: Vec<String>,
}

impl Origins {
    fn is_none(&self) -> bool {
        !self.is_computed && self.files.is_empty()
    }

    fn add(&mut self, other: &Self) {
        self.is_computed |= other.is_computed;
        self.files.extend(other.files.iter().take(NOTED).cloned());
    }
}

/// A word with an unknown part.
#[derive(Clone, Debug)]
pub(super) struct Computed {
    word: String,
    origins: Origins,
}

/// Programs whose output, for any input, is digits, letters and marks on which no program text acts.
const PLAIN: &str = "arch cksum date du expr getconf id logname mcookie md5sum nproc seq sha1sum sha256sum sha512sum stat tput uname uuidgen wc whoami";
/// Programs that only drop or reorder parts of their input.
const FILTERS: &str = "cut head rev sort tail tr uniq";
/// Git commands that output digits and letters, and the words that may follow.
const GIT: [&str; 2] = ["rev-parse", "rev-list"];
const GIT_NAMES: [&str; 2] = ["--abbrev-ref", "--symbolic"];

/// Whether a command outputs only digits, letters and harmless marks.
pub(super) fn gives_plain(call: &Call) -> bool {
    let is_plain = |word: &String| word.chars().all(|c| c.is_ascii_alphanumeric() || "%+:._=,' -\\".contains(c));
    let name = call.name.rsplit('/').next().unwrap_or(&call.name);
    let listed = |list: &str| list.split(' ').any(|known| known == name);
    if !call.args.iter().all(is_plain) {
        return false;
    }
    match call.args.first() {
        Some(verb) if name == "git" => {
            let names = |arg: &String| GIT_NAMES.iter().any(|name| arg.starts_with(name));
            GIT.contains(&verb.as_str()) && !call.args.iter().any(names)
        }
        _ => listed(PLAIN) || (listed(FILTERS) && call.stdin.is_plain),
    }
}

impl Walker<'_> {
    /// Runs an expansion and returns the origins that it found.
    pub(super) fn tracing<T>(&mut self, expand: impl FnOnce(&mut Self) -> T) -> (T, Origins) {
        let around = std::mem::take(&mut self.origins);
        let out = expand(self);
        (out, std::mem::replace(&mut self.origins, around))
    }

    /// Records fields of a word that hold an unknown part.
    pub(super) fn notes_computed(&mut self, fields: &[String], origins: &Origins) {
        if origins.is_none() {
            return;
        }
        self.origins.add(origins);
        for word in fields.iter().filter(|field| field.contains(UNKNOWN)) {
            if self.computed.len() < NOTED {
                self.computed.push(Computed { word: word.clone(), origins: origins.clone() });
            }
        }
    }

    /// Records a word that is known only at run time.
    pub(super) fn notes_unknown(&mut self, word: &str) {
        if self.computed.len() < NOTED {
            let origins = Origins { is_computed: true, files: Vec::new() };
            self.computed.push(Computed { word: word.to_owned(), origins });
        }
    }

    /// The output of a substitution.
    pub(super) fn traces_output(&mut self, out: &Stream) {
        let is_known = out.text.as_ref().is_some_and(|text| !text.contains(UNKNOWN));
        if is_known || out.is_plain {
            return;
        }
        match &out.file {
            Some(file) if out.text.is_none() => self.origins.files.push(file.clone()),
            _ => self.origins.is_computed = true,
        }
    }

    /// A variable whose value is used.
    pub(super) fn traces_variable(&mut self, name: &str, value: &str) {
        if !value.contains(UNKNOWN) {
            return;
        }
        if let Some(origins) = self.computed_variables.get(name).cloned() {
            self.origins.add(&origins);
        }
        let is_argument = name.starts_with(|c: char| c.is_ascii_digit()) || matches!(name, "@" | "*");
        self.origins.is_computed |= is_argument && (self.positional.is_some() || self.is_uncalled);
    }

    /// A part was cut out of a variable. If it holds a whole file, the cut part itself was never read.
    pub(super) fn traces_cut(&mut self) {
        self.origins.is_computed |= !self.origins.files.is_empty();
    }

    /// Whether a command's input holds nothing that is known only at run time.
    pub(super) fn is_fed_plainly(&self, stdin: &Stream) -> bool {
        let is_plain = |stream: &Stream| {
            stream.is_plain || stream.text.as_ref().is_some_and(|text| !text.contains(UNKNOWN)) || !stream.present
        };
        is_plain(stdin) && self.substituted.iter().all(is_plain)
    }

    /// Origin of a variable's value.
    pub(super) fn traces_assignment(&mut self, name: &str, value: &str, origins: Origins) {
        if value.contains(UNKNOWN) && !origins.is_none() {
            self.computed_variables.insert(name.to_owned(), origins);
        } else {
            self.computed_variables.remove(name);
        }
    }

    /// The same for a variable that is set by a word of this command or by its input.
    pub(super) fn traces_setting(&mut self, name: &str, value: &str, stdin: Option<&Stream>) {
        let mut origins = Origins::default();
        match stdin {
            // A line of a file isn't the file.
            Some(stdin) => origins.is_computed = !stdin.is_plain,
            None => {
                let of_words = self.computed.iter().filter(|computed| computed.word.ends_with(value));
                of_words.for_each(|computed| origins.add(&computed.origins));
            }
        }
        self.traces_assignment(name, value, origins);
    }

    /// Whether a program text holds something that is known only at run time, or that comes from files that can't be
    /// read.
    pub(super) fn is_computed(&mut self, text: &str) -> bool {
        let is_noted = self.computed.iter().any(|computed| computed.word == text);
        if !text.contains(UNKNOWN) && !is_noted {
            return false;
        }
        let is_part =
            |word: &str| word.contains(text) || (word.contains(|c: char| c != UNKNOWN) && text.contains(word));
        let met: Vec<Origins> = self
            .computed
            .iter()
            .filter(|computed| is_part(&computed.word))
            .map(|computed| computed.origins.clone())
            .collect();
        met.iter().any(|origins| {
            origins.is_computed || origins.files.iter().any(|file| matches!(self.program_text(file), Text::Unknown(_)))
        })
    }
}

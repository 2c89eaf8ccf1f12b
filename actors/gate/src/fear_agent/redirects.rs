//! The files that a shell command reads and writes besides those in its words.

use brush_parser::ast::{IoFileRedirectKind as Kind, IoFileRedirectTarget as Target, IoRedirect, RedirectList};

use super::effects::By;
use super::endless;
use super::paths::UNKNOWN;
use super::shell::{Stream, Walker};

impl Walker<'_> {
    pub(super) fn redirected(&mut self, redirects: Option<&RedirectList>, stdin: &Stream) -> Stream {
        let mut stdin = stdin.clone();
        for redirect in redirects.iter().flat_map(|list| &list.0) {
            self.redirect(redirect, &mut stdin);
        }
        stdin
    }

    pub(super) fn redirect(&mut self, redirect: &IoRedirect, stdin: &mut Stream) {
        match redirect {
            IoRedirect::File(_, kind, target) => match target {
                Target::Filename(word) => {
                    let path = self.expand_single(&word.value);
                    match kind {
                        Kind::Read => {
                            self.read(&path, By::Shell);
                            let given = self.substituted_or(&path);
                            let file = self.absolute(&path).filter(|_| !path.starts_with("/dev/"));
                            *stdin = Stream { endless: endless::is_endless(&path), file, ..given };
                        }
                        Kind::ReadAndWrite => {
                            self.read(&path, By::Shell);
                            self.write(&path);
                        }
                        Kind::DuplicateInput => {}
                        Kind::Write | Kind::Append | Kind::Clobber | Kind::DuplicateOutput => self.write(&path),
                    }
                }
                Target::Duplicate(word) => {
                    let path = self.expand_single(&word.value);
                    let is_number = path.trim_end_matches('-').chars().all(|c| c.is_ascii_digit());
                    if !is_number && !path.starts_with(UNKNOWN) {
                        self.write(&path);
                    }
                }
                Target::ProcessSubstitution(_, subshell) => {
                    let out = self.apart(|walker| walker.list(&subshell.list, &Stream::unknown()));
                    if matches!(kind, Kind::Read) {
                        *stdin = out;
                    }
                }
                Target::Fd(_) => {}
            },
            IoRedirect::HereDocument(_, document) => {
                let text = &document.doc.value;
                let text = if document.requires_expansion { self.expand_document(text) } else { text.clone() };
                *stdin = Stream::of(text);
            }
            IoRedirect::HereString(_, word) => {
                let text = self.expand_single(&word.value);
                *stdin = Stream::of(text);
            }
            IoRedirect::OutputAndError(word, _) => {
                let path = self.expand_single(&word.value);
                self.write(&path);
            }
        }
    }

    /// The output of the process substitution that `path` names; otherwise an unknown file.
    pub(super) fn substituted_or(&self, path: &str) -> Stream {
        let number = path.strip_prefix("/dev/fd/").and_then(|digits| digits.parse::<usize>().ok());
        number.and_then(|number| self.substituted.get(number.wrapping_sub(63))).cloned().unwrap_or_else(Stream::unknown)
    }
}

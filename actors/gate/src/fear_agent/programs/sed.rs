//! A sed program, read as sed reads it: `e` runs a command, `w` and `r` name files, and so do the flags of `s`.

use super::super::effects::By;
use super::super::paths::UNKNOWN;
use super::super::shell::{Stream, Walker};
use super::super::verdict::rules;

struct Program {
    chars: Vec<char>,
    at: usize,
}

/// A malformed script is judged up to the place at which sed would refuse the whole.
pub(super) fn judge(walker: &mut Walker, text: &str) {
    if walker.is_computed(text) {
        walker.findings.ask(rules::RUN_CODE, "a part of the sed script is known only when it runs");
    }
    let computed = if text.contains(UNKNOWN) { walker.fixes_named() } else { Default::default() };
    for text in std::iter::once(text.to_owned())
        .chain(computed.into_iter().map(|known| text.replace(UNKNOWN, known.trim_end_matches('\n'))))
    {
        let mut program = Program { chars: text.chars().collect(), at: 0 };
        while program.command(walker).is_some() {}
    }
}

impl Program {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += 1;
        Some(c)
    }

    fn skip(&mut self, accept: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&accept) {
            self.at += 1;
        }
    }

    fn line(&mut self) -> String {
        let start = self.at;
        self.skip(|c| c != '\n');
        self.chars[start..self.at].iter().collect::<String>().trim().to_owned()
    }

    /// Text up to the next `mark` that isn't escaped, which is consumed.
    fn up_to(&mut self, mark: char) -> Option<String> {
        let mut text = String::new();
        loop {
            match self.next()? {
                c if c == mark => return Some(text),
                '\\' => text.extend(['\\', self.next()?]),
                c => text.push(c),
            }
        }
    }

    fn address(&mut self) -> Option<()> {
        match self.peek() {
            Some('/') => {
                self.at += 1;
                self.up_to('/')?;
            }
            Some('\\') => {
                self.at += 1;
                let mark = self.next()?;
                self.up_to(mark)?;
            }
            _ => self.skip(|c| c.is_ascii_digit() || matches!(c, '$' | '~' | '+' | UNKNOWN)),
        }
        self.skip(|c| matches!(c, 'I' | 'M' | ' '));
        Some(())
    }

    /// Judges one command; none at the end.
    fn command(&mut self, walker: &mut Walker) -> Option<()> {
        self.skip(|c| c.is_whitespace() || c == ';');
        let from = self.at;
        self.address()?;
        if self.peek() == Some(',') {
            self.at += 1;
            self.skip(|c| c == ' ');
            self.address()?;
        }
        self.skip(|c| matches!(c, ' ' | '\t' | '!'));
        let command = self.next();
        let is_unknown = self.chars[from..self.at.min(self.chars.len())].contains(&UNKNOWN);
        if is_unknown && command.is_none_or(|c| !c.is_ascii_alphabetic() && !matches!(c, '{' | '=')) {
            walker.findings.ask(rules::RUN_CODE, "what the sed script does is known only when it runs");
        }
        match command? {
            '{' | '}' | '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z' | 'F' => {}
            'q' | 'Q' | 'l' | 'L' => self.skip(|c| c.is_ascii_digit() || c == ' '),
            '#' => drop(self.line()),
            ':' | 'b' | 't' | 'T' | 'v' => self.skip(|c| !matches!(c, '\n' | ';' | '}')),
            'a' | 'i' | 'c' => loop {
                let line = self.line();
                if self.next().is_none() || !line.ends_with('\\') {
                    break;
                }
            },
            'e' => {
                let command = self.line();
                walker.findings.ask(rules::RUN_CODE, "the sed script runs a command");
                walker.apart(|walker| walker.script(&command, &Stream::unknown()));
            }
            'w' | 'W' => {
                let path = self.line();
                walker.write(&path);
            }
            'r' | 'R' => {
                let path = self.line();
                walker.read(&path, By::Shell);
            }
            'y' => {
                let mark = self.next()?;
                self.up_to(mark)?;
                self.up_to(mark)?;
            }
            's' => self.substitution(walker)?,
            _ => return None,
        }
        Some(())
    }

    fn substitution(&mut self, walker: &mut Walker) -> Option<()> {
        let mark = self.next()?;
        self.up_to(mark)?;
        let replacement = self.up_to(mark)?;
        while let Some(flag) = self.peek() {
            match flag {
                'w' => {
                    self.at += 1;
                    let path = self.line();
                    walker.write(&path);
                }
                'e' => {
                    self.at += 1;
                    walker.findings.ask(rules::RUN_CODE, "the sed script runs what it has replaced");
                    walker.apart(|walker| walker.script(&replacement, &Stream::unknown()));
                }
                UNKNOWN => {
                    self.at += 1;
                    walker.findings.ask(rules::RUN_CODE, "the sed script may run what it has replaced");
                }
                'g' | 'p' | 'i' | 'I' | 'm' | 'M' => self.at += 1,
                c if c.is_ascii_digit() => self.at += 1,
                _ => break,
            }
        }
        Some(())
    }
}

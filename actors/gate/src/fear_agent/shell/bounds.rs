//! How deep and how long a script may be that is still read.

use super::*;

/// A simple command as text of bounded length. It is shown with each question about it.
pub(super) fn bounded(command: &SimpleCommand) -> String {
    let text = command.to_string();
    match text.char_indices().nth(COMMAND_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

pub(super) fn is_arithmetic(predicate: &Binary) -> bool {
    matches!(
        predicate,
        Binary::ArithmeticEqualTo
            | Binary::ArithmeticNotEqualTo
            | Binary::ArithmeticLessThan
            | Binary::ArithmeticLessThanOrEqualTo
            | Binary::ArithmeticGreaterThan
            | Binary::ArithmeticGreaterThanOrEqualTo
    )
}

/// Deepest nesting of brackets and compound words, counted in the raw text. The count may be too high, never too low.
pub(super) fn nesting(source: &str) -> usize {
    let (mut depth, mut most) = (0usize, 0);
    let mut run = 0usize;
    for word in source.split([' ', '\t', '\n', ';', '&', '|']) {
        match word {
            "if" | "while" | "until" | "for" | "case" | "select" => depth += 1,
            "fi" | "done" | "esac" => depth = depth.saturating_sub(1),
            // These recurse without a closing word.
            "!" | "time" | "coproc" | "function" => run += 1,
            _ => {}
        }
        for byte in word.bytes() {
            match byte {
                b'(' | b'{' => depth += 1,
                b')' | b'}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            most = most.max(depth);
        }
        most = most.max(depth);
    }
    // A closing bracket in quotes must not hide an opening one. So far more openings than a person writes count as too
    // deep.
    let openings = source.bytes().filter(|b| matches!(b, b'(' | b'{')).count();
    let doubled = source.matches("((").count() + source.matches("$(").count().saturating_sub(24);
    if openings > 600 || run > 200 { usize::MAX } else { most.max(doubled) }
}

//! `{a,b}` and `{1..9}` in a word.

use super::*;

/// `a{b,c}` → `ab`, `ac`. Quoted braces and `${` are left alone.
pub(super) fn braces(raw: &str) -> Vec<String> {
    let mut todo = vec![raw.to_owned()];
    let mut done = Vec::new();
    while let Some(word) = todo.pop() {
        match first_brace(&word) {
            Some((start, end, parts)) if todo.len() + done.len() + parts.len() <= BRACE_LIMIT => {
                todo.extend(parts.iter().rev().map(|part| format!("{}{part}{}", &word[..start], &word[end..])));
            }
            _ => done.push(word),
        }
    }
    done
}

/// Byte range and members of the first brace expression.
fn first_brace(word: &str) -> Option<(usize, usize, Vec<String>)> {
    let bytes = word.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            quote @ (b'\'' | b'"' | b'`') => {
                at += 1;
                while at < bytes.len() && bytes[at] != quote {
                    at += if bytes[at] == b'\\' && quote != b'\'' { 2 } else { 1 };
                }
            }
            b'$' if matches!(bytes.get(at + 1), Some(b'{' | b'(')) => {
                let close = if bytes[at + 1] == b'{' { b'}' } else { b')' };
                let open = bytes[at + 1];
                let mut depth = 0;
                at += 1;
                while at < bytes.len() {
                    depth += i32::from(bytes[at] == open) - i32::from(bytes[at] == close);
                    if depth == 0 {
                        break;
                    }
                    at += 1;
                }
            }
            b'{' => {
                if let Some((end, parts)) = members(word, at) {
                    return Some((at, end, parts));
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// The members of the brace expression that opens at `open`, and the index after it.
fn members(word: &str, open: usize) -> Option<(usize, Vec<String>)> {
    let (mut depth, mut start) = (0, open + 1);
    let mut parts = Vec::new();
    for (at, byte) in word.bytes().enumerate().skip(open) {
        match byte {
            b'{' => depth += 1,
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    parts.push(word[start..at].to_owned());
                    if parts.len() > 1 {
                        return Some((at + 1, parts));
                    }
                    let (low, high) = parts[0].split_once("..")?;
                    return Some((at + 1, vec![low.to_owned(), high.to_owned()]));
                }
            }
            b',' if depth == 1 => {
                parts.push(word[start..at].to_owned());
                start = at + 1;
            }
            b' ' | b'\'' | b'"' if depth == 1 && byte == b' ' => return None,
            _ => {}
        }
    }
    None
}

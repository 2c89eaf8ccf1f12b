//! What a text holds, apart from its destination: encodings, credentials, database statements.

use super::verdict::{Findings, rules};
use maxim_tools::places::percent::percent_decoded;

/// Every spelling of a path that a careless reader might open, the given one first.
pub(super) fn path_spellings(path: &str) -> Vec<String> {
    let decoded = percent_decoded(path);
    let slashed: String = decoded.replace(['\\', '∕', '／', '\u{f025}', '\u{fffd}'], "/").replace(['．', '․'], ".");
    let mut spellings = vec![path.to_owned()];
    for candidate in [decoded, slashed.replace("//", "/"), slashed.replace("....", "..").replace("..;", "..")] {
        if !spellings.contains(&candidate) {
            spellings.push(candidate);
        }
    }
    spellings
}

/// Base64 (either alphabet); other characters are skipped. `None` if the result isn't text.
pub(super) fn base64_decoded(text: &str) -> Option<String> {
    let mut out = Vec::new();
    let (mut bits, mut held) = (0u32, 0);
    for byte in text.bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' => break,
            _ => continue,
        };
        bits = (bits << 6) | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
            bits &= (1 << held) - 1;
        }
    }
    String::from_utf8(out).ok().filter(|text| !text.contains('\0'))
}

/// Hex digits; white space and `\x` are skipped. `None` if the result isn't text.
pub(super) fn hex_decoded(text: &str) -> Option<String> {
    let digits: Vec<u32> = text.replace("\\x", "").replace("0x", "").chars().filter_map(|c| c.to_digit(16)).collect();
    let bytes = digits.chunks_exact(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect();
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

/// Backslash escapes of `$'…'`, `echo -e` and `printf`.
pub(super) fn unescaped(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    let number = |from: usize, most: usize, radix: u32| {
        let len = chars[from.min(chars.len())..].iter().take(most).take_while(|c| c.is_digit(radix)).count();
        let digits: String = chars[from.min(chars.len())..][..len].iter().collect();
        (u32::from_str_radix(&digits, radix).ok().and_then(char::from_u32), len)
    };
    while at < chars.len() {
        if chars[at] != '\\' || at + 1 == chars.len() {
            out.push(chars[at]);
            at += 1;
            continue;
        }
        let (value, used) = match chars[at + 1] {
            'n' => (Some('\n'), 0),
            't' => (Some('\t'), 0),
            'r' => (Some('\r'), 0),
            'e' | 'E' => (Some('\u{1b}'), 0),
            'x' => number(at + 2, 2, 16),
            'u' => number(at + 2, 4, 16),
            'U' => number(at + 2, 8, 16),
            '0'..='7' => {
                let (value, len) = number(at + 1, if chars[at + 1] == '0' { 4 } else { 3 }, 8);
                (value, len.saturating_sub(1))
            }
            c => (Some(c), 0),
        };
        out.extend(value.filter(|c| *c != '\0'));
        at += 2 + used;
    }
    out
}

/// Whether a text itself holds a credential (a private key, a token of a known shape).
pub(super) fn holds_credential(text: &str) -> bool {
    if text.contains("PRIVATE KEY-----") || text.contains("PGP PRIVATE KEY") {
        return true;
    }
    let shapes: &[(&str, usize)] = &[
        ("AKIA", 16),
        ("ASIA", 16),
        ("ghp_", 30),
        ("gho_", 30),
        ("ghs_", 30),
        ("github_pat_", 30),
        ("glpat-", 18),
        ("xoxb-", 20),
        ("xoxp-", 20),
        ("sk-ant-", 20),
        ("sk-proj-", 20),
        ("sk_live_", 16),
        ("npm_", 30),
        ("pypi-", 40),
        ("AIza", 30),
        ("hf_", 30),
    ];
    shapes.iter().any(|(start, least)| {
        text.match_indices(start).any(|(at, _)| {
            text[at + start.len()..].chars().take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_')).count()
                >= *least
        })
    })
}

/// Database statements, by their first words. Reading passes. A loss of rows or structure is asked about.
pub(super) fn judge_sql(findings: &mut Findings, text: &str) {
    for statement in text.split(';') {
        let upper = statement.to_uppercase();
        let words: Vec<&str> =
            upper.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|w| !w.is_empty()).collect();
        let has = |word: &str| words.contains(&word);
        let first = words.first().copied().unwrap_or("");
        let lost = match first {
            "DROP" | "TRUNCATE" | "FLUSHALL" | "FLUSHDB" | "PURGE" | "SHUTDOWN" => true,
            "DELETE" | "UPDATE" => !has("WHERE") && (has("FROM") || has("SET")),
            "ALTER" => has("DROP") || has("PASSWORD") || has("IDENTIFIED") || has("SUPERUSER"),
            "GRANT" | "REVOKE" => true,
            "COPY" => has("PROGRAM"),
            "WITH" | "EXPLAIN" => has("DELETE") && !has("WHERE"),
            _ => false,
        };
        if lost {
            findings.ask(rules::DATABASE, format!("{first} loses data or changes rights in a database"));
        }
        if has("XP_CMDSHELL")
            || upper.contains("INTO OUTFILE")
            || upper.contains("LOAD_FILE(")
            || upper.contains("PG_READ_FILE")
        {
            findings.ask(rules::DATABASE, "the statement reaches files or programs of the database host");
        }
        if matches!(first, "INSERT" | "CREATE" | "REPLACE" | "MERGE" | "IMPORT" | "COPY")
            || (matches!(first, "DELETE" | "UPDATE" | "ALTER") && !lost)
        {
            findings.ask(rules::REMOTE_CHANGE, format!("{first} changes a database"));
        }
    }
    let mongo = ["dropDatabase", ".drop()", "deleteMany(", ".remove({}"];
    if let Some(call) = mongo.iter().find(|call| text.contains(**call)) {
        findings.ask(rules::DATABASE, format!("{call} loses data in a database"));
    }
}

//! The value of `env -S`, split as env does it: quotes, escapes, remarks and `${NAME}`.

/// Most characters that are split.
const LIMIT: usize = 64 * 1024;

/// `variable` gives the value of a name, which may hold what only the running shell knows.
pub(super) fn split(text: &str, variable: &dyn Fn(&str) -> String) -> Vec<String> {
    let chars: Vec<char> = text.chars().take(LIMIT).collect();
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut at = 0;
    while at < chars.len() {
        let c = chars[at];
        at += 1;
        match (c, quote) {
            ('\'' | '"', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, Some(open)) if c == open => quote = None,
            ('\\', _) => {
                let Some(&escaped) = chars.get(at) else {
                    word.get_or_insert_default().push('\\');
                    break;
                };
                at += 1;
                // Within single quotes only these two are escapes.
                if quote == Some('\'') && !matches!(escaped, '\'' | '\\') {
                    word.get_or_insert_default().extend(['\\', escaped]);
                    continue;
                }
                match escaped {
                    // What follows is not read.
                    'c' if quote.is_none() => break,
                    '_' if quote.is_none() => words.extend(word.take()),
                    '_' => word.get_or_insert_default().push(' '),
                    'n' | 't' | 'r' | 'f' | 'v' => word.get_or_insert_default().push(match escaped {
                        'n' => '\n',
                        't' => '\t',
                        'r' => '\r',
                        'f' => '\u{c}',
                        _ => '\u{b}',
                    }),
                    escaped => word.get_or_insert_default().push(escaped),
                }
            }
            ('$', None | Some('"')) if chars.get(at) == Some(&'{') => {
                let end = chars[at..].iter().position(|c| *c == '}').map_or(chars.len(), |end| at + end);
                let name: String = chars[(at + 1).min(end)..end].iter().collect();
                word.get_or_insert_default().push_str(&variable(&name));
                at = (end + 1).min(chars.len());
            }
            ('#', None) if word.is_none() => break,
            (c, None) if c.is_ascii_whitespace() || c == '\u{b}' => words.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn a_text_is_split_as_env_does_it() {
        for (text, expected) in [
            ("a b  c", vec!["a", "b", "c"]),
            (r#"sh -c "rm -rf ~""#, vec!["sh", "-c", "rm -rf ~"]),
            (r"sh -c 'rm -rf ~'", vec!["sh", "-c", "rm -rf ~"]),
            (r"a\_b", vec!["a", "b"]),
            (r#""a\_b""#, vec!["a b"]),
            (r"a\tb \c d", vec!["a\tb"]),
            ("a # b", vec!["a"]),
            ("a#b", vec!["a#b"]),
            ("r''m", vec!["rm"]),
            ("'' x", vec!["", "x"]),
            ("${X}m ${Y}", vec!["rm", "a b"]),
            (r"'${X}' \${X}", vec!["${X}", "${X}"]),
            (r"'a\'b' '\n'", vec!["a'b", r"\n"]),
        ] {
            let variable = |name: &str| if name == "X" { "r".to_owned() } else { "a b".to_owned() };
            assert_eq!(split(text, &variable), expected, "{text}");
        }
    }
}

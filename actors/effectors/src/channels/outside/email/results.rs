//! `Authentication-Results` (RFC 8601), read token by token: text in a comment or in quotes is never a result.
//!
//! A header that can't be read completely has no result. The same holds for a header with two results of one method:
//! one of them may be the sender's own text.

use maxim_bus::bounds::RESULTS;

/// A server's results for a letter.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Results {
    /// Its name, in lower case.
    pub server: String,
    results: Vec<Result>,
}

#[derive(Debug, PartialEq, Eq)]
struct Result {
    /// In lower case, like the outcome and the names of properties.
    method: String,
    outcome: String,
    /// `ptype.property` and the literal value, without its quotes.
    properties: Vec<(String, String)>,
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    Word(String),
    Quoted(String),
    Sign(char),
}

#[derive(Debug, PartialEq, Eq)]
struct Token {
    kind: Kind,
    /// Blanks, a fold or a comment come before it.
    is_apart: bool,
}

/// Nested comments, at most.
const DEPTH: usize = 32;

/// The tokens of a header's value; `None` if a quote or comment has no end, or if it contains a control character.
fn tokens(text: &str) -> Option<Vec<Token>> {
    let (mut found, mut is_apart) = (Vec::new(), false);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let kind = match c {
            ' ' | '\t' | '\r' | '\n' => {
                is_apart = true;
                continue;
            }
            '(' => {
                let mut depth = 1;
                while depth > 0 {
                    match rest.next()? {
                        '\\' => drop(rest.next()?),
                        '(' if depth >= DEPTH => return None,
                        '(' => depth += 1,
                        ')' => depth -= 1,
                        _ => {}
                    }
                }
                is_apart = true;
                continue;
            }
            '"' => {
                let mut quoted = String::new();
                loop {
                    match rest.next()? {
                        '"' => break,
                        '\\' => quoted.push(rest.next()?),
                        '\r' | '\n' => {}
                        c => quoted.push(c),
                    }
                }
                Kind::Quoted(quoted)
            }
            ';' | '=' | '/' | '@' | ',' | ':' | '<' | '>' | '[' | ']' | '?' => Kind::Sign(c),
            ')' | '\\' => return None,
            c if c.is_control() => return None,
            c => {
                let mut word = String::from(c);
                while let Some(more) = rest.next_if(|c| !c.is_control() && !" \t\r\n()\"\\;=/@,:<>[]?".contains(*c)) {
                    word.push(more);
                }
                Kind::Word(word)
            }
        };
        found.push(Token { kind, is_apart });
        is_apart = false;
    }
    Some(found)
}

/// Reads tokens one after another.
struct Reader<'a>(&'a [Token]);

impl Reader<'_> {
    fn word(&mut self) -> Option<String> {
        let (Token { kind: Kind::Word(word), .. }, rest) = self.0.split_first()? else { return None };
        self.0 = rest;
        Some(word.to_ascii_lowercase())
    }

    fn sign(&mut self, wanted: char) -> Option<()> {
        let (first, rest) = self.0.split_first()?;
        (first.kind == Kind::Sign(wanted)).then(|| self.0 = rest)
    }

    /// Reads up to the next blank or semicolon: a word, a quoted text, an address, an IP number. Servers omit required
    /// quotes, so other characters are part of the value.
    fn value(&mut self) -> Option<String> {
        let mut value = String::new();
        let mut is_first = true;
        while let Some((token, rest)) = self.0.split_first() {
            match &token.kind {
                Kind::Sign(';') => break,
                _ if !is_first && token.is_apart => break,
                Kind::Word(text) | Kind::Quoted(text) => value.push_str(text),
                Kind::Sign(sign) => value.push(*sign),
            }
            (self.0, is_first) = (rest, false);
        }
        (!is_first).then_some(value)
    }

    fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }
}

impl Results {
    /// From a header's value.
    pub fn read(text: &str) -> Option<Self> {
        if text.len() > RESULTS.limit {
            return None;
        }
        let tokens = tokens(text)?;
        let mut reader = Reader(&tokens);
        // The name may be in quotes; it ends at the version or the first semicolon.
        let server = reader.value()?.to_ascii_lowercase();
        if let Some(version) = reader.word()
            && version != "1"
        {
            return None;
        }
        let mut results: Vec<Result> = Vec::new();
        while !reader.is_at_end() {
            reader.sign(';')?;
            if reader.is_at_end() {
                break;
            }
            let method = reader.word()?;
            if method == "none" && results.is_empty() && reader.is_at_end() {
                break;
            }
            if reader.sign('/').is_some() && reader.word()? != "1" {
                return None;
            }
            reader.sign('=')?;
            let (outcome, mut properties) = (reader.word()?, Vec::new());
            while !reader.is_at_end() && !matches!(reader.0[0].kind, Kind::Sign(';')) {
                if !reader.0[0].is_apart {
                    return None;
                }
                let name = reader.word()?;
                reader.sign('=')?;
                properties.push((name, reader.value().unwrap_or_default()));
            }
            results.push(Result { method, outcome, properties });
        }
        Some(Self { server, results })
    }

    pub fn says(&self, method: &str) -> bool {
        self.results.iter().any(|result| result.method == method)
    }

    /// True if the only result of this method is a pass, with only this value of a property.
    pub fn passes(&self, method: &str, property: &str, value: &str) -> bool {
        let mut of_method = self.results.iter().filter(|result| result.method == method);
        let (Some(result), None) = (of_method.next(), of_method.next()) else { return false };
        let mut values = result.properties.iter().filter(|(name, _)| name == property);
        let (Some((_, found)), None) = (values.next(), values.next()) else { return false };
        result.outcome == "pass" && found.eq_ignore_ascii_case(value)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn passes(text: &str) -> bool {
        Results::read(text).is_some_and(|results| {
            results.server == "mx.example.org" && results.passes("dmarc", "header.from", "example.org")
        })
    }

    #[test]
    fn what_servers_write_is_read() {
        for good in [
            "mx.example.org; dmarc=pass header.from=example.org",
            "mx.example.org 1; spf=pass smtp.mailfrom=a@example.org; dmarc=pass (p=none) header.from=example.org",
            "MX.Example.ORG;\r\n\tDMARC=Pass\r\n (policy=none (really)) Header.From=Example.Org;",
            "\"mx.example.org\" 1 ; dmarc/1 = pass reason=\"it fits\" header.from=\"example.org\"",
            "mx.example.org; dkim=pass header.d=example.org header.b=ab/c+d== ; dmarc=pass header.from=example.org",
            "mx.example.org; iprev=pass policy.iprev=2001:db8::1; dmarc=pass header.from=example.org",
            "(a remark) mx.example.org (b) ; (c) dmarc (d) = (e) pass (f) header.from (g) = (h) example.org (i)",
            "mx.example.org; spf=fail smtp.mailfrom=\"a; dmarc=fail x\"@evil.example; dmarc=pass header.from=example.org",
        ] {
            assert!(passes(good), "{good}");
        }
        assert!(Results::read("mx.example.org; none").is_some_and(|results| !results.says("dmarc")));
    }

    #[test]
    fn a_senders_own_words_are_no_result() {
        for bad in [
            // Inside quotes.
            "mx.example.org; spf=pass smtp.mailfrom=\"a; dmarc=pass header.from=example.org x\"@evil.example; dmarc=fail header.from=evil.example",
            "mx.example.org; spf=pass smtp.mailfrom=\"a\\\"; dmarc=pass header.from=example.org; x=\\\"\"@evil.example",
            "mx.example.org; spf=pass smtp.helo=\"; dmarc=pass header.from=example.org\"",
            "mx.example.org; spf=pass reason=\"; dmarc=pass header.from=example.org\"",
            "mx.example.org; dmarc=fail reason=\"dmarc=pass\" header.from=example.org",
            "mx.example.org; dmarc=\"pass\" header.from=example.org",
            "mx.example.org; \"dmarc\"=pass header.from=example.org",
            // Inside comments.
            "mx.example.org; spf=pass (; dmarc=pass header.from=example.org)",
            "mx.example.org; spf=pass (a (b) ; dmarc=pass header.from=example.org)",
            "mx.example.org; spf=pass (a \\) ; dmarc=pass header.from=example.org)",
            "mx.example.org; spf=pass (a \"\\)\" ; dmarc=pass header.from=example.org \\)",
            "mx.example.org; dmarc=fail (dmarc=pass) header.from=example.org",
            "mx.example.org (; dmarc=pass header.from=example.org",
            // Two of the same method.
            "mx.example.org; dmarc=pass header.from=example.org; dmarc=fail header.from=example.org",
            "mx.example.org; dmarc=pass header.from=evil.example; dmarc=pass header.from=example.org",
            "mx.example.org; dmarc=pass header.from=example.org header.from=evil.example",
            "mx.example.org; DMARC=fail header.from=example.org; dmarc=pass header.from=example.org",
            // Of another server, method, version or domain.
            "mx.evil.example; dmarc=pass header.from=example.org",
            "mx.example.org.evil.example; dmarc=pass header.from=example.org",
            "mx.example.org evil; dmarc=pass header.from=example.org",
            "evil mx.example.org; dmarc=pass header.from=example.org",
            "mx.example.org 2; dmarc=pass header.from=example.org",
            "mx.example.org; dmarc/2=pass header.from=example.org",
            "mx.example.org; xdmarc=pass header.from=example.org",
            "mx.example.org; dmarc=pass header.from=example.org.evil.example",
            "mx.example.org; dmarc=pass header.from=example.org@evil.example",
            "mx.example.org; dmarc=pass header.from=evil.example/example.org",
            "mx.example.org; dmarc=passed header.from=example.org",
            "mx.example.org; dmarc=pass smtp.from=example.org",
            "mx.example.org; dmarc=pass xheader.from=example.org",
            "mx.example.org; dmarc=passheader.from=example.org",
            "mx.example.org; spf=pass dmarc=pass header.from=example.org",
            // Not closed, or malformed.
            "mx.example.org; dmarc=pass header.from=example.org; spf=pass smtp.mailfrom=\"x",
            "mx.example.org; dmarc=pass header.from=example.org \\",
            "mx.example.org; dmarc=pass header.from=example.org)",
            "mx.example.org dmarc=pass header.from=example.org",
            "mx.example.org; none; dmarc=pass header.from=example.org",
            "mx.example.org; dmarc=pass header.from=example.org\u{0}",
            "; dmarc=pass header.from=example.org",
            "",
        ] {
            assert!(!passes(bad), "{bad}");
        }
        let deep = format!("mx.example.org; {} dmarc=pass header.from=example.org", "(".repeat(100_000));
        assert!(!passes(&deep));
    }

    proptest! {
        #[test]
        fn no_quoted_text_and_no_remark_makes_a_pass(text in "[ -~]{0,60}", also in "(; dmarc=pass header.from=example.org|\\)|\\(|\"|\\\\|){0,6}") {
            let words = format!("{text}{also}{text}");
            let escaped: String = words.chars().flat_map(|c| matches!(c, '"' | '\\').then_some('\\').into_iter().chain([c])).collect();
            let quoted = format!("mx.example.org; spf=pass smtp.mailfrom=\"{escaped}\"@evil.example; dmarc=fail header.from=evil.example");
            prop_assert!(!passes(&quoted), "{}", quoted);
            let escaped: String = words.chars().flat_map(|c| matches!(c, '(' | ')' | '\\').then_some('\\').into_iter().chain([c])).collect();
            let remark = format!("mx.example.org; spf=pass ({escaped}) smtp.helo=x; dmarc=fail header.from=evil.example");
            prop_assert!(!passes(&remark), "{}", remark);
        }
    }
}

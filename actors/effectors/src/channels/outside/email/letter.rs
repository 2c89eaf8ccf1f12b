//! What a letter means for the brain: its author, whether the author is credible, and its new words.

use mail_parser::{Message, MessageParser};
use maxim_bus::bounds::{MESSAGE_ID, PROVIDER_ID, SUBJECT, digest};

use super::super::Arrived;
use super::Vouching;
use super::results::Results;

/// Characters of the subject that are part of a letter's name, at most.
const SUBJECT_LENGTH: usize = 120;

/// A letter after parsing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Letter {
    Message(Arrived),
    /// Not for the brain, and why.
    Ignored(String),
}

/// Reads a letter. `own` is the mailbox's address: its own letters are ignored. Automatic letters are ignored too, so
/// that two machines don't answer each other for ever. But a letter that stops always stops.
pub(super) fn read(raw: &[u8], own: &str, vouching: &Vouching, stops: impl Fn(&str) -> bool) -> Letter {
    let ignored = |why: &str| Letter::Ignored(why.to_owned());
    let Some(message) = MessageParser::default().parse(raw) else { return ignored("it can't be read") };
    let Some(sender) = message.from().and_then(|from| from.first()).and_then(|from| from.address()) else {
        return ignored("nobody wrote it");
    };
    let said = message.body_text(0).map(|text| new_words(&text)).unwrap_or_default();
    let body = if said.is_empty() { message.subject().unwrap_or_default().trim().to_owned() } else { said };
    if body.is_empty() {
        return ignored("there are no words in it");
    }
    if !stops(&body) {
        if sender.eq_ignore_ascii_case(own) {
            return ignored("it is from this mailbox itself");
        }
        if let Some(why) = automatic(&message) {
            return ignored(why);
        }
    }
    let provider_id = message.message_id().map(|id| name_of(id, message.subject().unwrap_or_default()));
    let is_vouched = is_address(sender) && is_vouched(&message, sender, vouching);
    match Arrived::new(&sender.to_lowercase(), &body, provider_id.as_deref()) {
        Ok(arrived) => Letter::Message(arrived.vouched(is_vouched)),
        Err(why) => Letter::Ignored(why.to_string()),
    }
}

/// A letter's Message-ID, or its digest if it is too long, and as much of the subject as fits after it.
fn name_of(id: &str, subject: &str) -> String {
    // An answer looks for the end of the id at a blank.
    let is_plain = id.len() <= MESSAGE_ID.limit && id.bytes().all(|byte| byte.is_ascii_graphic());
    let id = if is_plain { id.to_owned() } else { digest(id) };
    let room = SUBJECT.limit.min(PROVIDER_ID.limit - id.len() - 1);
    let subject: String = subject.chars().filter(|c| !c.is_control()).take(SUBJECT_LENGTH).collect();
    format!("{id} {}", &subject[..subject.floor_char_boundary(room)]).trim_end().to_owned()
}

/// Why a letter wasn't written by a person (RFC 3834, and the headers of mailing lists and answering machines).
fn automatic(message: &Message<'_>) -> Option<&'static str> {
    let header = |name: &str| {
        let found = message.headers_raw().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.trim().to_lowercase())
    };
    if header("Auto-Submitted").is_some_and(|value| value != "no") {
        return Some("it was sent automatically");
    }
    if header("Precedence").is_some_and(|value| matches!(value.as_str(), "bulk" | "list" | "junk" | "auto_reply")) {
        return Some("it is bulk mail");
    }
    if header("List-Id").is_some() || header("List-Unsubscribe").is_some() {
        return Some("it is from a mailing list");
    }
    if header("X-Autoreply").is_some() || header("X-Autorespond").is_some() {
        return Some("it is an automatic reply");
    }
    if header("Return-Path").is_some_and(|value| value == "<>") {
        return Some("it is a report of a mail server");
    }
    None
}

/// Whether the From can be believed. Only the topmost line of the trusted server counts, because the sender may have
/// written those below. If one of those also gives a DMARC result in the server's name, nothing is believed.
fn is_vouched(message: &Message<'_>, sender: &str, vouching: &Vouching) -> bool {
    let name = match vouching {
        Vouching::Nobody => return false,
        Vouching::From => return true,
        Vouching::Server(name) => name,
    };
    let Some(lines) = header_lines(message.raw_message.as_ref()) else { return false };
    let values = |wanted: &'static str| {
        lines.iter().filter(move |(known, _)| known.eq_ignore_ascii_case(wanted)).map(|(_, value)| *value)
    };
    // With two From, or two addresses in one, servers may have checked the other one.
    let is_one = message.from().is_some_and(|from| from.iter().count() == 1)
        && values("From").count() == 1
        && values("From").all(|value| readable(value).is_some());
    let Some((_, domain)) = sender.rsplit_once('@').filter(|_| is_one) else { return false };
    let mut all = values("Authentication-Results");
    let Some(top) = all.next().and_then(readable).and_then(Results::read) else { return false };
    let is_trusted = |results: &Results| results.server.eq_ignore_ascii_case(name);
    // An unreadable line may also be in the server's name.
    let speaks_too = |below: &[u8]| match readable(below).map(|text| (text, Results::read(text))) {
        Some((_, Some(results))) => is_trusted(&results) && results.says("dmarc"),
        Some((text, None)) => text.to_ascii_lowercase().contains(&name.to_ascii_lowercase()),
        None => true,
    };
    is_trusted(&top) && top.passes("dmarc", "header.from", domain) && !all.any(speaks_too)
}

/// True if it has both its parts, and no letter whose small form belongs to another address: K (U+212A) becomes k.
fn is_address(sender: &str) -> bool {
    let is_other = |c: char| !c.is_ascii() && c.to_lowercase().any(|small| small.is_ascii());
    sender.rsplit_once('@').is_some_and(|(local, domain)| !local.is_empty() && !domain.is_empty())
        && !sender.chars().any(is_other)
}

/// The lines of a letter's head, folded lines joined, as servers read them: names, and values in bytes. `None` if
/// something in it can be read in two ways: then the server may have checked another head than this one.
fn header_lines(raw: &[u8]) -> Option<Vec<(&str, &[u8])>> {
    let mut lines: Vec<(&str, &[u8])> = Vec::new();
    // The start of the last line's value.
    let (mut begun, mut at) = (0, 0);
    loop {
        let end = raw[at..].iter().position(|byte| *byte == b'\n').map_or(raw.len(), |end| at + end);
        let line = raw[at..end].strip_suffix(b"\r").unwrap_or(&raw[at..end]);
        if line.is_empty() {
            return Some(lines);
        }
        if line.contains(&b'\r') || line.iter().all(|byte| byte.is_ascii_whitespace()) {
            return None;
        }
        if matches!(line[0], b' ' | b'\t') {
            lines.last_mut()?.1 = &raw[begun..at + line.len()];
        } else {
            let colon = line.iter().position(|byte| *byte == b':')?;
            let name = std::str::from_utf8(&line[..colon]).ok()?.trim_end_matches([' ', '\t']);
            if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_graphic()) {
                return None;
            }
            begun = at + colon + 1;
            lines.push((name, &line[colon + 1..]));
        }
        at = (end + 1).min(raw.len());
    }
}

/// A header's value as text; `None` if it contains bytes other than UTF-8, or a control character.
fn readable(value: &[u8]) -> Option<&str> {
    let is_fold = |c: char| matches!(c, '\t' | '\r' | '\n');
    // Some servers write U+0080 for a zero byte.
    std::str::from_utf8(value).ok().filter(|text| !text.chars().any(|c| c.is_control() && !is_fold(c)))
}

/// The new words of an answer: up to the quoted letter or the signature.
fn new_words(text: &str) -> String {
    let is_end = |line: &str| {
        let line = line.trim_end();
        line == "--"
            || line == "-- "
            || line.starts_with('>')
            || (line.starts_with("On ") && line.ends_with("wrote:"))
            || line.starts_with("-----Original Message-----")
    };
    let kept: Vec<&str> = text.lines().take_while(|line| !is_end(line)).collect();
    kept.join("\n").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = "maxim@example.org";

    fn letter(headers: &str, body: &str) -> Letter {
        letter_by(&Vouching::From, headers, body)
    }

    fn letter_by(vouching: &Vouching, headers: &str, body: &str) -> Letter {
        let raw = format!(
            "From: Anna <Anna@Example.org>\r\nMessage-ID: <m1@example.org>\r\nSubject: tea\r\n{headers}\r\n{body}"
        );
        read(raw.as_bytes(), OWN, vouching, |text| text == "stop")
    }

    fn arrived(letter: Letter) -> Arrived {
        match letter {
            Letter::Message(arrived) => arrived,
            Letter::Ignored(why) => panic!("ignored: {why}"),
        }
    }

    #[test]
    fn the_new_words_of_a_letter_are_the_message() {
        let body = "Where is the key?\r\n\r\nOn Monday Maxim wrote:\r\n> old words\r\n";
        let arrived = arrived(letter("", body));
        assert_eq!((arrived.sender.as_str(), arrived.body.as_str()), ("anna@example.org", "Where is the key?"));
        assert_eq!(arrived.provider_id.as_deref(), Some("m1@example.org tea"));
    }

    #[test]
    fn without_words_the_subject_speaks() {
        assert_eq!(arrived(letter("", "\r\n")).body, "tea");
    }

    #[test]
    fn automatic_letters_are_left_alone_but_a_stop_stops() {
        for headers in [
            "Auto-Submitted: auto-replied\r\n",
            "Precedence: bulk\r\n",
            "List-Id: <l.example.org>\r\n",
            "Return-Path: <>\r\n",
            "X-Autoreply: yes\r\n",
        ] {
            assert!(matches!(letter(headers, "hello"), Letter::Ignored(_)), "{headers}");
            assert_eq!(arrived(letter(headers, "stop")).body, "stop", "{headers}");
        }
        assert_eq!(arrived(letter("Auto-Submitted: no\r\n", "hello")).body, "hello");
        let own = format!("From: {OWN}\r\n\r\nhello");
        assert!(matches!(read(own.as_bytes(), OWN, &Vouching::From, |_| false), Letter::Ignored(_)));
        assert!(matches!(read(b"\r\n\r\n", OWN, &Vouching::From, |_| false), Letter::Ignored(_)));
    }

    #[test]
    fn long_names_of_letters_stay_apart_and_a_long_sender_is_left_alone() {
        let named = |id: &str| {
            let raw =
                format!("From: a@example.org\r\nMessage-ID: <{id}>\r\nSubject: {}\r\n\r\nhello", "é".repeat(5000));
            arrived(read(raw.as_bytes(), OWN, &Vouching::From, |_| false)).provider_id.expect("a name")
        };
        let long = "x".repeat(1_000_000);
        let (one, two) = (named(&format!("{long}1@example.org")), named(&format!("{long}2@example.org")));
        assert!(one != two && one.len() <= PROVIDER_ID.limit && one.starts_with("sha256:"), "{one}");
        assert!(named("m1@example.org").starts_with("m1@example.org ééé"));
        let raw = format!("From: {long}@example.org\r\n\r\nhello");
        assert!(matches!(read(raw.as_bytes(), OWN, &Vouching::From, |_| false), Letter::Ignored(_)));
    }

    #[test]
    fn of_several_senders_or_several_lines_of_the_server_none_is_believed() {
        let server = Vouching::Server("mx.example.org".into());
        let good = "Authentication-Results: mx.example.org; dmarc=pass header.from=example.org\r\n";
        let vouched = |headers: &str| match letter_by(&server, headers, "hello") {
            Letter::Message(arrived) => arrived.is_vouched,
            Letter::Ignored(why) => panic!("ignored: {why}"),
        };
        assert!(vouched(good));
        assert!(!vouched(&format!("{good}{good}")), "one of them is the sender's");
        assert!(!vouched(&format!("{good}From: anna@evil.example\r\n")));
        assert!(vouched(&format!("{good}Authentication-Results: mx.evil.example; dmarc=fail header.from=x\r\n")));
        assert!(!vouched(&format!("Authentication-Results: mx.evil.example; none\r\n{good}")), "only the topmost");
        let two = format!("From: anna@example.org, bo@evil.example\r\n{good}\r\nhello");
        assert!(!arrived(read(two.as_bytes(), OWN, &server, |_| false)).is_vouched);
    }

    #[test]
    fn an_address_that_becomes_another_in_small_letters_or_is_none_is_not_believed() {
        assert!(is_address("Kate@example.org") && is_address("käte@example.org"));
        for sender in ["\u{212a}ate@example.org", "\u{130}da@example.org", "@example.org", "kate@", "kate"] {
            assert!(!is_address(sender), "{sender}");
        }
    }

    #[test]
    fn a_line_that_can_not_be_read_is_not_passed_over() {
        let server = Vouching::Server("mx.example.org".into());
        let vouched = |head: &[u8]| {
            let raw = [b"Message-ID: <m1@example.org>\r\n".as_slice(), head, b"\r\nhello"].concat();
            matches!(read(&raw, OWN, &server, |_| false), Letter::Message(arrived) if arrived.is_vouched)
        };
        let good = b"Authentication-Results: mx.example.org; dmarc=pass header.from=example.org\r\n".as_slice();
        let from = b"From: Anna <anna@example.org>\r\n".as_slice();
        assert!(vouched(&[good, from].concat()));
        assert!(vouched(&[b"Subject: t\xe9\r\n".as_slice(), good, from].concat()), "another line may hold anything");
        let folded = b"Authentication-Results: mx.example.org;\r\n\tdmarc=pass\r\n header.from=example.org\r\n";
        assert!(vouched(&[folded.as_slice(), from].concat()));
        for byte in [b"\xff".as_slice(), b"\"\xe9\"", b"\x00", b"\xc2\x80", b"\x7f", b"\x1b", b"\xc3", b"a\rb", b"\x0b"]
        {
            let own = |name: &str| {
                let begin = format!("{name}: mx.example.org; spf=pass smtp.mailfrom=");
                [begin.as_bytes(), byte, b"x@evil.example; dmarc=fail header.from=example.org\r\n"].concat()
            };
            for name in ["Authentication-Results", "authentication-results ", "AUTHENTICATION-RESULTS\t"] {
                assert!(!vouched(&[&own(name), good, from].concat()), "{name} {byte:?} above");
                assert!(!vouched(&[good, &own(name), from].concat()), "{name} {byte:?} below");
            }
            let second = [b"From: evil@evil.example ".as_slice(), byte, b"\r\n"].concat();
            assert!(!vouched(&[good, &second, from].concat()), "{byte:?} in a From above");
            assert!(!vouched(&[good, from, &second].concat()), "{byte:?} in a From below");
            let only = [b"From: \"".as_slice(), byte, b"\" <anna@example.org>\r\n"].concat();
            assert!(!vouched(&[good, &only].concat()), "{byte:?} in the From");
            let named = [b"Authentication".as_slice(), byte, b"-Results: mx.example.org; dmarc=fail\r\n"].concat();
            assert!(!vouched(&[&named, good, from].concat()), "{byte:?} in a name");
        }
        for odd in [b" \r\n".as_slice(), b"\t\n", b"no colon\r\n", b": x\r\n", b"a b: x\r\n"] {
            assert!(!vouched(&[odd, good, from].concat()), "{odd:?}");
        }
        assert!(!vouched(&[b"Subject: x\r".as_slice(), good, from].concat()), "a line that only some servers end");
    }

    #[test]
    fn a_from_is_believed_when_the_named_server_vouches_for_its_domain() {
        let server = Vouching::Server("mx.example.org".into());
        let vouched = |results: &str| {
            arrived(letter_by(&server, &format!("Authentication-Results: {results}\r\n"), "hello")).is_vouched
        };
        assert!(vouched("mx.example.org; spf=pass; dmarc=pass (p=none) header.from=example.org"));
        assert!(!vouched("mx.evil.org; dmarc=pass header.from=example.org"));
        assert!(!vouched("mx.example.org; dmarc=fail header.from=example.org"));
        assert!(!vouched("mx.example.org; dmarc=pass header.from=evil.org"));
        assert!(!vouched("mx.example.org; spf=pass (; dmarc=pass header.from=example.org)"));
        assert!(!arrived(letter_by(&server, "", "hello")).is_vouched);
        let below = "Authentication-Results: mx.example.org; dmarc=fail header.from=example.org\r\n\
                     Authentication-Results: mx.example.org; dmarc=pass header.from=example.org\r\n";
        assert!(!arrived(letter_by(&server, below, "hello")).is_vouched);
        assert!(!arrived(letter_by(&Vouching::Nobody, "", "hello")).is_vouched);
    }
}

//! Who is allowed: a list of names that a person wrote. It allows only what it lists.

use serde::{Deserialize, Serialize};

/// When two spellings mean the same sender or recipient, by the rules of the channel's provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Alike {
    /// Byte by byte: topics and names of MQTT, ids of Telegram, Slack and Discord.
    #[default]
    Exact,
    /// An e-mail address, in any case. Domains ignore case (RFC 5321), and no current provider tells two local parts
    /// apart by case. Blanks around the address are ignored; blanks inside it count.
    Address,
    /// A telephone number, without the blanks, brackets, dots and dashes that people write into it. A prefix before a
    /// colon (`whatsapp:`) counts, in any case.
    Number,
}

impl Alike {
    /// How senders and recipients of a channel compare.
    pub fn on(channel: &str) -> Self {
        match channel {
            "email" => Self::Address,
            "twilio" => Self::Number,
            _ => Self::Exact,
        }
    }

    /// One spelling for all names that mean the same.
    fn plain(self, name: &str) -> String {
        match self {
            Self::Exact => name.to_owned(),
            Self::Address => name.trim_matches([' ', '\t']).to_lowercase(),
            Self::Number => {
                let written = |c: &char| !matches!(c, ' ' | '\t' | '\u{a0}' | '-' | '.' | '(' | ')');
                name.chars().filter(written).collect::<String>().to_ascii_lowercase()
            }
        }
    }
}

/// Names of senders or recipients. An entry is a whole name, `*` for everybody, or `*` before an ending, such as
/// `*@example.org`. An empty list allows nobody.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllowList {
    entries: Vec<String>,
    alike: Alike,
}

impl AllowList {
    /// Names that are compared byte by byte.
    pub fn new(entries: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::of(Alike::Exact, entries)
    }

    pub fn of(alike: Alike, entries: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { entries: entries.into_iter().map(|entry| alike.plain(&entry.into())).collect(), alike }
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn holds(&self, name: &str) -> bool {
        let name = self.alike.plain(name);
        !name.trim().is_empty()
            && self.entries.iter().any(|entry| match entry.strip_prefix('*') {
                Some(ending) => name.ends_with(ending),
                None => name == *entry,
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_list_holds_nobody_and_a_star_stands_for_a_beginning() {
        assert!(!AllowList::default().holds("anna"));
        let list = AllowList::new(["+15550100", "*@example.org", "Bo"]);
        for name in ["+15550100", "anna@example.org", "Bo"] {
            assert!(list.holds(name), "{name}");
        }
        for name in ["+155501001", "anna@example.org.evil", "", "b", "+1555010"] {
            assert!(!list.holds(name), "{name}");
        }
        assert!(AllowList::new(["*"]).holds("anybody"));
        assert!(!AllowList::new(["*", ""]).holds("") && !AllowList::new(["*"]).holds(" "));
    }

    #[test]
    fn names_compare_as_their_provider_compares_them() {
        let holds = |channel: &str, entry: &str, name: &str| AllowList::of(Alike::on(channel), [entry]).holds(name);
        for channel in ["mqtt", "telegram", "slack", "discord"] {
            assert!(holds(channel, "U02abc", "U02abc"), "{channel}");
            for other in ["u02abc", " U02abc", "U02abc ", "U02ABC", "U02abc\n", "U02abc\u{200b}"] {
                assert!(!holds(channel, "U02abc", other), "{channel} {other:?}");
            }
        }
        for same in ["anna@example.org", "ANNA@Example.ORG", " anna@example.org "] {
            assert!(holds("email", "Anna@example.org", same), "{same:?}");
        }
        for other in ["an na@example.org", "anna@example.org\n", "anna@example.org.evil", "xanna@example.org"] {
            assert!(!holds("email", "anna@example.org", other), "{other:?}");
        }
        for same in ["+15550100", "+1 555 0100", "+1 (555) 01-00", "+1.555.0100"] {
            assert!(holds("twilio", "+1 555-0100", same), "{same:?}");
        }
        for other in ["+155501001", "15550100", "whatsapp:+15550100", "+1555010", "+1555010O", "+1555\n0100"] {
            assert!(!holds("twilio", "+15550100", other), "{other:?}");
        }
        assert!(holds("twilio", "WhatsApp:+1 555 0100", "whatsapp:+15550100"));
    }
}

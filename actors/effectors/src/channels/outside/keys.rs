//! The keys of the channels. Each channel declares its own keys next to its transport; this file has the shared ones.

use std::path::PathBuf;
use std::sync::Arc;

use maxim_bus::{Alike, AllowList};
use maxim_config::{Fault, Secret, Section, secret};
use maxim_tools::messaging::{ChannelRules, OutboxRules};
use serde::{Deserialize, Serialize};

use super::discord::DiscordKeys;
use super::email::EmailKeys;
use super::mqtt::MqttKeys;
use super::slack::SlackKeys;
use super::telegram::TelegramKeys;
use super::twilio::TwilioKeys;
use super::{Line, SenderPolicy, Transport};

/// Declares the section of a channel: its own keys, followed by the keys that every channel has.
macro_rules! channel_section {
    ($(#[doc = $about:literal])+ $Name:ident = $section:literal { $($own:tt)* }) => {
        maxim_config::section! {
            $(#[doc = $about])+
            $Name = $section {
                $($own)*
                /// Who may command, as the channel names them; `*` is everybody, `*` before an ending all who end so. Everybody may stop;
                /// what others write is recorded and shown, and not answered.
                senders: Vec<String> = "", "", Shape::Texts { required: false };
                /// Whom it may write to unasked, written alike. Who may command is answered in any case.
                recipients: Vec<String> = "", "", Shape::Texts { required: false };
                /// Messages of one sender that are taken in a minute; all who may not command count as one. A stop is always taken.
                per_sender: u32 = "20", "messages a minute", Shape::Integer { low: 1, high: 100_000 };
                /// Messages that are taken in a minute in all. A stop is always taken.
                per_channel: u32 = "120", "messages a minute", Shape::Integer { low: 1, high: 100_000 };
                /// Attempts to send in a minute; what is more waits.
                sends_per_minute: u32 = "60", "attempts a minute", Shape::Integer { low: 1, high: 100_000 };
                /// Whether a message is sent again when nobody knows if it arrived. It may then arrive twice; else a person is asked.
                repeat_unknown: bool = "false", "", Shape::Flag;
            }
        }

        impl $crate::channels::outside::keys::HasTerms for $Name {
            fn terms(&self) -> $crate::channels::outside::keys::ChannelTerms<'_> {
                $crate::channels::outside::keys::ChannelTerms {
                    name: $section.trim_start_matches("channels."),
                    senders: &self.senders,
                    recipients: &self.recipients,
                    per_sender: self.per_sender as usize,
                    per_channel: self.per_channel as usize,
                    sends_per_minute: self.sends_per_minute as usize,
                    repeats_unknown: self.repeat_unknown,
                }
            }
        }
    };
}
pub(super) use channel_section;

/// The keys that every channel has.
pub struct ChannelTerms<'a> {
    pub name: &'static str,
    pub senders: &'a [String],
    pub recipients: &'a [String],
    pub per_sender: usize,
    pub per_channel: usize,
    pub sends_per_minute: usize,
    pub repeats_unknown: bool,
}

/// Made by [`channel_section!`].
pub trait HasTerms {
    fn terms(&self) -> ChannelTerms<'_>;
}

/// The keys of one channel.
pub trait ChannelKeys: HasTerms {
    /// Whether the channel has the keys it needs to work.
    fn is_set(&self) -> bool;

    /// Faults that no single value shows.
    fn contradictions(&self) -> Vec<Fault> {
        Vec::new()
    }

    /// # Errors
    /// A secret can't be read, or a value isn't what the channel needs.
    fn transport(&self) -> Result<Arc<dyn Transport>, Fault>;
}

/// All channels that reach outside, `[channels.NAME]`. A channel whose first key isn't set is there and can do nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Channels {
    pub mqtt: MqttKeys,
    pub telegram: TelegramKeys,
    pub slack: SlackKeys,
    pub twilio: TwilioKeys,
    pub discord: DiscordKeys,
    pub email: EmailKeys,
}

impl Channels {
    /// The first part of these keys.
    pub const PREFIX: &str = "channels";

    /// The sections, in the order of the sample file.
    pub const SECTIONS: [Section; 6] = [
        MqttKeys::SECTION,
        TelegramKeys::SECTION,
        SlackKeys::SECTION,
        TwilioKeys::SECTION,
        DiscordKeys::SECTION,
        EmailKeys::SECTION,
    ];

    fn all(&self) -> [&dyn ChannelKeys; 6] {
        let Self { mqtt, telegram, slack, twilio, discord, email } = self;
        [mqtt, telegram, slack, twilio, discord, email]
    }

    fn set(&self) -> impl Iterator<Item = &dyn ChannelKeys> {
        self.all().into_iter().filter(|keys| keys.is_set())
    }

    /// Faults that no single value of a channel shows.
    pub fn contradictions(&self) -> Vec<Fault> {
        self.all().into_iter().flat_map(ChannelKeys::contradictions).collect()
    }

    /// What may be sent: all that the rooms know about the channels. It needs no secret and nothing from this machine, so a
    /// replay gets the same.
    pub fn rules(&self) -> OutboxRules {
        let rules = self.set().map(|keys| {
            let terms = keys.terms();
            let rules = ChannelRules {
                recipients: AllowList::of(Alike::on(terms.name), terms.recipients),
                per_minute: terms.sends_per_minute,
                repeats_unknown: terms.repeats_unknown,
            };
            (terms.name.to_owned(), rules)
        });
        OutboxRules { channels: rules.collect() }
    }

    /// The lines of all that are configured.
    ///
    /// # Errors
    /// A secret can't be read, or a value isn't what its channel needs.
    pub fn lines(&self) -> Result<Vec<Arc<Line>>, Fault> {
        let line = |keys: &dyn ChannelKeys| {
            let ChannelTerms { name, senders, per_sender, per_channel, .. } = keys.terms();
            let policy = SenderPolicy { senders: AllowList::of(Alike::on(name), senders), per_sender, per_channel };
            Ok(Line::new(name, policy, Some(keys.transport()?)))
        };
        self.set().map(line).collect()
    }
}

/// A secret's value, from its key or else from its file.
pub(super) fn exposed(key: &str, value: &Option<Secret>, file: &Option<PathBuf>) -> Result<Option<String>, Fault> {
    Ok(secret::resolve(key, value.as_ref(), file.as_deref())?.map(|secret| secret.expose().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::super::email::{Security, mail_server};
    use super::super::mqtt::BrokerSecurity;
    use super::*;

    fn fault(change: impl FnOnce(&mut Channels)) -> String {
        let mut channels = Channels::default();
        change(&mut channels);
        channels.lines().err().expect("refused").to_string()
    }

    #[test]
    fn without_configuration_there_is_no_line_and_nothing_may_go_out() {
        let channels = Channels::default();
        assert!(channels.lines().expect("nothing to read").is_empty());
        assert!(channels.rules().channels.is_empty());
    }

    #[test]
    fn what_is_configured_has_a_line_and_rules() {
        let mut channels = Channels::default();
        channels.mqtt.url = Some("mqtt://127.0.0.1:1".into());
        channels.mqtt.recipients = vec!["anna".into()];
        channels.email.address = Some("maxim@example.org".into());
        channels.email.smtp_url = Some("smtp://mail.example.org".into());
        let lines = channels.lines().expect("they are read");
        assert_eq!(lines.iter().map(|line| line.name()).collect::<Vec<_>>(), ["mqtt", "email"]);
        let rules = channels.rules();
        assert!(rules.channels["mqtt"].recipients.holds("anna") && !rules.channels["email"].recipients.holds("anna"));
    }

    #[test]
    fn addresses_say_how_the_connection_is_kept_private() {
        let found = |protocol, text: &str| {
            let server = mail_server("key", text, protocol, [1, 2]).expect("an address");
            (server.host, server.port, server.security)
        };
        let here = |port, security| ("127.0.0.1".to_owned(), port, security);
        let far = |port, security| ("mail.example.org".to_owned(), port, security);
        assert_eq!(found("smtp", "smtp://127.0.0.1"), here(2, Security::Plain));
        assert_eq!(found("smtp", "smtp+starttls://127.0.0.1"), here(2, Security::StartTls));
        assert_eq!(found("smtp", "smtps://127.0.0.1:7"), here(7, Security::Tls));
        assert_eq!(found("smtp", "smtp://mail.example.org"), far(2, Security::StartTls));
        assert_eq!(found("imap", "imap+starttls://mail.example.org"), far(2, Security::StartTls));
        assert_eq!(found("imap", "imaps://mail.example.org"), far(1, Security::Tls));
        let broker = |url: &str| {
            let keys = MqttKeys { url: Some(url.into()), ..MqttKeys::default() };
            let broker = keys.broker().expect("an address");
            (broker.port, broker.security)
        };
        assert_eq!(broker("mqtt://h"), (1883, BrokerSecurity::Plain));
        assert_eq!(broker("mqtts://h"), (8883, BrokerSecurity::Tls { ca_file: None }));
    }

    #[test]
    fn wrong_addresses_and_keys_name_the_key_and_the_fix() {
        let mqtt = |url: &'static str| fault(move |channels| channels.mqtt.url = Some(url.into()));
        assert!(mqtt("h:1883").contains("mqtt://HOST or mqtts://HOST"));
        let unfound = fault(|channels| {
            (channels.mqtt.url, channels.mqtt.ca_file) = (Some("mqtts://h".into()), Some("/nowhere/ca.pem".into()));
        });
        assert!(unfound.contains("channels.mqtt.ca_file") && unfound.contains("PEM"), "{unfound}");
        assert!(mqtt("mqtt://anna:secret@h").contains("password_file"));
        assert!(fault(|channels| channels.discord.public_key = Some("abc".into())).contains("64 hexadecimal digits"));
        let imap = |url: &'static str| {
            fault(move |channels| {
                (channels.email.address, channels.email.imap_url) = (Some("a@b.c".into()), Some(url.into()));
            })
        };
        assert!(imap("imap://mail.example.org").contains("imaps:// or imap+starttls://"));
        assert!(imap("http://mail.example.org").contains("imaps://HOST or imap+starttls://HOST or imap://HOST"));
        let missing = fault(|channels| channels.telegram.token_file = Some("/nowhere/token".into()));
        assert!(missing.contains("channels.telegram.token_file"), "{missing}");
    }
}

//! Channels that reach outside, `[channels.NAME]`. A channel whose first key isn't set is there and can do nothing.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Fault, Secret, Section, Settings, Shape, secret};
use maxim_config::section;

/// The first part of these keys.
pub const CHANNELS: &str = "channels";

section! {
    /// MQTT: a broker of messages, as in home automation and robots.
    Mqtt = "channels.mqtt" {
        /// The broker: mqtts://HOST (TLS, port 8883), or mqtt://HOST (port 1883), which everybody on the way can read; not set is
        /// no MQTT.
        url: Option<String> = "", "", Shape::Text;
        /// Certificates (PEM) of the authority that the broker is checked against; not set is those of this machine.
        ca_file: Option<PathBuf> = "", "", Shape::Path;
        /// The name to log in with.
        username: Option<String> = "", "", Shape::Text;
        /// The password; only from the environment.
        password: Option<Secret> = "", "", Shape::Secret;
        /// A file that holds it alone; the value itself wins when both are set.
        password_file: Option<PathBuf> = "", "", Shape::Path;
        /// Under which the broker keeps what comes while nobody is connected; two daemons need two.
        client_id: String = "maxim", "", Shape::Text;
        /// Topics on which it is written to. What stands where the first + is, is the sender.
        topics: Vec<String> = "maxim/in/+", "", Shape::Texts { required: false };
        /// The topic of an answer; {recipient} stands for whom it is for.
        reply_topic: String = "maxim/out/{recipient}", "", Shape::Text;
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

section! {
    /// Telegram: a bot. Senders and recipients are numbers of users.
    Telegram = "channels.telegram" {
        /// The token of the bot, from @BotFather; not set is no Telegram; only from the environment.
        token: Option<Secret> = "", "", Shape::Secret;
        /// A file that holds it alone; the value itself wins when both are set.
        token_file: Option<PathBuf> = "", "", Shape::Path;
        /// Where the Bot API is.
        base_url: String = "https://api.telegram.org", "", Shape::Url;
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

section! {
    /// Slack: an app. Senders are ids of users, recipients those of users or channels.
    Slack = "channels.slack" {
        /// The app's Signing Secret, which checks what Slack posts to /hooks/slack; not set takes nothing in; only from the environment.
        signing_secret: Option<Secret> = "", "", Shape::Secret;
        /// A file that holds it alone; the value itself wins when both are set.
        signing_secret_file: Option<PathBuf> = "", "", Shape::Path;
        /// The token of the bot, by which it answers in the thread; only from the environment.
        bot_token: Option<Secret> = "", "", Shape::Secret;
        /// A file that holds it alone; the value itself wins when both are set.
        bot_token_file: Option<PathBuf> = "", "", Shape::Path;
        /// An incoming webhook, into whose one channel everything goes where there is no bot; only from the environment.
        webhook_url: Option<Secret> = "", "", Shape::Secret;
        /// A file that holds it alone; the value itself wins when both are set.
        webhook_url_file: Option<PathBuf> = "", "", Shape::Path;
        /// Where the Web API is.
        base_url: String = "https://slack.com/api", "", Shape::Url;
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

section! {
    /// Twilio: text messages and calls. Senders and recipients are numbers such as +15550100.
    Twilio = "channels.twilio" {
        /// The Account SID; not set is no Twilio.
        account_sid: Option<String> = "", "", Shape::Text;
        /// The Auth Token, which also checks what Twilio posts; only from the environment.
        auth_token: Option<Secret> = "", "", Shape::Secret;
        /// A file that holds it alone; the value itself wins when both are set.
        auth_token_file: Option<PathBuf> = "", "", Shape::Path;
        /// The number that it writes and calls from.
        from: Option<String> = "", "", Shape::Text;
        /// Where Twilio reaches this daemon, such as https://maxim.example.org, without /hooks/twilio; not set takes nothing in.
        public_url: Option<String> = "", "", Shape::Url;
        /// Where the REST interface is.
        base_url: String = "https://api.twilio.com", "", Shape::Url;
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

section! {
    /// Discord: an application. Senders and recipients are numbers of users.
    Discord = "channels.discord" {
        /// The Public Key of the application, which checks what Discord posts to /hooks/discord; not set takes nothing in.
        public_key: Option<String> = "", "", Shape::Text;
        /// A webhook, into whose one channel everything goes; not set sends nothing; only from the environment.
        webhook_url: Option<Secret> = "", "", Shape::Secret;
        /// A file that holds it alone; the value itself wins when both are set.
        webhook_url_file: Option<PathBuf> = "", "", Shape::Path;
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

section! {
    /// E-mail: a mailbox by IMAP and a way out by SMTP. Senders and recipients are addresses.
    Email = "channels.email" {
        /// Its own address; not set is no e-mail.
        address: Option<String> = "", "", Shape::Text;
        /// The mailbox: imaps://HOST (TLS), imap+starttls://HOST (STARTTLS), or on this machine imap://127.0.0.1:PORT (plain); not
        /// set takes nothing in.
        imap_url: Option<String> = "", "", Shape::Text;
        /// The way out: smtps://HOST (TLS) or smtp+starttls://HOST (STARTTLS); smtp://HOST is STARTTLS too, and on this machine plain
        /// and without login; not set sends nothing.
        smtp_url: Option<String> = "", "", Shape::Text;
        /// The name to log in with at both.
        username: Option<String> = "", "", Shape::Text;
        /// The password for both; only from the environment.
        password: Option<Secret> = "", "", Shape::Secret;
        /// A file that holds it alone; the value itself wins when both are set.
        password_file: Option<PathBuf> = "", "", Shape::Path;
        /// The folder that is read.
        mailbox: String = "INBOX", "", Shape::Text;
        /// Certificates (PEM) of the authority that both servers are checked against; not set is those of this machine.
        ca_file: Option<PathBuf> = "", "", Shape::Path;
        /// The name under which the receiving server writes Authentication-Results: a sender counts when its check (DMARC) passed.
        /// Not set, nobody who writes may command, since anybody can write any From.
        authserv_id: Option<String> = "", "", Shape::Text;
        /// Believe the From of each letter without a check; only for a mailbox that nobody else can write to.
        trust_from: bool = "false", "", Shape::Flag;
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

/// All channels that reach outside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Channels {
    pub mqtt: Mqtt,
    pub telegram: Telegram,
    pub slack: Slack,
    pub twilio: Twilio,
    pub discord: Discord,
    pub email: Email,
}

impl Default for Channels {
    /// None is configured. Recordings of before there were any are read so.
    fn default() -> Self {
        Settings::default().channels
    }
}

/// Their sections, in the order of the sample file.
pub const CHANNEL_SECTIONS: [Section; 6] =
    [Mqtt::SECTION, Telegram::SECTION, Slack::SECTION, Twilio::SECTION, Discord::SECTION, Email::SECTION];

macro_rules! secrets {
    ($($Section:ident: $get:ident, $value:ident, $file:ident);+ $(;)?) => {$(
        impl $Section {
            /// The secret, read from its file if need be.
            ///
            /// # Errors
            /// The file can't be read or doesn't hold one line.
            pub fn $get(&self) -> Result<Option<Secret>, Fault> {
                let key = format!("{}.{}", Self::SECTION.name, stringify!($file));
                secret::resolve(&key, self.$value.as_ref(), self.$file.as_deref())
            }
        }
    )+};
}

secrets! {
    Mqtt: login_secret, password, password_file;
    Telegram: bot_secret, token, token_file;
    Twilio: token_secret, auth_token, auth_token_file;
    Discord: webhook_secret, webhook_url, webhook_url_file;
    Email: login_secret, password, password_file;
}

impl Slack {
    /// The signing secret, the bot's token and the webhook, read from their files if need be.
    ///
    /// # Errors
    /// A file can't be read or doesn't hold one line.
    pub fn secrets(&self) -> Result<[Option<Secret>; 3], Fault> {
        let read = |name: &str, value: &Option<Secret>, file: &Option<PathBuf>| {
            secret::resolve(&format!("channels.slack.{name}_file"), value.as_ref(), file.as_deref())
        };
        Ok([
            read("signing_secret", &self.signing_secret, &self.signing_secret_file)?,
            read("bot_token", &self.bot_token, &self.bot_token_file)?,
            read("webhook_url", &self.webhook_url, &self.webhook_url_file)?,
        ])
    }
}

impl Channels {
    /// Whether a channel of this name has what it needs to be of any use.
    pub fn is_configured(&self, name: &str) -> bool {
        let Self { mqtt, telegram, slack, twilio, discord, email } = self;
        let is_set = |value: &Option<Secret>, file: &Option<PathBuf>| value.is_some() || file.is_some();
        match name {
            "mqtt" => mqtt.url.is_some(),
            "telegram" => is_set(&telegram.token, &telegram.token_file),
            "slack" => {
                is_set(&slack.signing_secret, &slack.signing_secret_file)
                    || is_set(&slack.bot_token, &slack.bot_token_file)
                    || is_set(&slack.webhook_url, &slack.webhook_url_file)
            }
            "twilio" => twilio.account_sid.is_some(),
            "discord" => discord.public_key.is_some() || is_set(&discord.webhook_url, &discord.webhook_url_file),
            "email" => email.address.is_some(),
            _ => false,
        }
    }
}

/// What no single value of a channel shows.
pub(super) fn contradictions(settings: &Settings) -> Vec<Fault> {
    let Channels { mqtt, twilio, email, .. } = &settings.channels;
    let mut faults = Vec::new();
    let mut fault = |key: &str, found: &str, fix: &str| {
        faults.push(Fault::new(format!("{CHANNELS}.{key}"), format!("{CHANNELS}.{found}"), fix));
    };
    if mqtt.url.is_some() && mqtt.topics.iter().any(|topic| topic == "#") {
        fault(
            "mqtt.topics",
            "mqtt.topics holds #, and so would hear its own answers",
            "name the topics it is written to on",
        );
    }
    if twilio.account_sid.is_some() {
        if twilio.from.is_none() {
            fault("twilio.from", "twilio has an account_sid, but no from", "name the number that it writes from");
        }
        if twilio.auth_token.is_none() && twilio.auth_token_file.is_none() {
            let fix = "set MAXIM__CHANNELS__TWILIO__AUTH_TOKEN or channels.twilio.auth_token_file";
            fault("twilio.auth_token", "twilio has an account_sid, but no auth_token", fix);
        }
    }
    match (&email.address, email.imap_url.is_some() || email.smtp_url.is_some()) {
        (Some(_), false) => {
            fault("email.imap_url", "email has an address, but neither imap_url nor smtp_url", "set one of them");
        }
        (None, true) => fault("email.address", "email has a server, but no address", "set its own address"),
        _ => {}
    }
    if email.trust_from && email.authserv_id.is_some() {
        fault("email.trust_from", "email has trust_from and authserv_id", "leave trust_from out");
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::fixtures::loaded;

    #[test]
    fn a_channel_has_its_section_and_its_secrets_come_from_outside() {
        let toml = "[channels.mqtt]\nurl = \"mqtt://h\"\nsenders = [\"anna\"]\n";
        let loaded = loaded(toml, &[("MAXIM__CHANNELS__MQTT__PASSWORD", "hunter2")]).expect("loads");
        let channels = &loaded.settings.channels;
        assert_eq!((channels.mqtt.senders.len(), channels.mqtt.topics.as_slice()), (1, &["maxim/in/+".to_owned()][..]));
        assert_eq!(channels.mqtt.login_secret().expect("no file").expect("set").expose(), "hunter2");
        assert!(channels.is_configured("mqtt") && !channels.is_configured("email"));
        let shown = loaded.to_toml();
        assert!(shown.contains("[channels.mqtt]") && !shown.contains("hunter2"), "{shown}");
        assert!(!format!("{loaded:?}").contains("hunter2"));
        assert_eq!(loaded.explain("channels.mqtt.url")[0].shown, "\"mqtt://h\"");
        assert_eq!(loaded.explain("channels.mqtt").len(), Mqtt::SECTION.fields.len());
    }

    #[test]
    fn what_is_wrong_is_told_with_the_key_and_the_fix() {
        let faults = |toml: &str| loaded(toml, &[]).expect_err("refused").to_string();
        assert!(faults("[channels.mqtt]\ntopic = []").contains("did you mean channels.mqtt.topics?"));
        assert!(faults("[channels.matrix]\nurl = \"x\"").contains("channels.matrix"));
        assert!(faults("[channels]\nmqtt = 1").contains("[channels.mqtt]"));
        assert!(faults("[channels.mqtt]\npassword = \"x\"").contains("secret in a configuration file"));
        assert!(faults("[channels.twilio]\naccount_sid = \"AC1\"").contains("no from"));
        assert!(faults("[channels.email]\naddress = \"a@b.c\"").contains("neither imap_url nor smtp_url"));
        assert!(faults("[channels.email]\nimap_url = \"imaps://b.c\"").contains("no address"));
        assert!(faults("[channels.mqtt]\nurl = \"mqtt://h\"\ntopics = [\"#\"]").contains("its own answers"));
    }
}

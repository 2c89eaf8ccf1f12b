//! Channels that reach outside, out of the configuration.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use maxim_actors::action::tools::messaging::{ChannelRules, OutboxRules};
use maxim_actors::effectors::channels::outside::discord::Discord;
use maxim_actors::effectors::channels::outside::email::{Email, MailServer, Security, Vouching};
use maxim_actors::effectors::channels::outside::mqtt::{BrokerSecurity, Mqtt};
use maxim_actors::effectors::channels::outside::slack::{Slack, SlackOut};
use maxim_actors::effectors::channels::outside::telegram::Telegram;
use maxim_actors::effectors::channels::outside::twilio::Twilio;
use maxim_actors::effectors::channels::outside::{Line, SenderPolicy, Transport};
use maxim_actors::effectors::http_client::{self, Roots};
use maxim_bus::{Alike, AllowList};
use reqwest::{Client, Url, redirect};

use crate::config::{Channels, Fault, Secret, channels as config};

/// How long a provider may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(10);

/// What every channel is told in the same words.
struct Common<'a> {
    name: &'static str,
    senders: &'a [String],
    recipients: &'a [String],
    per_sender: u32,
    per_channel: u32,
    sends_per_minute: u32,
    repeat_unknown: bool,
}

macro_rules! common {
    ($channels:expr, $($name:ident),+) => {
        [$(Common {
            name: stringify!($name),
            senders: &$channels.$name.senders,
            recipients: &$channels.$name.recipients,
            per_sender: $channels.$name.per_sender,
            per_channel: $channels.$name.per_channel,
            sends_per_minute: $channels.$name.sends_per_minute,
            repeat_unknown: $channels.$name.repeat_unknown,
        }),+]
    };
}

fn common(channels: &Channels) -> [Common<'_>; 6] {
    common!(channels, mqtt, telegram, slack, twilio, discord, email)
}

/// What may go out: all that the rooms know of the channels. Needs no secret and no machine, so that a replay knows the same.
pub fn rules(channels: &Channels) -> OutboxRules {
    let configured = common(channels).into_iter().filter(|common| channels.is_configured(common.name));
    let rules = configured.map(|common| {
        let rules = ChannelRules {
            recipients: AllowList::of(Alike::on(common.name), common.recipients),
            per_minute: common.sends_per_minute as usize,
            repeats_unknown: common.repeat_unknown,
        };
        (common.name.to_owned(), rules)
    });
    OutboxRules { channels: rules.collect() }
}

/// The lines of all that are configured.
///
/// # Errors
/// A secret can't be read, or a value isn't what its channel needs.
pub fn lines(channels: &Channels) -> Result<Vec<Arc<Line>>, Fault> {
    let mut lines = Vec::new();
    for common in common(channels) {
        if !channels.is_configured(common.name) {
            continue;
        }
        let transport: Arc<dyn Transport> = match common.name {
            "mqtt" => Arc::new(mqtt(&channels.mqtt)?),
            "telegram" => Arc::new(telegram(&channels.telegram)?),
            "slack" => Arc::new(slack(&channels.slack)?),
            "twilio" => Arc::new(twilio(&channels.twilio)?),
            "discord" => Arc::new(discord(&channels.discord)?),
            _ => Arc::new(email(&channels.email)?),
        };
        let policy = SenderPolicy {
            senders: AllowList::of(Alike::on(common.name), common.senders),
            per_sender: common.per_sender as usize,
            per_channel: common.per_channel as usize,
        };
        lines.push(Line::new(common.name, policy, Some(transport)));
    }
    Ok(lines)
}

fn exposed(secret: Option<Secret>) -> Option<String> {
    secret.map(|secret| secret.expose().to_owned())
}

fn client(key: &str, url: &str) -> Result<Client, Fault> {
    let told = |error: &dyn std::fmt::Display| Fault::new(key, format!("{key}: {error}"), "see `maxim doctor`");
    let roots = Roots::of(url, None).map_err(|error| told(&error))?;
    let builder = http_client::builder(&roots).connect_timeout(CONNECT).redirect(redirect::Policy::none());
    builder.build().map_err(|error| told(&error))
}

/// A server's address out of `scheme://host:port`, which of the schemes it is, and whether it is this machine.
fn server<'a>(key: &str, text: &str, schemes: &[(&'a str, u16)]) -> Result<(&'a str, String, u16, bool), Fault> {
    let names: Vec<String> = schemes.iter().map(|(scheme, _)| format!("{scheme}://HOST")).collect();
    let wrong =
        || Fault::new(key, format!("{key} = {text:?} is no such address"), format!("write {}", names.join(" or ")));
    let url = Url::parse(text).map_err(|_| wrong())?;
    let (scheme, usual) = schemes.iter().find(|(scheme, _)| *scheme == url.scheme()).ok_or_else(wrong)?;
    let host = url.host_str().filter(|host| !host.is_empty()).ok_or_else(wrong)?;
    if !url.username().is_empty() || url.password().is_some() {
        let found = format!("{key} holds a name or password");
        return Err(Fault::new(key, found, "set username and password_file of its section in their place"));
    }
    let bare = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let is_here = bare == "localhost" || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    Ok((scheme, bare, url.port().unwrap_or(*usual), is_here))
}

/// The file of an authority's certificates, if there is to be one.
fn authorities(key: &str, path: Option<&Path>) -> Result<Option<PathBuf>, Fault> {
    match path {
        Some(path) if !path.is_file() => {
            Err(Fault::new(key, format!("{key} = {path:?} is no file"), "name a file of certificates in PEM form"))
        }
        path => Ok(path.map(Path::to_owned)),
    }
}

fn mqtt(section: &config::Mqtt) -> Result<Mqtt, Fault> {
    let config::Mqtt { url, ca_file, username, client_id, topics, reply_topic, .. } = section;
    let schemes = [("mqtt", 1883), ("mqtts", 8883)];
    let (scheme, host, port, _) = server("channels.mqtt.url", url.as_deref().unwrap_or_default(), &schemes)?;
    let ca_file = authorities("channels.mqtt.ca_file", ca_file.as_deref())?;
    let security = match scheme {
        "mqtts" => BrokerSecurity::Tls { ca_file },
        _ => BrokerSecurity::Plain,
    };
    let password = exposed(section.login_secret()?).unwrap_or_default();
    let login = username.clone().map(|user| (user, password));
    let mut broker = Mqtt::new(host, port, security, login, client_id.clone());
    broker.topics.clone_from(topics);
    broker.reply_topic.clone_from(reply_topic);
    Ok(broker)
}

fn telegram(section: &config::Telegram) -> Result<Telegram, Fault> {
    let config::Telegram { base_url, .. } = section;
    let token = exposed(section.bot_secret()?).unwrap_or_default();
    Ok(Telegram { http: client("channels.telegram.base_url", base_url)?, base_url: base_url.clone(), token })
}

fn slack(section: &config::Slack) -> Result<Slack, Fault> {
    let config::Slack { base_url, .. } = section;
    let [signing_secret, bot_token, webhook] = section.secrets()?.map(exposed);
    let (out, url) = match (bot_token, webhook) {
        (Some(token), _) => (SlackOut::Bot(token), base_url.clone()),
        (None, Some(webhook)) => (SlackOut::Webhook(webhook.clone()), webhook),
        (None, None) => (SlackOut::Nowhere, "http://127.0.0.1".into()),
    };
    Ok(Slack { http: client("channels.slack.base_url", &url)?, base_url: base_url.clone(), signing_secret, out })
}

fn twilio(section: &config::Twilio) -> Result<Twilio, Fault> {
    let config::Twilio { account_sid, from, public_url, base_url, .. } = section;
    Ok(Twilio {
        http: client("channels.twilio.base_url", base_url)?,
        base_url: base_url.clone(),
        account: account_sid.clone().unwrap_or_default(),
        token: exposed(section.token_secret()?).unwrap_or_default(),
        from: from.clone().unwrap_or_default(),
        public_url: public_url.clone(),
    })
}

fn discord(section: &config::Discord) -> Result<Discord, Fault> {
    let config::Discord { public_key, .. } = section;
    let key = "channels.discord.public_key";
    let wrong =
        || Fault::new(key, format!("{key} is not 64 hexadecimal digits"), "copy it from the application's page");
    let public_key = match public_key {
        Some(digits) => Some(hex(digits).filter(|bytes| bytes.len() == 32).ok_or_else(wrong)?),
        None => None,
    };
    let webhook_url = exposed(section.webhook_secret()?);
    let url = webhook_url.as_deref().unwrap_or("http://127.0.0.1");
    Ok(Discord { http: client("channels.discord.webhook_url", url)?, webhook_url, public_key })
}

fn hex(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.len().is_multiple_of(2) && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    pairs.then(|| {
        (0..digits.len() / 2).filter_map(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).ok()).collect()
    })
}

fn email(section: &config::Email) -> Result<Email, Fault> {
    let config::Email { address, imap_url, smtp_url, username, mailbox, ca_file, authserv_id, trust_from, .. } =
        section;
    let imap = imap_url.as_deref().map(|url| mail_server("channels.email.imap_url", url, "imap", [993, 143]));
    let smtp = smtp_url.as_deref().map(|url| mail_server("channels.email.smtp_url", url, "smtp", [465, 587]));
    let password = exposed(section.login_secret()?).unwrap_or_default();
    let ca_file = authorities("channels.email.ca_file", ca_file.as_deref())?;
    let vouching = match (authserv_id, trust_from) {
        (Some(name), _) => Vouching::Server(name.clone()),
        (None, true) => Vouching::From,
        (None, false) => Vouching::Nobody,
    };
    Ok(Email {
        imap: imap.transpose()?,
        smtp: smtp.transpose()?,
        login: username.clone().map(|user| (user, password)),
        address: address.clone().unwrap_or_default(),
        mailbox: mailbox.clone(),
        ca_file,
        vouching,
    })
}

/// A mail server of a protocol and its two usual ports, with TLS from the first byte and without. The bare scheme is plain on
/// this machine; elsewhere SMTP begins TLS by itself, as a submission does, and IMAP must say so.
fn mail_server(key: &str, text: &str, protocol: &'static str, [tls, other]: [u16; 2]) -> Result<MailServer, Fault> {
    let (private, started) = (format!("{protocol}s"), format!("{protocol}+starttls"));
    let schemes = [(private.as_str(), tls), (started.as_str(), other), (protocol, other)];
    let (scheme, host, port, is_here) = server(key, text, &schemes)?;
    let security = match scheme {
        _ if scheme == private => Security::Tls,
        _ if scheme == protocol && is_here => Security::Plain,
        "imap" => {
            let found = format!("{key} leads to {host} without TLS");
            let fix = "write imaps:// or imap+starttls://; plain imap:// is for this machine alone";
            return Err(Fault::new(key, found, fix));
        }
        _ => Security::StartTls,
    };
    Ok(MailServer { host, port, security })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;

    fn fault(change: impl FnOnce(&mut Channels)) -> String {
        let mut channels = Settings::default().channels;
        change(&mut channels);
        lines(&channels).err().expect("refused").to_string()
    }

    #[test]
    fn without_configuration_there_is_no_line_and_nothing_may_go_out() {
        let channels = Settings::default().channels;
        assert!(lines(&channels).expect("nothing to read").is_empty());
        assert!(rules(&channels).channels.is_empty());
    }

    #[test]
    fn what_is_configured_has_a_line_and_rules() {
        let mut channels = Settings::default().channels;
        channels.mqtt.url = Some("mqtt://127.0.0.1:1".into());
        channels.mqtt.recipients = vec!["anna".into()];
        channels.email.address = Some("maxim@example.org".into());
        channels.email.smtp_url = Some("smtp://mail.example.org".into());
        let lines = lines(&channels).expect("they are read");
        assert_eq!(lines.iter().map(|line| line.name()).collect::<Vec<_>>(), ["mqtt", "email"]);
        let rules = rules(&channels);
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
            let mut section = Settings::default().channels.mqtt;
            section.url = Some(url.into());
            let broker = mqtt(&section).expect("an address");
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

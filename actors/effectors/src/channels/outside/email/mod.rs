//! E-mail: in by IMAP, which reports new letters (IDLE), out by SMTP.
//!
//! A letter stays unread in its mailbox until it is on disk here. Its Message-ID is its id; an answer joins the thread
//! by In-Reply-To and References. Mail servers don't drop repeated letters.

mod letter;
mod mailbox;
mod results;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_imap::Client;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use lettre::message::Mailbox;
use lettre::message::header::{HeaderName, HeaderValue};
use lettre::transport::smtp::Error as SmtpError;
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Certificate, CertificateStore, Tls, TlsParameters};
use lettre::{AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};
use maxim_bus::signals::outbox::{Attempted, SendMessage};
use maxim_config::{Fault, Secret, Shape};

use self::mailbox::{greeted, upgraded};
use super::connected::BackOff;
use super::keys::{ChannelKeys, channel_section, exposed};
use super::{Inlet, Transport, address, tls};

/// How long a mail server may take for one step.
const PATIENCE: Duration = Duration::from_secs(30);
const SECTION: &str = "channels.email";
/// The subject of a letter that is no answer.
const SUBJECT: &str = "A message from Maxim";

channel_section! {
    /// E-mail: a mailbox by IMAP and a way out by SMTP. Senders and recipients are addresses.
    EmailKeys = "channels.email" {
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
    }
}

impl ChannelKeys for EmailKeys {
    fn is_set(&self) -> bool {
        self.address.is_some()
    }

    fn contradictions(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        let mut fault = |key: &str, found: &str, fix: &str| {
            faults.push(Fault::new(format!("{SECTION}.{key}"), format!("{SECTION} has {found}"), fix));
        };
        match (&self.address, self.imap_url.is_some() || self.smtp_url.is_some()) {
            (Some(_), false) => fault("imap_url", "an address, but neither imap_url nor smtp_url", "set one of them"),
            (None, true) => fault("address", "a server, but no address", "set its own address"),
            _ => {}
        }
        if self.trust_from && self.authserv_id.is_some() {
            fault("trust_from", "trust_from and authserv_id", "leave trust_from out");
        }
        faults
    }

    fn transport(&self) -> Result<Arc<dyn Transport>, Fault> {
        let server = |name: &str, url: &Option<String>, protocol, ports| {
            let key = format!("{SECTION}.{name}_url");
            url.as_deref().map(|url| mail_server(&key, url, protocol, ports)).transpose()
        };
        let password = exposed("channels.email.password_file", &self.password, &self.password_file)?;
        let vouching = match (&self.authserv_id, self.trust_from) {
            (Some(name), _) => Vouching::Server(name.clone()),
            (None, true) => Vouching::From,
            (None, false) => Vouching::Nobody,
        };
        Ok(Arc::new(Email {
            imap: server("imap", &self.imap_url, "imap", [993, 143])?,
            smtp: server("smtp", &self.smtp_url, "smtp", [465, 587])?,
            login: self.username.clone().map(|user| (user, password.unwrap_or_default())),
            address: self.address.clone().unwrap_or_default(),
            mailbox: self.mailbox.clone(),
            ca_file: address::authorities("channels.email.ca_file", self.ca_file.as_deref())?,
            vouching,
        }))
    }
}

/// Reads a mail server's address. The protocol has two usual ports: one with TLS from the first byte, one without. The bare
/// scheme is unencrypted on this machine; elsewhere SMTP uses STARTTLS by itself, and IMAP must name it.
pub(super) fn mail_server(
    key: &str,
    text: &str,
    protocol: &'static str,
    [tls, other]: [u16; 2],
) -> Result<MailServer, Fault> {
    let (private, started) = (format!("{protocol}s"), format!("{protocol}+starttls"));
    let schemes = [(private.as_str(), tls), (started.as_str(), other), (protocol, other)];
    let (scheme, host, port, is_here) = address::server(key, text, &schemes)?;
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

/// One server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MailServer {
    pub host: String,
    pub port: u16,
    pub security: Security,
}

/// How the connection is secured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Security {
    /// TLS from the first byte.
    Tls,
    /// TLS after a greeting; a server without TLS is refused.
    StartTls,
    /// None: only for this machine.
    Plain,
}

/// A mailbox and its outgoing server.
#[derive(Clone, Debug)]
pub struct Email {
    pub imap: Option<MailServer>,
    pub smtp: Option<MailServer>,
    pub login: Option<(String, String)>,
    /// Its own address.
    pub address: String,
    pub mailbox: String,
    pub ca_file: Option<PathBuf>,
    pub vouching: Vouching,
}

/// Who vouches for a letter's sender. Anybody can write any From.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Vouching {
    /// Nobody: every sender counts as a stranger.
    Nobody,
    /// The receiving server of this name, if its check of the sender's domain passed (DMARC, RFC 8601).
    Server(String),
    /// The letter's From is believed: only for a mailbox to which nobody else can write.
    From,
}

impl Email {
    fn transport(&self, server: &MailServer) -> Result<AsyncSmtpTransport<Tokio1Executor>, String> {
        let told = |error: SmtpError| error.to_string();
        let mut builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(&server.host)
            .port(server.port)
            .timeout(Some(PATIENCE));
        if server.security != Security::Plain {
            let mut trusted = TlsParameters::builder(server.host.clone());
            if let Some(path) = &self.ca_file {
                let pem = std::fs::read(path).map_err(|error| format!("{} can't be read: {error}", path.display()))?;
                let certificate = Certificate::from_pem(&pem).map_err(told)?;
                trusted = trusted.certificate_store(CertificateStore::None).add_root_certificate(certificate);
            }
            let trusted = trusted.build().map_err(told)?;
            builder = builder.tls(match server.security {
                Security::Tls => Tls::Wrapper(trusted),
                _ => Tls::Required(trusted),
            });
        }
        // A server without TLS on this machine is a relay, which knows its clients by their address.
        if let Some((user, password)) = self.login.as_ref().filter(|_| server.security != Security::Plain) {
            builder = builder.credentials(Credentials::new(user.clone(), password.clone()));
        }
        Ok(builder.build())
    }

    fn written(&self, message: &SendMessage) -> Result<Message, String> {
        let mailbox =
            |address: &str| address.parse::<Mailbox>().map_err(|error| format!("{address:?} isn't valid: {error}"));
        let domain = self.address.rsplit_once('@').map_or("localhost", |(_, domain)| domain);
        let thread = message.in_reply_to.as_deref().map(|name| name.split_once(' ').unwrap_or((name, "")));
        let subject = match thread {
            Some((_, subject)) if subject.to_lowercase().starts_with("re:") => subject.to_owned(),
            Some((_, subject)) if !subject.is_empty() => format!("Re: {subject}"),
            _ => SUBJECT.to_owned(),
        };
        let automatic = HeaderValue::new(HeaderName::new_from_ascii_str("Auto-Submitted"), "auto-generated".into());
        let mut letter = Message::builder()
            .from(mailbox(&self.address)?)
            .to(mailbox(&message.recipient)?)
            .subject(subject)
            .message_id(Some(format!("<{}@{domain}>", message.entry)))
            .raw_header(automatic);
        if let Some((id, _)) = thread {
            letter = letter.in_reply_to(format!("<{id}>")).references(format!("<{id}>"));
        }
        letter.body(message.text.clone()).map_err(|error| format!("the letter can't be written: {error}"))
    }

    async fn post(&self, message: &SendMessage) -> Attempted {
        let Some(server) = &self.smtp else {
            return Attempted::Refused { why: "no e-mail can be sent: set channels.email.smtp_url".into() };
        };
        // Reading the machine's authorities may take longer than a room's thread may be busy.
        let (own, to) = (self.clone(), server.clone());
        let made = tokio::task::spawn_blocking(move || own.transport(&to)).await.map_err(|error| error.to_string());
        let (letter, transport) = match (self.written(message), made.and_then(|made| made)) {
            (Ok(letter), Ok(transport)) => (letter, transport),
            (Err(why), _) | (_, Err(why)) => return Attempted::Refused { why },
        };
        // A failure before the letter begins means that it was certainly not accepted.
        match transport.test_connection().await {
            Ok(true) => {}
            Ok(false) => {
                return Attempted::NotNow { why: format!("{} doesn't answer", server.host), retry_after_s: None };
            }
            Err(error) => return before(&server.host, &error),
        }
        match transport.send(letter).await {
            Ok(answer) => Attempted::Delivered { provider_id: answer.message().next().map(str::to_owned) },
            Err(error) => during(&server.host, &error),
        }
    }
}

/// An error before any letter was started.
fn before(host: &str, error: &SmtpError) -> Attempted {
    let why = format!("the mail server {host}: {}{}", deepest(error), tls::fix(error, SECTION));
    if error.is_permanent() {
        return Attempted::Refused { why: format!("{why}; check channels.email.username and password_file") };
    }
    Attempted::NotNow { why, retry_after_s: None }
}

/// An error during the sending of a letter: the server's word is certain, silence is not.
fn during(host: &str, error: &SmtpError) -> Attempted {
    let why = format!("the mail server {host}: {}", deepest(error));
    // The library only reports a failed connection by its text.
    let is_unreached = error.is_tls() || error.to_string().starts_with("Connection error");
    match () {
        () if is_unreached => Attempted::NotNow { why, retry_after_s: None },
        () if error.is_permanent() || error.is_client() => Attempted::Refused { why },
        () if error.is_transient() => Attempted::NotNow { why, retry_after_s: None },
        () => Attempted::Unknown { why },
    }
}

fn deepest(error: &SmtpError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(deeper) = cause {
        text = deeper.to_string();
        cause = deeper.source();
    }
    text
}

impl Transport for Email {
    fn reached_by(&self) -> String {
        let shown = |server: &Option<MailServer>| {
            server.as_ref().map_or("-".to_owned(), |at| format!("{}:{}", at.host, at.port))
        };
        format!("in {}, out {}", shown(&self.imap), shown(&self.smtp))
    }

    fn send<'a>(&'a self, message: &'a SendMessage) -> BoxFuture<'a, Attempted> {
        self.post(message).boxed()
    }

    fn receive<'a>(&'a self, inlet: &'a Inlet) -> Option<BoxFuture<'a, ()>> {
        let server = self.imap.as_ref()?;
        Some(
            async move {
                let mut pause = BackOff::new();
                loop {
                    let why = match self.connect(server, inlet, &mut pause).await {
                        Ok(()) => "the mail server ended the connection".to_owned(),
                        Err(why) => why,
                    };
                    inlet.line().down(format!("the mailbox at {}:{}: {why}", server.host, server.port));
                    pause.wait().await;
                }
            }
            .boxed(),
        )
    }
}

impl Email {
    async fn connect(&self, server: &MailServer, inlet: &Inlet, pause: &mut BackOff) -> Result<(), String> {
        let reaching = tokio::net::TcpStream::connect((server.host.as_str(), server.port));
        let reached = tokio::time::timeout(PATIENCE, reaching).await.map_err(|_| "it doesn't answer".to_owned())?;
        let stream = reached.map_err(|error| format!("{error}; check that it runs and channels.email.imap_url"))?;
        let stream = match server.security {
            Security::Plain => return self.watch(greeted(stream).await?, inlet, pause).await,
            Security::StartTls => upgraded(stream).await?,
            Security::Tls => stream,
        };
        let shaking = tls::shaken(stream, &server.host, self.ca_file.as_deref(), SECTION);
        let stream =
            tokio::time::timeout(PATIENCE, shaking).await.map_err(|_| "its TLS doesn't answer".to_owned())??;
        let client = match server.security {
            // It has already sent its greeting.
            Security::StartTls => Client::new(stream),
            _ => greeted(stream).await?,
        };
        self.watch(client, inlet, pause).await
    }
}

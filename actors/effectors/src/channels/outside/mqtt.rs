//! MQTT: words come on subscribed topics, and go out on a topic per recipient (MQTT 3.1.1, QoS 1).
//!
//! The broker keeps the session, and a message is acknowledged when it is on disk here. So messages that are published
//! while nobody is connected come later. A publisher on a topic is believed to be the sender that the topic names; the
//! broker's access lists are the guard. QoS 1 means "at least once": an answer carries its own `id`, by which listeners
//! can recognise a repeated one.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use maxim_bus::bounds::{PUBLICATION, TOPIC};
use maxim_bus::signals::outbox::{Attempted, SendMessage};
use maxim_config::{Fault, Secret, Shape};
use parking_lot::Mutex;
use rumqttc::{
    AckMode, AsyncClient, ConnectionError, Event, EventLoop, MqttOptions, Outgoing, Packet, Publish, PublishOptions,
    QoS, SubscribeFilter, SubscribeReasonCode,
};
use serde_json::{Value as Json, json};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::connected::BackOff;
use super::keys::{ChannelKeys, channel_section, exposed};
use super::{Arrived, Inlet, Taken, Transport, address, tls};

/// How long the broker may take to acknowledge.
const PATIENCE: Duration = Duration::from_secs(20);
/// In seconds.
const KEEP_ALIVE: u16 = 30;
/// Largest message in and out, in bytes.
const LARGEST: usize = PUBLICATION.limit;
/// Unacknowledged messages, at most: brokers have about twenty in flight, and no stop comes through behind those.
const UNACKNOWLEDGED: usize = 10;
/// Messages between the connection and the brain; the broker sends no more than its in-flight limit.
const ARRIVALS: usize = 1024;

const SECTION: &str = "channels.mqtt";

channel_section! {
    /// MQTT: a broker of messages, as in home automation and robots.
    MqttKeys = "channels.mqtt" {
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
    }
}

impl ChannelKeys for MqttKeys {
    fn is_set(&self) -> bool {
        self.url.is_some()
    }

    fn contradictions(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        if self.is_set() && self.topics.iter().any(|topic| topic == "#") {
            let found = "channels.mqtt.topics holds #, and so would hear its own answers";
            faults.push(Fault::new("channels.mqtt.topics", found, "name the topics it is written to on"));
        }
        faults
    }

    fn transport(&self) -> Result<Arc<dyn Transport>, Fault> {
        Ok(Arc::new(self.broker()?))
    }
}

impl MqttKeys {
    pub(super) fn broker(&self) -> Result<Mqtt, Fault> {
        let schemes = [("mqtt", 1883), ("mqtts", 8883)];
        let url = self.url.as_deref().unwrap_or_default();
        let (scheme, host, port, _) = address::server("channels.mqtt.url", url, &schemes)?;
        let ca_file = address::authorities("channels.mqtt.ca_file", self.ca_file.as_deref())?;
        let security = match scheme {
            "mqtts" => BrokerSecurity::Tls { ca_file },
            _ => BrokerSecurity::Plain,
        };
        let password = exposed("channels.mqtt.password_file", &self.password, &self.password_file)?;
        let login = self.username.clone().map(|user| (user, password.unwrap_or_default()));
        let mut broker = Mqtt::new(host, port, security, login, self.client_id.clone());
        broker.topics.clone_from(&self.topics);
        broker.reply_topic.clone_from(&self.reply_topic);
        Ok(broker)
    }
}

/// A broker.
pub struct Mqtt {
    pub host: String,
    pub port: u16,
    /// How the connection is secured.
    pub security: BrokerSecurity,
    pub login: Option<(String, String)>,
    /// The name of the session at the broker.
    pub client_id: String,
    /// Filters; the first `+` in one stands for the sender.
    pub topics: Vec<String>,
    /// `{recipient}` in it stands for the recipient.
    pub reply_topic: String,
    live: Mutex<Option<AsyncClient>>,
    sending: Mutex<Option<Sending>>,
}

/// How the connection to a broker is secured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BrokerSecurity {
    Plain,
    /// TLS from the first byte, with the authorities of this file or of this machine.
    Tls {
        ca_file: Option<PathBuf>,
    },
}

/// The one message that waits for its acknowledgement: the outbox makes one attempt per channel.
struct Sending {
    packet: Option<u16>,
    tell: oneshot::Sender<Fate>,
}

/// The fate of a message that was given to the connection.
enum Fate {
    Acknowledged,
    /// The connection ended before it was written.
    NeverLeft,
}

impl Mqtt {
    pub fn new(
        host: String,
        port: u16,
        security: BrokerSecurity,
        login: Option<(String, String)>,
        client_id: String,
    ) -> Self {
        let (topics, reply_topic) = (Vec::new(), String::new());
        let (live, sending) = (Mutex::default(), Mutex::default());
        Self { host, port, security, login, client_id, topics, reply_topic, live, sending }
    }

    fn options(&self) -> MqttOptions {
        let mut options = MqttOptions::new(self.client_id.clone(), (self.host.clone(), self.port));
        options.set_keep_alive(KEEP_ALIVE).set_clean_session(false).set_ack_mode(AckMode::Manual);
        options.set_max_packet_size(LARGEST, LARGEST);
        if let Some((user, password)) = &self.login {
            options.set_credentials(user.clone(), password.clone());
        }
        if let BrokerSecurity::Tls { ca_file } = &self.security {
            let (host, port, ca_file) = (self.host.clone(), self.port, ca_file.clone());
            options.set_socket_connector(move |_, _| {
                let (host, ca_file) = (host.clone(), ca_file.clone());
                async move {
                    let stream = TcpStream::connect((host.as_str(), port)).await?;
                    let shaken = tls::shaken(stream, &host, ca_file.as_deref(), SECTION).await;
                    shaken.map_err(std::io::Error::other)
                }
            });
        }
        options
    }

    /// One connection until it breaks; returns the reason.
    async fn live(&self, inlet: &Inlet, pause: &mut BackOff) -> String {
        let (client, mut events) = AsyncClient::builder(self.options()).capacity(64).build();
        let (arrivals, arrived) = mpsc::channel(ARRIVALS);
        let why = tokio::select! {
            why = self.poll(&mut events, &client, &arrivals, inlet, pause) => why,
            why = self.take(arrived, &client, inlet) => why,
        };
        // Dropping the client drops its unsent messages, so none is sent later without the outbox's knowledge.
        *self.live.lock() = None;
        let sending = self.sending.lock().take();
        if let Some(sending) = sending
            && never_left(&sending, &events)
        {
            let _ = sending.tell.send(Fate::NeverLeft);
        }
        why
    }

    async fn poll(
        &self,
        events: &mut EventLoop,
        client: &AsyncClient,
        arrivals: &mpsc::Sender<Publish>,
        inlet: &Inlet,
        pause: &mut BackOff,
    ) -> String {
        loop {
            match events.poll().await {
                Ok(Event::Incoming(Packet::ConnAck(_))) => {
                    pause.reset();
                    if self.topics.is_empty() {
                        self.serve(client, inlet);
                        continue;
                    }
                    let filters = self.topics.iter().map(|topic| SubscribeFilter::new(topic.clone(), QoS::AtLeastOnce));
                    if let Err(error) = client.try_subscribe_many(filters) {
                        return format!("the topics can't be subscribed to: {error}");
                    }
                }
                Ok(Event::Incoming(Packet::SubAck(answered))) => {
                    if answered.return_codes.contains(&SubscribeReasonCode::Failure) {
                        let topics = self.topics.join(", ");
                        return format!(
                            "the broker refuses a subscription to {topics}; correct its access list or channels.mqtt.topics"
                        );
                    }
                    self.serve(client, inlet);
                }
                Ok(Event::Incoming(Packet::Publish(publish))) => {
                    if arrivals.try_send(publish).is_err() {
                        return format!("more than {ARRIVALS} messages came at once; the broker sends them again");
                    }
                }
                Ok(Event::Outgoing(Outgoing::Publish(packet))) => {
                    if let Some(sending) = &mut *self.sending.lock() {
                        sending.packet = Some(packet);
                    }
                }
                Ok(Event::Incoming(Packet::PubAck(acknowledged))) => {
                    let mut sending = self.sending.lock();
                    if sending.as_ref().is_some_and(|sending| sending.packet == Some(acknowledged.pkid))
                        && let Some(sending) = sending.take()
                    {
                        let _ = sending.tell.send(Fate::Acknowledged);
                    }
                }
                Ok(_) => {}
                Err(error) => return self.broken(&error),
            }
        }
    }

    fn serve(&self, client: &AsyncClient, inlet: &Inlet) {
        *self.live.lock() = Some(client.clone());
        inlet.line().up();
    }

    /// Submits incoming messages one after another, and acknowledges those that are on disk. Returns why it couldn't
    /// continue. A message over the rate of listed senders stays with the broker until it is accepted. If so many stay
    /// that a later stop might not come through, the oldest is given up.
    async fn take(&self, mut arrived: mpsc::Receiver<Publish>, client: &AsyncClient, inlet: &Inlet) -> String {
        let (mut left, mut stops) = (Left::default(), inlet.line().stops());
        loop {
            let publish = tokio::select! {
                biased;
                // Messages from before a stop are not processed after it.
                Ok(()) = stops.changed() => {
                    left.give_up();
                    if let Err(why) = acknowledge(&mut left, client, inlet).await {
                        return why;
                    }
                    continue;
                }
                came = arrived.recv() => came.map(|publish| (publish, true)),
                () = left.is_due() => left.first().map(|publish| (publish, false)),
            };
            let Some((publish, is_new)) = publish else { return "the connection ended".into() };
            let taken = match message_of(&publish, &self.topics) {
                Some(message) => inlet.take(message).await,
                None => {
                    inlet.line().count("ignored");
                    Ok(Taken::Repeated)
                }
            };
            let wait = match taken {
                Err(why) => return format!("a message could not be accepted yet: {why}; the broker sends it again"),
                Ok(Taken::Limited { retry_after_s, is_listed: true }) => {
                    if is_new {
                        inlet.line().count("deferred");
                    }
                    Some(Duration::from_secs(retry_after_s))
                }
                Ok(Taken::Limited { is_listed: false, .. }) => {
                    inlet.line().count("limited");
                    None
                }
                Ok(Taken::Durable(_) | Taken::Repeated) => None,
            };
            if is_new {
                left.came(publish, wait)
            } else {
                left.retried(wait)
            }
            if let Err(why) = acknowledge(&mut left, client, inlet).await {
                return why;
            }
        }
    }

    fn broken(&self, error: &ConnectionError) -> String {
        let (host, port) = (&self.host, self.port);
        let fix = match error {
            ConnectionError::ConnectionRefused(_) => {
                "; check channels.mqtt.username and password_file, and the broker's access list"
            }
            // The TLS error contains its own fix.
            ConnectionError::Io(error) if error.kind() == std::io::ErrorKind::Other => "",
            ConnectionError::Io(_) | ConnectionError::NetworkTimeout | ConnectionError::MqttState(_) => {
                "; check that the broker runs and channels.mqtt.url"
            }
            _ => "",
        };
        format!("the broker {host}:{port}: {error}{fix}")
    }
}

/// Acknowledges what may be acknowledged, in order.
async fn acknowledge(left: &mut Left, client: &AsyncClient, inlet: &Inlet) -> Result<(), String> {
    while let Some((publish, was_taken)) = left.next_acknowledged() {
        if !was_taken {
            inlet.line().count("limited");
        }
        client.ack(&publish).await.map_err(|error| format!("a message could not be acknowledged: {error}"))?;
    }
    Ok(())
}

/// True if a message was never written to the connection: its number was not reported, and no unreported event has it.
fn never_left(sending: &Sending, events: &EventLoop) -> bool {
    let is_written = |event: &Event| matches!(event, Event::Outgoing(Outgoing::Publish(_)));
    sending.packet.is_none() && !events.state.events.iter().any(is_written)
}

/// Unacknowledged messages, in order of arrival: brokers want their acknowledgements in that order.
#[derive(Default)]
struct Left {
    waiting: VecDeque<(Publish, Stands)>,
}

#[derive(Clone, Copy)]
enum Stands {
    Taken,
    /// It is given up for good.
    GivenUp,
    /// It isn't accepted before this time.
    Until(Instant),
}

impl Left {
    fn came(&mut self, publish: Publish, wait: Option<Duration>) {
        self.waiting.push_back((publish, stands(wait)));
    }

    /// The oldest waiting message was tried again.
    fn retried(&mut self, wait: Option<Duration>) {
        if let Some((_, state)) = self.waiting.iter_mut().find(|(_, state)| matches!(state, Stands::Until(_))) {
            *state = stands(wait);
        }
    }

    fn give_up(&mut self) {
        let open = self.waiting.iter_mut().filter(|(_, stands)| matches!(stands, Stands::Until(_)));
        open.for_each(|(_, stands)| *stands = Stands::GivenUp);
    }

    fn open(&self) -> Option<(&Publish, Instant)> {
        self.waiting.iter().find_map(|(publish, state)| match state {
            Stands::Until(due) => Some((publish, *due)),
            Stands::Taken | Stands::GivenUp => None,
        })
    }

    /// The oldest waiting message.
    fn first(&self) -> Option<Publish> {
        self.open().map(|(publish, _)| publish.clone())
    }

    /// Ends when the oldest waiting message may be tried again; never, if there is none.
    async fn is_due(&self) {
        match self.open() {
            Some((_, due)) => tokio::time::sleep_until(due).await,
            None => std::future::pending().await,
        }
    }

    /// The next message to acknowledge, and whether it was accepted. If too many wait behind an unaccepted one, that
    /// one is given up.
    fn next_acknowledged(&mut self) -> Option<(Publish, bool)> {
        let (_, stands) = self.waiting.front()?;
        if matches!(stands, Stands::Until(_)) && self.waiting.len() <= UNACKNOWLEDGED {
            return None;
        }
        let was_taken = matches!(stands, Stands::Taken);
        self.waiting.pop_front().map(|(publish, _)| (publish, was_taken))
    }
}

fn stands(wait: Option<Duration>) -> Stands {
    wait.map_or(Stands::Taken, |wait| Stands::Until(Instant::now() + wait))
}

/// The content of a publication: JSON with `text`, `sender` and `id`, or plain text. `None` for non-text, and for
/// retained messages, which would be processed again at each connection.
fn message_of(publish: &Publish, filters: &[String]) -> Option<Arrived> {
    if publish.retain || publish.topic.len() > TOPIC.limit {
        return None;
    }
    let (text, topic) = (std::str::from_utf8(&publish.payload).ok()?, std::str::from_utf8(&publish.topic).ok()?);
    let fields = serde_json::from_str::<Json>(text).ok().filter(|json| json["text"].is_string()).unwrap_or(Json::Null);
    let field = |name: &str| fields[name].as_str().filter(|value| !value.is_empty());
    let of_topic = filters.iter().find_map(|filter| sender_in(filter, topic));
    let sender = of_topic.or(field("sender")).unwrap_or(topic).to_owned();
    let body = field("text").unwrap_or(text).to_owned();
    if body.trim().is_empty() {
        return None;
    }
    // An id belongs to its sender: nobody can use up another sender's id.
    let provider_id = field("id").map(|id| format!("{sender}/{id}"));
    // An id beyond its bound is refused: if cut, two ids could become equal.
    Arrived::new(&sender, &body, provider_id.as_deref()).ok()
}

/// The part of a topic at the first `+` of its filter.
fn sender_in<'a>(filter: &str, topic: &'a str) -> Option<&'a str> {
    let (mut levels, mut found) = (topic.split('/'), None);
    for wanted in filter.split('/') {
        match (wanted, levels.next()) {
            ("#", _) => return found,
            ("+", Some(level)) => found = found.or(Some(level)),
            (wanted, Some(level)) if wanted == level => {}
            _ => return None,
        }
    }
    levels.next().is_none().then_some(found).flatten()
}

impl Transport for Mqtt {
    fn reached_by(&self) -> String {
        let scheme = if self.security == BrokerSecurity::Plain { "mqtt" } else { "mqtts" };
        format!("{scheme}://{}:{}", self.host, self.port)
    }

    fn send<'a>(&'a self, message: &'a SendMessage) -> BoxFuture<'a, Attempted> {
        async move {
            let SendMessage { entry, recipient, text, in_reply_to, .. } = message;
            if recipient.is_empty() || recipient.contains(['+', '#', '\0']) {
                return Attempted::Refused { why: format!("{recipient:?} can't be a part of a topic") };
            }
            let Some(client) = self.live.lock().clone() else {
                return Attempted::NotNow {
                    why: format!("not connected to the broker {}", self.host),
                    retry_after_s: None,
                };
            };
            let payload =
                json!({"id": entry, "recipient": recipient, "text": text, "in_reply_to": in_reply_to}).to_string();
            if payload.len() + 1024 > LARGEST {
                return Attempted::Refused { why: format!("it is larger than {LARGEST} bytes") };
            }
            let topic = self.reply_topic.replace("{recipient}", recipient);
            let (tell, told) = oneshot::channel();
            *self.sending.lock() = Some(Sending { packet: None, tell });
            if let Err(error) = client.try_publish(topic, payload, PublishOptions::at_least_once()) {
                *self.sending.lock() = None;
                return Attempted::NotNow {
                    why: format!("the connection accepts nothing: {error}"),
                    retry_after_s: None,
                };
            }
            match tokio::time::timeout(PATIENCE, told).await {
                Ok(Ok(Fate::Acknowledged)) => Attempted::Delivered { provider_id: None },
                Ok(Ok(Fate::NeverLeft)) => Attempted::NotNow {
                    why: format!("the connection to the broker {} ended before it was sent", self.host),
                    retry_after_s: None,
                },
                Ok(Err(_)) => {
                    Attempted::Unknown { why: "the connection broke before the broker acknowledged it".into() }
                }
                Err(_) => Attempted::Unknown {
                    why: format!("the broker has not acknowledged it within {} s", PATIENCE.as_secs()),
                },
            }
        }
        .boxed()
    }

    fn receive<'a>(&'a self, inlet: &'a Inlet) -> Option<BoxFuture<'a, ()>> {
        Some(
            async move {
                let mut pause = BackOff::new();
                loop {
                    let why = self.live(inlet, &mut pause).await;
                    inlet.line().down(why);
                    pause.wait().await;
                }
            }
            .boxed(),
        )
    }
}

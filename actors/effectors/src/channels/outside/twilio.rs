//! Twilio: text messages and calls. In by signed webhooks, out by its REST interface.
//!
//! Twilio signs no time, so a request may be replayed at any time. The message's own id, which the gateway keeps for
//! good, makes a replay harmless. The interface has no id by which Twilio would drop a repeated order.

use std::path::PathBuf;
use std::sync::Arc;

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use maxim_bus::signals::outbox::{Attempted, Medium, SendMessage};
use maxim_config::{Fault, Secret, Shape};
use reqwest::{Client, Url};

use super::keys::{ChannelKeys, channel_section, exposed};
use super::signature::is_hmac_sha1;
use super::twilio_form::{Form, is_number};
use super::{Arrived, HookAnswer, HookRefused, HookRequest, Hooked, Transport, address, answers};

/// Longest text message that Twilio accepts, in characters.
const LONGEST: usize = 1600;
/// Maximum length of a text read aloud, in characters of TwiML.
const LONGEST_CALL: usize = 3500;

channel_section! {
    /// Twilio: text messages and calls. Senders and recipients are numbers such as +15550100.
    TwilioKeys = "channels.twilio" {
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
    }
}

impl ChannelKeys for TwilioKeys {
    fn is_set(&self) -> bool {
        self.account_sid.is_some()
    }

    fn contradictions(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        if self.is_set() && self.from.is_none() {
            let found = "channels.twilio has an account_sid, but no from";
            faults.push(Fault::new("channels.twilio.from", found, "name the number that it writes from"));
        }
        if self.is_set() && self.auth_token.is_none() && self.auth_token_file.is_none() {
            let found = "channels.twilio has an account_sid, but no auth_token";
            let fix = "set MAXIM__CHANNELS__TWILIO__AUTH_TOKEN or channels.twilio.auth_token_file";
            faults.push(Fault::new("channels.twilio.auth_token", found, fix));
        }
        faults
    }

    fn transport(&self) -> Result<Arc<dyn Transport>, Fault> {
        let token = exposed("channels.twilio.auth_token_file", &self.auth_token, &self.auth_token_file)?;
        Ok(Arc::new(Twilio {
            http: address::client("channels.twilio.base_url", &self.base_url)?,
            base_url: self.base_url.clone(),
            account: self.account_sid.clone().unwrap_or_default(),
            token: token.unwrap_or_default(),
            from: self.from.clone().unwrap_or_default(),
            public_url: self.public_url.clone(),
        }))
    }
}

/// An account of Twilio.
pub struct Twilio {
    pub http: Client,
    /// `https://api.twilio.com`.
    pub base_url: String,
    pub account: String,
    /// Also verifies Twilio's requests.
    pub token: String,
    /// The number that it writes and calls from.
    pub from: String,
    /// The signed address of this daemon at Twilio, without the path.
    pub public_url: Option<String>,
}

impl Twilio {
    /// True if a signature is from this account, for any address that the request may have used. Twilio signs the
    /// address with or without its usual port.
    fn is_signed(&self, target: &str, joined: &str, signature: &[u8]) -> bool {
        let Some(public) = &self.public_url else { return false };
        let address = format!("{}{target}", public.trim_end_matches('/'));
        spellings(&address)
            .iter()
            .any(|url| is_hmac_sha1(self.token.as_bytes(), &[url.as_bytes(), joined.as_bytes()], signature))
    }

    async fn order(&self, what: &str, form: &[(&str, &str)]) -> Attempted {
        let url = format!("{}/2010-04-01/Accounts/{}/{what}.json", self.base_url.trim_end_matches('/'), self.account);
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let request = self.http.post(url).basic_auth(&self.account, Some(&self.token));
        let request = request.header("content-type", "application/x-www-form-urlencoded").body(body);
        match answers::post(request).await {
            Ok(answer) => Attempted::Delivered { provider_id: answer["sid"].as_str().map(str::to_owned) },
            Err(outcome) => outcome,
        }
    }
}

/// The signed text of a form: names and values, sorted by name.
fn joined(body: &[u8]) -> Result<String, String> {
    let mut form = BTreeMap::new();
    for (name, value) in url::form_urlencoded::parse(body) {
        if let Some(name) = form.insert(name.into_owned(), value.into_owned()).map(|_| "the form has a field twice") {
            return Err(name.to_owned());
        }
    }
    Ok(form.iter().flat_map(|(name, value)| [name.as_str(), value.as_str()]).collect())
}

/// True for a number, also of WhatsApp: other names of senders can be anybody's.
fn is_nameable(sender: &str) -> bool {
    let rest = sender.strip_prefix("whatsapp:").unwrap_or(sender);
    is_number(rest) || sender.starts_with("client:") || sender.starts_with("sip:")
}

/// An address unchanged, with its usual port, and without a port.
fn spellings(address: &str) -> Vec<String> {
    let mut all = vec![address.to_owned()];
    let Ok(url) = Url::parse(address) else { return all };
    let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else { return all };
    let rest = address.splitn(4, '/').nth(3).map_or_else(String::new, |rest| format!("/{rest}"));
    let login = match (url.username(), url.password()) {
        ("", _) => String::new(),
        (name, Some(password)) => format!("{name}:{password}@"),
        (name, None) => format!("{name}@"),
    };
    all.push(format!("{}://{login}{host}:{port}{rest}", url.scheme()));
    all.push(format!("{}://{login}{host}{rest}", url.scheme()));
    all
}

/// Escapes text for TwiML.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

const XML: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>";

fn twiml(inside: &str) -> HookAnswer {
    HookAnswer { content_type: "text/xml; charset=utf-8", body: format!("{XML}<Response>{inside}</Response>") }
}

impl Transport for Twilio {
    fn reached_by(&self) -> String {
        match &self.public_url {
            Some(public) => format!("{} and {}/hooks/twilio", self.base_url, public.trim_end_matches('/')),
            None => format!("{}, out only: set channels.twilio.public_url", self.base_url),
        }
    }

    fn send<'a>(&'a self, message: &'a SendMessage) -> BoxFuture<'a, Attempted> {
        async move {
            let (to, from, text) = (message.recipient.as_str(), self.from.as_str(), message.text.as_str());
            let (longest, what) = match message.medium {
                Medium::Text => (LONGEST, "Messages"),
                Medium::Call => (LONGEST_CALL, "Calls"),
            };
            let spoken = escaped(text);
            if text.chars().count().max(if what == "Calls" { spoken.chars().count() } else { 0 }) > longest {
                return Attempted::Refused {
                    why: format!("it is longer than {longest} characters, which Twilio doesn't accept"),
                };
            }
            match message.medium {
                Medium::Text => self.order(what, &[("To", to), ("From", from), ("Body", text)]).await,
                Medium::Call => {
                    let said = format!("<Response><Say>{spoken}</Say></Response>");
                    self.order(what, &[("To", to), ("From", from), ("Twiml", &said)]).await
                }
            }
        }
        .boxed()
    }

    fn hook(&self, request: &HookRequest<'_>, _now: Timestamp) -> Result<Hooked, HookRefused> {
        if self.public_url.is_none() {
            return Err(HookRefused::NotHere);
        }
        let malformed = |why: &str| HookRefused::Malformed(why.to_owned());
        let signature = request.header("x-twilio-signature").and_then(|value| STANDARD.decode(value).ok());
        let signature = signature
            .ok_or_else(|| HookRefused::Forged("the header X-Twilio-Signature is missing or isn't base64".into()))?;
        let joined = joined(request.body).map_err(HookRefused::Malformed)?;
        if !self.is_signed(request.target, &joined, &signature) {
            let why = "the signature doesn't fit; compare channels.twilio.auth_token_file with the account's token and \
                       channels.twilio.public_url with the webhook's address at Twilio";
            return Err(HookRefused::Forged(why.into()));
        }
        // Only now: a caller without a signature learns nothing of what is read. The address is signed without an end
        // mark, so fields may have been moved into it.
        if ["AccountSid", "From", "MessageSid", "CallSid"].iter().any(|name| request.target.contains(name)) {
            return Err(malformed("the address holds the name of a field; set another webhook address at Twilio"));
        }
        let form = Form::read(request.body).map_err(HookRefused::Malformed)?;
        let field = |name: &str| form.field(name);
        if field("AccountSid").is_some_and(|account| account != self.account) {
            return Err(malformed("the form is of another account than channels.twilio.account_sid"));
        }
        let arrived = |sender: &str, body: &str, id: &str| {
            if form.has_unknown {
                tracing::warn!("a webhook of Twilio has a field that isn't known here, so its sender isn't trusted");
            }
            if form.is_ambiguous {
                tracing::warn!(
                    "the signature of a webhook of Twilio fits another sender or other words as well, so its sender isn't \
                     trusted; write it again without words such as \"From\" or \"Body\" in capitals"
                );
            }
            let arrived = Arrived::new(sender, body, Some(id)).map_err(|why| malformed(&why.to_string()))?;
            Ok::<_, HookRefused>(
                arrived.signed().vouched(!form.has_unknown && !form.is_ambiguous && is_nameable(sender)),
            )
        };
        let from = field("From").ok_or_else(|| malformed("the form has no From"))?;
        match (field("MessageSid"), field("CallSid")) {
            (Some(id), _) => {
                let said = field("Body").map(|body| arrived(from, body, id)).transpose()?;
                Ok(Hooked { messages: said.into_iter().collect(), answer: twiml("") })
            }
            (None, Some(id)) => {
                let Some(said) = field("SpeechResult") else {
                    let asking = "<Gather input=\"speech\" speechTimeout=\"auto\"><Say>I am listening.</Say></Gather>";
                    return Ok(Hooked { messages: Vec::new(), answer: twiml(asking) });
                };
                // One call may contain several utterances. The signature covers the whole text, however it is cut into
                // fields.
                let id = format!("{id}/{}", STANDARD.encode(&signature));
                let answer = twiml("<Say>I have it, and answer by text message.</Say><Hangup/>");
                Ok(Hooked { messages: vec![arrived(from, said, &id)?], answer })
            }
            (None, None) => Err(malformed("the form has neither a MessageSid nor a CallSid")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(public_url: &str, token: &str) -> Twilio {
        Twilio {
            http: crate::http_client::builder(&crate::http_client::Roots::Nobody).build().expect("a client"),
            base_url: "http://127.0.0.1:1".into(),
            account: "AC1".into(),
            token: token.into(),
            from: "+15550199".into(),
            public_url: Some(public_url.into()),
        }
    }

    fn form(pairs: &[(&str, &str)]) -> String {
        let sorted: BTreeMap<_, _> = pairs.iter().copied().collect();
        sorted.into_iter().flat_map(|(name, value)| [name, value]).collect()
    }

    /// The example of Twilio's own documentation and libraries.
    const PUBLISHED: &str = "L/OH5YylLD5NRKLltdqwSvS0BnU=";

    #[test]
    fn the_published_signature_fits_and_any_change_does_not() {
        let twilio = account("https://example.com", "12345");
        let fields = [
            ("CallSid", "CA1234567890ABCDE"),
            ("Caller", "+14158675310"),
            ("Digits", "1234"),
            ("From", "+14158675310"),
            ("To", "+18005551212"),
        ];
        let signature = STANDARD.decode(PUBLISHED).expect("base64");
        let target = "/myapp.php?foo=1&bar=2";
        assert!(twilio.is_signed(target, &form(&fields), &signature));
        assert!(account("https://example.com:443", "12345").is_signed(target, &form(&fields), &signature));
        for at in 0..fields.len() {
            let mut changed = fields;
            changed[at].1 = "x";
            assert!(!twilio.is_signed(target, &form(&changed), &signature), "{}", fields[at].0);
        }
        assert!(!twilio.is_signed("/myapp.php?foo=1", &form(&fields), &signature));
        assert!(!account("http://example.com", "12345").is_signed(target, &form(&fields), &signature));
        assert!(!account("https://example.com", "12346").is_signed(target, &form(&fields), &signature));
        for cut in 0..signature.len() {
            assert!(!twilio.is_signed(target, &form(&fields), &signature[..cut]));
        }
    }

    fn hooked(pairs: &[(&str, &str)]) -> Result<Hooked, HookRefused> {
        let twilio = account("https://example.com", "12345");
        let text = format!("https://example.com/hooks/twilio{}", form(pairs));
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, b"12345");
        let signature = STANDARD.encode(ring::hmac::sign(&key, text.as_bytes()));
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
        let headers = [("x-twilio-signature".to_owned(), signature)];
        let request = HookRequest { headers: &headers, target: "/hooks/twilio", body: body.as_bytes() };
        twilio.hook(&request, Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn one_captured_call_has_one_id_however_it_is_cut_and_a_strangers_text_is_no_owners() {
        let call = "CA0123456789abcdef0123456789abcdef";
        let id = |pairs: &[(&str, &str)]| hooked(pairs).expect("signed").messages.remove(0).provider_id;
        let said = [("CallSid", call), ("From", "+15550100"), ("SpeechResult", "open the door"), ("StirVerstat", "A")];
        let other = [("CallSid", call), ("From", "+15550100"), ("SpeechResult", "open the doorStirVerstatA")];
        assert_eq!(id(&said), id(&other));
        let sid = "SM0123456789abcdef0123456789abcdef";
        let longer = format!("{sid}NumMedia0");
        assert!(matches!(
            hooked(&[("MessageSid", &longer), ("From", "+15550100"), ("Body", "x")]),
            Err(HookRefused::Malformed(_))
        ));
        let real = format!("From+19995550MessageSid{sid}");
        let cut = [("Body", "open"), ("From", "+15550100"), ("MessageSid", sid), ("Zzz", real.as_str())];
        assert!(matches!(hooked(&cut), Err(HookRefused::Malformed(_))));
        let new = [("Body", "open"), ("From", "+15550100"), ("MessageSid", sid), ("NewOfTwilios", "x")];
        assert!(!hooked(&new).expect("signed").messages[0].is_vouched);
        assert!(hooked(&new[..3]).expect("signed").messages[0].is_vouched);
        assert!(matches!(hooked(&[("AccountSid", "AC2"), ("From", "+15550100")]), Err(HookRefused::Malformed(_))));
        let label = [("Body", "open"), ("From", "+15550100"), ("Label", "Frommessenger:1"), ("MessageSid", sid)];
        assert!(hooked(&label).map_or(true, |hooked| !hooked.messages[0].is_vouched));
    }

    #[test]
    fn fields_moved_into_the_address_are_refused() {
        let twilio = account("https://example.com", "12345");
        let target = "/hooks/twilio?k=1AccountSidAC1BodyxFrommessenger:1ProfileName";
        let sid = "SM0123456789abcdef0123456789abcdef";
        let pairs = [("Body", "open"), ("From", "+15550100"), ("MessageSid", sid)];
        let text = format!("https://example.com{target}{}", form(&pairs));
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, b"12345");
        let signature = STANDARD.encode(ring::hmac::sign(&key, text.as_bytes()));
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
        let headers = [("x-twilio-signature".to_owned(), signature)];
        let request = HookRequest { headers: &headers, target, body: body.as_bytes() };
        assert!(matches!(twilio.hook(&request, Timestamp::UNIX_EPOCH), Err(HookRefused::Malformed(_))));
    }

    #[test]
    fn words_can_not_leave_their_place_in_twiml() {
        assert_eq!(escaped("<Dial>&\"\u{1}"), "&lt;Dial&gt;&amp;&quot; ");
    }
}

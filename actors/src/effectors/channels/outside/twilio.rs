//! Twilio: text messages and calls. In by signed webhooks, out by its REST interface.
//!
//! Twilio signs no time, so a request may be played again for ever; the message's own id makes that do nothing. Its
//! interface has no id by which a repeated order would be dropped.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use maxim_bus::signals::outbox::{Attempted, Medium, SendMessage};
use reqwest::{Client, Url};

use super::signature::is_hmac_sha1;
use super::{Arrived, HookAnswer, HookRefused, HookRequest, Hooked, Transport, answers};

/// Longest text message that Twilio takes, in characters.
const LONGEST: usize = 1600;
/// Longest text that is read aloud, in characters of TwiML.
const LONGEST_CALL: usize = 3500;

/// An account of Twilio.
pub struct Twilio {
    pub http: Client,
    /// `https://api.twilio.com`.
    pub base_url: String,
    pub account: String,
    /// Also signs what Twilio posts.
    pub token: String,
    /// The number that it writes and calls from.
    pub from: String,
    /// Where Twilio reaches this daemon, as it signs it: without the path.
    pub public_url: Option<String>,
}

impl Twilio {
    /// Whether a signature is of this account for any address by which the request may have been made: Twilio signs the
    /// address with or without its usual port.
    fn is_signed(&self, target: &str, form: &BTreeMap<String, String>, signature: &[u8]) -> bool {
        let Some(public) = &self.public_url else { return false };
        let address = format!("{}{target}", public.trim_end_matches('/'));
        let joined: String = form.iter().flat_map(|(name, value)| [name.as_str(), value.as_str()]).collect();
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

/// An address as it stands, with its usual port, and without a port.
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

/// What may stand in TwiML.
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
                    why: format!("it is longer than {longest} characters, which Twilio doesn't take"),
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
        let text = std::str::from_utf8(request.body).map_err(|_| malformed("the body is no form: it isn't UTF-8"))?;
        let mut form = BTreeMap::new();
        for (name, value) in url::form_urlencoded::parse(text.as_bytes()) {
            if form.insert(name.into_owned(), value.into_owned()).is_some() {
                return Err(malformed("the form has a field twice"));
            }
        }
        let signature = request.header("x-twilio-signature").and_then(|value| STANDARD.decode(value).ok());
        let signature = signature
            .ok_or_else(|| HookRefused::Forged("the header X-Twilio-Signature is missing or isn't base64".into()))?;
        if !self.is_signed(request.target, &form, &signature) {
            let why = "the signature doesn't fit; compare channels.twilio.auth_token_file with the account's token and \
                       channels.twilio.public_url with the webhook's address at Twilio";
            return Err(HookRefused::Forged(why.into()));
        }
        let field = |name: &str| form.get(name).map(String::as_str).filter(|value| !value.is_empty());
        let arrived = |sender: &str, body: &str, id: String| Arrived {
            sender: sender.to_owned(),
            body: body.to_owned(),
            provider_id: Some(id),
            is_vouched: true,
            is_signed: true,
        };
        let from = field("From").ok_or_else(|| malformed("the form has no From"))?;
        match (field("MessageSid"), field("CallSid")) {
            (Some(id), _) => {
                let said = field("Body").map(|body| arrived(from, body, id.to_owned()));
                Ok(Hooked { messages: said.into_iter().collect(), answer: twiml("") })
            }
            (None, Some(id)) => {
                let Some(said) = field("SpeechResult") else {
                    let asking = "<Gather input=\"speech\" speechTimeout=\"auto\"><Say>I am listening.</Say></Gather>";
                    return Ok(Hooked { messages: Vec::new(), answer: twiml(asking) });
                };
                // One call may hold several utterances; the same one twice in a call is said again, not played again.
                let id = format!("{id}/{said}");
                let answer = twiml("<Say>I have it, and answer by text message.</Say><Hangup/>");
                Ok(Hooked { messages: vec![arrived(from, said, id)], answer })
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
            http: crate::effectors::http_client::builder(&crate::effectors::http_client::Roots::Nobody)
                .build()
                .expect("a client"),
            base_url: "http://127.0.0.1:1".into(),
            account: "AC1".into(),
            token: token.into(),
            from: "+15550199".into(),
            public_url: Some(public_url.into()),
        }
    }

    fn form(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
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
            let mut changed = form(&fields);
            changed.insert(fields[at].0.into(), "x".into());
            assert!(!twilio.is_signed(target, &changed, &signature), "{}", fields[at].0);
        }
        assert!(!twilio.is_signed("/myapp.php?foo=1", &form(&fields), &signature));
        assert!(!account("http://example.com", "12345").is_signed(target, &form(&fields), &signature));
        assert!(!account("https://example.com", "12346").is_signed(target, &form(&fields), &signature));
        for cut in 0..signature.len() {
            assert!(!twilio.is_signed(target, &form(&fields), &signature[..cut]));
        }
    }

    #[test]
    fn words_can_not_leave_their_place_in_twiml() {
        assert_eq!(escaped("<Dial>&\"\u{1}"), "&lt;Dial&gt;&amp;&quot; ");
    }
}

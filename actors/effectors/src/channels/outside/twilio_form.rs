//! Twilio's posts, read strictly.
//!
//! Twilio signs names and values in sorted order, with nothing between them. So with one signed text, an attacker can
//! cut it into other names and values, and the signature still fits. Therefore each field must have its form, none may
//! occur twice, and names of a sender or a message may only stand in their own field. If the signed text can be read in
//! a second way, with another sender or other words, nobody is believed to be its author.

use std::collections::BTreeMap;

/// A form that Twilio can have meant.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Form {
    fields: BTreeMap<String, String>,
    /// A field isn't known here, so the text may have been cut elsewhere. Then nobody is believed to be the author.
    pub has_unknown: bool,
    /// The signed text can also be cut into another sender or other words. Then nobody is believed to be the author.
    pub is_ambiguous: bool,
}

/// The form of a field's value.
#[derive(Clone, Copy)]
enum Kind {
    /// Two letters, and 32 hexadecimal digits.
    Sid(&'static [&'static str]),
    Party,
    /// A number of at most this many digits.
    Count(usize),
    /// Letters, digits and a few other characters: an enumeration of Twilio's.
    Word,
    /// Letters and characters of place names.
    Place,
    Url,
    /// What a person wrote or said.
    Words,
}

/// Longest value except words, in bytes.
const VALUE: usize = 512;

/// The documented fields of its messages and calls. A number may follow the name (`MediaUrl0`).
const FIELDS: &[(&str, Kind)] = &[
    ("MessageSid", Kind::Sid(&["SM", "MM"])),
    ("SmsSid", Kind::Sid(&["SM", "MM"])),
    ("SmsMessageSid", Kind::Sid(&["SM", "MM"])),
    ("OriginalRepliedMessageSid", Kind::Sid(&["SM", "MM"])),
    ("CallSid", Kind::Sid(&["CA"])),
    ("ParentCallSid", Kind::Sid(&["CA"])),
    ("MessagingServiceSid", Kind::Sid(&["MG"])),
    ("ApplicationSid", Kind::Sid(&["AP"])),
    ("StirPassportToken", Kind::Words),
    ("AccountSid", Kind::Word),
    ("From", Kind::Party),
    ("To", Kind::Party),
    ("Caller", Kind::Party),
    ("Called", Kind::Party),
    ("ForwardedFrom", Kind::Party),
    ("CalledVia", Kind::Party),
    ("OriginalRepliedMessageSender", Kind::Party),
    ("WaId", Kind::Count(15)),
    ("NumMedia", Kind::Count(2)),
    ("NumSegments", Kind::Count(3)),
    ("Duration", Kind::Count(6)),
    ("CallDuration", Kind::Count(6)),
    ("FromZip", Kind::Place),
    ("FromCity", Kind::Place),
    ("FromState", Kind::Place),
    ("FromCountry", Kind::Place),
    ("ToZip", Kind::Place),
    ("ToCity", Kind::Place),
    ("ToState", Kind::Place),
    ("ToCountry", Kind::Place),
    ("CallerZip", Kind::Place),
    ("CallerCity", Kind::Place),
    ("CallerState", Kind::Place),
    ("CallerCountry", Kind::Place),
    ("CalledZip", Kind::Place),
    ("CalledCity", Kind::Place),
    ("CalledState", Kind::Place),
    ("CalledCountry", Kind::Place),
    ("ApiVersion", Kind::Word),
    ("SmsStatus", Kind::Word),
    ("CallStatus", Kind::Word),
    ("MediaContentType", Kind::Word),
    ("MediaUrl", Kind::Url),
    ("Body", Kind::Words),
    ("SpeechResult", Kind::Words),
    ("ProfileName", Kind::Words),
    ("ChannelMetadata", Kind::Words),
    ("AddOns", Kind::Words),
    ("ButtonText", Kind::Words),
    ("ButtonPayload", Kind::Words),
    ("Address", Kind::Words),
    ("Label", Kind::Words),
];

/// More fields, whose values are Twilio's words.
const ENUMERATIONS: &[&str] = &[
    "MessageStatus",
    "Direction",
    "Confidence",
    "Language",
    "ChannelPrefix",
    "MessageType",
    "StirVerstat",
    "StirStatus",
    "ReferralNumMedia",
    "Latitude",
    "Longitude",
    "Digits",
];

/// Names that give the sender and the message.
const NAMING: [&str; 3] = ["From", "MessageSid", "CallSid"];

impl Form {
    /// From the body of a request.
    ///
    /// # Errors
    /// A field occurs twice, or doesn't have Twilio's form.
    pub fn read(body: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(body).map_err(|_| "the body isn't a form: it isn't UTF-8".to_owned())?;
        let (mut fields, mut has_unknown) = (BTreeMap::new(), false);
        for (name, value) in url::form_urlencoded::parse(text.as_bytes()) {
            let (name, value) = (name.into_owned(), value.into_owned());
            let shown = || name.chars().filter(|c| !c.is_control()).take(40).collect::<String>();
            match kind_of(&name) {
                Some(kind) if !value.is_empty() && !kind.fits(&value) => {
                    return Err(format!("the field {} doesn't have the form that Twilio uses", shown()));
                }
                Some(_) => {}
                None if is_name(&name) => has_unknown = true,
                None => return Err(format!("{:?} isn't the name of a Twilio field", shown())),
            }
            if name_within(&name, &value) {
                return Err(format!("the field {} contains the name of a sender or message field", shown()));
            }
            if fields.insert(name.clone(), value).is_some() {
                return Err(format!("the form has the field {} twice", shown()));
            }
        }
        let is_ambiguous = is_ambiguous(&fields);
        let form = Self { fields, has_unknown, is_ambiguous };
        let message = form.field("MessageSid");
        for other in ["SmsSid", "SmsMessageSid"] {
            if form.field(other).is_some_and(|sid| Some(sid) != message) {
                return Err(format!("{other} isn't the MessageSid"));
            }
        }
        if message.is_some() && form.field("CallSid").is_some() {
            return Err("the form is both a message and a call".to_owned());
        }
        Ok(form)
    }

    /// The value of a non-empty field.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }
}

fn kind_of(name: &str) -> Option<Kind> {
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let known =
        |wanted: &str| wanted == name || (wanted == bare && bare.starts_with("Media") && name.len() < bare.len() + 3);
    let found = FIELDS.iter().find(|(field, _)| known(field)).map(|(_, kind)| *kind);
    found.or_else(|| ENUMERATIONS.contains(&name).then_some(Kind::Word))
}

/// Whether it has the form of Twilio's field names.
fn is_name(name: &str) -> bool {
    name.len() <= 64
        && name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

impl Kind {
    fn fits(self, value: &str) -> bool {
        let all = |fits: fn(char) -> bool| value.len() <= VALUE && value.chars().all(fits);
        match self {
            Self::Sid(kinds) => is_sid(value, kinds),
            Self::Party => is_party(value),
            Self::Count(digits) => value.len() <= digits && value.bytes().all(|byte| byte.is_ascii_digit()),
            Self::Word => {
                all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ';' | '=' | ' ' | '#' | '*'))
            }
            Self::Place => all(|c| c.is_alphanumeric() || matches!(c, ' ' | '.' | '-' | '\'' | ',' | '/')),
            Self::Url => value.starts_with("https://") && all(|c| c.is_ascii_graphic()),
            Self::Words => true,
        }
    }
}

fn is_sid(text: &str, kinds: &[&str]) -> bool {
    let is_hex = |rest: &str| rest.len() == 32 && rest.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    kinds.iter().any(|kind| text.strip_prefix(kind).is_some_and(is_hex))
}

/// A number (E.164) or short code, also of WhatsApp; an alphanumeric sender; a client or SIP address.
fn is_party(text: &str) -> bool {
    let text = ["whatsapp:", "messenger:", "rcs:"].iter().find_map(|kind| text.strip_prefix(kind)).unwrap_or(text);
    let is_named = |rest: &str| {
        (1..=120).contains(&rest.len())
            && rest.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '@' | '+' | ':'))
    };
    is_number(text)
        || is_name_of_sender(text)
        || ["client:", "sip:"].iter().any(|kind| text.strip_prefix(kind).is_some_and(is_named))
}

/// E.164 with its plus, or a short code.
pub(super) fn is_number(text: &str) -> bool {
    let digits = |text: &str, from: usize, to: usize| {
        (from..=to).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    match text.strip_prefix('+') {
        Some(rest) => digits(rest, 2, 15) && !rest.starts_with('0'),
        None => digits(text, 3, 8),
    }
}

/// True if a field hides a name of a sender or a message: in its value, in its own name, or where the two meet.
fn name_within(name: &str, value: &str) -> bool {
    let own = if NAMING.iter().any(|naming| name.ends_with(naming)) { name.len() } else { 0 };
    let joined = format!("{name}{value}");
    NAMING.iter().any(|naming| {
        joined.match_indices(naming).any(|(at, _)| {
            let end = at + naming.len();
            end != own && follows(naming, &joined[end..])
        })
    })
}

fn follows(naming: &str, rest: &str) -> bool {
    if naming != "From" {
        return ["SM", "MM", "CA"].iter().any(|kind| rest.starts_with(kind));
    }
    let rest = rest.strip_prefix("whatsapp:").unwrap_or(rest);
    let digits = rest.strip_prefix('+').unwrap_or(rest).bytes().take_while(u8::is_ascii_digit).count();
    digits >= 3 || ["client:", "sip:"].iter().any(|kind| rest.starts_with(kind))
}

/// Twilio gives all four of a number's places, or none.
const PLACES: [&str; 4] = ["City", "Country", "State", "Zip"];
/// Maximum length of a sender's alphabetic name: 11 by GSM, with some reserve.
const NAME: usize = 24;

/// True if the signed text can also have been another form, with another sender or other words.
///
/// Each form has a `From`, so the real one is in the text wherever it is cut. Only a text with exactly one place that
/// can begin a sender leaves no choice. The same holds for the words.
fn is_ambiguous(fields: &BTreeMap<String, String>) -> bool {
    let text: String = fields.iter().flat_map(|(name, value)| [name.as_str(), value.as_str()]).collect();
    let has = |name: &str| fields.contains_key(name);
    let filled = |name: &str| fields.get(name).is_some_and(|value| !value.is_empty());
    let is_call = has("CallSid");
    let own = fields.keys().filter(|name| name.contains("From")).count();
    if text.match_indices("From").filter(|(at, found)| can_begin_sender(&text[at + found.len()..])).count() > own {
        return true;
    }
    for name in ["Body", "SpeechResult"] {
        if text.matches(name).count() > usize::from(has(name)) {
            return true;
        }
    }
    // A name such as "Zip12345" or "12345Label" would make a sender and a field of one name.
    let places = |of: &str| PLACES.iter().filter(|place| has(&format!("{of}{place}"))).count();
    let (from, to) = (places("From"), places("To"));
    if !matches!(from, 0 | 4) || from > to || from == 4 && last_place_can_be_a_name(fields) {
        return true;
    }
    // Fields between the words and the sender, and after the sender, that not every form has.
    let is_place = has("Latitude") && has("Longitude");
    let is_button = !has("ButtonText") || fields.get("ButtonText") == fields.get("Body");
    if (has("Label") || has("Address")) && !(is_place && filled("Latitude") && filled("Longitude"))
        || has("ButtonPayload") && !has("ButtonText")
        || !is_button
        || fields.get("ChannelMetadata").is_some_and(|value| !value.starts_with('{'))
    {
        return true;
    }
    let of_calls = |name: &str| {
        [
            "Call",
            "Forwarded",
            "Digits",
            "Direction",
            "Duration",
            "Confidence",
            "Language",
            "Stir",
            "ParentCall",
            "Speech",
        ]
        .iter()
        .any(|kind| name.starts_with(kind))
    };
    !is_call && fields.keys().any(|name| of_calls(name))
}

/// A stranger may be called "Zip12345", with words that end like the sender's first three places. That makes a complete
/// form of somebody else, and no field of it looks wrong. The places of the callee are in it in any case. So a name
/// must be impossible there: too long, with other characters, or sent to a country without alphanumeric senders.
fn last_place_can_be_a_name(fields: &BTreeMap<String, String>) -> bool {
    let zip = fields.get("FromZip").map_or("", String::as_str);
    // Twilio: "Alphanumeric Sender ID", which isn't supported in the countries of +1.
    let is_without_names = fields.get("To").is_some_and(|to| to.starts_with("+1") && is_number(to));
    !zip.is_empty() && is_name_of_sender(&format!("Zip{zip}")) && !is_without_names
}

/// A sender's name in letters and digits, as in GSM.
fn is_name_of_sender(text: &str) -> bool {
    (1..=11).contains(&text.len()) && text.chars().all(|c| c.is_ascii_alphanumeric() || c == ' ')
}

/// True if a sender can begin here. Text that begins with a blank or a mark can only be a name, and a field must follow
/// it.
fn can_begin_sender(rest: &str) -> bool {
    match rest.chars().next() {
        None => true,
        Some(c) if c.is_whitespace() || matches!(c, ',' | '.' | ';' | '!' | '?' | ')' | '"' | '\'' | '’' | '…') => {
            let near = &rest[..rest.floor_char_boundary(NAME + 16)];
            let names = FIELDS.iter().map(|(name, _)| *name).chain(ENUMERATIONS.iter().copied());
            names.filter(|name| *name > "From").any(|name| near.find(name).is_some_and(|at| at <= NAME))
                || near.find("From").is_some_and(|at| at <= NAME)
        }
        Some(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SID: &str = "SM0123456789abcdef0123456789abcdef";
    const CALL: &str = "CA0123456789abcdef0123456789abcdef";

    fn read(pairs: &[(&str, &str)]) -> Result<Form, String> {
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
        Form::read(body.as_bytes())
    }

    /// A message as Twilio posts it.
    fn usual<'a>() -> Vec<(&'a str, &'a str)> {
        vec![
            ("ToCountry", "US"),
            ("ToState", "NC"),
            ("SmsMessageSid", SID),
            ("NumMedia", "0"),
            ("ToCity", "St. Paul's"),
            ("FromZip", "SW1A 1AA"),
            ("SmsSid", SID),
            ("FromState", ""),
            ("SmsStatus", "received"),
            ("FromCity", ""),
            ("Body", "where is the key? From now on it lies in the drawer"),
            ("FromCountry", "GB"),
            ("To", "+15550199"),
            ("MessageSid", SID),
            ("AccountSid", "AC0123456789abcdef0123456789abcdef"),
            ("From", "+15550100"),
            ("ApiVersion", "2010-04-01"),
            ("NumSegments", "1"),
            ("ToZip", ""),
        ]
    }

    #[test]
    fn what_twilio_posts_is_read() {
        let form = read(&usual()).expect("well formed");
        assert_eq!(
            (form.field("From"), form.field("MessageSid"), form.has_unknown, form.is_ambiguous),
            (Some("+15550100"), Some(SID), false, false)
        );
        let whatsapp =
            [("From", "whatsapp:+15550100"), ("WaId", "15550100"), ("ProfileName", "Anna ☀"), ("MessageSid", SID)];
        let whatsapp = read(&whatsapp).expect("well formed");
        assert!(!whatsapp.has_unknown && !whatsapp.is_ambiguous);
        let media = [("NumMedia", "1"), ("MediaUrl0", "https://api.twilio.com/x"), ("MediaContentType0", "image/jpeg")];
        assert!(!read(&media).expect("well formed").has_unknown);
        let call = [
            ("CallSid", CALL),
            ("From", "12345"),
            ("SpeechResult", "open it"),
            ("Confidence", "0.9"),
            ("Direction", "inbound"),
        ];
        assert!(!read(&call).expect("well formed").has_unknown);
        assert!(read(&[("NewOfTwilios", "x"), ("From", "+15550100")]).expect("well formed").has_unknown);
    }

    #[test]
    fn a_captured_text_cut_elsewhere_is_refused_or_nobodys() {
        // Moved ends of ids, names that swallow the rest, ids in other letters, repeated names.
        for bad in [
            vec![("MessageSid", "SM0123456789abcdef0123456789abcdefNumMedia0")],
            vec![("MessageSid", "SM0123456789abcdef0123456789abcde")],
            vec![("MessageSid", "SM0123456789ABCDEF0123456789ABCDEF")],
            vec![("MessageSid", "CA0123456789abcdef0123456789abcdef")],
            vec![("CallSid", "CA0123456789abcdef0123456789abcdefCallStatusringing")],
            vec![("NumMedia", "0NumSegments1")],
            vec![("From", "+15550100FromCity")],
            vec![("From", "+15550100 ")],
            vec![("From", "+0555")],
            vec![("From", "15550100x555019900")],
            vec![("From", "+15550100"), ("From", "+15550100")],
            vec![("MessageSid", SID), ("SmsSid", "SMffffffffffffffffffffffffffffffff")],
            vec![("MessageSid", SID), ("CallSid", CALL)],
            vec![("", "x")],
            vec![("Zürich", "x")],
            vec![("door", " please")],
            vec![("Open the", "door")],
        ] {
            assert!(read(&bad).is_err(), "{bad:?}");
        }
        // A stranger's words as the owner's: the real name of the stranger must be in some other field.
        let real = format!("From+19995550MessageSid{SID}NumMedia0");
        for (name, value) in [
            ("Zzz", real.as_str()),
            ("FromCity", &real),
            ("ProfileName", &real),
            ("Body", &real),
            ("ToCity", &real),
            ("Zzz", "xFromwhatsapp:+19995550"),
            ("Zzz", "Fromclient:anna"),
            ("Zzz", "From12345"),
            ("ZzzFrom", "+19995550"),
            ("ZFrom12345MessageSid", SID),
            ("ZzzFrom1", "9995550"),
        ] {
            let cut = [("Body", "open the door"), ("From", "+15550100"), ("MessageSid", SID), (name, value)];
            assert!(read(&cut).map_or(true, |form| form.has_unknown && name == "ZzzFrom"), "{name}={value}");
        }
    }

    /// A message of another person, as Twilio signs it, and the same text cut so that it is the owner's.
    fn recut(real: &[(&str, &str)], cut: &[(&str, &str)]) -> Result<Form, String> {
        let signed = |pairs: &[(&str, &str)]| {
            let sorted: BTreeMap<_, _> = pairs.iter().copied().collect();
            sorted.into_iter().flat_map(|(name, value)| [name, value]).collect::<String>()
        };
        assert_eq!(signed(real), signed(cut), "one signature fits both");
        read(cut)
    }

    #[test]
    fn a_strangers_words_that_name_a_field_are_nobodys() {
        let head = [("AccountSid", "AC1"), ("ApiVersion", "2010-04-01")];
        let tail = [
            ("MessageSid", SID),
            ("NumMedia", "0"),
            ("NumSegments", "1"),
            ("SmsMessageSid", SID),
            ("SmsSid", SID),
            ("SmsStatus", "received"),
            ("To", "+15550199"),
        ];
        let whole = |middle: &[(&'static str, &'static str)]| [&head[..], middle, &tail[..]].concat();
        let is_nobodys = |real: &[(&'static str, &'static str)], cut: &[(&'static str, &'static str)]| {
            let form = recut(&whole(real), &whole(cut));
            assert!(form.as_ref().map_or(true, |form| form.is_ambiguous), "{cut:?}");
        };
        for (stranger, field) in [
            ("messenger:1234567890", "Label"),
            ("rcs:evil_agent", "Label"),
            ("instagram:1", "Label"),
            ("EVILCO", "FromCity"),
            ("EVILCO", "FromZip"),
            ("EVILCO", "Label"),
            (" EVIL", "Label"),
            ("+EVIL", "Language"),
            ("&EVIL", "FromState"),
        ] {
            let words: &'static str = format!("open the doorFrom+15550100{field}").leak();
            let swallowed: &'static str = format!("From{stranger}").leak();
            is_nobodys(
                &[("Body", words), ("From", stranger)],
                &[("Body", "open the door"), ("From", "+15550100"), (field, swallowed)],
            );
        }
        // The stranger's own name forms the field.
        is_nobodys(
            &[("Body", "openFrom+15550100"), ("From", "CityX")],
            &[("Body", "open"), ("From", "+15550100"), ("FromCity", "X")],
        );
        is_nobodys(
            &[("Body", "openFrom+15550100FromCityFromCountryUSFromState"), ("From", "Zip12345")],
            &[
                ("Body", "open"),
                ("From", "+15550100"),
                ("FromCity", ""),
                ("FromCountry", "US"),
                ("FromState", ""),
                ("FromZip", "12345"),
            ],
        );
        // The same with known places of the callee.
        for (to, zip, is_believed) in [
            ("+447700900199", "12345", false),
            ("+447700900199", "SW1A 1AA", false),
            ("+4915112345678", "10115", false),
            ("", "12345", false),
            ("12345", "12345", false),
            // No name, or none is possible.
            ("+447700900199", "123456789", true),
            ("+447700900199", "D-10115", true),
            ("+447700900199", "", true),
            ("+15550199", "12345", true),
        ] {
            let places = |of: &str, zip: &str| {
                [("City", ""), ("Country", "US"), ("State", ""), ("Zip", zip)].map(|(place, value)| {
                    let name: &'static str = format!("{of}{place}").leak();
                    let value: &'static str = value.to_owned().leak();
                    (name, value)
                })
            };
            let ends: Vec<(&str, &str)> =
                tail.iter().map(|(name, value)| (*name, if *name == "To" { to } else { *value })).collect();
            let called = [head.to_vec(), ends, places("To", "").to_vec()].concat();
            let name: &'static str = format!("Zip{zip}").leak();
            let real = [("Body", "openFrom+15550100FromCityFromCountryUSFromState"), ("From", name)];
            let cut = [&[("Body", "open"), ("From", "+15550100")][..], &places("From", zip)[..]].concat();
            let (real, cut) = ([&called[..], &real[..]].concat(), [&called[..], &cut[..]].concat());
            let form = recut(&real, &cut);
            assert_eq!(form.as_ref().is_ok_and(|form| !form.is_ambiguous), is_believed, "{to} {zip}: {form:?}");
            assert!(read(&real).map_or(true, |form| form.is_ambiguous), "{to} {zip}");
        }
        is_nobodys(&[("Body", "open"), ("From", "12345Label")], &[("Body", "open"), ("From", "12345"), ("Label", "")]);
        // The owner's own words, but fewer of them.
        let owners = [("Body", "leave it. Label it"), ("From", "+15550100")];
        let fewer = [("Body", "leave it. "), ("From", "+15550100"), ("Label", " it")];
        assert!(read(&whole(&owners)).is_ok_and(|form| !form.is_ambiguous));
        assert!(read(&whole(&fewer)).map_or(true, |form| form.is_ambiguous));
        let only_end = [
            ("AccountSid", "AC1"),
            ("ApiVersion", "2010-04-01BodyDo not touch it. "),
            ("Body", "Open the door"),
            ("From", "+15550100"),
            ("MessageSid", SID),
        ];
        let real = [
            ("AccountSid", "AC1"),
            ("ApiVersion", "2010-04-01"),
            ("Body", "Do not touch it. BodyOpen the door"),
            ("From", "+15550100"),
            ("MessageSid", SID),
        ];
        assert!(recut(&real, &only_end).map_or(true, |form| form.is_ambiguous));
        // Ordinary words that only begin like a field stay the owner's.
        for words in
            ["From now on speak slowly and clearly", "Tomorrow at nine: Address the letter", "from here to there"]
        {
            assert!(
                read(&whole(&[("Body", words), ("From", "+15550100")])).is_ok_and(|form| !form.is_ambiguous),
                "{words}"
            );
        }
    }
}

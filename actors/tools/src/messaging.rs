//! Writing to and calling people: the tools, and who may be reached.

use std::collections::BTreeMap;

use maxim_bus::AllowList;
use maxim_bus::signals::outbox::Medium;
use serde_json::{Value, json};

use super::hands::Mode;
use super::{EffectClass, FollowUp, ToolSpec};

/// The tool that writes a message.
pub const SEND_MESSAGE: &str = "send_message";
/// The tool that makes a telephone call.
pub const CALL_USER: &str = "call_user";
/// The channel that can call.
const CALLS: &str = "twilio";
/// Longest message, in bytes.
const LONGEST: usize = 16 * 1024;

/// What may be sent, by channel. A channel that isn't configured isn't listed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OutboxRules {
    pub channels: BTreeMap<String, ChannelRules>,
}

/// What may be sent on one channel.
#[derive(Clone, Debug, PartialEq)]
pub struct ChannelRules {
    /// The recipients it may write to unasked. A reply to a permitted sender is always allowed.
    pub recipients: AllowList,
    /// Attempts a minute, 1 or more. Further messages wait.
    pub per_minute: usize,
    /// Whether a message with an unknown outcome is sent again. It may then arrive twice.
    pub repeats_unknown: bool,
}

/// Whether a message may be queued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MaySend {
    Yes,
    No(String),
    /// The channel can't be used here.
    Unavailable(String),
}

impl OutboxRules {
    /// Whether the agent may write to this recipient unasked.
    pub fn may_send(&self, channel: &str, recipient: &str, medium: Medium) -> MaySend {
        let Some(rules) = self.channels.get(channel) else {
            let known: Vec<&str> = self.channels.keys().map(String::as_str).collect();
            let has = if known.is_empty() { "none is".to_owned() } else { format!("configured: {}", known.join(", ")) };
            return MaySend::Unavailable(format!(
                "the channel {channel:?} is not configured ({has}); a person sets it up in a section [channels.NAME]"
            ));
        };
        if medium == Medium::Call && channel != CALLS {
            return MaySend::Unavailable(format!("{channel} can't call; {CALLS} can"));
        }
        if rules.recipients.holds(recipient) {
            return MaySend::Yes;
        }
        MaySend::No(format!(
            "{recipient:?} is not on the list channels.{channel}.recipients; a person adds whom it may write to"
        ))
    }
}

/// A message from a call of one of the tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub channel: String,
    pub recipient: String,
    pub text: String,
    pub medium: Medium,
}

impl Message {
    /// `params` have passed the schema. `None` for other tools.
    pub fn of(tool: &str, params: &Value) -> Option<Self> {
        let text = |name: &str| params[name].as_str().unwrap_or_default().trim().to_owned();
        match tool {
            SEND_MESSAGE => Some(Self {
                channel: text("channel").to_lowercase(),
                recipient: text("recipient"),
                text: text("body"),
                medium: Medium::Text,
            }),
            CALL_USER => Some(Self {
                channel: CALLS.into(),
                recipient: text("recipient"),
                text: text("message"),
                medium: Medium::Call,
            }),
            _ => None,
        }
    }
}

/// The specifications of both.
pub fn specs() -> Vec<ToolSpec> {
    let said =
        |description: &str| json!({"type": "string", "minLength": 1, "maxLength": LONGEST, "description": description});
    let name =
        |description: &str| json!({"type": "string", "minLength": 1, "maxLength": 320, "description": description});
    let send = ToolSpec::new(
        SEND_MESSAGE,
        "Writes to somebody on a channel that reaches outside. It is queued; the outbox delivers it.",
    )
    .with_parameters(
        json!({
            "channel": name("mqtt, telegram, slack, twilio, discord or email"),
            "recipient": name("a telephone number, an address, a user's id or a name, as the channel has it"),
            "body": said("what is written"),
        }),
        &["channel", "recipient", "body"],
    )
    .with_aliases(&[("message", "body"), ("text", "body"), ("to", "recipient")])
    .with_example(json!({"channel": "twilio", "recipient": "+15550100", "body": "The tea is ready."}))
    .with_speech(
        &["send a message", "send message", "write a message"],
        &["{verb} to {recipient:word} (on|by|via) {channel:word} [saying] {body:quoted}"],
    );
    let call = ToolSpec::new(CALL_USER, "Calls somebody by telephone and reads a message aloud. It is queued.")
        .with_parameters(
            json!({"recipient": name("a telephone number, such as +15550100"), "message": said("what is said")}),
            &["recipient", "message"],
        )
        .with_aliases(&[("to", "recipient"), ("text", "message"), ("number", "recipient")])
        .with_example(json!({"recipient": "+15550100", "message": "The tea is ready."}))
        .with_speech(&["call", "phone", "ring"], &["{verb} {recipient:word} and (say|tell them) {message:quoted}"]);
    [send, call]
        .map(|spec| ToolSpec {
            effect: EffectClass::Irreversible,
            idempotent: false,
            required_mode: Mode::Active,
            follow_up: FollowUp::Respond,
            ..spec
        })
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> OutboxRules {
        let rules = ChannelRules { recipients: AllowList::new(["+15550100"]), per_minute: 60, repeats_unknown: false };
        OutboxRules { channels: BTreeMap::from([("twilio".to_owned(), rules.clone()), ("mqtt".to_owned(), rules)]) }
    }

    #[test]
    fn only_who_is_on_the_list_is_written_to() {
        let rules = rules();
        assert_eq!(rules.may_send("twilio", "+15550100", Medium::Text), MaySend::Yes);
        let MaySend::No(why) = rules.may_send("twilio", "+15550199", Medium::Text) else { panic!("refused") };
        assert!(why.contains("channels.twilio.recipients"), "{why}");
    }

    #[test]
    fn a_channel_that_is_not_there_or_can_not_call_says_so() {
        let rules = rules();
        let MaySend::Unavailable(why) = rules.may_send("email", "a@b.c", Medium::Text) else { panic!("unavailable") };
        assert!(why.contains("mqtt, twilio"), "{why}");
        assert!(matches!(rules.may_send("mqtt", "+15550100", Medium::Call), MaySend::Unavailable(_)));
        assert_eq!(rules.may_send("twilio", "+15550100", Medium::Call), MaySend::Yes);
    }

    #[test]
    fn a_call_of_a_tool_becomes_a_message() {
        let params = json!({"channel": "Twilio", "recipient": " +15550100 ", "body": "hi"});
        let message = Message::of(SEND_MESSAGE, &params).expect("a message");
        assert_eq!(
            (message.channel.as_str(), message.recipient.as_str(), message.medium),
            ("twilio", "+15550100", Medium::Text)
        );
        let call = Message::of(CALL_USER, &json!({"recipient": "+1", "message": "hi"})).expect("a call");
        assert_eq!((call.channel.as_str(), call.medium), ("twilio", Medium::Call));
        assert_eq!(Message::of("respond", &params), None);
    }
}

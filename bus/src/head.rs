//! The head of an encoded envelope: [`Meta`] in bytes. JSON took three times as much space, half of a journal.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::ids::{AgentId, MessageId};
use crate::signal::{Meta, Trust};

/// First byte of a head. It says which fields the head has.
const MARK: u8 = 1;

/// The order of these fields is the format. A head with other fields gets another mark.
#[derive(Serialize, Deserialize)]
struct Head<'a> {
    id: MessageId,
    cause: Option<MessageId>,
    correlation: MessageId,
    #[serde(with = "jiff::fmt::serde::timestamp::nanosecond::required")]
    at: Timestamp,
    trust: Trust,
    agent: &'a str,
    name: &'a str,
    sender: &'a str,
    to: Option<&'a str>,
}

/// Appends the head to `out`.
pub fn write(meta: &Meta, out: &mut Vec<u8>) {
    let Meta { id, agent, name, cause, correlation, at, sender, trust, to } = meta;
    let head = Head {
        id: *id,
        cause: *cause,
        correlation: *correlation,
        at: *at,
        trust: *trust,
        agent: agent.as_str(),
        name,
        sender,
        to: to.as_deref(),
    };
    out.push(MARK);
    // Plain data written to memory: nothing can be refused.
    let _ = postcard::to_io(&head, out);
}

/// Reads what [`write`] wrote. Errors say what is wrong.
pub fn read(bytes: &[u8]) -> Result<Meta, String> {
    let head: Head<'_> = match bytes.split_first() {
        Some((&MARK, head)) => postcard::from_bytes(head).map_err(|error| error.to_string())?,
        Some((mark, _)) => return Err(format!("a head begins with {MARK}, this one with {mark}")),
        None => return Err("the head is empty".to_owned()),
    };
    let Head { id, cause, correlation, at, trust, agent, name, sender, to } = head;
    let owned = |text: &str| Cow::Owned(text.to_owned());
    Ok(Meta {
        id,
        agent: AgentId::new(agent).map_err(|error| error.to_string())?,
        name: owned(name),
        cause,
        correlation,
        at,
        sender: owned(sender),
        trust,
        to: to.map(owned),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn id() -> impl Strategy<Value = MessageId> {
        any::<u128>().prop_map(|number| MessageId(uuid::Uuid::from_u128(number)))
    }

    fn meta() -> impl Strategy<Value = Meta> {
        let trust = prop::sample::select(vec![Trust::Outside, Trust::Sensor, Trust::Listed, Trust::Own, Trust::Owner]);
        let at = (Timestamp::MIN.as_nanosecond()..=Timestamp::MAX.as_nanosecond())
            .prop_map(|at| Timestamp::from_nanosecond(at).expect("in range"));
        let ids = (id(), prop::option::of(id()), id());
        (ids, at, trust, "[a-z0-9_-]{1,64}", ".*", ".*", prop::option::of(".*")).prop_map(
            |((id, cause, correlation), at, trust, agent, name, sender, to)| Meta {
                id,
                agent: AgentId::new(agent).expect("a name"),
                name: name.into(),
                cause,
                correlation,
                at,
                sender: sender.into(),
                trust,
                to: to.map(Cow::Owned),
            },
        )
    }

    proptest! {
        #[test]
        fn a_head_comes_back_as_it_was_and_a_cut_one_is_seen(meta in meta()) {
            let mut bytes = Vec::new();
            write(&meta, &mut bytes);
            prop_assert_eq!(read(&bytes), Ok(meta.clone()));
            for cut in 0..bytes.len() {
                prop_assert!(read(&bytes[..cut]).is_err(), "cut at {}", cut);
            }
            bytes[0] ^= 2;
            prop_assert!(read(&bytes).is_err(), "another mark");
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&bytes);
            let _ = read(&[&[MARK], &bytes[..]].concat());
        }
    }
}

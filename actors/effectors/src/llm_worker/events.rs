//! A reply's events, read no faster than they are consumed: no byte is fetched while an event waits.
//!
//! An answer that isn't streamed is one event, so that there is only one way to read replies. An error keeps its status
//! and its whole body, which may have any shape.

use maxim_bus::bounds::{MODEL_EVENTS, MODEL_LINE};
use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use serde_json::Value as Json;

use super::lines::Lines;
use crate::server_fault::{Fault, accepted, clip, whole};

const STREAM: &str = "text/event-stream";
/// The end of a stream.
const DONE: &[u8] = b"[DONE]";
/// An event without content.
const KEEPALIVE: &[u8] = b"keepalive";

/// The events of one reply.
pub(super) enum Events {
    Streamed { response: Box<Response>, reader: Reader },
    Whole(Option<Json>),
}

impl Events {
    /// The events of a server's answer.
    pub async fn of(response: Response) -> Result<Self, Fault> {
        let response = accepted(response).await?;
        let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if kind.starts_with(STREAM) {
            return Ok(Self::Streamed { response: Box::new(response), reader: Reader::default() });
        }
        Ok(Self::Whole(Some(parsed(&whole(response).await?)?)))
    }

    /// The next event; `None` after the last.
    pub async fn next(&mut self) -> Result<Option<Json>, Fault> {
        let (response, reader) = match self {
            Self::Whole(reply) => return Ok(reply.take()),
            Self::Streamed { response, reader } => (response, reader),
        };
        loop {
            match reader.next()? {
                Step::Event(event) => return Ok(Some(event)),
                Step::Over => return Ok(None),
                Step::More => {}
            }
            // A broken connection ends a reply in the middle.
            match response.chunk().await.map_err(|_| Fault::Cut)? {
                Some(piece) => reader.lines.push(&piece)?,
                None => return Ok(None),
            }
        }
    }
}

fn parsed(text: &[u8]) -> Result<Json, Fault> {
    serde_json::from_slice(text).map_err(|_| Fault::Garbage(clip(&String::from_utf8_lossy(text))))
}

enum Step {
    Event(Json),
    /// Everything that came is read.
    More,
    Over,
}

/// Makes events from lines, by the HTML standard ("Server-sent events"). The beginning of the next event is kept.
#[derive(Default)]
pub(super) struct Reader {
    lines: Lines,
    data: Vec<u8>,
    has_data: bool,
    is_keepalive: bool,
    has_begun: bool,
    count: usize,
}

impl Reader {
    fn next(&mut self) -> Result<Step, Fault> {
        while let Some(line) = self.lines.next()? {
            // A byte order mark may come before the first line.
            let mark = if std::mem::replace(&mut self.has_begun, true) { &b""[..] } else { b"\xef\xbb\xbf" };
            let line = line.strip_prefix(mark).unwrap_or(&line);
            if line.is_empty() {
                if let Some(step) = self.end_of_event()? {
                    return Ok(step);
                }
                continue;
            }
            let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
            let value = line.get(colon + 1..).unwrap_or_default();
            let value = value.strip_prefix(b" ").unwrap_or(value);
            match &line[..colon] {
                b"data" => self.add(value)?,
                b"event" => self.is_keepalive = value == KEEPALIVE,
                _ => {}
            }
        }
        Ok(Step::More)
    }

    fn add(&mut self, value: &[u8]) -> Result<(), Fault> {
        if std::mem::replace(&mut self.has_data, true) {
            self.data.push(b'\n');
        }
        self.data.extend_from_slice(value);
        if self.data.len() > MODEL_LINE.limit { Err(Fault::Excess(MODEL_LINE)) } else { Ok(()) }
    }

    /// A blank line was received.
    fn end_of_event(&mut self) -> Result<Option<Step>, Fault> {
        let data = std::mem::take(&mut self.data);
        let (has_data, is_keepalive) = (std::mem::take(&mut self.has_data), std::mem::take(&mut self.is_keepalive));
        if !has_data {
            return Ok(None);
        }
        self.count += 1;
        if self.count > MODEL_EVENTS.limit {
            return Err(Fault::Excess(MODEL_EVENTS));
        }
        match data.as_slice() {
            DONE => Ok(Some(Step::Over)),
            _ if is_keepalive => Ok(None),
            data => Ok(Some(Step::Event(parsed(data)?))),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The events of a stream in these pieces, whether it announced its end, and the error that ended the reading.
    fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Json>, bool, Option<Fault>) {
        let (mut reader, mut events) = (Reader::default(), Vec::new());
        for piece in pieces {
            if let Err(why) = reader.lines.push(piece) {
                return (events, false, Some(why));
            }
            loop {
                match reader.next() {
                    Ok(Step::Event(event)) => events.push(event),
                    Ok(Step::More) => break,
                    Ok(Step::Over) => return (events, true, None),
                    Err(why) => return (events, false, Some(why)),
                }
            }
        }
        (events, false, None)
    }

    #[test]
    fn events_are_the_same_whatever_the_pieces_are() {
        let text = "\u{feff}data: {\"a\":1}\r\n\r\n: a remark\n\n\nevent: keepalive\ndata: x\n\nid: 7\ndata:[1,\ndata: 2]\n\n\
                    event: delta\ndata: \"ü\"\n\ndata: [DONE]\n\ndata: 9\n\n";
        for size in 1..text.len() {
            let (events, is_over, why) = read(text.as_bytes().chunks(size));
            assert_eq!((events, is_over), (vec![json!({"a": 1}), json!([1, 2]), json!("ü")], true), "{size}");
            assert!(why.is_none(), "{size}");
        }
        let (events, is_over, why) = read([&b"data: {\"a\":1}\n\ndata: {\"a\""[..]]);
        assert_eq!((events.len(), is_over, why.is_none()), (1, false, true), "its end never came");
        let (_, _, why) = read([&b"data: {\"a\n\n"[..]]);
        assert!(matches!(why, Some(Fault::Garbage(_))), "{why:?}");
    }

    #[test]
    fn endless_events_and_an_endless_event_end_as_a_fault() {
        let tiny = b"data: 1\n\n".repeat(1000);
        let (events, _, why) = read(std::iter::repeat_n(tiny.as_slice(), 1_000));
        assert!(matches!(why, Some(Fault::Excess(MODEL_EVENTS))), "{why:?}");
        assert_eq!(events.len(), MODEL_EVENTS.limit);
        let (events, _, why) = read(std::iter::repeat_n(&b"data: 11111111\n"[..], 1_000_000));
        assert!(matches!(why, Some(Fault::Excess(MODEL_LINE))) && events.is_empty(), "{why:?}");
        let (events, _, why) = read(std::iter::repeat_n(&b"event: keepalive\ndata: 1\n\n"[..], 1_000_000));
        assert!(matches!(why, Some(Fault::Excess(MODEL_EVENTS))) && events.is_empty(), "{why:?}");
    }
}

//! Recorded replies, in place of a model.
//!
//! A call finds its reply by its request. Equal requests get their replies in recorded order, so the same past with the
//! same tape gives the same life. Times of day are ignored, because a prompt contains the time. If no request is equal,
//! the first one is used that only differs in numbers and ids, because a prompt also contains durations.

use std::sync::atomic::{AtomicUsize, Ordering};

use maxim_bus::signals::thought::{ModelCall, ModelReply};
use parking_lot::Mutex;

/// A request for comparison: both parts, without times of day.
type Request = (String, String);

/// A reply that waits for its request.
#[derive(Debug)]
struct Waiting {
    request: Request,
    /// The request without numbers and ids.
    countless: Request,
    reply: ModelReply,
}

/// A recorded call with its reply.
pub type TapedReply = (ModelCall, ModelReply);

/// The replies of a recording.
#[derive(Debug)]
pub struct Tape {
    name: String,
    /// In recorded order.
    replies: Mutex<Vec<Waiting>>,
    misses: AtomicUsize,
}

impl Tape {
    /// `name` is used in error messages.
    pub fn new(name: impl Into<String>, calls: impl IntoIterator<Item = TapedReply>) -> Self {
        let waiting =
            |(call, reply): TapedReply| Waiting { request: request(&call), countless: countless(&call), reply };
        let replies = calls.into_iter().map(waiting).collect();
        Self { name: name.into(), replies: Mutex::new(replies), misses: AtomicUsize::new(0) }
    }

    fn miss(&self, call: &ModelCall) -> ModelReply {
        self.misses.fetch_add(1, Ordering::Relaxed);
        ModelReply::failed(call, format!("the tape {} has no reply to this prompt (any more)", self.name))
    }

    /// Requests without a reply.
    pub fn misses(&self) -> usize {
        self.misses.load(Ordering::Relaxed)
    }

    /// Its name in error messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The next reply to this request, as if given now.
    pub fn play(&self, call: &ModelCall) -> ModelReply {
        let (request, countless) = (request(call), countless(call));
        let mut replies = self.replies.lock();
        let found = replies
            .iter()
            .position(|waiting| waiting.request == request)
            .or_else(|| replies.iter().position(|waiting| waiting.countless == countless));
        match found.map(|at| replies.remove(at).reply) {
            Some(reply) => ModelReply { call: call.call, turn: call.turn, request_hash: call.hash(), ..reply },
            None => self.miss(call),
        }
    }
}

fn request(call: &ModelCall) -> Request {
    (timeless(&call.system), timeless(&call.user))
}

/// Both parts without words that contain a digit.
fn countless(call: &ModelCall) -> Request {
    let is_between = |c: char| c.is_whitespace() || "\"'\\,;()[]{}“”".contains(c);
    let kept = |text: &str| {
        let words = text.split(is_between).filter(|word| !word.contains(|c: char| c.is_ascii_digit()));
        words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    };
    (kept(&call.system), kept(&call.user))
}

/// Without times like `09:00` or `09:00:00.123`.
fn timeless(text: &str) -> String {
    let is_time = |word: &str| {
        let mut parts = word.split(':');
        let hour = parts.next().is_some_and(|part| part.len() == 2 && part.bytes().all(|c| c.is_ascii_digit()));
        let rest: Vec<&str> = parts.collect();
        hour && !rest.is_empty() && rest.iter().all(|part| part.starts_with(|c: char| c.is_ascii_digit()))
    };
    let mut kept = String::with_capacity(text.len());
    let is_of_time = |c: char| c.is_ascii_digit() || matches!(c, ':' | '.');
    let mut rest = text;
    while let Some(start) = rest.find(is_of_time) {
        let (before, from) = rest.split_at(start);
        let end = from.find(|c| !is_of_time(c)).unwrap_or(from.len());
        let (word, after) = from.split_at(end);
        kept.push_str(before);
        kept.push_str(if is_time(word) { ":" } else { word });
        rest = after;
    }
    kept.push_str(rest);
    kept
}

#[cfg(test)]
mod tests {
    use maxim_bus::signals::thought::Purpose;

    use super::*;
    use maxim_bus::MessageId;

    fn call(number: u64, user: &str) -> ModelCall {
        let id = MessageId::from_parts(number, 0);
        ModelCall {
            call: id,
            turn: id,
            system: "s".into(),
            user: user.into(),
            max_tokens: 9,
            tools: Vec::new(),
            purpose: Purpose::Deliberate,
            form: None,
        }
    }

    fn said(call: &ModelCall, text: &str) -> TapedReply {
        let reply = ModelReply { text: Some(text.into()), error: None, ..ModelReply::failed(call, "") };
        (call.clone(), reply)
    }

    #[test]
    fn equal_requests_get_their_replies_in_order_and_another_one_gets_none() {
        let (first, second) = (call(1, "It is 2026-01-05T09:00:00Z. Hi"), call(2, "It is 2026-01-05T10:30:12.5Z. Hi"));
        let tape = Tape::new("t.mcap", [said(&first, "one"), said(&second, "two")]);
        let later = call(3, "It is 2026-01-05T23:59:59Z. Hi");
        assert_eq!(tape.play(&later).text.as_deref(), Some("one"));
        assert_eq!((tape.play(&later).text.as_deref(), tape.play(&later).call), (Some("two"), later.call));
        let error = tape.play(&later).error.expect("it is used up");
        assert!(error.contains("t.mcap"), "{error}");
        assert!(tape.play(&call(4, "Hello")).error.is_some());
    }

    #[test]
    fn what_was_measured_otherwise_is_the_same_request_where_none_is_equal() {
        let asked =
            |number: u64, took: &str| call(number, &format!("predicted {{\"delay_s\":[{took}]}} of 01a2-{took}. And?"));
        let tape = Tape::new("t.mcap", [said(&asked(1, "0.5"), "one"), said(&asked(2, "0.7"), "two")]);
        assert_eq!(tape.play(&asked(3, "0.7")).text.as_deref(), Some("two"), "an equal one comes first");
        assert_eq!(tape.play(&asked(4, "0.9")).text.as_deref(), Some("one"));
        assert!(tape.play(&asked(5, "0.9")).error.is_some());
    }

    #[test]
    fn only_times_of_day_are_left_out() {
        assert_eq!(timeless("at 09:00, 3.5 of 12:30:05.25 (v1.2:3)"), "at :, 3.5 of : (v1.2:3)");
        assert_eq!(timeless("no time here"), "no time here");
    }
}

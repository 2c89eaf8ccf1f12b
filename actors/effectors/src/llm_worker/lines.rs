//! A stream's lines, one by one and bounded: what reads them would search an endless line again with each piece of it.

use std::collections::VecDeque;

use futures_util::Stream;
use futures_util::stream::unfold;
use maxim_bus::bounds::{MODEL_LINE, MODEL_STREAM};
use reqwest::Response;
use serde_json::json;

/// The fields that a reply is read of; everything else of a stream says nothing here.
const FIELDS: [&[u8]; 2] = [b"data", b"event"];

/// The lines of a stream that say something. Where one of its bounds is broken, the last is an error, as servers tell one.
pub(super) fn lines(response: Response) -> impl Stream<Item = Result<Vec<u8>, reqwest::Error>> {
    unfold((response, Lines::default()), |(mut response, mut lines)| async move {
        loop {
            if let Some(line) = lines.ready.pop_front() {
                return Some((Ok(line), (response, lines)));
            }
            if lines.is_over {
                return None;
            }
            match response.chunk().await {
                Ok(Some(piece)) => lines.push(&piece),
                Ok(None) => lines.end(),
                Err(error) => {
                    lines.is_over = true;
                    return Some((Err(error), (response, lines)));
                }
            }
        }
    })
}

#[derive(Default)]
struct Lines {
    ready: VecDeque<Vec<u8>>,
    /// The line that has no end yet.
    open: Vec<u8>,
    total: usize,
    /// The line before said something, so that a blank one ends an event.
    is_within: bool,
    is_over: bool,
}

impl Lines {
    /// Looks at each byte once.
    fn push(&mut self, piece: &[u8]) {
        self.total += piece.len();
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            let is_whole = part.ends_with(b"\n");
            if self.open.len() + part.len() > MODEL_LINE.limit {
                return self.break_off(format!("a line of its stream is longer than {} bytes", MODEL_LINE.limit));
            }
            self.open.extend_from_slice(part);
            if is_whole {
                self.take();
            }
        }
        if self.total > MODEL_STREAM.limit {
            self.break_off(format!("its stream is longer than {} bytes", MODEL_STREAM.limit));
        }
    }

    fn take(&mut self) {
        let text = self.open.trim_ascii_end();
        // A mark of the order of bytes may stand before the first line.
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let says = FIELDS.iter().any(|field| text.starts_with(field));
        let ends = text.is_empty() && self.is_within;
        self.is_within = says || (self.is_within && !ends);
        if says || ends {
            self.ready.push_back(std::mem::take(&mut self.open));
        }
        self.open.clear();
    }

    fn end(&mut self) {
        if !self.open.is_empty() {
            self.take();
        }
        self.is_over = true;
    }

    fn break_off(&mut self, why: String) {
        let error = json!({"error": {"code": 413, "message": why}});
        self.open.clear();
        self.ready.push_back(format!("\n\ndata: {error}\n\n").into_bytes());
        self.is_over = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pieces: impl IntoIterator<Item = Vec<u8>>) -> (String, bool) {
        let (mut lines, mut all) = (Lines::default(), Vec::new());
        for piece in pieces {
            lines.push(&piece);
            all.extend(lines.ready.drain(..).flatten());
            if lines.is_over {
                return (String::from_utf8_lossy(&all).into_owned(), true);
            }
        }
        lines.end();
        all.extend(lines.ready.drain(..).flatten());
        (String::from_utf8_lossy(&all).into_owned(), false)
    }

    #[test]
    fn what_says_something_comes_through_whatever_the_pieces_are() {
        let text = "\u{feff}data: a\r\n\r\n: a remark\n\n\nevent: x\nid: 7\ndata: b\n\ndata: [DONE]";
        let expected = "\u{feff}data: a\r\n\r\nevent: x\ndata: b\n\ndata: [DONE]";
        for size in 1..text.len() {
            let pieces = text.as_bytes().chunks(size).map(<[u8]>::to_vec);
            assert_eq!(read(pieces), (expected.to_owned(), false), "{size}");
        }
    }

    #[test]
    fn an_endless_line_and_an_endless_stream_end_as_a_fault() {
        let (said, is_over) = read(std::iter::repeat_n(vec![b'x'; 1000], 1_000_000));
        assert!(is_over && said.contains("a line of its stream is longer"), "{said}");
        let (said, is_over) = read(std::iter::repeat_n(b": remark\n\n\n".repeat(1000), 1_000_000));
        assert!(is_over && said.contains("its stream is longer"), "{said}");
        assert!(said.len() < 300, "nothing of it is handed on");
    }
}

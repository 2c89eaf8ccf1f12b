//! A stream's lines, one by one and bounded.
//!
//! A received piece is kept as it is, and each line is taken from it on demand. So only that piece is buffered, and
//! each byte is examined once.

use maxim_bus::bounds::{MODEL_LINE, MODEL_STREAM};

use crate::server_fault::Fault;

#[derive(Default)]
pub(super) struct Lines {
    piece: Vec<u8>,
    /// How much of the piece is consumed.
    at: usize,
    /// The line without an end so far.
    open: Vec<u8>,
    total: usize,
}

impl Lines {
    /// Adds the next piece. Only call it when [`Lines::next`] has none left.
    pub fn push(&mut self, piece: &[u8]) -> Result<(), Fault> {
        self.total += piece.len();
        if self.total > MODEL_STREAM.limit {
            return Err(Fault::Excess(MODEL_STREAM));
        }
        self.piece.drain(..self.at);
        self.piece.extend_from_slice(piece);
        self.at = 0;
        Ok(())
    }

    /// The next complete line, without its end; none if more data is needed.
    pub fn next(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        let rest = &self.piece[self.at..];
        let end = rest.iter().position(|byte| *byte == b'\n');
        let part = &rest[..end.unwrap_or(rest.len())];
        if self.open.len() + part.len() > MODEL_LINE.limit {
            return Err(Fault::Excess(MODEL_LINE));
        }
        self.open.extend_from_slice(part);
        self.at += part.len() + usize::from(end.is_some());
        if end.is_none() {
            return Ok(None);
        }
        let mut line = std::mem::take(&mut self.open);
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        Ok(Some(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pieces: impl IntoIterator<Item = Vec<u8>>) -> Result<Vec<String>, Fault> {
        let (mut lines, mut all) = (Lines::default(), Vec::new());
        for piece in pieces {
            lines.push(&piece)?;
            while let Some(line) = lines.next()? {
                all.push(String::from_utf8_lossy(&line).into_owned());
            }
        }
        Ok(all)
    }

    #[test]
    fn lines_are_the_same_whatever_the_pieces_are() {
        let text = "data: a\r\n\r\n: a remark\n\n\nevent: x\nid: 7\ndata: bö\n\ndata: no end";
        let expected = ["data: a", "", ": a remark", "", "", "event: x", "id: 7", "data: bö", ""];
        for size in 1..text.len() {
            let pieces = text.as_bytes().chunks(size).map(<[u8]>::to_vec);
            assert_eq!(read(pieces).expect("within bounds"), expected, "{size}");
        }
    }

    #[test]
    fn an_endless_line_and_an_endless_stream_end_as_a_fault() {
        let why = read(std::iter::repeat_n(vec![b'x'; 1000], 1_000_000)).expect_err("an endless line");
        assert!(matches!(why, Fault::Excess(MODEL_LINE)), "{why}");
        let why = read(std::iter::repeat_n(b": remark\n\n\n".repeat(1000), 1_000_000)).expect_err("an endless stream");
        assert!(matches!(why, Fault::Excess(MODEL_STREAM)), "{why}");
    }
}

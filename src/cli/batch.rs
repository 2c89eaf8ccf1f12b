//! The batch doors' frame: JSON lines in, one JSON line out for each, in order.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::PathBuf;

use clap::Args;
use maxim_actors::region::lines;
use maxim_bus::clock::Stopwatch;
use serde_json::{Map, Value, json};

use super::{CliError, Exit};

/// Where a batch door reads from.
#[derive(Args, Clone, Debug, Default)]
pub struct BatchInput {
    /// Read JSON lines from this file [default: standard input]
    #[arg(long = "in", value_name = "FILE")]
    pub file: Option<PathBuf>,
}

/// How many lines there were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub answered: u64,
    pub malformed: u64,
}

/// The longest line that is read whole.
pub const LINE_BYTES_MAX: usize = 16 << 20;

impl BatchInput {
    /// Answers every line through `door` on standard output, and reports malformed lines on standard error. `door` gets
    /// a line's object without its `id`. It returns the answer's members, or why the line is malformed.
    ///
    /// # Errors
    /// Exit 2 when the input can't be read. Malformed lines are exit 2 without an error: the others are answered.
    pub fn answer(&self, door: impl FnMut(Value) -> Result<Value, String>) -> Result<Exit, CliError> {
        let source: Box<dyn Read> = match &self.file {
            Some(file) => Box::new(File::open(file).map_err(|error| self.unreadable(&error))?),
            None => Box::new(io::stdin()),
        };
        let told = |line: u64, why: &str| {
            let _ = writeln!(io::stderr(), "maxim: line {line}: {why}");
        };
        let tally = answer_lines(source, io::stdout().lock(), told, door).map_err(|broken| match broken {
            Broken::Input(error) => self.unreadable(&error),
            Broken::Output(error) => error.into(),
        })?;
        Ok(if tally.malformed == 0 { Exit::Ok } else { Exit::Usage })
    }

    fn unreadable(&self, error: &io::Error) -> CliError {
        let name = self.file.as_ref().map_or_else(|| "standard input".to_owned(), |file| file.display().to_string());
        CliError::new(Exit::Usage, format!("{name} can't be read: {error}"), "give JSON lines, in a file or by a pipe")
    }
}

/// Which side of the door broke.
#[derive(Debug)]
pub enum Broken {
    Input(io::Error),
    Output(io::Error),
}

/// Reads one JSON object per line, and writes one object per line with the line's `id` and `elapsed_us` (microseconds
/// of the door alone). A malformed line is answered with `line` and `error`, and is also passed to `told`. A blank line
/// gets no answer, but counts in the line numbers.
///
/// # Errors
/// Input or output fails. A line that `door` refuses is no error.
pub fn answer_lines(
    input: impl Read,
    output: impl Write,
    mut told: impl FnMut(u64, &str),
    mut door: impl FnMut(Value) -> Result<Value, String>,
) -> Result<Tally, Broken> {
    let mut input = BufReader::with_capacity(1 << 16, input);
    skip_mark(&mut input).map_err(Broken::Input)?;
    let mut output = BufWriter::with_capacity(1 << 16, output);
    let mut tally = Tally::default();
    let mut line = Vec::new();
    for number in 1.. {
        // A caller that writes and reads in turn needs the answers before the next read blocks.
        if input.buffer().is_empty() {
            output.flush().map_err(Broken::Output)?;
        }
        if !read_line(&mut input, &mut line, LINE_BYTES_MAX).map_err(Broken::Input)? {
            break;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let parsed = parse(&line);
        let watch = Stopwatch::start();
        let (id, answered) = match parsed {
            Ok((id, value)) => (id, door(value)),
            Err(why) => (None, Err(why)),
        };
        let elapsed_us = u64::try_from(watch.elapsed().as_micros()).unwrap_or(u64::MAX);
        let mut answer = match answered {
            Ok(answer) => {
                tally.answered += 1;
                members(answer)
            }
            Err(why) => {
                tally.malformed += 1;
                told(number, &why);
                members(json!({"line": number, "error": why}))
            }
        };
        if let Some(id) = id {
            answer.insert("id".into(), id);
        }
        answer.insert("elapsed_us".into(), elapsed_us.into());
        serde_json::to_writer(&mut output, &answer).map_err(|error| Broken::Output(error.into()))?;
        output.write_all(b"\n").map_err(Broken::Output)?;
    }
    output.flush().map_err(Broken::Output)?;
    Ok(tally)
}

/// The byte order mark that some editors write before UTF-8 text.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Skips the byte order mark, if there is one.
///
/// # Errors
/// The input fails.
pub fn skip_mark(input: &mut BufReader<impl Read>) -> io::Result<()> {
    use io::BufRead;
    if input.fill_buf()?.starts_with(MARK) {
        input.consume(MARK.len());
    }
    Ok(())
}

/// Returns false at the end of the input. Of a line longer than `most` bytes (with its line end), only the first `most`
/// + 1 bytes are kept.
///
/// # Errors
/// The input fails.
pub fn read_line(input: &mut BufReader<impl Read>, line: &mut Vec<u8>, most: usize) -> io::Result<bool> {
    use io::BufRead;
    line.clear();
    let mut any = false;
    loop {
        let chunk = match input.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            chunk => chunk?,
        };
        if chunk.is_empty() {
            return Ok(any);
        }
        any = true;
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(chunk.len(), |end| end + 1);
        let room = most.saturating_add(1).saturating_sub(line.len());
        line.extend_from_slice(&chunk[..taken.min(room)]);
        input.consume(taken);
        if end.is_some() {
            return Ok(true);
        }
    }
}

fn parse(line: &[u8]) -> Result<(Option<Value>, Value), String> {
    if line.len() > LINE_BYTES_MAX {
        return Err(format!("it is longer than {} MiB", LINE_BYTES_MAX >> 20));
    }
    match serde_json::from_slice(line).map_err(|error| lines::told(&error))? {
        Value::Object(mut members) => {
            let id = members.remove("id");
            Ok((id, Value::Object(members)))
        }
        _ => Err("it is not a JSON object".into()),
    }
}

/// An answer that is not an object goes under `value`.
fn members(answer: Value) -> Map<String, Value> {
    match answer {
        Value::Object(members) => members,
        other => Map::from_iter([("value".to_owned(), other)]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(input: &[u8]) -> (Vec<Value>, Vec<(u64, String)>, Tally) {
        let (mut output, mut told) = (Vec::new(), Vec::new());
        let door = |value: Value| match value["n"].as_i64() {
            Some(n) => Ok(json!({"double": n * 2, "saw_id": value.get("id").is_some()})),
            None => Err("n is missing".to_owned()),
        };
        let tally =
            answer_lines(input, &mut output, |line, why| told.push((line, why.to_owned())), door).expect("answered");
        let lines = output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let lines = lines.map(|line| serde_json::from_slice(line).expect("a JSON line")).collect();
        (lines, told, tally)
    }

    #[test]
    fn a_mark_before_the_first_line_is_passed_over() {
        let (_, told, tally) = run(b"\xef\xbb\xbf{\"n\": 1}\n");
        assert_eq!((told.len(), tally), (0, Tally { answered: 1, malformed: 0 }));
    }

    #[test]
    fn every_line_is_answered_in_order_with_its_id() {
        let (lines, told, tally) = run(b"{\"id\": \"a\", \"n\": 1}\n\n{\"n\": 2}\n{\"id\": {\"x\": 1}, \"n\": 3}");
        let doubles: Vec<_> = lines.iter().map(|line| (line.get("id").cloned(), line["double"].as_i64())).collect();
        assert_eq!(doubles, [(Some(json!("a")), Some(2)), (None, Some(4)), (Some(json!({"x": 1})), Some(6))]);
        assert!(lines.iter().all(|line| line["elapsed_us"].is_u64() && line["saw_id"] == false));
        assert_eq!((told.len(), tally), (0, Tally { answered: 3, malformed: 0 }));
    }

    #[test]
    fn a_malformed_line_is_told_by_its_number_and_the_others_are_answered() {
        let (lines, told, tally) = run(b"{\"n\": 1}\n\nnonsense\n[1]\n{\"id\": 7}\n\xff\n{\"n\": 2}\n");
        assert_eq!(tally, Tally { answered: 2, malformed: 4 });
        assert_eq!(told.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [3, 4, 5, 6]);
        assert_eq!(lines.len(), 6);
        assert_eq!(
            (&lines[3]["id"], &lines[3]["error"], &lines[3]["line"]),
            (&json!(7), &json!("n is missing"), &json!(5))
        );
        assert_eq!(lines[5]["double"], 4);
    }

    #[test]
    fn a_line_without_end_is_refused_and_takes_no_memory_beyond_the_bound() {
        let long = [b"{\"n\": 1}\n".to_vec(), vec![b' '; LINE_BYTES_MAX + 5], b"\n{\"n\": 2}\n".to_vec()].concat();
        let mut input = BufReader::new(long.as_slice());
        let mut line = Vec::new();
        while read_line(&mut input, &mut line, LINE_BYTES_MAX).expect("reads") {
            assert!(line.len() <= LINE_BYTES_MAX + 1);
        }
        let mut filled = long.clone();
        filled[9..20].fill(b'x');
        let (_, told, tally) = run(&filled);
        assert_eq!(told, [(2, "it is longer than 16 MiB".to_owned())]);
        assert_eq!(tally, Tally { answered: 2, malformed: 1 });
    }
}

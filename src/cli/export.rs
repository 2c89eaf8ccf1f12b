//! `maxim memory export`: the whole memory, as it is stored.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde_json::{Value, json};

use super::{CliError, Client, Exit, Global, Out};
use crate::data_folder::private_file;

/// Records per request.
const PAGE: u32 = 1000;

pub fn run(global: &Global, out: &Out, file: &Path) -> Result<Exit, CliError> {
    let client = Client::of_memory(global, false)?;
    if file.as_os_str() == "-" {
        write(&client, &mut io::stdout().lock()).map_err(|broken| broken.told(Path::new("standard output")))?;
        return Ok(Exit::Ok);
    }
    // Never overwrites an earlier export. An incomplete file is removed.
    let opened = private_file().create_new(true).open(file).map_err(|error| unwritable(file, &error))?;
    let done = write(&client, &mut &opened).and_then(|count| opened.sync_all().map(|()| count).map_err(Broken::Output));
    let count = done.map_err(|broken| {
        let _ = std::fs::remove_file(file);
        broken.told(file)
    })?;
    let answer = json!({"exported": count, "file": file});
    out.answer(&answer, || format!("exported {count} records to {}", file.display()))?;
    Ok(Exit::Ok)
}

enum Broken {
    Client(CliError),
    Output(io::Error),
}

impl Broken {
    fn told(self, file: &Path) -> CliError {
        match self {
            Self::Client(error) => error,
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => CliError::Unread,
            Self::Output(error) => unwritable(file, &error),
        }
    }
}

fn unwritable(file: &Path, error: &io::Error) -> CliError {
    let found = format!("{} can't be written: {error}", file.display());
    CliError::new(Exit::Usage, found, "name a file that doesn't exist, or - for standard output")
}

/// Page by page: episodes in the order of experience, then layer after layer.
fn write(client: &Client, to: &mut impl Write) -> Result<u64, Broken> {
    let mut to = BufWriter::new(to);
    let (mut count, mut after) = (0, None);
    loop {
        let mut query = vec![("limit", PAGE.to_string())];
        query.extend(after.take().map(|after: String| ("after", after)));
        let page = client.get(&["v1", "memory", "export"], &query).map_err(Broken::Client)?.body;
        for line in page["lines"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            to.write_all(line.as_bytes()).and_then(|()| to.write_all(b"\n")).map_err(Broken::Output)?;
            count += 1;
        }
        match page["next"].as_str() {
            Some(next) => after = Some(next.to_owned()),
            None => break,
        }
    }
    to.flush().map_err(Broken::Output)?;
    Ok(count)
}

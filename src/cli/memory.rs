//! `maxim memory`: ask and maintain what the agent knows.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use maxim_bus::clock::Stopwatch;
use serde_json::{Map, Value, json};

use super::batch::{read_line, skip_mark};
use super::causal::CausalArgs;
use super::concepts::{AssociatedArgs, ConceptsArgs, ForgetArgs, IngestArgs, PinArgs, promote};
use super::recall::{PredictArgs, RecallArgs, TemporalArgs};
use super::similar::SimilarArgs;
use super::working::WorkingArgs;
use super::{CliError, Client, Exit, Global, Out, export, restore, told, tree};

/// Ask and maintain what the agent remembers: through the daemon that holds the store, else in the store itself.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  maxim memory recall \"red cup\" --limit 3")]
pub struct MemoryArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    Recall(RecallArgs),
    Temporal(TemporalArgs),
    Causal(CausalArgs),
    Concepts(ConceptsArgs),
    Associated(AssociatedArgs),
    Ingest(IngestArgs),
    Pin(PinArgs),
    Forget(ForgetArgs),
    /// Make concepts from what repeats, now
    #[command(after_help = "Example:\n  maxim memory promote")]
    Promote,
    Similar(SimilarArgs),
    Working(WorkingArgs),
    /// Count what each memory layer holds
    #[command(after_help = "Example:\n  maxim memory stats --json")]
    Stats,
    /// Import episodes, one JSON object a line, or a whole export; durable when it returns
    #[command(
        after_help = "Examples:\n  maxim memory import episodes.jsonl\n  zcat old.jsonl.gz | maxim memory import - --all"
    )]
    Import {
        /// The file; - reads standard input
        file: PathBuf,
        /// Keep every line: no selective capture, no merge of equal moments
        #[arg(long)]
        all: bool,
    },
    /// Write the whole memory as it is stored, one JSON record a line; `import` reads such a file back, byte for byte:
    /// episodes with their links, concepts, numbers, what actions led to, programs, fear, and what the bridges learned
    #[command(
        after_help = "Examples:\n  maxim memory export memory.jsonl\n  maxim memory export - | gzip > memory.jsonl.gz"
    )]
    Export {
        /// The file, which must not exist; - writes standard output
        file: PathBuf,
    },
    Predict(PredictArgs),
    /// Sleep now: compress old episodes, remove those without a reason to stay, and report it
    #[command(after_help = "Example:\n  maxim memory sleep --json")]
    Sleep,
    /// Check everything that is stored
    #[command(after_help = "Example:\n  maxim memory verify")]
    Verify,
    /// Replace the store with a backup; the old store is moved aside; no daemon may hold it
    #[command(
        after_help = "Examples:\n  maxim memory restore\n  maxim memory restore 3\n  maxim memory restore /mnt/usb/maxim-backup --recordings\n  maxim memory restore 3 --until 2026-01-05T09:00:00Z"
    )]
    Restore(restore::RestoreArgs),
    /// Convert the store to the engine that the configuration names; no daemon may hold it
    #[command(after_help = "Example, once store.engine names the engine that is wanted:\n  maxim memory convert")]
    Convert,
    /// Write a backup, also while the daemon runs
    #[command(after_help = "Example:\n  maxim memory backup /mnt/usb/maxim-backup")]
    Backup {
        /// The target folder [default: the backups in the data folder]
        to: Option<PathBuf>,
    },
}

impl MemoryArgs {
    pub(super) fn run(self, global: &Global, out: &Out) -> Result<Exit, CliError> {
        match self.what {
            What::Recall(args) => args.run(global, out),
            What::Temporal(args) => args.run(global, out),
            What::Causal(args) => args.run(global, out),
            What::Predict(args) => args.run(global, out),
            What::Export { file } => export::run(global, out, &file),
            What::Restore(args) => args.run(global, out),
            What::Convert => restore::convert(global, out),
            What::Stats => print(out, &Client::of_memory(global, false)?.get(&["v1", "memory", "stats"], &[])?.body),
            What::Import { file, all } => import(global, out, &file, all),
            What::Sleep => {
                let client = Client::of_memory(global, false)?;
                let report = client.post_within(&["v1", "memory", "sleep"], &json!({}), SLEEP_PATIENCE)?.body;
                out.answer(&report, || told::slept(&report))?;
                Ok(Exit::Ok)
            }
            What::Concepts(args) => args.run(global, out),
            What::Associated(args) => args.run(global, out),
            What::Ingest(args) => args.run(global, out),
            What::Pin(args) => args.run(global, out),
            What::Forget(args) => args.run(global, out),
            What::Promote => promote(global, out),
            What::Similar(args) => args.run(global, out),
            What::Working(args) => args.run(global, out),
            What::Verify => {
                let report = Client::of_memory(global, false)?.post(&["v1", "memory", "verify"], &json!({}))?.body;
                print(out, &report)?;
                Ok(if report["ok"].as_bool() == Some(false) { Exit::NotHeld } else { Exit::Ok })
            }
            What::Backup { to } => {
                // The daemon has its own working folder.
                let to = to.map(std::path::absolute).transpose().map_err(|error| {
                    CliError::new(Exit::Usage, format!("the folder can't be named: {error}"), "give a full path")
                })?;
                let body = to.map_or_else(|| json!({}), |to| json!({"to": to}));
                let client = Client::of_memory(global, false)?;
                print(out, &client.post_within(&["v1", "memory", "backup"], &body, BACKUP_PATIENCE)?.body)
            }
        }
    }
}

fn print(out: &Out, body: &Value) -> Result<Exit, CliError> {
    out.answer(body, || tree(body, 0))?;
    Ok(Exit::Ok)
}

/// A little more than the daemon waits for the end of a sleep.
const SLEEP_PATIENCE: Duration = Duration::from_secs(60);
/// The answer comes after the whole backup is written.
const BACKUP_PATIENCE: Duration = Duration::from_secs(600);
/// How long an import waits without a step forward until what came is joined, and between two looks.
const JOINING_PATIENCE: Duration = Duration::from_secs(10);
const JOINING_PAUSE: Duration = Duration::from_millis(20);
/// Bytes of an import that go in one request, and become durable together.
const PART_BYTES: usize = 32 * 1024;

fn import(global: &Global, out: &Out, file: &PathBuf, all: bool) -> Result<Exit, CliError> {
    let unreadable = |error: io::Error| {
        let found = format!("{} can't be read: {error}", file.display());
        CliError::new(Exit::Usage, found, "name a file of JSON lines")
    };
    let source: Box<dyn Read> = match file.to_str() {
        Some("-") => Box::new(io::stdin()),
        _ => Box::new(File::open(file).map_err(unreadable)?),
    };
    let longest = usize::try_from(global.load(Vec::new())?.settings.http.body_max.get()).unwrap_or(usize::MAX);
    let counts = Map::from_iter([("imported".to_owned(), json!(0))]);
    let report = Report { counts, ..Report::default() };
    let name = uuid::Uuid::now_v7().to_string();
    let mut import = Import { client: Client::of_memory(global, true)?, name, all, report, first: 1 };
    let mut source = BufReader::new(source);
    skip_mark(&mut source).map_err(unreadable)?;
    let (mut part, mut lines, mut line) = (Vec::new(), 0, Vec::new());
    while read_line(&mut source, &mut line, longest).map_err(unreadable)? {
        if line.len() > longest {
            let fix = format!("it is longer than {longest} bytes; shorten it, or raise http.body_max");
            import.report.errors.push((import.first + lines, fix));
            // Blank lines count, and hold nothing.
            line = b"\n".to_vec();
        }
        if part.len() + line.len() > PART_BYTES && lines > 0 {
            import.send(std::mem::take(&mut part), std::mem::take(&mut lines), true)?;
        }
        part.extend_from_slice(&line);
        lines += 1;
    }
    if lines > 0 {
        import.send(part, lines, false)?;
    }
    import.end();
    let mut report = import.report;
    report.errors.sort();
    let is_whole = report.errors.is_empty();
    out.answer(&report.json(), || report.text())?;
    Ok(if is_whole { Exit::Ok } else { Exit::Usage })
}

/// An import under way.
struct Import {
    client: Client,
    /// Marks the parts as one import: a line may name a record of another part.
    name: String,
    all: bool,
    report: Report,
    /// The number of the next part's first line in the file.
    first: u64,
}

impl Import {
    fn send(&mut self, part: Vec<u8>, lines: u64, more: bool) -> Result<(), CliError> {
        let mut query = vec![("all", self.all.to_string()), ("first_line", self.first.to_string())];
        // A file that fits one request needs no name.
        if more || self.first > 1 {
            query.extend([("import", self.name.clone()), ("more", more.to_string())]);
        }
        match self.client.post_lines(&["v1", "memory", "import"], &query, part) {
            Ok(answer) => self.report.add(&answer.body),
            // The daemon's limit may be lower than the one in this configuration.
            Err(error) if lines == 1 && error.exit() == Exit::Usage => {
                self.report.errors.push((self.first, error.to_string()));
                if !more {
                    // Lines that wait for other lines are accepted or refused with the last part.
                    let answer = self.client.post_lines(&["v1", "memory", "import"], &query, b"\n".to_vec())?;
                    self.report.add(&answer.body);
                }
            }
            Err(error) => return Err(error),
        }
        self.first += lines;
        Ok(())
    }

    /// Waits until the imported records are linked, so that a question right after the command finds them. Linking goes
    /// on after an import is durable. The wait also ends when there is no progress, for example while rooms are held.
    fn end(&self) {
        let (mut fewest, mut last) = (u64::MAX, Stopwatch::start());
        while last.elapsed() < JOINING_PATIENCE {
            let Ok(stats) = self.client.get(&["v1", "memory", "stats"], &[]) else { break };
            let waiting = stats.body["regions"]["hippocampus"]["unlinked"].as_u64().unwrap_or(0);
            if waiting == 0 {
                break;
            }
            if waiting < fewest {
                (fewest, last) = (waiting, Stopwatch::start());
            }
            std::thread::sleep(JOINING_PAUSE);
        }
    }
}

/// Rejected lines that are shown to a person with their reasons, at most.
const SHOWN: usize = 100;

/// What the parts of an import did, together.
#[derive(Debug, Default)]
struct Report {
    /// Counts by name; those of `skipped` by reason.
    counts: Map<String, Value>,
    errors: Vec<(u64, String)>,
}

impl Report {
    fn add(&mut self, answer: &Value) {
        for (name, value) in answer.as_object().into_iter().flatten().filter(|(name, _)| *name != "errors") {
            sum(self.counts.entry(name).or_insert(Value::Null), value);
        }
        for error in answer["errors"].as_array().into_iter().flatten() {
            let line = error["line"].as_u64().unwrap_or_default();
            self.errors.push((line, error["reason"].as_str().unwrap_or("malformed").to_owned()));
        }
    }

    fn json(&self) -> Value {
        let mut all = self.counts.clone();
        let errors = self.errors.iter().map(|(line, reason)| json!({"line": line, "reason": reason})).collect();
        all.insert("errors".into(), errors);
        Value::Object(all)
    }

    /// If every line is wrong, a person doesn't need a million of them.
    fn text(&self) -> String {
        let line = |(line, reason): &(u64, String)| format!("line {line}: {}\n", super::table::printable(reason));
        let shown: String = self.errors.iter().take(SHOWN).map(line).collect();
        let more = match self.errors.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!("and {more} more lines that can't be imported; --json names them all\n"),
        };
        tree(&Value::Object(self.counts.clone()), 0) + &shown + &more
    }
}

/// Adds numbers, member by member; anything else is replaced.
fn sum(total: &mut Value, value: &Value) {
    match (&mut *total, value) {
        (Value::Object(members), Value::Object(more)) => {
            more.iter().for_each(|(name, value)| sum(members.entry(name).or_insert(Value::Null), value));
        }
        (Value::Number(have), Value::Number(more)) => match (have.as_u64(), more.as_u64()) {
            (Some(have), Some(more)) => *total = (have + more).into(),
            _ => *total = value.clone(),
        },
        _ => *total = value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_an_import_add_up() {
        let mut report = Report::default();
        let error = |line: u64, reason: &str| json!({"line": line, "reason": reason});
        report.add(&json!({"imported": 3, "skipped": {"unremarkable": 1}, "errors": [error(2, "no text")]}));
        report.add(&json!({"imported": 2, "skipped": {"unremarkable": 1, "known": 4}, "errors": [error(11, "cut")]}));
        assert_eq!(
            report.json(),
            json!({"imported": 5, "skipped": {"unremarkable": 2, "known": 4},
                   "errors": [error(2, "no text"), error(11, "cut")]})
        );
        assert_eq!(
            report.text(),
            "imported: 5\nskipped:\n  known: 4\n  unremarkable: 2\nline 2: no text\nline 11: cut\n"
        );
        let many: Vec<Value> = (1..=250).map(|line| error(line, "no text")).collect();
        let mut report = Report::default();
        report.add(&json!({"errors": many}));
        assert_eq!(report.json()["errors"].as_array().map(Vec::len), Some(250));
        assert!(
            report
                .text()
                .ends_with("line 100: no text\nand 150 more lines that can't be imported; --json names them all\n")
        );
    }
}

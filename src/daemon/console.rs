//! The terminal on which the daemon runs: typed lines are percepts, replies are printed. Its end ends nothing.

use std::fs::File;
use std::io::{BufRead, Write, stdin, stdout};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;

use maxim_actors::effectors::channels::{Said, Submission};
use maxim_bus::Trust;

use crate::agent::Outside;
use crate::standard_error;
use crate::stopping::millis;

/// Whether somebody meant lines to be read that no terminal gives.
pub fn is_fed() -> bool {
    let input = stdin().as_fd().try_clone_to_owned().and_then(|input| File::from(input).metadata());
    input.is_ok_and(|input| input.file_type().is_fifo() || input.is_file())
}

/// Reads on one thread, prints on another.
pub fn start(outside: &Outside) {
    let (desk, hearing) = (outside.console.clone(), outside.console.clone());
    let door = outside.door.clone();
    let printing = std::thread::Builder::new().name("console-out".into()).spawn(move || {
        let mut all_said = hearing.listen();
        loop {
            let Some(said) = all_said.blocking_recv() else {
                standard_error::tell(
                    "the terminal stood still, and some words were not shown; they are in `maxim why`",
                );
                all_said = hearing.listen();
                continue;
            };
            let text = match said {
                Said::Reply { text, .. } => Some(text),
                Said::Ended(ended) if !ended.spoken => ended.reply,
                Said::Ended(_) => None,
            };
            if let Some(text) = text {
                let _ = writeln!(stdout(), "{text}");
                prompt();
            }
        }
    });
    let reading = std::thread::Builder::new().name("console-in".into()).spawn(move || {
        // The prompt goes to another stream, and stands last.
        standard_error::tell_now("type to me; `!` stops everything, Ctrl-C ends");
        prompt();
        for line in stdin().lock().lines() {
            let Ok(line) = line else { break };
            match line.trim() {
                "" => prompt(),
                "!" => {
                    let (raised, _) = door.stop("! on the console".into(), "console".into());
                    standard_error::tell_now(format_args!(
                        "stopped in {}; in another terminal `maxim reset` clears it",
                        millis(raised.latency_us)
                    ));
                    prompt();
                }
                text => {
                    let answer = desk.submit(Submission {
                        channel: "console".into(),
                        sender: "console".into(),
                        body: text.into(),
                        provider_id: None,
                        trust: Trust::Owner,
                    });
                    if let Ok(Err(why)) = answer.blocking_recv() {
                        standard_error::tell_now(format_args!("that was not taken: {why}; say it again"));
                        prompt();
                    }
                }
            }
        }
        standard_error::tell("the console's input has ended; I go on until Ctrl-C or `kill`");
    });
    if let Err(error) = printing.and(reading) {
        tracing::error!(%error, "the console could not be started");
    }
}

fn prompt() {
    let _ = write!(stdout(), "> ");
    let _ = stdout().flush();
}

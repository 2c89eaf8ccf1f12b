//! The terminal on which the daemon runs: typed lines are percepts, replies are printed. The end of its input doesn't
//! end the daemon.

use std::fs::File;
use std::io::{BufRead, Write, stdin, stdout};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::sync::Arc;

use maxim_actors::effectors::channels::{Said, Submission};
use maxim_actors::region::Supervision;
use maxim_bus::Trust;
use maxim_bus::latch::LatchState;

use crate::agent::Outside;
use crate::standard_error;
use crate::stopping::millis;

/// True if standard input is a pipe or a file: it isn't read, and its sender should be told so.
pub fn is_fed() -> bool {
    let input = stdin().as_fd().try_clone_to_owned().and_then(|input| File::from(input).metadata());
    input.is_ok_and(|input| input.file_type().is_fifo() || input.is_file())
}

/// A command in a line, in place of a percept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    Stop,
    Reset,
    Resume,
}

/// A bare word is a command only where there is something to clear. Otherwise it may be meant for the brain.
fn wish(line: &str, latch: LatchState) -> Option<Wish> {
    let is = |word: &str| line.eq_ignore_ascii_case(word);
    match line {
        "!" => Some(Wish::Stop),
        _ if is("maxim reset") || is("reset") && latch == LatchState::Stopped => Some(Wish::Reset),
        _ if is("maxim resume") || is("resume") && latch == LatchState::MotionHeld => Some(Wish::Resume),
        _ => None,
    }
}

fn grant(wish: Wish, outside: &Outside, supervision: &Supervision) -> String {
    let (door, by) = (&outside.door, || "console".to_owned());
    match wish {
        Wish::Stop => {
            let (raised, _) = door.stop("! on the console".into(), by());
            let took = millis(raised.latency_us);
            format!("stopped in {took}; type `reset` to clear it (in another terminal: `maxim reset`)")
        }
        Wish::Reset => match door.reset(by()) {
            Ok(LatchState::Clear) => "no stop is set, and motion is free".into(),
            Ok(_) => "the stop is cleared; motion waits until you type `resume`".into(),
            Err(error) => format!("the stop is not cleared: {error}"),
        },
        Wish::Resume => match door.resume(by()) {
            Ok(_) => {
                supervision.release_held();
                "motion is free, and what was held goes on".into()
            }
            Err(error) => format!("nothing is resumed: {error}; type `reset` first"),
        },
    }
}

/// Reads on one thread, prints on another.
pub fn start(outside: &Outside, supervision: &Arc<Supervision>) {
    let (desk, hearing) = (outside.console.clone(), outside.console.clone());
    let (outside, supervision) = (outside.clone(), Arc::clone(supervision));
    let printing = std::thread::Builder::new().name("console-out".into()).spawn(move || {
        let mut all_said = hearing.listen();
        loop {
            let Some(said) = all_said.blocking_recv() else {
                standard_error::tell(
                    "the terminal was blocked, and some words were not shown; they are in `maxim why`",
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
            let line = line.trim();
            if let Some(wish) = wish(line, outside.door.latch_state()) {
                standard_error::tell_now(grant(wish, &outside, &supervision));
                prompt();
                continue;
            }
            match line {
                "" => prompt(),
                text => {
                    let answer = desk.submit(Submission {
                        channel: "console".into(),
                        sender: "console".into(),
                        body: text.into(),
                        provider_id: None,
                        trust: Trust::Owner,
                    });
                    if let Ok(Err(why)) = answer.blocking_recv() {
                        standard_error::tell_now(format_args!("not accepted: {why}; say it again"));
                        prompt();
                    }
                }
            }
        }
        standard_error::tell("the console's input has ended; the daemon goes on until Ctrl-C or `kill`");
    });
    if let Err(error) = printing.and(reading) {
        tracing::error!(%error, "the console could not be started");
    }
}

fn prompt() {
    let _ = write!(stdout(), "> ");
    let _ = stdout().flush();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_at_the_console_clears_a_stop_and_is_the_brains_else() {
        use LatchState::{Clear, MotionHeld, Stopped};
        for (line, latch, expected) in [
            ("!", Clear, Some(Wish::Stop)),
            ("!", Stopped, Some(Wish::Stop)),
            ("reset", Stopped, Some(Wish::Reset)),
            ("Reset", Stopped, Some(Wish::Reset)),
            ("reset", MotionHeld, None),
            ("reset", Clear, None),
            ("resume", MotionHeld, Some(Wish::Resume)),
            ("resume", Stopped, None),
            ("resume", Clear, None),
            ("maxim reset", Clear, Some(Wish::Reset)),
            ("maxim resume", Stopped, Some(Wish::Resume)),
            ("please reset it", Stopped, None),
            ("reset the router", Stopped, None),
        ] {
            assert_eq!(wish(line, latch), expected, "{line} while {latch:?}");
        }
    }
}

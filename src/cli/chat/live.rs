//! The live screen: keys from the terminal and news from the daemon, each on its own thread.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use jiff::tz::TimeZone;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{DisableBracketedPaste, EnableBracketedPaste, Event, KeyEventKind, poll, read};
use ratatui::crossterm::execute;
use serde_json::{Value, json};

use super::drawing::draw;
use super::screen::{Screen, Wish};
use crate::cli::send::say;
use crate::cli::{CliError, Client, Exit, Global};

/// Interval between two requests for the status, and between two attempts to reach a lost daemon.
const LOOK: Duration = Duration::from_secs(1);
/// How long to wait for a key before news is shown.
const KEY: Duration = Duration::from_millis(50);

/// What comes from the daemon.
enum News {
    Event(Value),
    Status(Value),
    Note(String),
    Gone(String),
}

/// Runs until the person leaves. `ends_with_it`: the brain ends with the chat.
pub fn run(global: &Global, has_colours: bool, ends_with_it: bool) -> Result<Exit, CliError> {
    let (tell, news) = channel();
    for watch in [watch_events, watch_status] {
        let (global, tell) = (global.clone(), tell.clone());
        std::thread::spawn(move || watch(&global, &tell));
    }
    // ratatui restores the terminal after a panic, too.
    let mut terminal = ratatui::try_init()?;
    let pasting = execute!(std::io::stdout(), EnableBracketedPaste);
    let ended = talk(&mut terminal, global, (has_colours, ends_with_it), &tell, &news);
    if pasting.is_ok() {
        let _ = execute!(std::io::stdout(), DisableBracketedPaste);
    }
    ratatui::try_restore()?;
    ended.map(|()| Exit::Ok)
}

fn talk(
    terminal: &mut DefaultTerminal,
    global: &Global,
    (has_colours, ends_with_it): (bool, bool),
    tell: &Sender<News>,
    news: &Receiver<News>,
) -> Result<(), CliError> {
    let mut screen = Screen::new(TimeZone::system());
    screen.ends_with_it = ends_with_it;
    screen.note("type to the brain; ! stops it, ? shows the keys");
    loop {
        terminal.draw(|frame| draw(&screen, has_colours, frame))?;
        if poll(KEY)? {
            let wish = match read()? {
                // Some terminals also report key releases.
                Event::Key(key) if key.kind != KeyEventKind::Release => screen.key(key),
                Event::Paste(text) => {
                    screen.paste(&text);
                    None
                }
                _ => None,
            };
            match wish {
                Some(Wish::Leave) => return Ok(()),
                Some(wish) => send(wish, global, tell),
                None => {}
            }
        }
        for new in news.try_iter() {
            match new {
                News::Event(event) => screen.hear(&event),
                News::Status(status) => screen.status(&status),
                News::Note(note) => screen.note(note),
                News::Gone(why) => screen.gone = Some(why),
            }
        }
    }
}

/// Runs on its own thread, so that a slow daemon doesn't block the keyboard. The reply comes as an event.
fn send(wish: Wish, global: &Global, tell: &Sender<News>) {
    let (global, tell) = (global.clone(), tell.clone());
    std::thread::spawn(move || {
        let done = global.client().and_then(|client| match wish {
            Wish::Say(text) => say(&client, &text, None).map(|_| None),
            Wish::Stop => {
                client.post(&["v1", "stop"], &json!({ "reason": "! in the chat" }))?;
                Ok(Some("stopped; clear it with `maxim reset`".to_owned()))
            }
            Wish::Leave => Ok(None),
        });
        let note = done.unwrap_or_else(|error| Some(format!("not accepted: {}", error.found())));
        if let Some(note) = note {
            let _ = tell.send(News::Note(note));
        }
    });
}

fn watch_events(global: &Global, tell: &Sender<News>) {
    let follow =
        |client: Client| client.follow(&["v1", "events"], &[], || (), |event| tell.send(News::Event(event)).is_ok());
    loop {
        if let Err(error) = global.client().and_then(follow)
            && tell.send(News::Gone(error.found())).is_err()
        {
            return;
        }
        std::thread::sleep(LOOK);
    }
}

fn watch_status(global: &Global, tell: &Sender<News>) {
    loop {
        let asked = global.client().and_then(|client| client.get(&["v1", "status"], &[]));
        let new = asked.map_or_else(|error| News::Gone(error.found()), |answer| News::Status(answer.body));
        if tell.send(new).is_err() {
            return;
        }
        std::thread::sleep(LOOK);
    }
}

//! `maxim open`: the page in a browser, with a key that lets it in once.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use reqwest::Url;
use rustix::process::geteuid;
use serde_json::json;

use super::{CliError, Client, Exit, Global, Out};

/// Open the daemon's page in a browser, with a key that works once and soon expires.
///
/// Takes $BROWSER, else xdg-open where there is a screen. Where there is neither, and with --print, it prints the address.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  maxim open\n  maxim open --print")]
pub struct OpenArgs {
    /// Print the address instead, for a browser of another account or, through a tunnel, of another machine
    #[arg(long)]
    print: bool,
}

impl OpenArgs {
    pub(super) fn run(self, global: &Global, out: &Out) -> Result<Exit, CliError> {
        let client = Client::find(global)?;
        let browser = if self.print { None } else { Browser::of_process() };
        // Other accounts can read a program's arguments, so a key in them must work for this account only.
        let wish = match &browser {
            Some(_) => json!({"account": geteuid().as_raw()}),
            None => json!({}),
        };
        let key = client.post(&["v1", "session-keys"], &wish)?.body;
        let (Some(base), Some(text)) = (client.base(), key["key"].as_str()) else {
            return Err(CliError::new(Exit::Bug, "the daemon gave no key", "check that a Maxim daemon listens there"));
        };
        let address = page(base, text);
        let seconds = key["expires_s"].as_u64().unwrap_or_default();
        let told = match browser.map(|browser| browser.open(&address)) {
            Some(Ok(())) => {
                let opened = json!({"opened": true, "address": base.as_str()});
                out.answer(&opened, || format!("the page of {base} opens in the browser"))?;
                return Ok(Exit::Ok);
            }
            // That key works for this account's browser only, which may well be meant.
            Some(Err(error)) => format!("no browser opened ({error}); "),
            None => String::new(),
        };
        eprintln!("maxim: {told}open this address within {seconds} s; its key works once");
        out.answer(&json!({"opened": false, "address": address, "expires_s": seconds}), || address.clone())?;
        Ok(Exit::Ok)
    }
}

/// The page's address. The key is in its fragment, which browsers never send.
fn page(base: &Url, key: &str) -> String {
    let mut url = base.clone();
    // A daemon that listens on all addresses is reached by the loopback address.
    if url.host_str() == Some("0.0.0.0") {
        let _ = url.set_host(Some("127.0.0.1"));
    } else if url.host_str() == Some("[::]") {
        let _ = url.set_host(Some("[::1]"));
    }
    url.set_fragment(Some(&format!("key={key}")));
    url.into()
}

/// A program and its arguments; the address comes last, or where %s stands.
#[derive(Debug, PartialEq, Eq)]
struct Browser(Vec<String>);

impl Browser {
    fn of_process() -> Option<Self> {
        let word = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        let has_screen = word("DISPLAY").or_else(|| word("WAYLAND_DISPLAY")).is_some();
        Self::among(word("BROWSER").as_deref(), has_screen, &std::env::var_os("PATH").unwrap_or_default())
    }

    /// The first program of $BROWSER (separated by colons) that exists, or else xdg-open.
    fn among(wanted: Option<&str>, has_screen: bool, path: &OsString) -> Option<Self> {
        let is_there = |program: &str| {
            let named = Path::new(program);
            let mut places: Box<dyn Iterator<Item = PathBuf>> = match named.components().count() {
                1 => Box::new(std::env::split_paths(path).map(|folder| folder.join(named))),
                _ => Box::new(std::iter::once(named.to_owned())),
            };
            places.any(|file| {
                file.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
            })
        };
        let wanted = wanted.into_iter().flat_map(|all| all.split(':'));
        let wanted = wanted.map(|one| one.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        let usual = has_screen.then(|| vec!["xdg-open".to_owned()]);
        wanted.chain(usual).find(|words| words.first().is_some_and(|program| is_there(program))).map(Self)
    }

    fn command(&self, address: &str) -> Option<Command> {
        let (program, arguments) = self.0.split_first()?;
        let mut command = Command::new(program);
        let has_place = arguments.iter().any(|argument| argument.contains("%s"));
        command.args(arguments.iter().map(|argument| argument.replace("%s", address)));
        if !has_place {
            command.arg(address);
        }
        Some(command)
    }

    /// Starts the browser in its own process group, so that Ctrl-C here doesn't end it. Doesn't wait for it.
    fn open(&self, address: &str) -> std::io::Result<()> {
        let Some(mut command) = self.command(address) else { return Err(std::io::ErrorKind::NotFound.into()) };
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0).spawn().map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_browser_that_is_there_is_taken() {
        let dir = tempfile::tempdir().expect("a folder");
        for name in ["xdg-open", "fox"] {
            let file = dir.path().join(name);
            std::fs::write(&file, "").expect("written");
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("set");
        }
        let path = OsString::from(dir.path());
        let among =
            |wanted: Option<&str>, has_screen| Browser::among(wanted, has_screen, &path).map(|browser| browser.0);
        assert_eq!(among(None, false), None, "no screen");
        assert_eq!(among(None, true), Some(vec!["xdg-open".into()]));
        assert_eq!(among(Some("nowhere:fox --new %s"), false), Some(vec!["fox".into(), "--new".into(), "%s".into()]));
        assert_eq!(among(Some("nowhere"), true), Some(vec!["xdg-open".into()]));
        assert_eq!(among(Some(" : "), false), None);
        let words = |browser: &[&str]| {
            let browser = Browser(browser.iter().map(|word| (*word).to_owned()).collect());
            let command = browser.command("http://h/#key=1").expect("a program");
            command.get_args().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(words(&["fox"]), ["http://h/#key=1"]);
        assert_eq!(words(&["fox", "--app=%s"]), ["--app=http://h/#key=1"]);
    }

    #[test]
    fn the_key_is_in_the_fragment_of_an_address_of_this_machine() {
        for (base, address) in [
            ("http://127.0.0.1:7717", "http://127.0.0.1:7717/#key=k"),
            ("http://0.0.0.0:7717/", "http://127.0.0.1:7717/#key=k"),
            ("http://[::]:7717/", "http://[::1]:7717/#key=k"),
            ("http://robot.example:80", "http://robot.example/#key=k"),
        ] {
            assert_eq!(page(&Url::parse(base).expect("an address"), "k"), address);
        }
    }
}

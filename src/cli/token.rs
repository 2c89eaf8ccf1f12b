//! `maxim token`: what programs show at the daemon's HTTP door.

use std::io::ErrorKind;

use clap::Args;
use serde_json::json;

use super::own_token::ANEW;
use super::{CliError, Exit, Global, Out};
use crate::data_folder::{DaemonNote, TokenKind};
use crate::token;

/// Print the token of the HTTP door, for scripts and for chat clients. Its holder has all rights of the owner: to stop,
/// to reset, to answer the gate's questions, and to read the whole memory.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  maxim token\n\nFor clients of language models: OPENAI_BASE_URL=http://127.0.0.1:7717/v1 OPENAI_API_KEY=$(maxim token).\nFor curl: curl -H \"Authorization: Bearer $(maxim token)\" http://127.0.0.1:7717/v1/status"
)]
pub struct TokenArgs {}

impl TokenArgs {
    pub(super) fn run(self, global: &Global, out: &Out) -> Result<Exit, CliError> {
        let settings = global.load(Vec::new())?.settings;
        let folder = global.data_folder()?;
        let asks_for = DaemonNote::read(&folder).ok().flatten().and_then(|note| note.asks_for);
        if asks_for == Some(TokenKind::Nothing) || settings.http.open {
            let found = "http.open = true: the daemon asks nobody for a token";
            return Err(CliError::new(Exit::NotHeld, found, "use no token, or remove http.open"));
        }
        let configured = settings.http.bearer()?.filter(|_| asks_for != Some(TokenKind::Own));
        let path = folder.token();
        let shown = path.display();
        let (secret, from) = match configured {
            Some(secret) => (secret, "the configuration".to_owned()),
            None if asks_for == Some(TokenKind::Configured) => {
                let found = "the daemon was started with a token that this command doesn't have";
                let fix = "set the same with MAXIM__HTTP__TOKEN or http.token_file";
                return Err(CliError::new(Exit::BadConfig, found, fix));
            }
            None => match token::of_command(&folder) {
                Ok(Some((secret, _))) => (secret, shown.to_string()),
                Ok(None) => {
                    let found = format!("there is no token yet; tried {shown}, which isn't there");
                    return Err(CliError::new(
                        Exit::TryAgain,
                        found,
                        "`maxim run` makes it; or name another with --data",
                    ));
                }
                Err(error) if error.kind() == ErrorKind::InvalidData => {
                    let found = format!("the token in {shown} is unusable: {error}");
                    return Err(CliError::new(Exit::BadConfig, found, ANEW));
                }
                Err(error) => {
                    let found = format!("the token in {shown} can't be read: {error}");
                    let fix = "it is readable by the daemon's user alone: run as that user or as root";
                    return Err(CliError::new(Exit::NotHeld, found, fix));
                }
            },
        };
        out.answer(&json!({"token": secret.expose(), "from": from}), || secret.expose().to_owned())?;
        Ok(Exit::Ok)
    }
}

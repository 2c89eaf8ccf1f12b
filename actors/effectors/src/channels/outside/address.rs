//! Where a channel leads: the addresses and certificates from its keys.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use maxim_config::Fault;
use reqwest::{Client, Url, redirect};

use crate::http_client::{self, Roots};

/// How long a provider may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(10);

/// The address of a client that has nobody to call.
pub const NOWHERE: &str = "http://127.0.0.1";

/// An HTTP client for a provider.
pub fn client(key: &str, url: &str) -> Result<Client, Fault> {
    let told = |error: &dyn std::fmt::Display| Fault::new(key, format!("{key}: {error}"), "see `maxim doctor`");
    let roots = Roots::of(url, None).map_err(|error| told(&error))?;
    let builder = http_client::builder(&roots).connect_timeout(CONNECT).redirect(redirect::Policy::none());
    builder.build().map_err(|error| told(&error))
}

/// Reads a server's address in the form `scheme://host:port`. Returns the scheme, the host, the port, and whether the
/// host is this machine.
pub fn server<'a>(key: &str, text: &str, schemes: &[(&'a str, u16)]) -> Result<(&'a str, String, u16, bool), Fault> {
    let names: Vec<String> = schemes.iter().map(|(scheme, _)| format!("{scheme}://HOST")).collect();
    let wrong =
        || Fault::new(key, format!("{key} = {text:?} is no such address"), format!("write {}", names.join(" or ")));
    let url = Url::parse(text).map_err(|_| wrong())?;
    let (scheme, usual) = schemes.iter().find(|(scheme, _)| *scheme == url.scheme()).ok_or_else(wrong)?;
    let host = url.host_str().filter(|host| !host.is_empty()).ok_or_else(wrong)?;
    if !url.username().is_empty() || url.password().is_some() {
        let found = format!("{key} holds a name or password");
        return Err(Fault::new(key, found, "set username and password_file in its section instead"));
    }
    let bare = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let is_here = bare == "localhost" || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    Ok((scheme, bare, url.port().unwrap_or(*usual), is_here))
}

/// The file with the certificates of an authority, if one is named.
pub fn authorities(key: &str, path: Option<&Path>) -> Result<Option<PathBuf>, Fault> {
    match path {
        Some(path) if !path.is_file() => {
            Err(Fault::new(key, format!("{key} = {path:?} is no file"), "name a file of certificates in PEM form"))
        }
        path => Ok(path.map(Path::to_owned)),
    }
}

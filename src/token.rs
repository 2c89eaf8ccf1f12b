//! The token that a daemon makes for itself. It lies in the data folder, readable by the daemon's user only. A reader
//! of the token has the owner's rights; no other account of this machine can read it.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use ring::rand::{SecureRandom, SystemRandom};
use rustix::process::geteuid;

use crate::cli::{CliError, Exit};
use crate::config::Secret;
use crate::data_folder::{DataFolder, private_file};

/// Random bytes of a token and of the page's keys; each byte is two hexadecimal digits.
const BYTES: usize = 32;
/// The longest file that may be a token, in bytes.
const LONGEST: u64 = 4096;

/// Random bytes of the system, in hexadecimal.
///
/// # Errors
/// The system gives none.
pub fn random() -> io::Result<String> {
    let mut bytes = [0; BYTES];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| io::Error::other("the system gives no random bytes"))?;
    Ok(hex(&bytes))
}

/// Two hexadecimal digits a byte.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A token: random digits and their check sum (CRC-32), by which a damaged file is recognised.
fn with_sum(chance: &str) -> String {
    format!("{chance}{:08x}", crc32fast::hash(chance.as_bytes()))
}

fn is_whole(token: &str) -> bool {
    token.get(..2 * BYTES).is_some_and(|chance| token == with_sum(chance))
}

/// A daemon's own token.
#[derive(Debug)]
pub struct OwnToken {
    pub secret: Secret,
    /// What a start reports about it; `None` if it was there already.
    pub told: Option<String>,
}

/// The token of the data folder. A new one is made if there is none, or if others may know the existing one.
///
/// # Errors
/// The system gives no random bytes. A folder that can't be written is no error: `told` says so, and the token lasts
/// until the process ends.
pub fn of_daemon(folder: &DataFolder) -> io::Result<OwnToken> {
    let path = folder.token();
    let why = match kept(folder) {
        Ok(secret) => return Ok(OwnToken { secret, told: None }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => Some(error.to_string()),
    };
    let secret = with_sum(&random()?);
    let shown = path.display();
    let told = match (write(folder, &secret), why) {
        (Ok(()), None) => {
            format!(
                "a token was made: {shown}, readable by this user only; commands read it by themselves, `maxim open` \
                opens the page"
            )
        }
        (Ok(()), Some(why)) => format!(
            "a new token took the place of {shown}: {why}; sessions and scripts with the old one end. To share a token, \
             name a file in http.token_file"
        ),
        (Err(error), _) => format!(
            "the token can't be written to {shown} ({error}): correct that and start again; until then only stopping \
            works. Or set http.token_file"
        ),
    };
    Ok(OwnToken { secret: Secret::new(secret), told: Some(told) })
}

/// The existing token, if only this user can have read it.
fn kept(folder: &DataFolder) -> io::Result<Secret> {
    let bad = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why.to_owned());
    let mut options = fs::OpenOptions::new();
    let file = options.read(true).custom_flags(careful()).open(folder.token())?;
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(bad("it was no plain file"));
    }
    if about.mode() & 0o077 != 0 {
        return Err(bad("others could read it"));
    }
    if about.uid() != geteuid().as_raw() {
        return Err(bad("it was another user's"));
    }
    let secret = text(file)?;
    if is_whole(&secret) { Ok(Secret::new(secret)) } else { Err(bad("it was damaged")) }
}

/// Doesn't follow a link, and doesn't wait for a pipe in the file's place.
fn careful() -> i32 {
    (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits().cast_signed()
}

fn text(file: File) -> io::Result<String> {
    let mut text = String::new();
    file.take(LONGEST).read_to_string(&mut text)?;
    Ok(text.trim_end_matches(['\n', '\r']).to_owned())
}

/// Writes the whole file at once: a reader never sees half of it.
fn write(folder: &DataFolder, secret: &str) -> io::Result<()> {
    let path = folder.token();
    let beside = path.with_extension("new");
    // A leftover file may be open to others.
    let _ = fs::remove_file(&beside);
    let mut file = private_file().create_new(true).open(&beside)?;
    let written = file.write_all(format!("{secret}\n").as_bytes()).and_then(|()| file.sync_all());
    if let Err(error) = written.and_then(|()| fs::rename(&beside, &path)) {
        let _ = fs::remove_file(&beside);
        return Err(error);
    }
    File::open(folder.path())?.sync_all()
}

/// Which other accounts can read or write a configured token file. Anybody with the token can command the agent.
#[derive(Debug)]
pub enum Exposure {
    /// Every account can, or a group can write its own token there: nothing starts with such a file.
    Everybody(CliError),
    /// A group can read it, for programs that share the token. A start reports it.
    Group(String),
}

/// `None` if the file is private.
pub fn exposure(file: &Path) -> Option<Exposure> {
    let mode = fs::metadata(file).ok()?.mode() & 0o777;
    let shown = file.display();
    let named = format!("http.token_file {shown} has mode {mode:o}");
    let fix = format!("`chmod 600 {shown}`, and put a new token in it");
    match mode {
        _ if mode & 0o027 != 0 => {
            let found = format!("other accounts of this machine can read or change the token: {named}");
            Some(Exposure::Everybody(CliError::new(Exit::BadConfig, found, fix)))
        }
        _ if mode & 0o050 != 0 => Some(Exposure::Group(format!(
            "the group of the token's file can read it, and command the agent: {named}. Else {fix}"
        ))),
        _ => None,
    }
}

/// For a command: the token, and the account that owns it; `None` if no daemon has made one.
///
/// # Errors
/// This user may not read it, or no daemon has made it ([`io::ErrorKind::InvalidData`]).
pub fn of_command(folder: &DataFolder) -> io::Result<Option<(Secret, u32)>> {
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    match fs::OpenOptions::new().read(true).custom_flags(nonblocking).open(folder.token()) {
        Ok(file) => {
            let about = file.metadata()?;
            if !about.is_file() {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "it is no plain file"));
            }
            let owner = about.uid();
            let secret = text(file)?;
            if !is_whole(&secret) {
                let why = if secret.is_empty() { "it is empty" } else { "it isn't a token that a daemon has made" };
                return Err(io::Error::new(io::ErrorKind::InvalidData, why));
            }
            Ok(Some((Secret::new(secret), owner)))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn folder() -> (tempfile::TempDir, DataFolder) {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = DataFolder::new(dir.path().to_owned());
        (dir, folder)
    }

    fn token(folder: &DataFolder) -> (String, Option<String>) {
        let own = of_daemon(folder).expect("chance");
        (own.secret.expose().to_owned(), own.told)
    }

    #[test]
    fn it_is_made_once_for_its_user_alone_and_read_by_commands() {
        let (_dir, folder) = folder();
        assert!(of_command(&folder).expect("none is no error").is_none());
        let (first, told) = token(&folder);
        assert!(first.len() == 72 && is_whole(&first));
        assert!(told.is_some_and(|told| told.contains("a token was made") && !told.contains(&first)));
        assert_eq!(fs::metadata(folder.token()).expect("there").permissions().mode() & 0o777, 0o600);
        assert_eq!(token(&folder), (first.clone(), None));
        let (read, owner) = of_command(&folder).expect("read").expect("there");
        assert_eq!((read.expose(), owner), (first.as_str(), geteuid().as_raw()));
        assert!(!folder.path().join("token.new").exists());
    }

    #[test]
    fn a_command_takes_no_damaged_token_for_one() {
        let (_dir, folder) = folder();
        let whole = token(&folder).0;
        for (text, why) in [
            ("", "empty"),
            ("\n", "empty"),
            ("\n\n", "empty"),
            ("short", "isn't a token"),
            (&whole[1..], "isn't a token"),
        ] {
            fs::write(folder.token(), text).expect("written");
            let error = of_command(&folder).expect_err("none");
            assert!(error.kind() == io::ErrorKind::InvalidData && error.to_string().contains(why), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_token_file_that_others_can_open_is_told_with_the_fix() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("token");
        fs::write(&file, "0123456789abcdef0123").expect("written");
        let found = |mode: u32| {
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("set");
            exposure(&file)
        };
        for mode in [0o600, 0o400] {
            assert!(found(mode).is_none(), "{mode:o}");
        }
        for mode in [0o644, 0o602, 0o604, 0o620, 0o444] {
            let Some(Exposure::Everybody(error)) = found(mode) else { panic!("{mode:o} is taken") };
            let told = error.to_string();
            assert!(told.contains("chmod 600") && told.contains(&format!("{mode:o}")), "{told}");
            assert!(!told.contains("0123456789"), "{told}");
        }
        for mode in [0o640, 0o440] {
            let Some(Exposure::Group(told)) = found(mode) else { panic!("{mode:o} is not told") };
            assert!(told.contains("chmod 600") && told.contains(&format!("{mode:o}")), "{told}");
        }
        assert!(exposure(&dir.path().join("absent")).is_none());
    }

    #[test]
    fn one_that_others_may_know_or_that_is_none_is_replaced_and_that_is_told() {
        let (_dir, folder) = folder();
        let path = folder.token();
        let mut last = token(&folder).0;
        let mut spoil = |how: &dyn Fn(), words: &str| {
            how();
            let (new, told) = token(&folder);
            let told = told.unwrap_or_default();
            assert!(new != last && is_whole(&new) && told.contains(words), "{words}: {told}");
            assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o600);
            assert!(fs::symlink_metadata(&path).expect("there").is_file());
            last = new;
        };
        let mode = |mode| fs::set_permissions(folder.token(), fs::Permissions::from_mode(mode)).expect("set");
        spoil(&|| mode(0o644), "others could read it");
        spoil(&|| mode(0o660), "others could read it");
        spoil(&|| fs::write(folder.token(), "").expect("written"), "damaged");
        let pipe = || {
            fs::remove_file(folder.token()).expect("removed");
            let fifo = rustix::fs::FileType::Fifo;
            rustix::fs::mknodat(rustix::fs::CWD, folder.token(), fifo, 0o600.into(), 0).expect("a pipe");
            assert!(of_command(&folder).is_err());
        };
        spoil(&pipe, "no plain file");
        spoil(&|| fs::write(folder.token(), "short").expect("written"), "damaged");
        let bytes = fs::read(folder.token()).expect("there");
        for place in [0, 31, 63, 64, 71] {
            let mut flipped = bytes.clone();
            flipped[place] ^= 1;
            spoil(&|| fs::write(folder.token(), &flipped).expect("written"), "damaged");
        }
        let elsewhere = folder.path().join("elsewhere");
        fs::write(&elsewhere, "0123456789abcdef0123456789abcdef").expect("written");
        let link = || {
            fs::remove_file(folder.token()).expect("removed");
            symlink(&elsewhere, folder.token()).expect("linked");
        };
        spoil(&link, "a new token took the place");
    }

    #[test]
    fn a_folder_that_takes_nothing_is_told_and_the_daemon_has_a_token_all_the_same() {
        let folder = DataFolder::new("/proc/no/folder".into());
        let (secret, told) = token(&folder);
        assert!(is_whole(&secret));
        assert!(told.is_some_and(|told| told.contains("only stopping works")));
    }
}

//! A value that no log, file or prompt may show.

use std::fmt;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize, Serializer};

use crate::Fault;

/// A key or token. Prints and serialises as `(set)`; only [`Secret::expose`] gives it away.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    pub fn new(value: String) -> Self {
        Self(value)
    }

    /// The value itself, for the one header it belongs in.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// What may be shown of a secret that may be missing.
    pub fn shown(secret: Option<&Self>) -> &'static str {
        if secret.is_some() { "(set)" } else { "(not set)" }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::shown(Some(self)))
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(Self::shown(Some(self)))
    }
}

/// The direct value, else what the file holds without its last line break. `key` is named when the file can't serve.
///
/// # Errors
/// The file can't be read or doesn't hold one line.
pub fn resolve(key: &str, direct: Option<&Secret>, file: Option<&Path>) -> Result<Option<Secret>, Fault> {
    let (None, Some(file)) = (direct, file) else {
        return Ok(direct.cloned());
    };
    let text = fs::read_to_string(file).map_err(|error| {
        let found = format!("{key} = {:?} can't be read: {error}", file.display().to_string());
        Fault::new(key, found, "name a file that this user may read")
    })?;
    let value = text.trim_end_matches(['\n', '\r']);
    if value.is_empty() || value.contains(['\n', '\r']) {
        let found = format!("{key} = {:?} doesn't hold one line", file.display().to_string());
        return Err(Fault::new(key, found, "put the secret alone in the file"));
    }
    Ok(Some(Secret::new(value.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_never_prints_itself() {
        let secret = Secret::new("hunter2".into());
        assert_eq!(format!("{secret:?}"), "(set)");
        assert_eq!(serde_json::to_string(&secret).expect("serialises"), "\"(set)\"");
        assert_eq!(Secret::shown(None), "(not set)");
    }

    #[test]
    fn the_direct_value_wins_over_the_file_and_a_bad_file_is_named() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("key");
        fs::write(&file, "from-file\n").expect("written");
        let direct = Secret::new("direct".into());
        let read = |direct, file| resolve("llm.api_key_file", direct, file).map(|s| s.map(|s| s.expose().to_owned()));
        assert_eq!(read(Some(&direct), Some(file.as_path())), Ok(Some("direct".into())));
        assert_eq!(read(None, Some(file.as_path())), Ok(Some("from-file".into())));
        assert_eq!(read(None, None), Ok(None));
        fs::write(&file, "\n").expect("written");
        let fault = read(None, Some(file.as_path())).expect_err("an empty file");
        assert!(fault.to_string().contains("llm.api_key_file"), "{fault}");
    }
}

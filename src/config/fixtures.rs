//! Shared by the tests of several sections.

use std::fs;

use super::{ConfigError, Loaded, Places, load};

/// The result of this file and these variables.
pub fn loaded(toml: &str, variables: &[(&str, &str)]) -> Result<Loaded, ConfigError> {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("maxim.toml");
    fs::write(&file, toml).expect("written");
    let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    load(&Places { named: Some(file), variables, ..Places::nowhere() }, &[])
}

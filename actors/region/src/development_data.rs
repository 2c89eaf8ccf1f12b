//! Data in the folder `MAXIM_DATA`, which only some machines have. Tests use it for measurements.

use std::path::PathBuf;

/// The path of this data; `None`, with a printed notice, if it is missing.
pub fn path(name: &str) -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("MAXIM_DATA") else {
        println!("SKIPPED: MAXIM_DATA names no folder with {name}");
        return None;
    };
    let path = PathBuf::from(folder).join(name);
    if !path.exists() {
        println!("SKIPPED: {} is not there; MAXIM_DATA names the folder that holds it", path.display());
        return None;
    }
    Some(path)
}

/// The text of a file in that folder.
pub fn text(name: &str) -> Option<String> {
    path(name).map(|path| std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

//! Reading, writing, editing and finding files.

mod edit_file;
mod glob;
pub(super) mod ignored;
pub mod place;
mod read_file;
pub mod reversal;
#[cfg(test)]
mod tests;
mod write_file;

use std::fs::File;
use std::io::Read;
use std::path::Path;

pub use edit_file::EditFile;
pub use glob::Glob;
pub use read_file::ReadFile;
pub use write_file::WriteFile;

use super::{ErrorKind, ToolFailure};

/// The biggest file that is read or edited whole, in bytes. Bigger ones are looked at in parts, by bash.
pub const LARGEST_FILE: u64 = 64 * 1024 * 1024;

/// A regular file's text. `path` has been resolved, so that no link is left in it.
fn read_text(path: &Path) -> Result<String, ToolFailure> {
    let bytes = read_bytes(place::open(path)?, path)?;
    String::from_utf8(bytes).map_err(|error| {
        let size = error.as_bytes().len();
        let at = error.utf8_error().valid_up_to();
        let message = format!(
            "{} is no UTF-8 text ({size} bytes; the first odd byte is at {at}); look at it with bash",
            path.display()
        );
        ToolFailure::new(ErrorKind::Failed, message)
    })
}

fn read_bytes(file: File, path: &Path) -> Result<Vec<u8>, ToolFailure> {
    let mut bytes = Vec::new();
    file.take(LARGEST_FILE + 1).read_to_end(&mut bytes).map_err(|error| ToolFailure::io("can't read", path, &error))?;
    if bytes.len() as u64 > LARGEST_FILE {
        let message = format!(
            "{} is bigger than {LARGEST_FILE} bytes; take a part of it with bash (head, tail, sed)",
            path.display()
        );
        return Err(ToolFailure::new(ErrorKind::TooLarge, message));
    }
    Ok(bytes)
}

/// A string parameter that validation has let pass.
fn text<'a>(params: &'a serde_json::Value, name: &str) -> &'a str {
    params[name].as_str().unwrap_or_default()
}

/// A positive integer parameter that validation has let pass.
fn size(params: &serde_json::Value, name: &str, default: usize) -> usize {
    params[name].as_u64().and_then(|value| usize::try_from(value).ok()).unwrap_or(default)
}

//! Names of a server's tools in the agent: valid as function names for every model, and different from all other
//! tools' names.

use sha2::{Digest, Sha256};

/// Maximum length of a function name that model servers accept, in characters.
const LONGEST: usize = 64;

/// `SERVER_TOOL` in lower-case letters, digits and single `_`. A longer name is cut and ends in a digest of the
/// whole.
pub(super) fn name_of(server: &str, tool: &str) -> String {
    let mut name = server.to_owned();
    let mut before = ' ';
    for c in std::iter::once('_').chain(tool.chars()) {
        let begins_word = c.is_ascii_uppercase() && (before.is_ascii_lowercase() || before.is_ascii_digit());
        let plain = if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
        if (begins_word || plain == '_') && !name.ends_with('_') {
            name.push('_');
        }
        if plain != '_' {
            name.push(plain);
        }
        before = c;
    }
    let name = name.trim_end_matches('_').to_owned();
    if name.len() <= LONGEST && name != server {
        return name;
    }
    // The name has no usable characters, or too many.
    let digest: String = Sha256::digest(tool.as_bytes()).iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    let room = LONGEST - digest.len() - 1;
    format!("{}_{digest}", name[..name.len().min(room)].trim_end_matches('_'))
}

/// The name in spoken form: its words.
pub(super) fn spoken(name: &str) -> String {
    name.replace('_', " ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_the_servers_and_the_tools_in_plain_letters() {
        assert_eq!(name_of("files", "read_text_file"), "files_read_text_file");
        assert_eq!(name_of("files", "readTextFile"), "files_read_text_file");
        assert_eq!(name_of("hub", "repo/get-file.v2"), "hub_repo_get_file_v2");
        assert_eq!(name_of("sums", "GET-SUM"), "sums_get_sum");
        assert_eq!(spoken("files_read"), "files read");
    }

    proptest! {
        #[test]
        fn any_name_becomes_one_that_every_grammar_takes(tool in ".{0,90}") {
            let name = name_of("files", &tool);
            prop_assert!(name.len() <= LONGEST && name.starts_with("files_") && name.len() > 6);
            prop_assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'));
        }
    }
}

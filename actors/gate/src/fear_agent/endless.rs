//! Output that never ends or would fill the disk, written to a file.

use brush_parser::ast::{IoFileRedirectKind as Kind, IoFileRedirectTarget as Target, IoRedirect};

use super::options::Parsed;
use super::shell::{Call, Walker};
use super::verdict::rules;

/// Sizes from this number of gigabytes on are taken to exceed the free disk.
const MANY_GIGABYTES: u64 = 50;

/// Programs that output all that they read.
const PASSES: &str = "cat tac tr nl pv tee base64 base32 fold rev gzip xz bzip2 zstd lz4 openssl sponge dd";

/// Options that end the output early for any input.
const CUTS: &[&str] = &["c", "n", "l", "N", "m", "q", "bytes", "lines", "max-count"];

pub(super) fn is_endless(path: &str) -> bool {
    matches!(path, "/dev/zero" | "/dev/urandom" | "/dev/random")
}

/// `50G`, `1T`: sizes and counts as coreutils write them.
pub(super) fn fills_disk(size: &str) -> bool {
    let size = size.trim_end_matches("iB").trim_end_matches('B');
    let number = size.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let Ok(number) = number.trim_start_matches(['+', '=']).parse::<u64>() else { return false };
    match size.chars().last() {
        Some('T' | 't' | 'P' | 'E' | 'Z' | 'Y') => true,
        Some('G' | 'g') => number >= MANY_GIGABYTES,
        Some('M' | 'm') => number >= MANY_GIGABYTES << 10,
        Some('K' | 'k') => number >= MANY_GIGABYTES << 20,
        _ => number >= MANY_GIGABYTES << 30,
    }
}

/// Whether this program's own output never ends.
pub(super) fn gives_endless(call: &Call, parsed: &Parsed) -> bool {
    let from_files = parsed.operands.iter().any(|path| is_endless(path));
    match call.name.as_str() {
        "yes" => true,
        "head" => {
            let size = parsed.value(&["c", "n"]);
            // `head -c -5` outputs all but the last five bytes.
            (from_files || call.stdin.endless) && size.is_some_and(|size| size.starts_with('-') || fills_disk(size))
        }
        "dd" => {
            let counted = call.args.iter().any(|arg| arg.starts_with("count="));
            let from = call.args.iter().any(|arg| arg.strip_prefix("if=").is_some_and(is_endless));
            (from || call.stdin.endless) && !counted
        }
        // These programs' operands aren't input files.
        "tr" | "tee" | "sponge" => call.stdin.endless,
        name => {
            PASSES.split(' ').any(|passes| passes == name)
                && (from_files || (call.stdin.endless && parsed.operands.is_empty()))
                && (matches!(name, "cat" | "gzip" | "xz" | "bzip2") || !parsed.has(CUTS))
        }
    }
}

/// Whether the standard output is written to a file.
pub(super) fn into_file<'a>(mut redirects: impl Iterator<Item = &'a IoRedirect>) -> bool {
    redirects.any(|redirect| match redirect {
        IoRedirect::File(_, Kind::Write | Kind::Append | Kind::Clobber, Target::Filename(word)) => {
            !word.value.starts_with("/dev/")
        }
        _ => false,
    })
}

impl Walker<'_> {
    pub(super) fn fills_the_disk(&mut self) {
        self.findings.ask(rules::EXHAUST, "the output has no end and would fill the disk");
    }
}
